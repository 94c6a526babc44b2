//! The open transports of a tenure, by edition: an endpoint keeps its own, and its connections with it, for as
//! long as its protocol and config stay as they are.
//!
//! Which of them is used is decided by the dispatcher. It says when nothing goes by one any more: what is under way by
//! it then ends in order, for whoever sends has it, too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postrider_core::{
    configuration::{EndpointRow, OpenedEndpoint},
    hashing::HashMap,
    id::{Edition, EndpointId},
    offer::Offer,
    transport_settings::Settings,
};
use postrider_transport::{self as transport, Shared, Transport};
use ring::digest::{SHA256, digest};

pub struct Transports {
    shared: Arc<Shared>,
    opened: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    by_edition: HashMap<Edition, Open>,
    /// The latest edition of each endpoint.
    latest: HashMap<EndpointId, Edition>,
    last: u64,
}

/// An open transport, and what it was opened with.
struct Open {
    endpoint: EndpointId,
    fingerprint: Fingerprint,
    transport: Arc<dyn Transport>,
}

/// What tells protocols and configs apart: a digest, so that no second copy of the config is kept.
type Fingerprint = [u8; 32];

impl Transports {
    pub fn new(shared: Arc<Shared>) -> Transports {
        Transports { shared, opened: Mutex::default() }
    }

    /// Opens what is not open yet as it is configured now.
    pub fn open(&self, rows: Vec<EndpointRow>) -> Vec<OpenedEndpoint> {
        let open = |row: EndpointRow| {
            let offer = self.open_one(&row);
            (row, offer)
        };
        rows.into_iter().map(open).collect()
    }

    fn open_one(&self, row: &EndpointRow) -> Result<Offer, String> {
        let fingerprint = fingerprint(row);
        if let Some(offer) = self.opened().find(row.id, &fingerprint) {
            return Ok(offer);
        }
        // Outside of the lock: whoever sends does not wait until files are read and keys are parsed.
        let transport = transport::open(&row.protocol, &row.config, &self.shared)
            .map_err(|error| error.to_string());
        let mut opened = self.opened();
        // Whoever comes back to a config gets another edition: the former may be on its way out.
        opened.latest.remove(&row.id);
        let transport = transport?;
        opened.last += 1;
        let edition = Edition(opened.last);
        let offer = offer(edition, transport.as_ref());
        opened.latest.insert(row.id, edition);
        opened.by_edition.insert(edition, Open { endpoint: row.id, fingerprint, transport });
        Ok(offer)
    }

    /// What messages go by; `None`: it was closed, or never open.
    pub fn get(&self, edition: Edition) -> Option<Arc<dyn Transport>> {
        self.opened().by_edition.get(&edition).map(|open| Arc::clone(&open.transport))
    }

    /// Nothing goes by it any more.
    pub fn close(&self, edition: Edition) {
        // What it holds is let go of after the lock.
        let closed = self.opened().close(edition);
        drop(closed);
    }

    /// Every attempt that begins from now on follows these.
    pub fn follow(&self, settings: Settings) {
        if *self.shared.settings() != settings {
            self.shared.apply(settings);
        }
    }

    fn opened(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    /// The latest of the endpoint, if that was opened with the same.
    fn find(&self, id: EndpointId, fingerprint: &Fingerprint) -> Option<Offer> {
        let edition = *self.latest.get(&id)?;
        let open = self.by_edition.get(&edition)?;
        (open.fingerprint == *fingerprint).then(|| offer(edition, open.transport.as_ref()))
    }

    fn close(&mut self, edition: Edition) -> Option<Open> {
        let closed = self.by_edition.remove(&edition)?;
        if self.latest.get(&closed.endpoint) == Some(&edition) {
            self.latest.remove(&closed.endpoint);
        }
        Some(closed)
    }
}

fn offer(edition: Edition, transport: &dyn Transport) -> Offer {
    Offer {
        edition,
        flow: transport.flow(),
        batch_limit: transport.batch_limit(),
        is_disabled_when_gone: transport.is_disabled_when_gone(),
    }
}

fn fingerprint(row: &EndpointRow) -> Fingerprint {
    let text = format!("{}\0{}", row.protocol, row.config);
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use postrider_transport::PROTOCOLS;

    fn row(id: i32, concurrency: usize) -> EndpointRow {
        EndpointRow {
            id: EndpointId(id),
            name: "orders".to_owned(),
            protocol: PROTOCOLS[0].name.to_owned(),
            config: json!({ "concurrency": concurrency }),
            retry_policy: None,
            target_policies: Vec::new(),
            is_enabled: true,
            is_paused: false,
            targets: Vec::new(),
            version: 1,
        }
    }

    #[test]
    fn an_edit_that_leaves_protocol_and_config_as_they_are_keeps_the_transport() {
        let transports = Transports::new(Shared::new(Settings::default()));
        let open = |row| transports.open(vec![row]).remove(0).1;
        let first = open(row(1, 3)).unwrap();
        assert_eq!(first.flow.concurrency, 3);
        let kept = transports.get(first.edition).unwrap();
        let paused = EndpointRow { is_paused: true, version: 2, ..row(1, 3) };
        assert_eq!(open(paused), Ok(first));
        assert!(Arc::ptr_eq(&kept, &transports.get(first.edition).unwrap()));
        // The former one is there until nothing goes by it.
        let second = open(row(1, 4)).unwrap();
        assert!(second.edition > first.edition);
        assert!(transports.get(first.edition).is_some());
        transports.close(first.edition);
        assert!(transports.get(first.edition).is_none());
        assert_eq!(open(row(1, 4)), Ok(second), "it is not the one that was closed");
        // Back to a config is another edition, and so is one after a config that cannot be used.
        let third = open(row(1, 3)).unwrap();
        assert!(third.edition > second.edition);
        assert!(open(row(1, 0)).unwrap_err().contains("concurrency"));
        assert!(open(row(1, 3)).unwrap().edition > third.edition);
        let other = open(row(2, 3)).unwrap().edition;
        assert_ne!(other, third.edition);
        // One that is gone and comes back.
        transports.close(other);
        assert!(open(row(2, 3)).unwrap().edition > other);
    }
}
