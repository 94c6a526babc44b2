//! Answers as text that is the same in both worlds: transactions by their place among those that have sent, times by the
//! number of their step, in an order of its own.
//!
//! Left out, because the model does not have it or knows better:
//! - what is sent (payloads, headers, metadata): nothing depends on it;
//! - places in the write-ahead log, and so whether a tick is durable;
//! - where windows begin: PostgreSQL has a lower bound, the model the first message. What pages find is compared;
//! - numbers of heartbeats, which are one sequence there and one for each dispatcher here;
//! - what was committed of cancellations, beyond what was asked for: PostgreSQL's is remembered from before.

use postrider_core::{
    breaker::{Circuit, State},
    id::{EndpointId, Lane, MessageId, Target},
    lease::{Heartbeat, Owned},
    message::{LogMessage, Terms},
    moment::Moment,
    position::Position,
    reader::{Lag, LaneState},
    sharing::Answer,
    snapshot::{Snapshot, Xid},
    tenure::{
        Gathered,
        command::Event,
        simulation::database::{Contents, DeferredRow},
    },
    tick::Tick,
    timestamp::Timestamp,
    waiting::DueDelivery,
};

use super::{
    desk::ALL,
    world::{Began, Place},
};

pub struct Telling<'a> {
    pub began: Began,
    pub xids: &'a [Xid],
    /// All messages, with the place of their transaction.
    pub sent: &'a [(MessageId, usize)],
    /// What was asked for, and what was in hand.
    pub asked: &'a [MessageId],
    pub in_hand: &'a [Place],
}

impl Telling<'_> {
    fn time(&self, at: Timestamp) -> String {
        match at.0 {
            i64::MAX => "never".to_owned(),
            _ => self.began.step(at).to_string(),
        }
    }

    fn maybe(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "-".to_owned(), |at| self.time(at))
    }

    /// Those that it does not see.
    fn snapshot(&self, snapshot: &Snapshot) -> String {
        let unseen = self.xids.iter().enumerate().filter(|(_, xid)| !snapshot.sees(**xid));
        format!("all but {:?}", unseen.map(|(place, _)| place).collect::<Vec<_>>())
    }

    fn position(&self, lane: Lane, position: &Position) -> String {
        let base = self.snapshot(&position.base);
        let Some(window) = &position.window else { return base };
        let is_behind = |(id, place): &&(MessageId, usize)| {
            let xid = self.xids[*place];
            id.lane() == lane
                && id.0 <= window.id
                && window.top.sees(xid)
                && !position.base.sees(xid)
        };
        let last = self.sent.iter().filter(is_behind).map(|(id, _)| id.0).max();
        format!("{base}, in {} behind {last:?} up to {}", self.snapshot(&window.top), window.end)
    }

    fn lag(&self, lane: Lane, lag: &Lag) -> String {
        let skipped = lag.skipped.iter().map(|(t, position)| (t.0, self.position(lane, position)));
        let remaining = lag
            .remaining
            .iter()
            .map(|(target, left)| (target.0, left.count, self.time(Timestamp(left.oldest))));
        format!(
            "lag {}, skipped {:?}, remaining {:?}, last {:?}",
            self.position(lane, &lag.position),
            skipped.collect::<Vec<_>>(),
            remaining.collect::<Vec<_>>(),
            lag.last
        )
    }

    fn lane(&self, lane: Lane, state: &LaneState) -> String {
        let mut done: Vec<String> =
            state.done.iter().map(|place| self.position(lane, place)).collect();
        done.sort();
        done.dedup();
        let lag = state.lag.as_ref().map(|lag| self.lag(lane, lag));
        format!(
            "tail {}, {lag:?}, done {done:?}, open {:?}",
            self.position(lane, &state.tail),
            state.open
        )
    }

    fn terms(&self, terms: &Terms) -> String {
        format!(
            "created {} scheduled {} expires {} priority {} key {:?} idempotent {}",
            self.time(terms.created_at),
            self.maybe(terms.scheduled_at),
            self.maybe(terms.expires_at),
            terms.priority.index(),
            terms.ordering_key,
            terms.has_idempotency_key
        )
    }

    fn row(&self, row: &LogMessage) -> String {
        let place = self.xids.iter().position(|xid| *xid == row.xid);
        let targets: Vec<i32> = row.targets.as_slice().iter().map(|target| target.0).collect();
        format!("{} by {place:?} to {targets:?} {}", row.id.0, self.terms(&row.terms))
    }

    fn waiting(&self, row: &DueDelivery) -> String {
        format!(
            "{} to {} at {} retries {} recoveries {} run at {} blocked {} many {} {}",
            row.id.0,
            row.target.0,
            row.endpoint.0,
            row.retry_count,
            row.recovery_count,
            self.time(row.run_at),
            row.is_blocked,
            row.has_many_targets,
            self.terms(&row.terms)
        )
    }

    fn rows<'b>(&self, rows: impl IntoIterator<Item = &'b DueDelivery>) -> Vec<String> {
        let mut rows: Vec<(i64, i32, String)> =
            rows.into_iter().map(|row| (row.id.0, row.target.0, self.waiting(row))).collect();
        rows.sort();
        rows.into_iter().map(|(.., text)| text).collect()
    }

    fn gathered(&self, gathered: &Gathered) -> String {
        let results = &gathered.results;
        let mut done = results.done.clone();
        done.sort_unstable();
        let of = |(id, targets): (&MessageId, &Vec<Target>)| {
            targets.iter().map(|target| (*id, *target)).collect::<Vec<Place>>()
        };
        let partly = results.partly.iter().flat_map(of);
        format!(
            "done {:?} partly {:?} deferred {:?} settled {:?} dead {:?} expired {:?} read {:?}",
            done.iter().map(|id| id.0).collect::<Vec<_>>(),
            places(partly),
            places(results.deferred.iter().map(|row| (row.id, row.target))),
            places(results.settled.iter().copied()),
            places(results.dead.iter().map(|row| (row.id, row.target))),
            places(results.expired.iter().map(|(id, target, _)| (*id, *target))),
            places(results.read.iter().copied()),
        )
    }

    pub fn heartbeat(&self, heartbeat: Option<&Heartbeat>) -> Vec<String> {
        let Some(heartbeat) = heartbeat else { return vec!["the lease is over".to_owned()] };
        let mut others: Vec<_> =
            heartbeat.others.iter().map(|beat| (beat.dispatcher, beat.lease)).collect();
        others.sort_unstable();
        vec![
            format!("share {} takeable {}", heartbeat.share, heartbeat.takeable_count),
            format!("owned {}", owned(&heartbeat.owned)),
            format!("lease {:?}, others {others:?}", heartbeat.lease),
        ]
    }

    pub fn event(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Ticked(Ok((groups, _))) => {
                let mut lines = Vec::new();
                for (number, (group, tick, bounds)) in groups.iter().enumerate() {
                    let (top, rows, last) = match tick {
                        Tick::Rows { top, rows, last_number, .. } => {
                            (top, rows.as_slice(), *last_number)
                        }
                        Tick::TooMany { top, .. } => (top, [].as_slice(), 0),
                    };
                    if number == 0 {
                        lines.push(format!("up to {}", self.snapshot(top)));
                    }
                    if !rows.is_empty() {
                        lines.push(format!("newest number {last}"));
                    }
                    lines.extend(rows.iter().map(|row| self.row(row)));
                    if let Some(bounds) = bounds {
                        lines.extend(group.lanes.iter().map(|lane| {
                            format!("lane {}: too many, up to {}", lane.0, bounds.end)
                        }));
                    }
                }
                lines.sort();
                lines.dedup();
                lines
            }
            Event::Paged(page, Ok((rows, left))) => {
                let mut left: Vec<String> = left
                    .iter()
                    .map(|(target, left)| {
                        let oldest = self.time(Timestamp(left.oldest));
                        format!("left {} to {} since {oldest}", left.count, target.0)
                    })
                    .collect();
                left.sort();
                let mut lines = vec![format!("page of lane {} {:?}", page.lane.0, page.which)];
                lines.extend(rows.iter().map(|row| self.row(row)));
                lines.extend(left);
                lines
            }
            other => self.waiting_event(other),
        }
    }

    fn waiting_event(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Due(wanted, _, Ok(answer)) => {
                let mut lines = self.next(&answer.next);
                // In whose order they are due counts by what is real of time, too: of few, how many.
                match wanted.iter().all(|(_, most)| *most >= ALL) {
                    true => lines.extend(self.rows(&answer.rows)),
                    false => lines.extend(wanted.iter().map(|(id, _)| {
                        let of = answer.rows.iter().filter(|row| row.endpoint == *id).count();
                        format!("{of} at {}", id.0)
                    })),
                }
                lines
            }
            Event::Waiting(Ok(next)) => self.next(next),
            Event::Expired(Ok(page)) => {
                let is_free = |row: &&DueDelivery| !self.in_hand.contains(&(row.id, row.target));
                let mut lines = self.rows(page.rows.iter().filter(is_free));
                let next =
                    page.next.map(|next| (self.time(next.expires_at), next.id.0, next.target.0));
                lines.push(format!("next {next:?}"));
                lines
            }
            Event::Followers(_, Ok(rows)) => self.rows(rows),
            Event::Claimed(Ok((lost, cancels))) => {
                vec![format!("lost {}", owned(lost)), self.cancels(cancels)]
            }
            Event::DueClaimed(_, Ok(answer)) => {
                let mut waiting: Vec<_> = answer
                    .still_waiting
                    .iter()
                    .map(|((id, target), waiting)| {
                        let until = self.maybe(waiting.expires_at);
                        let waiting = postrider_core::checkpoint::StillWaiting {
                            expires_at: None,
                            ..*waiting
                        };
                        format!("{} to {}: {waiting:?}, until {until}", id.0, target.0)
                    })
                    .collect();
                waiting.sort();
                let unclaimed = places(answer.unclaimed.iter().copied());
                waiting.push(format!("lost {}, unclaimed {unclaimed:?}", owned(&answer.lost)));
                waiting.push(self.cancels(&answer.cancels));
                waiting
            }
            Event::Flushed(Ok(flushed)) => vec![
                format!("recorded {}", self.gathered(&flushed.recorded)),
                format!("held {}", self.gathered(&flushed.held)),
                format!("lost {}", owned(&flushed.lost)),
            ],
            other => self.owning_event(other),
        }
    }

    fn owning_event(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Acquired(Ok((acquired, stored))) => {
                let mut lines = Vec::new();
                for taken in acquired {
                    lines.push(format!(
                        "{:?} from {:?}, backlog {}",
                        taken.owned, taken.last_owner, taken.backlog
                    ));
                    lines.extend(taken.held.iter().map(|claim| format!("held {claim:?}")));
                    let used = taken.lanes.iter().filter(|(_, state)| **state != LaneState::new());
                    lines.extend(
                        used.map(|(lane, state)| format!("{lane:?} {}", self.lane(*lane, state))),
                    );
                }
                lines.extend(stored.links.iter().map(|link| {
                    format!("link {} at {}: {}", link.key, link.endpoint.0, link.id.0)
                }));
                lines.extend(stored.counts.iter().map(|count| self.count(count)));
                lines.sort();
                lines
            }
            Event::Recovered(_, Ok(recovered)) => {
                let held = recovered.held.iter();
                let held = held.map(|claim| (claim.id, claim.target));
                vec![format!("recovered {}, held {:?}", recovered.count, places(held))]
            }
            Event::Released(released, Ok(())) => vec![format!("released {}", owned(released))],
            Event::Maintained(Ok(())) => vec!["maintained".to_owned()],
            Event::Counted(_, Ok(counts)) => {
                let mut lines: Vec<String> = counts.iter().map(|count| self.count(count)).collect();
                lines.sort();
                lines
            }
            Event::Doorbell(Ok(is_locked)) => vec![format!("doorbell {is_locked}")],
            Event::Traded(_, Ok(loans)) => {
                let mut loans: Vec<String> = loans.iter().map(|loan| format!("{loan:?}")).collect();
                loans.sort();
                loans
            }
            Event::Circuits(Ok(known)) => {
                let mut lines: Vec<String> =
                    known.iter().map(|(id, circuit)| self.circuit(*id, circuit)).collect();
                lines.sort();
                lines.dedup();
                lines
            }
            Event::Told(_, Ok(answers)) => {
                let line = |answer: &Answer| {
                    let circuit = self.circuit(answer.endpoint, &answer.current);
                    format!("saved {}: {circuit}", answer.is_saved)
                };
                answers.iter().map(line).collect()
            }
            Event::Endpoints(Ok((versions, _))) => vec![format!("versions {versions:?}")],
            other => panic!("nobody tells of {}", failure(other)),
        }
    }

    fn next(&self, next: &[(EndpointId, Timestamp)]) -> Vec<String> {
        let mut next: Vec<String> =
            next.iter().map(|(id, at)| format!("next at {}: {}", id.0, self.time(*at))).collect();
        next.sort();
        next
    }

    fn count(&self, count: &postrider_core::waiting::WaitingCount) -> String {
        let oldest = self.time(count.oldest);
        format!("{} to {} in {} since {oldest}", count.count, count.target.0, count.shard.0)
    }

    fn circuit(&self, id: EndpointId, circuit: &Circuit) -> String {
        let moment = |at: Option<Moment>| self.maybe(at.map(|at| Timestamp(at.0)));
        let state = match circuit.state {
            State::Open { probe_at } => format!("open until {}", moment(Some(probe_at))),
            state => format!("{state:?}"),
        };
        format!(
            "circuit {} version {} {state} failures {} paused until {} success {} failure {} since {}",
            id.0,
            circuit.version,
            circuit.failure_count,
            moment(circuit.paused_until),
            moment(circuit.last_success_at),
            moment(circuit.last_failure_at),
            moment(circuit.failing_since),
        )
    }

    fn cancels(&self, cancels: &postrider_core::checkpoint::Cancels) -> String {
        let committed = cancels.committed.iter().filter(|(id, _)| self.asked.contains(id));
        let mut under_way: Vec<i64> = cancels.under_way.iter().map(|id| id.0).collect();
        under_way.sort_unstable();
        format!("cancelled {:?}, under way {under_way:?}", places(committed.copied()))
    }

    // What is on record -----------------------------------------------------------------------------

    fn deferred(&self, row: &DeferredRow) -> String {
        format!(
            "at {} run at {} retries {} recoveries {} expires {} key {:?} blocked {}",
            row.endpoint.0,
            self.maybe(row.run_at),
            row.retry_count,
            row.recovery_count,
            self.maybe(row.expires_at),
            row.key,
            row.is_blocked
        )
    }

    pub fn contents(&self, contents: &Contents) -> Vec<String> {
        let mut lines = Vec::new();
        for (shard, (owner, epoch, unrecovered)) in contents.shards.iter().enumerate() {
            if *epoch > 0 {
                lines.push(format!("shard {shard}: {owner:?} {epoch} {unrecovered:?}"));
            }
        }
        for ((id, target), row) in &contents.deferred {
            lines.push(format!("waits {} to {} {}", id.0, target.0, self.deferred(row)));
        }
        lines.extend(contents.done.iter().map(|id| format!("done {}", id.0)));
        let mut list = |what: &str, list: Vec<(i64, i32)>| {
            lines.extend(list.into_iter().map(|(id, target)| format!("{what} {id} to {target}")));
        };
        list("partly", places(contents.partly.iter().copied()));
        list("ended", places(contents.ended.iter().copied()));
        list("cancellation", places(contents.cancellations.iter().copied()));
        for ((id, target), is_redriven) in &contents.letters {
            lines.push(format!("letter {} to {} redriven {is_redriven}", id.0, target.0));
        }
        for ((id, target), count) in &contents.attempts {
            lines.push(format!("attempts {} to {}: {count}", id.0, target.0));
        }
        lines
    }
}

fn places(places: impl IntoIterator<Item = Place>) -> Vec<(i64, i32)> {
    let mut places: Vec<(i64, i32)> =
        places.into_iter().map(|(id, target)| (id.0, target.0)).collect();
    places.sort_unstable();
    places
}

fn owned(owned: &[Owned]) -> String {
    let mut shards: Vec<(i16, i64)> =
        owned.iter().map(|owned| (owned.shard.0, owned.epoch)).collect();
    shards.sort_unstable();
    format!("{shards:?}")
}

/// Why there is no answer.
fn failure(event: &Event) -> String {
    let failure = match event {
        Event::Ticked(Err(failure)) => failure,
        Event::Paged(_, Err(failure)) => failure,
        Event::Due(_, _, Err(failure)) => failure,
        Event::Waiting(Err(failure)) => failure,
        Event::Expired(Err(failure)) => failure,
        Event::Followers(_, Err(failure)) => failure,
        Event::Claimed(Err(failure)) => failure,
        Event::DueClaimed(_, Err(failure)) => failure,
        Event::Flushed(Err(failure)) => failure,
        Event::Acquired(Err(failure)) => failure,
        Event::Recovered(_, Err(failure)) => failure,
        Event::Released(_, Err(failure)) => failure,
        Event::Maintained(Err(failure)) => failure,
        Event::Counted(_, Err(failure)) => failure,
        Event::Doorbell(Err(failure)) => failure,
        Event::Circuits(Err(failure)) => failure,
        Event::Told(_, Err(failure)) => failure,
        Event::Traded(_, Err(failure)) => failure,
        _ => return "another event".to_owned(),
    };
    format!("{failure:?}")
}
