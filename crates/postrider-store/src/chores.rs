//! Chores: what keeps the tables level and takes jobs and replays further. None of it needs a lease: several
//! dispatchers may do it at once, and it may come late.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use postrider_core::{caretaker::MadeTick, id::EndpointId};

use super::{StoreError, bounded::Bounded};

/// A connection for chores.
pub struct Chores {
    client: Bounded,
    /// The message of the last idempotency key that was looked at.
    rechecked: AtomicI64,
}

impl Chores {
    pub fn new(client: impl Into<Bounded>) -> Chores {
        Chores { client: client.into(), rechecked: AtomicI64::new(0) }
    }

    /// Forgets dispatchers whose lease has run out and who own nothing.
    pub async fn forget_dispatchers(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/dispatch/forget_dispatchers.sql");
        self.answer(sql, "forget dispatchers").await
    }

    /// Makes jobs that give up what waits for endpoints that were dropped.
    pub async fn bury_orphans(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/dead_letters/bury_orphans.sql");
        self.answer(sql, "look for deliveries to dropped endpoints").await
    }

    /// Disables an endpoint, and says why in the event log.
    pub async fn retire(&self, endpoint: EndpointId, reason: &str) -> Result<bool, StoreError> {
        let sql = include_str!("../../../sql/queries/endpoints/retire_endpoint.sql");
        let row = self
            .client
            .query_one(sql, &[&endpoint.0, &reason])
            .await
            .map_err(StoreError::to("disable an endpoint"))?;
        Ok(row.get("answer"))
    }

    /// Disables the endpoints that have failed for as long as the settings allow.
    pub async fn retire_failing(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/endpoints/retire_failing_endpoints.sql");
        let row = self
            .client
            .query_one(sql, &[])
            .await
            .map_err(StoreError::to("disable endpoints that keep failing"))?;
        Ok(row.get("answer"))
    }

    /// Keys whose time is over sign no more; returns for how many endpoints.
    pub async fn retire_signing_keys(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/endpoints/retire_signing_keys.sql");
        let row =
            self.client.query_one(sql, &[]).await.map_err(StoreError::to("retire signing keys"))?;
        Ok(row.get("answer"))
    }

    /// Forgets dead letters and events whose retention is over: some of them.
    pub async fn clean_up(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/deliveries/clean_up.sql");
        self.answer(sql, "forget old dead letters and events").await
    }

    /// Forgets idempotency keys whose window is over.
    pub async fn forget_idempotency_keys(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/produce/forget_idempotency_keys.sql");
        self.answer(sql, "forget idempotency keys").await
    }

    /// Forgets idempotency keys of messages to nobody, whose window is over.
    pub async fn forget_keys_to_nobody(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/produce/forget_keys_to_nobody.sql");
        self.answer(sql, "forget idempotency keys of messages to nobody").await
    }

    /// Looks at some idempotency keys whether their messages have ended unseen, and the next time at those
    /// behind them.
    pub async fn recheck_idempotency_keys(&self) -> Result<(), StoreError> {
        let sql = include_str!("../../../sql/queries/produce/recheck_idempotency_keys.sql");
        let after = self.rechecked.load(Ordering::Relaxed);
        let row = self.client.query_one(sql, &[&after]).await;
        let row = row.map_err(StoreError::to("look at idempotency keys"))?;
        self.rechecked.store(row.get("answer"), Ordering::Relaxed);
        Ok(())
    }

    /// Deletes what consumers have written and nobody reads any more.
    pub async fn forget_consumer_rows(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/consume/forget_consumer_rows.sql");
        self.answer(sql, "forget rows of consumers").await
    }

    /// Forgets executions whose retention is over: some of them.
    pub async fn forget_executions(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/fleet/forget_executions.sql");
        self.answer(sql, "forget old executions").await
    }

    /// Forgets answers to requests over HTTP whose keys are free again: some of them.
    pub async fn forget_requests(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/access/forget_requests.sql");
        self.answer(sql, "forget answers to requests").await
    }

    /// Empties rotated tables whose time has come.
    pub async fn rotate_slots(&self) -> Result<i32, StoreError> {
        self.answer(include_str!("../../../sql/queries/dispatch/rotate_slots.sql"), "rotate").await
    }

    /// Whether partitions are to be made or dropped.
    pub async fn needs_archive_upkeep(&self) -> Result<bool, StoreError> {
        let sql = include_str!("../../../sql/queries/archive/needs_archive_upkeep.sql");
        let failed = StoreError::to("look at the partitions");
        let row = self.client.query_one(sql, &[]).await.map_err(failed)?;
        Ok(row.get("answer"))
    }

    /// Takes running replays a step further; after how long to do it again.
    pub async fn advance_replays(&self) -> Result<Duration, StoreError> {
        let sql = include_str!("../../../sql/queries/archive/advance_replays.sql");
        self.pause(sql, "advance replays").await
    }

    /// Takes the job that has waited longest one batch further; after how long to do it again.
    pub async fn advance_jobs(&self) -> Result<Duration, StoreError> {
        let sql = include_str!("../../../sql/queries/deliveries/advance_jobs.sql");
        self.pause(sql, "advance jobs").await
    }

    /// Says which endpoints have met their own limit; after how long to do it again.
    pub async fn update_full_endpoints(&self) -> Result<Duration, StoreError> {
        let sql = include_str!("../../../sql/queries/produce/update_full_endpoints.sql");
        self.pause(sql, "look which endpoints are full").await
    }

    /// Sends what schedules are due for; after how long to do it again.
    pub async fn fire_schedules(&self) -> Result<Duration, StoreError> {
        let sql = include_str!("../../../sql/queries/schedules/fire_schedules.sql");
        self.pause(sql, "fire schedules").await
    }

    /// Adds what became of executions to the figures, some of it at a time; how many rows it was.
    pub async fn roll_up_executions(&self) -> Result<i32, StoreError> {
        let sql = include_str!("../../../sql/queries/fleet/roll_up_executions.sql");
        self.answer(sql, "roll up executions").await
    }

    /// Makes what is committed readable for consumers; `None` while there are none.
    pub async fn advance_ticks(&self) -> Result<Option<MadeTick>, StoreError> {
        let sql = include_str!("../../../sql/queries/consume/advance_ticks.sql");
        let failed = StoreError::to("make a tick for consumers");
        let row = self.client.query_opt(sql, &[]).await.map_err(failed)?;
        Ok(row.map(|row| MadeTick {
            is_made: row.get("is_made"),
            interval: Duration::from_millis(row.get::<_, i32>("interval_ms").unsigned_abs().into()),
        }))
    }

    async fn answer(&self, sql: &str, action: &'static str) -> Result<i32, StoreError> {
        let row = self.client.query_one(sql, &[]).await.map_err(StoreError::to(action))?;
        Ok(row.get("answer"))
    }

    /// The same, for chores that say after how many milliseconds they are to be done again.
    async fn pause(&self, sql: &str, action: &'static str) -> Result<Duration, StoreError> {
        let pause_ms = self.answer(sql, action).await?;
        Ok(Duration::from_millis(u64::from(pause_ms.unsigned_abs())))
    }
}
