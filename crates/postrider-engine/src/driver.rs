//! The driver of a tenure: it has the connections, the tasks and the clock, and does what the
//! [`Dispatcher`] decides. There is no decision in here but when the tenure is over.

mod attempting;
pub mod statements;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use postrider_core::{
    failure::Failure,
    id::EndpointId,
    statistics::Statistics,
    tenure::{
        Dispatcher, End, Endpoints, Goodbye, News, Signal, Tenure,
        command::{Command, Event},
    },
};
use postrider_store::StoreError;
use tokio::{
    sync::{
        broadcast::{
            self,
            error::{RecvError, TryRecvError},
        },
        mpsc, watch,
    },
    task::{AbortHandle, JoinError, JoinSet},
};
use tokio_postgres::Notification;
use tracing::error;
use uuid::Uuid;

use super::{
    Options,
    caretaker::{self, Wishes},
    connections::{Calls, Connections},
    keeper::Keeper,
    telemetry::Meters,
    transports::Transports,
};

/// Without an event the next decision comes no sooner.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);
/// Events that are taken in before the next decision.
const EVENTS_AT_ONCE: usize = 1_024;
/// The same of notifications.
const SIGNALS_AT_ONCE: usize = 1_024;

pub struct Driver {
    options: Arc<Options>,
    keeper: Keeper,
    connections: Connections,
    transports: Arc<Transports>,
    meters: Meters,
    report: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
    tasks: JoinSet<()>,
    /// What the caretaker is to do sooner, and how it is ended.
    wishes: Arc<Wishes>,
    caretaker: Option<AbortHandle>,
}

type Notifications = broadcast::Receiver<Notification>;

impl Driver {
    pub fn new(
        options: Arc<Options>,
        keeper: Keeper,
        connections: Connections,
        transports: Transports,
    ) -> Driver {
        let (report, events) = mpsc::unbounded_channel();
        let meters = Meters::new(Arc::clone(&options.telemetry));
        Driver {
            options,
            keeper,
            connections,
            transports: Arc::new(transports),
            meters,
            report,
            events,
            tasks: JoinSet::new(),
            wishes: Arc::default(),
            caretaker: None,
        }
    }

    /// Runs until the tenure ends. `is_asked_to_stop` turns true when the process is to stop.
    pub async fn run(
        mut self,
        endpoints: Endpoints,
        former: Option<Tenure>,
        mut calls: Calls,
        mut is_asked_to_stop: watch::Receiver<bool>,
    ) -> (End, Tenure) {
        let former_id = former.as_ref().map(|former| former.id);
        let mut dispatcher = Dispatcher::new(
            self.options.pace,
            self.connections.identity(),
            endpoints,
            former,
            Instant::now(),
            fastrand::Rng::new(),
        );
        let begun = tokio::select! {
            begun = self.begin(&mut dispatcher, former_id) => begun,
            _ = calls.lost.wait_for(|is_lost| *is_lost) => Err(End::Failed(StoreError::Closed.into())),
            _ = is_asked_to_stop.wait_for(|is_asked| *is_asked) => {
                Err(self.say_goodbye(dispatcher.goodbye()).await)
            }
        };
        let end = match begun {
            Ok(()) => self.go_on(&mut dispatcher, &mut calls, &mut is_asked_to_stop).await,
            Err(end) => end,
        };
        (end, self.leave(dispatcher))
    }

    /// Does what is to be done and takes in what comes, in turn, until the tenure ends.
    async fn go_on(
        &mut self,
        dispatcher: &mut Dispatcher,
        calls: &mut Calls,
        is_asked_to_stop: &mut watch::Receiver<bool>,
    ) -> End {
        loop {
            let wake_at = match self.act(dispatcher).await {
                Ok(wake_at) => wake_at,
                Err(end) => return end,
            };
            if let Err(end) = self.listen(dispatcher, calls, is_asked_to_stop, wake_at).await {
                return end;
            }
            while let Some(joined) = self.tasks.try_join_next() {
                check_joined(joined, dispatcher);
            }
        }
    }

    /// Starts what is to be done now. Returns when to look again, or why the tenure is over.
    async fn act(&mut self, dispatcher: &mut Dispatcher) -> Result<Instant, End> {
        self.keeper.sign_of_life();
        let now = Instant::now();
        // What was taken in is counted before anything is started.
        self.meters.take(dispatcher.take_measured());
        if let Some(end) = dispatcher.take_failure() {
            return Err(end);
        }
        let fence = self.keeper.fence().at();
        if now >= fence {
            return Err(End::LeaseLost);
        }
        self.options.vitals.beat(fence);
        if dispatcher.is_finished(now) {
            return Err(self.say_goodbye(dispatcher.goodbye()).await);
        }
        for command in dispatcher.step(now) {
            self.start(command);
        }
        self.options.telemetry.in_flight.set(dispatcher.in_flight());
        // A moment that has passed, and was not used, is waited for by an event.
        Ok(dispatcher.wake_at().max(Instant::now() + SHORTEST_SLEEP).min(fence))
    }

    /// Waits for whatever comes first, `wake_at` at the latest, and takes it in.
    async fn listen(
        &mut self,
        dispatcher: &mut Dispatcher,
        Calls { notifications, lost }: &mut Calls,
        is_asked_to_stop: &mut watch::Receiver<bool>,
        wake_at: Instant,
    ) -> Result<(), End> {
        tokio::select! {
            biased;
            _ = lost.wait_for(|is_lost| *is_lost) => {
                return Err(End::Failed(StoreError::Closed.into()));
            }
            // Before anything that strangers can make come without a pause.
            _ = is_asked_to_stop.wait_for(|is_asked| *is_asked), if !dispatcher.is_stopping() => {
                self.end_chores();
                dispatcher.stop(Instant::now());
            }
            news = self.keeper.news() => dispatcher.take_news(news, Instant::now()),
            Some(event) = self.events.recv() => self.take_in(event, dispatcher),
            Some(signal) = next_signal(notifications) => {
                dispatcher.heed(signals(signal, notifications), Instant::now());
            }
            () = tokio::time::sleep_until(wake_at.into()) => {}
            Some(joined) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                check_joined(joined, dispatcher);
            }
        }
        Ok(())
    }

    /// Whatever else has come in is taken in before deciding again.
    fn take_in(&mut self, first: Event, dispatcher: &mut Dispatcher) {
        dispatcher.take(first, Instant::now());
        for _ in 0..EVENTS_AT_ONCE {
            let Ok(event) = self.events.try_recv() else { break };
            dispatcher.take(event, Instant::now());
        }
    }

    /// Reads what there is to know, and takes the first heartbeat.
    async fn begin(
        &mut self,
        dispatcher: &mut Dispatcher,
        former: Option<Uuid>,
    ) -> Result<(), End> {
        self.learn(dispatcher, former).await.map_err(|error| End::Failed(error.into()))?;
        self.keeper.beat(dispatcher.first_beat());
        let news = self.keeper.news().await;
        dispatcher.take_news(news, Instant::now());
        let circuits = self.connections.circuits.known(&[]).await;
        dispatcher.take(Event::Circuits(circuits.map_err(Failure::from)), Instant::now());
        let caretaker = caretaker::Driver {
            options: Arc::clone(&self.options),
            wishes: Arc::clone(&self.wishes),
            chores: Arc::clone(&self.connections.chores),
            ticks: Arc::clone(&self.connections.ticks),
        };
        self.caretaker = Some(self.tasks.spawn(caretaker.run()));
        Ok(())
    }

    async fn learn(
        &mut self,
        dispatcher: &mut Dispatcher,
        former: Option<Uuid>,
    ) -> Result<(), StoreError> {
        let Connections { lease, log, .. } = &self.connections;
        if let Some(former) = former {
            lease.unregister(former).await?;
        }
        dispatcher.take(Event::Settings(Ok(log.shared_settings().await?)), Instant::now());
        let versions = log.endpoint_versions().await?;
        let ids: Vec<EndpointId> = versions.iter().map(|(id, _)| *id).collect();
        let known = statements::endpoints(log, &self.transports, versions, ids).await?;
        self.meters.begin(known.0.iter().map(|(id, _)| *id));
        dispatcher.take(Event::Endpoints(Ok(known)), Instant::now());
        Ok(())
    }

    /// Nothing is begun any more that may come late.
    fn end_chores(&self) {
        if let Some(caretaker) = &self.caretaker {
            caretaker.abort();
        }
    }

    /// Starts what is to be done.
    fn start(&mut self, command: Command) {
        match command {
            Command::Attempt { edition, deliveries, clock } => {
                self.attempt(edition, deliveries, clock);
            }
            Command::Close(edition) => self.transports.close(edition),
            Command::Follow(settings) => self.transports.follow(settings),
            Command::Beat(statistics) => self.keeper.beat(statistics),
            Command::Bound(lease) => self.connections.bound(lease),
            Command::WaiveDurability(is_waived) => self.connections.durability.waive(is_waived),
            Command::Wish(wish) => self.wishes.add(wish),
            Command::Ask(query) => {
                let report = self.report.clone();
                let (connections, telemetry) = (&self.connections, &self.options.telemetry);
                let answer = statements::answer(query, connections, &self.transports, telemetry);
                self.tasks.spawn(async move {
                    // The receiver is gone only when the tenure is over.
                    let _ = report.send(answer.await);
                });
            }
        }
    }

    /// Gives back what is held, if all of it is on record.
    async fn say_goodbye(&mut self, goodbye: Goodbye) -> End {
        let lease = Arc::clone(&self.connections.lease);
        let longest = goodbye.lease_length;
        let result = async {
            if let Some(kept) = goodbye.kept {
                lease.save_checkpoint(&kept.owned, &kept.checkpoint, true).await?;
                // What people see until somebody else takes over.
                self.beat_once_more(kept.statistics).await;
                lease.release(&kept.released).await?;
            }
            lease.unregister(lease.id()).await
        };
        match tokio::time::timeout(longest, result).await {
            Ok(Ok(())) => End::Stopped,
            Ok(Err(error)) => End::Failed(error.into()),
            Err(_) => End::Failed(StoreError::Silent.into()),
        }
    }

    async fn beat_once_more(&mut self, statistics: Statistics) {
        let wished_at = Instant::now();
        self.keeper.beat(statistics);
        while let News::Renewed { asked, .. } = self.keeper.news().await {
            if asked >= wished_at {
                break;
            }
        }
    }

    /// What the next tenure may know.
    fn leave(mut self, mut dispatcher: Dispatcher) -> Tenure {
        self.tasks.abort_all();
        // What has come in may say what was not attempted.
        while let Ok(event) = self.events.try_recv() {
            dispatcher.take(event, Instant::now());
        }
        self.meters.take(dispatcher.take_measured());
        Tenure { id: self.connections.lease.id(), spared: Arc::new(dispatcher.spared()) }
    }
}

/// A task that panicked never reports what it was to report: the tenure cannot go on.
fn check_joined(joined: Result<(), JoinError>, dispatcher: &mut Dispatcher) {
    if let Err(error) = joined
        && error.is_panic()
    {
        error!(%error, "a task of the dispatcher panicked");
        dispatcher.fail(StoreError::Panicked("a task of the dispatcher").into());
    }
}

/// What the next notification says; nothing more when the connection has ended.
async fn next_signal(notifications: &mut Notifications) -> Option<Signal> {
    match notifications.recv().await {
        Ok(notification) => Some(Signal::read(notification.payload())),
        // Some were missed; what they would have said is found by looking.
        Err(RecvError::Lagged(_)) => Some(Signal::Ring),
        Err(RecvError::Closed) => None,
    }
}

/// This one and what has come since. Anybody may notify, as often as they like.
fn signals(
    first: Signal,
    notifications: &mut Notifications,
) -> impl Iterator<Item = Signal> + use<'_> {
    let more = std::iter::from_fn(|| match notifications.try_recv() {
        Ok(notification) => Some(Signal::read(notification.payload())),
        Err(TryRecvError::Lagged(_)) => Some(Signal::Ring),
        Err(TryRecvError::Empty | TryRecvError::Closed) => None,
    });
    std::iter::once(first).chain(more.take(SIGNALS_AT_ONCE))
}
