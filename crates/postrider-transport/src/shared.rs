//! What all transports of a dispatcher share: live settings and TLS.
//!
//! Connections are not shared: each endpoint has a pool of its own. Endpoints behind one host would
//! otherwise wait for each other's HTTP/2 streams, and the pool's lock would be everybody's.

use std::{
    net::SocketAddr,
    sync::{Arc, PoisonError, RwLock},
};

use postrider_core::networks::InternalDestinations;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::sync::Semaphore;

use super::{
    Settings,
    idle::{IDLE_MAX, IdleConnections},
    names::Names,
};

/// How much of captured answers may be in memory, in KiB: until they are recorded. What finds no room
/// is cut.
const CAPTURED_KIB: usize = 32 * 1024;

/// What the process, and not the database, says about transports.
#[derive(Debug, Clone)]
pub struct SharedOptions {
    /// The certificate authorities that are trusted.
    pub roots: RootCertStore,
    /// Whom to ask for addresses of names; nobody: as the system says.
    pub name_servers: Vec<SocketAddr>,
    /// What the setting `allow_internal_destinations` may allow at most.
    pub internal_destinations: InternalDestinations,
    /// How many connections may be open that nobody uses.
    pub idle_max: usize,
}

impl Default for SharedOptions {
    /// Trusts the certificate authorities that Mozilla trusts (`webpki-roots`), and the setting.
    fn default() -> Self {
        Self {
            roots: RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
            name_servers: Vec::new(),
            internal_destinations: InternalDestinations::On,
            idle_max: IDLE_MAX,
        }
    }
}

/// What all transports of a dispatcher share.
#[derive(Debug)]
pub struct Shared {
    settings: RwLock<Arc<Settings>>,
    tls: Arc<ClientConfig>,
    roots: Arc<RootCertStore>,
    captured: Arc<Semaphore>,
    names: Arc<Names>,
    idle: Arc<IdleConnections>,
    internal_bound: InternalDestinations,
}

impl Shared {
    /// With the default options.
    pub fn new(settings: Settings) -> Arc<Self> {
        Self::with_options(settings, SharedOptions::default())
    }

    /// With options of the process.
    pub fn with_options(settings: Settings, options: SharedOptions) -> Arc<Self> {
        let roots = Arc::new(options.roots);
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring offers the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(Arc::clone(&roots))
            .with_no_client_auth();
        let shared = Self {
            settings: RwLock::default(),
            tls: Arc::new(offering_http(tls)),
            roots,
            captured: Arc::new(Semaphore::new(CAPTURED_KIB)),
            names: Arc::new(Names::new(options.name_servers)),
            idle: IdleConnections::new(options.idle_max),
            internal_bound: options.internal_destinations,
        };
        shared.apply(settings);
        Arc::new(shared)
    }

    /// The settings of now. Each attempt asks anew and keeps to what it got.
    pub fn settings(&self) -> Arc<Settings> {
        // A writer only ever replaces the whole value, so a poisoned lock still holds a good one.
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets every attempt that begins from now on follow `settings`.
    pub fn apply(&self, mut settings: Settings) {
        let allowed = Arc::unwrap_or_clone(settings.internal_destinations);
        settings.internal_destinations = Arc::new(allowed.within(&self.internal_bound));
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Room for captured answers, a permit per KiB.
    pub(super) fn captured(&self) -> &Arc<Semaphore> {
        &self.captured
    }

    /// Resolves names for all endpoints.
    pub(super) fn names(&self) -> Arc<Names> {
        Arc::clone(&self.names)
    }

    /// Counts what all endpoints keep open.
    pub(super) fn idle(&self) -> &Arc<IdleConnections> {
        &self.idle
    }

    /// The certificate authorities that are trusted.
    pub(super) fn roots(&self) -> Arc<RootCertStore> {
        Arc::clone(&self.roots)
    }

    /// For HTTP: offers HTTP/2 and HTTP/1.1.
    pub(super) fn tls(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.tls)
    }
}

/// Offers HTTP/2 and HTTP/1.1.
pub(super) fn offering_http(mut tls: ClientConfig) -> ClientConfig {
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    tls
}
