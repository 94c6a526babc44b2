//! What happens to dispatchers and to the database.

use super::{Todo, World, ms};
use crate::timestamp::Timestamp;

/// By so much somebody sets the database's clock.
const FARTHEST_SET_US: i64 = 10_000_000;

impl World {
    pub fn fault(&mut self, seed: u64) {
        let mut dice = fastrand::Rng::with_seed(seed);
        let is_live = |node: &usize| self.nodes[*node].dispatcher.is_some();
        let live: Vec<usize> = (0..self.nodes.len()).filter(is_live).collect();
        if live.is_empty() {
            return;
        }
        let node = live[dice.usize(..live.len())];
        let name = match dice.u32(..12) {
            0 => {
                self.kill(node);
                "killed"
            }
            1 | 2 => {
                self.nodes[node].dies_after = Some(dice.u32(..40));
                "killed between two commands"
            }
            3 | 4 => {
                let wait = dice.i64(0..8_000_000);
                self.note_crash(node);
                self.nodes[node].frozen_until = Timestamp(self.database.clock.0 + wait);
                "frozen"
            }
            5 => {
                self.note_crash(node);
                self.end_tenure(node);
                "its connection cut"
            }
            6 | 7 => {
                let wait = dice.i64(0..6_000_000);
                self.nodes[node].is_unheard_until = Timestamp(self.database.clock.0 + wait);
                "its lease's connection lost"
            }
            8 => {
                self.end_with_heir(node, &mut dice);
                "gone, and so is whoever takes over"
            }
            9 => {
                let by_us = dice.i64(-FARTHEST_SET_US..=FARTHEST_SET_US);
                self.database.set_clock(by_us);
                "the database's clock set"
            }
            10 => {
                self.database.endanger();
                let wait = ms(dice.u64(..600));
                self.later(wait, Todo::Crash);
                "the database crashed"
            }
            _ => {
                let now = self.instant(node);
                if let Some(dispatcher) = &mut self.nodes[node].dispatcher
                    && !dispatcher.is_stopping()
                {
                    dispatcher.stop(now);
                }
                self.step(node);
                "stopped"
            }
        };
        self.tell(|| format!("fault: node {node} {name}"));
        *self.counts.faults.entry(name).or_default() += 1;
    }

    /// It is gone, and so is whoever takes over from it, who may find that somebody holds what it had claimed.
    fn end_with_heir(&mut self, node: usize, dice: &mut fastrand::Rng) {
        let claimed = self.database.claimed_by(self.nodes[node].id);
        if !claimed.is_empty() && dice.u32(..4) > 0 {
            self.hold(claimed, ms(dice.u64(..8_000)));
        }
        if dice.bool() {
            self.kill(node);
        } else {
            // It says so itself, and somebody takes over at once.
            self.note_crash(node);
            self.end_tenure(node);
        }
        // Of one shard it has five parts, and one more of each further one.
        self.takeover_dies_after = Some(dice.u32(..6));
    }

    /// Its process is gone.
    pub fn kill(&mut self, node: usize) {
        self.tell(|| format!("fault: node {node} dies"));
        self.note_crash(node);
        let id = self.nodes[node].id;
        self.ledger.end_tenure(id);
        self.nodes[node].dispatcher = None;
        // If its whole machine is gone, the server takes the connections for open.
        if self.dice.u32(..4) > 0 {
            self.database.sessions.remove(&id);
        }
        let wait = ms(self.dice.u64(..6_000));
        self.later_or_calm(wait, Todo::Start { former: None });
    }

    /// The database forgets what was not on disk, and everybody's connection is lost.
    pub fn crash(&mut self) {
        let forgotten = self.database.crash();
        self.tell(|| format!("fault: the database crashes and forgets {forgotten:?}"));
        self.ledger.crash(&forgotten);
        if self.database.clock >= self.calm_at {
            // Whoever switched everything on sees that it is off again.
            self.calm();
        }
        for node in 0..self.nodes.len() {
            self.nodes[node].is_cut = true;
            if self.nodes[node].dispatcher.is_some() {
                self.note_crash(node);
                self.end_tenure(node);
            }
        }
    }

    /// What it had done last when it was gone, and what it waited for.
    fn note_crash(&mut self, node: usize) {
        let known = &self.nodes[node];
        let place = (known.last, known.state());
        *self.counts.crashes.entry(place).or_default() += 1;
    }
}
