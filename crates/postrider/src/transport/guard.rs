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
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use postrider_core::networks::InternalDestinations;
use tokio::{net::TcpStream, sync::Semaphore};
use tower_service::Service;

use super::Shared;

/// The most addresses of one name that are tried.
const ADDRESSES_MAX: usize = 16;
/// The most look-ups that one endpoint may have under way. A look-up occupies a thread until the
/// name servers answer or are given up, and the threads are shared by all endpoints.
const LOOKUPS_MAX: usize = 2;
/// After this long in silence the kernel asks whether an idle connection still lives.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

type BoxError = Box<dyn Error + Send + Sync>;

/// Why there is no connection, where the operating system has no word for it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The destination is not one that we may connect to.
    #[error("destination address {address} is internal; see allow_internal_destinations")]
    Internal {
        /// What the destination's name resolved to.
        address: IpAddr,
    },
    /// The name of the destination could not be resolved.
    #[error("DNS failure: the host name could not be resolved")]
    Unresolved(#[source] io::Error),
    /// Name look-up, TCP and TLS together took longer than allowed.
    #[error("timeout: no connection within {} s", limit.as_secs_f32())]
    Timeout {
        /// The connect timeout.
        limit: Duration,
    },
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
    allowed: Arc<InternalDestinations>,
    timeout: ConnectTimeout,
}

impl Guard {
    /// A guard for the connections of one endpoint.
    pub fn new(allowed: Arc<InternalDestinations>, timeout: ConnectTimeout) -> Self {
        let lookups = Arc::new(Semaphore::new(LOOKUPS_MAX));
        let mut connector =
            HttpConnector::new_with_resolver(Resolver { allowed: Arc::clone(&allowed), lookups });
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_keepalive(Some(TCP_KEEPALIVE));
        Self { connector, allowed, timeout }
    }
}

impl Service<Uri> for Guard {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        // The connector does not ask its resolver about an address that stands in the URL.
        if let Some(address) = literal(&destination)
            && !self.allowed.allows(address)
        {
            return Box::pin(async move { Err(ConnectError::Internal { address }.into()) });
        }
        // Shared out among the addresses of a name, so that a dead one leaves time for the next.
        self.connector.set_connect_timeout(Some(self.timeout.get()));
        let connecting = self.connector.call(destination);
        let allowed = Arc::clone(&self.allowed);
        Box::pin(async move {
            let stream = connecting.await?;
            let address = stream.inner().peer_addr()?.ip();
            match allowed.allows(address) {
                true => Ok(stream),
                false => Err(ConnectError::Internal { address }.into()),
            }
        })
    }
}

fn literal(destination: &Uri) -> Option<IpAddr> {
    let host = destination.host()?;
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    address.parse().ok()
}

/// Resolves names by the operating system and keeps the allowed addresses.
#[derive(Debug, Clone)]
struct Resolver {
    allowed: Arc<InternalDestinations>,
    lookups: Arc<Semaphore>,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { allowed, lookups } = self.clone();
        Box::pin(async move {
            let addresses = look_up(name, lookups).await.map_err(ConnectError::Unresolved)?;
            keep_allowed(addresses, &allowed)
        })
    }
}

/// Does not hold the caller's limit on time: the thread goes on, and keeps its permit until it ends.
async fn look_up(name: Name, lookups: Arc<Semaphore>) -> io::Result<Vec<SocketAddr>> {
    let permit = lookups.acquire_owned().await.map_err(io::Error::other)?;
    let resolve = move || {
        let _permit = permit;
        let addresses = (name.as_str(), 0).to_socket_addrs()?;
        Ok(addresses.take(ADDRESSES_MAX).collect())
    };
    tokio::task::spawn_blocking(resolve).await.map_err(io::Error::other)?
}

fn keep_allowed(
    mut addresses: Vec<SocketAddr>,
    allowed: &InternalDestinations,
) -> Result<std::vec::IntoIter<SocketAddr>, ConnectError> {
    let first = addresses.first().map(SocketAddr::ip);
    addresses.retain(|address| allowed.allows(address.ip()));
    match (first, addresses.is_empty()) {
        (Some(address), true) => Err(ConnectError::Internal { address }),
        (None, _) => Err(ConnectError::Unresolved(io::ErrorKind::NotFound.into())),
        (Some(_), false) => Ok(addresses.into_iter()),
    }
}
