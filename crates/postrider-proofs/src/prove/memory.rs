//! What `serve` holds in memory while a large backlog waits for many endpoints, and which connections it keeps.

use std::{fmt, path::Path, time::Duration};

use anyhow::{Result, ensure};
use tokio_postgres::Client;

use super::{faults::install, until, writers::connect};
use postrider_testkit::{
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver},
};

/// How many connections a process may keep to receivers that it sends nothing to.
const IDLE_MAX: usize = 1_024;
/// Those to PostgreSQL, and what else is a socket.
const OTHERS_MAX: usize = 100;
const PATIENCE: Duration = Duration::from_secs(900);
/// So soon what is idle beyond that is closed. Each connection is closed after 45 s anyway, which proves nothing.
const CLOSING: Duration = Duration::from_secs(10);

/// What was measured.
#[derive(Debug)]
pub struct MemoryFigures {
    pub messages: usize,
    pub endpoints: usize,
    pub peak_bytes: u64,
    /// How many of the messages went to HTTP endpoints.
    pub received_over_http: usize,
    /// Open sockets in the end.
    pub sockets: usize,
    /// Ordering keys of which something waited for a paused endpoint, and the larger peak of the process that let it wait and the
    /// one that went on.
    pub keys: usize,
    pub keys_peak_bytes: u64,
}

impl fmt::Display for MemoryFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "  {} messages to {} endpoints delivered ({} over HTTP), peak resident memory {:.0} MB, {} sockets \
             left open; {} ordering keys waiting for a paused endpoint, peak {:.0} MB, and delivered",
            self.messages,
            self.endpoints,
            self.received_over_http,
            self.peak_bytes as f64 / 1e6,
            self.sockets,
            self.keys,
            self.keys_peak_bytes as f64 / 1e6,
        )
    }
}

/// Fills the log, then lets one dispatcher deliver all of it. One endpoint in `http_every` is HTTP, the others are
/// `discard`. Then lets messages of so many ordering keys wait, one of each.
///
/// # Errors
///
/// When not everything is delivered, or more connections are kept than may be.
pub async fn prove_memory(
    binary: &Path,
    messages: usize,
    endpoints: usize,
    http_every: usize,
    keys: usize,
) -> Result<MemoryFigures> {
    let postgres = PrivatePostgres::start(Options::default().set("max_wal_size", "4GB"))?;
    postgres.create_database("proof").await?;
    let url = postgres.url_for("proof");
    install(binary, &url)?;
    let receiver = Receiver::start(Behaviour::Status(200))?;
    let client = connect(&url).await?;
    let config = serde_json::json!({ "url": receiver.url() });
    let fill = format!(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('max_queue_size', '0');
        select postrider.set_setting('stale_recovery_timeout', '60');
        select count(postrider.create_endpoint(
            'e' || n,
            case when n % {http_every} = 0 then 'http' else 'discard' end,
            case when n % {http_every} = 0 then '{config}' else '{{}}' end::jsonb))
        from generate_series(1, {endpoints}) n;
        select count(postrider.send_batch('e' || n, (
            select array_agg(jsonb_build_object('n', i, 'text', repeat('x', 100)))
            from generate_series(1, {}) i)))
        from generate_series(1, {endpoints}) n;",
        messages / endpoints
    );
    client.batch_execute(&fill).await?;

    let dispatcher = Dispatcher::start(&DispatcherOptions::serve(binary, &url))?;
    let count = messages / endpoints * endpoints;
    wait_for_done(&url, count).await?;
    let peak_bytes = dispatcher.peak_memory_bytes()?;
    let received_over_http = receiver.distinct_ids().len();
    ensure!(
        received_over_http == messages / endpoints * (endpoints / http_every),
        "{received_over_http} messages arrived over HTTP"
    );
    // What was in use a moment ago is about to be closed.
    until("no more sockets are open than may be", CLOSING, || async {
        Ok(dispatcher.socket_count()? <= IDLE_MAX + OTHERS_MAX)
    })
    .await?;
    let sockets = dispatcher.socket_count()?;
    dispatcher.stop(PATIENCE).await?;
    let keys_peak_bytes = wait_by_key(binary, &url, &client, count, keys).await?;
    Ok(MemoryFigures {
        messages,
        endpoints,
        peak_bytes,
        received_over_http,
        sockets,
        keys,
        keys_peak_bytes,
    })
}

/// Lets something of each of many ordering keys wait for a paused endpoint, gives them to another process, which goes on: the
/// larger peak of both.
async fn wait_by_key(
    binary: &Path,
    url: &str,
    client: &Client,
    count: usize,
    keys: usize,
) -> Result<u64> {
    let pause = "select postrider.create_endpoint('keyed', 'discard', '{}');
        select postrider.pause_endpoint('keyed')";
    client.batch_execute(pause).await?;
    let send = "select count(postrider.send_with_options(
            'keyed', to_jsonb(n), p_ordering_key => 'customer-' || n))
        from generate_series(1::bigint, $1) n";
    client.execute(send, &[&(keys as i64)]).await?;
    let dispatcher = Dispatcher::start(&DispatcherOptions::serve(binary, url))?;
    until("all keys wait", PATIENCE, || async {
        let row = client.query_one("select count(*) from postrider.deferred", &[]).await?;
        Ok(row.get::<_, i64>(0) >= keys as i64)
    })
    .await?;
    let peak_bytes = dispatcher.peak_memory_bytes()?;
    dispatcher.stop(PATIENCE).await?;
    let dispatcher = Dispatcher::start(&DispatcherOptions::serve(binary, url))?;
    dispatcher.wait_for_log("shards acquired", PATIENCE).await?;
    client.batch_execute("select postrider.resume_endpoint('keyed')").await?;
    wait_for_done(url, count + keys).await?;
    let peak_bytes = peak_bytes.max(dispatcher.peak_memory_bytes()?);
    dispatcher.stop(PATIENCE).await?;
    Ok(peak_bytes)
}

async fn wait_for_done(url: &str, count: usize) -> Result<()> {
    let done = "select coalesce(sum(octet_length(offsets) / 2), 0)::bigint from postrider.done";
    until("all delivered", PATIENCE, || async move {
        let row = connect(url).await?.query_one(done, &[]).await?;
        Ok(row.get::<_, i64>(0) >= count as i64)
    })
    .await
}
