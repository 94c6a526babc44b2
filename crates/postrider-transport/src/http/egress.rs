//! What the config says about the way of connections: through a proxy, and from which addresses.

use std::{net::IpAddr, sync::Arc};

use postrider_core::egress::EgressError;

use super::proxy::{Proxy, ProxyKind};
use crate::{
    ConfigError, ConfigOption, OptionKind,
    config::{Checked, is_url, optional, secret},
    guard::Sources,
};

/// How long user and password are at most, in bytes: SOCKS has no room for more.
const USER_MAX: usize = 255;

pub const PROXY: ConfigOption = secret(
    "proxy",
    OptionKind::Object { members: MEMBERS, words: &[] },
    "The proxy through which requests go, and those for tokens.",
);

pub const SOURCE_ADDRESS: ConfigOption = optional(
    "source_address",
    OptionKind::Texts { max: 16 },
    "Addresses of the dispatcher's machine from which it connects, in turn. A destination needs one of the same family.",
);

const MEMBERS: &[ConfigOption] = &[
    ConfigOption {
        required: true,
        ..secret(
            "proxy.url",
            OptionKind::Text { max: 2_048 },
            "Where the proxy is, such as http://proxy.example.com:3128.",
        )
    },
    secret("proxy.username", OptionKind::Text { max: 255 }, "The user at the proxy."),
    secret("proxy.password", OptionKind::Text { max: 255 }, "The user's password."),
];

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
                (Some(name), Some(password)) if name.len().max(password.len()) > USER_MAX => {
                    return Err(EgressError::Long.into());
                }
                (Some(name), Some(password)) => Some((name, password)),
                (None, None) => None,
                _ => return Err(EgressError::User.into()),
            };
            Some(Arc::new(Proxy::new(kind, &url, user)))
        }
        None => None,
    };
    // An IPv4 address in the clothes of IPv6 is one of IPv4.
    let source = |text: &str| text.parse().map(|address: IpAddr| address.to_canonical());
    let sources: Result<Vec<IpAddr>, _> = config.list("source_address").map(source).collect();
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
