//! A Rust source taken apart into code and string literals, well enough for the rules.

use super::contains_word;

/// What a rule looks at. Lines count from 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    /// The text with comments and the content of literals blanked, line by line.
    pub(super) code: Vec<String>,
    /// The string literals with the lines they begin on; escapes are left as they are written.
    pub(super) strings: Vec<(usize, String)>,
}

impl Source {
    pub(super) fn read(content: &str) -> Self {
        let mut reader =
            Reader { rest: content, line: 1, code: String::new(), strings: Vec::new() };
        while !reader.rest.is_empty() {
            reader.step();
        }
        let code = reader.code.lines().map(str::to_owned).collect();
        Self { code, strings: reader.strings }
    }

    /// Cuts off the test module at the end.
    pub(super) fn without_tests(mut self) -> Self {
        let is_start = |pair: &[String]| {
            pair[0].trim() == "#[cfg(test)]"
                && contains_word(&pair[1], "mod")
                && pair[1].trim_end().ends_with('{')
        };
        if let Some(start) = self.code.windows(2).position(is_start) {
            self.code.truncate(start);
            self.strings.retain(|(line, _)| *line <= start);
        }
        self
    }

    /// The lines whose code holds a word or a path.
    pub(super) fn lines_with(&self, word: &str) -> Vec<usize> {
        let lines = self.code.iter().enumerate();
        lines.filter(|(_, line)| contains_word(line, word)).map(|(at, _)| at + 1).collect()
    }

    /// The words that stand directly before `suffix`, each once.
    pub(super) fn words_before(&self, suffix: &str) -> Vec<String> {
        let mut words = Vec::new();
        for line in &self.code {
            for (end, _) in line.match_indices(suffix) {
                let start = line[..end].rfind(|c| !super::is_word(c)).map_or(0, |at| at + 1);
                let word = line[start..end].to_owned();
                if !word.is_empty() && !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        words
    }

    /// The lines where `module::{…}` names `item` directly in its braces.
    pub(super) fn lines_importing(&self, module: &str, item: &str) -> Vec<usize> {
        let code = self.code.join("\n");
        let mut lines = Vec::new();
        for (start, opening) in code.match_indices(&format!("{module}::{{")) {
            let group = &code[start + opening.len()..];
            let mut depth = 1;
            let mut word = String::new();
            for (offset, character) in group.char_indices() {
                if super::is_word(character) {
                    word.push(character);
                    continue;
                }
                if depth == 1 && word == item {
                    let at = start + opening.len() + offset;
                    lines.push(code[..at].matches('\n').count() + 1);
                }
                word.clear();
                match character {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        lines
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    code: String,
    strings: Vec<(usize, String)>,
}

impl Reader<'_> {
    /// Reads one token's worth.
    fn step(&mut self) {
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.blank(end);
        } else if self.rest.starts_with("/*") {
            self.blank(block_comment(self.rest));
        } else if let Some((prefix, hashes)) = raw_string(self.rest) {
            self.raw(prefix, hashes);
        } else if self.rest.starts_with('"') {
            let end = quoted(self.rest);
            self.literal(1, end, 1);
        } else if let Some(length) = character(self.rest) {
            self.blank(length);
        } else {
            self.plain();
        }
    }

    fn raw(&mut self, prefix: usize, hashes: usize) {
        let opening = prefix + hashes + "\"".len();
        let closing = format!("\"{}", "#".repeat(hashes));
        let end = self.rest[opening..]
            .find(&closing)
            .map_or(self.rest.len(), |at| opening + at + closing.len());
        self.literal(opening, end, closing.len());
    }

    /// Notes a literal of `length` bytes with an opening and a closing of the given lengths.
    fn literal(&mut self, opening: usize, length: usize, closing: usize) {
        let inner = self.rest.get(opening..length.saturating_sub(closing)).unwrap_or_default();
        self.strings.push((self.line, inner.to_owned()));
        self.blank(length);
    }

    /// Copies a whole word, or one character: `r` inside a word begins no raw string.
    fn plain(&mut self) {
        let word = self.rest.find(|c| !super::is_word(c)).unwrap_or(self.rest.len());
        let length = word.max(self.rest.chars().next().map_or(0, char::len_utf8));
        self.line += self.rest[..length].matches('\n').count();
        self.code.push_str(&self.rest[..length]);
        self.rest = &self.rest[length..];
    }

    fn blank(&mut self, length: usize) {
        for character in self.rest[..length].chars() {
            self.line += usize::from(character == '\n');
            self.code.push(if character == '\n' { '\n' } else { ' ' });
        }
        self.rest = &self.rest[length..];
    }
}

/// The length of the comment at the beginning; comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The lengths of the prefix (`r`, `br`, `cr`) and of the hashes of the raw string at the beginning,
/// when there is one.
fn raw_string(text: &str) -> Option<(usize, usize)> {
    let rest = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some((text.len() - rest.len(), hashes))
}

/// The length of the string literal at the beginning, with its quotes.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the character literal at the beginning; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let first = rest.chars().next()?;
    if first == '\\' {
        // The quote may itself be escaped: it is looked for behind the escaped character.
        return rest[2..].find('\'').map(|at| at + 4);
    }
    rest[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_strings_come_apart() {
        let source = Source::read(concat!(
            "let a = \"one // two\"; // \"three\"\n",
            "/* \"four\" /* nested */ \"five\" */ let b = r#\"si\"x\"#;\n",
            "let c = '\"'; let d = 'x'; fn f<'a>(e: &'a str) { g(\"se\\\"ven\") }\n",
            "let h = \"on\ntwo lines\"; let number = b\"bytes\"; let i = '\\''; br##\"x\"#y\"##; \"last\"",
        ));
        let strings = [
            (1, "one // two"),
            (2, "si\"x"),
            (3, "se\\\"ven"),
            (4, "on\ntwo lines"),
            (5, "bytes"),
            (5, "x\"#y"),
            (5, "last"),
        ];
        assert_eq!(source.strings, strings.map(|(line, text)| (line, text.to_owned())));
        assert_eq!(source.lines_with("number"), [5]);
        assert_eq!(source.lines_with("two"), [0_usize; 0]);
        assert_eq!(source.lines_with("nested"), [0_usize; 0]);
        assert_eq!(source.lines_with("str"), [3]);
    }

    #[test]
    fn the_test_module_is_cut_off() {
        let text = "fn a() { \"x\" }\n#[cfg(test)]\nmod tests {\n    fn b() { \"y\" }\n}\n";
        let source = Source::read(text).without_tests();
        assert_eq!(source.strings, [(1, "x".to_owned())]);
        assert_eq!(source.code.len(), 1);
        let kept = Source::read("#[cfg(test)]\nmod tests;\nfn a() { \"x\" }\n").without_tests();
        assert_eq!(kept.strings.len(), 1);
    }

    #[test]
    fn items_of_a_group_are_found() {
        let text =
            "use crate::transport::{\n    Envelope,\n    http::{self, Options},\n    open,\n};";
        let source = Source::read(text);
        assert_eq!(source.lines_importing("transport", "http"), [3]);
        assert_eq!(source.lines_importing("transport", "Options"), [0_usize; 0]);
        let list = Source::read("[discard::PROTOCOL, http::PROTOCOL]");
        assert_eq!(list.words_before("::PROTOCOL"), ["discard", "http"]);
    }
}
