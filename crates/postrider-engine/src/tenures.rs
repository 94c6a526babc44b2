//! Tenure after tenure ([`postrider_core::tenure`]), for as long as the process lives: between two of them it connects
//! again. What it needs to know to go on is in the database.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use postrider_core::{
    backoff::Backoff,
    failure::chain,
    tenure::{End, Endpoints, Pace, Tenure},
};
use postrider_store::{
    self as store, StoreError,
    bounded::{self, Bounds},
    connect::{ConnectError, Connector, Session},
    durability::Delivered,
    lease,
    migrate::{self, SchemaError},
};
use postrider_transport::{Shared, SharedOptions, options_as_json};
use tokio::sync::watch;
use tracing::{info, warn};
use uuid::Uuid;

use crate::{
    connections::Connections, driver::Driver, keeper::Keeper, telemetry::Telemetry,
    test_hooks::TestHooks, transports::Transports, vitals::Vitals,
};

/// The pauses between two tries to connect.
const SHORTEST_BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);

/// How a dispatcher runs.
#[derive(Debug)]
pub struct Options {
    pub connector: Connector,
    /// Messages in flight to all endpoints together.
    pub max_in_flight: usize,
    pub pace: Pace,
    pub wake: Wake,
    pub transport: SharedOptions,
    pub test_hooks: TestHooks,
    pub vitals: Arc<Vitals>,
    pub telemetry: Arc<Telemetry>,
}

/// How a dispatcher without work learns of the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wake {
    /// `Listen`, unless the server allows prepared transactions: then `Poll`.
    #[default]
    Auto,
    /// It sleeps until a sender rings (LISTEN and advisory locks, which need a session of their own).
    /// A transaction that rang cannot be prepared (PREPARE TRANSACTION refuses NOTIFY).
    Listen,
    /// It looks every `poll_interval_ms`: for connections that cannot LISTEN.
    Poll,
}

/// Why a dispatcher does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
}

/// Dispatches until `is_asked_to_stop` turns true. Connections that are lost are made again; a schema
/// that does not fit, a standby, or a log from elsewhere ends it at once. So does, before anything was dispatched, whatever is
/// neither the loss of a connection nor a bound that a statement ran into, and a server that has never been there: both are
/// mistakes of who has started us.
pub async fn run(
    options: Options,
    is_asked_to_stop: watch::Receiver<bool>,
) -> Result<(), RunError> {
    let options = Arc::new(options);
    let settings = postrider_transport::Settings::default();
    let shared = Shared::with_options(settings, options.transport.clone());
    let delivered = Arc::new(Delivered::default());
    let mut former = None;
    let mut backoff = Backoff::new(SHORTEST_BACKOFF, LONGEST_BACKOFF);
    let mut has_dispatched = false;
    let mut was_there = false;
    while !*is_asked_to_stop.borrow() {
        let began = Instant::now();
        let stop = is_asked_to_stop.clone();
        let tenure =
            tenure(&options, &shared, &delivered, former.clone(), stop, &mut was_there).await;
        has_dispatched |= tenure.is_ok();
        options.vitals.end_tenure();
        options.telemetry.in_flight.set(0);
        let telemetry = &options.telemetry;
        match tenure {
            Ok((End::Stopped, _)) => {
                telemetry.end_tenure("stopped");
                info!("stopped");
                return Ok(());
            }
            Ok((End::LeaseLost, tenure)) => {
                telemetry.end_tenure("lease_lost");
                warn!("the lease ran out; starting over");
                former = Some(tenure);
            }
            Ok((End::Failed(error), tenure)) => {
                telemetry.end_tenure("failed");
                let error = chain(&error);
                warn!(%error, "the tenure has failed; starting over from its checkpoints");
                former = Some(tenure);
            }
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => {
                telemetry.connect_failures.inc();
                was_there |= is_outage(&error);
                let may_pass = has_dispatched || was_there && passes(&error);
                if !may_pass {
                    return Err(error);
                }
                warn!(error = %chain(&error), "the database cannot be used yet");
            }
        }
        // A tenure that lasted was not in vain: try again at once.
        let pause = if began.elapsed() > LONGEST_BACKOFF {
            backoff.reset();
            Duration::ZERO
        } else {
            backoff.next(fastrand::f64())
        };
        let mut is_asked = is_asked_to_stop.clone();
        let _ = tokio::time::timeout(pause, is_asked.wait_for(|is_asked| *is_asked)).await;
    }
    Ok(())
}

/// Whether there is a server, which is ending or starting.
fn is_outage(error: &RunError) -> bool {
    matches!(error, RunError::Connect(error) if error.is_outage())
}

/// Whether a connection was lost, a server that was there cannot be reached any more, or a statement ran into its bounds.
fn passes(error: &RunError) -> bool {
    match error {
        RunError::Connect(error) => error.is_loss(),
        RunError::Store(error) => error.is_loss() || error.is_passing(),
        RunError::Schema(SchemaError::Unreadable(error)) => {
            store::is_loss(error) || bounded::is_passing(error)
        }
        _ => false,
    }
}

/// Whether trying again cannot help.
fn is_final(error: &RunError) -> bool {
    match error {
        RunError::Connect(error) => error.is_configuration(),
        RunError::Schema(error) => !matches!(error, SchemaError::Unreadable(_)),
        RunError::Store(error) => {
            matches!(error, StoreError::Standby | StoreError::Foreign { .. })
        }
        RunError::Thread(_) => false,
    }
}

async fn tenure(
    options: &Arc<Options>,
    shared: &Arc<Shared>,
    delivered: &Arc<Delivered>,
    former: Option<Tenure>,
    is_asked_to_stop: watch::Receiver<bool>,
    was_there: &mut bool,
) -> Result<(End, Tenure), RunError> {
    let id = Uuid::new_v4();
    let connector = options.connector.named(&format!("postrider {id}"));
    let first = connector.connect().await?;
    if !std::mem::replace(was_there, true) {
        info!(dispatcher = %id, database = options.connector.target(), "connected");
    }
    lease::prepare_session(&first.client).await?;
    let bounded = bounded::bound(&first.client, Bounds::BEFORE_A_LEASE).await;
    bounded.map_err(StoreError::to("prepare the session"))?;
    if lease::is_standby(&first.client).await? {
        return Err(StoreError::Standby.into());
    }
    migrate::check(&first.client, &options_as_json()).await?;
    lease::confirm_origin(&first.client).await?;
    delivered.confirm(&first.client, id).await?;
    let is_listening = match options.wake {
        Wake::Listen => true,
        Wake::Poll => false,
        Wake::Auto => !lease::may_prepare(&first.client).await?,
    };
    let length = lease::lease_length(&first.client).await?;
    drop(first);

    let delivered = Arc::clone(delivered);
    let (connections, calls) =
        Connections::open(&connector, id, length, is_listening, delivered).await?;
    let keeper = Keeper::start(connector, id, length).map_err(RunError::Thread)?;
    let endpoints =
        Endpoints::new(options.max_in_flight, options.pace.max_buffered_messages, Instant::now());
    info!(dispatcher = %id, database = options.connector.target(), "dispatching");
    let driver =
        Driver::new(Arc::clone(options), keeper, connections, Transports::new(Arc::clone(shared)));
    Ok(driver.run(endpoints, former, calls, is_asked_to_stop).await)
}

/// A connection with a dispatcher's session settings.
pub async fn connect(connector: &Connector) -> Result<Session, RunError> {
    let session = connector.connect().await?;
    lease::prepare_session(&session.client).await?;
    Ok(session)
}
