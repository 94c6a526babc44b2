//! The options that a message can have, whoever it is for.

use serde_json::{Map, Value};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    Failure,
    input::{parse_header, parse_key, parse_moment, parse_object, parse_seconds},
};

/// The options of one message. The group has the name of the type: a batch excludes it.
#[derive(Debug, clap::Args)]
pub struct MessageOptions {
    /// Do not attempt it before this moment, such as 2030-05-01T09:00:00Z
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment)]
    at: Option<String>,
    /// Do not attempt it before this time has passed: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, conflicts_with = "at")]
    delay: Option<f64>,
    /// Never attempt it after this time, counted from now: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    expires_in: Option<f64>,
    /// The ordering key: messages of one key reach an endpoint one after the other
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    key: Option<String>,
    /// Send it once: while a message with this key is active, the same payload gets that message's id
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    idempotency_key: Option<String>,
    /// A UUID that is kept with the message and sent along
    #[arg(long, value_name = "UUID")]
    correlation_id: Option<Uuid>,
    /// A header to send along; can be given more than once
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = parse_header)]
    headers: Vec<(String, String)>,
    /// A JSON object that is kept with the message and never sent
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    metadata: Option<String>,
}

/// The parameters of a query that writes one message, after those that say what is sent where.
#[derive(Debug)]
pub struct Parameters<'a> {
    options: &'a MessageOptions,
    priority: i16,
    headers: Option<String>,
}

impl MessageOptions {
    /// Checks what concerns more than one option.
    pub fn parameters(&self, priority: i16) -> Result<Parameters<'_>, Failure> {
        if let (Some(delay), Some(expires_in)) = (self.delay, self.expires_in)
            && expires_in <= delay
        {
            let text =
                format!("--expires-in must be longer than --delay, got {expires_in}s and {delay}s");
            return Err(Failure::Usage(text));
        }
        let headers = (!self.headers.is_empty()).then(|| {
            let header = |(name, value): &(String, String)| (name.clone(), value.clone().into());
            Value::Object(self.headers.iter().map(header).collect::<Map<_, _>>()).to_string()
        });
        Ok(Parameters { options: self, priority, headers })
    }
}

impl<'a> Parameters<'a> {
    /// These behind the given ones, in the order in which all such queries have them.
    pub fn after(&'a self, first: &[&'a (dyn ToSql + Sync)]) -> Vec<&'a (dyn ToSql + Sync)> {
        let MessageOptions { at, delay, expires_in, key, idempotency_key, .. } = self.options;
        let MessageOptions { correlation_id, metadata, .. } = self.options;
        let rest: [&(dyn ToSql + Sync); 9] = [
            at,
            delay,
            expires_in,
            &self.priority,
            key,
            idempotency_key,
            correlation_id,
            &self.headers,
            metadata,
        ];
        [first, &rest].concat()
    }
}
