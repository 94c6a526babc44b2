//! What tests with a running dispatcher need: endpoints, messages, and waiting for the database.

use std::{collections::HashSet, time::Duration};

use postrider_testkit::{
    postgres::Options,
    process::{Dispatcher, DispatcherOptions},
    receiver::Receiver,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_postgres::types::FromSql;

use super::Shop;

/// The longest wait for anything that is sure to come, on the slowest machine.
pub const LONG: Duration = Duration::from_secs(120);
/// The pauses between two looks into the database, so that looking does not slow down what is waited for: the
/// tenth part of the wait until then, and no more and no less than this.
const LOOKS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(200)];

/// What dispatchers had recorded at a moment, after how many requests.
pub struct Recorded {
    pub ids: HashSet<i64>,
    request_count: usize,
}

impl Recorded {
    /// None of it was attempted again since.
    #[track_caller]
    pub fn check_not_again(&self, receiver: &Receiver) {
        let mut again = receiver.requests().split_off(self.request_count);
        again.retain(|request| self.ids.contains(&request.id.unwrap().0));
        assert!(again.is_empty(), "recorded before the kill, and attempted after it: {again:?}");
    }
}

impl Shop {
    /// A server with the schema installed where receivers on this machine may be sent to. What they
    /// refuse is tried again without regard to circuit breakers, which have tests of their own: what
    /// refuses so often that one opens waits for as short as can be set.
    pub async fn open_to_receivers() -> Shop {
        Self::open_to_receivers_with(Options::default()).await
    }

    /// The same on a server that is set up differently.
    pub async fn open_to_receivers_with(options: Options) -> Shop {
        let shop = Shop::open_migrated_with(options).await;
        shop.execute(
            "select postrider.set_setting('allow_internal_destinations', 'on');
            select postrider.set_setting('circuit_breaker_threshold', '1000');
            select postrider.set_setting('circuit_breaker_cooldown', '5')",
        )
        .await;
        shop
    }

    pub fn serve_options(&self) -> DispatcherOptions {
        DispatcherOptions::serve(env!("CARGO_BIN_EXE_postrider"), &self.url())
    }

    /// A dispatcher that owns shards.
    pub async fn serve(&self) -> Dispatcher {
        let dispatcher = Dispatcher::start(&self.serve_options()).unwrap();
        dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
        dispatcher
    }

    /// From now on commits wait for these standbys; for none, if empty.
    pub async fn wants_standby(&self, names: &str) {
        self.execute(&format!("alter system set synchronous_standby_names = '{names}'")).await;
        self.execute("select pg_reload_conf()").await;
        self.until(&format!("select current_setting('synchronous_standby_names') = '{names}'"))
            .await;
    }

    /// As when the leases of dispatchers that were killed are over. None may live.
    pub async fn end_leases(&self) {
        self.execute("update postrider.heartbeat set lease_until = 'epoch'").await;
    }

    /// What is recorded, of a dispatcher that was killed.
    pub async fn recorded(&self, receiver: &Receiver) -> Recorded {
        let done = "select coalesce(array_agg(m.id), '{}')
            from postrider.message m
            where postrider.is_done(m.id)
            and not exists (select from postrider.deferred d where d.message_id = m.id)";
        let ids = self.ask::<Vec<i64>>(done).await.into_iter().collect();
        Recorded { ids, request_count: receiver.request_count() }
    }

    /// Makes an `http` endpoint; `policy` is its retry policy. No dispatcher sees the one without the other.
    pub async fn endpoint(&self, name: &str, config: Value, policy: Value) {
        let mut client = self.client().await;
        let transaction = client.transaction().await.unwrap();
        let create = "select postrider.create_endpoint($1, 'http', $2)";
        transaction.execute(create, &[&name, &config]).await.unwrap();
        let set = "update postrider.endpoints set retry_policy = $2 where name = $1";
        transaction.execute(set, &[&name, &policy]).await.unwrap();
        transaction.commit().await.unwrap();
    }

    /// Makes an `http` endpoint that retries after a second.
    pub async fn quick_endpoint(&self, name: &str, url: &str) {
        let policy = json!({ "base_delay_seconds": 1, "backoff": "fixed", "jitter": 0 });
        self.endpoint(name, json!({ "url": url }), policy).await;
    }

    pub async fn send(&self, endpoint: &str, payload: Value) -> i64 {
        let client = self.client().await;
        let send = "select postrider.send($1, $2)";
        client.query_one(send, &[&endpoint, &payload]).await.unwrap().get(0)
    }

    /// Sends `count` messages `{"n": 1}` and so on in one transaction.
    pub async fn send_many(&self, endpoint: &str, count: usize) {
        let send = format!(
            "select postrider.send_batch('{endpoint}', array_agg(jsonb_build_object('n', n)))
            from generate_series(1, {count}) n"
        );
        self.execute(&send).await;
    }

    /// As after ten minutes, in which no dispatcher rotated.
    pub async fn let_a_slot_pass(&self) {
        self.execute("update postrider.rotation set since = since - interval '10 minutes'").await;
    }

    /// Does what jobs there are, as a dispatcher, of which none need run.
    pub async fn finish_jobs(&self) {
        let running = "select from postrider.job where state = 'running'";
        self.advance_jobs_until(&format!("not exists ({running})")).await;
    }

    /// Does it batch by batch until this holds.
    pub async fn advance_jobs_until(&self, condition: &str) {
        let step = "select postrider.advance_jobs() as pause_ms offset 0";
        let sql = format!("select a.pause_ms > 0 and {condition} from ({step}) a");
        self.look(LONG, &sql, |_| LOOKS[0]).await;
    }

    /// The one value of a query.
    pub async fn ask<T>(&self, sql: &str) -> T
    where
        T: for<'a> FromSql<'a>,
    {
        let client = self.client().await;
        client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}: {sql}")).get(0)
    }

    /// The SQLSTATE that a statement is refused with.
    pub async fn refusal(&self, sql: &str) -> String {
        let client = self.client().await;
        let error = client.batch_execute(sql).await.expect_err(sql);
        error.code().unwrap_or_else(|| panic!("{error:?}: {sql}")).code().to_owned()
    }

    /// Waits until a query that returns one boolean says true.
    pub async fn until(&self, sql: &str) {
        self.until_within(LONG, sql).await;
    }

    /// Waits so long at most; returns how long it took.
    pub async fn until_within(&self, limit: Duration, sql: &str) -> Duration {
        self.look(limit, sql, |waited| (waited / 10).clamp(LOOKS[0], LOOKS[1])).await
    }

    /// The same, with a pause that depends on how long it has taken.
    async fn look(
        &self,
        limit: Duration,
        sql: &str,
        pause: impl Fn(Duration) -> Duration,
    ) -> Duration {
        let client = self.client().await;
        let began = Instant::now();
        while !client.query_one(sql, &[]).await.unwrap().get::<_, bool>(0) {
            assert!(began.elapsed() < limit, "not within {limit:?}: {sql}");
            tokio::time::sleep(pause(began.elapsed())).await;
        }
        began.elapsed()
    }
}
