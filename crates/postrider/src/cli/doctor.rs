//! `postrider doctor`
//!
//! Asks one question after the other and judges the answers. Each question has a time of its own, on the server and
//! here: a database that stands still ends this as one that cannot be reached does.

mod findings;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use findings::Finding;
use postrider_store::{connect::Session, migrate};
use serde_json::{Value, json};
use tokio_postgres::{Client, types::ToSql};

use super::{Context, Failure, Output, health::NOT_ASKED, json_rows};

const LIMIT_STATEMENTS: &str =
    include_str!("../../../../sql/queries/dispatch/limit_statements.sql");
const SERVER: &str = include_str!("../../../../sql/queries/watch/doctor_server.sql");
const HOLDERS: &str = include_str!("../../../../sql/queries/watch/doctor_holders.sql");
const TABLES: &str = include_str!("../../../../sql/queries/watch/doctor_tables.sql");
const INDEXES: &str = include_str!("../../../../sql/queries/watch/doctor_indexes.sql");
const ROLES: &str = include_str!("../../../../sql/queries/watch/doctor_roles.sql");
const SETTINGS: &str = include_str!("../../../../sql/queries/settings/settings.sql");
const DISPATCHERS: &str = include_str!("../../../../sql/queries/watch/worker_status.sql");
const ENDPOINTS: &str = include_str!("../../../../sql/queries/endpoints/status_endpoints.sql");
const HEALTH: &str = include_str!("../../../../sql/queries/watch/health_check.sql");

/// How long the server may take over an answer, and how long we wait for it.
const STATEMENT_TIMEOUT_MS: &str = "5000";
const PATIENCE: Duration = Duration::from_secs(7);
/// How long connecting may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Fewer dead rows are nobody's concern.
const DEAD_ROWS_MIN: i64 = 100_000;
/// How many endpoints are looked at.
const ENDPOINTS_MAX: i64 = 100;

/// Look at everything that can be wrong, and say what to do
///
/// The server and its settings, who holds back vacuum, clocks, tables, indexes, roles, settings that do not fit
/// together, dispatchers, endpoints, and what `postrider health` says. Changes nothing. Each question may take 5
/// seconds.
///
/// Exit codes: 0 there is nothing to do, 1 there is advice, 3 something could not be asked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider doctor
  postrider doctor --json | jq -r '.findings[].command'")]
pub struct Doctor;

/// One question, and what became of it.
struct Answer {
    check: &'static str,
    outcome: Result<Vec<Finding>, String>,
}

/// A connection that is made anew for the next question when one was not answered.
struct Patient<'a> {
    context: &'a Context,
    session: Option<Session>,
}

type Judge = fn(&[Value]) -> Vec<Finding>;

impl Doctor {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        let mut patient = Patient { context, session: None };
        let indexes = migrate::index_names();
        let (dead_rows, endpoints) = (DEAD_ROWS_MIN, ENDPOINTS_MAX);
        // Whoever cannot be reached at all is not asked ten times.
        patient.connect().await?;
        let mut answers = vec![patient.compare_clocks().await];
        let questions: [(&'static str, &str, Vec<&(dyn ToSql + Sync)>, Judge); 9] = [
            ("server", SERVER, vec![], |rows| {
                rows.first().map(findings::of_server).unwrap_or_default()
            }),
            ("vacuum", HOLDERS, vec![], |rows| {
                rows.first().map(findings::of_holders).unwrap_or_default()
            }),
            ("tables", TABLES, vec![&dead_rows], findings::of_tables),
            ("indexes", INDEXES, vec![&indexes], |rows| {
                rows.first().map(findings::of_indexes).unwrap_or_default()
            }),
            ("roles", ROLES, vec![], |rows| {
                rows.first().map(findings::of_roles).unwrap_or_default()
            }),
            ("settings", SETTINGS, vec![&None::<&str>], findings::of_settings),
            ("dispatchers", DISPATCHERS, vec![], |rows| {
                findings::of_dispatchers(rows, env!("CARGO_PKG_VERSION"))
            }),
            ("endpoints", ENDPOINTS, vec![&endpoints], findings::of_endpoints),
            ("health", HEALTH, vec![], findings::of_health),
        ];
        for (check, sql, parameters, judge) in questions {
            let outcome = patient.ask(sql, &parameters).await.map(|rows| judge(&rows));
            answers.push(Answer { check, outcome });
        }
        show(context.output, &answers);
        match code(&answers) {
            0 => Ok(()),
            code => Err(Failure::Shown(code)),
        }
    }
}

impl Patient<'_> {
    async fn connect(&mut self) -> Result<(), Failure> {
        let connecting = async {
            let session = self.context.connect().await?;
            session.client.query(LIMIT_STATEMENTS, &[&STATEMENT_TIMEOUT_MS]).await?;
            Ok::<_, Failure>(session)
        };
        let late = || Failure::Database(format!("no answer within {CONNECT_PATIENCE:?}"));
        let session = tokio::time::timeout(CONNECT_PATIENCE, connecting).await;
        self.session = Some(session.map_err(|_| late())??);
        Ok(())
    }

    async fn ask(
        &mut self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Value>, String> {
        if self.session.is_none() {
            self.connect().await.map_err(|failure| failure.text().to_owned())?;
        }
        let Some(session) = &self.session else { return Err("not connected".to_owned()) };
        let client: &Client = &session.client;
        match tokio::time::timeout(PATIENCE, json_rows(client, sql, parameters)).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(failure)) => {
                if client.is_closed() {
                    self.session = None;
                }
                Err(failure.text().to_owned())
            }
            Err(_) => {
                self.session = None;
                Err(format!("no answer within {PATIENCE:?}"))
            }
        }
    }

    async fn compare_clocks(&mut self) -> Answer {
        let seconds =
            || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let before = seconds();
        let rows = self.ask(SERVER, &[]).await;
        let after = seconds();
        let judge = |rows: Vec<Value>| {
            let theirs = rows.first().and_then(|row| row["now_seconds"].as_f64());
            let doubt = (after - before) / 2.0;
            theirs.map_or(Vec::new(), |theirs| findings::of_clock(theirs - before - doubt, doubt))
        };
        Answer { check: "clock", outcome: rows.map(judge) }
    }
}

/// The worst of it.
fn code(answers: &[Answer]) -> u8 {
    let one = |answer: &Answer| match &answer.outcome {
        Ok(found) => u8::from(!found.is_empty()),
        Err(_) => NOT_ASKED,
    };
    answers.iter().map(one).max().unwrap_or_default()
}

fn show(output: Output, answers: &[Answer]) {
    let findings: Vec<Value> = answers
        .iter()
        .flat_map(|answer| answer.outcome.iter().flatten().map(|f| f.as_json(answer.check)))
        .collect();
    let check = |answer: &Answer| {
        let status = match &answer.outcome {
            Ok(found) if found.is_empty() => "healthy",
            Ok(_) => "warning",
            Err(_) => "not asked",
        };
        let count = answer.outcome.as_ref().map_or(0, Vec::len);
        json!({ "check": answer.check, "status": status, "findings": count,
            "error": answer.outcome.as_ref().err() })
    };
    let checks: Vec<Value> = answers.iter().map(check).collect();
    let object = json!({ "findings": findings, "checks": checks });
    output.report(&object, || text(output, answers, &checks));
}

fn text(output: Output, answers: &[Answer], checks: &[Value]) -> String {
    let mut parts = vec![output.table(checks, &["check", "status", "error"])];
    for answer in answers {
        for finding in answer.outcome.iter().flatten() {
            let fields = json!({ "why": finding.why, "type": finding.command });
            let what = output.folded(&format!("{}: {}.", answer.check, finding.what));
            parts.push(format!("{}\n{}", output.heading(&what), output.fields(&fields)));
        }
    }
    parts.push(match code(answers) {
        0 => "There is nothing to do.".to_owned(),
        NOT_ASKED => "Not everything could be asked.".to_owned(),
        _ => "There is something to do.".to_owned(),
    });
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_is_worse_than_advice() {
        let well = || Answer { check: "a", outcome: Ok(vec![]) };
        let advice = || Answer { check: "b", outcome: Ok(findings::of_clock(60.0, 0.0)) };
        let not_asked = || Answer { check: "c", outcome: Err("no answer".to_owned()) };
        assert_eq!(code(&[well()]), 0);
        assert_eq!(code(&[well(), advice()]), 1);
        assert_eq!(code(&[not_asked(), well(), advice()]), 3);
    }
}
