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
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use super::frames::Frames;
use crate::transport::{
    Shared,
    fair::Fair,
    guard::{ConnectError, ConnectTimeout, Guard, Rule},
    idle::Counted,
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
    counted: Arc<Counted>,
}

impl Dial {
    /// Connects where `rule` allows it, within `connect_timeout` or the setting.
    pub fn new(
        rule: Rule,
        connect_timeout: Option<Duration>,
        shared: &Arc<Shared>,
        counted: Arc<Counted>,
    ) -> Self {
        let timeout = ConnectTimeout { own: connect_timeout, shared: Arc::clone(shared) };
        let guard = Guard::new(rule, timeout.clone());
        Self { connector: HttpsConnector::from((guard, shared.tls())), timeout, counted }
    }
}

type Tls = MaybeHttpsStream<TokioIo<Fair<TcpStream>>>;

/// A connection as HTTP uses it.
pub type Line = TokioIo<Frames<TokioIo<Tls>>>;

impl Connection for Frames<TokioIo<Tls>> {
    fn connected(&self) -> Connected {
        self.stream().inner().connected()
    }
}

impl Service<Uri> for Dial {
    type Response = Line;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let limit = self.timeout.get();
        let connecting = self.connector.call(destination);
        let counted = Arc::clone(&self.counted);
        Box::pin(async move {
            let in_time = timeout(limit, connecting).await;
            let stream = in_time.map_err(|_| ConnectError::Timeout { limit })??;
            let is_http2 = stream.connected().is_negotiated_h2();
            Ok(TokioIo::new(Frames::new(TokioIo::new(stream), is_http2, counted.open())))
        })
    }
}
