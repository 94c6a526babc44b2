//! Owning: heartbeats, shards, checkpoints and what a former owner left behind.

use postrider_core::hashing::{HashMap, HashSet};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use postrider_core::{
    checkpoint::{Cancels, Checkpoint, Claim, StillWaiting},
    id::{Lane, MessageId, Shard, Target},
    lease::{Acquired, Beat, Heartbeat, Owned, Recovered, Taken},
    reader::LaneState,
    statistics::Statistics,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::{
    StoreError,
    bounded::{Bounded, Bounds},
    wire::{Timestamptz, Xid8},
};

/// Lanes that are in the same state.
#[derive(Debug, Serialize, Deserialize)]
struct Group {
    /// Empty: all that no other group names. Most lanes are in one state, so a checkpoint is short.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    lanes: Vec<i16>,
    // Not flattened: serde cannot read maps with numbers for keys through `flatten`.
    state: LaneState,
}

/// The rows of `postrider.cancel_bucket`.
const CANCEL_BUCKETS: i64 = 1024;
/// So many cancelled deliveries are remembered. Of more we ask each time.
const CANCELS_KNOWN: usize = 1_000;

/// What is known of cancellations without asking.
struct KnownCancels {
    /// For each bucket, how many cancellations had begun when none was under way in it.
    free_at: Vec<i64>,
    /// What was cancelled by then, and not read yet. `None`: too much to be remembered.
    committed: Option<Arc<HashSet<(MessageId, Target)>>>,
}

/// The row of `postrider.cancel_bucket` that a cancellation of the message locks.
fn cancel_bucket(id: MessageId) -> i16 {
    (id.sequence_number() & (CANCEL_BUCKETS - 1)) as i16
}

/// What keeps a dispatcher's lease: nothing else runs on its connection.
pub struct Heart {
    id: Uuid,
    client: Bounded,
    heartbeat: Statement,
}

impl Heart {
    /// `id` is new for every tenure, so that nobody is taken for another.
    pub async fn open(client: impl Into<Bounded>, id: Uuid) -> Result<Heart, StoreError> {
        let client: Bounded = client.into();
        let heartbeat = client
            .once()
            .prepare(include_str!("../../../sql/queries/dispatch/heartbeat.sql"))
            .await
            .map_err(StoreError::to("prepare"))?;
        Ok(Heart { id, client, heartbeat })
    }

    pub fn id(&self) -> Uuid {
        self.id
    }

    /// How long a heartbeat may take from now on.
    pub async fn bound(&self, bounds: Bounds) -> Result<(), StoreError> {
        self.client.bound(bounds).await
    }

    pub async fn register(&self, host: &str, pid: i32, version: &str) -> Result<(), StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/register_dispatcher.sql");
        self.client
            .execute(sql, &[&self.id, &host, &pid, &version])
            .await
            .map_err(StoreError::to("register the dispatcher"))?;
        Ok(())
    }

    /// Extends the lease, if it has not run out. `silent`: whom we take for dead.
    pub async fn heartbeat(
        &self,
        statistics: &Statistics,
        silent: &[Beat],
    ) -> Result<Heartbeat, StoreError> {
        let statistics = serde_json::to_value(statistics).unwrap_or_default();
        let (silent_ids, silent_seqs) = places(silent);
        let asked = SystemTime::now();
        let row = self
            .client
            .query_one(&self.heartbeat, &[&self.id, &statistics, &silent_ids, &silent_seqs])
            .await
            .map_err(StoreError::to("renew the lease"))?;
        let answered = SystemTime::now();
        let now_us = row.get("now_us");
        let shards: Vec<i16> = row.get("shards");
        let epochs: Vec<i64> = row.get("epochs");
        let other_ids: Vec<Uuid> = row.get("other_ids");
        let other_seqs: Vec<i64> = row.get("other_seqs");
        let other_leases: Vec<i64> = row.get("other_lease_ms");
        let others = std::iter::zip(other_ids, std::iter::zip(other_seqs, other_leases));
        let beat = |(dispatcher, (seq, lease_ms)): (Uuid, (i64, i64))| Beat {
            dispatcher,
            seq,
            lease: Duration::from_millis(lease_ms.unsigned_abs()),
        };
        let count = |name: &str| row.get::<_, i32>(name).unsigned_abs() as usize;
        Ok(Heartbeat {
            is_alive: row.get("is_alive"),
            lease: Duration::from_millis(row.get::<_, i64>("lease_ms").unsigned_abs()),
            share: count("share"),
            takeable_count: count("takeable_count"),
            owned: shards
                .into_iter()
                .zip(epochs)
                .map(|(shard, epoch)| Owned { shard: Shard(shard), epoch })
                .collect(),
            clock_offset_ms: ((unix_us(asked) + unix_us(answered)) / 2 - now_us) / 1000,
            newest_number: row.get("sequence_floor"),
            now_us,
            others: others.map(beat).collect(),
            silent: silent.to_vec(),
        })
    }
}

/// One dispatcher's dealings with `postrider.shard` and what belongs to it.
pub struct Lease {
    id: Uuid,
    client: Bounded,
    save_checkpoint: Statement,
    save_claim: Statement,
    cancel_number: Statement,
    free_cancel_buckets: Statement,
    free_of_cancels: Statement,
    cancellations: Statement,
    cancellations_of: Statement,
    still_waiting: Statement,
    known_cancels: Mutex<KnownCancels>,
}

impl Lease {
    /// Prepares the queries; `id` is the dispatcher's.
    pub async fn open(client: impl Into<Bounded>, id: Uuid) -> Result<Lease, StoreError> {
        let client: Bounded = client.into();
        let prepare =
            async |sql| client.once().prepare(sql).await.map_err(StoreError::to("prepare"));
        Ok(Lease {
            id,
            save_checkpoint: prepare(include_str!(
                "../../../sql/queries/dispatch/save_checkpoint.sql"
            ))
            .await?,
            save_claim: prepare(include_str!("../../../sql/queries/dispatch/save_claim.sql"))
                .await?,
            cancel_number: prepare(include_str!("../../../sql/queries/dispatch/cancel_number.sql"))
                .await?,
            free_cancel_buckets: prepare(include_str!(
                "../../../sql/queries/dispatch/free_cancel_buckets.sql"
            ))
            .await?,
            free_of_cancels: prepare(include_str!(
                "../../../sql/queries/dispatch/free_of_cancels.sql"
            ))
            .await?,
            cancellations: prepare(include_str!("../../../sql/queries/dispatch/cancellations.sql"))
                .await?,
            cancellations_of: prepare(include_str!(
                "../../../sql/queries/dispatch/cancellations_of.sql"
            ))
            .await?,
            still_waiting: prepare(include_str!("../../../sql/queries/dispatch/still_waiting.sql"))
                .await?,
            known_cancels: Mutex::new(KnownCancels { free_at: Vec::new(), committed: None }),
            client,
        })
    }

    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Ends the lease of a dispatcher at once.
    pub async fn unregister(&self, id: Uuid) -> Result<(), StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/unregister_dispatcher.sql");
        self.client.execute(sql, &[&id]).await.map_err(StoreError::to("end the lease"))?;
        Ok(())
    }

    /// Takes up to `limit` shards that nobody holds. `silent`: whom we take for dead. Until its answer has left the
    /// server nobody else writes or takes anything, so the answer is short.
    pub async fn take_shards(
        &self,
        limit: usize,
        silent: &[Beat],
    ) -> Result<Vec<Taken>, StoreError> {
        let (silent_ids, silent_seqs) = places(silent);
        let sql = include_str!("../../../sql/queries/dispatch/take_shards.sql");
        // One that waits is held up by somebody who may have to be ended.
        let rows = self
            .client
            .try_query(sql, &[&self.id, &(limit as i32), &silent_ids, &silent_seqs])
            .await
            .map_err(StoreError::to("take shards"))?;
        let taken = |row: &tokio_postgres::Row| Taken {
            owned: Owned { shard: Shard(row.get("shard")), epoch: row.get("epoch") },
            last_owner: row.get("last_owner"),
        };
        Ok(rows.iter().map(taken).collect())
    }

    /// How these shards were left. Whoever has taken one from us since may have written a checkpoint, too: then
    /// this one is not ours to record anything of, and is lost with the first try.
    pub async fn acquired(&self, taken: &[Taken]) -> Result<Vec<Acquired>, StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/newest_checkpoints.sql");
        let shards: Vec<i16> = taken.iter().map(|taken| taken.owned.shard.0).collect();
        let rows = self
            .client
            .query(sql, &[&shards])
            .await
            .map_err(StoreError::to("read how shards were left"))?;
        let mut left: HashMap<Shard, (BTreeMap<Lane, LaneState>, i64)> = HashMap::default();
        for row in &rows {
            let groups = groups_in(row.get("state"))?;
            let shards: Vec<i16> = row.get("shards");
            let backlogs: Vec<Option<i64>> = row.get("backlogs");
            for (shard, backlog) in std::iter::zip(shards, backlogs) {
                let lanes = lanes_of(Shard(shard), &groups);
                left.insert(Shard(shard), (lanes, backlog.unwrap_or(0)));
            }
        }
        let acquired = taken.iter().map(|Taken { owned, last_owner }| {
            let nothing = || (lanes_of(owned.shard, &[]), 0);
            let (lanes, backlog) = left.remove(&owned.shard).unwrap_or_else(nothing);
            let (owned, last_owner) = (*owned, *last_owner);
            Acquired { owned, lanes, backlog, last_owner, held: Vec::new() }
        });
        Ok(acquired.collect())
    }

    /// Ends connections of dead dispatchers that hold up a takeover.
    pub async fn end_stale_flushes(&self, silent: &[Beat]) -> Result<i32, StoreError> {
        let (silent_ids, silent_seqs) = places(silent);
        let sql = include_str!("../../../sql/queries/dispatch/end_stale_flushes.sql");
        let row = self
            .client
            .query_one(sql, &[&silent_ids, &silent_seqs])
            .await
            .map_err(StoreError::to("end connections of dead dispatchers"))?;
        Ok(row.get("answer"))
    }

    pub async fn release(&self, owned: &[Owned]) -> Result<(), StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/release_shards.sql");
        let (shards, epochs) = split(owned);
        self.client
            .execute(sql, &[&self.id, &shards, &epochs])
            .await
            .map_err(StoreError::to("release shards"))?;
        Ok(())
    }

    /// Writes down where all owned lanes stand, and how much is not finished in each shard. Returns
    /// the shards that are lost; then nothing was written. `updates_gate`: senders shall know.
    pub async fn save_checkpoint(
        &self,
        owned: &[Owned],
        checkpoint: &Checkpoint,
        updates_gate: bool,
    ) -> Result<Vec<Shard>, StoreError> {
        let (shards, epochs) = split(owned);
        let state = serde_json::to_value(groups_of(&checkpoint.lanes))
            .expect("whatever the state of lanes is, it is JSON");
        let row = self
            .client
            .query_one(
                &self.save_checkpoint,
                &[
                    &self.id,
                    &shards,
                    &epochs,
                    &Xid8(checkpoint.done_xmin),
                    &checkpoint.backlogs,
                    &state,
                    &updates_gate,
                ],
            )
            .await
            .map_err(StoreError::to("write a checkpoint"))?;
        Ok(shards_of(&row))
    }

    /// Writes down which waiting deliveries are about to be attempted.
    pub async fn save_claim(
        &self,
        owned: &[Owned],
        claims: &[Claim],
    ) -> Result<Vec<Shard>, StoreError> {
        let (shards, epochs) = split(owned);
        let ids: Vec<i64> = claims.iter().map(|claim| claim.id.0).collect();
        let targets: Vec<i32> = claims.iter().map(|claim| claim.target.0).collect();
        let retry_counts: Vec<i32> = claims.iter().map(|claim| claim.retry_count as i32).collect();
        let row = self
            .client
            .query_one(
                &self.save_claim,
                &[&self.id, &shards, &epochs, &ids, &targets, &retry_counts],
            )
            .await
            .map_err(StoreError::to("claim waiting deliveries"))?;
        Ok(shards_of(&row))
    }

    /// What was cancelled of what has just been claimed. To be asked after the claim is written and
    /// before anything of it is attempted. While nobody cancels, it is a look at a sequence.
    pub async fn cancels(&self, claimed: &[MessageId]) -> Result<Cancels, StoreError> {
        let failed = StoreError::to("look for cancellations");
        let mut known = self.known_cancels.lock().await;
        let row = self.client.query_one(&self.cancel_number, &[]).await.map_err(&failed)?;
        let number: i64 = row.get("number");
        let is_first = known.free_at.is_empty();
        if is_first {
            known.free_at = vec![-1; CANCEL_BUCKETS as usize];
        }
        let is_free = |known: &KnownCancels, bucket: i16| known.free_at[bucket as usize] == number;
        let asked: BTreeSet<i16> = match is_first {
            true => (0..CANCEL_BUCKETS as i16).collect(),
            false => claimed.iter().map(|id| cancel_bucket(*id)).collect(),
        };
        let asked: Vec<i16> =
            asked.into_iter().filter(|bucket| !is_free(&known, *bucket)).collect();
        let mut under_way = HashSet::default();
        if !asked.is_empty() {
            // In this order: what is not under way any more is committed and seen, or rolled back.
            let rows =
                self.client.query(&self.free_cancel_buckets, &[&asked]).await.map_err(&failed)?;
            let free: HashSet<i16> = rows.iter().map(|row| row.get("bucket")).collect();
            let is_doubtful = |id: &&MessageId| {
                let bucket = cancel_bucket(**id);
                !is_free(&known, bucket) && !free.contains(&bucket)
            };
            under_way = claimed.iter().filter(is_doubtful).copied().collect();
            if !under_way.is_empty() {
                let ids: Vec<i64> = under_way.iter().map(|id| id.0).collect();
                let rows =
                    self.client.query(&self.free_of_cancels, &[&ids]).await.map_err(&failed)?;
                for row in rows {
                    under_way.remove(&MessageId(row.get("id")));
                }
            }
            let most = CANCELS_KNOWN as i64 + 1;
            let rows = self.client.query(&self.cancellations, &[&most]).await.map_err(&failed)?;
            known.committed = (rows.len() <= CANCELS_KNOWN).then(|| Arc::new(deliveries_of(&rows)));
            for bucket in free {
                known.free_at[bucket as usize] = number;
            }
        }
        let committed = match &known.committed {
            Some(committed) => Arc::clone(committed),
            None => {
                let ids: Vec<i64> = claimed.iter().map(|id| id.0).collect();
                let rows =
                    self.client.query(&self.cancellations_of, &[&ids]).await.map_err(&failed)?;
                Arc::new(deliveries_of(&rows))
            }
        };
        Ok(Cancels { committed, under_way })
    }

    /// Which of these deliveries still wait: one that was fetched, and cancelled or ended as expired
    /// before it was claimed, does not. To be asked after [`Self::cancels`].
    pub async fn still_waiting(
        &self,
        claims: &[Claim],
    ) -> Result<HashMap<(MessageId, Target), StillWaiting>, StoreError> {
        let ids: Vec<i64> = claims.iter().map(|claim| claim.id.0).collect();
        let targets: Vec<i32> = claims.iter().map(|claim| claim.target.0).collect();
        let rows = self
            .client
            .query(&self.still_waiting, &[&ids, &targets])
            .await
            .map_err(StoreError::to("look for waiting deliveries"))?;
        let waiting = |row: &tokio_postgres::Row| {
            let place = (MessageId(row.get("message_id")), Target(row.get("target")));
            let (has_expired, is_held) = (row.get("has_expired"), row.get("is_held"));
            let retry_count = row.get::<_, i32>("retry_count") as u32;
            let expires_at = row.get::<_, Option<_>>("expires_at").map(|Timestamptz(at)| at);
            (place, StillWaiting { has_expired, is_held, retry_count, expires_at })
        };
        Ok(rows.iter().map(waiting).collect())
    }

    /// Makes messages that a former owner had in hand waiting deliveries again. Those that are spared were not
    /// attempted.
    pub async fn recover_messages(
        &self,
        owned: &[Owned],
        ids: &[MessageId],
        spared: &[(MessageId, Target)],
    ) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/recover_messages.sql");
        let (shards, epochs) = split(owned);
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let (spared_ids, spared_targets) = numbers(spared);
        let row = self
            .client
            .query_one(sql, &[&self.id, &shards, &epochs, &ids, &spared_ids, &spared_targets])
            .await
            .map_err(StoreError::to("recover messages"))?;
        Ok(row.get(0))
    }

    /// Uses up a retry of waiting deliveries that a former owner had in hand, except the spared.
    pub async fn recover_claims(
        &self,
        owned: &[Owned],
        last_owner: Uuid,
        spared: &[(MessageId, Target)],
    ) -> Result<Recovered, StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/recover_claims.sql");
        let (shards, epochs) = split(owned);
        let (spared_ids, spared_targets) = numbers(spared);
        let row = self
            .client
            .query_one(
                sql,
                &[&self.id, &shards, &epochs, &last_owner, &spared_ids, &spared_targets],
            )
            .await
            .map_err(StoreError::to("recover claimed deliveries"))?;
        Ok(recovered(&row))
    }

    /// The same for those of them that somebody else had locked.
    pub async fn recover_waiting(
        &self,
        owned: &[Owned],
        held: &[Claim],
    ) -> Result<Recovered, StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/recover_waiting.sql");
        let (shards, epochs) = split(owned);
        let ids: Vec<i64> = held.iter().map(|claim| claim.id.0).collect();
        let targets: Vec<i32> = held.iter().map(|claim| claim.target.0).collect();
        let retry_counts: Vec<i32> = held.iter().map(|claim| claim.retry_count as i32).collect();
        let row = self
            .client
            .query_one(sql, &[&self.id, &shards, &epochs, &ids, &targets, &retry_counts])
            .await
            .map_err(StoreError::to("recover claimed deliveries"))?;
        Ok(recovered(&row))
    }
}

/// Gives a session the settings of a dispatcher.
pub async fn prepare_session(client: &Client) -> Result<(), StoreError> {
    let sql = include_str!("../../../sql/queries/dispatch/dispatcher_session.sql");
    client.batch_execute(sql).await.map_err(StoreError::to("prepare the session"))
}

/// How long a lease is.
pub async fn lease_length(client: &Client) -> Result<Duration, StoreError> {
    let sql = include_str!("../../../sql/queries/dispatch/lease_length.sql");
    let row = client.query_one(sql, &[]).await.map_err(StoreError::to("ask for the lease"))?;
    Ok(Duration::from_millis(row.get::<_, i64>("lease_ms").unsigned_abs()))
}

/// Whether the server is a standby, which takes neither leases nor results.
pub async fn is_standby(client: &Client) -> Result<bool, StoreError> {
    let sql = include_str!("../../../sql/queries/dispatch/is_standby.sql");
    let action = "ask whether the server is a standby";
    let row = client.query_one(sql, &[]).await.map_err(StoreError::to(action))?;
    Ok(row.get("is_standby"))
}

/// Makes sure that this database has written the log itself, or has adopted it.
///
/// # Errors
///
/// [`StoreError::Foreign`], and when the question cannot be asked.
pub async fn confirm_origin(client: &Client) -> Result<(), StoreError> {
    let sql = include_str!("../../../sql/queries/restore/confirm_origin.sql");
    let action = "ask where the log is from";
    let row = client.query_one(sql, &[]).await.map_err(StoreError::to(action))?;
    match row.get("sign") {
        Some(sign) => Err(StoreError::Foreign { database: row.get("database"), sign }),
        None => Ok(()),
    }
}

/// Whether applications may prepare transactions, which must not notify.
pub async fn may_prepare(client: &Client) -> Result<bool, StoreError> {
    let sql = include_str!("../../../sql/queries/dispatch/may_prepare.sql");
    let action = "read the server's settings";
    let row = client.query_one(sql, &[]).await.map_err(StoreError::to(action))?;
    Ok(row.get("may_prepare"))
}

/// By this host's clock.
fn unix_us(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

pub(super) fn split(owned: &[Owned]) -> (Vec<i16>, Vec<i64>) {
    owned.iter().map(|owned| (owned.shard.0, owned.epoch)).unzip()
}

/// Deliveries, as two columns.
fn numbers(places: &[(MessageId, Target)]) -> (Vec<i64>, Vec<i32>) {
    places.iter().map(|(id, target)| (id.0, target.0)).unzip()
}

fn places(beats: &[Beat]) -> (Vec<Uuid>, Vec<i64>) {
    beats.iter().map(|beat| (beat.dispatcher, beat.seq)).unzip()
}

fn deliveries_of(rows: &[tokio_postgres::Row]) -> HashSet<(MessageId, Target)> {
    rows.iter().map(|row| (MessageId(row.get("message_id")), Target(row.get("target")))).collect()
}

fn shards_of(row: &tokio_postgres::Row) -> Vec<Shard> {
    row.get::<_, Vec<i16>>(0).into_iter().map(Shard).collect()
}

/// The columns of `postrider.recover_waiting`.
fn recovered(row: &tokio_postgres::Row) -> Recovered {
    let ids: Vec<i64> = row.get("held_ids");
    let targets: Vec<i32> = row.get("held_targets");
    let retry_counts: Vec<i32> = row.get("held_retry_counts");
    let held = std::iter::zip(ids, std::iter::zip(targets, retry_counts));
    let claim = |(id, (target, retry_count)): (i64, (i32, i32))| Claim {
        id: MessageId(id),
        target: Target(target),
        retry_count: retry_count as u32,
    };
    Recovered { count: row.get("recovered"), held: held.map(claim).collect() }
}

fn groups_of(lanes: &[(Lane, LaneState)]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (lane, state) in lanes {
        match groups.iter_mut().find(|group| group.state == *state) {
            Some(group) => group.lanes.push(lane.0),
            None => groups.push(Group { lanes: vec![lane.0], state: state.clone() }),
        }
    }
    if let Some(largest) = groups.iter_mut().max_by_key(|group| group.lanes.len()) {
        largest.lanes.clear();
    }
    groups
}

fn groups_in(state: serde_json::Value) -> Result<Vec<Group>, StoreError> {
    serde_json::from_value(state)
        .map_err(|_| StoreError::Unexpected("a checkpoint that cannot be read"))
}

/// Without any groups, nobody has read the shard.
fn lanes_of(shard: Shard, groups: &[Group]) -> BTreeMap<Lane, LaneState> {
    let common = groups.iter().find(|group| group.lanes.is_empty());
    let common = common.map(|group| group.state.clone()).unwrap_or_default();
    let mut lanes: BTreeMap<Lane, LaneState> =
        shard.lanes().map(|lane| (lane, common.clone())).collect();
    for group in groups {
        for lane in &group.lanes {
            if let Some(state) = lanes.get_mut(&Lane(*lane)) {
                *state = group.state.clone();
            }
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use postrider_core::{
        position::Position,
        reader::{Lag, LaneReader, Left},
    };

    use super::*;

    const GOLDEN: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../postrider/testdata/checkpoint.json");

    /// SQL reads it, too: `tests/cancelling.rs` asks it what it knows of the same file.
    #[test]
    fn a_checkpoint_is_written_as_the_golden_one() {
        let at = |base: &str| Position::at(base.parse().unwrap());
        let within = |id| {
            Position::within("4:4:".parse().unwrap(), "9:20:9,12".parse().unwrap(), id, 99_999)
        };
        let finished = at("20:24:21");
        let common = LaneState {
            tail: finished.clone(),
            lag: None,
            done: vec![finished],
            open: Some(Vec::new()),
        };
        let lag = Lag {
            position: at("4:4:"),
            skipped: [(Target(7), within(3_126))].into(),
            remaining: [(Target(7), Left { count: 2, oldest: 123 })].into(),
            spares_expiring: true,
            last: Some(5_174),
        };
        let behind = LaneState {
            tail: within(5_174),
            lag: Some(lag),
            done: vec![at("4:4:")],
            open: Some(vec![(4_150, 5_174)]),
        };
        let state = |lane: Lane| if lane == Lane(54) { behind.clone() } else { common.clone() };
        let lanes: Vec<_> = Shard(3).lanes().map(|lane| (lane, state(lane))).collect();
        let written = serde_json::to_value(groups_of(&lanes)).unwrap();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(GOLDEN, format!("{written:#}\n")).unwrap();
        }
        let golden = std::fs::read_to_string(GOLDEN).unwrap();
        let golden: serde_json::Value = serde_json::from_str(&golden).unwrap();
        assert_eq!(written, golden, "UPDATE=1 writes it");
        assert_eq!(lanes_of(Shard(3), &groups_in(golden).unwrap()), lanes.into_iter().collect());
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_written() {
        let shard = Shard(3);
        let mut lanes: Vec<(Lane, LaneState)> =
            shard.lanes().map(|lane| (lane, LaneState::new())).collect();
        let (lane, state) = &mut lanes[4];
        let mut reader = LaneReader::new(*lane, LaneState::new());
        let (base, top) = ("4:4:".parse().unwrap(), "9:20:9,12".parse().unwrap());
        reader.open_window(postrider_core::reader::Which::Tail, top, 77, 99_999);
        let top = "9:20:9,12".parse().unwrap();
        assert!(reader.skip(Target(7), &base, &top, MessageId(5_000), 123));
        *state = reader.state();
        assert!(state.lag.is_some());

        let json = serde_json::to_value(groups_of(&lanes)).unwrap();
        let read = lanes_of(shard, &groups_in(json).unwrap());
        assert_eq!(read, lanes.into_iter().collect());
    }
}
