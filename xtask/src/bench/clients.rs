//! Clients that run one prepared statement over and over, each on a connection of its own.

use std::error::Error;
use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::{BufMut, BytesMut};
use futures_util::future::try_join_all;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::stand::Database;

/// About 200 bytes, as an order service might send.
pub const PAYLOAD: &str = r#"{"order_id": 1234567, "customer": "c-0012345", "status": "paid", "amount": 129.95, "currency": "EUR", "items": [{"sku": "A-1000", "count": 2}, {"sku": "B-2000", "count": 1}], "note": "leave at door"}"#;

/// A `jsonb` parameter.
#[derive(Debug, Clone)]
pub struct Json(pub String);

/// Connections with the same statement prepared.
pub struct Clients {
    clients: Vec<(Client, Statement)>,
}

/// Whether commits wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    Waits,
    DoesNotWait,
}

impl Clients {
    pub async fn open(
        database: &Database<'_>,
        count: usize,
        commit: Commit,
        sql: &str,
    ) -> Result<Self> {
        let mut clients = Vec::new();
        for _ in 0..count {
            let client = database.connect().await?;
            if commit == Commit::DoesNotWait {
                client.batch_execute("set synchronous_commit = off").await?;
            }
            let statement = client.prepare(sql).await?;
            clients.push((client, statement));
        }
        Ok(Self { clients })
    }

    /// All clients run the statement, one after the other and each in its own transaction, until
    /// `time` is over. How often it was run.
    pub async fn run(
        &self,
        time: Duration,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Executions> {
        let began_at = Instant::now();
        let loops = self.clients.iter().map(async |(client, statement)| {
            let mut count: u64 = 0;
            while began_at.elapsed() < time {
                client.query(statement, parameters).await?;
                count += 1;
            }
            Ok::<u64, tokio_postgres::Error>(count)
        });
        let counts = try_join_all(loops).await?;
        Ok(Executions { count: counts.iter().sum(), time: began_at.elapsed() })
    }

    /// Each client runs the statement so many times.
    pub async fn repeat(&self, count: usize, parameters: &[&(dyn ToSql + Sync)]) -> Result<()> {
        let loops = self.clients.iter().map(async |(client, statement)| {
            for _ in 0..count {
                client.query(statement, parameters).await?;
            }
            Ok::<(), tokio_postgres::Error>(())
        });
        try_join_all(loops).await?;
        Ok(())
    }

    /// As [`Self::run`], but so many times a second in all, or as often as is possible.
    pub async fn run_paced(
        &self,
        time: Duration,
        per_second: f64,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Executions> {
        let began_at = Instant::now();
        let interval = Duration::from_secs_f64(self.clients.len() as f64 / per_second);
        let loops = self.clients.iter().enumerate().map(async |(number, (client, statement))| {
            let offset = interval.mul_f64(number as f64 / self.clients.len() as f64);
            let mut count: u32 = 0;
            loop {
                // From the beginning, so that what is late is caught up.
                let due_at = began_at + offset + interval * count;
                if due_at >= began_at + time || began_at.elapsed() >= time {
                    return Ok::<u64, tokio_postgres::Error>(count.into());
                }
                tokio::time::sleep_until(due_at.into()).await;
                client.query(statement, parameters).await?;
                count += 1;
            }
        });
        let counts = try_join_all(loops).await?;
        Ok(Executions { count: counts.iter().sum(), time: began_at.elapsed() })
    }
}

/// How often a statement was run.
#[derive(Debug, Clone, Copy)]
pub struct Executions {
    pub count: u64,
    pub time: Duration,
}

impl Executions {
    pub fn per_second(self) -> f64 {
        self.count as f64 / self.time.as_secs_f64()
    }
}

impl Json {
    /// The usual payload.
    pub fn payload() -> Self {
        Self(PAYLOAD.to_owned())
    }
}

impl ToSql for Json {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        // The version of the format.
        out.put_u8(1);
        out.put_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }

    to_sql_checked!();
}
