//! Applications that use every way to send, in transactions of every kind, whatever becomes of their
//! connection, and keep a book of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_postgres::{Client, types::ToSql};

use super::book::{Book, Cancel, Terms, seconds};
use super::schedule::{DESTINATIONS, PICKY};
use crate::prove::writers::connect;
use postrider_testkit::ledger::{Commit, MessageId, Order, Rollback};

/// What `pg_stat_activity` calls them.
pub const APPLICATION_NAME: &str = "chaos writer";
/// How many ordering keys there are: few, so that many messages of one are under way.
pub const KEYS: usize = 24;
/// Where messages with ordering keys go.
const ORDERED: usize = 2;
const SWITCHED: usize = 2;
const LONGEST_BATCH: usize = 10;
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// The pace of an application, not of a benchmark, in milliseconds.
const PAUSE: std::ops::Range<u64> = 10..70;

/// What all writers share.
#[derive(Debug, Default)]
pub struct Shared {
    pub is_over: AtomicBool,
    pub transactions: AtomicUsize,
}

/// A message in a transaction whose end is not known yet.
#[derive(Debug, Clone)]
struct Sent {
    destinations: Vec<&'static str>,
    id: Option<MessageId>,
    marker: String,
    order: Option<Order>,
    terms: Terms,
    /// With an idempotency key, which is its marker.
    is_idempotent: bool,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Commit,
    /// After `enable_fast_mode`: a crash may take it back.
    FastCommit,
    TwoPhases,
    Rollback,
}

/// Starts writers that go on until `shared.is_over`; each returns its book.
pub fn start(
    url: &str,
    count: usize,
    seed: u64,
    has_two_phases: bool,
    shared: &Arc<Shared>,
    started_at: Instant,
) -> JoinSet<Book> {
    let mut writers = JoinSet::new();
    for number in 0..count {
        let writer = Writer {
            number,
            url: format!("{url}?application_name={}", APPLICATION_NAME.replace(' ', "%20")),
            dice: fastrand::Rng::with_seed(seed ^ ((number as u64 + 1) << 32)),
            has_two_phases,
            book: Book::new(started_at),
            serial: 0,
            prepared: None,
            doubtful: Vec::new(),
        };
        writers.spawn(writer.write(Arc::clone(shared)));
    }
    writers
}

struct Writer {
    number: usize,
    url: String,
    dice: fastrand::Rng,
    has_two_phases: bool,
    book: Book,
    serial: usize,
    /// A transaction that was prepared, or perhaps was, or was committed after that.
    prepared: Option<Prepared>,
    /// Messages with idempotency keys of which it is not known whether they were committed.
    doubtful: Vec<Sent>,
}

struct Prepared {
    name: String,
    sent: Vec<Sent>,
    /// The answer to `prepare transaction` was there: it is not rolled back any more.
    is_sure: bool,
}

impl Writer {
    async fn write(mut self, shared: Arc<Shared>) -> Book {
        let is_over = || shared.is_over.load(Ordering::Relaxed);
        let mut client: Option<Client> = None;
        while !is_over() || self.has_loose_ends() {
            let Some(open) = client.as_ref().filter(|client| !client.is_closed()) else {
                // The server may be down: an application tries again.
                client = connect(&self.url).await.ok();
                if client.is_none() {
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                }
                continue;
            };
            let result = if self.has_loose_ends() {
                self.tie_up(open).await
            } else {
                self.transaction(open).await
            };
            match result {
                Ok(()) => _ = shared.transactions.fetch_add(1, Ordering::Relaxed),
                // A refusal leaves the connection as it is, and perhaps a transaction in it.
                Err(_) if !open.is_closed() => {
                    let _ = open.batch_execute("rollback").await;
                }
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(self.dice.u64(PAUSE))).await;
        }
        self.book
    }

    fn has_loose_ends(&self) -> bool {
        self.prepared.is_some() || !self.doubtful.is_empty()
    }

    /// Finds out what became of what the lost connection left behind.
    async fn tie_up(&mut self, client: &Client) -> Result<()> {
        if let Some(prepared) = &self.prepared {
            let sql = "select exists (select from pg_prepared_xacts where gid = $1)";
            if client.query_one(sql, &[&prepared.name]).await?.get(0) {
                client.batch_execute(&format!("commit prepared '{}'", prepared.name)).await?;
                self.end_prepared(true);
            } else {
                // Gone: committed, if it was there at all.
                let is_sure = prepared.is_sure;
                self.end_prepared(is_sure);
            }
        }
        while let Some(message) = self.doubtful.last().cloned() {
            // An application with an idempotency key sends again.
            let id = send(client, &message, 0).await?;
            self.commit(vec![Sent { id: Some(id), ..message }], true);
            self.doubtful.pop();
        }
        Ok(())
    }

    fn end_prepared(&mut self, is_committed: bool) {
        let Some(prepared) = self.prepared.take() else { return };
        if is_committed {
            self.commit(prepared.sent, true);
        } else {
            self.roll_back(prepared.sent);
        }
    }

    async fn transaction(&mut self, client: &Client) -> Result<()> {
        let mut sent = Vec::new();
        let ending = match self.dice.u8(..100) {
            0..15 => Ending::Rollback,
            15..25 if self.has_two_phases => Ending::TwoPhases,
            25..28 => Ending::FastCommit,
            _ => Ending::Commit,
        };
        let written = self.fill(client, ending, &mut sent).await;
        if let Err(error) = written {
            // Refused or cut: nothing of it exists.
            self.roll_back(sent);
            return Err(error);
        }
        match ending {
            Ending::Rollback => {
                let rolled_back = client.batch_execute("rollback").await;
                self.roll_back(sent);
                Ok(rolled_back?)
            }
            Ending::TwoPhases => self.commit_in_two_phases(client, sent).await,
            Ending::Commit | Ending::FastCommit => {
                let committed = client.batch_execute("commit").await;
                if let Err(error) = committed {
                    let (doubtful, others) = sent.into_iter().partition(|sent| sent.is_idempotent);
                    self.doubtful = doubtful;
                    self.commit(others, false);
                    return Err(error.into());
                }
                self.commit(sent.clone(), ending == Ending::Commit);
                self.follow_up(client, &sent, ending).await
            }
        }
    }

    async fn commit_in_two_phases(&mut self, client: &Client, sent: Vec<Sent>) -> Result<()> {
        let name = format!("chaos-{}-{}", self.number, self.serial);
        self.prepared = Some(Prepared { name: name.clone(), sent, is_sure: false });
        client.batch_execute(&format!("prepare transaction '{name}'")).await?;
        if let Some(prepared) = &mut self.prepared {
            prepared.is_sure = true;
        }
        tokio::time::sleep(Duration::from_millis(self.dice.u64(0..30))).await;
        client.batch_execute(&format!("commit prepared '{name}'")).await?;
        self.end_prepared(true);
        Ok(())
    }

    /// What an application does about messages that it has just committed.
    async fn follow_up(&mut self, client: &Client, sent: &[Sent], ending: Ending) -> Result<()> {
        for message in sent {
            if message.is_idempotent && self.dice.bool() && ending == Ending::Commit {
                let id = send(client, message, 0).await?;
                if Some(id) != message.id {
                    self.book.problems.push(format!(
                        "idempotency key `{}`: message {:?}, and then message {}",
                        message.marker, message.id, id.0
                    ));
                }
            }
            let chance = if message.terms.scheduled_at.is_some() { 3 } else { 15 };
            if let Some(id) = message.id
                && message.destinations.len() == 1
                && !message.is_idempotent
                && self.dice.u8(..chance) == 0
            {
                self.cancel(client, id, &message.marker).await?;
            }
        }
        Ok(())
    }

    async fn cancel(&mut self, client: &Client, id: MessageId, marker: &str) -> Result<()> {
        let answer = client.query_one("select postrider.cancel_message($1)", &[&id.0]).await;
        let (at, marker) = (Instant::now(), marker.to_owned());
        match answer {
            Ok(row) if row.get(0) => {
                self.book.cancels.push(Cancel { id, marker, at, is_certain: true });
            }
            Ok(_) => {}
            Err(error) => {
                self.book.cancels.push(Cancel { id, marker, at, is_certain: false });
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Sends something in each of the ways that there are.
    async fn fill(&mut self, client: &Client, ending: Ending, sent: &mut Vec<Sent>) -> Result<()> {
        client.batch_execute("begin").await?;
        if ending == Ending::FastCommit {
            client.batch_execute("select postrider.enable_fast_mode()").await?;
        }
        // One key a transaction, so that no two wait for each other's locks.
        let key = self.dice.usize(..KEYS);
        for _ in 0..self.dice.usize(1..4) {
            match self.dice.u8(..20) {
                0 => {
                    client.batch_execute("savepoint s").await?;
                    let mut undone = Vec::new();
                    let result = self.send_plain(client, &mut undone).await;
                    self.roll_back(undone);
                    result?;
                    client.batch_execute("rollback to savepoint s").await?;
                }
                1 => {
                    client.batch_execute("savepoint s").await?;
                    self.send_plain(client, sent).await?;
                    client.batch_execute("release savepoint s").await?;
                }
                2 => self.send_batch(client, sent).await?,
                3 => self.send_bytes(client, sent).await?,
                4 | 5 => self.publish_order(client, sent, None).await?,
                // A crash may take back a key's counter along with a fast commit, and hand out its
                // numbers again.
                6 if ending != Ending::FastCommit => {
                    self.publish_order(client, sent, Some(key)).await?;
                }
                7 => self.publish_notes(client, sent).await?,
                8..=11 if ending != Ending::FastCommit => {
                    self.send_ordered(client, sent, key).await?;
                }
                12 | 13 => self.send_timed(client, sent).await?,
                14 | 15 => self.send_idempotent(client, sent).await?,
                _ => self.send_plain(client, sent).await?,
            }
        }
        Ok(())
    }

    async fn send_plain(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let destination = DESTINATIONS[self.dice.usize(..DESTINATIONS.len())];
        let message = self.message(vec![destination]);
        self.send_message(client, sent, message).await
    }

    async fn send_idempotent(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let destination = DESTINATIONS[self.dice.usize(..SWITCHED)];
        let message = Sent { is_idempotent: true, ..self.message(vec![destination]) };
        self.send_message(client, sent, message).await
    }

    async fn send_ordered(
        &mut self,
        client: &Client,
        sent: &mut Vec<Sent>,
        key: usize,
    ) -> Result<()> {
        let destination = DESTINATIONS[self.dice.usize(..ORDERED)];
        let order = Some(next_of_key(client, key).await?);
        let terms = if self.dice.u8(..8) == 0 { self.terms() } else { Terms::default() };
        let message = Sent { order, terms, ..self.message(vec![destination]) };
        self.send_message(client, sent, message).await
    }

    async fn send_timed(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let destination = DESTINATIONS[self.dice.usize(..DESTINATIONS.len())];
        let message = Sent { terms: self.terms(), ..self.message(vec![destination]) };
        self.send_message(client, sent, message).await
    }

    /// Later, or not after a while, or both.
    fn terms(&mut self) -> Terms {
        let now = SystemTime::now();
        let scheduled_at = self.dice.bool().then(|| now + self.milliseconds(300, 6_000));
        let expires_at = (scheduled_at.is_none() || self.dice.bool())
            .then(|| scheduled_at.unwrap_or(now) + self.milliseconds(1_000, 8_000));
        Terms { scheduled_at, expires_at }
    }

    fn milliseconds(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(self.dice.u64(from..to))
    }

    async fn send_message(
        &mut self,
        client: &Client,
        sent: &mut Vec<Sent>,
        message: Sent,
    ) -> Result<()> {
        let priority = if self.dice.bool() { 0 } else { self.dice.i32(0..=10) };
        sent.push(message.clone());
        let id = send(client, &message, priority).await?;
        note(sent, [id]);
        Ok(())
    }

    async fn send_batch(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let count = self.dice.usize(2..LONGEST_BATCH);
        let destination = DESTINATIONS[self.dice.usize(..DESTINATIONS.len())];
        let messages: Vec<Sent> = (0..count).map(|_| self.message(vec![destination])).collect();
        let markers: Vec<String> = messages.iter().map(|message| message.marker.clone()).collect();
        let priority = self.dice.i32(0..=10);
        sent.extend(messages);
        let sql = "select postrider.send_batch_with_priority($1, (
                select array_agg(jsonb_build_object('marker', m.marker) order by m.place)
                from unnest($2::text[]) with ordinality m (marker, place)), $3::integer)";
        let row = client.query_one(sql, &[&destination, &markers, &priority]).await?;
        note(sent, row.get::<_, Vec<i64>>(0).into_iter().map(MessageId));
        Ok(())
    }

    async fn send_bytes(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let destination = DESTINATIONS[self.dice.usize(..DESTINATIONS.len())];
        let message = self.message(vec![destination]);
        // Anything but text, and now and then more than travels with its row.
        let length = if self.dice.u8(..4) == 0 { 20_000 } else { 20 };
        let mut body: Vec<u8> = (0..length).map(|_| self.dice.u8(..)).collect();
        body.extend_from_slice(BYTES_MARK);
        body.extend_from_slice(message.marker.as_bytes());
        sent.push(message);
        let sql = "select postrider.send_bytes($1, $2, 'application/octet-stream')";
        let row = client.query_one(sql, &[&destination, &body]).await?;
        note(sent, [MessageId(row.get(0))]);
        Ok(())
    }

    /// An event for all subscribers: one wants everything, one only what is big, one is switched off
    /// now and then.
    async fn publish_order(
        &mut self,
        client: &Client,
        sent: &mut Vec<Sent>,
        key: Option<usize>,
    ) -> Result<()> {
        let is_big = self.dice.bool();
        let mut message = self.message(vec!["steady"]);
        if is_big {
            message.destinations.push("flaky");
        }
        if let Some(key) = key {
            message.order = Some(next_of_key(client, key).await?);
        }
        let payload = json!({ "marker": message.marker, "big": is_big, "order": order(&message) });
        let key = message.order.as_ref().map(|order| order.key.clone());
        sent.push(message);
        let sql = "select postrider.publish('order.made', $1::text::jsonb, p_ordering_key => $2)";
        let row = client.query_one(sql, &[&payload.to_string(), &key]).await?;
        let id = MessageId(row.get(0));
        // Who is enabled is settled at this moment, which we cannot see from outside.
        let sql = "select exists (
                select
                from postrider.message m
                join postrider.subscriptions s on s.id = any (m.targets)
                join postrider.endpoints e on e.id = s.endpoint_id
                where m.id = $1
                and e.name = 'switched'
            )";
        let goes_there: bool = client.query_one(sql, &[&id.0]).await?.get(0);
        if let Some(message) = sent.last_mut()
            && goes_there
        {
            message.destinations.push("switched");
        }
        note(sent, [id]);
        Ok(())
    }

    async fn publish_notes(&mut self, client: &Client, sent: &mut Vec<Sent>) -> Result<()> {
        let count = self.dice.usize(1..LONGEST_BATCH);
        let messages: Vec<Sent> =
            (0..count).map(|_| self.message(vec!["steady", DESTINATIONS[PICKY]])).collect();
        let priority = self.dice.u8(0..=10);
        let events: Vec<serde_json::Value> = messages
            .iter()
            .map(|message| {
                json!({
                    "event_type": "plain.note",
                    "payload": { "marker": message.marker },
                    "priority": priority,
                })
            })
            .collect();
        sent.extend(messages);
        let sql = "select postrider.publish_batch($1::text::jsonb)";
        let row = client.query_one(sql, &[&json!(events).to_string()]).await?;
        note(sent, row.get::<_, Vec<i64>>(0).into_iter().map(MessageId));
        Ok(())
    }

    fn message(&mut self, destinations: Vec<&'static str>) -> Sent {
        self.serial += 1;
        Sent {
            destinations,
            id: None,
            marker: format!("{}-{}", self.number, self.serial),
            order: None,
            terms: Terms::default(),
            is_idempotent: false,
        }
    }

    fn commit(&mut self, sent: Vec<Sent>, is_certain: bool) {
        let at = Instant::now();
        for message in sent {
            if !message.terms.is_free() {
                self.book.terms.insert(message.marker.clone(), message.terms);
            }
            for destination in message.destinations {
                self.book.ledger.commit(Commit {
                    destination: destination.into(),
                    id: message.id,
                    marker: Some(message.marker.clone()),
                    order: message.order.clone(),
                    at,
                    is_certain,
                });
            }
        }
    }

    fn roll_back(&mut self, sent: Vec<Sent>) {
        for message in sent {
            let rollback = Rollback { id: message.id, marker: Some(message.marker) };
            self.book.ledger.roll_back(rollback);
        }
    }
}

/// Stands before the marker in a body of bytes.
pub const BYTES_MARK: &[u8] = b"\xff\x00marker=";

/// Sets the ids of the last messages.
fn note(sent: &mut [Sent], ids: impl IntoIterator<Item = MessageId, IntoIter: ExactSizeIterator>) {
    let ids = ids.into_iter();
    let first = sent.len().saturating_sub(ids.len());
    for (message, id) in sent[first..].iter_mut().zip(ids) {
        message.id = Some(id);
    }
}

fn order(message: &Sent) -> Option<serde_json::Value> {
    let order = message.order.as_ref()?;
    Some(json!({ "key": order.key, "sequence": order.sequence }))
}

/// Takes the next number of a key, whose row stays locked: so ids of a key rise with its numbers.
async fn next_of_key(client: &Client, key: usize) -> Result<Order> {
    let key = format!("key-{key}");
    let sql = "update ordering_key set sequence = sequence + 1 where key = $1 returning sequence";
    let sequence: i64 = client.query_one(sql, &[&key]).await?.get(0);
    Ok(Order { key, sequence: sequence.unsigned_abs() })
}

/// Sends to the message's one destination.
async fn send(client: &Client, message: &Sent, priority: i32) -> Result<MessageId> {
    let destination = message.destinations.first().context("a message without a destination")?;
    let payload = json!({ "marker": message.marker, "order": order(message) }).to_string();
    let scheduled_at = message.terms.scheduled_at.map(seconds);
    let expires_at = message.terms.expires_at.map(seconds);
    let idempotency_key = message.is_idempotent.then_some(&message.marker);
    let ordering_key = message.order.as_ref().map(|order| &order.key);
    let sql = "select postrider.send_with_options(
            $1, $2::text::jsonb, p_priority => $3, p_scheduled_at => to_timestamp($4::float8),
            p_expires_at => to_timestamp($5::float8), p_idempotency_key => $6,
            p_ordering_key => $7, p_correlation_id => gen_random_uuid(),
            p_headers => '{\"x-chaos\": \"1\"}', p_metadata => '{\"of\": \"chaos\"}')";
    let values: [&(dyn ToSql + Sync); 7] = [
        destination,
        &payload,
        &priority,
        &scheduled_at,
        &expires_at,
        &idempotency_key,
        &ordering_key,
    ];
    Ok(MessageId(client.query_one(sql, &values).await?.get(0)))
}
