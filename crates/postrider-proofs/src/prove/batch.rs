//! One very large batch: its ids are unique and in the order of its payloads, and all of it is delivered once.

use std::{fmt, path::Path, time::Duration};

use anyhow::{Result, ensure};
use tokio_postgres::Client;

use super::{faults::install, until, writers::connect};
use postrider_testkit::{
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
};

/// How long all of it may take to be delivered.
const DELIVERED_WITHIN: Duration = Duration::from_secs(900);

/// Ends that were recorded, and of how many messages.
const ENDED: &str = "select count(*), count(distinct e.number)
    from (
        select (d.bucket << 12) + get_byte(d.offsets, i) * 256 + get_byte(d.offsets, i + 1) as number
        from postrider.done d
        cross join lateral generate_series(0, octet_length(d.offsets) - 2, 2) i
    ) e";

/// Attempts, as the dispatcher counts them: the counts of the heartbeat come after what they count.
const ATTEMPTS: &str = "select coalesce(sum(w.messages_processed), 0)::bigint
    from postrider.get_worker_status() w";

/// What was found.
#[derive(Debug)]
pub struct BatchFigures {
    pub messages: i64,
    pub distinct_ids: i64,
    /// Ids that are not above the one of the payload before.
    pub out_of_order: i64,
    /// Ends that were recorded, and of how many messages.
    pub ends: i64,
    pub ended_messages: i64,
    /// Attempts, as the dispatcher counts them.
    pub attempts: i64,
}

impl BatchFigures {
    /// Whether each message is there once, in order, and was delivered once.
    pub fn is_proven(&self) -> bool {
        let counts = [self.distinct_ids, self.ends, self.ended_messages, self.attempts];
        self.out_of_order == 0 && counts.iter().all(|count| *count == self.messages)
    }
}

impl fmt::Display for BatchFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages, distinct_ids, out_of_order, ends, ended_messages, attempts } = self;
        write!(
            formatter,
            "  {messages} messages in one batch: {distinct_ids} ids, {out_of_order} out of order; \
             {attempts} attempts, {ends} ends of {ended_messages} messages"
        )
    }
}

/// Sends so many messages by one `send_batch` while a dispatcher runs, which delivers them to a `discard` endpoint.
///
/// # Errors
///
/// When not everything is delivered.
pub async fn prove_batch(binary: &Path, messages: i64) -> Result<BatchFigures> {
    let postgres = PrivatePostgres::start(Options::default().set("max_wal_size", "4GB"))?;
    postgres.create_database("proof").await?;
    let url = postgres.url_for("proof");
    install(binary, &url)?;
    let client = connect(&url).await?;
    // A machine that stands still for some seconds ends no lease: what is delivered twice would have a cause.
    let setup = "select postrider.set_setting('stale_recovery_timeout', '60');
        select postrider.create_endpoint('sink', 'discard', '{}')";
    client.batch_execute(setup).await?;
    let _dispatcher = Dispatcher::start(&DispatcherOptions::serve(binary, &url))?;
    let sent = send(&client, messages).await?;
    ensure!(sent.count == messages, "{} ids came back", sent.count);
    let unordered = count_unordered(&client).await?;
    let (url, all) = (&url, format!("select ({ATTEMPTS}) >= {messages}"));
    let all = &all;
    until("all delivered", DELIVERED_WITHIN, || async move {
        Ok(connect(url).await?.query_one(all.as_str(), &[]).await?.get(0))
    })
    .await?;
    until("all recorded", DELIVERED_WITHIN, || async move {
        let row = connect(url).await?.query_one(ENDED, &[]).await?;
        Ok(row.get::<_, i64>(1) >= messages)
    })
    .await?;
    let ends = client.query_one(ENDED, &[]).await?;
    Ok(BatchFigures {
        messages,
        distinct_ids: sent.distinct_count,
        out_of_order: sent.out_of_order + unordered,
        ends: ends.get(0),
        ended_messages: ends.get(1),
        attempts: client.query_one(ATTEMPTS, &[]).await?.get(0),
    })
}

/// The ids of one batch.
struct Sent {
    count: i64,
    distinct_count: i64,
    /// Ids that are not above the one before.
    out_of_order: i64,
}

async fn send(client: &Client, messages: i64) -> Result<Sent> {
    let row = client
        .query_one(
            "with sent as materialized (
                select postrider.send_batch('sink', (
                    select array_agg(jsonb_build_object('n', n) order by n)
                    from generate_series(1, $1::bigint) n)) as ids
            ), listed as (
                select u.id, lag(u.id) over (order by u.n) as former
                from sent s
                cross join lateral unnest(s.ids) with ordinality u (id, n)
            )
            select
                count(*), count(distinct l.id),
                count(*) filter (where l.former >= l.id)
            from listed l",
            &[&messages],
        )
        .await?;
    Ok(Sent { count: row.get(0), distinct_count: row.get(1), out_of_order: row.get(2) })
}

/// Messages whose payload is not in the order of their ids.
async fn count_unordered(client: &Client) -> Result<i64> {
    let row = client
        .query_one(
            "select count(*) from (
                select (m.payload ->> 'n')::bigint as n, row_number() over (order by m.id) as place
                from postrider.message m
            ) p
            where p.n <> p.place",
            &[],
        )
        .await?;
    Ok(row.get(0))
}
