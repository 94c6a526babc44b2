//! What tests of the producing functions need. No dispatcher runs: what one would write is written by
//! the test.

use tokio_postgres::Client;

use super::Shop;

/// A statement, the SQLSTATE that it is refused with, and the text.
pub type Refusal<'a> = (&'a str, &'a str, &'a str);

/// Accepts everything and sends nothing.
pub const CREATE: &str = "select postrider.create_endpoint('a', 'discard', '{}')";

impl Shop {
    /// A server with the schema installed and the endpoint `a`.
    pub async fn open_to_producers() -> Shop {
        let shop = Shop::open_migrated().await;
        shop.execute(CREATE).await;
        shop
    }

    /// Lets messages be scheduled for the next century, of which tests can name a day.
    pub async fn allow_far_schedules(&self) {
        self.execute("select postrider.set_setting('max_schedule_ahead', '36500')").await;
    }
}

/// Each statement is refused with its SQLSTATE and exactly its text, and none has written a row.
pub async fn check_refusals(client: &Client, cases: &[Refusal<'_>]) {
    let before = row_counts(client).await;
    for (sql, code, text) in cases {
        check_refusal(client, (sql, code, text)).await;
    }
    assert_eq!(row_counts(client).await, before);
}

/// The statement is refused with this SQLSTATE and exactly this text.
pub async fn check_refusal(client: &Client, (sql, code, text): Refusal<'_>) {
    let error = client.batch_execute(sql).await.expect_err(sql);
    let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error:?}"));
    assert_eq!((error.code().code(), error.message()), (code, text), "{sql}");
}

/// How many rows each table holds.
pub async fn row_counts(client: &Client) -> Vec<(String, i64)> {
    let tables = "select string_agg(
            format('select %L, count(*) from postrider.%I', c.relname, c.relname), ' union all '
            order by c.relname) || ' order by 1'
        from pg_class c
        where c.relnamespace = 'postrider'::regnamespace
        and c.relkind in ('r', 'p')
        and not c.relispartition";
    let sql: String = client.query_one(tables, &[]).await.unwrap().get(0);
    let rows = client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The one id that a statement returns.
pub async fn id_of(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}: {sql}")).get(0)
}

/// The ids that a statement returns as one array.
pub async fn ids_of(client: &Client, sql: &str) -> Vec<i64> {
    client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}: {sql}")).get(0)
}

/// Waits until the session waits for another one's transaction.
pub async fn until_blocked(shop: &Shop, pid: i32) {
    shop.until(&format!("select cardinality(pg_blocking_pids({pid})) > 0")).await;
}

/// The process of a session.
pub async fn pid_of(client: &Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0)
}

/// A delivery that was accepted, as `postrider.flush` records it for a message with one target.
pub fn delivered(id: i64) -> String {
    format!(
        "insert into postrider.done (bucket, at, offsets)
        values ({id} >> 22, now(), int2send((({id} >> 10) & 4095)::smallint))"
    )
}

/// What a dispatcher that holds a shard writes down of it: the lanes' state.
pub fn checkpoint(shards: &[i16], backlogs: &[i64], state: &str) -> String {
    format!(
        "insert into postrider.checkpoint (slot, owner, shards, done_xmin, backlogs, state)
        values (0, gen_random_uuid(), '{{{}}}', '4', '{{{}}}', '{state}')",
        list(shards),
        list(backlogs),
    )
}

fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}
