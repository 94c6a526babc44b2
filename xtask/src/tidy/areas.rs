//! The tree of `sql/` says what is public: a function that others than the schema's owner may call stands under `api/` of
//! its area, any other in the area itself.
//!
//! Who may call what is read in `sql/grants.sql`: the lists in the column `functions` of its roles. No other file grants
//! the right to execute something.

use std::collections::{BTreeMap, BTreeSet};

use super::{Tree, Violation, files, is_word, numbered, stem, violation, without_sql_comments};

const GRANTS: &str = "sql/grants.sql";
/// The one statement in [`GRANTS`], which a loop runs for each function of a role.
const GRANT: &str = "grant execute on function";
/// What stands before and behind the rows of roles: a kind, its functions, its relations.
const ROLES: (&str, &str) = ("from (values", ") k (kind, functions, relations)");

/// Looks where each function and each query stands.
pub(super) fn the_tree_says_what_is_public(tree: &Tree) -> Vec<Violation> {
    let grants = tree.get(GRANTS).map_or("", String::as_str);
    let mut found = grants_elsewhere(tree);
    let granted = match granted(grants) {
        Ok(granted) => granted,
        Err(message) => {
            found.push(violation(GRANTS, 1, message));
            return found;
        }
    };
    let mut places: BTreeMap<String, &str> = BTreeMap::new();
    for (path, _) in files(tree, "sql/functions/", ".sql") {
        let name = stem(path);
        if let Some(other) = places.insert(name.clone(), path) {
            found.push(violation(path, 1, format!("{other} has the same name")));
        }
        let is_public = match parts(path, "sql/functions/").as_slice() {
            [_, _] => false,
            [_, "api", _] => true,
            _ => {
                let message = "a function stands in `<area>/` or `<area>/api/`".to_owned();
                found.push(violation(path, 1, message));
                continue;
            }
        };
        let message = match (granted.contains(&name), is_public) {
            (true, false) => format!("{GRANTS} lets others call it: it belongs in `api/`"),
            (false, true) => format!("{GRANTS} lets nobody else call it: it is not for `api/`"),
            _ => continue,
        };
        found.push(violation(path, 1, message));
    }
    for (path, _) in files(tree, "sql/queries/", ".sql") {
        if parts(path, "sql/queries/").len() != 2 {
            found.push(violation(path, 1, "a query stands in `<area>/`".to_owned()));
        }
    }
    found
}

fn parts<'a>(path: &'a str, folder: &str) -> Vec<&'a str> {
    path.strip_prefix(folder).unwrap_or(path).split('/').collect()
}

/// Rights to execute something that are given where the lists do not show it.
fn grants_elsewhere(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, content) in files(tree, "sql/", ".sql").filter(|(path, _)| *path != "sql/schema.sql")
    {
        let content = without_sql_comments(content).to_lowercase();
        let lines = numbered(&content).filter(|(_, line)| line.contains("grant execute"));
        let most = usize::from(path == GRANTS);
        for (line, _) in lines.skip(most) {
            let message = format!("functions are granted by the lists in {GRANTS} only");
            found.push(violation(path, line, message));
        }
    }
    found
}

/// The functions that some role gets.
fn granted(grants: &str) -> Result<BTreeSet<String>, String> {
    let grants = without_sql_comments(grants);
    if !grants.contains(GRANT) {
        return Ok(BTreeSet::new());
    }
    let lists = lists(&grants);
    let rows = grants.split_once(ROLES.0).and_then(|(_, rest)| rest.split_once(ROLES.1));
    let (rows, _) = rows.ok_or_else(|| format!("`{} … {}` is missing", ROLES.0, ROLES.1))?;
    let mut granted = BTreeSet::new();
    for row in elements(rows) {
        let row = row.trim();
        let inside = row.strip_prefix('(').and_then(|row| row.strip_suffix(')'));
        let columns = elements(inside.unwrap_or_default());
        let [_, functions, _] = columns.as_slice() else {
            return Err(format!("`{row}` is no row of a role"));
        };
        for list in functions.split("||").map(str::trim) {
            let names = lists.get(list).ok_or_else(|| format!("`{list}` is no list"))?;
            granted.extend(names.iter().cloned());
        }
    }
    Ok(granted)
}

/// The names in each list: `NAME constant text[] := array['a', 'b'];`.
fn lists(grants: &str) -> BTreeMap<&str, Vec<String>> {
    let mut lists = BTreeMap::new();
    for (at, start) in grants.match_indices(" constant text[] := array[") {
        let name = grants[..at].rsplit(|c| !is_word(c)).next().unwrap_or_default();
        let content = grants[at + start.len()..].split(']').next().unwrap_or_default();
        let names = content.split('\'').skip(1).step_by(2).map(str::to_owned);
        lists.insert(name, names.collect());
    }
    lists
}

/// What stands between the commas that are in no brackets.
fn elements(text: &str) -> Vec<&str> {
    let (mut elements, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                elements.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    elements.push(&text[start..]);
    elements
}
