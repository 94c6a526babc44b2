//! `postrider token`

use clap::Subcommand;
use serde_json::json;

use super::{Context, Failure, input::parse_seconds, json_rows};
use crate::api::token::{Role, Secret};

const CREATE: &str = include_str!("../../../../sql/queries/access/create_token.sql");
const REVOKE: &str = include_str!("../../../../sql/queries/access/revoke_token.sql");
const WITHOUT_RIGHTS: &str =
    include_str!("../../../../sql/queries/access/token_role_without_rights.sql");
const TOKENS: &str = include_str!("../../../../sql/queries/access/tokens.sql");

/// Let others ask over HTTP
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider token create shop --role producer
  postrider token create grafana --role viewer --expires 365d
  TOKEN=$(postrider token create deploy --role admin --expires 1h)
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:8780/metrics
  postrider token revoke shop")]
pub struct Token {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a token and print it, this once
    Create {
        /// For people: who has it
        name: String,
        /// What it allows
        #[arg(long, value_enum)]
        role: Role,
        /// For how long: 30s, 10m, 2h, 1d; without this, until it is revoked
        #[arg(long, value_name = "DURATION", value_parser = parse_seconds)]
        expires: Option<f64>,
    },
    /// Show tokens, without what is secret
    List,
    /// Let a token be good for nothing
    Revoke { name: String },
}

impl Token {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::Create { name, role, expires } => {
                let no_dice = || Failure::Failed("the system has no randomness".to_owned());
                let secret = Secret::generate().ok_or_else(no_dice)?;
                let row =
                    client.query_one(CREATE, &[name, &role.name(), &secret.hash, expires]).await?;
                let id: i32 = row.get(0);
                if let Some(row) = client.query_opt(WITHOUT_RIGHTS, &[&role.name()]).await? {
                    let database_role: &str = row.get(0);
                    output.notice(&format!(
                        "warning: role \"{database_role}\" has no rights on the schema of this database, so this \
                         token may do nothing: it may have been made for another database of the cluster, or after the \
                         last `postrider migrate`, which grants them"
                    ));
                }
                let token = secret.token(id);
                let object = json!({ "id": id, "name": name, "role": role.name(), "token": token });
                output.done(&object, &token);
            }
            Action::List => {
                let rows = json_rows(&client, TOKENS, &[]).await?;
                let columns =
                    ["name", "role", "status", "expires_at", "last_used_at", "created_by"];
                output.list(&rows, &columns, "There are no tokens.");
            }
            Action::Revoke { name } => {
                let is_revoked: bool = client.query_one(REVOKE, &[name]).await?.get(0);
                let sentence = match is_revoked {
                    true => format!("Token {name} is revoked."),
                    false => format!("Token {name} was revoked before."),
                };
                output.done(&json!({ "name": name, "revoked": is_revoked }), &sentence);
            }
        }
        Ok(())
    }
}
