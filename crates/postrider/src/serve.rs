//! What a dispatcher's process is put together of: the engine that delivers, and the fleets, until it is told to stop.

use std::{path::PathBuf, sync::Arc};

use postrider_core::tenure::Pace;
use postrider_engine::{
    self as engine, Options, RunError, TestHooks,
    telemetry::Telemetry,
    vitals::{self, Vitals},
};
use postrider_fleet::{
    self as fleet,
    rabbitmq::{Address, AddressError},
};
use postrider_store::connect::{self, Connector};
use postrider_transport::{SharedOptions, options_as_json};
use tokio::sync::watch;
use tracing::warn;

use crate::config::Config;

/// Why a process does not dispatch.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Run(#[from] RunError),
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
        Connector::new(&config.database_url, config.database_ca_file.as_deref(), "postrider")
            .map_err(RunError::from)?;
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
    let ended = engine::run(options, is_asked_to_stop).await;
    let _ = stop.send(true);
    // It has told what is worth telling.
    let _ = fleet.await;
    pulse.abort();
    Ok(ended?)
}

/// Says again and again that tasks get their turn.
async fn pulse(vitals: Arc<Vitals>) {
    loop {
        vitals.pulse();
        tokio::time::sleep(vitals::PULSE).await;
    }
}

/// What the configuration of this process says about transports.
pub fn transport_options(config: &Config) -> Result<SharedOptions, ServeError> {
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
