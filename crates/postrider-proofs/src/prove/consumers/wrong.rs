//! The two readers that everybody writes first: behind the last position, which loses messages, and below
//! the oldest open transaction, which stands still while one is long.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_postgres::{Client, Error, types::ToSql};

use crate::prove::writers::connect;

const PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    BehindTheLastPosition,
    BelowTheOldestTransaction,
}

impl Wrong {
    /// From ($1, $2), a transaction and a message.
    fn sql(self) -> &'static str {
        match self {
            Wrong::BehindTheLastPosition => {
                "select m.xid::text, m.id
                from postrider.message m
                where m.id > $2
                and $1::text is not null
                order by m.id
                limit 1000"
            }
            Wrong::BelowTheOldestTransaction => {
                "select m.xid::text, m.id
                from postrider.message m
                where (m.xid, m.id) > ($1::text::xid8, $2)
                and m.xid < pg_snapshot_xmin(pg_current_snapshot())
                order by m.xid, m.id
                limit 1000"
            }
        }
    }
}

/// Which messages it read, and when.
pub type Read = HashMap<i64, Instant>;

/// Reads on and on, and to the end when `is_drained`.
pub async fn read(wrong: Wrong, url: String, is_drained: Arc<AtomicBool>) -> Read {
    let mut read = Read::new();
    let mut place = ("0".to_owned(), 0);
    loop {
        let is_last = is_drained.load(Ordering::Relaxed);
        if let Ok(client) = connect(&url).await
            && follow(wrong, &client, &is_drained, &mut place, &mut read).await.is_ok()
            && is_last
        {
            return read;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Until the connection breaks, or nothing is left of what there was when it was drained.
async fn follow(
    wrong: Wrong,
    client: &Client,
    is_drained: &AtomicBool,
    place: &mut (String, i64),
    read: &mut Read,
) -> Result<(), Error> {
    let statement = client.prepare(wrong.sql()).await?;
    loop {
        let is_last = is_drained.load(Ordering::Relaxed);
        let values: [&(dyn ToSql + Sync); 2] = [&place.0, &place.1];
        let rows = client.query(&statement, &values).await?;
        let at = Instant::now();
        for row in &rows {
            *place = (row.get(0), row.get(1));
            read.insert(place.1, at);
        }
        if rows.is_empty() {
            if is_last {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
