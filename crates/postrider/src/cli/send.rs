//! `postrider send`

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read},
};

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio_postgres::Transaction;
use uuid::Uuid;

use super::{Context, Failure};

const SEND_MESSAGE: &str = include_str!("../../../../sql/queries/send_message.sql");
const SEND_MESSAGES: &str = include_str!("../../../../sql/queries/send_messages.sql");

/// How many messages of a batch go to the server at a time, and how many bytes of them.
const CHUNK_COUNT: usize = 1_000;
const CHUNK_BYTES: usize = 4 << 20;

/// Send messages to an endpoint
///
/// Applications do the same in SQL, inside their own transactions: select postrider.send('orders',
/// '{"order": 1}').
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider send orders '{\"order\": 1}'
  echo '{\"order\": 1}' | postrider send orders -
  postrider send orders '{\"order\": 1}' --header x-tenant=acme --expires-in 10m
  postrider send orders --batch orders.jsonl     # one payload a line, all or nothing")]
pub struct Send {
    /// The endpoint's name
    endpoint: String,
    /// The payload, as JSON; `-` reads it from standard input
    #[arg(required_unless_present = "batch")]
    payload: Option<String>,
    /// A header to send along; can be given more than once
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
    /// A UUID that is kept with the message and sent along
    #[arg(long, value_name = "UUID")]
    correlation_id: Option<Uuid>,
    /// Never attempt it after this time: 30s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    expires_in: Option<f64>,
    /// Send every line of this file as a message, in one transaction; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["payload", "headers", "correlation_id", "expires_in"])]
    batch: Option<String>,
}

impl Send {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        match &self.batch {
            Some(file) => self.run_batch(context, file).await,
            None => self.run_single(context).await,
        }
    }

    async fn run_single(&self, context: &Context) -> Result<(), Failure> {
        let payload = match self.payload.as_deref() {
            Some("-") | None => read_standard_input()?,
            Some(payload) => payload.to_owned(),
        };
        check_json(&payload).map_err(|error| usage("the payload", &error))?;
        let headers = parse_headers(&self.headers)?.map(|headers| headers.to_string());
        let client = context.connect().await?.client;
        let row = client
            .query_one(
                SEND_MESSAGE,
                &[&self.endpoint, &payload, &self.correlation_id, &self.expires_in, &headers],
            )
            .await?;
        let id: i64 = row.get(0);
        let sentence = format!("Message {id} is committed for endpoint {}.", self.endpoint);
        context.output.done(&json!({ "id": id }), &sentence);
        Ok(())
    }

    async fn run_batch(&self, context: &Context, file: &str) -> Result<(), Failure> {
        let reader: Box<dyn BufRead> = match file {
            "-" => Box::new(BufReader::new(io::stdin())),
            path => {
                let opened = File::open(path);
                Box::new(BufReader::new(opened.map_err(|error| usage(path, &error))?))
            }
        };
        let mut client = context.connect().await?.client;
        let transaction = client.transaction().await?;
        let (mut ids, mut chunk, mut chunk_bytes) = (Vec::new(), Vec::new(), 0);
        for (index, line) in reader.lines().enumerate() {
            let place = format!("{file}, line {}", index + 1);
            let line = line.map_err(|error| usage(&place, &error))?;
            if line.trim().is_empty() {
                continue;
            }
            check_json(&line).map_err(|error| usage(&place, &error))?;
            chunk_bytes += line.len();
            chunk.push(line);
            if chunk.len() >= CHUNK_COUNT || chunk_bytes >= CHUNK_BYTES {
                ids.extend(self.send_chunk(&transaction, &chunk).await?);
                (chunk_bytes, chunk) = (0, Vec::new());
            }
        }
        ids.extend(self.send_chunk(&transaction, &chunk).await?);
        transaction.commit().await?;
        let count = ids.len();
        let sentence = format!("{count} messages are committed for endpoint {}.", self.endpoint);
        context.output.done(&json!({ "count": count, "ids": ids }), &sentence);
        Ok(())
    }

    async fn send_chunk(
        &self,
        transaction: &Transaction<'_>,
        payloads: &[String],
    ) -> Result<Vec<i64>, Failure> {
        let row = transaction.query_one(SEND_MESSAGES, &[&self.endpoint, &payloads]).await?;
        Ok(row.get(0))
    }
}

fn usage(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{what}: {error}"))
}

fn check_json(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ())
}

fn read_standard_input() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        eprintln!("Type the payload and end it with Ctrl-D:");
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| usage("standard input", &error))?;
    Ok(text)
}

fn parse_headers(headers: &[String]) -> Result<Option<Value>, Failure> {
    let mut object = Map::new();
    for header in headers {
        let Some((name, value)) = header.split_once('=') else {
            return Err(Failure::Usage(format!("--header {header}: expected NAME=VALUE")));
        };
        object.insert(name.trim().to_owned(), value.trim().into());
    }
    Ok((!object.is_empty()).then_some(Value::Object(object)))
}

/// `90`, `90s`, `10m`, `2h`, `1d` in seconds.
fn parse_seconds(text: &str) -> Result<f64, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((end, 's')) => (&text[..end], 1.0),
        Some((end, 'm')) => (&text[..end], 60.0),
        Some((end, 'h')) => (&text[..end], 3_600.0),
        Some((end, 'd')) => (&text[..end], 86_400.0),
        _ => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number * factor),
        _ => Err("expected a time such as 30s, 10m, 2h, 1d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in
            [("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("2h", 7_200.0), ("1d", 86_400.0)]
        {
            assert_eq!(parse_seconds(text), Ok(seconds), "{text}");
        }
        for text in ["", "s", "-1s", "0", "1w", "inf", "nan", "1 m"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn headers_are_split_at_the_first_equals_sign() {
        let headers = ["a=b=c".to_owned(), "x-y = z".to_owned()];
        assert_eq!(parse_headers(&headers).unwrap(), Some(json!({"a": "b=c", "x-y": "z"})));
        assert_eq!(parse_headers(&[]).unwrap(), None);
        assert!(parse_headers(&["a".to_owned()]).is_err());
    }
}
