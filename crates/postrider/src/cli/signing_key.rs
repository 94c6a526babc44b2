//! `postrider endpoint keys`

use std::fs;

use clap::Subcommand;
use postrider_core::signing;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;
use tokio_postgres::Client;

use super::{Failure, json_rows, output::Output, suggest::Filter};

const KEYS: &str = include_str!("../../../../sql/queries/endpoints/signing_keys.sql");
const ADD: &str = include_str!("../../../../sql/queries/endpoints/add_signing_key.sql");
const ROTATE: &str = include_str!("../../../../sql/queries/endpoints/rotate_signing_key.sql");
const RETIRE: &str = include_str!("../../../../sql/queries/endpoints/retire_signing_key.sql");
const REVEAL: &str = include_str!("../../../../sql/queries/endpoints/reveal_signing_key.sql");

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Show which keys sign what is sent to an endpoint; the keys themselves are not shown
    List { name: String },
    /// Let one more key sign, and show it this once
    Add {
        name: String,
        /// An ed25519 pair (v1a) instead of a key for HMAC-SHA256 (v1): receivers get its public half only
        #[arg(long)]
        pair: bool,
        /// A file with a finished key, whsec_…, whsk_… or raw:…; `-` reads it from standard input
        #[arg(long, value_name = "FILE", conflicts_with = "pair")]
        key_file: Option<String>,
    },
    /// Let a new key sign, and the others for a while; shows the new one this once
    Rotate {
        name: String,
        /// How long the others go on signing: 0 to 30 days
        #[arg(long, value_name = "INTERVAL", default_value = "24 hours")]
        overlap: String,
    },
    /// Let a key sign no more
    Retire {
        name: String,
        /// Its id, as `keys list` shows it
        key_id: String,
        /// How long it goes on signing: 0 to 30 days
        #[arg(long, value_name = "INTERVAL", default_value = "0")]
        after: String,
    },
    /// Show the key that was made with an endpoint, once
    Reveal {
        name: String,
        /// Its id, as `keys list` shows it
        key_id: String,
    },
}

impl Keys {
    pub async fn run(&self, client: &Client, output: Output) -> Result<(), Failure> {
        match self {
            Keys::List { name } => {
                let rows = json_rows(client, KEYS, &[name]).await?;
                if rows.is_empty() {
                    Filter::Endpoint.check(client, Some(name)).await?;
                }
                let columns = ["id", "kind", "created_at", "retires_at", "can_be_revealed"];
                output.list(&rows, &columns, &format!("Nothing signs for endpoint {name}."));
            }
            Keys::Add { name, pair, key_file } => {
                let key = match key_file {
                    Some(file) => Some(read(file)?),
                    None => pair.then(new_pair).transpose()?,
                };
                let key: String = client.query_one(ADD, &[name, &key]).await?.get(0);
                let public = signing::SigningKey::parse(&key).ok().and_then(|key| key.public_key());
                let object = json!({ "endpoint": name, "key": key, "public_key": public });
                // Who has given it knows it.
                let sentence = match (key_file, &public) {
                    (Some(_), _) => format!("One more key signs for endpoint {name}."),
                    (None, None) => key.clone(),
                    (None, Some(public)) => format!("{key}\n{public}"),
                };
                output.done(&object, &sentence);
            }
            Keys::Rotate { name, overlap } => {
                let key: String = client.query_one(ROTATE, &[name, overlap]).await?.get(0);
                output.done(&json!({ "endpoint": name, "key": key }), &key);
            }
            Keys::Retire { name, key_id, after } => {
                let at: String = client.query_one(RETIRE, &[name, key_id, after]).await?.get(0);
                let object = json!({ "endpoint": name, "id": key_id, "retires_at": at });
                output.done(&object, &format!("Key {key_id} signs until {at}."));
            }
            Keys::Reveal { name, key_id } => {
                let key: String = client.query_one(REVEAL, &[name, key_id]).await?.get(0);
                output.done(&json!({ "endpoint": name, "id": key_id, "key": key }), &key);
            }
        }
        Ok(())
    }
}

fn read(file: &str) -> Result<String, Failure> {
    let text = match file {
        "-" => std::io::read_to_string(std::io::stdin()),
        file => fs::read_to_string(file),
    };
    let text = text.map_err(|error| Failure::Usage(format!("--key-file {file}: {error}")))?;
    let key = text.trim();
    // SQL cannot tell whether the halves of a pair fit.
    match signing::SigningKey::parse(key) {
        // Whether a text signs depends on the endpoint.
        Ok(_) | Err(signing::KeyError::Raw) => Ok(key.to_owned()),
        Err(error) => Err(Failure::Usage(format!("--key-file {file}: {error}"))),
    }
}

fn new_pair() -> Result<String, Failure> {
    let mut seed = [0; 32];
    let failed = |_| Failure::Failed("this machine gives no random numbers".to_owned());
    SystemRandom::new().fill(&mut seed).map_err(failed)?;
    Ok(signing::pair_from_seed(&seed))
}
