//! Which addresses a message may be sent to: the decision against server-side request forgery.
//!
//! Whoever may create an endpoint chooses an address that our process connects to. So that this
//! does not open the inside of the network that the process runs in, only addresses of the public
//! internet are allowed unless the operator says otherwise (`allow_internal_destinations`).
//!
//! The decision is made for an address, never for a name or a piece of a URL: the caller asks for
//! what a name resolved to and once more for the peer it is connected to. IPv6 addresses that carry
//! an IPv4 address inside are judged by that one.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// The most networks that one setting may list.
pub const NETWORKS_MAX: usize = 1_000;

/// The setting `allow_internal_destinations`.
///
/// ```
/// use postrider_core::networks::InternalDestinations;
///
/// let allowed: InternalDestinations = "10.0.0.0/8, 127.0.0.1/32".parse().unwrap();
/// assert!(allowed.allows("10.1.2.3".parse().unwrap()));
/// assert!(!allowed.allows("127.0.0.2".parse().unwrap()));
/// assert!(allowed.allows("1.1.1.1".parse().unwrap()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InternalDestinations {
    /// Only the public internet.
    #[default]
    Off,
    /// Every address.
    On,
    /// The public internet and these networks.
    Only(Vec<Network>),
}

impl InternalDestinations {
    /// Whether a connection to `address` is allowed.
    pub fn allows(&self, address: IpAddr) -> bool {
        match self {
            Self::On => true,
            Self::Off => !is_internal(address),
            Self::Only(networks) => {
                let inner = embedded(address);
                let is_listed = |network: &Network| {
                    network.contains(address) || inner.is_some_and(|inner| network.contains(inner))
                };
                !is_internal(address) || networks.iter().any(is_listed)
            }
        }
    }
}

/// Why a value of `allow_internal_destinations` cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworksError {
    /// One element is neither an address nor a network.
    #[error(
        "allow_internal_destinations: `{element}` is not a network; \
         expected off, on, or networks such as `10.0.0.0/8, fd00::/8`"
    )]
    Element {
        /// The element as it was written.
        element: String,
    },
    /// More than [`NETWORKS_MAX`] networks.
    #[error("allow_internal_destinations: more than {NETWORKS_MAX} networks")]
    TooMany,
}

impl FromStr for InternalDestinations {
    type Err = NetworksError;

    /// `off`, `on`, or networks separated by commas. An address without a prefix length stands for
    /// itself; bits behind the prefix length are ignored.
    fn from_str(value: &str) -> Result<Self, NetworksError> {
        match value.trim() {
            "off" => Ok(Self::Off),
            "on" => Ok(Self::On),
            list if list.split(',').count() > NETWORKS_MAX => Err(NetworksError::TooMany),
            list => list.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::Only),
        }
    }
}

impl fmt::Display for InternalDestinations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::On => f.write_str("on"),
            Self::Only(networks) => {
                for (index, network) in networks.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{network}")?;
                }
                Ok(())
            }
        }
    }
}

/// An IPv4 or IPv6 network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether `address` lies in this network. An IPv4 network never contains an IPv6 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworksError;

    fn from_str(value: &str) -> Result<Self, NetworksError> {
        let value = value.trim();
        let parse = || {
            let (address, prefix) = match value.split_once('/') {
                Some((address, prefix)) => (address, Some(prefix)),
                None => (value, None),
            };
            let address = address.parse::<IpAddr>().ok()?;
            let widest = if address.is_ipv4() { 32 } else { 128 };
            let prefix = match prefix {
                None => widest,
                // `u8` would take `+8`.
                Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                    digits.parse().ok()?
                }
                Some(_) => return None,
            };
            (prefix <= widest).then_some(Network { address, prefix })
        };
        parse().ok_or_else(|| NetworksError::Element { element: value.to_owned() })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Whether `address` is anything else than an ordinary address of the public internet.
///
/// Follows the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890), all of whose
/// entries count as internal, multicast and the reserved rest included.
pub fn is_internal(address: IpAddr) -> bool {
    if let Some(inner) = embedded(address) {
        return is_internal(inner);
    }
    match address {
        IpAddr::V4(address) => INTERNAL_V4.iter().any(|(network, prefix)| {
            Network { address: IpAddr::V4(*network), prefix: *prefix }.contains(address.into())
        }),
        IpAddr::V6(address) => INTERNAL_V6.iter().any(|(network, prefix)| {
            Network { address: IpAddr::V6(*network), prefix: *prefix }.contains(address.into())
        }),
    }
}

/// The IPv4 address that an IPv6 address leads to, if it is of a kind that carries one.
fn embedded(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(address) = address else { return None };
    let bits = address.to_bits();
    let inner = match address.segments() {
        // `::` and `::1` are addresses of their own, not IPv4-compatible ones.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => return None,
        // IPv4-compatible `::a.b.c.d`, IPv4-mapped `::ffff:a.b.c.d`, IPv4-translated
        // `::ffff:0:a.b.c.d` and NAT64 `64:ff9b::a.b.c.d`.
        [0, 0, 0, 0, 0, 0, ..]
        | [0, 0, 0, 0, 0, 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, ..] => bits as u32,
        // 6to4 `2002:aabb:ccdd::`.
        [0x2002, ..] => (bits >> 80) as u32,
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(inner).into())
}

const INTERNAL_V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),       // this network, unspecified
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // carrier-grade NAT
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local, with the metadata service of clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // reserved, broadcast
];

const INTERNAL_V6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::UNSPECIFIED, 128),
    (Ipv6Addr::LOCALHOST, 128),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48), // local NAT64
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 63),     // discard and dummy prefixes
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),    // protocol assignments, Teredo
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),    // documentation
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16),    // segment routing
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),     // unique local, fd00:ec2::254 of AWS too
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),    // link-local
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10),    // site-local
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),     // multicast
];

#[cfg(test)]
mod tests;
