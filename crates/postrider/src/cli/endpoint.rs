//! `postrider endpoint`

use std::{collections::HashMap, fs};

use clap::Subcommand;
use postrider_transport::config::{KindName, Spelling};
use serde_json::{Map, Value, json};
use tokio_postgres::{Client, GenericClient};

use super::{
    Context, Failure, Output, destination,
    example::{self, Example},
    input::parse_message,
    job::Waiting,
    json_rows_or,
    signing_key::Keys,
};

const ENDPOINTS: &str = include_str!("../../../../sql/queries/endpoints/endpoints.sql");
const TRANSPORT_OPTIONS: &str =
    include_str!("../../../../sql/queries/endpoints/transport_options.sql");
const CREATE_ENDPOINT: &str = include_str!("../../../../sql/queries/endpoints/create_endpoint.sql");
const ALTER_ENDPOINT: &str = include_str!("../../../../sql/queries/endpoints/alter_endpoint.sql");
const MASKED: &str = include_str!("../../../../sql/queries/endpoints/endpoints_masked.sql");
const SET_RETRY_POLICY: &str = include_str!("../../../../sql/queries/policy/set_retry_policy.sql");
const DROP_ENDPOINT: &str = include_str!("../../../../sql/queries/endpoints/drop_endpoint.sql");
const ENABLE_ENDPOINT: &str = include_str!("../../../../sql/queries/endpoints/enable_endpoint.sql");
const DISABLE_ENDPOINT: &str =
    include_str!("../../../../sql/queries/endpoints/disable_endpoint.sql");
const PAUSE_ENDPOINT: &str = include_str!("../../../../sql/queries/endpoints/pause_endpoint.sql");
const RESUME_ENDPOINT: &str = include_str!("../../../../sql/queries/endpoints/resume_endpoint.sql");
const PAUSE_ALL: &str = include_str!("../../../../sql/queries/endpoints/pause_all.sql");
const RESUME_ALL: &str = include_str!("../../../../sql/queries/endpoints/resume_all.sql");
const CANCEL_MESSAGES: &str =
    include_str!("../../../../sql/queries/deliveries/cancel_endpoint_messages.sql");
const RESET_CIRCUIT_BREAKER: &str =
    include_str!("../../../../sql/queries/endpoints/reset_circuit_breaker.sql");

/// Show, create and change the places that messages go to
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider endpoint create orders --protocol http --set url=https://example.com/hook
  postrider endpoint create orders --protocol http --set url=https://example.com/hook \\
      --set headers.x-tenant=acme --retry-policy '{\"max_retries\": 20, \"base_delay_seconds\": 5}'
  postrider endpoint alter orders --set timeout_seconds=5 --unset headers
  postrider endpoint preview orders --event-type order.created --payload '{\"id\": 7}'
  postrider endpoint test orders
  postrider endpoint disable orders
  postrider endpoint pause --all
  postrider endpoint list --json")]
pub struct Endpoint {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show all endpoints
    List,
    /// Show one endpoint; values of secret options are not shown
    Show { name: String },
    /// Make an endpoint
    Create {
        name: String,
        /// How messages get there, such as http
        #[arg(long)]
        protocol: String,
        #[command(flatten)]
        change: Change,
    },
    /// Change an endpoint's config or retry policy
    ///
    /// --set and --unset change single options, --config-json replaces all of them. Secret options that
    /// are not mentioned stay.
    Alter {
        name: String,
        #[command(flatten)]
        change: Change,
        /// Take an option away; can be given more than once
        #[arg(long, value_name = "OPTION", conflicts_with = "config_json")]
        unset: Vec<String>,
    },
    /// Remove an endpoint
    Drop {
        name: String,
        /// Move messages that wait for it to the dead letter queue
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Let messages go to an endpoint again
    Enable { name: String },
    /// Stop deliveries to an endpoint and refuse new messages; what waits keeps waiting
    Disable { name: String },
    /// Stop deliveries to an endpoint that goes on taking messages
    Pause {
        #[command(flatten)]
        which: Which,
    },
    /// Let deliveries to a paused endpoint go on
    ///
    /// With --all those go on that `pause --all` has stopped, and no others.
    Resume {
        #[command(flatten)]
        which: Which,
    },
    /// Take back what was sent to an endpoint until now, attempted or not
    ///
    /// Pause it before, so that what queues up for it in memory is taken back at once.
    CancelMessages {
        name: String,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// The keys that sign what is sent to an endpoint
    #[command(subcommand)]
    Keys(Keys),
    /// Show what would be sent to an endpoint, without its secrets
    Preview {
        name: String,
        /// A message of the log, in place of an example
        #[arg(long, value_name = "ID", value_parser = parse_message, conflicts_with_all = ["payload", "event_type", "ordering_key", "headers", "metadata"])]
        message: Option<i64>,
        #[command(flatten)]
        example: Example,
    },
    /// Send an example to an endpoint now, and say what came of it
    ///
    /// It is signed and sent as messages are, but stored nowhere. Ends with 0 if it was accepted, otherwise with 1.
    Test {
        name: String,
        #[command(flatten)]
        example: Example,
    },
    /// Close an endpoint's circuit breaker, and end a pause that it asked for
    Reset { name: String },
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The endpoint's name
    name: Option<String>,
    /// All endpoints; one that is made later is not among them
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
struct Change {
    /// An option of the protocol; can be given more than once. `map.key=value` sets one entry of an
    /// option that is a map, such as headers, or a member of one that is an object
    #[arg(long, value_name = "OPTION=VALUE", conflicts_with = "config_json")]
    set: Vec<String>,
    /// An option whose value stands in a file, for secrets
    #[arg(long, value_name = "OPTION=FILE", conflicts_with = "config_json")]
    set_file: Vec<String>,
    /// The whole config, as JSON
    #[arg(long = "config-json", value_name = "JSON")]
    config_json: Option<String>,
    /// The retry policy, as JSON; `null` makes the settings apply
    #[arg(long, value_name = "JSON")]
    retry_policy: Option<String>,
}

impl Endpoint {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let mut client = context.connect().await?.client;
        let output = context.output;
        match &self.action {
            Action::List => list(&client, output).await?,
            Action::Show { name } => output.object(&find(&client, name).await?),
            Action::Create { name, protocol, change } => {
                let id = create(&mut client, name, protocol, change).await?;
                let object = json!({ "id": id, "name": name });
                output.done(&object, &format!("Endpoint {name} is created."));
                if let Some(warning) = destination::warning(&client, name).await {
                    output.notice(&warning);
                }
            }
            Action::Alter { name, change, unset } => {
                alter(&mut client, name, change, unset).await?;
                output.done(&find(&client, name).await?, &format!("Endpoint {name} is altered."));
            }
            Action::Drop { name, force, waiting } => {
                remove(&client, output, name, *force, waiting).await?;
            }
            Action::Enable { name } => {
                let is_new: bool = client.query_one(ENABLE_ENDPOINT, &[name]).await?.get(0);
                let object = json!({ "name": name, "enabled": true, "changed": is_new });
                output.done(&object, &format!("Endpoint {name} is enabled."));
            }
            Action::Disable { name } => {
                let is_new: bool = client.query_one(DISABLE_ENDPOINT, &[name]).await?.get(0);
                let object = json!({ "name": name, "enabled": false, "changed": is_new });
                output.done(&object, &format!("Endpoint {name} is disabled."));
            }
            Action::Pause { which: Which { name: None, .. } } => {
                switch_all(&client, output, PAUSE_ALL, "paused").await?;
            }
            Action::Resume { which: Which { name: None, .. } } => {
                switch_all(&client, output, RESUME_ALL, "resumed").await?;
            }
            Action::Pause { which: Which { name: Some(name), .. } } => {
                let is_new: bool = client.query_one(PAUSE_ENDPOINT, &[name]).await?.get(0);
                let object = json!({ "name": name, "paused": true, "changed": is_new });
                output.done(&object, &format!("Endpoint {name} is paused."));
            }
            Action::Resume { which: Which { name: Some(name), .. } } => {
                let is_new: bool = client.query_one(RESUME_ENDPOINT, &[name]).await?.get(0);
                let object = json!({ "name": name, "paused": false, "changed": is_new });
                output.done(&object, &format!("Endpoint {name} is resumed."));
            }
            Action::CancelMessages { name, waiting } => {
                cancel_messages(&client, output, name, waiting).await?;
            }
            Action::Keys(keys) => keys.run(&client, output).await?,
            Action::Preview { name, message, example } => {
                example::preview(&client, output, name, *message, example).await?;
            }
            Action::Test { name, example } => {
                example::test(context, &client, name, example).await?;
            }
            Action::Reset { name } => {
                let is_new: bool = client.query_one(RESET_CIRCUIT_BREAKER, &[name]).await?.get(0);
                let object = json!({ "name": name, "circuit_state": "closed", "changed": is_new });
                output.done(&object, &format!("The circuit of endpoint {name} is closed."));
            }
        }
        Ok(())
    }
}

async fn list(client: &Client, output: Output) -> Result<(), Failure> {
    let rows = json_rows_or(client, [ENDPOINTS, MASKED], &[&None::<&str>]).await?;
    let columns = ["name", "protocol", "enabled", "paused", "circuit", "config", "retry_policy"];
    output.list(&rows, &columns, "There are no endpoints.");
    Ok(())
}

/// Removes an endpoint, with what waits for it if that is wanted.
async fn remove(
    client: &Client,
    output: Output,
    name: &str,
    is_forced: bool,
    waiting: &Waiting,
) -> Result<(), Failure> {
    let made = waiting.make(client, DROP_ENDPOINT, &[&name, &is_forced]).await?;
    let buried = waiting.wait(client, output, &made).await?;
    let object = json!({
        "name": name, "dropped": true, "job_id": made.id, "buried": buried,
    });
    let sentence = match buried {
        Some(0) => format!("Endpoint {name} is dropped."),
        Some(count) => format!("Endpoint {name} is dropped, with {count} messages."),
        None => format!("Endpoint {name} is dropped. {}", made.sentence()),
    };
    output.done(&object, &sentence);
    Ok(())
}

/// Pauses or resumes all endpoints. Which of them were left as they are, because somebody else's transaction has
/// locked them, is said after what was done.
async fn switch_all(client: &Client, output: Output, sql: &str, done: &str) -> Result<(), Failure> {
    let row = client.query_one(sql, &[]).await?;
    let (count, held): (i64, Vec<String>) = (row.get("count"), row.get("held"));
    output.done(&json!({ (done): count, "held": held }), &format!("{count} endpoints are {done}."));
    if held.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "not {done}, because other transactions have locked them: {}; do it again when these have ended",
        held.join(", ")
    )))
}

async fn cancel_messages(
    client: &Client,
    output: Output,
    name: &str,
    waiting: &Waiting,
) -> Result<(), Failure> {
    let made = waiting.make(client, CANCEL_MESSAGES, &[&name]).await?;
    match waiting.wait(client, output, &made).await? {
        Some(count) => {
            let object = json!({ "cancelled": count, "job_id": made.id });
            let sentence = format!("{count} deliveries to endpoint {name} are cancelled.");
            output.done(&object, &sentence);
        }
        None => output.done(&made.object(), &made.sentence()),
    }
    Ok(())
}

pub(super) async fn find(client: &Client, name: &str) -> Result<Value, Failure> {
    let rows = json_rows_or(client, [ENDPOINTS, MASKED], &[&Some(name)]).await?;
    let missing = || Failure::Failed(format!("Endpoint '{name}' does not exist"));
    rows.into_iter().next().ok_or_else(missing)
}

async fn create(
    client: &mut Client,
    name: &str,
    protocol: &str,
    change: &Change,
) -> Result<i64, Failure> {
    let transaction = client.transaction().await?;
    let options = transport_options(&transaction, protocol).await?;
    let config = change.apply(Map::new(), &options)?.to_string();
    let row = transaction.query_one(CREATE_ENDPOINT, &[&name, &protocol, &config]).await?;
    if let Some(policy) = &change.retry_policy {
        check_json("--retry-policy", policy)?;
        transaction.execute(SET_RETRY_POLICY, &[&name, policy]).await?;
    }
    transaction.commit().await?;
    Ok(row.get(0))
}

async fn alter(
    client: &mut Client,
    name: &str,
    change: &Change,
    unset: &[String],
) -> Result<(), Failure> {
    let is_config_changed = change.config_json.is_some()
        || !(change.set.is_empty() && change.set_file.is_empty() && unset.is_empty());
    if !is_config_changed && change.retry_policy.is_none() {
        let text = "nothing to change: give --set, --unset, --config-json or --retry-policy";
        return Err(Failure::Usage(text.to_owned()));
    }
    let endpoint = find(client, name).await?;
    let transaction = client.transaction().await?;
    if is_config_changed {
        let protocol = endpoint["protocol"].as_str().unwrap_or_default();
        let options = transport_options(&transaction, protocol).await?;
        let mut config = endpoint["config"].as_object().cloned().unwrap_or_default();
        change.check_entries(&options)?;
        for option in unset {
            // A secret is not in what we can see: null takes it away.
            if config.remove(option).is_none() {
                config.insert(option.clone(), Value::Null);
            }
        }
        let config = change.apply(config, &options)?.to_string();
        transaction.query_one(ALTER_ENDPOINT, &[&name, &config]).await?;
    }
    if let Some(policy) = &change.retry_policy {
        check_json("--retry-policy", policy)?;
        transaction.execute(SET_RETRY_POLICY, &[&name, policy]).await?;
    }
    Ok(transaction.commit().await?)
}

/// An option of a protocol.
struct TransportOption {
    spelling: Spelling,
    is_secret: bool,
}

/// The options of a protocol, by name.
type TransportOptions = HashMap<String, TransportOption>;

async fn transport_options(
    client: &impl GenericClient,
    protocol: &str,
) -> Result<TransportOptions, Failure> {
    let rows = client.query(TRANSPORT_OPTIONS, &[&protocol]).await?;
    let option = |row: &tokio_postgres::Row| {
        // A kind that we do not know is one that the database judges.
        let spelling = KindName::parse(row.get(1)).map_or(Spelling::Text, KindName::spelling);
        (row.get(0), TransportOption { spelling, is_secret: row.get(2) })
    };
    Ok(rows.iter().map(option).collect())
}

impl Change {
    /// A secret map cannot be read, so one entry of it cannot be changed without losing the others.
    fn check_entries(&self, options: &TransportOptions) -> Result<(), Failure> {
        for assignment in self.set.iter().chain(&self.set_file) {
            let name = assignment.split_once('=').map_or("", |(name, _)| name);
            if let Some((map, _)) = name.split_once('.')
                && options.get(map).is_some_and(|option| option.is_secret)
            {
                return Err(Failure::Usage(format!(
                    "{name}: {map} is secret and can only be replaced as a whole: --set {map}='{{…}}'"
                )));
            }
        }
        Ok(())
    }

    /// Changes a config. What is not valid is left for the database to refuse, in its words.
    fn apply(
        &self,
        mut config: Map<String, Value>,
        options: &TransportOptions,
    ) -> Result<Value, Failure> {
        if let Some(text) = &self.config_json {
            return check_json("--config-json", text);
        }
        for assignment in &self.set {
            let (name, value) = split("--set", assignment)?;
            set(&mut config, options, name, value);
        }
        for assignment in &self.set_file {
            let (name, path) = split("--set-file", assignment)?;
            let text = fs::read_to_string(path)
                .map_err(|error| Failure::Usage(format!("--set-file {name}: {path}: {error}")))?;
            set(&mut config, options, name, text.trim_end_matches(['\r', '\n']));
        }
        Ok(Value::Object(config))
    }
}

fn split<'a>(flag: &str, assignment: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let wrong = || Failure::Usage(format!("{flag} {assignment}: expected OPTION=VALUE"));
    assignment.split_once('=').ok_or_else(wrong)
}

fn set(config: &mut Map<String, Value>, options: &TransportOptions, name: &str, text: &str) {
    set_in(config, "", options, name, text);
}

/// Sets what stands in the object at `path`, which ends with a dot unless it is the whole config.
fn set_in(
    config: &mut Map<String, Value>,
    path: &str,
    options: &TransportOptions,
    name: &str,
    text: &str,
) {
    let spelling = |name: &str| options.get(&format!("{path}{name}")).map(|option| option.spelling);
    if let Some((first, rest)) = name.split_once('.')
        && let Some(spelling @ (Spelling::Entries | Spelling::Members)) = spelling(first)
    {
        let inner = config.entry(first).or_insert_with(|| json!({}));
        if spelling == Spelling::Members && inner.is_string() {
            // One of the words that may stand in place of the object.
            *inner = json!({});
        }
        match inner.as_object_mut() {
            Some(inner) if spelling == Spelling::Members => {
                set_in(inner, &format!("{path}{first}."), options, rest, text);
            }
            Some(inner) => drop(inner.insert(rest.to_owned(), text.into())),
            None => {}
        }
        return;
    }
    let parsed = match spelling(name) {
        Some(Spelling::Json | Spelling::Entries) => serde_json::from_str(text).ok(),
        Some(Spelling::Members) => serde_json::from_str(text).ok().filter(Value::is_object),
        // An array, or keys with spaces or lines between them.
        Some(Spelling::Words) => serde_json::from_str(text)
            .ok()
            .or_else(|| Some(text.split_whitespace().collect::<Value>())),
        Some(Spelling::Text) | None => None,
    };
    config.insert(name.to_owned(), parsed.unwrap_or_else(|| text.into()));
}

fn check_json(flag: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Usage(format!("{flag}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_typed_by_the_protocol() {
        let options = [
            ("timeout", "integer"),
            ("headers", "headers"),
            ("url", "url"),
            ("a", "object"),
            ("a.size", "integer"),
            ("a.more", "object"),
            ("a.more.map", "map"),
            ("b", "object"),
            ("b.list", "texts"),
            ("c", "object"),
            ("d", "object"),
            ("d.e", "text"),
        ];
        let option = |kind: &str| TransportOption {
            spelling: KindName::parse(kind).unwrap().spelling(),
            is_secret: false,
        };
        let options = options.map(|(name, kind)| (name.to_owned(), option(kind))).into();
        let mut config = Map::new();
        for (name, text) in [
            ("url", "5"),
            ("timeout", "5"),
            ("headers", r#"{"a": "b"}"#),
            ("headers.c.d", "e=f"),
            ("unknown.key", "7"),
            ("a.size", "5"),
            ("a.more.map.x.y", "z"),
            ("a.other", "5"),
            ("b", r#"{"x": 1}"#),
            ("b.list", r#"["1"]"#),
            ("c", "word"),
            ("d", "word"),
            ("d.e", "5"),
        ] {
            set(&mut config, &options, name, text);
        }
        set(&mut config, &options, "timeout", "soon");
        let expected = json!({
            "url": "5", "timeout": "soon", "headers": {"a": "b", "c.d": "e=f"}, "unknown.key": "7",
            "a": {"size": 5, "more": {"map": {"x.y": "z"}}, "other": "5"}, "b": {"x": 1, "list": ["1"]},
            "c": "word", "d": {"e": "5"}
        });
        assert_eq!(Value::Object(config), expected);
    }

    /// One value of each kind as it is written, and what stands in the config then.
    #[test]
    fn values_of_every_kind_can_be_written() {
        let entries = r#"{"a": "b"}"#;
        for kind in KindName::ALL {
            let (given, expected) = match kind {
                KindName::Text
                | KindName::OneOf
                | KindName::Url
                | KindName::HeaderName
                | KindName::Template
                | KindName::UrlTemplate
                | KindName::Lines => (vec![("x", "7")], json!({ "x": "7" })),
                KindName::Integer => (vec![("x", "7")], json!({ "x": 7 })),
                KindName::Boolean => (vec![("x", "true")], json!({ "x": true })),
                KindName::Texts => (vec![("x", r#"["7"]"#)], json!({ "x": ["7"] })),
                KindName::Map | KindName::Headers | KindName::HeaderTemplates => (
                    vec![("x", entries), ("x.c.d", "{7}")],
                    json!({ "x": { "a": "b", "c.d": "{7}" } }),
                ),
                KindName::Object => (
                    vec![("x", entries), ("x.member", "7")],
                    json!({ "x": { "a": "b", "member": "7" } }),
                ),
                KindName::SigningKeys => (vec![("x", "a\n b")], json!({ "x": ["a", "b"] })),
            };
            let option = TransportOption { spelling: kind.spelling(), is_secret: false };
            let options = HashMap::from([("x".to_owned(), option)]);
            let mut config = Map::new();
            for (name, text) in given {
                set(&mut config, &options, name, text);
            }
            assert_eq!(Value::Object(config), expected, "{kind:?}");
        }
    }
}
