//! Keeping up with endpoints, settings and the tables themselves.

use super::*;

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
            self.send(async move { Event::Settings(log.settings().await) });
        }
        let shards = self.lanes.active_shards();
        if !self.is_refreshing_deferred && now >= self.refresh_deferred_at && !shards.is_empty() {
            self.is_refreshing_deferred = true;
            let log = Arc::clone(&self.log);
            self.send(async move { Event::Waiting(log.deferred_next(&shards).await) });
        }
        if !self.is_maintaining && now >= self.maintenance_at {
            self.is_maintaining = true;
            self.maintenance_at = now + MAINTENANCE;
            let lease = Arc::clone(&self.lease);
            let (log, ledger) = (Arc::clone(&self.log), Arc::clone(&self.ledger));
            self.send(async move {
                let result = async {
                    log.discard_plans().await?;
                    ledger.discard_plans().await?;
                    lease.bury_orphans().await?;
                    lease.rotate_slots().await?;
                    lease.maintain_partitions().await
                };
                let result = result.await;
                Event::Maintained(result.map(|_| ()))
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
        let (changed, dropped) = self.endpoints.compare(versions);
        let now = Instant::now();
        for delivery in dropped {
            self.gathered.dead(&delivery, Cause::EndpointDropped, None, now);
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
        // Every endpoint that existed when they were read is known now: what has none is for one that
        // was dropped.
        for delivery in std::mem::take(&mut self.orphans_asked) {
            match self.endpoints.by_target(delivery.target) {
                Some(endpoint) => self.set_aside(&Delivery { endpoint, ..delivery }),
                None => self.gathered.dead(&delivery, Cause::EndpointDropped, None, now),
            }
        }
        // Disabled endpoints keep nothing in memory.
        let queued = self.endpoints.take_queued(|endpoint, _| !endpoint.is_enabled());
        for delivery in queued {
            self.return_unattempted(&delivery);
            self.endpoints.note_deferred(delivery.endpoint, self.clock.timestamp(now));
        }
    }

    pub(super) fn apply_settings(&mut self, rows: &[(String, String)]) {
        let settings = Settings::new(rows);
        self.endpoints.set_defaults(settings.policy);
        self.records_successes = settings.records_successes;
        let shared = self.endpoints.shared();
        if *shared.settings() != settings.transport {
            shared.apply(settings.transport);
        }
    }
}
