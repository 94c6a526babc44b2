//! What all transports of a dispatcher share: live settings and TLS.
//!
//! Connections are not shared: each endpoint has a pool of its own. Endpoints behind one host would
//! otherwise wait for each other's HTTP/2 streams, and the pool's lock would be everybody's.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use postrider_core::networks::InternalDestinations;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::sync::Semaphore;

/// The settings that transports follow, as they are at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `http_timeout`: from the request to its answer.
    pub http_timeout: Duration,
    /// `http_connect_timeout`: name look-up, TCP and TLS together.
    pub http_connect_timeout: Duration,
    /// `allow_internal_destinations`.
    pub internal_destinations: Arc<InternalDestinations>,
    /// `capture_response`: unless an endpoint says otherwise.
    pub captures_responses: bool,
    /// `response_body_max_size`, in bytes.
    pub response_body_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            http_timeout: Duration::from_secs(10),
            http_connect_timeout: Duration::from_secs(5),
            internal_destinations: Arc::default(),
            captures_responses: false,
            response_body_max: 64 * 1024,
        }
    }
}

/// How much of captured answers may be in memory, in KiB: until they are recorded. What finds no room
/// is cut.
const CAPTURED_KIB: usize = 32 * 1024;

/// What all transports of a dispatcher share.
#[derive(Debug)]
pub struct Shared {
    settings: RwLock<Arc<Settings>>,
    tls: Arc<ClientConfig>,
    captured: Arc<Semaphore>,
}

impl Shared {
    /// Trusts the certificate authorities that Mozilla trusts (`webpki-roots`).
    pub fn new(settings: Settings) -> Arc<Self> {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        Self::with_roots(settings, roots)
    }

    /// Trusts these certificate authorities and no others.
    pub fn with_roots(settings: Settings, roots: RootCertStore) -> Arc<Self> {
        let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring offers the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(Self {
            settings: RwLock::new(Arc::new(settings)),
            tls: Arc::new(tls),
            captured: Arc::new(Semaphore::new(CAPTURED_KIB)),
        })
    }

    /// The settings of now. Each attempt asks anew and keeps to what it got.
    pub fn settings(&self) -> Arc<Settings> {
        // A writer only ever replaces the whole value, so a poisoned lock still holds a good one.
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets every attempt that begins from now on follow `settings`.
    pub fn apply(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Room for captured answers, a permit per KiB.
    pub(super) fn captured(&self) -> &Arc<Semaphore> {
        &self.captured
    }

    /// For HTTP: offers HTTP/2 and HTTP/1.1.
    pub(super) fn tls(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.tls)
    }
}
