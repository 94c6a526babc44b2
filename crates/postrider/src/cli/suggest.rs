//! What was meant by a name that the database does not know.

use postrider_core::spelling::{edit_distance, nearest};
use tokio_postgres::Client;

use super::Failure;

pub const WORKER_NAMES: &str = include_str!("../../../../sql/queries/worker_names.sql");

/// How many characters of three may differ at most.
const DIFFERENCE_MAX: usize = 1;

/// The end of the sentence that says that there is no such name: the one that was meant, if there is one
/// like it. `names` is a query.
pub async fn did_you_mean(client: &Client, names: &str, name: &str) -> Result<String, Failure> {
    let rows = client.query(names, &[]).await?;
    let hint = hint(name, rows.iter().map(|row| row.get(0)));
    Ok(hint.map_or_else(String::new, |known| format!(" (did you mean {known}?)")))
}

fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    nearest(name, known).filter(|known| edit_distance(name, known) * 3 <= DIFFERENCE_MAX * length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_like_it_is_suggested() {
        let known = ["resize", "report"];
        assert_eq!(hint("resise", known), Some("resize"));
        assert_eq!(hint("repotr", known), Some("report"));
        assert_eq!(hint("clean", known), None);
        assert_eq!(hint("re", known), None);
        assert_eq!(hint("", known), None);
    }
}
