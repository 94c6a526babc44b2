//! Handling dead letters: what expired in the queue of a worker fails, or is retried.
//!
//! A message is acknowledged when what it says is committed, and not otherwise: what cannot be recorded
//! goes back to the queue after a while. What nobody can read is kept. Any number of handlers may run;
//! who comes second finds that there is nothing left to do.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt, future::join_all};
use lapin::{
    Acker, Connection, Consumer,
    message::Delivery,
    options::{BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions},
    types::FieldTable,
};
use postrider_core::{backoff::Backoff, failure::chain};
use postrider_store::{
    StoreError,
    fleet::{Access, Carrier, DeadLetter, Settings},
    process::process_name,
};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};
use tracing::{info, warn};

use super::{
    Address, BrokerError, End, Failed, answer, close,
    envelope::{self, without_nul},
    topology::{DEAD_LETTER_QUEUE, Topology},
};
use crate::{asked, backoff, pause, trouble::Trouble};

/// How many messages the broker hands out before some are acknowledged: as many are recorded in one
/// transaction at most.
const PREFETCH: u16 = 100;
/// How often the connection is looked at while no message comes.
const LOOK: Duration = Duration::from_secs(5);
/// How much of the body of a message is kept that nobody can read.
const BODY_MAX: usize = 1 << 20;
/// How much of a text of a message is kept.
const TEXT_MAX: usize = 1_000;

/// Handles dead letters, over connections that come and go.
pub struct Handler {
    access: Access,
    address: Address,
    process: String,
    settings: watch::Receiver<Option<Settings>>,
    is_asked_to_stop: watch::Receiver<bool>,
    topology: Topology,
    backoff: Backoff,
    trouble: Trouble,
}

/// A message that goes back to the queue when its time has come.
struct Held {
    until: Instant,
    acker: Acker,
}

/// A message and what it says.
struct Letter {
    acker: Acker,
    content: Content,
}

enum Content {
    Readable(DeadLetter),
    Unreadable { body: Vec<u8>, x_death: Value, details: Value },
}

impl Handler {
    pub fn new(
        access: Access,
        address: Address,
        settings: watch::Receiver<Option<Settings>>,
        is_asked_to_stop: watch::Receiver<bool>,
    ) -> Handler {
        Handler {
            access,
            address,
            process: process_name(),
            settings,
            is_asked_to_stop,
            topology: Topology::default(),
            backoff: backoff(),
            trouble: Trouble::default(),
        }
    }

    /// Handles dead letters while the settings want it, until asked to stop.
    pub async fn run(mut self) {
        loop {
            let is_wanted = |settings: &Option<Settings>| {
                settings.as_ref().is_some_and(|settings| settings.reads_dead_letters)
            };
            tokio::select! {
                () = asked(&self.is_asked_to_stop) => return,
                wanted = self.settings.wait_for(is_wanted) => if wanted.is_err() { return },
            }
            let Err(error) = self.with_connections().await else { continue };
            if self.trouble.is_worth_logging(Instant::now()) {
                warn!(
                    error = chain(&error),
                    "dead letters are not handled, and wait in their queue"
                );
            }
            if pause(self.backoff.next(fastrand::f64()), &self.is_asked_to_stop).await {
                return;
            }
        }
    }

    /// With one connection to each; `Ok` when asked to stop, or not wanted any more.
    async fn with_connections(&mut self) -> Result<(), Failed> {
        let connecting = async {
            // The database first: without it there is nothing that could be done with a message.
            let session = self.access.session().await?;
            let carrier = Carrier::open(session.client, session.notices).await?;
            let connection = self.address.connect("postrider serve: dead letters").await?;
            Ok::<_, Failed>((carrier, connection))
        };
        let (carrier, connection) = tokio::select! {
            () = asked(&self.is_asked_to_stop) => return Ok(()),
            connected = connecting => connected?,
        };
        let ended = self.handle(&carrier, &connection).await;
        close(&connection).await;
        match ended {
            Ok(()) | Err(End::Stopped) => Ok(()),
            Err(End::Database(error)) => Err(error.into()),
            Err(End::Broker(error)) => Err(error.into()),
        }
    }

    /// Handles for as long as both connections last, and it is wanted.
    async fn handle(&mut self, carrier: &Carrier, connection: &Connection) -> Result<(), End> {
        let mut consumer = self.consume(connection).await?;
        info!("handling dead letters");
        let mut held: Vec<Held> = Vec::new();
        loop {
            let next_back = held.iter().map(|held| held.until).min();
            let delivery = tokio::select! {
                () = asked(&self.is_asked_to_stop) => return Err(End::Stopped),
                changed = self.settings.changed() => {
                    match changed.is_ok() && self.follow(connection).await? {
                        true => continue,
                        false => return Ok(()),
                    }
                }
                () = at(next_back) => {
                    give_back(&mut held, Instant::now()).await?;
                    continue;
                }
                delivery = consumer.next() => delivery,
                () = tokio::time::sleep(LOOK) => match connection.status().connected() {
                    true => continue,
                    false => return Err(BrokerError::Closed.into()),
                },
            };
            let Some(delivery) = delivery else { return Err(BrokerError::Closed.into()) };
            let mut letters = vec![self.read(delivery?)];
            while letters.len() < usize::from(PREFETCH)
                && let Some(Some(delivery)) = consumer.next().now_or_never()
            {
                letters.push(self.read(delivery?));
            }
            let failed = record(carrier, letters).await?;
            self.after(failed, carrier, &mut held).await?;
        }
    }

    async fn consume(&mut self, connection: &Connection) -> Result<Consumer, End> {
        self.topology.forget();
        self.follow(connection).await?;
        let channel = answer("open a channel", connection.create_channel()).await?;
        let limited = channel.basic_qos(PREFETCH, BasicQosOptions::default());
        answer("limit what is handed out", limited).await?;
        let consuming = channel.basic_consume(
            DEAD_LETTER_QUEUE.into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        );
        Ok(answer("read the dead letter queue", consuming).await?)
    }

    /// Has the dead letter queue as the settings want it now; returns whether it is to be read.
    async fn follow(&mut self, connection: &Connection) -> Result<bool, End> {
        let Some(settings) = self.settings.borrow_and_update().clone() else { return Ok(true) };
        self.topology.follow(&settings);
        self.topology.declare(connection, &[]).await?;
        Ok(settings.reads_dead_letters)
    }

    fn read(&self, delivery: Delivery) -> Letter {
        let text = |text: &str| without_nul(text).chars().take(TEXT_MAX).collect::<String>();
        let (x_death, size) = (envelope::x_death(&delivery.properties), delivery.data.len());
        let mut details = json!({
            "handled_by": self.process,
            "exchange": text(delivery.exchange.as_str()),
            "routing_key": text(delivery.routing_key.as_str()),
            "is_redelivered": delivery.redelivered,
            "size_bytes": size,
        });
        let content = match envelope::read(&delivery.data) {
            Ok(subject) => {
                details["message_id"] = json!(text(&subject.message_id));
                Content::Readable(DeadLetter {
                    execution_id: subject.execution_id,
                    fence: subject.fence,
                    x_death,
                    details,
                })
            }
            Err(reason) => {
                details["reason"] = json!(text(&reason));
                let mut body = delivery.data;
                body.truncate(BODY_MAX);
                Content::Unreadable { body, x_death, details }
            }
        };
        Letter { acker: delivery.acker, content }
    }

    /// What could not be recorded goes back to the queue: in a while, so that it does not come again at
    /// once. With the connection to the database all of it goes.
    async fn after(
        &mut self,
        failed: Option<(Vec<Letter>, StoreError)>,
        carrier: &Carrier,
        held: &mut Vec<Held>,
    ) -> Result<(), End> {
        let Some((letters, error)) = failed else {
            self.backoff.reset();
            if self.trouble.end() {
                info!("dead letters are handled again");
            }
            return Ok(());
        };
        let wait = self.backoff.next(fastrand::f64());
        let until = Instant::now() + wait;
        held.extend(letters.into_iter().map(|letter| Held { until, acker: letter.acker }));
        if carrier.is_lost() {
            pause(wait, &self.is_asked_to_stop).await;
            give_back(held, Instant::now() + wait).await?;
            return Err(error.into());
        }
        if self.trouble.is_worth_logging(Instant::now()) {
            let error = chain(&error);
            warn!(%error, count = held.len(), "dead letters cannot be recorded, and go back");
        }
        Ok(())
    }
}

/// Records all of them, together if that can be done, and acknowledges what is recorded. Returns those
/// that are not, with the last reason.
async fn record(
    carrier: &Carrier,
    mut letters: Vec<Letter>,
) -> Result<Option<(Vec<Letter>, StoreError)>, End> {
    // Two handlers that lock the same executions do it in the same order.
    letters.sort_by_key(|letter| match &letter.content {
        Content::Readable(letter) => letter.execution_id,
        Content::Unreadable { .. } => i64::MAX,
    });
    let readable: Vec<&DeadLetter> = letters.iter().filter_map(Letter::readable).collect();
    let is_recorded = readable.len() > 1 && carrier.handle_dead_letters(&readable).await.is_ok();
    let (mut done, mut failed, mut reason) = (Vec::new(), Vec::new(), None);
    for letter in letters {
        let recorded = match &letter.content {
            Content::Readable(_) if is_recorded => Ok(()),
            Content::Readable(letter) => carrier.handle_dead_letters(&[letter]).await.map(drop),
            Content::Unreadable { body, x_death, details } => {
                carrier.keep_dead_letter(body, x_death, details).await
            }
        };
        match recorded {
            Ok(()) => done.push(letter.acker),
            Err(error) => {
                failed.push(letter);
                reason = Some(error);
            }
        }
    }
    let acknowledged = done.iter().map(|acker| acker.ack(BasicAckOptions::default()));
    for acknowledged in join_all(acknowledged).await {
        acknowledged?;
    }
    Ok(reason.map(|reason| (failed, reason)))
}

impl Letter {
    fn readable(&self) -> Option<&DeadLetter> {
        match &self.content {
            Content::Readable(letter) => Some(letter),
            Content::Unreadable { .. } => None,
        }
    }
}

/// Returns to the queue what was held until now.
async fn give_back(held: &mut Vec<Held>, now: Instant) -> Result<(), End> {
    let options = BasicNackOptions { requeue: true, ..BasicNackOptions::default() };
    for due in held.extract_if(.., |held| held.until <= now) {
        due.acker.nack(options).await?;
    }
    Ok(())
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
