//! The guard against server-side request forgery: connects to allowed addresses only.
//!
//! Stands where the TCP connection is made, so that it does not matter how a destination was
//! written: a name, `localhost.`, `0x7f000001` and `[::ffff:127.0.0.1]` all end in an address, and
//! the address is judged. Judged are an address that stands in the URL, each address that a name
//! resolves to, and once more the peer that the socket is connected to, so that a name which
//! changes its mind in between gains nothing.

use std::{
    error::Error,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use postrider_core::networks::{InternalDestinations, is_private, is_web_port, literal};
use tokio::{net::TcpStream, sync::Semaphore};
use tower_service::Service;
use tracing::debug;

use super::{Shared, fair::Fair, names::Names};

/// The most look-ups that one endpoint may have under way.
const LOOKUPS_MAX: usize = 2;
/// After this long in silence the kernel asks whether an idle connection still lives.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

type BoxError = Box<dyn Error + Send + Sync>;

/// Why there is no connection, where the operating system has no word for it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The destination is not one that we may connect to. What its name resolved to is nobody's business who
    /// may only look at errors.
    #[error("the destination's address is internal; see allow_internal_destinations")]
    Internal,
    /// Secrets would be sent for everybody on the way to read.
    #[error("secret headers are sent over plain http to private addresses only: use https")]
    PlainSecret,
    /// Something else than HTTP is spoken there.
    #[error("port {port} is not for web traffic; see allow_any_port")]
    Port {
        /// The port in the endpoint's address.
        port: u16,
    },
    /// The name of the destination could not be resolved. Why is no source: it would be taken for a failure of the
    /// connection.
    #[error("DNS failure: the host name could not be resolved")]
    Unresolved(io::Error),
    /// Name look-up, TCP and TLS together took longer than allowed.
    #[error("timeout: no connection within {} s", limit.as_secs_f32())]
    Timeout {
        /// The connect timeout.
        limit: Duration,
    },
    /// There is no way through the proxy.
    #[error("proxy: {what}")]
    Proxy {
        /// What it said, or why it said nothing.
        what: String,
    },
    /// The destination sends more than an answer can be made of.
    #[error("the destination sent more than it was asked for")]
    Flood,
    /// The destination does not take what it is sent, whether it answers or not.
    #[error("the destination did not take what it was sent")]
    Untaken,
}

/// How long connecting may take: the endpoint's own limit, or the setting of the moment.
#[derive(Debug, Clone)]
pub struct ConnectTimeout {
    /// The endpoint's own limit.
    pub own: Option<Duration>,
    /// Has the setting.
    pub shared: Arc<Shared>,
}

impl ConnectTimeout {
    /// The limit for a connection that is begun now.
    pub fn get(&self) -> Duration {
        self.own.unwrap_or_else(|| self.shared.settings().http_connect_timeout)
    }
}

/// Makes TCP connections to allowed addresses.
///
/// A guard keeps to the networks that it was made with: connections that were made under other
/// rules must not be used again, so whoever pools them has to make a new pool with a new guard.
#[derive(Debug, Clone)]
pub struct Guard {
    connector: HttpConnector<Resolver>,
    rule: Rule,
    timeout: ConnectTimeout,
    sources: Arc<Sources>,
    lookups: Arc<Semaphore>,
}

impl Guard {
    /// A guard for the connections of one endpoint, which are made from these addresses.
    pub fn new(rule: Rule, timeout: ConnectTimeout, sources: Arc<Sources>) -> Self {
        let lookups = Arc::new(Semaphore::new(LOOKUPS_MAX));
        let resolver = Resolver {
            rule: rule.clone(),
            lookups: Arc::clone(&lookups),
            names: timeout.shared.names(),
        };
        let mut connector = HttpConnector::new_with_resolver(resolver);
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_keepalive(Some(TCP_KEEPALIVE));
        Self { connector, rule, timeout, sources, lookups }
    }
}

impl Service<Uri> for Guard {
    type Response = TokioIo<Fair<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        // The connector does not ask its resolver about an address that stands in the URL.
        let literal = destination.host().and_then(literal);
        let judged = literal.map_or(Ok(()), |address| self.rule.judge(address));
        if let Err(error) = judged.and_then(|()| self.judge_port(&destination)) {
            return Box::pin(async move { Err(error.into()) });
        }
        // Shared out among the addresses of a name, so that a dead one leaves time for the next.
        self.connector.set_connect_timeout(Some(self.timeout.get()));
        match self.sources.next() {
            (Some(v4), Some(v6)) => self.connector.set_local_addresses(v4, v6),
            (v4, v6) => {
                let only = v4.map(IpAddr::V4).or(v6.map(IpAddr::V6));
                self.connector.set_local_address(only);
            }
        }
        let connecting = self.connector.call(destination);
        let rule = self.rule.clone();
        Box::pin(async move {
            let stream = connecting.await?;
            let address = stream.inner().peer_addr()?.ip();
            rule.judge(address)?;
            Ok(TokioIo::new(Fair::new(stream.into_inner())))
        })
    }
}

impl Guard {
    /// The addresses of a destination to which somebody else is to connect for us: at least one, all of them allowed.
    pub async fn resolve(&self, destination: &Uri) -> Result<Vec<SocketAddr>, ConnectError> {
        self.judge_port(destination)?;
        let usual = if destination.scheme_str() == Some("https") { 443 } else { 80 };
        let port = destination.port_u16().unwrap_or(usual);
        let host = destination.host().unwrap_or_default();
        let addresses = look_up(host, &self.lookups, &self.timeout.shared.names()).await;
        let allowed = keep_allowed(addresses.map_err(ConnectError::Unresolved)?, &self.rule)?;
        Ok(allowed.map(|address| SocketAddr::new(address.ip(), port)).collect())
    }

    fn judge_port(&self, destination: &Uri) -> Result<(), ConnectError> {
        match destination.port_u16() {
            Some(port) if !is_web_port(port) && !self.timeout.shared.settings().allows_any_port => {
                Err(ConnectError::Port { port })
            }
            _ => Ok(()),
        }
    }
}

/// Addresses of this machine, used in turn; none: the system chooses.
#[derive(Debug, Default)]
pub struct Sources {
    v4: Vec<Ipv4Addr>,
    v6: Vec<Ipv6Addr>,
    next: AtomicUsize,
}

impl Sources {
    pub fn new(addresses: &[IpAddr]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for address in addresses {
            match address {
                IpAddr::V4(address) => v4.push(*address),
                IpAddr::V6(address) => v6.push(*address),
            }
        }
        Self { v4, v6, next: AtomicUsize::new(0) }
    }

    /// Those of the next connection, one of each family that there is.
    pub fn next(&self) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let of = |count: usize| turn.checked_rem(count);
        (of(self.v4.len()).map(|at| self.v4[at]), of(self.v6.len()).map(|at| self.v6[at]))
    }
}

/// Which addresses an endpoint may have.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Which internal ones are allowed.
    pub allowed: Arc<InternalDestinations>,
    /// Whether secrets are sent there without TLS, which nobody but those inside may be able to read: private
    /// addresses only.
    pub has_plain_secrets: bool,
}

impl Rule {
    fn judge(&self, address: IpAddr) -> Result<(), ConnectError> {
        if !self.allowed.allows(address) {
            debug!(%address, "internal destination refused");
            return Err(ConnectError::Internal);
        }
        if self.has_plain_secrets && !is_private(address) {
            return Err(ConnectError::PlainSecret);
        }
        Ok(())
    }
}

/// Resolves names and keeps the allowed addresses.
#[derive(Debug, Clone)]
struct Resolver {
    rule: Rule,
    lookups: Arc<Semaphore>,
    names: Arc<Names>,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { rule, lookups, names } = self.clone();
        Box::pin(async move {
            let addresses = look_up(name.as_str(), &lookups, &names).await;
            keep_allowed(addresses.map_err(ConnectError::Unresolved)?, &rule)
        })
    }
}

async fn look_up(name: &str, lookups: &Semaphore, names: &Arc<Names>) -> io::Result<Vec<IpAddr>> {
    if let Some(address) = literal(name) {
        return Ok(vec![address]);
    }
    let _permit = lookups.acquire().await.map_err(io::Error::other)?;
    names.look_up(name).await
}

/// The addresses that may be connected to, or why there is none.
fn keep_allowed(
    mut addresses: Vec<IpAddr>,
    rule: &Rule,
) -> Result<std::vec::IntoIter<SocketAddr>, ConnectError> {
    let mut refusal = ConnectError::Unresolved(io::ErrorKind::NotFound.into());
    addresses.retain(|address| {
        let judged = rule.judge(*address).map_err(|error| refusal = error);
        judged.is_ok()
    });
    if addresses.is_empty() {
        return Err(refusal);
    }
    let addresses: Vec<_> = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
    Ok(addresses.into_iter())
}

#[cfg(test)]
mod tests;
