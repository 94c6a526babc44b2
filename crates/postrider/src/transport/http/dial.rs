//! Makes the connections of an HTTP endpoint: TCP past the guard, then TLS, within one time limit.

use std::{
    error::Error,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use postrider_core::networks::InternalDestinations;
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use crate::transport::{
    Shared,
    guard::{ConnectError, ConnectTimeout, Guard},
};

type BoxError = Box<dyn Error + Send + Sync>;

/// Connects to `http` and `https` addresses.
///
/// The limit stands here and not only around the attempt: a connection that an attempt no longer
/// waits for is finished in the background for the next one.
#[derive(Debug, Clone)]
pub struct Dial {
    connector: HttpsConnector<Guard>,
    timeout: ConnectTimeout,
}

impl Dial {
    /// Connects where `rule` allows it, within `connect_timeout` or the setting.
    pub fn new(
        rule: Arc<InternalDestinations>,
        connect_timeout: Option<Duration>,
        shared: &Arc<Shared>,
    ) -> Self {
        let timeout = ConnectTimeout { own: connect_timeout, shared: Arc::clone(shared) };
        let guard = Guard::new(rule, timeout.clone());
        Self { connector: HttpsConnector::from((guard, shared.tls())), timeout }
    }
}

impl Service<Uri> for Dial {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let limit = self.timeout.get();
        let connecting = self.connector.call(destination);
        Box::pin(async move {
            let in_time = timeout(limit, connecting).await;
            in_time.unwrap_or_else(|_| Err(ConnectError::Timeout { limit }.into()))
        })
    }
}
