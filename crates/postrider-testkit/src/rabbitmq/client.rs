//! A small AMQP client for tests: declares, publishes anything, takes one message out of a queue.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};
use serde_json::{Value, json};

/// How long a connection, or what is asked on it, may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two looks into a queue.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// A connection with one channel.
pub struct Client {
    /// For what this client has no word for.
    pub channel: Channel,
    /// Closed when the value goes.
    pub connection: Connection,
}

/// A message taken out of a queue: it is not there any more.
#[derive(Debug)]
pub struct Message {
    pub body: Vec<u8>,
    pub exchange: String,
    pub routing_key: String,
    pub is_redelivered: bool,
    pub properties: BasicProperties,
    /// The headers as JSON; `x-death` is among them when the message was dead-lettered.
    pub headers: Value,
}

impl Client {
    /// Connects, and opens a channel with publisher confirms.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer.
    pub async fn connect(url: &str) -> Result<Self> {
        let connect = Connection::connect(url, ConnectionProperties::default());
        let connection = tokio::time::timeout(TIMEOUT, connect)
            .await
            .context("RabbitMQ does not answer")?
            .with_context(|| format!("could not connect to {url}"))?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Self { channel, connection })
    }

    /// Declares a durable queue.
    ///
    /// # Errors
    ///
    /// When there is one with other arguments.
    pub async fn declare_queue(&self, name: &str, arguments: FieldTable) -> Result<()> {
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel.queue_declare(name.into(), options, arguments).await?;
        Ok(())
    }

    /// Publishes a persistent message with any body and waits for the server's confirmation. The
    /// exchange `""` leads to the queue that the key names.
    ///
    /// # Errors
    ///
    /// When it reached no queue, or the server did not take it.
    pub async fn publish(&self, exchange: &str, key: &str, body: &[u8]) -> Result<()> {
        let persistent = BasicProperties::default().with_delivery_mode(2);
        self.publish_with(exchange, key, body, persistent).await
    }

    /// [`Self::publish`] with properties of one's own.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn publish_with(
        &self,
        exchange: &str,
        key: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<()> {
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let confirmed = self
            .channel
            .basic_publish(exchange.into(), key.into(), options, body, properties)
            .await?
            .await?;
        let is_taken = matches!(confirmed, Confirmation::Ack(None));
        ensure!(is_taken, "`{key}` of `{exchange}`: {confirmed:?}");
        Ok(())
    }

    /// Takes the first message out of a queue, if there is one.
    ///
    /// # Errors
    ///
    /// When there is no such queue, or the connection broke.
    pub async fn get(&self, queue: &str) -> Result<Option<Message>> {
        // An acknowledgement would be on its way for a while, and lost with the connection.
        let options = BasicGetOptions { no_ack: true };
        let got = self.channel.basic_get(queue.into(), options).await?;
        let Some(got) = got else { return Ok(None) };
        let delivery = got.delivery;
        let headers = delivery.properties.headers().as_ref().map_or(json!({}), object);
        Ok(Some(Message {
            body: delivery.data,
            exchange: delivery.exchange.to_string(),
            routing_key: delivery.routing_key.to_string(),
            is_redelivered: delivery.redelivered,
            headers,
            properties: delivery.properties,
        }))
    }

    /// Takes the first message out of a queue as soon as there is one.
    ///
    /// # Errors
    ///
    /// When none comes within 30 s, and as [`Self::get`].
    pub async fn wait_for(&self, queue: &str) -> Result<Message> {
        let look = async {
            loop {
                if let Some(message) = self.get(queue).await? {
                    return anyhow::Ok(message);
                }
                tokio::time::sleep(LOOK_PAUSE).await;
            }
        };
        tokio::time::timeout(TIMEOUT, look)
            .await
            .with_context(|| format!("no message came to `{queue}` within {TIMEOUT:?}"))?
    }
}

/// A table of arguments from a JSON object of texts, whole numbers and booleans.
///
/// # Panics
///
/// With other values.
pub fn arguments(object: &Value) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in object.as_object().expect("arguments are an object") {
        let value = match value {
            Value::String(text) => AMQPValue::LongString(text.as_str().into()),
            Value::Number(number) => {
                AMQPValue::LongLongInt(number.as_i64().expect("numbers are whole"))
            }
            Value::Bool(is_set) => AMQPValue::Boolean(*is_set),
            other => panic!("no argument can be {other}"),
        };
        table.insert(name.as_str().into(), value);
    }
    table
}

fn object(table: &FieldTable) -> Value {
    table.into_iter().map(|(name, value)| (name.to_string(), plain(value))).collect()
}

fn plain(value: &AMQPValue) -> Value {
    match value {
        AMQPValue::Boolean(is_set) => json!(is_set),
        AMQPValue::ShortShortInt(number) => json!(number),
        AMQPValue::ShortShortUInt(number) => json!(number),
        AMQPValue::ShortInt(number) => json!(number),
        AMQPValue::ShortUInt(number) => json!(number),
        AMQPValue::LongInt(number) => json!(number),
        AMQPValue::LongUInt(number) => json!(number),
        AMQPValue::LongLongInt(number) => json!(number),
        AMQPValue::Float(number) => json!(number),
        AMQPValue::Double(number) => json!(number),
        AMQPValue::Timestamp(seconds) => json!(seconds),
        AMQPValue::ShortString(text) => json!(text.as_str()),
        AMQPValue::LongString(text) => json!(String::from_utf8_lossy(text.as_bytes())),
        AMQPValue::ByteArray(bytes) => json!(String::from_utf8_lossy(bytes.as_slice())),
        AMQPValue::FieldArray(values) => values.as_slice().iter().map(plain).collect(),
        AMQPValue::FieldTable(table) => object(table),
        AMQPValue::DecimalValue(number) => json!(format!("{number:?}")),
        AMQPValue::Void => Value::Null,
    }
}
