//! What the config says about the way of connections: through a proxy, and from which addresses.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::proxy::{Proxy, ProxyKind};
use crate::transport::{
    ConfigError, ConfigOption, DefaultValue, OptionKind, config::Checked, config::is_url,
};

pub const PROXY: ConfigOption = ConfigOption {
    secret: true,
    ..option(
        "proxy",
        OptionKind::Object { members: MEMBERS, words: &[] },
        "The proxy through which requests go, and those for tokens.",
    )
};

pub const SOURCE_ADDRESS: ConfigOption = option(
    "source_address",
    OptionKind::Texts { max: 16 },
    "Addresses of the dispatcher's machine from which it connects, in turn. A destination needs one of the same family.",
);

const MEMBERS: &[ConfigOption] = &[
    ConfigOption {
        required: true,
        secret: true,
        ..option(
            "proxy.url",
            OptionKind::Text { max: 2_048 },
            "Where the proxy is, such as http://proxy.example.com:3128.",
        )
    },
    ConfigOption {
        secret: true,
        ..option("proxy.username", OptionKind::Text { max: 255 }, "The user at the proxy.")
    },
    ConfigOption {
        secret: true,
        ..option("proxy.password", OptionKind::Text { max: 255 }, "The user's password.")
    },
];

const fn option(name: &'static str, kind: OptionKind, description: &'static str) -> ConfigOption {
    ConfigOption {
        name,
        kind,
        required: false,
        default: DefaultValue::None,
        description,
        secret: false,
    }
}

/// What is wrong with `proxy` or `source_address`. Never tells a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    #[error(
        "proxy.url must be an http://, https:// or socks5:// address with a host, with or without a port, and \
         nothing else"
    )]
    Url,
    #[error("proxy must have both username and password, or neither")]
    User,
    #[error("proxy.username must not contain a colon")]
    Colon,
    #[error("source_address must be IP addresses")]
    Source,
}

/// The way of an endpoint's connections.
#[derive(Clone)]
pub struct Way {
    pub proxy: Option<Arc<Proxy>>,
    pub sources: Arc<Sources>,
}

/// Reads what the config says.
///
/// # Errors
///
/// What is no address of a proxy or of a machine.
pub fn read(config: &Checked<'_>) -> Result<Way, ConfigError> {
    let proxy = match config.text("proxy.url") {
        Some(url) => {
            let (kind, url) = proxy_url(url).ok_or(EgressError::Url)?;
            let user = match (config.text("proxy.username"), config.text("proxy.password")) {
                (Some(name), _) if name.contains(':') => return Err(EgressError::Colon.into()),
                (Some(name), Some(password)) => Some((name, password)),
                (None, None) => None,
                _ => return Err(EgressError::User.into()),
            };
            Some(Arc::new(Proxy::new(kind, &url, user)))
        }
        None => None,
    };
    let sources: Result<Vec<IpAddr>, _> = config.list("source_address").map(str::parse).collect();
    let sources = sources.map_err(|_| EgressError::Source)?;
    Ok(Way { proxy, sources: Arc::new(Sources::new(&sources)) })
}

/// What a proxy speaks, and its address with a port, as an `http` or `https` URL.
pub fn proxy_url(text: &str) -> Option<(ProxyKind, String)> {
    let (scheme, rest) = text.split_once("://")?;
    let (kind, scheme, port) = match scheme.to_ascii_lowercase().as_str() {
        "http" => (ProxyKind::Http, "http", 80),
        "https" => (ProxyKind::Https, "https", 443),
        "socks5" => (ProxyKind::Socks5, "http", 1080),
        _ => return None,
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let url = format!("{scheme}://{authority}");
    if authority.contains(['/', '?']) || !is_url(&url, 2_048) {
        return None;
    }
    let has_port = authority.rsplit(']').next().is_some_and(|end| end.contains(':'));
    Some((kind, if has_port { url } else { format!("{url}:{port}") }))
}

/// Addresses of this machine, used in turn; none: the system chooses.
#[derive(Debug, Default)]
pub struct Sources {
    v4: Vec<Ipv4Addr>,
    v6: Vec<Ipv6Addr>,
    next: AtomicUsize,
}

impl Sources {
    fn new(addresses: &[IpAddr]) -> Self {
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
