//! Pages of the documentation: their blocks and tables, and running what they show.
//!
//! A block `sql` has to work, a block `sql error 42704` has to end with that SQLSTATE. A block `text`
//! right behind it is what the last statement shows, as psql would print it, or `ERROR:  …`; `…` in a
//! cell stands for anything. `\gset` at the end of a query keeps its row in variables, as in psql. What else a page can
//! have that is worked through with a shell says [`guide`].

pub mod guide;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use tokio_postgres::{Client, SimpleQueryMessage};

pub struct Page {
    pub path: String,
    text: String,
}

pub struct Block {
    pub line: usize,
    /// What stands behind the fence: `sql`, `sql error 42704`, `text`.
    pub kind: String,
    pub text: String,
    /// The last `Roles:` before it.
    pub roles: Vec<String>,
    /// Whether only blank lines are between it and the block before it.
    follows: bool,
}

/// An example and the result that is shown of it.
pub struct Example {
    pub block: Block,
    shown: Option<Block>,
}

type Row = Vec<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the files in a folder of the repository that end like this, without the ending.
pub fn names_in(folder: &str, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> =
        names.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect();
    names.sort();
    names
}

/// The files below a folder of the repository that end like this: the path of each by its name without the ending.
pub fn paths_below(folder: &str, ending: &str) -> BTreeMap<String, String> {
    let mut paths = BTreeMap::new();
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{folder}/{name}");
        if entry.file_type().unwrap().is_dir() {
            paths.extend(paths_below(&path, ending));
        } else if let Some(name) = name.strip_suffix(ending) {
            let other = paths.insert(name.to_owned(), path);
            assert_eq!(other, None, "two files are called {name}");
        }
    }
    paths
}

/// A file of the repository.
pub fn text_of(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether the repository has this file or folder.
pub fn exists(path: &str) -> bool {
    root().join(path).exists()
}

/// The path of a link from a page in a folder.
pub fn join(folder: &str, link: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// With single spaces between its words.
pub fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands in code spans, the spans with two backticks included.
pub fn code_spans(text: &str) -> Vec<String> {
    let mut spans = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let fence = if rest[start..].starts_with("``") { "``" } else { "`" };
        rest = &rest[start + fence.len()..];
        let Some(end) = rest.find(fence) else { break };
        spans.push(squeeze(&rest[..end]));
        rest = &rest[end + fence.len()..];
    }
    spans
}

impl Page {
    pub fn read(path: &str) -> Self {
        Self { path: path.to_owned(), text: text_of(path) }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn title(&self) -> &str {
        self.text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default()
    }

    /// The names of the sections of the second level.
    pub fn sections(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("## ")).collect()
    }

    /// The text of a section of the second level, up to the next.
    pub fn section(&self, name: &str) -> &str {
        let start = format!("\n## {name}\n");
        let Some(at) = self.text.find(&start) else { return "" };
        let rest = &self.text[at + start.len()..];
        rest.split("\n## ").next().unwrap_or_default()
    }

    /// Where its links lead: what stands in `](…)`.
    pub fn links(&self) -> Vec<String> {
        let pieces = self.text.split("](").skip(1);
        pieces.filter_map(|piece| Some(piece.split_once(')')?.0.to_owned())).collect()
    }

    /// Its headings as anchors, the way GitHub makes them.
    pub fn anchors(&self) -> Vec<String> {
        let is_kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let anchor = |heading: &str| -> String {
            let kept: String = heading.to_lowercase().chars().filter(is_kept).collect();
            kept.replace(' ', "-")
        };
        let headings = self.text.lines().filter(|line| line.starts_with('#'));
        headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
    }

    pub fn roles(&self) -> Vec<String> {
        roles_of(&self.text)
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut roles = Vec::new();
        let mut open = false;
        let mut follows = false;
        for (number, line) in self.text.lines().enumerate() {
            if let Some(kind) = line.strip_prefix("```") {
                if open {
                    (open, follows) = (false, true);
                } else {
                    let (kind, roles) = (kind.to_owned(), roles.clone());
                    let text = String::new();
                    blocks.push(Block { line: number + 1, kind, text, roles, follows });
                    open = true;
                }
            } else if open {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            } else if !line.trim().is_empty() {
                follows = false;
                if line.starts_with("Roles: ") {
                    roles = roles_of(line);
                }
            }
        }
        blocks
    }

    pub fn examples(&self) -> Vec<Example> {
        let mut examples: Vec<Example> = Vec::new();
        for block in self.blocks() {
            if block.kind.split(' ').next() == Some("sql") {
                examples.push(Example { block, shown: None });
            } else if block.kind == "text"
                && block.follows
                && let Some(example) = examples.last_mut()
            {
                example.shown.get_or_insert(block);
            }
        }
        examples
    }
}

/// `Roles: application, admin.`
pub fn roles_of(text: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("Roles: "));
    let names = line.unwrap_or_default().trim_end_matches('.').split(", ");
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// As whom the examples of a page run: they also make what they need, so as the role that may most of
/// those that are no admins, where there is one.
fn role_of(roles: &[String]) -> Option<&String> {
    let named = |name: &str| roles.iter().find(|role| *role == name);
    named("application").or_else(|| named("admin")).or(roles.first())
}

/// The rows of the first table, without its head: the cells as they are written.
pub fn table(text: &str) -> Vec<Row> {
    let lines = text.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |line: &str| {
        let inner = line.trim_matches('|');
        inner.split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(cells).collect()
}

/// One connection that runs examples one after the other.
pub struct Reader<'a> {
    client: &'a Client,
    variables: HashMap<String, String>,
}

impl<'a> Reader<'a> {
    pub fn new(client: &'a Client) -> Self {
        Self { client, variables: HashMap::new() }
    }

    /// Runs an example as it stands; what is wrong with it.
    pub async fn run(&mut self, example: &Example) -> Result<(), String> {
        let outcome = self.run_block(&example.block.text).await;
        let result = check(example, &outcome);
        if outcome.is_err() {
            self.client.batch_execute("rollback").await.unwrap();
        }
        result
    }

    /// Runs an example in a transaction that is rolled back, as a role that may; its own transactions
    /// become savepoints.
    pub async fn try_out(&mut self, example: &Example) -> Result<(), String> {
        self.client.batch_execute("begin").await.unwrap();
        if let Some(role) = role_of(&example.block.roles) {
            let set = format!("set local role postrider_{role}");
            self.client.batch_execute(&set).await.unwrap();
        }
        let line = |line: &str| match line {
            "begin;" => "savepoint example;".to_owned(),
            "commit;" => "release savepoint example;".to_owned(),
            "rollback;" => "rollback to savepoint example;".to_owned(),
            other => other.to_owned(),
        };
        let text: Vec<_> = example.block.text.lines().map(line).collect();
        let outcome = self.run_block(&text.join("\n")).await;
        self.client.batch_execute("rollback").await.unwrap();
        check(example, &outcome)
    }

    /// The last result, its head first.
    async fn run_block(&mut self, text: &str) -> Result<Vec<Row>, tokio_postgres::Error> {
        let mut last = Vec::new();
        for statement in statements(text) {
            let (query, keeps) = match statement.trim().strip_suffix("\\gset") {
                Some(query) => (query.to_owned(), true),
                None => (statement, false),
            };
            let rows = self.run_statement(&query).await?;
            if keeps {
                for (name, value) in rows[0].iter().zip(&rows[1]) {
                    self.variables.insert(name.clone(), value.clone());
                }
            } else if !rows.is_empty() {
                last = rows;
            }
        }
        Ok(last)
    }

    /// With values in the place of `:name`; `::` is a cast.
    fn filled_in(&self, query: &str) -> String {
        let mut pieces = query.split(':');
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = piece.find(|letter| !is_name(letter)).unwrap_or(piece.len());
            match self.variables.get(&piece[..end]) {
                Some(value) if !filled.ends_with(':') => {
                    filled.push_str(value);
                    filled.push_str(&piece[end..]);
                }
                _ => {
                    filled.push(':');
                    filled.push_str(piece);
                }
            }
        }
        filled
    }

    async fn run_statement(&self, query: &str) -> Result<Vec<Row>, tokio_postgres::Error> {
        let query = self.filled_in(query);
        let mut rows: Vec<Row> = Vec::new();
        for message in self.client.simple_query(&query).await? {
            match message {
                SimpleQueryMessage::RowDescription(columns) => {
                    rows = vec![columns.iter().map(|column| column.name().to_owned()).collect()];
                }
                SimpleQueryMessage::Row(row) => {
                    let cell = |at: usize| row.get(at).unwrap_or_default().to_owned();
                    rows.push((0..row.len()).map(cell).collect());
                }
                _ => {}
            }
        }
        Ok(rows)
    }
}

/// A statement ends with the line that ends with `;` or `\gset` outside of quotes.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut statement = String::new();
    for line in text.lines() {
        statement.push_str(line);
        statement.push('\n');
        let is_open =
            statement.matches('\'').count() % 2 == 1 || statement.matches("$$").count() % 2 == 1;
        if !is_open && (line.ends_with(';') || line.ends_with("\\gset")) {
            found.push(std::mem::take(&mut statement));
        }
    }
    if !statement.trim().is_empty() {
        found.push(statement);
    }
    found
}

fn check(
    example: &Example,
    outcome: &Result<Vec<Row>, tokio_postgres::Error>,
) -> Result<(), String> {
    let expected = example.block.kind.strip_prefix("sql error ");
    let shown = example.shown.as_ref().map(|block| block.text.trim());
    match (outcome, expected) {
        (Ok(_), Some(code)) => Err(format!("works, and should raise {code}")),
        (Ok(rows), None) => shown.map_or(Ok(()), |shown| compare(rows, shown)),
        (Err(error), expected) => {
            let Some(error) = error.as_db_error() else { return Err(error.to_string()) };
            let (code, text) = (error.code().code(), format!("ERROR:  {}", error.message()));
            if Some(code) != expected {
                return Err(format!("raises {code}: {text}"));
            }
            match shown {
                Some(shown) if squeeze(shown) != squeeze(&text) => Err(format!("says {text}")),
                _ => Ok(()),
            }
        }
    }
}

fn compare(rows: &[Row], shown: &str) -> Result<(), String> {
    let is_rule = |line: &str| line.chars().all(|letter| "-+".contains(letter));
    let is_count =
        |line: &str| line.starts_with('(') && line.ends_with(" rows)") || line == "(1 row)";
    let lines = shown.lines().filter(|line| !is_rule(line) && !is_count(line));
    let shown: Vec<Row> =
        lines.map(|line| line.split(" |").map(|cell| cell.trim().to_owned()).collect()).collect();
    let same = |(cell, shown): (&String, &String)| shown == "…" || cell.trim() == shown;
    let same_row =
        |(row, shown): (&Row, &Row)| row.len() == shown.len() && row.iter().zip(shown).all(same);
    if rows.len() == shown.len() && rows.iter().zip(&shown).all(same_row) {
        return Ok(());
    }
    Err(format!("shows {rows:?}, and the page {shown:?}"))
}
