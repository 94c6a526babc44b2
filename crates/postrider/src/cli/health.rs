//! `postrider health`

use serde_json::Value;

use super::{Context, Failure, json_rows};

const HEALTH: &str = include_str!("../../../../sql/queries/watch/health_check.sql");

/// What could not be asked, for whoever watches: neither degraded nor unhealthy.
pub const NOT_ASKED: u8 = 3;

/// Show how each part of the service does
///
/// Exit codes, as monitoring plugins have them: 0 all is healthy, 1 something is degraded, 2
/// something is unhealthy, 3 it could not be asked: the database cannot be reached or does not
/// answer, its schema is of another version, or the role may not.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider health
  postrider health --json | jq '.[] | select(.status != \"healthy\")'")]
pub struct Health;

impl Health {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let rows = json_rows(&client, HEALTH, &[]).await?;
        let columns = ["component", "status", "details"];
        context.output.list(&rows, &columns, "There is nothing to check.");
        match exit_code(&rows) {
            0 => Ok(()),
            code => Err(Failure::Shown(code)),
        }
    }
}

/// What is not known to be well is as good as unhealthy.
fn exit_code(rows: &[Value]) -> u8 {
    let code = |row: &Value| match row["status"].as_str() {
        Some("healthy") => 0,
        Some("degraded") => 1,
        _ => 2,
    };
    rows.iter().map(code).max().unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_worst_component_decides() {
        for (statuses, code) in [
            (vec!["healthy", "healthy"], 0),
            (vec!["healthy", "degraded", "healthy"], 1),
            (vec!["degraded", "unhealthy"], 2),
            (vec!["healthy", "nonsense"], 2),
            (vec![], 2),
        ] {
            let rows: Vec<Value> = statuses.iter().map(|s| json!({ "status": s })).collect();
            assert_eq!(exit_code(&rows), code, "{statuses:?}");
        }
    }
}
