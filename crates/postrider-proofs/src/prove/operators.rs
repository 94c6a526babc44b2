//! Operators who tell deliveries what to do while everything breaks, one by one and by jobs, and what must have become
//! of these.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::task::JoinSet;
use tokio_postgres::{Client, Row};

use super::writers::{DESTINATIONS, Shared, connect};
use postrider_testkit::{
    ledger::{End, EndKind, FaultKind, Ledger, MessageId},
    receiver::Receiver,
};

/// What is said for every end, so that it is known for an operator's.
const REASON: &str = "an operator";
/// One that waits and is about to be attempted, or has just been.
const WAITING: &str = "select w.message_id
    from (
        select d.message_id
        from postrider.deferred d
        order by abs(extract(epoch from d.run_at - clock_timestamp()))
        limit 50
    ) w
    order by random()
    limit 1";
/// One that was sent just now.
const NEW: &str = "select w.id
    from (select m.id from postrider.message m order by m.id desc limit 50) w
    order by random()
    limit 1";
/// What waits for a part of all those that were sent in some second.
const SOME: &str = "p_from => now() - interval '3 seconds', p_to => now() - interval '2 seconds'";
/// Ends that are on record, with the reason that somebody gave.
const ENDS: &str = "
    select e.name, l.message_id, case l.cause when 'operator' then 'failed' else 'dead' end, l.last_error
    from postrider.dead_letter l
    join postrider.endpoints e on e.id = l.endpoint_id
    union all
    select e.name, o.message_id, o.reason, o.note
    from postrider.ended o
    join postrider.endpoints e on e.id = o.endpoint_id";
/// How long a request may take to the receiver's note of it, on a machine under load.
const ARRIVAL: Duration = Duration::from_secs(2);

/// An operator's verb for one message, certainly committed.
#[derive(Debug, Clone, Copy)]
struct Told {
    id: MessageId,
    status: &'static str,
    at: Instant,
}

/// What an operator has done.
#[derive(Debug, Default)]
pub struct Operated {
    told: Vec<Told>,
    retried_count: usize,
    refused_count: usize,
    job_count: usize,
}

/// What became of what operators have told.
#[derive(Debug, Default)]
pub struct Verbs {
    pub retried_count: usize,
    /// Ends that operators were told of for certain, by what they did.
    pub told_counts: HashMap<&'static str, usize>,
    /// In hand, held by another transaction, or over.
    pub refused_count: usize,
    pub job_count: usize,
    /// All ends that are on record, those by jobs included.
    pub end_counts: HashMap<String, usize>,
    /// Ended by somebody, although they had been accepted: a fault kept that from the record.
    pub excused_count: usize,
    /// Expired, the same.
    pub excused_expiry_count: usize,
    /// What must not be.
    pub violations: Vec<String>,
}

/// Starts operators who go on until `shared.is_over`.
pub fn start(url: &str, count: usize, seed: u64, shared: &Arc<Shared>) -> JoinSet<Operated> {
    let mut operators = JoinSet::new();
    for number in 0..count {
        let dice = fastrand::Rng::with_seed(seed.wrapping_add(1_000 + number as u64));
        operators.spawn(operate(url.to_owned(), dice, Arc::clone(shared)));
    }
    operators
}

async fn operate(url: String, mut dice: fastrand::Rng, shared: Arc<Shared>) -> Operated {
    let mut operated = Operated::default();
    while !shared.is_over.load(Ordering::Relaxed) {
        let Ok(client) = connect(&url).await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        while !shared.is_over.load(Ordering::Relaxed) {
            if operated.tell(&client, &mut dice).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(dice.u64(5..60))).await;
        }
    }
    operated
}

impl Operated {
    /// Tells one delivery something, or makes a job.
    ///
    /// # Errors
    ///
    /// When the server is gone: nobody knows what became of the last call, so it is not in the book.
    async fn tell(&mut self, client: &Client, dice: &mut fastrand::Rng) -> Result<()> {
        let destination = DESTINATIONS[dice.usize(..DESTINATIONS.len())];
        let job = match dice.u8(..200) {
            0..6 => Some(format!("retry_matching_deliveries('{destination}')")),
            6..11 => Some(format!("fail_matching_deliveries('{REASON}', '{destination}', {SOME})")),
            11..16 => {
                Some(format!("skip_matching_deliveries('{REASON}', '{destination}', {SOME})"))
            }
            // Everything that waits there, of which there is much while it is down.
            16 => Some("cancel_endpoint_messages('late')".to_owned()),
            _ => None,
        };
        if let Some(call) = job {
            client.query_one(&format!("select job_id from postrider.{call}"), &[]).await?;
            self.job_count += 1;
            return Ok(());
        }
        let (which, call, status) = match dice.u8(..10) {
            0..2 => (WAITING, format!("fail_delivery($1, null, '{REASON}') > 0"), Some("failed")),
            2..4 => (WAITING, format!("skip_delivery($1, null, '{REASON}') > 0"), Some("skipped")),
            4..6 => (NEW, "cancel_message($1)".to_owned(), Some("cancelled")),
            _ => (WAITING, "retry_delivery($1) > 0".to_owned(), None),
        };
        let Some(row) = client.query_opt(which, &[]).await? else { return Ok(()) };
        let id: i64 = row.get(0);
        let sql = format!("select coalesce(postrider.{call}, false)");
        match client.query_one(&sql, &[&id]).await.map(|row| row.get(0)) {
            Ok(true) => match status {
                Some(status) => {
                    self.told.push(Told { id: MessageId(id), status, at: Instant::now() });
                }
                None => self.retried_count += 1,
            },
            Ok(false) => self.refused_count += 1,
            Err(error) if error.code().is_some_and(|code| is_refusal(code.code())) => {
                self.refused_count += 1;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// In hand or held, nothing waits, or it waits for an earlier one; forgotten by PostgreSQL meanwhile; two of us at once.
fn is_refusal(code: &str) -> bool {
    ["55006", "55000", "42704", "40P01"].contains(&code)
}

/// Puts all ends into the ledger, and says what operators have told has come true.
///
/// # Errors
///
/// When the database cannot be asked.
pub async fn judge(
    operated: Vec<Operated>,
    ledger: &mut Ledger,
    client: &Client,
    receivers: &[Receiver],
) -> Result<Verbs> {
    let mut verbs = Verbs::default();
    let ends: HashMap<MessageId, (String, Option<String>)> = client
        .query(ENDS, &[])
        .await?
        .iter()
        .map(|row: &Row| {
            let (destination, status): (String, String) = (row.get(0), row.get(2));
            let id = MessageId(row.get(1));
            let kind = match status.as_str() {
                "expired" => EndKind::Expired,
                "cancelled" => EndKind::Cancelled,
                "skipped" => EndKind::Skipped,
                _ => EndKind::DeadLettered,
            };
            *verbs.end_counts.entry(status.clone()).or_default() += 1;
            ledger.end(End { destination: destination.into(), id, kind });
            (id, (status, row.get(3)))
        })
        .collect();
    let mut requests: HashMap<MessageId, Vec<(Instant, bool)>> = HashMap::new();
    for (name, receiver) in DESTINATIONS.iter().zip(receivers) {
        receiver.with_requests(|all| {
            for request in all {
                let Some(id) = request.id else { continue };
                requests.entry(id).or_default().push((request.at, request.is_accepted()));
                if !request.is_accepted() {
                    continue;
                }
                let Some((status, _)) = ends.get(&id) else { continue };
                if ledger.excuses(&(*name).into(), request.at, Instant::now()) {
                    let is_expired = status == "expired";
                    verbs.excused_expiry_count += usize::from(is_expired);
                    verbs.excused_count += usize::from(!is_expired);
                } else {
                    let id = id.0;
                    verbs.violations.push(format!("message {id} was accepted, and is {status}"));
                }
            }
        });
    }
    for Operated { told, retried_count, refused_count, job_count } in operated {
        verbs.retried_count += retried_count;
        verbs.refused_count += refused_count;
        verbs.job_count += job_count;
        for Told { id, status, at } in told {
            *verbs.told_counts.entry(status).or_default() += 1;
            match ends.get(&id) {
                Some((found, _)) if found == status => {}
                found => verbs
                    .violations
                    .push(format!("message {} was {status}, and is {found:?}", id.0)),
            }
            let late = requests.get(&id).into_iter().flatten().filter(|(arrived, _)| *arrived > at);
            for (arrived, _) in late.filter(|(arrived, _)| !is_thawed(ledger, *arrived)) {
                let after = arrived.duration_since(at);
                let id = id.0;
                verbs
                    .violations
                    .push(format!("message {id} was {status}, and requested {after:?} later"));
            }
        }
    }
    Ok(verbs)
}

/// Whether it may have been sent by a dispatcher that was frozen while its successor was told, or have lain there while
/// the machine stood still.
fn is_thawed(ledger: &Ledger, arrived: Instant) -> bool {
    ledger.faults().iter().any(|fault| {
        [FaultKind::ProcessStopped, FaultKind::StoodStill].contains(&fault.kind)
            && arrived + ARRIVAL >= fault.until
            && arrived <= fault.until + ARRIVAL
    })
}

impl Verbs {
    /// Whether every verb came true, and nothing was ended after its acceptance without a fault.
    pub fn are_kept(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Verbs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |status| self.told_counts.get(status).copied().unwrap_or_default();
        let ended = |status: &str| self.end_counts.get(status).copied().unwrap_or_default();
        writeln!(formatter, "Operators")?;
        writeln!(formatter, "  {:<24}{:>10}", "retried by hand", self.retried_count)?;
        for status in ["failed", "skipped", "cancelled"] {
            writeln!(
                formatter,
                "  {:<24}{:>10}  of {} on record, those by jobs included",
                format!("{status} by hand"),
                told(status),
                ended(status)
            )?;
        }
        writeln!(formatter, "  {:<24}{:>10}", "expired", ended("expired"))?;
        writeln!(formatter, "  {:<24}{:>10}", "jobs", self.job_count)?;
        writeln!(
            formatter,
            "  {:<24}{:>10}  in hand, held, or over",
            "refused", self.refused_count
        )?;
        for (name, count) in [
            ("accepted and ended", self.excused_count),
            ("expired, and accepted", self.excused_expiry_count),
        ] {
            writeln!(formatter, "  {name:<24}{count:>10}  a fault between acceptance and record")?;
        }
        let verdict = if self.are_kept() { "ok" } else { "VIOLATION" };
        writeln!(formatter, "  {:<24}{:>10}  {verdict}", "violations", self.violations.len())?;
        for violation in self.violations.iter().take(20) {
            writeln!(formatter, "    {violation}")?;
        }
        Ok(())
    }
}
