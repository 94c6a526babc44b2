//! Where it is measured: a private server set up like a production one, databases, dispatchers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use postrider_testkit::postgres::{self, Options, PrivatePostgres};
use postrider_testkit::process::{
    Dispatcher, DispatcherOptions, Profile, postrider_binary, workspace,
};
use tokio_postgres::Client;

/// What differs from PostgreSQL's own defaults. `max_wal_size` keeps checkpoints, and the full page
/// images that follow them, from hitting one side of a comparison by chance.
pub const SETTINGS: &[(&str, &str)] = &[
    ("shared_buffers", "1GB"),
    ("max_wal_size", "32GB"),
    ("checkpoint_timeout", "30min"),
    ("random_page_cost", "1.1"),
];

/// How long a dispatcher may take to own its shards or to stop.
const DISPATCHER_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two looks at what is done. A look costs a fraction of a millisecond.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// A server and our binary.
#[derive(Debug)]
pub struct Stand {
    postgres: Arc<PrivatePostgres>,
    binary: PathBuf,
}

/// A database with Postrider installed. Dropped by [`Database::remove`].
#[derive(Debug)]
pub struct Database<'a> {
    stand: &'a Stand,
    name: String,
    /// For everything that is not measured.
    pub client: Client,
}

impl Stand {
    /// Builds the binary and starts a server on the disk of the build tree.
    pub fn start() -> Result<Self> {
        let installation = postgres::ensure_installed()?;
        let binary = postrider_binary(Profile::Release, &[])?;
        let folder = workspace().join("target").join("bench");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("could not make {}", folder.display()))?;
        let mut options = Options {
            fsync: true,
            installation: Some(installation),
            base_folder: Some(folder),
            ..Options::default()
        };
        for (name, value) in SETTINGS {
            options = options.set(name, value);
        }
        Ok(Self { postgres: Arc::new(PrivatePostgres::start(options)?), binary })
    }

    /// The same server and another binary.
    pub fn with(&self, binary: &Path) -> Self {
        Self { postgres: Arc::clone(&self.postgres), binary: binary.to_owned() }
    }

    pub fn postgres(&self) -> &PrivatePostgres {
        &self.postgres
    }

    /// A fresh database.
    pub async fn database(&self, name: &str) -> Result<Database<'_>> {
        self.postgres.create_database(name).await?;
        let url = self.postgres.url_for(name);
        let output = Command::new(&self.binary).arg("migrate").env("DATABASE_URL", url).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`postrider migrate` failed:\n{said}");
        let client = self.postgres.connect_to(name).await?;
        client
            .batch_execute("select postrider.set_setting('allow_internal_destinations', 'on')")
            .await?;
        Ok(Database { stand: self, name: name.to_owned(), client })
    }
}

impl Database<'_> {
    /// A connection. `synchronous_commit` is as the server has it: on.
    pub async fn connect(&self) -> Result<Client> {
        self.stand.postgres.connect_to(&self.name).await
    }

    pub fn url(&self) -> String {
        self.stand.postgres.url_for(&self.name)
    }

    /// Makes an endpoint that accepts everything at once.
    pub async fn create_discard(&self, name: &str) -> Result<()> {
        let sql = "select postrider.create_endpoint($1, 'discard', '{}')";
        self.client.execute(sql, &[&name]).await?;
        Ok(())
    }

    /// Makes an endpoint for a receiver.
    pub async fn create_http(&self, name: &str, url: &str) -> Result<()> {
        let sql =
            "select postrider.create_endpoint($1, 'http', jsonb_build_object('url', $2::text))";
        self.client.execute(sql, &[&name, &url]).await?;
        Ok(())
    }

    /// Writes dirty pages out, so that no checkpoint falls into what is measured next.
    pub async fn checkpoint(&self) -> Result<()> {
        Ok(self.client.batch_execute("checkpoint").await?)
    }

    /// Starts `postrider serve`.
    pub fn dispatcher(&self) -> Result<Dispatcher> {
        Dispatcher::start(&DispatcherOptions::serve(&self.stand.binary, &self.url()))
    }

    /// Starts `postrider serve` and waits until it owns its shards.
    pub async fn ready_dispatcher(&self) -> Result<Dispatcher> {
        self.ready_dispatcher_with(&[]).await
    }

    /// The same with environment variables.
    pub async fn ready_dispatcher_with(&self, variables: &[(&str, &str)]) -> Result<Dispatcher> {
        let mut options = DispatcherOptions::serve(&self.stand.binary, &self.url());
        for (name, value) in variables {
            options = options.variable(name, value);
        }
        let dispatcher = Dispatcher::start(&options)?;
        dispatcher.wait_for_log("shards acquired", DISPATCHER_TIMEOUT).await?;
        Ok(dispatcher)
    }

    /// How many messages are on record as delivered, among those from a bucket on.
    pub async fn done_count(&self, from_bucket: i64) -> Result<i64> {
        let row = self.client.query_one(include_str!("done_count.sql"), &[&from_bucket]).await?;
        Ok(row.get(0))
    }

    /// Waits until `count` messages are on record as delivered; when that was.
    pub async fn wait_for_done(&self, count: i64, timeout: Duration) -> Result<Instant> {
        let began_at = Instant::now();
        loop {
            let done = self.done_count(0).await?;
            if done >= count {
                return Ok(Instant::now());
            }
            if began_at.elapsed() > timeout {
                bail!("{done} of {count} messages are delivered after {timeout:?}");
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Dead row versions in a schema, as the server's statistics have it.
    pub async fn dead_tuples(&self, schema: &str) -> Result<i64> {
        let row = self.client.query_one(include_str!("dead_tuples.sql"), &[&schema]).await?;
        Ok(row.get(0))
    }

    /// Drops the database, whoever is connected to it.
    pub async fn remove(self) -> Result<()> {
        let sql = format!("drop database \"{}\" with (force)", self.name);
        self.stand.postgres.execute("postgres", &sql).await
    }
}

/// Stops a dispatcher the ordinary way.
pub async fn stop(dispatcher: Dispatcher) -> Result<()> {
    dispatcher.sigterm();
    dispatcher.wait(DISPATCHER_TIMEOUT).await?;
    Ok(())
}
