//! How the database is asked.

use postrider_core::hashing::{HashMap, HashSet};
use std::{collections::VecDeque, sync::Arc, time::Instant};

use postrider_core::{
    chains::{LINKS_IN_HAND, Scope},
    checkpoint::{Cancels, Checkpoint, Claim},
    failure::{Failure, chain},
    id::{EndpointId, MessageId, Shard, Target},
    lease::{Acquired, Beat, Owned},
    reader::Page,
    results::{Recorded, Results},
    sharing::{Proposal, Trade, Wanted},
    tenure::{
        Gathered, Seated, TICK_ROWS, Tenure, TickGroup,
        command::{
            Asked, Counting, DueAnswer, DueClaimAnswer, Event, Flushed, GroupTick, KnownEndpoints,
            Look, Probe, Query,
        },
    },
    tick::{Tick, Written},
    timestamp::Timestamp,
    waiting::{ExpiryPlace, Stored},
};
use postrider_store::{
    StoreError, chores::Chores, circuits::Circuits, doorbell::Doorbell, durability::Durability,
    lease::Lease, ledger::Ledger, log::Log,
};
use tracing::{debug, warn};
use uuid::Uuid;

use crate::{
    connections::{Connections, Takeover},
    telemetry::Telemetry,
    transports::Transports,
};

/// So many messages of a former owner are recovered by one statement, which stays far within its bound.
const RECOVERED_AT_ONCE: usize = 500;
/// So many endpoints are read by one statement.
const ENDPOINTS_AT_ONCE: usize = 1_000;

type Answering = std::pin::Pin<Box<dyn Future<Output = Event> + Send>>;

/// The statements of a query, and the event that is their answer.
pub fn answer(
    query: Query,
    connections: &Connections,
    transports: &Arc<Transports>,
    telemetry: &Arc<Telemetry>,
) -> Answering {
    let log = Arc::clone(&connections.log);
    let lease = Arc::clone(&connections.lease);
    let circuits = Arc::clone(&connections.circuits);
    match query {
        Query::Tick(groups) => Box::pin(tick(log, Arc::clone(&connections.durability), groups)),
        Query::ReadPage(page) => Box::pin(read_page(log, page)),
        Query::FetchDue { wanted, shards, scope, deferrals } => {
            Box::pin(fetch_due(log, wanted, shards, scope, deferrals))
        }
        Query::FetchNext(shards) => Box::pin(fetch_next(log, shards)),
        Query::FetchExpired { shards, most, after, in_hand } => {
            Box::pin(fetch_expired(log, shards, most, after, in_hand))
        }
        Query::FetchFollowers(asked, scope) => Box::pin(fetch_followers(log, asked, scope)),
        Query::SaveCheckpoint { owned, checkpoint, updates_gate, claimed } => {
            Box::pin(save_checkpoint(lease, owned, checkpoint, updates_gate, claimed))
        }
        Query::Claim { claimed, owned, claims, look } => {
            Box::pin(claim_due(lease, claimed, owned, claims, look))
        }
        Query::Flush { owned, recorded } => {
            let telemetry = Arc::clone(telemetry);
            Box::pin(flush(Arc::clone(&connections.ledger), telemetry, owned, recorded))
        }
        Query::Acquire { limit, silent, former } => {
            Box::pin(take_over(Arc::clone(&connections.takeover), limit, silent, former))
        }
        Query::Recover(owned, held) => Box::pin(recover(lease, owned, held)),
        Query::Release { owned, released, checkpoint } => {
            Box::pin(release(lease, owned, released, checkpoint))
        }
        Query::LoadVersions => Box::pin(load_versions(log)),
        Query::LoadEndpoints(versions, changed) => {
            Box::pin(load_endpoints(log, Arc::clone(transports), versions, changed))
        }
        Query::LoadSettings => Box::pin(load_settings(log)),
        Query::LoadCircuits(open) => Box::pin(load_circuits(circuits, open)),
        Query::Maintain(shards) => {
            let ledger = Arc::clone(&connections.ledger);
            Box::pin(maintain(log, ledger, Arc::clone(&connections.counting), shards))
        }
        Query::Count(counting) => Box::pin(count(Arc::clone(&connections.counting), counting)),
        Query::Retire(id) => Box::pin(retire(Arc::clone(&connections.chores), id)),
        Query::Tell(proposals, at) => Box::pin(tell(circuits, proposals, at)),
        Query::AskForProbe(probe, proposal, at) => {
            Box::pin(ask_for_probe(circuits, probe, proposal, at))
        }
        Query::TakeTokens(wanted) => Box::pin(take_tokens(circuits, wanted)),
        Query::Trade(owned, trade) => Box::pin(trade_loans(circuits, owned, trade)),
        Query::LockDoorbell(shards) => {
            Box::pin(lock_doorbell(Arc::clone(&connections.doorbell), shards))
        }
        Query::UnlockDoorbell => Box::pin(unlock_doorbell(Arc::clone(&connections.doorbell))),
    }
}

// Reading ----------------------------------------------------------------------------------------

async fn tick(log: Arc<Log>, durability: Arc<Durability>, groups: Vec<TickGroup>) -> Event {
    Event::Ticked(tick_groups(&log, &durability, groups).await.map_err(Failure::from))
}

/// Ticks all groups so that they end at one snapshot: the first one's. The others see at least that
/// much, and what is beyond it is left to the next tick. Says whether what was seen is durable.
async fn tick_groups(
    log: &Log,
    durability: &Durability,
    groups: Vec<TickGroup>,
) -> Result<(Vec<GroupTick>, bool), StoreError> {
    let mut answers = Vec::new();
    let mut seen: Option<Written> = None;
    for group in groups {
        let tick = log.tick(&group.base, &group.lanes, TICK_ROWS).await?;
        let bounds = match &tick {
            Tick::TooMany { written, .. } => {
                seen = Some(written.with(seen));
                Some(log.window(&group.base, &group.lanes).await?)
            }
            Tick::Rows { rows, written, .. } => {
                if !rows.is_empty() {
                    seen = Some(written.with(seen));
                }
                None
            }
        };
        answers.push((group, tick, bounds));
    }
    let is_durable = match seen {
        Some(written) => durability.prove(written).await?,
        None => true,
    };
    Ok((answers, is_durable))
}

async fn read_page(log: Arc<Log>, page: Page) -> Event {
    let rows = log.page(&page).await;
    Event::Paged(page, rows.map_err(Failure::from))
}

async fn fetch_due(
    log: Arc<Log>,
    wanted: Vec<(EndpointId, usize)>,
    shards: Vec<Shard>,
    scope: Scope,
    deferrals: u64,
) -> Event {
    let endpoints: Vec<EndpointId> = wanted.iter().map(|(id, _)| *id).collect();
    let answer = async {
        // In this order: what becomes due in between is in both answers, not in none.
        let next = log.deferred_after(&endpoints, &shards).await?;
        let rows = log.deferred_due(&wanted, &shards, scope).await?;
        Ok(DueAnswer { rows, next })
    };
    let answer = answer.await;
    Event::Due(wanted, deferrals, answer)
}

async fn fetch_next(log: Arc<Log>, shards: Vec<Shard>) -> Event {
    Event::Waiting(log.deferred_next(&shards).await.map_err(Failure::from))
}

async fn fetch_expired(
    log: Arc<Log>,
    shards: Vec<Shard>,
    most: usize,
    after: ExpiryPlace,
    in_hand: Vec<(MessageId, Target)>,
) -> Event {
    let page = log.deferred_expired(&shards, most, after, &in_hand).await;
    Event::Expired(page.map_err(Failure::from))
}

async fn fetch_followers(log: Arc<Log>, asked: Vec<Asked>, scope: Scope) -> Event {
    let keys: Vec<(Arc<str>, EndpointId)> =
        asked.iter().map(|(key, endpoint, _)| (Arc::clone(key), *endpoint)).collect();
    let rows = log.followers(&keys, LINKS_IN_HAND, scope).await;
    Event::Followers(asked, rows.map_err(Failure::from))
}

async fn load_versions(log: Arc<Log>) -> Event {
    let versions = log.endpoint_versions().await;
    Event::Endpoints(versions.map(|versions| (versions, vec![])).map_err(Failure::from))
}

/// Reads these endpoints, of all of which these versions are known, and opens their transports.
pub async fn endpoints(
    log: &Log,
    transports: &Transports,
    versions: Vec<(EndpointId, i64)>,
    changed: Vec<EndpointId>,
) -> Result<KnownEndpoints, StoreError> {
    let mut rows = Vec::new();
    for ids in changed.chunks(ENDPOINTS_AT_ONCE) {
        rows.extend(log.endpoints(ids).await?);
    }
    // One that changed meanwhile is found by the next comparison.
    let read: HashMap<EndpointId, i64> = rows.iter().map(|row| (row.id, row.version)).collect();
    let changed: HashSet<EndpointId> = changed.into_iter().collect();
    let versions = versions
        .into_iter()
        .filter(|(id, _)| !changed.contains(id) || read.contains_key(id))
        .map(|(id, version)| (id, read.get(&id).copied().unwrap_or(version)))
        .collect();
    Ok((versions, transports.open(rows)))
}

async fn load_endpoints(
    log: Arc<Log>,
    transports: Arc<Transports>,
    versions: Vec<(EndpointId, i64)>,
    changed: Vec<EndpointId>,
) -> Event {
    let known = endpoints(&log, &transports, versions, changed).await;
    Event::Endpoints(known.map_err(Failure::from))
}

async fn load_settings(log: Arc<Log>) -> Event {
    Event::Settings(log.shared_settings().await.map_err(Failure::from))
}

async fn retire(chores: Arc<Chores>, id: EndpointId) -> Event {
    Event::Retired(id, chores.retire(id, "gone").await.map_err(Failure::from))
}

async fn maintain(
    log: Arc<Log>,
    ledger: Arc<Ledger>,
    counting: Arc<Log>,
    shards: Vec<Shard>,
) -> Event {
    let done = async {
        log.discard_plans().await?;
        late(ledger.discard_plans().await)?;
        // For rows whose release nobody has told us of.
        late(counting.release_stored_keys(&shards).await)
    };
    let done: Result<(), StoreError> = done.await;
    Event::Maintained(done.map_err(Failure::from))
}

/// What somebody holds up, what is too much for now or fails is tried with the next maintenance. Only a lost
/// connection ends a tenure.
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

async fn count(log: Arc<Log>, counting: Counting) -> Event {
    let counts = match &counting.endpoints {
        Some(endpoints) => log.deferred_count_of(&counting.shards, endpoints).await,
        None => log.deferred_count(&counting.shards).await,
    };
    Event::Counted(counting, counts.map_err(Failure::from))
}

// Claiming and recording -------------------------------------------------------------------------

/// Writes down where everything stands; then whether what was taken with it is cancelled, before it is
/// attempted.
async fn save_checkpoint(
    lease: Arc<Lease>,
    owned: Vec<Owned>,
    checkpoint: Checkpoint,
    updates_gate: bool,
    claimed: Vec<MessageId>,
) -> Event {
    let answer = async {
        let lost = lease.save_checkpoint(&owned, &checkpoint, updates_gate).await?;
        let cancels = match claimed.is_empty() {
            true => Cancels::default(),
            false => lease.cancels(&claimed).await?,
        };
        Ok((of(&owned, &lost), cancels))
    };
    let answer: Result<_, StoreError> = answer.await;
    Event::Claimed(answer.map_err(Failure::from))
}

/// These shards, in the epochs in which they were said to be ours.
fn of(owned: &[Owned], shards: &[Shard]) -> Vec<Owned> {
    owned.iter().filter(|owned| shards.contains(&owned.shard)).copied().collect()
}

async fn claim_due(
    lease: Arc<Lease>,
    claimed: Vec<Seated>,
    owned: Vec<Owned>,
    claims: Vec<Claim>,
    look: Look,
) -> Event {
    let answer = claim(&lease, owned, claims, look).await;
    Event::DueClaimed(claimed, answer.map_err(Failure::from))
}

async fn claim(
    lease: &Lease,
    owned: Vec<Owned>,
    mut claims: Vec<Claim>,
    look: Look,
) -> Result<DueClaimAnswer, StoreError> {
    let ids: Vec<MessageId> = claims.iter().map(|claim| claim.id).collect();
    let mut unclaimed = HashSet::default();
    if look == Look::BeforeAndAfter {
        let under_way = lease.cancels(&ids).await?.under_way;
        let waiting = lease.still_waiting(&claims).await?;
        let held = claims.extract_if(.., |claim| {
            let waiting = waiting.get(&(claim.id, claim.target));
            under_way.contains(&claim.id) || waiting.is_some_and(|waiting| waiting.is_held)
        });
        unclaimed.extend(held.map(|claim| (claim.id, claim.target)));
    }
    let lost = match claims.is_empty() {
        true => vec![],
        false => of(&owned, &lease.save_claim(&owned, &claims).await?),
    };
    let cancels = lease.cancels(&ids).await?;
    let still_waiting = lease.still_waiting(&claims).await?;
    Ok(DueClaimAnswer { lost, cancels, still_waiting, unclaimed })
}

async fn flush(
    ledger: Arc<Ledger>,
    telemetry: Arc<Telemetry>,
    owned: Vec<Owned>,
    mut recorded: Box<Gathered>,
) -> Event {
    let began = Instant::now();
    let answer = record(&ledger, owned, &mut recorded, began).await;
    telemetry.flushes.observe(began.elapsed().as_secs_f64());
    let flushed = |(lost, held)| Box::new(Flushed { recorded: *recorded, held, lost });
    Event::Flushed(answer.map(flushed).map_err(Failure::from))
}

/// Records everything that belongs to shards that are not lost and that nobody else holds; returns the shards
/// that are, and what somebody holds. What was too much for the bound of a statement is recorded in halves.
async fn record(
    ledger: &Ledger,
    mut owned: Vec<Owned>,
    recorded: &mut Gathered,
    now: Instant,
) -> Result<(Vec<Owned>, Gathered), StoreError> {
    let mut all_lost: Vec<Owned> = Vec::new();
    let mut all_held = Gathered::default();
    // None while everything goes at once.
    let mut parts: VecDeque<Results> = VecDeque::new();
    loop {
        match ledger.flush(&owned, parts.front().unwrap_or(&recorded.results)).await {
            Ok(Recorded { lost, held }) if lost.is_empty() && held.is_empty() => {
                parts.pop_front();
                if parts.is_empty() {
                    return Ok((all_lost, all_held));
                }
            }
            Ok(Recorded { lost, held }) => {
                parts.iter_mut().for_each(|part| part.forget(&lost));
                if let Some(part) = parts.front_mut() {
                    recorded.leave_out(part, &held);
                }
                recorded.forget(&lost);
                all_lost.extend(of(&owned, &lost));
                owned.retain(|owned| !lost.contains(&owned.shard));
                all_held.take_back(recorded.set_aside(&held), now);
            }
            Err(error) if error.is_statement_timeout() => {
                let part = parts.pop_front().unwrap_or_else(|| recorded.results.clone());
                parts.extend(part.halves());
            }
            Err(error) => return Err(error),
        }
    }
}

async fn release(
    lease: Arc<Lease>,
    owned: Vec<Owned>,
    released: Vec<Owned>,
    checkpoint: Checkpoint,
) -> Event {
    let result = async {
        lease.save_checkpoint(&owned, &checkpoint, true).await?;
        lease.release(&released).await
    };
    let result = result.await;
    Event::Released(released, result.map_err(Failure::from))
}

async fn recover(lease: Arc<Lease>, owned: Vec<Owned>, held: Vec<Claim>) -> Event {
    let answer = lease.recover_waiting(&owned, &held).await;
    Event::Recovered(held, answer.map_err(Failure::from))
}

// Sharing ----------------------------------------------------------------------------------------

async fn load_circuits(circuits: Arc<Circuits>, open: Vec<EndpointId>) -> Event {
    Event::Circuits(circuits.known(&open).await.map_err(Failure::from))
}

async fn tell(circuits: Arc<Circuits>, proposals: Vec<Proposal>, at: Timestamp) -> Event {
    let asked = proposals.iter().map(|proposal| proposal.endpoint).collect();
    let answers = circuits.save(&proposals, at).await;
    Event::Told(asked, answers.map_err(Failure::from))
}

async fn ask_for_probe(
    circuits: Arc<Circuits>,
    probe: Box<Probe>,
    proposal: Proposal,
    at: Timestamp,
) -> Event {
    let answers = circuits.save(&[proposal], at).await;
    Event::Probing(probe, answers.map_err(Failure::from))
}

async fn take_tokens(circuits: Arc<Circuits>, wanted: Vec<Wanted>) -> Event {
    Event::Tokens(circuits.take_tokens(&wanted).await.map_err(Failure::from))
}

async fn trade_loans(circuits: Arc<Circuits>, owned: Vec<Owned>, trade: Trade) -> Event {
    let loans = circuits.trade(&owned, &trade).await;
    Event::Traded(owned, loans.map_err(Failure::from))
}

async fn lock_doorbell(doorbell: Arc<Doorbell>, shards: Vec<Shard>) -> Event {
    Event::Doorbell(doorbell.lock(&shards).await.map_err(Failure::from))
}

async fn unlock_doorbell(doorbell: Arc<Doorbell>) -> Event {
    Event::Doorbell(doorbell.unlock().await.map(|()| false).map_err(Failure::from))
}

// Taking over ------------------------------------------------------------------------------------

async fn take_over(
    takeover: Arc<Takeover>,
    limit: usize,
    silent: Vec<Beat>,
    former: Option<Tenure>,
) -> Event {
    Event::Acquired(acquire(&takeover, limit, &silent, former).await.map_err(Failure::from))
}

/// Takes shards and makes what their last owner left behind wait for us.
async fn acquire(
    Takeover { lease, log }: &Takeover,
    limit: usize,
    silent: &[Beat],
    former: Option<Tenure>,
) -> Result<(Vec<Acquired>, Stored), StoreError> {
    let taken = match lease.take_shards(limit, silent).await {
        Err(error) if error.is_lock_timeout() => {
            let ended = lease.end_stale_flushes(silent).await?;
            warn!(ended, "a takeover was held up by connections of a dead dispatcher");
            return Ok((Vec::new(), Stored::default()));
        }
        // The shards are still there at the next heartbeat.
        Err(error) if error.is_passing() => return Ok((Vec::new(), Stored::default())),
        other => other?,
    };
    // From here on they are ours: what fails ends the tenure.
    let mut acquired = lease.acquired(&taken).await?;
    for taken in &acquired {
        let spared = spared(former.as_ref(), taken.last_owner, &[taken.owned.shard]);
        let count = recover_messages(lease, log, taken, &spared).await?;
        if count > 0 {
            warn!(shard = taken.owned.shard.0, count, "recovered messages of a lost dispatcher");
        }
    }
    recover_claims(lease, &mut acquired, former.as_ref()).await?;
    let shards: Vec<Shard> = acquired.iter().map(|taken| taken.owned.shard).collect();
    log.release_stored_keys(&shards).await?;
    let stored = log.stored(&shards).await?;
    Ok((acquired, stored))
}

/// What the former tenure had in these shards and has certainly not attempted, where it is their last owner.
fn spared(
    former: Option<&Tenure>,
    last_owner: Option<Uuid>,
    shards: &[Shard],
) -> Vec<(MessageId, Target)> {
    let former = former.filter(|former| Some(former.id) == last_owner);
    let spared = former.iter().flat_map(|former| former.spared.iter().copied());
    spared.filter(|(id, _)| shards.contains(&id.lane().shard())).collect()
}

/// Makes what a shard's last owner had read and not recorded wait. Returns how much of it may have been attempted.
async fn recover_messages(
    lease: &Lease,
    log: &Log,
    taken: &Acquired,
    spared: &[(MessageId, Target)],
) -> Result<i32, StoreError> {
    let mut count = 0;
    for (lane, state) in &taken.lanes {
        let left: Vec<MessageId> = log.unfinished(*lane, state).await?;
        for part in left.chunks(RECOVERED_AT_ONCE) {
            let ids: HashSet<MessageId> = part.iter().copied().collect();
            let spared: Vec<(MessageId, Target)> =
                spared.iter().filter(|(id, _)| ids.contains(id)).copied().collect();
            count += lease.recover_messages(&[taken.owned], part, &spared).await?;
        }
    }
    Ok(count)
}

/// Uses up a retry of what last owners had claimed. All claims of one are read for it, so it is asked once for all shards
/// that it had.
async fn recover_claims(
    lease: &Lease,
    acquired: &mut [Acquired],
    former: Option<&Tenure>,
) -> Result<(), StoreError> {
    let mut owners: Vec<Uuid> = acquired.iter().filter_map(|taken| taken.last_owner).collect();
    owners.sort_unstable();
    owners.dedup();
    for owner in owners {
        let was_its = |taken: &&Acquired| taken.last_owner == Some(owner);
        let owned: Vec<Owned> = acquired.iter().filter(was_its).map(|taken| taken.owned).collect();
        let shards: Vec<Shard> = owned.iter().map(|owned| owned.shard).collect();
        let spared = spared(former, Some(owner), &shards);
        let recovered = lease.recover_claims(&owned, owner, &spared).await?;
        for taken in acquired.iter_mut().filter(|taken| taken.last_owner == Some(owner)) {
            let is_of_shard = |claim: &&Claim| claim.id.lane().shard() == taken.owned.shard;
            taken.held = recovered.held.iter().filter(is_of_shard).copied().collect();
        }
        if recovered.count > 0 {
            let count = recovered.count;
            warn!(%owner, count, "recovered claimed deliveries of a lost dispatcher");
        }
    }
    Ok(())
}
