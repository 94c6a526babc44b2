//! What there has to be in RabbitMQ: exchanges, queues and bindings.
//!
//! The arguments of a queue that exists cannot be changed. One whose arguments are not those of the
//! settings is replaced if it is empty and nobody reads it; otherwise it is used as it is, which is said
//! once. A shorter time to live holds all the same, for each message carries its own; what dies before
//! its time, because the queue's is shorter, is published again by way of the dead letter handler.

use std::collections::{BTreeSet, HashMap, HashSet};

use lapin::{
    Channel, Connection, ErrorKind, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions},
    protocol::{AMQPErrorKind, AMQPSoftError},
    types::{AMQPValue, FieldTable},
};
use postrider_store::fleet::Settings;
use tracing::{info, warn};

use super::{BrokerError, answer};

/// Where executions are published.
pub const EXCHANGE: &str = "postrider.executions";
/// Where what expired waits for the handler, and the key by which it gets there: a direct exchange takes
/// keys literally.
pub const DEAD_LETTER_QUEUE: &str = "postrider.dlx.queue";
const DEAD_LETTER_KEY: &str = "execution.dead";

/// The key by which an execution gets to its worker.
pub fn routing_key(worker_id: i32) -> String {
    format!("execution.dispatch.worker.{worker_id}")
}

fn worker_queue(worker_id: i32) -> String {
    format!("worker.{worker_id}.executions")
}

/// What was declared on the present connection, and what was said about it.
#[derive(Debug, Default)]
pub struct Topology {
    settings: Settings,
    /// The workers whose queues are there, and whether they are as they should be.
    workers: HashMap<i32, bool>,
    /// The workers whose queues this process has declared and not deleted, on whatever connection.
    known: BTreeSet<i32>,
    has_dead_letters: bool,
    /// The broker refuses an exchange: a queue that is taken away might not come back.
    is_refused: bool,
    /// Queues that could not be made what they should be, with what that was.
    warned: HashSet<String>,
}

impl Topology {
    /// On a new connection nothing is known to be there.
    pub fn forget(&mut self) {
        self.workers.clear();
        self.has_dead_letters = false;
    }

    /// What is declared from now on is by these settings.
    pub fn follow(&mut self, settings: &Settings) {
        if self.settings != *settings {
            self.settings = settings.clone();
            self.forget();
        }
    }

    /// The queue of this worker is not there after all.
    pub fn miss(&mut self, worker_id: i32) {
        self.workers.remove(&worker_id);
    }

    /// The dead letter queue is not there after all.
    pub fn miss_dead_letters(&mut self) {
        self.has_dead_letters = false;
    }

    /// Whether what expires in the worker's queue gets to a handler.
    pub fn is_dead_lettered(&self, worker_id: i32) -> bool {
        self.settings.reads_dead_letters && self.workers.get(&worker_id) == Some(&true)
    }

    /// Declares what is missing for these workers, and what all of them need.
    ///
    /// # Errors
    ///
    /// When the connection fails.
    pub async fn declare(
        &mut self,
        connection: &Connection,
        workers: &[i32],
    ) -> Result<(), BrokerError> {
        let is_complete = workers.iter().all(|id| self.workers.contains_key(id));
        if is_complete && self.has_dead_letters {
            return Ok(());
        }
        let mut declarer = Declarer { connection, channel: None };
        if !self.has_dead_letters {
            self.declare_common(&mut declarer).await?;
            self.has_dead_letters = true;
        }
        for &worker_id in workers {
            if !self.workers.contains_key(&worker_id) {
                let is_as_wanted = self.declare_worker(&mut declarer, worker_id).await?;
                self.workers.insert(worker_id, is_as_wanted);
                self.known.insert(worker_id);
            }
        }
        declarer.close().await;
        Ok(())
    }

    /// The workers whose queues were declared, and which are not among these.
    pub fn known_besides(&self, workers: &[i32]) -> Vec<i32> {
        let workers: HashSet<&i32> = workers.iter().collect();
        self.known.iter().filter(|id| !workers.contains(id)).copied().collect()
    }

    /// Deletes the queues of these workers, which were removed: those that are empty and that nobody
    /// reads. What lies in the others expires first.
    ///
    /// # Errors
    ///
    /// When the connection fails.
    pub async fn delete(
        &mut self,
        connection: &Connection,
        workers: &[i32],
    ) -> Result<(), BrokerError> {
        let mut declarer = Declarer { connection, channel: None };
        for worker_id in workers {
            let name = worker_queue(*worker_id);
            match declarer.delete(&name).await? {
                Attempt::Done => {
                    info!(queue = name, "the queue of a removed worker was deleted");
                    self.known.remove(worker_id);
                    self.workers.remove(worker_id);
                }
                // It is tried again.
                Attempt::Refused { is_precondition: true, .. } => {}
                Attempt::Refused { reason, .. } => self.warn(&name, "deleted".to_owned(), &reason),
            }
        }
        declarer.close().await;
        Ok(())
    }

    async fn declare_common(&mut self, declarer: &mut Declarer<'_>) -> Result<(), BrokerError> {
        let exchange = self.settings.dead_letter_exchange.clone();
        self.is_refused = false;
        for (name, kind) in [(EXCHANGE, ExchangeKind::Topic), (&*exchange, ExchangeKind::Direct)] {
            if let Attempt::Refused { reason, .. } = declarer.exchange(name, kind).await? {
                self.warn(name, String::new(), &reason);
                self.is_refused = true;
            }
        }
        let arguments = [("x-message-ttl", number(self.settings.dead_letter_ttl_ms))];
        let binding = (&*exchange, DEAD_LETTER_KEY);
        self.queue(declarer, DEAD_LETTER_QUEUE, &arguments, binding).await.map(drop)
    }

    async fn declare_worker(
        &mut self,
        declarer: &mut Declarer<'_>,
        worker_id: i32,
    ) -> Result<bool, BrokerError> {
        let exchange = AMQPValue::LongString(self.settings.dead_letter_exchange.clone().into());
        let arguments = [
            ("x-message-ttl", number(self.settings.worker_queue_ttl_ms)),
            ("x-dead-letter-exchange", exchange),
            ("x-dead-letter-routing-key", AMQPValue::LongString(DEAD_LETTER_KEY.into())),
        ];
        let (name, key) = (worker_queue(worker_id), routing_key(worker_id));
        self.queue(declarer, &name, &arguments, (EXCHANGE, &key)).await
    }

    /// Makes a queue what it should be, if that can be done; says whether it is.
    async fn queue(
        &mut self,
        declarer: &mut Declarer<'_>,
        name: &str,
        arguments: &[(&str, AMQPValue)],
        (exchange, key): (&str, &str),
    ) -> Result<bool, BrokerError> {
        let mut declared = declarer.queue(name, arguments).await?;
        if let Attempt::Refused { is_precondition: true, .. } = declared
            && !self.is_refused
            && declarer.delete(name).await?.is_done()
        {
            info!(queue = name, "a queue had other arguments and nothing in it: it is made anew");
            declared = declarer.queue(name, arguments).await?;
        }
        if let Attempt::Refused { reason, .. } = &declared {
            self.warn(name, format!("{arguments:?}"), reason);
        }
        let bound = declarer.bind(name, exchange, key).await?;
        if let Attempt::Refused { reason, .. } = &bound {
            self.warn(name, format!("{exchange} {key}"), reason);
        }
        Ok(declared.is_done() && bound.is_done())
    }

    fn warn(&mut self, name: &str, wanted: String, reason: &str) {
        if self.warned.insert(format!("{name} {wanted}")) {
            warn!(
                name,
                reason,
                "RabbitMQ refuses to make this as it should be, because of the user's rights, or because \
                 it is there with other properties and in use: what is there is used as it is"
            );
        }
    }
}

/// What came of asking for something that the broker may refuse.
enum Attempt {
    Done,
    Refused { is_precondition: bool, reason: String },
}

impl Attempt {
    fn is_done(&self) -> bool {
        matches!(self, Attempt::Done)
    }
}

/// Declares on a channel of its own: the broker closes it when it refuses.
struct Declarer<'a> {
    connection: &'a Connection,
    channel: Option<Channel>,
}

impl Declarer<'_> {
    async fn exchange(&mut self, name: &str, kind: ExchangeKind) -> Result<Attempt, BrokerError> {
        let channel = self.channel().await?;
        let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let asked = channel.exchange_declare(name.into(), kind, options, FieldTable::default());
        self.attempt(answer("declare an exchange", asked).await)
    }

    async fn queue(
        &mut self,
        name: &str,
        arguments: &[(&str, AMQPValue)],
    ) -> Result<Attempt, BrokerError> {
        let channel = self.channel().await?;
        let mut table = FieldTable::default();
        for (argument, value) in arguments {
            table.insert((*argument).into(), value.clone());
        }
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let asked = channel.queue_declare(name.into(), options, table);
        self.attempt(answer("declare a queue", asked).await.map(drop))
    }

    async fn delete(&mut self, name: &str) -> Result<Attempt, BrokerError> {
        let channel = self.channel().await?;
        let options = QueueDeleteOptions { if_unused: true, if_empty: true, nowait: false };
        let asked = channel.queue_delete(name.into(), options);
        self.attempt(answer("delete a queue", asked).await.map(drop))
    }

    async fn bind(
        &mut self,
        name: &str,
        exchange: &str,
        key: &str,
    ) -> Result<Attempt, BrokerError> {
        let channel = self.channel().await?;
        let options = QueueBindOptions::default();
        let asked = channel.queue_bind(
            name.into(),
            exchange.into(),
            key.into(),
            options,
            FieldTable::default(),
        );
        self.attempt(answer("bind a queue", asked).await)
    }

    async fn channel(&mut self) -> Result<Channel, BrokerError> {
        if let Some(channel) = &self.channel {
            return Ok(channel.clone());
        }
        let channel = answer("open a channel", self.connection.create_channel()).await?;
        self.channel = Some(channel.clone());
        Ok(channel)
    }

    fn attempt(&mut self, asked: Result<(), BrokerError>) -> Result<Attempt, BrokerError> {
        let Err(error) = asked else { return Ok(Attempt::Done) };
        let BrokerError::Amqp(amqp) = &error else { return Err(error) };
        let ErrorKind::ProtocolError(refusal) = amqp.kind() else { return Err(error) };
        let AMQPErrorKind::Soft(kind) = refusal.kind() else { return Err(error) };
        self.channel = None;
        Ok(Attempt::Refused {
            is_precondition: matches!(kind, AMQPSoftError::PRECONDITIONFAILED),
            reason: refusal.get_message().to_string(),
        })
    }

    async fn close(&mut self) {
        if let Some(channel) = self.channel.take() {
            let closing = channel.close(super::SUCCESS, "declared".into());
            let _ = tokio::time::timeout(super::CLOSE_TIMEOUT, closing).await;
        }
    }
}

/// How many messages wait in the dead letter queue; `None` if there is no such queue.
///
/// # Errors
///
/// When the connection fails.
pub async fn dead_letter_depth(connection: &Connection) -> Result<Option<i64>, BrokerError> {
    let mut declarer = Declarer { connection, channel: None };
    let channel = declarer.channel().await?;
    let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let asked = channel.queue_declare(DEAD_LETTER_QUEUE.into(), options, FieldTable::default());
    let mut depth = None;
    let asked = answer("ask for the depth of a queue", asked)
        .await
        .map(|queue| depth = Some(i64::from(queue.message_count())));
    declarer.attempt(asked)?;
    declarer.close().await;
    Ok(depth)
}

fn number(value: i64) -> AMQPValue {
    AMQPValue::LongLongInt(value)
}
