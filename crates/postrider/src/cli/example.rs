//! `postrider endpoint preview` and `postrider endpoint test`: what an endpoint gets, shown and tried.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use postrider_core::{
    outcome::{Outcome, Report},
    tenure::Settings,
};
use postrider_transport::{self as transport, Envelope, Preview, Shared, Ticket, Transport};
use serde_json::{Map, Value, json};
use tokio::{sync::oneshot, time::Instant};
use tokio_postgres::Client;

use super::{Context, Failure, Output, endpoint, output::clean};
use crate::serve;

const ENDPOINT_WITH_SECRETS: &str =
    include_str!("../../../../sql/queries/endpoints/endpoint_with_secrets.sql");
const LOGGED_MESSAGE: &str = include_str!("../../../../sql/queries/watch/logged_message.sql");
const STORED_FORM: &str = include_str!("../../../../sql/queries/produce/stored_form.sql");
const SETTINGS: &str = include_str!("../../../../sql/queries/settings/dispatcher_settings.sql");

/// The type of the event that `test` sends.
const EVENT_TYPE: &str = "postrider.test";
/// A key of nobody, for a preview of which no signature is shown.
const NO_KEY: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// What stands in the view for parts of an address that may be secret, and while the request is made.
const MASK: &str = "…";
const MASK_IN_ADDRESS: &str = "postrider-hidden";
/// What `test` takes at most, whatever the endpoint's timeouts are.
const LONGEST_TEST: Duration = Duration::from_secs(900);

/// A message that is nowhere stored.
#[derive(Debug, clap::Args)]
pub struct Example {
    /// What is sent, JSON
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// The event type
    #[arg(long, value_name = "TYPE")]
    event_type: Option<String>,
    /// The ordering key
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,
    /// The message's own headers, a JSON object of texts
    #[arg(long, value_name = "JSON")]
    headers: Option<String>,
    /// The message's metadata, a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

impl Example {
    /// The message, made now.
    async fn envelope(&self, client: &Client) -> Result<Envelope, Failure> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |time| time.as_micros() as i64);
        let payload = self.payload.as_deref().unwrap_or(r#"{"message": "This is a test."}"#);
        let payload = stored_form(client, "--payload", Some(payload)).await?.unwrap_or_default();
        Ok(Envelope {
            // Another one for each test, so that no receiver takes it for one that it knows; the log is far from it.
            message_id: i64::MAX - now,
            attempt: 1,
            correlation_id: None,
            event_type: Some(self.event_type.as_deref().unwrap_or(EVENT_TYPE).into()),
            created_at: now,
            expires_at: None,
            ordering_key: self.ordering_key.as_deref().map(Arc::from),
            metadata: object(client, "--metadata", self.metadata.as_deref()).await?,
            replay_of: None,
            headers: object(client, "--headers", self.headers.as_deref()).await?,
            payload: payload.into(),
            content_type: None,
        })
    }
}

/// Shows what would be sent to an endpoint: an example, or a message of the log. Reads no secret.
pub async fn preview(
    client: &Client,
    output: Output,
    name: &str,
    message: Option<i64>,
    example: &Example,
) -> Result<(), Failure> {
    let envelope = match message {
        Some(id) => logged(client, id).await?,
        None => example.envelope(client).await?,
    };
    let endpoint = endpoint::find(client, name).await?;
    let mut config = endpoint["config"].as_object().cloned().unwrap_or_default();
    let secrets: Vec<&String> =
        endpoint["secrets_set_at"].as_object().into_iter().flat_map(Map::keys).collect();
    if secrets.iter().any(|secret| *secret == "signing_keys") {
        config.insert("signing_keys".to_owned(), json!([NO_KEY]));
    }
    let mut hidden: Vec<&str> =
        secrets.iter().map(|name| name.as_str()).filter(|name| *name != "signing_keys").collect();
    for address in ["url", "url_template"] {
        if let Some(Value::String(text)) = config.get_mut(address)
            && text.contains(MASK)
        {
            *text = text.replace(MASK, MASK_IN_ADDRESS);
            hidden.push(address);
        }
    }
    let shared = Shared::new(settings(client).await?);
    let protocol = endpoint["protocol"].as_str().unwrap_or_default();
    let transport = open(protocol, &config.into(), &shared)?;
    let mut preview = transport
        .preview(envelope)
        .ok_or_else(|| Failure::Failed(format!("nothing is sent by protocol {protocol}")))?
        .map_err(Failure::Failed)?;
    preview.url = preview.url.replace(MASK_IN_ADDRESS, MASK);
    output.report(&as_json(&preview, &hidden), || as_text(&preview, &hidden));
    Ok(())
}

/// Sends an example to an endpoint as a dispatcher would, and says what came of it. Nothing is stored.
pub async fn test(
    context: &Context,
    client: &Client,
    name: &str,
    example: &Example,
) -> Result<(), Failure> {
    let envelope = example.envelope(client).await?;
    let row = client.query_opt(ENDPOINT_WITH_SECRETS, &[&name]).await?;
    let row = row.ok_or_else(|| Failure::Failed(format!("Endpoint '{name}' does not exist")))?;
    let options = serve::transport_options(&context.config)?;
    let shared = Shared::with_options(settings(client).await?, options);
    let transport = open(row.get("protocol"), &row.get("config"), &shared)?;
    let report = attempt(transport, envelope).await;
    let milliseconds = report.duration.as_millis() as u64;
    let is_accepted = report.outcome == Outcome::Accepted;
    let object = json!({
        "name": name,
        "accepted": is_accepted,
        "status": report.status,
        "error": report.error,
        "duration_ms": milliseconds,
    });
    let status = report.status.map(|status| format!(" with {status}")).unwrap_or_default();
    let error = report.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let verb = if is_accepted { "accepts" } else { "does not accept" };
    let sentence =
        format!("Endpoint {name} {verb} the message{status}, after {milliseconds} ms{error}.");
    context.output.done(&object, &sentence);
    if is_accepted { Ok(()) } else { Err(Failure::Shown(1)) }
}

async fn attempt(transport: Arc<dyn Transport>, envelope: Envelope) -> Report {
    let (sender, report) = oneshot::channel();
    let ticket = Ticket::new(move |came| drop(sender.send(came)));
    transport.attempt(vec![(envelope, ticket)], Instant::now() + LONGEST_TEST).await;
    report.await.expect("every ticket reports, at the latest when it is dropped")
}

fn open(
    protocol: &str,
    config: &Value,
    shared: &Arc<Shared>,
) -> Result<Arc<dyn Transport>, Failure> {
    transport::open(protocol, config, shared).map_err(|error| Failure::Failed(error.to_string()))
}

async fn settings(client: &Client) -> Result<transport::Settings, Failure> {
    let rows = client.query(SETTINGS, &[]).await?;
    let rows: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    Ok(Settings::new(&rows).transport)
}

async fn logged(client: &Client, id: i64) -> Result<Envelope, Failure> {
    let row = client.query_opt(LOGGED_MESSAGE, &[&id]).await?;
    let row = row.ok_or_else(|| Failure::Failed(format!("Message {id} is not in the log")))?;
    let text = |name: &str| row.get::<_, Option<&str>>(name).map(Arc::from);
    let json: Option<String> = row.get("payload");
    let body: Option<Vec<u8>> = row.get("body");
    Ok(Envelope {
        message_id: id,
        attempt: 1,
        correlation_id: row.get("correlation_id"),
        event_type: text("event_type"),
        created_at: row.get("created_at"),
        expires_at: row.get("expires_at"),
        ordering_key: text("ordering_key"),
        metadata: text("metadata"),
        replay_of: row.get("replay_of"),
        headers: text("headers"),
        payload: json.map(Bytes::from).or_else(|| body.map(Bytes::from)).unwrap_or_default(),
        content_type: text("content_type"),
    })
}

/// JSON of a flag as it would be stored.
async fn stored_form(
    client: &Client,
    flag: &str,
    json: Option<&str>,
) -> Result<Option<String>, Failure> {
    if let Some(json) = json {
        serde_json::from_str::<Value>(json)
            .map_err(|error| Failure::Usage(format!("{flag}: {error}")))?;
    }
    Ok(client.query_one(STORED_FORM, &[&json]).await?.get(0))
}

async fn object(
    client: &Client,
    flag: &str,
    json: Option<&str>,
) -> Result<Option<Arc<str>>, Failure> {
    let text = stored_form(client, flag, json).await?;
    match text {
        Some(text) if !text.starts_with('{') => {
            Err(Failure::Usage(format!("{flag}: expected a JSON object")))
        }
        text => Ok(text.map(Arc::from)),
    }
}

fn as_json(preview: &Preview, hidden: &[&str]) -> Value {
    let body = std::str::from_utf8(&preview.body).ok();
    json!({
        "method": preview.method,
        "url": preview.url,
        "headers": preview.headers.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "body": body,
        "body_bytes": preview.body.len(),
        "hidden": hidden,
    })
}

fn as_text(preview: &Preview, hidden: &[&str]) -> String {
    let mut lines = vec![format!("{} {}", preview.method, preview.url)];
    lines.extend(preview.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.push(String::new());
    lines.push(match std::str::from_utf8(&preview.body) {
        // What somebody sent must not be able to speak to our terminal.
        Ok(body) => body.split('\n').map(clean).collect::<Vec<_>>().join("\n"),
        Err(_) => format!("({} bytes that are no text)", preview.body.len()),
    });
    if !hidden.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "Not shown, because it is or may be secret: what {} adds.",
            hidden.join(", ")
        ));
    }
    lines.join("\n")
}
