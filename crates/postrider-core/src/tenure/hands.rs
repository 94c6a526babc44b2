//! Waiting deliveries that are in hand: what is fetched is not fetched again before it is put down.

use std::time::Instant;

use super::{chore::Chore, delivery::Delivery, recorder::HELD_PAUSE};
use crate::{
    checkpoint::Claim,
    hashing::{HashMap, HashSet},
    id::{EndpointId, MessageId, Shard, Target},
    timestamp::Timestamp,
};

/// From this many losses in a row on, deliveries are attempted one at a time.
pub const SUSPECT_AFTER: u32 = 2;
/// So many of them are kept at hand.
const SUSPECTS_AT_HAND: usize = 1_000;

type Place = (MessageId, Target);

#[derive(Debug)]
pub struct Hands {
    /// Each with the endpoint that counts it.
    in_hand: HashMap<Place, Option<EndpointId>>,
    /// Fetches what is due.
    pub fetch: Chore,
    /// What was recorded while a fetch was under way: its answer may show it as it was before.
    put_down: HashSet<Place>,
    /// Those whose cancellation was under way, or which somebody has locked, and when to look again; the first comes
    /// first.
    postponed: Vec<(Instant, Delivery)>,
    /// What a former owner had claimed and somebody has locked: in hand until it is recovered.
    unrecovered: Vec<Claim>,
    recovery: Chore,
    /// Those whose dispatcher died more than once, and the one that is being attempted: until its end is on record,
    /// because whatever is not when the next one kills us, is suspected again.
    suspects: Vec<Delivery>,
    suspect: Option<Place>,
    /// What came too late to be attempted, whether it has waited or not.
    unbegun: Vec<Delivery>,
}

impl Hands {
    pub fn new(now: Instant) -> Hands {
        Hands {
            in_hand: HashMap::default(),
            fetch: Chore::due(now),
            put_down: HashSet::default(),
            postponed: Vec::new(),
            unrecovered: Vec::new(),
            recovery: Chore::due(now),
            suspects: Vec::new(),
            suspect: None,
            unbegun: Vec::new(),
        }
    }

    /// It is in hand from now on, counted by this endpoint; `false`: it has been.
    pub fn hold(&mut self, place: Place, counted_by: Option<EndpointId>) -> bool {
        let is_fresh = !self.in_hand.contains_key(&place);
        if is_fresh {
            self.in_hand.insert(place, counted_by);
        }
        is_fresh
    }

    /// It is no longer in hand; if it was the suspect, the next one may be tried. Returns the endpoint that counts it.
    pub fn forget(&mut self, place: Place) -> Option<EndpointId> {
        self.clear(place);
        self.in_hand.remove(&place).flatten()
    }

    pub fn has(&self, place: Place) -> bool {
        self.in_hand.contains_key(&place)
    }

    pub fn has_any_of(&self, shard: Shard) -> bool {
        self.in_hand.keys().any(|(id, _)| id.lane().shard() == shard)
    }

    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.in_hand.keys().copied()
    }

    pub fn count(&self) -> usize {
        self.in_hand.len()
    }

    /// The lease was over before they were attempted.
    pub fn note_unbegun(&mut self, deliveries: Vec<Delivery>) {
        self.unbegun.extend(deliveries);
    }

    /// Those that are certainly not being attempted: a claim was not asked for, or has to be asked for anew, or came too
    /// late.
    pub fn idle(&self) -> impl Iterator<Item = &Delivery> {
        let postponed = self.postponed.iter().map(|(_, delivery)| delivery);
        postponed.chain(&self.suspects).chain(&self.unbegun)
    }

    /// Takes out those that have not been claimed.
    pub fn extract(&mut self, is_wanted: impl Fn(&Delivery) -> bool) -> Vec<Delivery> {
        let mut extracted: Vec<Delivery> =
            self.suspects.extract_if(.., |suspect| is_wanted(suspect)).collect();
        let late = self.postponed.extract_if(.., |(_, delivery)| is_wanted(delivery));
        extracted.extend(late.map(|(_, delivery)| delivery));
        extracted
    }

    // Fetches ---------------------------------------------------------------------------------------

    /// It is on record, while a fetch may be under way.
    pub fn note_recorded(&mut self, place: Place) {
        if self.fetch.is_under_way() {
            self.put_down.insert(place);
        }
    }

    /// A fetch has an answer; what was recorded meanwhile.
    pub fn end_fetch(&mut self, now: Instant) -> HashSet<Place> {
        self.fetch.end(now);
        std::mem::take(&mut self.put_down)
    }

    // What has to wait ------------------------------------------------------------------------------

    /// It is claimed again later.
    pub fn postpone(&mut self, at: Instant, delivery: Delivery) {
        let later = self.postponed.partition_point(|(other, _)| *other <= at);
        self.postponed.insert(later, (at, delivery));
    }

    /// When to fetch, to claim again, or to recover.
    pub fn wake_at(&self) -> Option<Instant> {
        let postponed_at = self.postponed.first().map(|(at, _)| *at);
        let machines = [self.fetch.wake_at(), postponed_at, self.recovery_at()];
        machines.into_iter().flatten().min()
    }

    pub fn postponed_count(&self) -> usize {
        self.postponed.len()
    }

    /// What is to be claimed again now. Suspects have their turn.
    pub fn take_postponed(&mut self, now: Instant) -> Vec<Delivery> {
        let later = self.postponed.partition_point(|(at, _)| *at <= now);
        if later == 0 {
            return Vec::new();
        }
        let due = self.postponed.drain(..later).map(|(_, delivery)| delivery);
        let suspect = self.suspect;
        let has_turn = |delivery: &Delivery| {
            delivery.recovery_count < SUSPECT_AFTER || suspect == Some(delivery.place())
        };
        let (due, suspects): (Vec<Delivery>, Vec<Delivery>) = due.partition(has_turn);
        self.suspects.extend(suspects);
        due
    }

    // Suspects --------------------------------------------------------------------------------------

    pub fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    pub fn has_room_for_suspects(&self) -> bool {
        self.suspects.len() < SUSPECTS_AT_HAND
    }

    pub fn suspect(&mut self, delivery: Delivery) {
        self.suspects.push(delivery);
    }

    /// The one that is being attempted.
    pub fn current(&self) -> Option<Place> {
        self.suspect
    }

    pub fn is_current(&self, delivery: &Delivery) -> bool {
        self.suspect == Some(delivery.place())
    }

    /// The least suspicious one, when none is being attempted: if one of them is to blame, the others get away. What has
    /// expired ends by itself.
    pub fn take_suspect(&mut self, now: Timestamp) -> Option<Delivery> {
        if self.suspect.is_some() {
            return None;
        }
        let living =
            self.suspects.iter().enumerate().filter(|(_, suspect)| !suspect.is_expired(now));
        let (least, _) = living.min_by_key(|(_, suspect)| suspect.recovery_count)?;
        Some(self.suspects.swap_remove(least))
    }

    pub fn try_out(&mut self, delivery: &Delivery) {
        self.suspect = Some(delivery.place());
    }

    /// If it was the suspect, the next one may be tried.
    pub fn clear(&mut self, place: Place) {
        if self.suspect == Some(place) {
            self.suspect = None;
        }
    }

    pub fn extract_suspects(&mut self, is_wanted: impl Fn(&Delivery) -> bool) -> Vec<Delivery> {
        self.suspects.extract_if(.., |suspect| is_wanted(suspect)).collect()
    }

    // Recovery --------------------------------------------------------------------------------------

    pub fn note_unrecovered(&mut self, held: Vec<Claim>) {
        self.unrecovered.extend(held);
    }

    pub fn unrecovered(&self) -> &[Claim] {
        &self.unrecovered
    }

    pub fn extract_unrecovered(&mut self, is_wanted: impl Fn(&Claim) -> bool) -> Vec<Claim> {
        self.unrecovered.extract_if(.., |claim| is_wanted(claim)).collect()
    }

    fn recovery_at(&self) -> Option<Instant> {
        self.recovery.wake_at().filter(|_| !self.unrecovered.is_empty())
    }

    /// What is to be recovered now.
    pub fn begin_recovery(&mut self, now: Instant) -> Option<Vec<Claim>> {
        self.recovery_at().filter(|at| now >= *at)?;
        self.recovery.begin(now + HELD_PAUSE);
        Some(self.unrecovered.clone())
    }

    pub fn end_recovery(&mut self, now: Instant) {
        self.recovery.end(now);
    }
}

#[cfg(test)]
mod tests;
