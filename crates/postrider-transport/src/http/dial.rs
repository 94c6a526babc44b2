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
use rustls::ClientConfig;
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use super::{egress::Way, failure, frames::Frames, proxy::Proxy, tls::Tls};
use crate::{
    Shared,
    fair::Fair,
    guard::{ConnectError, ConnectTimeout, Guard, Rule},
    idle::Counted,
};

type BoxError = Box<dyn Error + Send + Sync>;

/// What makes a connection another one than one to the same place.
#[derive(Clone)]
pub struct Route {
    pub tls: Tls,
    pub way: Way,
}

/// Connects to `http` and `https` addresses.
///
/// The limit stands here and not only around the attempt: a connection that an attempt no longer
/// waits for is finished in the background for the next one.
#[derive(Debug, Clone)]
pub struct Dial {
    connector: HttpsConnector<Passage>,
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
        route: &Route,
    ) -> Self {
        let timeout = ConnectTimeout { own: connect_timeout, shared: Arc::clone(shared) };
        let sources = || Arc::clone(&route.way.sources);
        let through = route.way.proxy.as_ref().map(|proxy| {
            // What it gets to read must not be a secret of ours, and neither what it is shown.
            let is_secret = rule.has_plain_secrets || proxy.user.is_some();
            let rule = Rule { has_plain_secrets: proxy.is_plain() && is_secret, ..rule.clone() };
            let mut tls = ClientConfig::clone(&shared.tls());
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            let guard = Guard::new(rule, timeout.clone(), sources());
            Through { proxy: Arc::clone(proxy), connector: HttpsConnector::from((guard, tls)) }
        });
        let passage = Passage { guard: Guard::new(rule, timeout.clone(), sources()), through };
        let tls = Arc::clone(&route.tls.config);
        let connector = HttpsConnector::new(passage, tls, false, Arc::clone(&route.tls.names));
        Self { connector, timeout, counted }
    }
}

type Straight = TokioIo<Fair<TcpStream>>;
/// To a destination as it is, or within TLS to a proxy.
type Passed = MaybeHttpsStream<Straight>;
type Secured = MaybeHttpsStream<Passed>;

/// How many addresses of a destination a proxy is asked for.
const ADDRESSES_MAX: usize = 4;

/// The way to a destination: straight, or through a proxy.
#[derive(Debug, Clone)]
struct Passage {
    guard: Guard,
    through: Option<Through>,
}

#[derive(Debug, Clone)]
struct Through {
    proxy: Arc<Proxy>,
    connector: HttpsConnector<Guard>,
}

impl Service<Uri> for Passage {
    type Response = Passed;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Passed, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.guard.poll_ready(context)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let Some(mut through) = self.through.clone() else {
            let connecting = self.guard.call(destination);
            return Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) });
        };
        let guard = self.guard.clone();
        Box::pin(async move {
            let mut refusal = None;
            for address in guard.resolve(&destination).await?.into_iter().take(ADDRESSES_MAX) {
                let mut stream = TokioIo::new(through.connect().await?);
                match through.proxy.pass(&mut stream, address).await {
                    Ok(()) => return Ok(stream.into_inner()),
                    Err(error) => refusal = Some(error),
                }
            }
            Err(refusal.expect("an allowed address at least").into())
        })
    }
}

impl Through {
    async fn connect(&mut self) -> Result<Passed, ConnectError> {
        let connecting = self.connector.call(self.proxy.url.clone()).await;
        connecting.map_err(|error| ConnectError::Proxy { what: failure::describe(&*error) })
    }
}

/// A connection as HTTP uses it.
pub type Line = TokioIo<Frames<TokioIo<Secured>>>;

impl Connection for Frames<TokioIo<Secured>> {
    fn connected(&self) -> Connected {
        self.stream().inner().connected().extra(self.switch())
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
