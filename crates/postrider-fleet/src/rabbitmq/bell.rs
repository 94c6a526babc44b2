//! When to look for executions: at once when somebody rings, and now and then.
//!
//! Who submits, or makes room for more, rings only for those who sleep (`ring_workers`). The publisher
//! says that it sleeps, and then looks once more whether somebody is submitting or has submitted: one of
//! both sees the other. Where nobody rings it polls.

use std::{collections::HashSet, mem, time::Duration};

use postrider_core::mark::mark;
use postrider_store::{
    StoreError,
    fleet::{self, Addressee, Carrier, Dispatched},
};
use tokio::time::Instant;

/// The longest sleep without a look: for rings that a network has swallowed, for workers that were away
/// or full for another reason, and for what is left to better workers for a second.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// The first pause while somebody submits. Each one after that is twice as long: it may be an open transaction.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// The pause behind a look that has found something: what comes meanwhile travels together, and nobody
/// needs to ring. Each look that finds nothing doubles it.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
/// Who would pause for longer sleeps instead.
const LONGEST_AWAKE: Duration = Duration::from_millis(10);
/// The longest pause where nobody rings, and while nothing can be published.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// What rings for executions that wait.
#[derive(Debug)]
pub struct Bell {
    /// Whether anybody rings.
    is_audible: bool,
    /// The names of the queues that we look after, in their order, each once.
    queues: Vec<String>,
    /// What is rung with for each of them.
    marks: HashSet<u32>,
    /// It was said that we sleep.
    is_armed: bool,
    /// There may be something, and we are awake.
    is_rung: bool,
    pause: Duration,
    busy_pause: Duration,
    look_at: Instant,
    /// Until when those who ring wait for others.
    gather_until: Instant,
}

impl Bell {
    pub fn new(is_audible: bool, now: Instant) -> Bell {
        Bell {
            is_audible,
            queues: Vec::new(),
            marks: HashSet::new(),
            is_armed: false,
            is_rung: false,
            pause: LONGEST_PAUSE,
            busy_pause: BUSY_PAUSE,
            look_at: now,
            gather_until: now,
        }
    }

    /// When the next look is due.
    pub fn look_at(&self) -> Instant {
        self.look_at
    }

    /// These are the workers from now on.
    pub fn follow(&mut self, workers: &[Addressee], now: Instant) {
        let queues = workers.iter().flat_map(|worker| &worker.queues).cloned();
        let mut queues: Vec<String> = queues.collect();
        queues.sort_unstable();
        queues.dedup();
        if queues != self.queues {
            self.marks = queues.iter().map(|queue| mark(queue)).collect();
            self.queues = queues;
            self.ring(now);
        }
    }

    /// Somebody rings for one of the queues, maybe not for ours.
    pub fn hear(&mut self, mark: &str, now: Instant) {
        if mark.parse().is_ok_and(|mark| self.marks.contains(&mark)) {
            self.ring(now);
        }
    }

    /// There may be something now.
    pub fn ring(&mut self, now: Instant) {
        self.is_rung = true;
        self.busy_pause = BUSY_PAUSE;
        self.look_at = now.max(self.gather_until);
    }

    /// Nothing can be published at the moment, and nobody needs to ring.
    pub async fn mute(&mut self, carrier: &Carrier, now: Instant) -> Result<(), StoreError> {
        self.look_at = now + LONGEST_PAUSE;
        match mem::take(&mut self.is_armed) {
            true => carrier.wake().await,
            false => Ok(()),
        }
    }

    /// Takes what there is, at most so many, and goes to sleep if there is nothing.
    pub async fn look(
        &mut self,
        carrier: &Carrier,
        most: i32,
    ) -> Result<Vec<Dispatched>, StoreError> {
        if mem::take(&mut self.is_rung) || !self.is_armed {
            let found = self.look_awake(carrier, most).await?;
            if !found.is_empty() || !self.is_audible || self.pause <= LONGEST_AWAKE {
                return Ok(found);
            }
        }
        self.look_asleep(carrier, most).await
    }

    async fn look_awake(
        &mut self,
        carrier: &Carrier,
        most: i32,
    ) -> Result<Vec<Dispatched>, StoreError> {
        let was_armed = mem::take(&mut self.is_armed);
        let wake = async {
            match was_armed {
                true => carrier.wake().await,
                false => Ok(()),
            }
        };
        let (woken, found) = tokio::join!(biased; wake, carrier.dispatch(most));
        let found = unless_passing(found)?.unwrap_or_default();
        woken?;
        let now = Instant::now();
        if found.is_empty() {
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            self.look_at = now + self.pause;
        } else {
            self.gather(found.len() == most as usize, now);
        }
        Ok(found)
    }

    /// There was something, so there may be more: at once if it was as much as was asked for.
    fn gather(&mut self, is_full: bool, now: Instant) {
        self.pause = SHORTEST_PAUSE;
        self.gather_until = if is_full { now } else { now + SHORTEST_PAUSE };
        self.ring(now);
    }

    async fn look_asleep(
        &mut self,
        carrier: &Carrier,
        most: i32,
    ) -> Result<Vec<Dispatched>, StoreError> {
        let (quiet, found) = carrier.doze(&self.queues, most, self.is_armed).await;
        let (quiet, found) = (unless_passing(quiet)?.flatten(), unless_passing(found)?);
        self.is_armed = quiet.is_some();
        if !self.is_armed {
            // Perhaps some ring for us now, and some do not.
            carrier.wake().await?;
        }
        let is_quiet = quiet.unwrap_or_default() && found.is_some();
        let (found, now) = (found.unwrap_or_default(), Instant::now());
        if !found.is_empty() {
            self.gather(found.len() == most as usize, now);
        } else if is_quiet {
            self.busy_pause = BUSY_PAUSE;
            self.look_at = now + LONGEST_SLEEP;
        } else {
            self.look_at = now + self.busy_pause;
            self.busy_pause = (self.busy_pause * 2).min(LONGEST_PAUSE);
        }
        Ok(found)
    }
}

/// Nothing if it was refused for now, which a look a little later makes up for.
fn unless_passing<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if fleet::is_passing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
