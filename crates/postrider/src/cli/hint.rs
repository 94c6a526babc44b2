//! What the database advises, in the words of the command line.

/// What the database calls something, and what it is called here.
const WORDS: [(&str, &str); 9] = [
    ("p_force => true", "--force"),
    ("drop_endpoint", "`postrider endpoint drop`"),
    ("alter_endpoint", "`postrider endpoint alter`"),
    ("unsubscribe", "`postrider subscription end`"),
    ("cancel_message", "`postrider cancel`"),
    ("rotate_signing_key", "`postrider endpoint keys rotate`"),
    ("signature to none", "`signature=none`"),
    ("raise max_queue_size of the endpoint", "`postrider endpoint alter --set max_queue_size=…`"),
    ("the setting max_queue_size", "the setting max_queue_size by `postrider setting set`"),
];

/// An error's text with its hint in our words. What the error itself says stays: it may name a function that
/// somebody may not call.
pub fn in_our_words(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("hint: ") {
        Some(hint) => format!("hint: {}", translate(hint)),
        None => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn translate(hint: &str) -> String {
    WORDS.iter().fold(hint.to_owned(), |hint, (theirs, ours)| {
        let hint = hint.replace(&format!("postrider.{theirs}"), ours);
        match hint.find(theirs) {
            // A part of a longer word, or one that is ours already.
            Some(at) if is_word(&hint, at, theirs.len()) => hint.replacen(theirs, ours, 1),
            _ => hint,
        }
    })
}

fn is_word(text: &str, at: usize, length: usize) -> bool {
    let is_inner = |character: char| character.is_alphanumeric() || "_=-`".contains(character);
    !text[..at].chars().next_back().is_some_and(is_inner)
        && !text[at + length..].chars().next().is_some_and(is_inner)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn hints_name_commands() {
        for (text, expected) in [
            (
                "Endpoint 'a' has messages\nhint: p_force => true moves them to the dead letter queue.",
                "Endpoint 'a' has messages\nhint: --force moves them to the dead letter queue.",
            ),
            (
                "x\nhint: postrider.drop_endpoint with p_force => true moves them",
                "x\nhint: `postrider endpoint drop` with --force moves them",
            ),
            (
                "permission denied for function drop_endpoint\nhint: alter_endpoint changes that.",
                "permission denied for function drop_endpoint\nhint: `postrider endpoint alter` changes that.",
            ),
            ("x\nhint: my_cancel_message stays", "x\nhint: my_cancel_message stays"),
            ("x\ndetail: cancel_message", "x\ndetail: cancel_message"),
            ("", ""),
        ] {
            assert_eq!(in_our_words(text), expected);
        }
    }

    /// Functions that hints of the database's own sources name: each has a command.
    #[test]
    fn no_hint_names_a_function() {
        let sql = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql");
        let [functions, migrations] =
            ["functions", "migrations"].map(|folder| texts_below(&sql.join(folder)));
        let names: BTreeSet<&str> = functions.iter().map(|(name, _)| name.as_str()).collect();
        // Words of everyday language that functions are called after.
        let everyday = ["adopt", "send", "publish", "tick"];
        let mut count = 0;
        for (file, text) in functions.iter().chain(&migrations) {
            for hint in text.split("hint = ").skip(1) {
                let Some(hint) =
                    hint.split('\'').nth(1).filter(|_| hint.trim_start().starts_with('\''))
                else {
                    continue;
                };
                count += 1;
                let ours = translate(hint);
                let words = ours.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                for word in words.filter(|word| word.contains('_') || names.contains(*word)) {
                    let is_known = names.contains(word) && !everyday.contains(&word);
                    assert!(!is_known, "{file}: `{ours}` names the function {word}");
                }
            }
        }
        assert!(count > 15, "{count}");
    }

    /// The files at any depth: their names without an ending, and what is in them.
    fn texts_below(folder: &Path) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                texts.extend(texts_below(&path));
            } else {
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                texts.push((name, fs::read_to_string(path).unwrap()));
            }
        }
        texts
    }
}
