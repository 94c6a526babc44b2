//! What a handler gets: messages, in batches.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Error, MessageId};

/// Messages that are processed and acknowledged together, in the consumer's order. Never empty.
///
/// It dereferences to a slice.
///
/// ```no_run
/// # fn example(batch: &postrider_client::Batch) -> Result<(), serde_json::Error> {
/// for message in batch {
///     let order: serde_json::Value = message.json()?;
///     println!("{} of {}: {order}", message.position(), batch.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Batch {
    pub(super) messages: Vec<Message>,
    pub(super) partition: i32,
    pub(super) failure_count: u32,
}

impl Batch {
    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The partition of the consumer that they are in: 0 for a consumer with one.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// How often the first message has failed before, by itself: 0 at its first attempts.
    pub fn failure_count(&self) -> u32 {
        self.failure_count
    }

    pub(super) fn first(&self) -> &Message {
        self.messages.first().expect("a batch is never empty")
    }

    pub(super) fn last(&self) -> &Message {
        self.messages.last().expect("a batch is never empty")
    }
}

impl Deref for Batch {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.messages
    }
}

impl<'a> IntoIterator for &'a Batch {
    type Item = &'a Message;
    type IntoIter = std::slice::Iter<'a, Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.iter()
    }
}

/// A message of the log.
///
/// ```no_run
/// # fn example(message: &postrider_client::Message) -> Result<(), serde_json::Error> {
/// #[derive(serde::Deserialize)]
/// struct Order { id: i64 }
///
/// if message.message_type() == Some("order.placed") {
///     let order: Order = message.json()?;
///     println!("order {} of {:?}", order.id, message.created_at());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Message {
    position: i64,
    transaction_id: u64,
    id: MessageId,
    message_type: Option<String>,
    data: Option<Box<RawValue>>,
    headers: BTreeMap<String, String>,
    metadata: Option<Box<RawValue>>,
    scheduled: Option<SystemTime>,
    tick: Option<i64>,
    created_at: SystemTime,
    ordering_key: Option<String>,
    correlation_id: Option<Uuid>,
    body: Option<Vec<u8>>,
    content_type: Option<String>,
}

impl Message {
    /// The message's number in the log, which is unique. It grows from message to message of a
    /// transaction; not from batch to batch, since a consumer's order is that of commits.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// The id of the transaction that sent it (`xid8` in PostgreSQL).
    pub fn transaction_id(&self) -> u64 {
        self.transaction_id
    }

    /// Its id, as the function that sent it returned it.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// The event type that it was published as; none for what was sent to an endpoint.
    pub fn message_type(&self) -> Option<&str> {
        self.message_type.as_deref()
    }

    /// The payload, as the database writes it; none for a message that is no JSON, see
    /// [`Message::body`].
    pub fn data(&self) -> Option<&RawValue> {
        self.data.as_deref()
    }

    /// The payload, read as a `T`; that of a message that is no JSON is `null`.
    ///
    /// # Errors
    ///
    /// When the payload is no `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.data.as_ref().map_or("null", |data| data.get()))
    }

    /// Its headers.
    pub fn headers(&self) -> &BTreeMap<String, String> {
        &self.headers
    }

    /// Its metadata, a JSON object.
    pub fn metadata(&self) -> Option<&RawValue> {
        self.metadata.as_deref()
    }

    /// When it was to be delivered, if it was scheduled. A consumer gets it when it is sent.
    pub fn scheduled(&self) -> Option<SystemTime> {
        self.scheduled
    }

    /// The tick that it belongs to; none with the ordering `transaction`.
    pub fn tick(&self) -> Option<i64> {
        self.tick
    }

    /// When it was sent.
    pub fn created_at(&self) -> SystemTime {
        self.created_at
    }

    /// Its ordering key. All messages with one are in one partition.
    pub fn ordering_key(&self) -> Option<&str> {
        self.ordering_key.as_deref()
    }

    /// Its correlation id.
    pub fn correlation_id(&self) -> Option<Uuid> {
        self.correlation_id
    }

    /// The bytes of a message that is no JSON.
    pub fn body(&self) -> Option<&[u8]> {
        self.body.as_deref()
    }

    /// What the bytes are.
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// Reads a row of `fetch_messages.sql`.
    pub(super) fn read(row: &Row) -> Result<Self, Error> {
        let transaction_id: &str = column(row, 1)?;
        let headers: Option<&str> = column(row, 5)?;
        let correlation_id: Option<&str> = column(row, 11)?;
        Ok(Self {
            position: column(row, 0)?,
            transaction_id: transaction_id.parse().map_err(unreadable)?,
            id: MessageId::from(column::<i64>(row, 2)?),
            message_type: column(row, 3)?,
            data: raw(row, 4)?,
            headers: match headers {
                Some(headers) => serde_json::from_str(headers).map_err(unreadable)?,
                None => BTreeMap::new(),
            },
            metadata: raw(row, 6)?,
            scheduled: column(row, 7)?,
            tick: column(row, 8)?,
            created_at: column(row, 9)?,
            ordering_key: column(row, 10)?,
            correlation_id: correlation_id.map(str::parse).transpose().map_err(unreadable)?,
            body: column(row, 12)?,
            content_type: column(row, 13)?,
        })
    }
}

fn raw(row: &Row, index: usize) -> Result<Option<Box<RawValue>>, Error> {
    let text: Option<String> = column(row, index)?;
    text.map(RawValue::from_string).transpose().map_err(unreadable)
}

fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, Error> {
    row.try_get(index).map_err(unreadable)
}

/// What a Postrider that we know does not return.
fn unreadable(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Database { code: None, source: Box::new(source) }
}
