//! Sends messages with Postrider from your own PostgreSQL transactions, and consumes them in such.
//!
//! A message exists if and only if the transaction that sent it commits. To send, this crate calls
//! Postrider's SQL functions through the driver that you use already; it opens no connection and starts
//! no task.
//! The schema `postrider` has to be installed in the database (`postrider migrate`), and your role
//! needs the rights of `postrider_application`.
//!
//! ```no_run
//! # async fn example(client: &mut tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use postrider_client::Postrider;
//! use serde_json::json;
//!
//! let mut transaction = client.transaction().await?;
//! transaction.execute("insert into orders (id, item) values (1, 'lamp')", &[]).await?;
//! Postrider::send(&mut transaction, "warehouse", &json!({ "order": 1 })).await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The same with sqlx, when the feature `sqlx` is on:
//!
#![cfg_attr(feature = "sqlx", doc = "```no_run")]
#![cfg_attr(not(feature = "sqlx"), doc = "```ignore")]
//! # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! use postrider_client::Postrider;
//! use serde_json::json;
//!
//! let mut transaction = pool.begin().await?;
//! sqlx::query("insert into orders (id, item) values (1, 'lamp')").execute(&mut *transaction).await?;
//! Postrider::send(&mut transaction, "warehouse", &json!({ "order": 1 })).await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Consumers
//!
//! `Consumer` reads the log: a handler gets messages in batches, in the transaction that acknowledges
//! them. It opens connections of its own, through the feature `tokio-postgres`.
//!
//! # Workers
//!
//! `Worker` carries out executions, which applications submit with `postrider.submit_execution`: a handler for
//! each action, with heartbeats, deadlines, cancellation and retries. It opens connections of its own, too.
//!
//! # Features
//!
//! - `tokio-postgres` (on by default): consumers and workers; transactions and clients of tokio-postgres,
//!   and of pools whose transactions dereference to them, such as deadpool-postgres (`&mut *transaction`).
//! - `sqlx`: transactions and connections of sqlx 0.8. Consumers need `tokio-postgres`; the SQL functions
//!   `fetch_messages` and `acknowledge` can be called with sqlx as with any driver.
//! - `rabbitmq`: workers get their executions by RabbitMQ, if they ask for it.
//!
//! # When something is refused
//!
//! [`Error`] has a variant for each refusal that an application may want to act upon. As with every
//! error of PostgreSQL the transaction can only be rolled back then; a savepoint around the call
//! (`transaction.transaction()` or `transaction.begin()`) keeps what was done before it.
//!
//! # Behind PgBouncer
//!
//! No named prepared statement is used, so a pooler in transaction mode is fine. With sqlx call inside
//! a transaction there: outside of one sqlx describes and runs a statement in two steps, which the
//! pooler may hand to different servers.

mod connection;
#[cfg(feature = "tokio-postgres")]
mod consumer;
#[cfg(feature = "tokio-postgres")]
mod database;
mod error;
mod event;
mod message_id;
mod options;
#[cfg(feature = "tokio-postgres")]
mod worker;

use serde::Serialize;

pub use connection::Connection;
use connection::{Parameter, call};
#[cfg(feature = "tokio-postgres")]
pub use consumer::{Batch, Consumer, ConsumerBuilder, Message, Messages, Poison, Trouble};
#[cfg(feature = "tokio-postgres")]
pub use database::Tls;
use error::Unknown;
pub use error::{Error, Refusal};
pub use event::Event;
pub use message_id::MessageId;
pub use options::Options;
#[cfg(feature = "tokio-postgres")]
pub use worker::{
    Execution, ExecutionError, Reason, Stop, Summary, Worker, WorkerBuilder, WorkerEvent,
    WorkerTrouble,
};

/// Everything that can be done with messages, as functions of a transaction.
///
/// The first argument is a transaction (or a connection, if the message is all there is to commit) of
/// one of the drivers. Payloads are anything that serde can write as JSON. A call is one statement.
///
/// All functions return [`Error`]; nothing has been written then.
#[derive(Debug, Clone, Copy)]
pub struct Postrider;

impl Postrider {
    /// Sends a message to an endpoint.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownEndpoint`], [`Error::Disabled`], [`Error::Invalid`] (the payload is larger than
    /// the setting `max_payload_size`), [`Error::QueueFull`], [`Error::Serialize`],
    /// [`Error::Database`].
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// #[derive(serde::Serialize)]
    /// struct Order { id: i64 }
    ///
    /// let message = Postrider::send(transaction, "warehouse", &Order { id: 1 }).await?;
    /// println!("message {message} is sent when the transaction commits");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send<C, P>(
        connection: &mut C,
        endpoint: &str,
        payload: &P,
    ) -> Result<MessageId, Error>
    where
        C: Connection + ?Sized,
        P: Serialize + ?Sized,
    {
        Self::send_with(connection, endpoint, payload, &Options::new()).await
    }

    /// Sends a message to an endpoint, with [`Options`].
    ///
    /// If the idempotency key is held by a message with the same payload, that message's id is
    /// returned and nothing is written.
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::send`]; [`Error::Invalid`] also for an option out of its range, and
    /// [`Error::IdempotencyConflict`].
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// use std::time::Duration;
    /// use postrider_client::Options;
    /// use serde_json::json;
    ///
    /// let options = Options::new()
    ///     .ordering_key("customer 7")
    ///     .idempotency_key("order 1 placed")
    ///     .expires_in(Duration::from_secs(3600));
    /// Postrider::send_with(transaction, "warehouse", &json!({ "order": 1 }), &options).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_with<C, P>(
        connection: &mut C,
        endpoint: &str,
        payload: &P,
        options: &Options,
    ) -> Result<MessageId, Error>
    where
        C: Connection + ?Sized,
        P: Serialize + ?Sized,
    {
        let payload = json(payload)?;
        let sql = include_str!("../sql/send.sql");
        let content = Parameter::Text(Some(&payload));
        write(connection, sql, Unknown::Endpoint, endpoint, content, options, None).await
    }

    /// Sends a message that is no JSON: its body arrives byte by byte as given, with this
    /// `Content-Type`.
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::send`]; [`Error::Invalid`] also for a content type that is none.
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// Postrider::send_bytes(transaction, "labels", b"%PDF-1.7", "application/pdf").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_bytes<C>(
        connection: &mut C,
        endpoint: &str,
        body: &[u8],
        content_type: &str,
    ) -> Result<MessageId, Error>
    where
        C: Connection + ?Sized,
    {
        Self::send_bytes_with(connection, endpoint, body, content_type, &Options::new()).await
    }

    /// [`Postrider::send_bytes`] with [`Options`].
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::send_with`]; [`Error::Invalid`] also for a content type that is none.
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// use postrider_client::Options;
    ///
    /// let urgent = Options::new().priority(10);
    /// Postrider::send_bytes_with(transaction, "labels", b"^XA^XZ", "text/plain", &urgent).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_bytes_with<C>(
        connection: &mut C,
        endpoint: &str,
        body: &[u8],
        content_type: &str,
        options: &Options,
    ) -> Result<MessageId, Error>
    where
        C: Connection + ?Sized,
    {
        let sql = include_str!("../sql/send_bytes.sql");
        let content = Parameter::Bytes(body);
        let content_type = Some(content_type);
        write(connection, sql, Unknown::Endpoint, endpoint, content, options, content_type).await
    }

    /// Sends one message for each payload to an endpoint: all or nothing, ten times the rate of
    /// single sends and more. The ids are in the order of the payloads; no payloads, no ids.
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::send`].
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// use serde_json::json;
    ///
    /// let orders = (1..=1_000).map(|order| json!({ "order": order }));
    /// let messages = Postrider::send_batch(transaction, "warehouse", orders).await?;
    /// assert_eq!(messages.len(), 1_000);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_batch<C, I>(
        connection: &mut C,
        endpoint: &str,
        payloads: I,
    ) -> Result<Vec<MessageId>, Error>
    where
        C: Connection + ?Sized,
        I: IntoIterator<Item: Serialize>,
    {
        Self::send_batch_with_priority(connection, endpoint, payloads, 0).await
    }

    /// [`Postrider::send_batch`] with a priority: 0 to 10, higher first.
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::send`]; [`Error::Invalid`] also for a priority above 10.
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// let payloads = ["first", "second"];
    /// Postrider::send_batch_with_priority(transaction, "warehouse", payloads, 5).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_batch_with_priority<C, I>(
        connection: &mut C,
        endpoint: &str,
        payloads: I,
        priority: u8,
    ) -> Result<Vec<MessageId>, Error>
    where
        C: Connection + ?Sized,
        I: IntoIterator<Item: Serialize>,
    {
        let payloads =
            payloads.into_iter().map(|payload| json(&payload)).collect::<Result<Vec<_>, _>>()?;
        let parameters = [
            Parameter::Text(Some(endpoint)),
            Parameter::Texts(&payloads),
            Parameter::Smallint(priority.into()),
        ];
        let sql = include_str!("../sql/send_batch.sql");
        let ids = call(connection, sql, &parameters, Unknown::Endpoint).await?;
        Ok(ids.into_iter().map(MessageId::from).collect())
    }

    /// Publishes an event: one message for all endpoints that subscribe to its type now. Without any
    /// subscriber the message is kept in the log.
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::send`], with [`Error::UnknownEventType`] in place of
    /// [`Error::UnknownEndpoint`].
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// use serde_json::json;
    ///
    /// Postrider::publish(transaction, "order.placed", &json!({ "order": 1 })).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn publish<C, P>(
        connection: &mut C,
        event_type: &str,
        payload: &P,
    ) -> Result<MessageId, Error>
    where
        C: Connection + ?Sized,
        P: Serialize + ?Sized,
    {
        Self::publish_with(connection, event_type, payload, &Options::new()).await
    }

    /// Publishes an event with [`Options`], which hold for each of its endpoints.
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::send_with`], with [`Error::UnknownEventType`] in place of
    /// [`Error::UnknownEndpoint`].
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// use postrider_client::Options;
    /// use serde_json::json;
    ///
    /// let options = Options::new().header("x-tenant", "acme").metadata(json!({ "by": "shop" }));
    /// Postrider::publish_with(transaction, "order.placed", &json!({ "order": 1 }), &options).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn publish_with<C, P>(
        connection: &mut C,
        event_type: &str,
        payload: &P,
        options: &Options,
    ) -> Result<MessageId, Error>
    where
        C: Connection + ?Sized,
        P: Serialize + ?Sized,
    {
        let payload = json(payload)?;
        let sql = include_str!("../sql/publish.sql");
        let content = Parameter::Text(Some(&payload));
        write(connection, sql, Unknown::EventType, event_type, content, options, None).await
    }

    /// Publishes many events, all or nothing. The ids are in the order of the events.
    ///
    /// # Errors
    ///
    /// Those of [`Postrider::publish_with`].
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// use postrider_client::{Event, Options};
    /// use serde_json::json;
    ///
    /// let placed = Event::new("order.placed", &json!({ "order": 1 }))?;
    /// let paid = Event::new("order.paid", &json!({ "order": 1, "cents": 4900 }))?;
    /// let paid = paid.with(Options::new().priority(5));
    /// Postrider::publish_batch(transaction, &[placed, paid]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn publish_batch<C>(
        connection: &mut C,
        events: &[Event],
    ) -> Result<Vec<MessageId>, Error>
    where
        C: Connection + ?Sized,
    {
        let rows = json(events)?;
        let times: Vec<_> = events.iter().map(|event| event.options().times()).collect();
        let column = |at: usize| times.iter().map(|times| times[at]).collect::<Vec<_>>();
        let columns = [column(0), column(1), column(2), column(3)];
        let [scheduled_at, scheduled_in, expires_at, expires_in] = &columns;
        let parameters = [
            Parameter::Text(Some(&rows)),
            Parameter::Bigints(scheduled_at),
            Parameter::Bigints(scheduled_in),
            Parameter::Bigints(expires_at),
            Parameter::Bigints(expires_in),
        ];
        let sql = include_str!("../sql/publish_batch.sql");
        let ids = call(connection, sql, &parameters, Unknown::EventType).await?;
        Ok(ids.into_iter().map(MessageId::from).collect())
    }

    /// Takes back what has not been attempted of a message; returns whether there was anything. Counts
    /// from the commit of the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], with the SQLSTATE 25001 when the isolation level is not READ COMMITTED.
    ///
    /// ```no_run
    /// # use postrider_client::{Error, MessageId, Postrider};
    /// # async fn example(
    /// #     transaction: &mut tokio_postgres::Transaction<'_>,
    /// #     message: MessageId,
    /// # ) -> Result<(), Error> {
    /// if !Postrider::cancel(transaction, message).await? {
    ///     println!("too late: message {message} has been attempted");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn cancel<C>(connection: &mut C, message: MessageId) -> Result<bool, Error>
    where
        C: Connection + ?Sized,
    {
        let sql = include_str!("../sql/cancel_message.sql");
        let parameters = [Parameter::Bigint(Some(message.into()))];
        let cancelled = call(connection, sql, &parameters, Unknown::Nothing).await?;
        Ok(!cancelled.is_empty())
    }

    /// Lets the commit of this transaction not wait for the disk (`synchronous_commit = off`): faster,
    /// and the last moments before a crash of PostgreSQL may be lost as a whole, messages together
    /// with everything else that the transaction wrote. Without effect outside a transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    ///
    /// ```no_run
    /// # use postrider_client::{Error, Postrider};
    /// # async fn example(transaction: &mut tokio_postgres::Transaction<'_>) -> Result<(), Error> {
    /// Postrider::enable_fast_mode(transaction).await?;
    /// Postrider::send(transaction, "statistics", &"page seen").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn enable_fast_mode<C>(connection: &mut C) -> Result<(), Error>
    where
        C: Connection + ?Sized,
    {
        let sql = include_str!("../sql/enable_fast_mode.sql");
        call(connection, sql, &[], Unknown::Nothing).await?;
        Ok(())
    }
}

/// Writes one message: `content` is the payload or the body.
async fn write<C>(
    connection: &mut C,
    sql: &'static str,
    unknown: Unknown,
    destination: &str,
    content: Parameter<'_>,
    options: &Options,
    content_type: Option<&str>,
) -> Result<MessageId, Error>
where
    C: Connection + ?Sized,
{
    let [scheduled_at, scheduled_in, expires_at, expires_in] = options.times();
    let correlation_id = options.correlation_id.map(|id| id.to_string());
    let headers = options.headers.as_ref().map(json).transpose()?;
    let metadata = options.metadata.as_ref().map(json).transpose()?;
    let mut parameters = vec![
        Parameter::Text(Some(destination)),
        content,
        Parameter::Smallint(options.priority.into()),
        Parameter::Bigint(scheduled_at),
        Parameter::Bigint(scheduled_in),
        Parameter::Bigint(expires_at),
        Parameter::Bigint(expires_in),
        Parameter::Text(options.idempotency_key.as_deref()),
        Parameter::Text(correlation_id.as_deref()),
        Parameter::Text(options.ordering_key.as_deref()),
        Parameter::Text(headers.as_deref()),
        Parameter::Text(metadata.as_deref()),
    ];
    parameters.extend(content_type.map(|content_type| Parameter::Text(Some(content_type))));
    let ids = call(connection, sql, &parameters, unknown).await?;
    ids.first().copied().map(MessageId::from).ok_or_else(Error::no_id)
}

fn json<P: Serialize + ?Sized>(payload: &P) -> Result<String, Error> {
    serde_json::to_string(payload).map_err(Error::Serialize)
}
