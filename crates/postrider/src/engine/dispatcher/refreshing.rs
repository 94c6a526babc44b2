//! Keeping up with endpoints, settings and the tables themselves.

use postrider_core::chains::Scope;

use super::{
    super::{chain, endpoints::Comparison},
    *,
};

impl Dispatcher {
    pub(super) fn refresh(&mut self, now: Instant) {
        if !self.is_loading_endpoints && now >= self.endpoints_at {
            self.is_loading_endpoints = true;
            self.orphans_asked.append(&mut self.orphans);
            self.endpoints_at = now + ENDPOINT_REFRESH;
            let log = Arc::clone(&self.log);
            self.send(async move {
                Event::Endpoints(log.endpoint_versions().await.map(|versions| (versions, vec![])))
            });
        }
        if !self.is_loading_settings && now >= self.settings_at {
            self.is_loading_settings = true;
            self.settings_at = now + ENDPOINT_REFRESH;
            let log = Arc::clone(&self.log);
            self.send(async move { Event::Settings(log.shared_settings().await) });
        }
        if !self.is_loading_circuits && now >= self.circuits_at {
            self.is_loading_circuits = true;
            self.circuits_at = now + ENDPOINT_REFRESH;
            let circuits = Arc::clone(&self.circuits);
            let open = self.endpoints.open();
            self.send(async move { Event::Circuits(circuits.known(&open).await) });
        }
        let shards = self.lanes.active_shards();
        if !self.is_refreshing_deferred && now >= self.refresh_deferred_at && !shards.is_empty() {
            self.is_refreshing_deferred = true;
            let (log, shards) = (Arc::clone(&self.log), shards.clone());
            self.send(async move { Event::Waiting(log.deferred_next(&shards).await) });
        }
        if !self.is_maintaining && now >= self.maintenance_at {
            self.is_maintaining = true;
            self.maintenance_at = now + MAINTENANCE;
            let (log, ledger) = (Arc::clone(&self.log), Arc::clone(&self.ledger));
            let chores = Arc::clone(&self.connections.counting);
            self.send(async move {
                let result = async {
                    log.discard_plans().await?;
                    late(ledger.discard_plans().await)?;
                    // For rows whose release nobody has told us of.
                    late(chores.release_stored_keys(&shards).await)
                };
                Event::Maintained(result.await)
            });
        }
    }

    pub(super) fn take_endpoints(
        &mut self,
        versions: &[(EndpointId, i64)],
        rows: Vec<EndpointRow>,
    ) {
        for row in rows {
            self.endpoints.apply(row);
        }
        let Comparison { changed, gone, orphans } = self.endpoints.compare(versions);
        let now = Instant::now();
        let ready = match gone.is_empty() {
            true => Vec::new(),
            false => self.chains.take_ready(|delivery| gone.contains(&delivery.endpoint)),
        };
        for delivery in orphans.into_iter().chain(ready) {
            self.gathered.dead(&delivery, Cause::EndpointDropped, None, now);
        }
        if !gone.is_empty() {
            self.wishes.add(Wish::Orphans);
        }
        for endpoint in gone {
            for delivery in self.chains.forget_endpoint(endpoint) {
                self.enqueue(delivery);
            }
            if self.chains.scope() == Scope::Global {
                self.want_all_stored(|_| true);
            }
        }
        if !changed.is_empty() {
            let log = Arc::clone(&self.log);
            let versions = versions.to_vec();
            self.send(async move {
                let rows = async {
                    let mut rows = Vec::new();
                    for ids in changed.chunks(1000) {
                        rows.extend(log.endpoints(ids).await?);
                    }
                    // One that changed meanwhile is found by the next comparison.
                    let read: HashMap<EndpointId, i64> =
                        rows.iter().map(|row| (row.id, row.version)).collect();
                    let versions = versions
                        .into_iter()
                        .filter(|(id, _)| !changed.contains(id) || read.contains_key(id))
                        .map(|(id, version)| (id, read.get(&id).copied().unwrap_or(version)))
                        .collect();
                    Ok((versions, rows))
                };
                let rows = rows.await;
                Event::Endpoints(rows)
            });
            return;
        }
        self.is_loading_endpoints = false;
        // One that was enabled has what is due.
        self.due_at = self.due_at.min(now);
        // Every endpoint that existed when they were read is known now: what has none is for one that
        // was dropped. What came in since and has one by now must not be overtaken.
        let orphans: Vec<Delivery> = std::mem::take(&mut self.orphans);
        for delivery in std::mem::take(&mut self.orphans_asked) {
            match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.give_back(Delivery { endpoint, ..delivery }),
                None => self.gathered.dead(&delivery, Cause::EndpointDropped, None, now),
            }
        }
        for delivery in orphans {
            match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.give_back(Delivery { endpoint, ..delivery }),
                None => self.orphans.push(delivery),
            }
        }
        // Disabled endpoints keep nothing in memory.
        let disabled = self.endpoints.disabled();
        if !disabled.is_empty() {
            self.return_queued(|delivery| disabled.contains(&delivery.endpoint));
        }
    }

    pub(super) fn apply_settings(&mut self, shared: SharedSettings) {
        let settings = Settings::new(&shared.settings);
        self.policies.set_settings(settings.policy);
        self.policies.set_event_types(shared.event_type_policies);
        self.endpoints.set_rules(settings.breaker);
        self.records_successes = settings.records_successes;
        self.durability.waive(settings.delivers_before_durable);
        self.set_ordering_scope(settings.ordering_scope);
        let shared = self.endpoints.shared();
        if *shared.settings() != settings.transport {
            shared.apply(settings.transport);
        }
    }
}

/// A chore that somebody holds up, that is too much for now, or that fails is tried with the next
/// maintenance. Only a lost connection ends a tenure.
fn late<T>(done: Result<T, StoreError>) -> Result<(), StoreError> {
    match done {
        Err(error) if error.is_passing() => {
            debug!(error = %chain(&error), "maintenance waits for a quiet moment");
            Ok(())
        }
        Err(error) if error.is_refusal() => {
            warn!(error = %chain(&error), "maintenance is not done");
            Ok(())
        }
        other => other.map(|_| ()),
    }
}
