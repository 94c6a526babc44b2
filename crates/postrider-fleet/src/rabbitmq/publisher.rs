//! Publishing: executions for workers behind RabbitMQ go from the database to their queues.
//!
//! While there are such workers it looks for executions whenever somebody rings, and only while the
//! broker takes messages. Several batches are on their way at a time; what the broker has confirmed is
//! noted together, a little later. The queues of workers that were removed are deleted.

use std::{collections::BTreeSet, time::Duration};

use lapin::{Channel, Connection, options::ConfirmSelectOptions};
use postrider_core::{backoff::Backoff, failure::chain};
use postrider_store::{
    StoreError,
    fleet::{self, Access, Carrier, Dispatched, Settings},
};
use tokio::{
    sync::{broadcast, watch},
    task::JoinSet,
    time::Instant,
};
use tokio_postgres::Notification;
use tracing::{info, warn};

use super::{
    Address, BrokerError, End, Failed, answer,
    bell::Bell,
    close,
    publishing::{Published, publish},
    topology::{self, Topology},
};
use crate::{asked, backoff, pause, trouble::Trouble};

/// How many executions are taken at a time, and how many may be on their way without a confirmation.
const MOST_IN_BATCH: i32 = 500;
const MOST_ON_THE_WAY: usize = 2_000;
/// How long a confirmation may wait to be noted, and how many. What was started by then needs no note,
/// and what was not has ten seconds.
const NOTE_WITHIN: Duration = Duration::from_millis(50);
const MOST_TO_NOTE: usize = 500;
/// How often we look for new workers; a notification tells us sooner.
const WORKERS_EVERY: Duration = Duration::from_secs(1);
/// How often settings are read without a notification.
const SETTINGS_EVERY: Duration = Duration::from_secs(60);
/// How often we try to delete queues of removed workers that are still in use.
const DELETE_EVERY: Duration = Duration::from_secs(60);
/// How often we say how the broker is.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How long the broker may take to confirm, unless it says that it takes nothing.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(30);
/// Where changed settings and new workers are told; rings come on another one.
const CHANNEL: &str = "postrider";
/// How long a stop waits for confirmations.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Publishes, over connections that come and go.
pub struct Publisher {
    access: Access,
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
    bell: Bell,
    batches: JoinSet<Published>,
    /// How many executions are in those batches.
    on_the_way_count: usize,
    /// What the broker has and the database does not know of, and until when that has to be noted.
    confirmed: Vec<Dispatched>,
    note_at: Instant,
    news: News,
    /// There are workers that get their executions by RabbitMQ.
    has_workers: bool,
    is_blocked: bool,
    /// When the broker last confirmed something, or nothing was left to confirm.
    confirmed_at: Instant,
    workers_at: Instant,
    settings_at: Instant,
    report_at: Instant,
    /// Workers whose queues were declared and that are not in the list, and when they are looked at again.
    unlisted: Vec<i32>,
    delete_at: Instant,
}

/// What notifications have said.
#[derive(Debug, Clone, Copy)]
struct News {
    settings: bool,
    workers: bool,
}

impl Publisher {
    pub fn new(
        access: Access,
        address: Address,
        known: watch::Sender<Option<Settings>>,
        is_asked_to_stop: watch::Receiver<bool>,
        process: String,
    ) -> Publisher {
        Publisher {
            access,
            address,
            process,
            known,
            is_asked_to_stop,
            topology: Topology::default(),
            backoff: backoff(),
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
            session = self.access.session() => session?,
        };
        let carrier = Carrier::open(session.client, session.notices).await?;
        let is_audible = carrier.listen().await?;
        let mut notifications = session.notifications;
        self.take_settings(&carrier).await?;
        loop {
            let error = match self.with_broker(&carrier, is_audible, &mut notifications).await {
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
        is_audible: bool,
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
        let bell = Bell::new(is_audible, Instant::now());
        let end = match self.open(carrier, bell, &connection).await {
            Ok(mut tenure) => {
                let Err(end) = self.carry(&mut tenure, notifications).await;
                // What it is that fails now is known.
                let _ = self.leave(&mut tenure).await;
                end
            }
            Err(error) => error.into(),
        };
        close(&connection).await;
        end
    }

    /// Makes ready for publishing on this connection.
    async fn open<'a>(
        &mut self,
        carrier: &'a Carrier,
        bell: Bell,
        connection: &'a Connection,
    ) -> Result<Tenure<'a>, BrokerError> {
        let channel = answer("open a channel", connection.create_channel()).await?;
        let confirms = channel.confirm_select(ConfirmSelectOptions::default());
        answer("ask for confirmations", confirms).await?;
        self.topology.forget();
        Ok(Tenure::new(carrier, bell, connection, channel, Instant::now()))
    }

    /// Publishes for as long as both connections last.
    async fn carry(
        &mut self,
        tenure: &mut Tenure<'_>,
        notifications: &mut broadcast::Receiver<Notification>,
    ) -> Result<std::convert::Infallible, End> {
        loop {
            self.look(tenure).await?;
            self.dispatch(tenure).await?;
            let next_at = tenure.next_at();
            tokio::select! {
                biased;
                () = asked(&self.is_asked_to_stop) => {
                    self.finish(tenure).await?;
                    return Err(End::Stopped);
                }
                Some(published) = tenure.batches.join_next() => {
                    self.take(tenure, published.map_err(|_| BrokerError::Closed)?).await?;
                }
                notification = notifications.recv() => tenure.hear(notification)?,
                () = tokio::time::sleep_until(next_at) => {}
            }
        }
    }

    /// Notes what is left to note. Nobody needs to ring any more.
    async fn leave(&mut self, tenure: &mut Tenure<'_>) -> Result<(), StoreError> {
        self.note(tenure).await?;
        tenure.bell.mute(tenure.carrier, Instant::now()).await
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
            self.look_at_workers(tenure, now).await?;
            // Connecting alone says little: what it may do there shows now.
            self.backoff.reset();
            if self.trouble.end() {
                info!("RabbitMQ can be used again");
            }
        }
        if !tenure.confirmed.is_empty() && now >= tenure.note_at {
            self.note(tenure).await?;
        }
        if now >= tenure.report_at {
            tenure.report_at = now + REPORT_EVERY;
            self.report(tenure).await?;
        }
        tenure.look_at_alarm(now)
    }

    /// Declares the queues of new workers, and deletes those of removed ones.
    async fn look_at_workers(&mut self, tenure: &mut Tenure<'_>, now: Instant) -> Result<(), End> {
        let workers = tenure.carrier.workers().await?;
        tenure.has_workers = !workers.is_empty();
        tenure.bell.follow(&workers, now);
        let ids: Vec<i32> = workers.iter().map(|worker| worker.worker_id).collect();
        self.topology.declare(tenure.connection, &ids).await?;
        let unlisted = self.topology.known_besides(&ids);
        if unlisted.is_empty() || unlisted == tenure.unlisted && now < tenure.delete_at {
            return Ok(());
        }
        // Others have another carrier now, and may come back.
        let gone = tenure.carrier.gone(&unlisted).await?;
        self.topology.delete(tenure.connection, &gone).await?;
        tenure.unlisted = self.topology.known_besides(&ids);
        tenure.delete_at = now + DELETE_EVERY;
        Ok(())
    }

    /// Takes a batch of executions and publishes it, if it is time for a look and there is room.
    async fn dispatch(&mut self, tenure: &mut Tenure<'_>) -> Result<(), End> {
        let now = Instant::now();
        if now < tenure.bell.look_at() {
            return Ok(());
        }
        if !tenure.has_workers || tenure.is_blocked || tenure.is_full() {
            return Ok(tenure.bell.mute(tenure.carrier, now).await?);
        }
        let batch = tenure.bell.look(tenure.carrier, MOST_IN_BATCH).await?;
        match batch.is_empty() {
            true => Ok(()),
            false => self.send(tenure, batch, false).await,
        }
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
        tenure.on_the_way_count += batch.len();
        tenure.batches.spawn(publish(tenure.channel.clone(), batch, is_repeated));
        Ok(())
    }

    /// Takes what the broker has said. What found no queue is published once more, with a new one.
    async fn take(&mut self, tenure: &mut Tenure<'_>, published: Published) -> Result<(), End> {
        let now = Instant::now();
        tenure.confirmed_at = now;
        if tenure.is_full() {
            tenure.bell.ring(now);
        }
        tenure.on_the_way_count -= published.count;
        let is_confirmed = !published.confirmed.is_empty();
        if tenure.confirmed.is_empty() {
            tenure.note_at = now + NOTE_WITHIN;
        }
        tenure.confirmed.extend(published.confirmed);
        if tenure.confirmed.len() >= MOST_TO_NOTE {
            tenure.note_at = now;
        }
        if published.refused_count > 0 {
            warn!(count = published.refused_count, "RabbitMQ refused executions; they come back");
        }
        if let Some(error) = published.error {
            return Err(error.into());
        }
        if published.returned.is_empty() {
            if is_confirmed {
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

    /// Notes what the broker has.
    async fn note(&mut self, tenure: &mut Tenure<'_>) -> Result<(), StoreError> {
        let confirmed = std::mem::take(&mut tenure.confirmed);
        let (heard, unheard): (Vec<_>, Vec<_>) = confirmed
            .iter()
            .partition(|execution| self.topology.is_dead_lettered(execution.worker_id));
        for (executions, is_dead_lettered) in [(heard, true), (unheard, false)] {
            note_published(tenure.carrier, &executions, is_dead_lettered).await?;
        }
        Ok(())
    }

    /// Waits for the confirmations of what is on its way.
    async fn finish(&mut self, tenure: &mut Tenure<'_>) -> Result<(), End> {
        let deadline = Instant::now() + STOP_TIMEOUT;
        while let Ok(Some(Ok(published))) =
            tokio::time::timeout_at(deadline, tenure.batches.join_next()).await
        {
            self.take(tenure, published).await?;
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
        bell: Bell,
        connection: &'a Connection,
        channel: Channel,
        now: Instant,
    ) -> Tenure<'a> {
        Tenure {
            carrier,
            connection,
            channel,
            bell,
            batches: JoinSet::new(),
            on_the_way_count: 0,
            confirmed: Vec::new(),
            note_at: now,
            news: News { settings: true, workers: true },
            has_workers: false,
            is_blocked: false,
            confirmed_at: now,
            workers_at: now,
            settings_at: now,
            report_at: now,
            unlisted: Vec::new(),
            delete_at: now,
        }
    }

    /// As much is on its way as may be.
    fn is_full(&self) -> bool {
        self.on_the_way_count >= MOST_ON_THE_WAY
    }

    /// When there is something to do though nothing happens.
    fn next_at(&self) -> Instant {
        let next_at = self.bell.look_at().min(self.workers_at);
        if self.confirmed.is_empty() { next_at } else { next_at.min(self.note_at) }
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

    /// What a notification says.
    fn hear(
        &mut self,
        notification: Result<Notification, broadcast::error::RecvError>,
    ) -> Result<(), End> {
        let now = Instant::now();
        match notification {
            Ok(notification) => match (notification.channel(), notification.payload()) {
                (CHANNEL, "settings") => self.news.settings = true,
                (CHANNEL, "workers") => {
                    self.news.workers = true;
                    self.bell.ring(now);
                }
                (CHANNEL, _) => {}
                (_, queue) => self.bell.hear(queue, now),
            },
            Err(broadcast::error::RecvError::Lagged(_)) => {
                self.news = News { settings: true, workers: true };
                self.bell.ring(now);
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
