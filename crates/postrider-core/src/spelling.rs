//! What was meant by a name that nobody knows.
//!
//! `sql/functions/endpoints/edit_distance.sql` finds the same.

/// How much of a name is looked at, in characters; bounds the time it takes.
pub const LENGTH_MAX: usize = 64;

/// How many characters must be inserted, removed or replaced to make `a` from `b` (Levenshtein).
///
/// Compares the first [`LENGTH_MAX`] characters.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(LENGTH_MAX).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, left) in a.chars().take(LENGTH_MAX).enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The known name that differs least from `name`; of several the first in order of bytes.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().min_by_key(|known| (edit_distance(name, known), *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_edits_count() {
        for (a, b, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("url", "ulr", 2),
            ("kitten", "sitting", 3),
            ("é", "e", 1),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
        let long = "x".repeat(LENGTH_MAX);
        assert_eq!(edit_distance(&format!("{long}a"), &format!("{long}bcd")), 0);
    }

    #[test]
    fn of_equals_the_first_is_taken() {
        assert_eq!(nearest("ac", ["bc", "ab", "aa"]), Some("aa"));
        assert_eq!(nearest("max_retires", ["jitter", "max_retries"]), Some("max_retries"));
        assert_eq!(nearest("x", []), None);
    }
}
