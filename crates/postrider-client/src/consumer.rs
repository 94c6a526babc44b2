//! Reads the log as a named consumer: in batches, each in the transaction that acknowledges it.
//!
//! `reader.rs` has the road of a batch, `membership.rs` says which partitions are read by this process,
//! `schedule.rs` which one is next. `session.rs` is the only one that talks to the database.

mod membership;
mod message;
pub(crate) mod poison;
mod reader;
mod schedule;
pub(crate) mod session;
mod stream;
mod together;
pub(crate) mod trouble;

use std::error::Error as StdError;
use std::fmt;
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_postgres::{Config, NoTls, Transaction};

use crate::Error;
use crate::database::{Address, Database, Tls};
use membership::Membership;
pub use message::{Batch, Message};
use poison::Backoff;
pub use poison::Poison;
use reader::Reader;
use schedule::Schedule;
pub use stream::Messages;
use together::together;
pub use trouble::Trouble;

type BoxError = Box<dyn StdError + Send + Sync>;

/// The partitions that a consumer may have at most.
const MOST_CONNECTIONS: usize = 64;
const MOST_MESSAGES: u32 = 10_000;
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const LEASES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// Reads the log as a named consumer, which `create_consumer` has made.
///
/// A handler gets messages in batches, in the transaction that acknowledges them. What it writes in that
/// transaction is there **exactly once** for each message, whatever fails; what it does elsewhere is done
/// at least once.
///
/// ```no_run
/// # async fn example(url: &str) -> Result<(), Box<dyn std::error::Error>> {
/// use postrider_client::Consumer;
///
/// let consumer = Consumer::builder("projection").url(url).build()?;
/// consumer
///     .run(async |transaction, batch| {
///         for message in batch {
///             let order: i64 = message.json()?;
///             let sql = "insert into projection (order_id) values ($1)";
///             transaction.execute(sql, &[&order]).await?;
///         }
///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
///     })
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// # What happens to a batch
///
/// It is noted that the batch is begun; a transaction fetches it; the handler is called; the last message
/// is acknowledged; the transaction commits. An error or panic of the handler, a lost connection, a restart
/// of PostgreSQL: the transaction is rolled back, and the messages come again, one by one until the
/// ones of that batch are through, after waits that grow ([`ConsumerBuilder::backoff`]). A message that fails
/// again and again is parked, or stops the consumer: see [`Poison`]. [`ConsumerBuilder::on_trouble`]
/// tells what went wrong; nothing is printed.
///
/// The handler must not end the transaction by SQL. It may use savepoints, send messages
/// ([`Postrider::send`](crate::Postrider::send)), and return any error that can be boxed.
///
/// # Many processes
///
/// Every process that runs a consumer is a member. Members lease its partitions: one that has none waits,
/// and asks again a few times while a lease lasts. So of a consumer with one partition one process
/// reads and the others stand by; they take over at most a lease after it has died, and soon after it has
/// stopped. With several partitions, all of a member's are read at the same time, each by a connection of
/// its own, up to [`ConsumerBuilder::connections`]. Members that come and go get their share: who loses a
/// partition finishes the batch in hand.
///
/// Leases are for balance. What keeps two members from ever getting the same message is a lock in the
/// transaction of each batch. A process that freezes with a batch in hand loses it after
/// [`ConsumerBuilder::batch_timeout`]: the server ends its transaction, and whatever it does when it wakes
/// up is refused.
///
/// # Connections
///
/// It opens its own: one for the leases, one for each partition that is read at the same time. A broken
/// one is opened again, for as long as it takes; what the server refuses for good (a wrong password, a
/// consumer that does not exist, a missing right) ends it with an error. All handlers run in the task
/// that awaits [`Consumer::run`]: for more than one core, run several consumers of that name.
pub struct Consumer<T = NoTls> {
    address: Address<T>,
    options: Options,
}

#[derive(Clone)]
struct Options {
    name: String,
    batch_size: i32,
    wait: Duration,
    batch_timeout: Duration,
    lease: Duration,
    connections: usize,
    backoff: Backoff,
    poison: Poison,
    on_trouble: Option<OnTrouble>,
}

type OnTrouble = Arc<dyn Fn(&Trouble) + Send + Sync>;

impl Consumer {
    /// Begins to describe a consumer. `name` is what `create_consumer` was given.
    pub fn builder(name: impl Into<String>) -> ConsumerBuilder {
        ConsumerBuilder {
            database: Database::unknown("consumer"),
            batch_size: 100,
            options: Options {
                name: name.into(),
                batch_size: 100,
                wait: Duration::from_secs(5),
                batch_timeout: Duration::from_secs(60),
                lease: Duration::from_secs(15),
                connections: 16,
                backoff: Backoff {
                    shortest: Duration::from_millis(200),
                    longest: Duration::from_secs(30),
                },
                poison: Poison::Park { after: 10 },
                on_trouble: None,
            },
        }
    }
}

impl<T: Tls> Consumer<T> {
    /// Reads until there is an error that does not go away by itself. The handler is called for each
    /// batch, on a clone of it.
    ///
    /// Dropping the future rolls back what is in hand; the server may hold a partition that was being
    /// waited at for [`ConsumerBuilder::wait`] longer, and its lease runs out. [`Consumer::run_until`]
    /// stops in an orderly way.
    ///
    /// The future is `Send` when what the handler captures and awaits is, so it can be spawned:
    ///
    /// ```no_run
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # use std::sync::Arc;
    /// # use postrider_client::Consumer;
    /// # fn example(consumer: Consumer, seen: Arc<AtomicU64>) {
    /// tokio::spawn(consumer.run(async move |transaction, batch| {
    ///     transaction.execute("update statistics set read_at = now()", &[]).await?;
    ///     seen.fetch_add(batch.len() as u64, Ordering::Relaxed);
    ///     Ok::<_, tokio_postgres::Error>(())
    /// }));
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UnknownConsumer`], [`Error::Poisoned`] with [`Poison::Stop`], [`Error::Database`] for a
    /// refusal that stays (rights, passwords, a schema that is not installed), [`Error::Invalid`]. What was
    /// in hand elsewhere was finished before.
    pub async fn run<F, E>(self, handler: F) -> Result<(), Error>
    where
        F: AsyncFnOnce(&mut Transaction<'_>, &Batch) -> Result<(), E> + Clone,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.run_until(std::future::pending(), handler).await
    }

    /// [`Consumer::run`] until `shutdown` is ready: then the batches in hand are finished and committed, the
    /// partitions given back to others, and the result is `Ok`.
    ///
    /// ```no_run
    /// # async fn example(consumer: postrider_client::Consumer) -> Result<(), postrider_client::Error> {
    /// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    /// let shutdown = async move {
    ///     let _ = stopped.await;
    /// };
    /// consumer.run_until(shutdown, async |_, _| Ok::<_, tokio_postgres::Error>(())).await?;
    /// # drop(stop);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Consumer::run`].
    pub async fn run_until<S, F, E>(self, shutdown: S, handler: F) -> Result<(), Error>
    where
        S: Future<Output = ()>,
        F: AsyncFnOnce(&mut Transaction<'_>, &Batch) -> Result<(), E> + Clone,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let schedule = Arc::new(Schedule::default());
        let stop = watch::Sender::new(false);
        let readers = (0..self.options.connections).map(|_| {
            let handler = handler.clone();
            let reader =
                Reader { consumer: &self, schedule: &schedule, stop: stop.clone(), handler };
            reader.read()
        });
        let mut reading = pin!(together(readers.collect()));
        let mut shutdown = pin!(shutdown);
        let mut membership = Membership::begin(&self, &schedule);
        let mut is_stopping = false;
        let mut outcome = Ok(());
        loop {
            tokio::select! {
                result = &mut reading => {
                    outcome = outcome.and(result);
                    break;
                }
                () = &mut shutdown, if !is_stopping => {}
                result = membership.end(), if !is_stopping => outcome = result,
            }
            is_stopping = true;
            stop.send_replace(true);
        }
        membership.leave().await;
        outcome
    }

    /// Reads as a [`Stream`](futures_core::Stream) of messages. Has to be called in a runtime of tokio, in
    /// which it spawns a task.
    ///
    /// Each message comes **at least once**. They come in pages of [`ConsumerBuilder::batch_size`], whose
    /// transaction is open while you process them. A page is acknowledged when the message *after* its last
    /// one is asked for, and not before: then all of it has been processed. Dropping the stream, in the
    /// middle of a page or at its end, rolls the page back, and it comes again. So does a page whose
    /// processing takes longer than [`ConsumerBuilder::batch_timeout`], or whose connection breaks; the stream
    /// goes on with it.
    ///
    /// Partitions are read one after the other. [`Poison`] counts a page that was not acknowledged as failed,
    /// whatever the reason: a message that ten streams were dropped at is parked.
    ///
    /// ```no_run
    /// # async fn example(consumer: postrider_client::Consumer) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut messages = consumer.stream();
    /// while let Some(message) = messages.next().await {
    ///     println!("{:?}", message?.data());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(self) -> Messages {
        Messages::open(self)
    }

    fn report(&self, trouble: &Trouble) {
        if let Some(on_trouble) = &self.options.on_trouble {
            on_trouble(trouble);
        }
    }
}

impl<T: Clone> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self { address: self.address.clone(), options: self.options.clone() }
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Consumer").field("name", &self.options.name).finish_non_exhaustive()
    }
}

/// Describes a [`Consumer`].
///
/// ```
/// use std::time::Duration;
/// use postrider_client::{Consumer, Poison};
///
/// let consumer = Consumer::builder("projection")
///     .url("postgres://app@localhost/shop")
///     .batch_size(500)
///     .batch_timeout(Duration::from_secs(20))
///     .poison(Poison::Stop { after: 5 })
///     .on_trouble(|trouble| eprintln!("projection: {trouble}"))
///     .build()?;
/// # Ok::<(), postrider_client::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct ConsumerBuilder<T = NoTls> {
    database: Database<T>,
    batch_size: u32,
    options: Options,
}

impl<T> ConsumerBuilder<T> {
    /// Where the database is, as a connection string or URL of tokio-postgres. Unless it says otherwise,
    /// a connection whose other end has vanished is given up after a minute (`keepalives_idle`,
    /// `tcp_user_timeout`), and the sessions are called `consumer` and its name in `pg_stat_activity`. The
    /// isolation level by default has to be READ COMMITTED, as PostgreSQL has it.
    pub fn url(mut self, url: &str) -> Self {
        self.database.set_url(url);
        self
    }

    /// Where the database is.
    pub fn config(mut self, config: Config) -> Self {
        self.database.set_config(config);
        self
    }

    /// A connector for TLS, such as that of tokio-postgres-rustls. Without one connections are not
    /// encrypted.
    pub fn tls<U: Tls>(self, tls: U) -> ConsumerBuilder<U> {
        let Self { database, batch_size, options } = self;
        ConsumerBuilder { database: database.with_tls(tls), batch_size, options }
    }

    /// How many messages a batch has at most: 1 to 10,000, 100 unless set.
    pub fn batch_size(mut self, messages: u32) -> Self {
        self.batch_size = messages;
        self
    }

    /// How long a fetch waits in the database for new messages: up to 60 s, 5 s unless set. It returns as
    /// soon as there are some. While it waits, vacuum cannot remove what is deleted meanwhile.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = wait;
        self
    }

    /// How long the handler may leave the transaction idle: 60 s unless set, at least a millisecond. The
    /// server ends a session that idles longer, so that a process that is frozen does not hold its partition
    /// for ever. A single statement may take as long, and [`ConsumerBuilder::wait`] longer; 30 s at least.
    pub fn batch_timeout(mut self, timeout: Duration) -> Self {
        self.options.batch_timeout = timeout;
        self
    }

    /// After what time without a word from a member its partitions go to others: 1 s to 1 h, 15 s unless
    /// set.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease;
        self
    }

    /// How many partitions are read at the same time: 1 to 64, 16 unless set. Of more they are read in turn.
    pub fn connections(mut self, connections: usize) -> Self {
        self.options.connections = connections;
        self
    }

    /// How long to wait after failures in a row, of a batch or a connection: a random time up to `shortest`
    /// after the first, twice that after the second, and so on up to `longest`. 200 ms and 30 s unless set.
    pub fn backoff(mut self, shortest: Duration, longest: Duration) -> Self {
        self.options.backoff = Backoff { shortest, longest };
        self
    }

    /// What becomes of a message that fails again and again: it is parked after 10 failures unless set.
    pub fn poison(mut self, poison: Poison) -> Self {
        self.options.poison = poison;
        self
    }

    /// Is called with everything that goes wrong and does not end the consumer: for your log. It must not
    /// block.
    pub fn on_trouble(mut self, report: impl Fn(&Trouble) + Send + Sync + 'static) -> Self {
        self.options.on_trouble = Some(Arc::new(report));
        self
    }

    /// The consumer. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`]: there is no address, or a value is out of its range.
    pub fn build(self) -> Result<Consumer<T>, Error> {
        let Self { database, batch_size, mut options } = self;
        let address = database.address(&options.name)?;
        check(&options, batch_size).map_err(Error::Misconfigured)?;
        options.batch_size = i32::try_from(batch_size).unwrap_or(i32::MAX);
        Ok(Consumer { address, options })
    }
}

impl<T> fmt::Debug for ConsumerBuilder<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.options.name;
        formatter.debug_struct("ConsumerBuilder").field("name", name).finish_non_exhaustive()
    }
}

fn check(options: &Options, batch_size: u32) -> Result<(), String> {
    let Options { wait, batch_timeout, lease, connections, backoff, poison, .. } = options;
    let rules = [
        ((1..=MOST_MESSAGES).contains(&batch_size), "batch_size must be 1 to 10,000"),
        (*wait <= LONGEST_WAIT, "wait must be 60 s at most"),
        (*batch_timeout >= Duration::from_millis(1), "batch_timeout must be 1 ms at least"),
        (LEASES.contains(lease), "lease must be 1 s to 1 h"),
        ((1..=MOST_CONNECTIONS).contains(connections), "connections must be 1 to 64"),
        (!backoff.shortest.is_zero(), "the shortest backoff must be more than nothing"),
        (backoff.shortest <= backoff.longest, "the shortest backoff must not be above the longest"),
        (poison.after() > 0, "the poison policy must allow 1 failure at least"),
    ];
    match rules.iter().find(|(is_held, _)| !is_held) {
        Some((_, rule)) => Err((*rule).to_owned()),
        None => Ok(()),
    }
}
