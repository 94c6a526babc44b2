//! Deliveries that wait: fetched when they are due, claimed, and tried.

use super::{keys::CancelState, *};

impl Dispatcher {
    pub(super) fn fetch_due(&mut self, now: Instant) {
        if !self.hands.fetch.is_due(now) {
            return;
        }
        let timestamp = self.clock.timestamp(now);
        let Wanting { endpoints: wanted, is_any_due, next } =
            self.endpoints.wanting_deferred(timestamp, DUE_ENDPOINTS, &mut self.dice);
        // Looking costs a step per endpoint that has something waiting.
        let pause = Duration::from_micros(500 + self.endpoints.waiting_count() as u64);
        let next = next.map_or(now + DEFERRED_REFRESH, |at| self.clock.instant(at));
        // What is due and has no room yet is waited for by looking.
        let latest = if is_any_due { now + pause.max(ROOM_PAUSE) } else { next };
        let again_at = next.min(latest).max(now + pause);
        self.hands.fetch.set_due(again_at);
        let shards = self.lanes.active_shards();
        if wanted.is_empty() || shards.is_empty() {
            return;
        }
        self.hands.fetch.begin(again_at);
        let (deferrals, scope) = (self.recorder.deferrals(), self.chains.scope());
        self.ask(Query::FetchDue { wanted, shards, scope, deferrals });
    }

    /// `deferrals`: flushes that may change the answer, before it was asked for.
    pub(super) fn take_due(
        &mut self,
        wanted: Vec<(EndpointId, usize)>,
        deferrals: u64,
        answer: DueAnswer,
    ) {
        let now = self.now;
        // Nothing that the answer may have missed was recorded meanwhile.
        let is_current = deferrals == self.recorder.deferrals();
        let mut counts: HashMap<EndpointId, usize> = HashMap::default();
        let mut fresh = Vec::new();
        let mut suspects: Vec<DueDelivery> = Vec::new();
        let mut is_complete = true;
        let put_down = self.hands.end_fetch(now);
        for row in answer.rows {
            *counts.entry(row.endpoint).or_default() += 1;
            let key = (row.id, row.target);
            if self.hands.has(key) || put_down.contains(&key) {
                continue;
            }
            if row.recovery_count >= SUSPECT_AFTER {
                suspects.push(row);
            } else {
                fresh.push(row);
            }
        }
        for row in suspects {
            let Some(epoch) = self.lanes.epoch(row.id.lane().shard()) else { continue };
            let suspect = Delivery::due(row, epoch);
            if self.hands.has_room_for_suspects() && self.fetch_link(&suspect, is_current) {
                self.hold(&suspect);
                self.hands.suspect(suspect);
            } else {
                is_complete = false;
            }
        }
        let next: HashMap<EndpointId, Timestamp> = answer.next.into_iter().collect();
        for (endpoint, most) in wanted {
            let is_exhausted = counts.get(&endpoint).copied().unwrap_or(0) < most;
            if is_exhausted && is_current && is_complete {
                self.endpoints.forget_deferred(endpoint);
                if let Some(at) = next.get(&endpoint) {
                    self.note_deferred(endpoint, *at);
                }
            }
        }
        let mut claimed = Vec::new();
        for row in fresh {
            let Some(epoch) = self.lanes.epoch(row.id.lane().shard()) else { continue };
            let delivery = Delivery::due(row, epoch);
            if delivery.is_expired(self.clock.timestamp(now)) {
                // It ends wherever it is in its chain, once nobody can cancel it any more.
                claimed.push(self.hold_seated(delivery));
            } else if self.fetch_link(&delivery, is_current) {
                claimed.extend(self.take_in_hand(delivery));
            } else {
                self.note_deferred(delivery.endpoint, self.clock.timestamp(now));
            }
        }
        if claimed.is_empty() {
            // All is in hand or waits for its turn: asking again at once would not help.
            self.hands.fetch.put_off(now + IDLE_FETCH_PAUSE);
        }
        self.claim_due(claimed, Look::After);
    }

    /// Takes a waiting delivery's place in the chain of its ordering key, if it has one. `false`:
    /// something is before it.
    fn fetch_link(&mut self, delivery: &Delivery, is_current: bool) -> bool {
        delivery.link().is_none_or(|link| self.chains.fetch(&link, is_current))
    }

    /// Attempts deliveries that were in the hands of a dispatcher whenever it died one at a time, the
    /// least suspicious first: if one of them is to blame, the others get away.
    pub(super) fn try_suspect(&mut self, now: Instant) {
        if !self.hands.has_suspects() {
            return;
        }
        let timestamp = self.clock.timestamp(now);
        // What has expired ends by itself: see end_expired.
        while let Some(delivery) = self.hands.take_suspect(timestamp) {
            if let Some(seated) = self.take_in_hand(delivery) {
                self.hands.try_out(&seated);
                self.claim_due(vec![seated], Look::BeforeAndAfter);
            }
        }
    }

    pub(super) fn take_due_claim(
        &mut self,
        claimed: Vec<Seated>,
        DueClaimAnswer { lost, cancels, still_waiting, unclaimed }: DueClaimAnswer,
    ) {
        let now = self.now;
        let is_refused = !lost.is_empty();
        self.lose(&lost);
        for mut seated in claimed {
            let is_kept = self.is_ours(&seated)
                && !is_refused
                && !self.is_leaving(&seated)
                && !self.is_stopping();
            let state = self.cancel_state(&seated, &cancels);
            let place = seated.place();
            let waiting = still_waiting.get(&place);
            let is_unclaimed = unclaimed.contains(&place);
            let is_held = waiting.is_some_and(|waiting| waiting.is_held);
            let is_another = waiting.is_some_and(|waiting| {
                waiting.retry_count != seated.retry_count
                    || waiting.expires_at != seated.message.terms.expires_at
            });
            if is_kept && state != CancelState::Cancelled && (is_unclaimed || is_held) {
                if is_unclaimed {
                    // The next one may be tried: should we die of it, this one is in nobody's hands.
                    self.hands.clear(place);
                }
                let delivery = self.endpoints.unseat(seated);
                self.postpone(now + HELD_PAUSE, delivery);
                continue;
            }
            if is_kept
                && state == CancelState::None
                && !is_another
                && let Some(StillWaiting { has_expired, .. }) = waiting
            {
                seated.set_claimed_at(now);
                self.take_claimed(seated, *has_expired, now);
                continue;
            }
            let delivery = self.endpoints.unseat(seated);
            match state {
                CancelState::UnderWay if is_kept => {
                    self.postpone(now + CANCEL_PAUSE, delivery);
                }
                CancelState::Cancelled if is_kept => self.settle(delivery, Settlement::Cancelled),
                // It was cancelled or has expired after it was fetched; that is on record.
                CancelState::None if is_kept && !is_another => {
                    let link = delivery.link();
                    self.let_go(delivery);
                    if let Some(link) = link {
                        self.leave_chain(&link);
                    }
                }
                // One that was brought back after it had ended is fetched as it is by now.
                _ => self.put_back(delivery),
            }
        }
    }

    /// A delivery is claimed: nobody cancels it any more. `has_expired`: by the database's clock,
    /// which others go by when they end what is not claimed.
    fn take_claimed(&mut self, seated: Seated, has_expired: bool, now: Instant) {
        let timestamp = self.clock.timestamp(now);
        if has_expired || seated.is_expired(timestamp) {
            let delivery = self.endpoints.unseat(seated);
            self.settle(delivery, Settlement::Expired);
        } else if seated.recovery_count >= SUSPECT_AFTER && !self.hands.is_current(&seated) {
            // A clock said that it has expired, and says so no more: it waits for its turn.
            let delivery = self.endpoints.unseat(seated);
            self.put_back(delivery);
        } else if let Some(run_at) = seated.scheduled_after(timestamp) {
            let delivery = self.endpoints.unseat(seated);
            self.settle(delivery, Settlement::Postponed { run_at });
        } else {
            self.admit(seated);
        }
    }
}

#[cfg(test)]
mod tests;
