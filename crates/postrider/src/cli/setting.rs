//! `postrider setting`

use clap::Subcommand;
use serde_json::json;

use super::{Context, Failure, json_rows};

const SETTINGS: &str = include_str!("../../../../sql/queries/settings/settings.sql");
const GET_SETTING: &str = include_str!("../../../../sql/queries/settings/get_setting.sql");
const SET_SETTING: &str = include_str!("../../../../sql/queries/settings/set_setting.sql");
const RESET_SETTING: &str = include_str!("../../../../sql/queries/settings/reset_setting.sql");

/// Show and change the settings that all dispatchers of the database share
///
/// Dispatchers follow a change without a restart.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider setting list
  postrider setting set http_timeout 30
  postrider setting set allow_internal_destinations '10.0.0.0/8, 127.0.0.1/32'
  postrider setting reset http_timeout")]
pub struct Setting {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show all settings with their ranges
    List,
    /// Print the value of a setting
    Get { name: String },
    /// Change a setting
    Set {
        name: String,
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Give a setting its default again
    Reset { name: String },
}

impl Setting {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::List => {
                let mut rows = json_rows(&client, SETTINGS, &[&None::<&str>]).await?;
                for row in &mut rows {
                    row["range"] = range(row).into();
                }
                let columns = ["name", "value", "unit", "default", "range", "description"];
                output.list(&rows, &columns, "There are no settings.");
            }
            Action::Get { name } => {
                let value: String = client.query_one(GET_SETTING, &[name]).await?.get(0);
                output.done(&json!({ "name": name, "value": value }), &value);
            }
            Action::Set { name, value } => {
                let value: String = client.query_one(SET_SETTING, &[name, value]).await?.get(0);
                let object = json!({ "name": name, "value": value });
                output.done(&object, &format!("{name} is now {value}."));
            }
            Action::Reset { name } => {
                let value: String = client.query_one(RESET_SETTING, &[name]).await?.get(0);
                let object = json!({ "name": name, "value": value });
                output.done(&object, &format!("{name} is {value} again."));
            }
        }
        Ok(())
    }
}

/// What a setting may be, for people.
fn range(setting: &serde_json::Value) -> String {
    let choices = |choices: &Vec<serde_json::Value>| {
        let choices: Vec<_> = choices.iter().filter_map(|choice| choice.as_str()).collect();
        choices.join(", ")
    };
    match setting["kind"].as_str().unwrap_or_default() {
        "integer" => format!("{} to {}", setting["minimum"], setting["maximum"]),
        "switch" => "on, off".to_owned(),
        "networks" => "on, off, networks".to_owned(),
        _ => setting["choices"].as_array().map(choices).unwrap_or_default(),
    }
}
