//! Publishing: executions for workers behind RabbitMQ go from the database to their queues.
//!
//! While there are such workers it looks for executions at short intervals, and only while the broker
//! takes messages. Several batches are on their way at a time.

use std::{collections::BTreeSet, time::Duration};

use lapin::{Channel, Connection, options::ConfirmSelectOptions};
use tokio::{
    sync::{broadcast, watch},
    task::JoinSet,
    time::Instant,
};
use tokio_postgres::Notification;
use tracing::{info, warn};

use super::{
    Address, BrokerError, End, Failed, answer, close,
    publishing::{Published, publish},
    topology::{self, Topology},
};
use crate::{
    engine::chain,
    fleet::{
        asked,
        backoff::{Backoff, Trouble},
        pause,
    },
    store::{
        StoreError,
        connect::Connector,
        fleet::{self, Carrier, Dispatched, Settings},
    },
};

/// How many executions are taken at a time, and how many such batches are on their way.
const MOST_IN_BATCH: i32 = 500;
const MOST_BATCHES: usize = 4;
/// The pauses between two looks for executions: behind one that found something, and without work.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How often we look for new workers; a notification tells us sooner.
const WORKERS_EVERY: Duration = Duration::from_secs(1);
/// How often settings are read without a notification.
const SETTINGS_EVERY: Duration = Duration::from_secs(60);
/// How often we say how the broker is.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How long the broker may take to confirm, unless it says that it takes nothing.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stop waits for confirmations.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Publishes, over connections that come and go.
pub struct Publisher {
    connector: Connector,
    address: Address,
    process: String,
    /// Where others learn the settings.
    known: watch::Sender<Option<Settings>>,
    is_asked_to_stop: watch::Receiver<bool>,
    topology: Topology,
    backoff: Backoff,
    trouble: Trouble,
    unroutable: Trouble,
}

/// What happens over the life of one connection to the broker.
struct Tenure<'a> {
    carrier: &'a Carrier,
    connection: &'a Connection,
    channel: Channel,
    batches: JoinSet<Published>,
    news: News,
    /// There are workers that get their executions by RabbitMQ.
    has_workers: bool,
    is_blocked: bool,
    /// When the broker last confirmed something, or nothing was left to confirm.
    confirmed_at: Instant,
    workers_at: Instant,
    settings_at: Instant,
    report_at: Instant,
}

/// What notifications have said.
#[derive(Debug, Clone, Copy)]
struct News {
    settings: bool,
    workers: bool,
}

impl Publisher {
    pub fn new(
        connector: Connector,
        address: Address,
        known: watch::Sender<Option<Settings>>,
        is_asked_to_stop: watch::Receiver<bool>,
        process: String,
    ) -> Publisher {
        Publisher {
            connector,
            address,
            process,
            known,
            is_asked_to_stop,
            topology: Topology::default(),
            backoff: Backoff::default(),
            trouble: Trouble::default(),
            unroutable: Trouble::default(),
        }
    }

    /// Publishes until asked to stop.
    pub async fn run(mut self) {
        while let Err(error) = self.with_database().await {
            self.log(&error);
            if pause(self.backoff.next(fastrand::f64()), &self.is_asked_to_stop).await {
                return;
            }
        }
    }

    /// With one connection to the database; `Ok` when asked to stop.
    async fn with_database(&mut self) -> Result<(), Failed> {
        let session = tokio::select! {
            () = asked(&self.is_asked_to_stop) => return Ok(()),
            session = fleet::session(&self.connector) => session?,
        };
        let carrier = Carrier::open(session.client).await?;
        carrier.listen().await?;
        let mut notifications = session.notifications;
        self.take_settings(&carrier).await?;
        loop {
            let error = match self.with_broker(&carrier, &mut notifications).await {
                End::Stopped => return Ok(()),
                End::Database(error) => return Err(error.into()),
                End::Broker(error) => Failed::from(error),
            };
            self.log(&error);
            let text = chain(&error);
            // Half a minute at most; who looks wants to hear of us more often.
            let mut left = self.backoff.next(fastrand::f64());
            while !left.is_zero() {
                self.note_broker(&carrier, false, None, Some(&text)).await?;
                let next = left.min(REPORT_EVERY);
                if pause(next, &self.is_asked_to_stop).await {
                    return Ok(());
                }
                left -= next;
            }
        }
    }

    /// With one connection to the broker; returns why it is over.
    async fn with_broker(
        &mut self,
        carrier: &Carrier,
        notifications: &mut broadcast::Receiver<Notification>,
    ) -> End {
        let connected = tokio::select! {
            () = asked(&self.is_asked_to_stop) => return End::Stopped,
            connected = self.address.connect("postrider serve: executions") => connected,
        };
        let connection = match connected {
            Ok(connection) => connection,
            Err(error) => return error.into(),
        };
        info!(broker = self.address.target(), "connected to RabbitMQ");
        let Err(end) = self.carry(carrier, &connection, notifications).await;
        close(&connection).await;
        end
    }

    /// Publishes for as long as both connections last.
    async fn carry(
        &mut self,
        carrier: &Carrier,
        connection: &Connection,
        notifications: &mut broadcast::Receiver<Notification>,
    ) -> Result<std::convert::Infallible, End> {
        let channel = answer("open a channel", connection.create_channel()).await?;
        let confirms = channel.confirm_select(ConfirmSelectOptions::default());
        answer("ask for confirmations", confirms).await?;
        self.topology.forget();
        let mut tenure = Tenure::new(carrier, connection, channel, Instant::now());
        let mut rest = SHORTEST_PAUSE;
        loop {
            self.look(&mut tenure).await?;
            let taken_count = self.dispatch(&mut tenure).await?;
            if taken_count == MOST_IN_BATCH as usize {
                continue;
            }
            rest = if taken_count > 0 { SHORTEST_PAUSE } else { (rest * 2).min(LONGEST_PAUSE) };
            tokio::select! {
                () = asked(&self.is_asked_to_stop) => {
                    self.finish(&mut tenure).await?;
                    return Err(End::Stopped);
                }
                notification = notifications.recv() => tenure.news.take(notification)?,
                Some(published) = tenure.batches.join_next() => {
                    self.note(&mut tenure, published.map_err(|_| BrokerError::Closed)?).await?;
                }
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Looks at everything that may have changed since the last time.
    async fn look(&mut self, tenure: &mut Tenure<'_>) -> Result<(), End> {
        let now = Instant::now();
        if !tenure.connection.status().connected() {
            return Err(BrokerError::Closed.into());
        }
        if tenure.news.settings || now >= tenure.settings_at {
            tenure.news.settings = false;
            tenure.settings_at = now + SETTINGS_EVERY;
            self.take_settings(tenure.carrier).await?;
            tenure.workers_at = now;
        }
        if tenure.news.workers || now >= tenure.workers_at {
            tenure.news.workers = false;
            tenure.workers_at = now + WORKERS_EVERY;
            let workers = tenure.carrier.workers().await?;
            tenure.has_workers = !workers.is_empty();
            self.topology.declare(tenure.connection, &workers).await?;
            // Connecting alone says little: what it may do there shows now.
            self.backoff.reset();
            if self.trouble.end() {
                info!("RabbitMQ can be used again");
            }
        }
        if now >= tenure.report_at {
            tenure.report_at = now + REPORT_EVERY;
            self.report(tenure).await?;
        }
        tenure.look_at_alarm(now)
    }

    /// Takes a batch of executions and publishes it, if there is room; returns how many there were.
    async fn dispatch(&mut self, tenure: &mut Tenure<'_>) -> Result<usize, End> {
        if !tenure.has_workers || tenure.is_blocked || tenure.batches.len() >= MOST_BATCHES {
            return Ok(0);
        }
        let batch = match tenure.carrier.dispatch(MOST_IN_BATCH).await {
            Ok(batch) => batch,
            Err(error) if fleet::is_passing(&error) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let taken_count = batch.len();
        if taken_count > 0 {
            self.send(tenure, batch, false).await?;
        }
        Ok(taken_count)
    }

    /// Publishes a batch, with the queues that it needs.
    async fn send(
        &mut self,
        tenure: &mut Tenure<'_>,
        batch: Vec<Dispatched>,
        is_repeated: bool,
    ) -> Result<(), End> {
        let workers: BTreeSet<i32> = batch.iter().map(|execution| execution.worker_id).collect();
        let workers: Vec<i32> = workers.into_iter().collect();
        self.topology.declare(tenure.connection, &workers).await?;
        if tenure.batches.is_empty() {
            tenure.confirmed_at = Instant::now();
        }
        tenure.batches.spawn(publish(tenure.channel.clone(), batch, is_repeated));
        Ok(())
    }

    /// Notes what the broker has. What found no queue is published once more, with a new one.
    async fn note(&mut self, tenure: &mut Tenure<'_>, published: Published) -> Result<(), End> {
        tenure.confirmed_at = Instant::now();
        let (heard, unheard): (Vec<_>, Vec<_>) = published
            .confirmed
            .iter()
            .partition(|execution| self.topology.is_dead_lettered(execution.worker_id));
        for (executions, is_dead_lettered) in [(heard, true), (unheard, false)] {
            note_published(tenure.carrier, &executions, is_dead_lettered).await?;
        }
        if published.refused_count > 0 {
            warn!(count = published.refused_count, "RabbitMQ refused executions; they come back");
        }
        if let Some(error) = published.error {
            return Err(error.into());
        }
        if published.returned.is_empty() {
            if !published.confirmed.is_empty() {
                self.unroutable.end();
            }
            return Ok(());
        }
        for execution in &published.returned {
            self.topology.miss(execution.worker_id);
        }
        if !published.is_repeated {
            return self.send(tenure, published.returned, true).await;
        }
        if self.unroutable.is_worth_logging(Instant::now()) {
            let (count, worker) = (published.returned.len(), published.returned[0].worker_id);
            warn!(count, worker, "executions find no queue in RabbitMQ, though it was declared");
        }
        Ok(())
    }

    /// Waits for the confirmations of what is on its way.
    async fn finish(&mut self, tenure: &mut Tenure<'_>) -> Result<(), End> {
        let deadline = Instant::now() + STOP_TIMEOUT;
        while let Ok(Some(Ok(published))) =
            tokio::time::timeout_at(deadline, tenure.batches.join_next()).await
        {
            self.note(tenure, published).await?;
        }
        Ok(())
    }

    async fn take_settings(&mut self, carrier: &Carrier) -> Result<(), StoreError> {
        let settings = carrier.settings().await?;
        self.topology.follow(&settings);
        self.known.send_if_modified(|known| {
            let is_news = known.as_ref() != Some(&settings);
            *known = Some(settings);
            is_news
        });
        Ok(())
    }

    async fn report(&mut self, tenure: &Tenure<'_>) -> Result<(), End> {
        let depth = topology::dead_letter_depth(tenure.connection).await?;
        if depth.is_none() {
            self.topology.miss_dead_letters();
        }
        let error = tenure.is_blocked.then_some("RabbitMQ takes no messages: it has an alarm");
        Ok(self.note_broker(tenure.carrier, true, depth, error).await?)
    }

    /// Says how the broker is, or leaves it for the next time.
    async fn note_broker(
        &self,
        carrier: &Carrier,
        is_connected: bool,
        depth: Option<i64>,
        error: Option<&str>,
    ) -> Result<(), StoreError> {
        match carrier.note_broker(&self.process, is_connected, depth, error).await {
            Err(error) if !fleet::is_passing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn log(&mut self, error: &Failed) {
        if self.trouble.is_worth_logging(Instant::now()) {
            warn!(
                error = chain(error),
                broker = self.address.target(),
                "executions are not published, and stay requested until they expire"
            );
        }
    }
}

impl<'a> Tenure<'a> {
    fn new(
        carrier: &'a Carrier,
        connection: &'a Connection,
        channel: Channel,
        now: Instant,
    ) -> Tenure<'a> {
        Tenure {
            carrier,
            connection,
            channel,
            batches: JoinSet::new(),
            news: News { settings: true, workers: true },
            has_workers: false,
            is_blocked: false,
            confirmed_at: now,
            workers_at: now,
            settings_at: now,
            report_at: now,
        }
    }

    /// During an alarm of the broker nothing is confirmed, and nothing is dispatched.
    fn look_at_alarm(&mut self, now: Instant) -> Result<(), End> {
        let is_blocked = self.connection.status().blocked();
        if is_blocked != self.is_blocked {
            self.is_blocked = is_blocked;
            match is_blocked {
                true => warn!("RabbitMQ takes no messages, it has an alarm: executions wait"),
                false => info!("RabbitMQ takes messages again"),
            }
        }
        if is_blocked || self.batches.is_empty() {
            self.confirmed_at = now;
        }
        if now > self.confirmed_at + CONFIRM_TIMEOUT {
            return Err(BrokerError::Timeout("get messages confirmed", CONFIRM_TIMEOUT).into());
        }
        Ok(())
    }
}

impl News {
    fn take(
        &mut self,
        notification: Result<Notification, broadcast::error::RecvError>,
    ) -> Result<(), End> {
        match notification {
            Ok(notification) => match notification.payload() {
                "settings" => self.settings = true,
                "workers" => self.workers = true,
                _ => {}
            },
            Err(broadcast::error::RecvError::Lagged(_)) => {
                *self = News { settings: true, workers: true };
            }
            Err(broadcast::error::RecvError::Closed) => return Err(StoreError::Closed.into()),
        }
        Ok(())
    }
}

/// Another one has locked some of them: they count as not published then, and come back.
async fn note_published(
    carrier: &Carrier,
    executions: &[&Dispatched],
    is_dead_lettered: bool,
) -> Result<(), StoreError> {
    if executions.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = executions.iter().map(|execution| execution.execution_id).collect();
    let fences: Vec<i64> = executions.iter().map(|execution| execution.fence).collect();
    match carrier.note_published(&ids, &fences, is_dead_lettered).await {
        Err(error) if !fleet::is_passing(&error) => Err(error),
        _ => Ok(()),
    }
}
