//! `postrider migrate`

use postrider_store::migrate::{self, Choices, Report, RolePrefix, SHARDS_MAX};
use postrider_transport::options_as_json;
use serde_json::json;
use tokio::sync::broadcast::error::TryRecvError;

use super::{Context, Failure, Output};

/// Install or upgrade the schema "postrider" in the database
///
/// Runs in one transaction and can be run any number of times, also by several at once. Needs no
/// superuser: a role that may create a schema in the database is enough. Dispatchers connect as the
/// same role.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider migrate
  postrider migrate --shards 32            # a new database with 32 shards
  postrider migrate --print > postrider.sql
  psql -v ON_ERROR_STOP=1 -1 -f postrider.sql")]
pub struct Migrate {
    /// Print the SQL instead of running it
    #[arg(long)]
    pub print: bool,
    /// The number of shards of a new database: 1 to 64, by default 16. Cannot be changed later
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=i64::from(SHARDS_MAX)))]
    pub shards: Option<u16>,
    /// What the names of the roles begin with, where several databases of a cluster are to have roles of
    /// their own: shop makes shop_producer and so on. The database keeps it; a new one has postrider
    #[arg(long, value_name = "PREFIX")]
    pub role_prefix: Option<RolePrefix>,
}

impl Migrate {
    /// `--print`
    pub fn print_script(&self, output: Output) -> Result<(), Failure> {
        output.raw(&migrate::script(&self.choices(), &options_as_json()));
        Ok(())
    }

    fn choices(&self) -> Choices {
        Choices { shard_count: self.shards, role_prefix: self.role_prefix.clone() }
    }

    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let mut session = context.connect_to_any().await?;
        let watcher = context.connect_to_any().await?;
        let (choices, options) = (self.choices(), options_as_json());
        let migrated =
            migrate::migrate(&mut session.client, &watcher.client, &choices, &options).await;
        // Who may not create roles has heard of it when the schema was installed; `postrider doctor` says it again.
        let is_new = migrated.as_ref().is_ok_and(|report| !report.applied.is_empty());
        loop {
            match session.notices.try_recv() {
                Ok(notice) if !is_new && notice.message().contains("may not create roles") => {}
                Ok(notice) => {
                    context.output.notice(notice.message());
                    notice.hint().into_iter().for_each(|hint| context.output.notice(hint));
                }
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        let Report { database, applied, latest, shard_count } = migrated?;
        let state = format!("is at {latest}, with {shard_count} shards");
        let sentence = if applied.is_empty() {
            format!("Database \"{database}\" {state}: nothing to apply, functions refreshed.")
        } else {
            format!("Database \"{database}\" {state}: applied {}.", applied.join(", "))
        };
        let object = json!({
            "database": database, "applied": applied, "latest": latest, "shards": shard_count
        });
        context.output.done(&object, &sentence);
        Ok(())
    }
}
