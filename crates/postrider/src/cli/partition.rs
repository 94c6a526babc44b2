//! `postrider partition`

use clap::Subcommand;
use postrider_store::archive;
use serde_json::json;

use super::{Context, Failure, json_rows};

const PARTITIONS: &str = include_str!("../../../../sql/queries/archive/partitions.sql");

/// Show, make and drop the partitions of the log
///
/// Dispatchers make and drop them by themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider partition list
  postrider partition maintain --months-ahead 6
  postrider partition cleanup --retention-months 12")]
pub struct Partition {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show all partitions, the oldest first
    List,
    /// Make the partitions of the coming months, or of the coming days, as the settings say
    Maintain {
        /// How many months ahead [default: 3; 0 where partitions are of a day]
        #[arg(long, value_name = "MONTHS", value_parser = clap::value_parser!(i32).range(0..=120))]
        months_ahead: Option<i32>,
    },
    /// Drop old partitions in which every message has ended
    Cleanup {
        /// How many months to keep [default: the setting archive_retention_months]
        #[arg(long, value_name = "MONTHS", value_parser = clap::value_parser!(i32).range(1..=120))]
        retention_months: Option<i32>,
    },
}

impl Partition {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match self.action {
            Action::List => {
                let rows = json_rows(&client, PARTITIONS, &[]).await?;
                let columns = ["name", "table", "from_at", "to_at", "rows", "bytes"];
                output.list(&rows, &columns, "There are no partitions.");
            }
            Action::Maintain { months_ahead } => {
                let created = archive::maintain(&client, months_ahead).await?;
                let sentence = format!("{created} partitions are created.");
                output.done(&json!({ "created": created }), &sentence);
            }
            Action::Cleanup { retention_months } => {
                let dropped = archive::cleanup(&client, retention_months).await?;
                let sentence = format!("{dropped} partitions are dropped.");
                output.done(&json!({ "dropped": dropped }), &sentence);
            }
        }
        Ok(())
    }
}
