//! What becomes of the standby: commits wait for it or do not, it goes away, and it takes over.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio_postgres::Client;

use super::{OUTAGE, PATIENCE, Scene, connect, until};
use postrider_testkit::ledger::{Commit, Fault, FaultKind, MessageId};

/// Transactions that a primary takes with it when it dies, and messages in each.
const DOOMED: usize = 4;
const DOOMED_MESSAGES: usize = 5;
/// How long a commit may take that waits for nobody. One that rings for a dispatcher may stand behind another that
/// waits for the standby, and then nobody is told what became of it.
const COMMIT_PATIENCE: Duration = Duration::from_secs(2);
const WAITS: &str = "select exists (select from pg_stat_activity a where a.wait_event = 'SyncRep')";
const HAS_EVERYTHING: &str = "select exists (
    select
    from pg_stat_replication r
    where r.sync_state = 'sync'
    and r.flush_lsn >= $1::text::pg_lsn)";

/// A transaction that has sent some messages and is to be forgotten.
struct Doomed {
    client: Client,
    sent: Vec<(MessageId, String)>,
}

impl Scene {
    /// From now on commits wait for these standbys, while traffic goes on.
    pub(super) async fn wait_for_standbys(&self, names: &str) -> Result<()> {
        let client = connect(&self.url).await?;
        let set = format!("alter system set synchronous_standby_names = '{names}'");
        client.batch_execute(&set).await?;
        client.batch_execute("select pg_reload_conf()").await?;
        let url = &self.url;
        // What a new session begins with, all others have been told.
        until("the setting of new sessions", PATIENCE, || async move {
            let client = connect(url).await?;
            let sql = "select current_setting('synchronous_standby_names')";
            let found: String = client.query_one(sql, &[]).await?.get(0);
            Ok(found == names)
        })
        .await
    }

    /// Commits wait for the standby again, and what was committed before is there as well.
    pub(super) async fn follow(&mut self) -> Result<()> {
        self.wait_for_standbys("*").await?;
        // Sessions have the setting before their commits obey it: that is seen when one waits.
        self.be_without_standby(Duration::ZERO).await?;
        self.until_it_has_everything().await?;
        Ok(())
    }

    /// Returns a moment up to which the standby has everything.
    async fn until_it_has_everything(&self) -> Result<Instant> {
        let client = connect(&self.url).await?;
        let at = Instant::now();
        let sql = "select pg_current_wal_insert_lsn()::text";
        let position: String = client.query_one(sql, &[]).await?.get(0);
        let (client, position) = (&client, &position);
        until("a standby that has everything", PATIENCE, || async move {
            Ok(client.query_one(HAS_EVERYTHING, &[position]).await?.get(0))
        })
        .await?;
        Ok(at)
    }

    /// The standby is killed, and started again when a commit waits for it and so much time has passed.
    pub(super) async fn be_without_standby(&mut self, time: Duration) -> Result<()> {
        self.standby.as_mut().context("there is no standby")?.kill()?;
        self.until_a_commit_waits().await?;
        tokio::time::sleep(time).await;
        self.standby.as_mut().context("there is no standby")?.start_again()
    }

    /// The primary dies while its standby is away, so that it takes along what nobody else has. Then the standby takes
    /// over, and is not waited for any more; its own one is, if there is to be one.
    pub(super) async fn fail_over(&mut self) -> Result<()> {
        let doomed = self.begin_doomed().await?;
        let at = self.until_it_has_everything().await?;
        let mut standby = self.standby.take().context("there is no standby")?;
        standby.kill()?;
        self.until_a_commit_waits().await?;
        for transaction in doomed {
            self.commit_doomed(transaction).await;
        }
        // Long enough for a dispatcher to deliver what it must not.
        tokio::time::sleep(OUTAGE).await;
        self.postgres.kill()?;
        standby.start_again()?;
        standby.promote().await?;
        self.postgres = standby;
        let fault = Fault::new(FaultKind::FailedOver, "PostgreSQL", at);
        self.ledger.fault(fault.until(Instant::now()));
        self.begin_long_transaction_anew().await?;
        if self.renews_standby {
            self.standby = Some(self.postgres.standby()?);
            self.wait_for_standbys("*").await?;
        }
        Ok(())
    }

    async fn until_a_commit_waits(&self) -> Result<()> {
        let url = &self.url;
        until("a commit that waits for the standby", PATIENCE, || async move {
            Ok(connect(url).await?.query_one(WAITS, &[]).await?.get(0))
        })
        .await
    }

    /// All are sent before anybody waits for the standby, so that only their commits are forgotten.
    async fn begin_doomed(&self) -> Result<Vec<Doomed>> {
        let send = "select postrider.send('good', jsonb_build_object('marker', $1::text))";
        let mut doomed = Vec::new();
        for transaction in 0..DOOMED {
            let client = connect(&self.url).await?;
            client.batch_execute("begin; select postrider.enable_fast_mode()").await?;
            let mut sent = Vec::new();
            for number in 0..DOOMED_MESSAGES {
                let marker = format!("doomed-{transaction}-{number}");
                let id = MessageId(client.query_one(send, &[&marker]).await?.get(0));
                sent.push((id, marker));
            }
            doomed.push(Doomed { client, sent });
        }
        Ok(doomed)
    }

    async fn commit_doomed(&mut self, transaction: Doomed) {
        let Doomed { client, sent } = transaction;
        let committed = tokio::time::timeout(COMMIT_PATIENCE, client.batch_execute("commit")).await;
        if matches!(committed, Ok(Ok(()))) {
            self.doomed_count += sent.len();
        }
        for (id, marker) in sent {
            self.ledger.commit(Commit {
                destination: "good".into(),
                id: Some(id),
                marker: Some(marker),
                order: None,
                at: Instant::now(),
                is_certain: false,
            });
        }
    }
}
