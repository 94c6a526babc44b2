//! What `serve` holds in memory while a large backlog waits for many endpoints, and which connections it keeps.

use std::{fmt, path::Path, time::Duration};

use anyhow::{Result, ensure};

use super::{faults::install, until, writers::connect};
use crate::{
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver},
};

/// How many connections a process may keep to receivers that it sends nothing to.
const IDLE_MAX: usize = 1_024;
/// Those to PostgreSQL, and what else is a socket.
const OTHERS_MAX: usize = 100;

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
}

impl fmt::Display for MemoryFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "  {} messages to {} endpoints delivered ({} over HTTP), peak resident memory {:.0} MB, {} sockets \
             left open",
            self.messages,
            self.endpoints,
            self.received_over_http,
            self.peak_bytes as f64 / 1e6,
            self.sockets
        )
    }
}

/// Fills the log, then lets one dispatcher deliver all of it. One endpoint in `http_every` is HTTP, the others are
/// `discard`.
///
/// # Errors
///
/// When not everything is delivered, or more connections are kept than may be.
pub async fn prove_memory(
    binary: &Path,
    messages: usize,
    endpoints: usize,
    http_every: usize,
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
    let count = (messages / endpoints * endpoints) as i64;
    let (url, is_done) =
        (&url, "select coalesce(sum(octet_length(offsets) / 2), 0)::bigint from postrider.done");
    until("all delivered", Duration::from_secs(900), || async move {
        let row = connect(url).await?.query_one(is_done, &[]).await?;
        Ok(row.get::<_, i64>(0) >= count)
    })
    .await?;
    let peak_bytes = dispatcher.peak_memory_bytes()?;
    let received_over_http = receiver.distinct_ids().len();
    ensure!(
        received_over_http == messages / endpoints * (endpoints / http_every),
        "{received_over_http} messages arrived over HTTP"
    );
    let sockets = dispatcher.socket_count()?;
    ensure!(sockets <= IDLE_MAX + OTHERS_MAX, "{sockets} sockets are open");
    Ok(MemoryFigures { messages, endpoints, peak_bytes, received_over_http, sockets })
}
