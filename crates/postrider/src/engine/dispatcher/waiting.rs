//! Deliveries that wait: fetched when they are due, claimed, and tried.

use super::*;

impl Dispatcher {
    pub(super) fn fetch_due(&mut self, now: Instant) {
        if self.is_fetching_due || now < self.due_at {
            return;
        }
        let timestamp = self.clock.timestamp(now);
        let (wanted, next) = self.endpoints.wanting_deferred(timestamp, DUE_ENDPOINTS);
        // Looking costs a step per endpoint that has something waiting.
        let pause = Duration::from_micros(500 + self.endpoints.waiting_count() as u64);
        let next = next.map_or(now + DEFERRED_REFRESH, |at| self.clock.instant(at));
        self.due_at = if self.endpoints.waiting_count() > 0 {
            next.clamp(now + pause, now + pause.max(Duration::from_millis(20)))
        } else {
            next
        };
        let shards = self.lanes.active_shards();
        if wanted.is_empty() || shards.is_empty() {
            return;
        }
        self.is_fetching_due = true;
        let deferrals = self.deferrals;
        let log = Arc::clone(&self.log);
        self.send(async move {
            let endpoints: Vec<EndpointId> = wanted.iter().map(|(id, _)| *id).collect();
            let answer = async {
                // In this order: what becomes due in between is in both answers, not in none.
                let next = log.deferred_after(&endpoints, &shards).await?;
                let rows = log.deferred_due(&wanted, &shards).await?;
                Ok(DueAnswer { rows, next })
            };
            let answer = answer.await;
            Event::Due(wanted, deferrals, answer)
        });
    }

    /// `is_current`: nothing that the answer may have missed was recorded meanwhile.
    pub(super) fn take_due(
        &mut self,
        wanted: Vec<(EndpointId, usize)>,
        is_current: bool,
        answer: DueAnswer,
    ) {
        self.is_fetching_due = false;
        let now = Instant::now();
        let mut counts: HashMap<EndpointId, usize> = HashMap::new();
        let mut fresh = Vec::new();
        let mut suspects: Vec<DueDelivery> = Vec::new();
        let mut is_complete = true;
        let put_down = std::mem::take(&mut self.put_down);
        for row in answer.rows {
            *counts.entry(row.endpoint).or_default() += 1;
            let key = (row.id, row.target);
            if self.in_hand.contains(&key) || put_down.contains(&key) {
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
            if self.suspects.len() < SUSPECTS_AT_HAND {
                let suspect = Delivery::due(row, epoch);
                self.hold(&suspect);
                self.suspects.push(suspect);
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
                    self.endpoints.note_deferred(endpoint, *at);
                }
            }
        }
        let mut claimed = Vec::new();
        for row in fresh {
            let Some(epoch) = self.lanes.epoch(row.id.lane().shard()) else { continue };
            let delivery = Delivery::due(row, epoch);
            self.hold(&delivery);
            claimed.extend(self.take_in_hand(delivery, now));
        }
        if claimed.is_empty() {
            // All is in hand or waits for its turn: asking again at once would not help.
            self.due_at = self.due_at.max(now + IDLE_FETCH_PAUSE);
        }
        self.claim_due(claimed);
    }

    /// Decides about a waiting delivery that is in hand: returned when it is to be claimed.
    pub(super) fn take_in_hand(&mut self, delivery: Delivery, now: Instant) -> Option<Delivery> {
        let max_retries = self.endpoints.policy(delivery.endpoint).max_retries;
        // A retry that was granted stays granted when the policy allows fewer by now.
        if delivery.recovery_count > 0 && delivery.retry_count > max_retries {
            let error = "[PERMANENT] Recovered from stale processing state";
            self.gathered.dead(&delivery, Cause::Stale, Some(error.to_owned()), now);
            return None;
        }
        if self.endpoints.room(delivery.endpoint) == 0 {
            self.let_go(&delivery);
            self.endpoints.note_deferred(delivery.endpoint, self.clock.timestamp(now));
            return None;
        }
        self.endpoints.reserve(delivery.endpoint);
        Some(delivery)
    }

    /// A waiting delivery is in hand from now on: it is not fetched again.
    pub(super) fn hold(&mut self, delivery: &Delivery) {
        if self.in_hand.insert((delivery.message.id, delivery.target))
            && let Some(endpoint) = self.endpoints.get_mut(delivery.endpoint)
        {
            endpoint.deferred_in_hand += 1;
        }
    }

    /// Attempts deliveries that were in the hands of a dispatcher whenever it died one at a time, the
    /// least suspicious first: if one of them is to blame, the others get away.
    pub(super) fn try_suspect(&mut self, now: Instant) {
        while self.suspect.is_none() {
            let least = (0..self.suspects.len()).min_by_key(|i| self.suspects[*i].recovery_count);
            let Some(least) = least else { return };
            let delivery = self.suspects.swap_remove(least);
            if let Some(delivery) = self.take_in_hand(delivery, now) {
                self.suspect = Some((delivery.message.id, delivery.target));
                self.claim_due(vec![delivery]);
            }
        }
    }

    /// Suspects that have not been claimed are not ours to attempt any more.
    pub(super) fn drop_suspects(&mut self, is_dropped: impl Fn(&Delivery) -> bool) {
        let (dropped, kept): (Vec<Delivery>, Vec<Delivery>) =
            std::mem::take(&mut self.suspects).into_iter().partition(is_dropped);
        self.suspects = kept;
        for delivery in &dropped {
            self.let_go(delivery);
        }
    }

    pub(super) fn claim_due(&mut self, claimed: Vec<Delivery>) {
        if claimed.is_empty() {
            return;
        }
        let claims: Vec<Claim> = claimed
            .iter()
            .map(|delivery| Claim {
                id: delivery.message.id,
                target: delivery.target,
                retry_count: delivery.retry_count,
            })
            .collect();
        let owned = self.lanes.owned();
        let lease = Arc::clone(&self.lease);
        self.send(async move {
            let answer = lease.save_claim(&owned, &claims).await;
            Event::DueClaimed(claimed, answer)
        });
    }

    pub(super) fn take_due_claim(&mut self, claimed: Vec<Delivery>, lost: Vec<Shard>) {
        let is_refused = !lost.is_empty();
        self.lose(&lost);
        for delivery in claimed {
            let is_ours = self.lanes.epoch(delivery.message.id.lane().shard()).is_some();
            if is_refused || !is_ours || self.is_leaving(&delivery) {
                self.endpoints.cancel_reservation(delivery.endpoint);
                self.let_go(&delivery);
                self.endpoints
                    .note_deferred(delivery.endpoint, self.clock.timestamp(Instant::now()));
            } else if let Some(orphan) = self.endpoints.enqueue(delivery) {
                self.let_go(&orphan);
            }
        }
    }

    /// Whether the delivery's shard is being given up.
    pub(super) fn is_leaving(&self, delivery: &Delivery) -> bool {
        self.lanes.draining().contains(&delivery.message.id.lane().shard())
    }

    pub(super) fn let_go(&mut self, delivery: &Delivery) {
        self.forget_in_hand(delivery.message.id, delivery.target);
    }

    /// A waiting delivery is no longer in hand; if it was the suspect, the next one may be tried.
    pub(super) fn forget_in_hand(&mut self, id: MessageId, target: Target) {
        if self.suspect == Some((id, target)) {
            self.suspect = None;
        }
        if self.in_hand.remove(&(id, target))
            && let Some(endpoint) = self.endpoints.by_target(target)
            && let Some(endpoint) = self.endpoints.get_mut(endpoint)
        {
            endpoint.deferred_in_hand = endpoint.deferred_in_hand.saturating_sub(1);
        }
    }
}
