//! The carrier RabbitMQ: consumes the worker's queue, which the dispatcher declares and fills.
//!
//! A message is acknowledged when the database has started its execution or refused to, and before the
//! handler runs: however long that takes, no timeout of the broker hits it. While the database is away
//! nothing is acknowledged. What has not been acknowledged when the connection ends comes again, and is
//! refused by its fence if it was started.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions};
use lapin::tcp::OwnedTLSConfig;
use lapin::types::FieldTable;
use lapin::uri::AMQPUri;
use lapin::{Channel, Connection, ConnectionProperties, Consumer};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;

use super::taker::{Line, Taker, closed};
use super::{WorkerEvent, WorkerTrouble};
use crate::Error;
use crate::consumer::poison::{Backoff, dice};
use crate::consumer::trouble::describe;
use crate::database::Tls;

/// How long the broker may take for anything.
const PATIENCE: Duration = Duration::from_secs(30);
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// How often both connections are looked after while no message comes.
const LOOK: Duration = Duration::from_secs(5);
/// How often both sides say that they live, in seconds, unless the URL says `heartbeat`: what was handed to a
/// worker whose network has gone waits at the broker for twice as long.
const HEARTBEAT: u16 = 10;
const BACKOFF: Backoff =
    Backoff { shortest: Duration::from_millis(250), longest: Duration::from_secs(10) };
const MESSAGE_TYPE: &str = "execution.dispatch";
const VERSION: u32 = 1;

/// Where the broker is. It may hold a password and is never shown.
#[derive(Clone)]
pub(super) struct Broker {
    pub(super) url: String,
    /// Certificate authorities (PEM) that are trusted besides those of Mozilla.
    pub(super) authorities: Option<String>,
    pub(super) prefetch: u16,
    pub(super) name: String,
}

struct Queue {
    connection: Connection,
    _channel: Channel,
    consumer: Consumer,
}

/// Why a queue is read no longer.
enum Break {
    Database(Error),
    Broker(String),
}

/// What a message says, as far as we need it.
#[derive(Deserialize)]
struct Envelope {
    message_type: String,
    version: u32,
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    execution_id: i64,
    fence: i64,
}

impl From<lapin::Error> for Break {
    fn from(error: lapin::Error) -> Self {
        Self::Broker(describe(&error))
    }
}

/// Whether this is the address of a broker.
pub(super) fn is_address(url: &str) -> bool {
    url.parse::<AMQPUri>().is_ok()
}

impl<T: Tls> Taker<T> {
    /// Reads until it is to take nothing any more, or there is an error that does not go away by itself.
    pub(super) async fn run_with_broker(mut self, broker: Broker) -> Result<(), Error> {
        let mut line = Line::default();
        let mut failure_count = 0;
        loop {
            let name = format!("worker.{}.executions", self.worker.worker_id);
            let opened = tokio::select! {
                biased;
                () = closed(&mut self.closing) => return Ok(()),
                opened = broker.open(&name) => opened,
            };
            let result = match opened {
                Ok(mut queue) => {
                    failure_count = 0;
                    if self.set_trouble(None) {
                        self.reporter.event(&WorkerEvent::BrokerRestored);
                    }
                    let result = self.read(&mut queue, &mut line).await;
                    queue.close().await;
                    result
                }
                Err(failure) => Err(failure),
            };
            let error = match result {
                Ok(()) => return Ok(()),
                Err(Break::Database(error)) => return Err(error),
                Err(Break::Broker(error)) => error,
            };
            if self.set_trouble(Some(format!("RabbitMQ: {error}"))) {
                self.reporter.trouble(&WorkerTrouble::Broker { error });
            }
            failure_count += 1;
            // Cancellations are heard meanwhile.
            let result = self.session(&mut line).await.map(|_| ());
            self.judge(&mut line, result).await?;
            let pause = BACKOFF.wait(failure_count, dice());
            let _ = tokio::time::timeout(pause, closed(&mut self.closing)).await;
        }
    }

    /// Tells the database whether it can work: nothing of the pool comes to one that cannot. Whether that
    /// is something new.
    fn set_trouble(&self, trouble: Option<String>) -> bool {
        let (mut is_other, mut is_change) = (false, false);
        self.nerve.trouble.send_if_modified(|known| {
            is_other = *known != trouble;
            is_change = known.is_some() != trouble.is_some();
            *known = trouble;
            is_change
        });
        if is_change {
            self.nerve.beat.notify_one();
        }
        is_other
    }

    async fn read(&mut self, queue: &mut Queue, line: &mut Line) -> Result<(), Break> {
        loop {
            let Some(mut room) = self.reserve().await else { return Ok(()) };
            let result = self.session(line).await.map(|_| ());
            let is_there = result.is_ok();
            self.judge(line, result).await.map_err(Break::Database)?;
            if !is_there {
                continue;
            }
            let first = tokio::select! {
                biased;
                () = closed(&mut self.closing) => return Ok(()),
                first = queue.next() => first?,
                () = tokio::time::sleep(LOOK) => {
                    queue.check()?;
                    continue;
                }
            };
            let mut deliveries = vec![first];
            while deliveries.len() < room.num_permits() {
                let Some(next) = queue.ready().await else { break };
                deliveries.push(next?);
            }
            if !self.start(deliveries, &mut room, line).await? {
                return Ok(());
            }
        }
    }

    /// Starts what the messages are about, acknowledges them, and lets it run. False: it is to take
    /// nothing any more, and the messages stay where they are.
    async fn start(
        &mut self,
        deliveries: Vec<Delivery>,
        room: &mut OwnedSemaphorePermit,
        line: &mut Line,
    ) -> Result<bool, Break> {
        let (mut readable, mut executions, mut fences) = (Vec::new(), Vec::new(), Vec::new());
        for delivery in deliveries {
            match Envelope::read(&delivery.data) {
                Ok(payload) => {
                    executions.push(payload.execution_id);
                    fences.push(payload.fence);
                    readable.push(delivery);
                }
                Err(error) => {
                    self.reporter.trouble(&WorkerTrouble::Unreadable { error });
                    let to_dead_letters = BasicNackOptions { requeue: false, multiple: false };
                    delivery.acker.nack(to_dead_letters).await?;
                }
            }
        }
        loop {
            if *self.closing.borrow() {
                return Ok(false);
            }
            let worker = self.worker;
            let started = match self.session(line).await {
                Ok(session) => session.start(&worker, &executions, &fences).await,
                Err(error) => Err(error),
            };
            match started {
                Ok(found) => {
                    self.judge(line, Ok(())).await.map_err(Break::Database)?;
                    // It runs whether the broker hears of it or not: the message would come again, and
                    // be refused.
                    self.hand_over(found, room);
                    break;
                }
                Err(error) => {
                    self.judge(line, Err(error)).await.map_err(Break::Database)?;
                }
            }
        }
        // All before it on this channel have their answers.
        if let Some(last) = readable.last() {
            last.acker.ack(BasicAckOptions { multiple: true }).await?;
        }
        Ok(true)
    }
}

impl Broker {
    async fn open(&self, queue: &str) -> Result<Queue, Break> {
        let opening = async {
            let properties =
                ConnectionProperties::default().with_connection_name(self.name.clone().into());
            let tls = OwnedTLSConfig { identity: None, cert_chain: self.authorities.clone() };
            let runtime = lapin::runtime::default_runtime()?;
            // Its own text may repeat the URL.
            let mut uri: AMQPUri =
                self.url.parse().map_err(|_| Break::Broker("its address is none".to_owned()))?;
            uri.query.heartbeat = uri.query.heartbeat.or(Some(HEARTBEAT));
            let connection =
                Connection::connect_uri_with_config(uri, properties, tls, runtime).await?;
            let channel = connection.create_channel().await?;
            channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?;
            let (options, arguments) = (BasicConsumeOptions::default(), FieldTable::default());
            let consumer =
                channel.basic_consume(queue.into(), "".into(), options, arguments).await?;
            Ok(Queue { connection, _channel: channel, consumer })
        };
        match tokio::time::timeout(PATIENCE, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(Break::Broker("it does not answer".to_owned())),
        }
    }
}

impl Queue {
    /// A connection that ends tells who waits for messages, unless something is wrong with the client.
    fn check(&self) -> Result<(), Break> {
        match self.connection.status().connected() {
            true => Ok(()),
            false => Err(Break::Broker("the connection was closed".to_owned())),
        }
    }

    async fn next(&mut self) -> Result<Delivery, Break> {
        let next = poll_fn(|context| Pin::new(&mut self.consumer).poll_next(context)).await;
        match next {
            Some(next) => Ok(next?),
            None => Err(Break::Broker("the queue is gone, or another has it".to_owned())),
        }
    }

    /// A message that is there already.
    async fn ready(&mut self) -> Option<Result<Delivery, Break>> {
        let look = poll_fn(|context| {
            Poll::Ready(match Pin::new(&mut self.consumer).poll_next(context) {
                Poll::Ready(Some(next)) => Some(next),
                // The end is seen by whoever waits next.
                Poll::Ready(None) | Poll::Pending => None,
            })
        });
        Some(look.await?.map_err(Break::from))
    }

    /// What was not acknowledged goes back to its queue.
    async fn close(self) {
        let closing = self.connection.close(200, "".into());
        let _ = tokio::time::timeout(CLOSE_PATIENCE, closing).await;
    }
}

impl Envelope {
    fn read(body: &[u8]) -> Result<Payload, String> {
        let envelope: Self = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if envelope.message_type != MESSAGE_TYPE || envelope.version != VERSION {
            return Err(format!(
                "neither type nor version are known: {} {}",
                envelope.message_type, envelope.version
            ));
        }
        Ok(envelope.payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dispatch_of_our_version_is_read() {
        let body = |kind: &str, version: u32| {
            let payload = serde_json::json!({ "execution_id": 7, "fence": 9, "action": "a" });
            let body = serde_json::json!({
                "message_id": "m", "message_type": kind, "version": version, "payload": payload });
            body.to_string().into_bytes()
        };
        let payload = Envelope::read(&body(MESSAGE_TYPE, 1)).ok().unwrap();
        assert_eq!((payload.execution_id, payload.fence), (7, 9));
        for wrong in [body("other", 1), body(MESSAGE_TYPE, 2), b"{}".to_vec(), vec![0xff]] {
            assert!(Envelope::read(&wrong).is_err());
        }
    }
}
