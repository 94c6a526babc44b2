//! What a driver has open, without a destination: whether the dispatcher says by what to send, and when that is to be closed, in
//! the right order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Wrong;
use crate::{
    configuration::OpenedEndpoint,
    id::{Edition, EndpointId},
};

#[derive(Default)]
pub struct Transports {
    open: BTreeSet<Edition>,
    /// The latest of each endpoint, and what it was opened with.
    latest: BTreeMap<EndpointId, (Edition, Value)>,
    last: u64,
}

impl Transports {
    /// Opens what is not open yet as it is configured now, and says so in the offers.
    pub fn open(&mut self, rows: &mut [OpenedEndpoint], wrong: Wrong) {
        for (row, offer) in rows {
            let Ok(offer) = offer else { continue };
            let known = self
                .latest
                .get(&row.id)
                .filter(|(edition, config)| *config == row.config && self.open.contains(edition));
            offer.edition = match known {
                Some((edition, _)) => *edition,
                None => {
                    self.last += 1;
                    Edition(self.last)
                }
            };
            self.open.insert(offer.edition);
            let former = self.latest.insert(row.id, (offer.edition, row.config.clone()));
            if let Some((former, _)) = former
                && former != offer.edition
                && wrong == Wrong::ClosedTooSoon
            {
                self.open.remove(&former);
            }
        }
    }

    /// Closes it; whether it was open.
    pub fn close(&mut self, edition: Edition) -> bool {
        self.open.remove(&edition)
    }

    pub fn is_open(&self, edition: Edition) -> bool {
        self.open.contains(&edition)
    }
}
