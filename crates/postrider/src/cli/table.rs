//! Tables for people: columns that fit into a line, and words that stay whole.
//!
//! Takes what the cells say and how wide a line is, and returns lines; knows nothing of terminals. A column in
//! which nothing stands is not shown. What is too wide is folded between words; where that is not enough, columns
//! are given up from the last to the first, and those of [`KEPT`] after all others. The first one always stays, and
//! is the only one that may make a line too long: a word of it may be longer than any line.

use unicode_width::UnicodeWidthStr;

/// What stands between two columns.
const GAP: usize = 2;
/// A text is not folded into less than this, in characters, as long as another column can be given up.
const FOLDED_WIDTH: usize = 20;
/// Columns that tell how something is: people look at a table for their sake.
const KEPT: [&str; 8] =
    ["status", "state", "circuit", "circuit_state", "details", "error", "last_error", "advice"];

/// A table, laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The header's lines first, [`header_count`](Self::header_count) of them.
    pub lines: Vec<String>,
    pub header_count: usize,
    /// Columns that have something to say and found no room.
    pub left_out: Vec<String>,
}

/// Paints a piece of a cell: its column, what the whole cell says, the piece. Must not change what is visible.
pub type Paint<'a> = &'a dyn Fn(&str, &str, &str) -> String;

/// Lays a table out in lines of `width` characters. A cell that is `None` says nothing.
pub fn lay_out(
    columns: &[&str],
    rows: &[Vec<Option<String>>],
    width: usize,
    paint: Paint<'_>,
) -> Layout {
    let mut shown: Vec<Column> =
        columns.iter().enumerate().map(|(index, name)| Column::new(index, name, rows)).collect();
    let says_something = |column: &Column| rows.iter().any(|row| row[column.index].is_some());
    if shown.iter().any(says_something) {
        shown.retain(says_something);
    } else {
        shown.truncate(1);
    }
    let (widths, left_out) = fit(&mut shown, width);

    let header = |column: &Column| column.header.clone();
    let mut lines = fold_row(&shown, &widths, header, |_, piece| piece.to_owned());
    let header_count = lines.len();
    for row in rows {
        let text = |column: &Column| row[column.index].clone().unwrap_or_else(|| "-".to_owned());
        let painted = |column: &Column, piece: &str| paint(column.name, &text(column), piece);
        lines.extend(fold_row(&shown, &widths, text, painted));
    }
    Layout { lines, header_count, left_out }
}

/// Folds a text between its words into lines of `width` characters. A longer word has a line of its own.
pub fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always one");
        if last.is_empty() {
            last.push_str(word);
        } else if last.width() + 1 + word.width() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

struct Column<'a> {
    index: usize,
    name: &'a str,
    header: String,
    /// The width that needs no folding, the one below which it is hard to read, and that of its longest word.
    natural: usize,
    readable: usize,
    least: usize,
}

impl<'a> Column<'a> {
    fn new(index: usize, name: &'a str, rows: &[Vec<Option<String>>]) -> Self {
        let header = name.replace('_', " ").to_uppercase();
        let cells = rows.iter().filter_map(|row| row[index].as_deref());
        let widest_cell = cells.clone().map(UnicodeWidthStr::width).max().unwrap_or(1);
        let words = cells.chain([header.as_str()]).flat_map(str::split_whitespace);
        let least = words.map(UnicodeWidthStr::width).max().unwrap_or(1);
        let natural = widest_cell.max(header.width());
        let readable = least.max(widest_cell.min(FOLDED_WIDTH));
        Self { index, name, header, natural, readable, least }
    }
}

/// How wide each column is; takes those away for which there is no room, and returns their names.
fn fit(columns: &mut Vec<Column<'_>>, width: usize) -> (Vec<usize>, Vec<String>) {
    let mut left_out = Vec::new();
    loop {
        let room = width.saturating_sub(GAP * columns.len().saturating_sub(1));
        if columns.iter().map(|column| column.readable).sum::<usize>() <= room {
            return (share(columns, room, |column| column.readable), left_out);
        }
        // Of those that are kept, folding into little is better than giving up.
        let is_kept = |column: &Column<'_>| KEPT.contains(&column.name);
        let are_kept = columns.iter().skip(1).all(is_kept);
        let least: usize = columns.iter().map(|column| column.least).sum();
        if columns.len() <= 1 || are_kept && least <= room {
            return (share(columns, room, |column| column.least), left_out);
        }
        let last = columns.iter().rposition(|column| !is_kept(column)).filter(|&index| index > 0);
        let given_up = columns.remove(last.unwrap_or(columns.len() - 1));
        left_out.insert(0, given_up.name.to_owned());
    }
}

/// Gives every column its natural width, but takes from the widest what is too much, down to their least.
fn share(columns: &[Column<'_>], room: usize, least: impl Fn(&Column<'_>) -> usize) -> Vec<usize> {
    let widths = |cap: usize| -> Vec<usize> {
        columns.iter().map(|column| column.natural.min(cap).max(least(column))).collect()
    };
    let widest = columns.iter().map(|column| column.natural).max().unwrap_or_default();
    let mut cap = widest.min(room);
    while cap > 0 && widths(cap).iter().sum::<usize>() > room {
        cap -= 1;
    }
    let mut widths = widths(cap);
    // What is left by the division goes to the first that can use it.
    let mut free = room.saturating_sub(widths.iter().sum());
    for (width, column) in widths.iter_mut().zip(columns) {
        let more = column.natural.saturating_sub(*width).min(free);
        *width += more;
        free -= more;
    }
    widths
}

fn fold_row(
    columns: &[Column<'_>],
    widths: &[usize],
    text: impl Fn(&Column<'_>) -> String,
    paint: impl Fn(&Column<'_>, &str) -> String,
) -> Vec<String> {
    let cells: Vec<Vec<String>> =
        columns.iter().zip(widths).map(|(column, width)| fold(&text(column), *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let line = |number: usize| {
        let mut line = String::new();
        let mut blank = 0;
        for ((column, width), cell) in columns.iter().zip(widths).zip(&cells) {
            let piece = cell.get(number).map_or("", String::as_str);
            if !piece.is_empty() {
                line.push_str(&" ".repeat(blank));
                line.push_str(&paint(column, piece));
                blank = 0;
            }
            blank += width.saturating_sub(piece.width()) + GAP;
        }
        line
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests;
