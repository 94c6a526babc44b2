use super::*;

fn plain(_: &str, _: &str, piece: &str) -> String {
    piece.to_owned()
}

fn rows(lines: &[&[&str]]) -> Vec<Vec<Option<String>>> {
    let cell = |cell: &&str| (!cell.is_empty()).then(|| (*cell).to_owned());
    lines.iter().map(|line| line.iter().map(cell).collect()).collect()
}

fn table(columns: &[&str], lines: &[&[&str]], width: usize) -> Layout {
    lay_out(columns, &rows(lines), width, &plain)
}

/// Columns, lines, width, the lines expected, what is left out.
type Case = (
    &'static [&'static str],
    &'static [&'static [&'static str]],
    usize,
    &'static [&'static str],
    &'static [&'static str],
);

const CASES: &[Case] = &[
    // Nothing to do.
    (
        &["name", "waiting_count"],
        &[&["a", "5"], &["länger", ""]],
        40,
        &["NAME    WAITING COUNT", "a       5", "länger  -"],
        &[],
    ),
    // Columns in which nothing stands are not shown, and not spoken of.
    (
        &["name", "region", "rate"],
        &[&["a", "", "1"], &["b", "", ""]],
        40,
        &["NAME  RATE", "a     1", "b     -"],
        &[],
    ),
    (&["name", "region"], &[&["", ""]], 40, &["NAME", "-"], &[]),
    // Wide characters take two places.
    (
        &["name", "rate"],
        &[&["配送先", "1"], &["abcdefg", "2"]],
        40,
        &["NAME     RATE", "配送先   1", "abcdefg  2"],
        &[],
    ),
    // A combining character takes none.
    (
        &["name", "rate"],
        &[&["e\u{301}t\u{e9}", "1"]],
        40,
        &["NAME  RATE", "e\u{301}t\u{e9}   1"],
        &[],
    ),
    // What is too wide is folded between words.
    (
        &["name", "last_error"],
        &[&["orders", "HTTP 503: the service is not available for now"]],
        40,
        &[
            "NAME    LAST ERROR",
            "orders  HTTP 503: the service is not",
            "        available for now",
        ],
        &[],
    ),
    // Just as wide as the line, and one more.
    (
        &["name", "text"],
        &[&["abcd", "one two three four five six"]],
        33,
        &["NAME  TEXT", "abcd  one two three four five six"],
        &[],
    ),
    (
        &["name", "text"],
        &[&["abcd", "one two three four five six"]],
        32,
        &["NAME  TEXT", "abcd  one two three four five", "      six"],
        &[],
    ),
    // Headers fold too.
    (
        &["name", "messages_processed"],
        &[&["abcdefghij", "5"]],
        21,
        &["NAME        MESSAGES", "            PROCESSED", "abcdefghij  5"],
        &[],
    ),
    // The last goes first.
    (
        &["name", "first", "second"],
        &[&["abcdefghij", "abcdefghij", "abcdefghij"]],
        33,
        &["NAME        FIRST", "abcdefghij  abcdefghij"],
        &["second"],
    ),
    // But not what people look for.
    (
        &["name", "first", "last_error"],
        &[&["abcdefghij", "abcdefghij", "abcdefghij"]],
        33,
        &["NAME        LAST ERROR", "abcdefghij  abcdefghij"],
        &["first"],
    ),
    (
        &["name", "first", "last_error"],
        &[&["abcdefghij", "abcdefghij", "abc def ghi jkl mno"]],
        19,
        &[
            "NAME        LAST",
            "            ERROR",
            "abcdefghij  abc def",
            "            ghi jkl",
            "            mno",
        ],
        &["first"],
    ),
    // A word is never broken: the column goes, or, if it is the first, the line is too long.
    (
        &["name", "last_error"],
        &[&["a", "https://shop.example/hooks/orders/2026"]],
        40,
        &["NAME", "a"],
        &["last_error"],
    ),
    (
        &["url", "rate"],
        &[&["https://shop.example/hooks/orders/2026", "1"]],
        30,
        &["URL", "https://shop.example/hooks/orders/2026"],
        &["rate"],
    ),
];

#[test]
fn tables_fit() {
    for (columns, lines, width, expected, left_out) in CASES {
        let layout = table(columns, lines, *width);
        assert_eq!(layout.lines, *expected, "{columns:?} in {width}");
        assert_eq!(layout.left_out, *left_out, "{columns:?} in {width}");
    }
}

#[test]
fn at_every_width_lines_fit_and_words_are_whole() {
    let mut random = 0x2545_f491_u64;
    let mut next = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let names = ["name", "status", "attempts", "last_error", "oldest_pending_message", "details"];
    for width in 40..=200 {
        for _ in 0..4 {
            let columns = &names[..2 + next(5) as usize];
            let mut word = || {
                let letter = ["a", "é", "配", "送"][next(4) as usize];
                letter.repeat(1 + next(12) as usize)
            };
            let mut cell = |count: usize| (0..count).map(|_| word()).collect::<Vec<_>>().join(" ");
            let lines: Vec<Vec<Option<String>>> = (0..3)
                .map(|row| (0..columns.len()).map(|column| Some(cell(1 + row * column))).collect())
                .collect();
            let layout = lay_out(columns, &lines, width, &plain);
            let widest = layout.lines.iter().map(|line| line.width()).max().unwrap();
            assert!(widest <= width, "{widest} > {width}: {layout:#?}");
            let shown: Vec<&str> =
                layout.lines.iter().flat_map(|line| line.split_whitespace()).collect();
            let index = |name: &&&str| columns.iter().position(|column| column == *name).unwrap();
            let kept =
                columns.iter().filter(|name| !layout.left_out.contains(&(**name).to_owned()));
            for column in kept.clone().map(|name| index(&name)) {
                for text in lines.iter().filter_map(|line| line[column].as_deref()) {
                    assert!(
                        text.split(' ').all(|word| shown.contains(&word)),
                        "{text}: {layout:#?}"
                    );
                }
            }
            assert!(!layout.left_out.contains(&columns[0].to_owned()));
        }
    }
}

#[test]
fn paint_takes_no_room() {
    let paint = |column: &str, cell: &str, piece: &str| match (column, cell) {
        ("status", "not well at this time now") => format!("<{piece}>"),
        _ => piece.to_owned(),
    };
    let lines = rows(&[&["not well at this time now", "5"], &["ok", "6"]]);
    let layout = lay_out(&["status", "rate"], &lines, 27, &paint);
    let expected = [
        "STATUS                 RATE",
        "<not well at this time>  5",
        "<now>",
        "ok                     6",
    ];
    assert_eq!(layout.lines, expected);
    assert_eq!(layout.header_count, 1);
}

#[test]
fn texts_are_folded_between_words() {
    for (text, width, expected) in [
        ("", 10, vec![""]),
        ("one two", 7, vec!["one two"]),
        ("one two", 6, vec!["one", "two"]),
        ("one  two", 7, vec!["one two"]),
        ("incomprehensibilities at all", 6, vec!["incomprehensibilities", "at all"]),
        ("配送 先", 7, vec!["配送 先"]),
        ("配送 先", 6, vec!["配送", "先"]),
    ] {
        assert_eq!(fold(text, width), expected, "{text} in {width}");
    }
}
