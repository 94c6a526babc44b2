//! What dispatchers ask of each other and of the database about endpoints that they share.

use std::time::Duration;

use uuid::Uuid;

use crate::{
    breaker::Circuit,
    id::{EndpointId, Shard},
    rate::Rate,
};

/// A circuit that is to be saved, if it still has the version that is known.
#[derive(Debug, Clone, Copy)]
pub struct Proposal {
    pub endpoint: EndpointId,
    pub known_version: i64,
    pub circuit: Circuit,
}

/// What became of a proposal, and the circuit as it is now.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub endpoint: EndpointId,
    pub is_saved: bool,
    pub current: Circuit,
}

/// A request for tokens of a rate limit.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub endpoint: EndpointId,
    pub count: u32,
    pub rate: Rate,
}

/// Tokens, which may be used after `wait`.
#[derive(Debug, Clone, Copy)]
pub struct Granted {
    pub endpoint: EndpointId,
    pub count: u32,
    pub wait: Duration,
}

/// What changes of loans, and what is asked of others.
#[derive(Debug, Clone, Default)]
pub struct Trade {
    /// Parts of our shards, and who may use them.
    pub lent: Vec<(EndpointId, Shard, Uuid)>,
    /// What we had borrowed.
    pub returned: Vec<(EndpointId, Shard)>,
    /// How many parts of an endpoint we could use.
    pub asked: Vec<(EndpointId, usize)>,
}

/// A loan that we have to heed.
#[derive(Debug, Clone, Copy)]
pub struct Loan {
    pub endpoint: EndpointId,
    pub shard: Shard,
    /// By us, or from us.
    pub is_borrowed: bool,
}
