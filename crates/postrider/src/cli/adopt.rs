//! `postrider adopt`

use serde_json::{Value, json};

use super::{Context, Failure};

const BEGIN_ADOPT: &str = include_str!("../../../../sql/queries/restore/begin_adopt.sql");
const ADOPT: &str = include_str!("../../../../sql/queries/restore/adopt.sql");

/// Deliver from this database although its log is from another one
///
/// After a restore of a dump, or in a copy of a database, `postrider serve` delivers nothing: the
/// original may be delivering the same. This makes the log this database's own. What the original has
/// delivered since the copy was made is then delivered a second time. Without --yes it only says what
/// was found.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider adopt            # what was found, and nothing is changed
  postrider adopt --yes")]
pub struct Adopt {
    /// Do it
    #[arg(long)]
    yes: bool,
}

impl Adopt {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        client.batch_execute(BEGIN_ADOPT).await?;
        let Some(row) = client.query_opt(ADOPT, &[&!self.yes]).await? else {
            let object = json!({ "found": null, "adopted": false });
            context
                .output
                .done(&object, "Nothing is to be adopted: the log is this database's own.");
            return Ok(());
        };
        let mut found: Value = row.get(0);
        found["adopted"] = self.yes.into();
        context.output.done(&found, &sentence(&found, self.yes));
        if self.yes { Ok(()) } else { Err(Failure::Shown(1)) }
    }
}

fn sentence(found: &Value, is_adopted: bool) -> String {
    let sign = found["found"].as_str().unwrap_or_default();
    let waiting = &found["waiting_deliveries"];
    let doubtful = match found["doubtful_messages"].as_i64() {
        Some(count) => count.to_string(),
        None => "an unknown number of".to_owned(),
    };
    if !is_adopted {
        return format!(
            "The log is from elsewhere: {sign}.\nWhat the original has delivered since the copy was made would \
             be delivered again: of {waiting} waiting deliveries and of all messages that had not ended.\n\
             Nothing was changed. If the original delivers no more, or this one is to deliver beside \
             it: postrider adopt --yes"
        );
    }
    format!(
        "Adopted: {sign}.\nTo be delivered, some of it perhaps a second time: {} messages that had not ended \
         and {waiting} waiting deliveries.\nSent here before, with ids that the original may have given away, \
         too: {doubtful} messages.",
        found["unfinished_messages"]
    )
}
