//! The engine: read → admit → attempt → decide → flush, for as long as the process lives.
//!
//! [`serve`] runs tenure after tenure ([`postrider_core::tenure`]); between two of them it connects
//! again. What it needs to know to go on is in the database.

pub mod asking;
mod caretaker;
mod connections;
mod driver;
mod keeper;
#[cfg(any(debug_assertions, feature = "test-hooks"))]
mod test_hooks;
#[cfg(not(any(debug_assertions, feature = "test-hooks")))]
#[path = "no_test_hooks.rs"]
mod test_hooks;
mod transports;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use postrider_core::{
    backoff::Backoff,
    failure::chain,
    tenure::{End, Endpoints, Pace, Tenure},
};
use tokio::sync::watch;
use tracing::{info, warn};
use uuid::Uuid;

use self::{
    connections::Connections, driver::Driver, keeper::Keeper, test_hooks::TestHooks,
    transports::Transports,
};
use crate::{
    config::{Config, Wake},
    fleet::{
        self,
        rabbitmq::{Address, AddressError},
    },
    store::{
        self, StoreError,
        bounded::{self, Bounds},
        connect::{self, ConnectError, Connector, Session},
        durability::Delivered,
        lease,
        migrate::{self, SchemaError},
    },
    telemetry::Telemetry,
    transport::{Shared, SharedOptions, options_as_json},
    vitals::{self, Vitals},
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

/// Why a dispatcher does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("could not start a thread")]
    Thread(#[source] std::io::Error),
    #[error(transparent)]
    Broker(#[from] AddressError),
    /// The file with the certificate authorities for receivers cannot be used.
    #[error("http_ca_file {} cannot be used: {reason}", path.display())]
    HttpCaFile { path: PathBuf, reason: String },
}

/// Dispatches as configured until SIGTERM or Ctrl-C. A second signal ends the process at once.
pub async fn serve(
    config: Config,
    vitals: Arc<Vitals>,
    telemetry: Arc<Telemetry>,
) -> Result<(), ServeError> {
    let connector =
        Connector::new(&config.database_url, config.database_ca_file.as_deref(), "postrider")?;
    let options = Options {
        connector,
        max_in_flight: config.serve.max_in_flight,
        pace: Pace {
            shutdown_grace: config.serve.shutdown_grace,
            max_buffered_messages: config.serve.max_buffered_messages,
            flush_interval: config.serve.flush_interval,
            poll_interval: config.serve.poll_interval,
        },
        wake: config.serve.wake,
        transport: transport_options(&config)?,
        test_hooks: TestHooks::from_environment(),
        vitals: Arc::clone(&vitals),
        telemetry,
    };
    let broker = config
        .amqp_url
        .as_ref()
        .map(|url| Address::new(url, config.amqp_ca_file.as_deref()))
        .transpose()?;
    let (stop, is_asked_to_stop) = watch::channel(false);
    let stop = Arc::new(stop);
    let on_signal = Arc::clone(&stop);
    let pulse = tokio::spawn(pulse(Arc::clone(&vitals)));
    tokio::spawn(async move {
        asked_to_stop().await;
        vitals.drain();
        let _ = on_signal.send(true);
        asked_to_stop().await;
        warn!("asked twice: stopping at once");
        std::process::exit(1);
    });
    let connector = options.connector.clone();
    let looking = fleet::run(connector, options_as_json(), broker, is_asked_to_stop.clone());
    let fleet = tokio::spawn(looking);
    let ended = run(options, is_asked_to_stop).await;
    let _ = stop.send(true);
    // It has told what is worth telling.
    let _ = fleet.await;
    pulse.abort();
    ended
}

/// Says again and again that tasks get their turn.
async fn pulse(vitals: Arc<Vitals>) {
    loop {
        vitals.pulse();
        tokio::time::sleep(vitals::PULSE).await;
    }
}

/// What the configuration of this process says about transports.
pub(crate) fn transport_options(config: &Config) -> Result<SharedOptions, ServeError> {
    let mut options = SharedOptions {
        name_servers: config.serve.name_servers.clone(),
        internal_destinations: config.serve.internal_destinations.clone(),
        ..SharedOptions::default()
    };
    if let Some(path) = &config.http_ca_file {
        connect::trust(&mut options.roots, path)
            .map_err(|reason| ServeError::HttpCaFile { path: path.clone(), reason })?;
    }
    Ok(options)
}

async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate => {}
    }
}

/// Dispatches until `is_asked_to_stop` turns true. Connections that are lost are made again; a schema
/// that does not fit, a standby, or a log from elsewhere ends it at once. So does, before anything was dispatched, whatever is
/// neither the loss of a connection nor a bound that a statement ran into, and a server that has never been there: both are
/// mistakes of who has started us.
pub async fn run(
    options: Options,
    is_asked_to_stop: watch::Receiver<bool>,
) -> Result<(), ServeError> {
    let options = Arc::new(options);
    let settings = crate::transport::Settings::default();
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
fn is_outage(error: &ServeError) -> bool {
    matches!(error, ServeError::Connect(error) if error.is_outage())
}

/// Whether a connection was lost, a server that was there cannot be reached any more, or a statement ran into its bounds.
fn passes(error: &ServeError) -> bool {
    match error {
        ServeError::Connect(error) => error.is_loss(),
        ServeError::Store(error) => error.is_loss() || error.is_passing(),
        ServeError::Schema(SchemaError::Unreadable(error)) => {
            store::is_loss(error) || bounded::is_passing(error)
        }
        _ => false,
    }
}

/// Whether trying again cannot help.
fn is_final(error: &ServeError) -> bool {
    match error {
        ServeError::Connect(error) => error.is_configuration(),
        ServeError::Schema(error) => !matches!(error, SchemaError::Unreadable(_)),
        ServeError::Store(error) => {
            matches!(error, StoreError::Standby | StoreError::Foreign { .. })
        }
        ServeError::Thread(_) => false,
        ServeError::Broker(_) | ServeError::HttpCaFile { .. } => true,
    }
}

async fn tenure(
    options: &Arc<Options>,
    shared: &Arc<Shared>,
    delivered: &Arc<Delivered>,
    former: Option<Tenure>,
    is_asked_to_stop: watch::Receiver<bool>,
    was_there: &mut bool,
) -> Result<(End, Tenure), ServeError> {
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
    let keeper = Keeper::start(connector, id, length).map_err(ServeError::Thread)?;
    let endpoints =
        Endpoints::new(options.max_in_flight, options.pace.max_buffered_messages, Instant::now());
    info!(dispatcher = %id, database = options.connector.target(), "dispatching");
    let driver =
        Driver::new(Arc::clone(options), keeper, connections, Transports::new(Arc::clone(shared)));
    Ok(driver.run(endpoints, former, calls, is_asked_to_stop).await)
}

/// A connection with a dispatcher's session settings.
async fn connect(connector: &Connector) -> Result<Session, ServeError> {
    let session = connector.connect().await?;
    lease::prepare_session(&session.client).await?;
    Ok(session)
}
