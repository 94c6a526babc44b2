//! Keeping up with endpoints, settings and the tables themselves.

use super::{super::endpoints::Comparison, *};
use crate::chains::Scope;

impl Dispatcher {
    pub(super) fn refresh(&mut self, now: Instant) {
        if self.upkeep.endpoints.is_due(now) {
            self.upkeep.endpoints.begin(now + ENDPOINT_REFRESH);
            self.orphans.ask();
            self.ask(Query::LoadVersions);
        }
        if self.upkeep.settings.is_due(now) {
            self.upkeep.settings.begin(now + ENDPOINT_REFRESH);
            self.ask(Query::LoadSettings);
        }
        if self.upkeep.circuits.is_due(now) {
            self.upkeep.circuits.begin(now + ENDPOINT_REFRESH);
            self.ask(Query::LoadCircuits(self.endpoints.open()));
        }
        if self.upkeep.ahead.is_due(now) && self.lanes.has_active() {
            self.upkeep.ahead.begin(now);
            self.ask(Query::FetchNext(self.lanes.active_shards()));
        }
        if self.upkeep.maintenance.is_due(now) {
            self.upkeep.maintenance.begin(now + MAINTENANCE);
            self.ask(Query::Maintain(self.lanes.active_shards()));
        }
    }

    pub(super) fn take_endpoints(
        &mut self,
        versions: &[(EndpointId, i64)],
        rows: Vec<OpenedEndpoint>,
    ) {
        for row in rows {
            if let Some(former) = self.endpoints.apply(row) {
                self.command(Command::Close(former));
            }
        }
        let Comparison { changed, gone, retired, orphans } = self.endpoints.compare(versions);
        for edition in retired {
            self.command(Command::Close(edition));
        }
        self.figures.note_gone(&gone);
        let now = self.now;
        let ready = match gone.is_empty() {
            true => Vec::new(),
            false => self.take_ready(|delivery| gone.contains(&delivery.endpoint)),
        };
        for delivery in orphans.into_iter().chain(ready) {
            self.settle(delivery, Settlement::DROPPED);
        }
        if !gone.is_empty() {
            self.command(Command::Wish(Wish::Orphans));
        }
        for endpoint in gone {
            for seated in self.chains.forget_endpoint(endpoint) {
                self.enqueue(seated);
            }
            if self.chains.scope() == Scope::Global {
                self.want_all_stored(|_| true);
            }
        }
        if !changed.is_empty() {
            self.ask(Query::LoadEndpoints(versions.to_vec(), changed));
            return;
        }
        self.upkeep.endpoints.end(now);
        // One that was enabled has what is due.
        self.hands.fetch.hurry(now);
        // Every endpoint that existed when they were read is known now: what has none is for one that
        // was dropped. What came in since and has one by now must not be overtaken.
        let fresh = self.orphans.take_fresh();
        for delivery in self.orphans.take_asked() {
            match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.give_back(Delivery { endpoint, ..delivery }),
                None => self.settle(delivery, Settlement::DROPPED),
            }
        }
        for delivery in fresh {
            match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.give_back(Delivery { endpoint, ..delivery }),
                None => self.orphans.add(delivery),
            }
        }
        // Disabled endpoints keep nothing in memory.
        let disabled = self.endpoints.disabled();
        if !disabled.is_empty() {
            self.return_queued(|delivery| disabled.contains(&delivery.endpoint));
        }
    }

    pub(super) fn take_settings(
        &mut self,
        answer: Result<SharedSettings, Failure>,
    ) -> Result<(), Failure> {
        self.upkeep.settings.end(self.now);
        let shared = answer?;
        let settings = Settings::new(&shared.settings);
        self.policies.set_settings(settings.policy);
        self.policies.set_event_types(shared.event_type_policies);
        self.endpoints.set_rules(settings.breaker);
        self.recorder.keep_successes(settings.records_successes);
        self.command(Command::WaiveDurability(settings.delivers_before_durable));
        self.set_ordering_scope(settings.ordering_scope);
        self.command(Command::Follow(settings.transport));
        Ok(())
    }

    /// Whether an endpoint that is gone was disabled by us.
    pub(super) fn take_retired(
        &mut self,
        id: EndpointId,
        result: Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let is_retired = match result {
            Err(error) if error.is_passing() => false,
            result => result?,
        };
        if !is_retired {
            // Somebody holds it locked, or was quicker: what it is now, we read again.
            self.endpoints.doubt_version(id);
        }
        self.upkeep.endpoints.set_due(self.now);
        Ok(())
    }

    /// When something is due next, by endpoint.
    pub(super) fn take_next_due(
        &mut self,
        next: Result<Vec<(EndpointId, Timestamp)>, Failure>,
    ) -> Result<(), Failure> {
        let now = self.now;
        self.upkeep.ahead.end(now);
        self.upkeep.ahead.set_due(now + DEFERRED_REFRESH);
        let unknown = self.endpoints.note_waiting(next?);
        if !unknown.is_empty() {
            self.upkeep.endpoints.set_due(now);
        }
        self.hands.fetch.set_due(now);
        Ok(())
    }

    pub(super) fn end_maintenance(&mut self, result: Result<(), Failure>) -> Result<(), Failure> {
        self.upkeep.maintenance.end(self.now);
        result
    }
}

#[cfg(test)]
mod tests;
