//! Names that the database does not know: no list says "nothing" about one, and what was meant is said.

use postrider_core::spelling::{edit_distance, nearest};
use tokio_postgres::{Client, error::SqlState};

use super::Failure;

pub const WORKER_NAMES: &str = include_str!("../../../../sql/queries/fleet/worker_names.sql");
pub const ACTION_NAMES: &str = include_str!("../../../../sql/queries/fleet/action_names.sql");
pub const CONSUMER_NAMES: &str = include_str!("../../../../sql/queries/consume/consumer_names.sql");
pub const SCHEDULE_NAMES: &str =
    include_str!("../../../../sql/queries/schedules/schedule_names.sql");
const ENDPOINT_NAMES: &str = include_str!("../../../../sql/queries/endpoints/endpoint_names.sql");
const EVENT_TYPE_NAMES: &str =
    include_str!("../../../../sql/queries/endpoints/event_type_names.sql");
const POOL_NAMES: &str = include_str!("../../../../sql/queries/fleet/pool_names.sql");
const CHECK_ENDPOINT_NAME: &str =
    include_str!("../../../../sql/queries/endpoints/check_endpoint_name.sql");
const CHECK_EVENT_TYPE: &str =
    include_str!("../../../../sql/queries/endpoints/check_event_type.sql");
const CHECK_ACTION_NAME: &str = include_str!("../../../../sql/queries/fleet/check_action_name.sql");
const CHECK_POOL_NAME: &str = include_str!("../../../../sql/queries/fleet/check_pool_name.sql");

/// How many characters of three may differ at most.
const DIFFERENCE_MAX: usize = 1;

/// What a filter names.
#[derive(Debug, Clone, Copy)]
pub enum Filter {
    Endpoint,
    EventType,
    Action,
    Pool,
}

impl Filter {
    /// The query that refuses a name that nothing has or had, and the one for all that are there.
    fn queries(self) -> [&'static str; 2] {
        match self {
            Self::Endpoint => [CHECK_ENDPOINT_NAME, ENDPOINT_NAMES],
            Self::EventType => [CHECK_EVENT_TYPE, EVENT_TYPE_NAMES],
            Self::Action => [CHECK_ACTION_NAME, ACTION_NAMES],
            Self::Pool => [CHECK_POOL_NAME, POOL_NAMES],
        }
    }

    /// Refuses a name that nothing has or had. A list that shows something needs no check.
    pub async fn check(self, client: &Client, name: Option<&str>) -> Result<(), Failure> {
        let Some(name) = name else { return Ok(()) };
        let [check, names] = self.queries();
        match client.query_one(check, &[&name]).await {
            Ok(_) => Ok(()),
            Err(error) => Err(explain(client, names, name, error).await),
        }
    }
}

/// The database's error; where there is no such name, with the one that was meant. `names` is a query.
pub async fn explain(
    client: &Client,
    names: &str,
    name: &str,
    error: tokio_postgres::Error,
) -> Failure {
    let is_unknown = error.code() == Some(&SqlState::UNDEFINED_OBJECT);
    match Failure::from(error) {
        Failure::Failed(text) if is_unknown => {
            // Not every role that may ask may read all names.
            let hint = did_you_mean(client, names, name).await.unwrap_or_default();
            Failure::Failed(text + &hint)
        }
        failure => failure,
    }
}

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
