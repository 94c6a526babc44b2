//! A message that kills its dispatcher whenever it is attempted.

use std::{
    fmt,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::{SHORTEST_LEASE, faults::install, until, writers::connect};
use postrider_testkit::{
    ledger::MessageId,
    postgres::{Options, PrivatePostgres},
    process::{Dispatcher, DispatcherOptions},
    receiver::{Behaviour, Receiver},
};

const POISON: &str = "skull and crossbones";
const MAX_RETRIES: i32 = 3;
const COMPANIONS: usize = 300;
/// How long all deaths and takeovers may take together, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// What became of the message and of the others.
#[derive(Debug)]
pub struct PoisonFigures {
    pub deaths: i32,
    /// From the first start to the dead letter.
    pub took: Duration,
    /// Messages sent before and after it that arrived.
    pub delivered: usize,
}

impl fmt::Display for PoisonFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "  a dead letter after {} deaths and {:.1} s; {} others delivered, none dead",
            self.deaths,
            self.took.as_secs_f64(),
            self.delivered
        )
    }
}

/// Lets a supervisor start a dispatcher again and again that a message kills each time.
///
/// # Errors
///
/// When the message does not end in the dead letter queue after as many attempts as its policy
/// allows, or another one does, or another one does not arrive.
pub async fn prove_poison(binary: &Path) -> Result<PoisonFigures> {
    let postgres = PrivatePostgres::start(Options::default())?;
    postgres.create_database("proof").await?;
    let url = postgres.url_for("proof");
    install(binary, &url)?;
    let receiver = Receiver::start(Behaviour::Status(200))?;
    let client = connect(&url).await?;
    let companions = format!(
        "select postrider.send_batch('hooks', array_agg(jsonb_build_object('n', n)))
        from generate_series(1, {COMPANIONS}) n;"
    );
    let prepare = format!(
        "select postrider.set_setting('allow_internal_destinations', 'on');
        select postrider.set_setting('stale_recovery_timeout', '{}');
        select postrider.create_endpoint('hooks', 'http', '{}');
        update postrider.endpoints set retry_policy = '{{\"max_retries\": {MAX_RETRIES}}}';
        {companions}",
        SHORTEST_LEASE.as_secs(),
        serde_json::json!({ "url": receiver.url() })
    );
    client.batch_execute(&prepare).await?;
    let send = "select postrider.send('hooks', jsonb_build_object('text', $1::text))";
    let poison = MessageId(client.query_one(send, &[&POISON]).await?.get(0));
    client.batch_execute(&companions).await?;

    let options =
        DispatcherOptions::serve(binary, &url).variable("POSTRIDER_TEST_ABORT_ON", POISON);
    let began = Instant::now();
    let mut deaths = 0;
    let mut dispatcher = Dispatcher::start(&options)?;
    let is_dead = "select exists (select from postrider.dead_letter)";
    while !client.query_one(is_dead, &[]).await?.get::<_, bool>(0) {
        ensure!(began.elapsed() < PATIENCE, "no dead letter after {deaths} deaths");
        if dispatcher.wait(Duration::from_millis(100)).await.is_ok() {
            deaths += 1;
            dispatcher = Dispatcher::start(&options)?;
        }
    }
    let took = began.elapsed();
    receiver.wait_for_accepted(2 * COMPANIONS, PATIENCE).await?;
    let is_settled = "select not exists (select from postrider.deferred)";
    until("nothing waits", PATIENCE, || async {
        Ok(client.query_one(is_settled, &[]).await?.get(0))
    })
    .await?;

    let sql =
        "select l.message_id, l.cause, l.retry_count, l.last_error from postrider.dead_letter l";
    let letters = client.query(sql, &[]).await?;
    let [letter] = &letters[..] else {
        anyhow::bail!("{} dead letters instead of one", letters.len());
    };
    let (id, cause): (i64, String) = (letter.get(0), letter.get(1));
    let (retry_count, error): (i32, String) = (letter.get(2), letter.get(3));
    ensure!(id == poison.0 && cause == "stale", "message {id} is dead: {cause}");
    ensure!(error.contains("Recovered from stale processing state"), "its last error is `{error}`");
    ensure!(
        retry_count == deaths && deaths == MAX_RETRIES + 1,
        "{deaths} deaths, {retry_count} retries"
    );
    ensure!(!receiver.distinct_ids().contains(&poison), "the message was sent");
    ensure!(dispatcher.is_running(), "the last dispatcher has ended");
    Ok(PoisonFigures { deaths, took, delivered: receiver.accepted_count() })
}
