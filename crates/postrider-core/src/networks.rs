//! Which addresses a message may be sent to: the decision against server-side request forgery.
//!
//! Whoever may create an endpoint chooses an address that our process connects to. So that this
//! does not open the inside of the network that the process runs in, only addresses of the public
//! internet are allowed unless the operator says otherwise (`allow_internal_destinations`).
//!
//! The decision is made for an address, never for a name or a piece of a URL: the caller asks for
//! what a name resolved to and once more for the peer it is connected to. IPv6 addresses that carry
//! an IPv4 address inside are judged by that one, and by both if they carry two.

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
    /// What is allowed by both.
    #[must_use]
    pub fn within(self, bound: &Self) -> Self {
        match (self, bound) {
            (allowed, Self::On) => allowed,
            (Self::On, bound) => bound.clone(),
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::Only(networks), Self::Only(bounds)) => {
                // Of two networks one lies in the other, or they have nothing in common.
                let common = |a: Network, b: Network| match () {
                    () if a.contains(b.address) && a.prefix <= b.prefix => Some(b),
                    () if b.contains(a.address) && b.prefix <= a.prefix => Some(a),
                    () => None,
                };
                let pairs = networks.iter().flat_map(|a| bounds.iter().map(move |b| (*a, *b)));
                Self::Only(pairs.filter_map(|(a, b)| common(a, b)).collect())
            }
        }
    }

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
/// entries count as internal, multicast and the reserved rest included; so do the addresses in public space at which
/// clouds serve their own machines.
pub fn is_internal(address: IpAddr) -> bool {
    // Before the prefix is looked at: it may be a 6to4 one, and leads to a host behind it then.
    if isatap(address).is_some_and(is_internal) {
        return true;
    }
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

/// Whether `address` lies in a network that its owner alone uses: this machine, private and link-local networks.
///
/// Far less than [`is_internal`]: what is refused as a destination because it leads somewhere special is nothing that
/// one would trust with a secret in the clear. Of the IPv6 addresses with an IPv4 address inside, only mapped ones are
/// that address; all others go by somebody's relay. In SQL: `is_private`.
pub fn is_private(address: IpAddr) -> bool {
    PRIVATE.iter().any(|(network, prefix)| {
        Network { address: *network, prefix: *prefix }.contains(address.to_canonical())
    })
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

/// The IPv4 address of a host behind ISATAP (RFC 5214): the prefix may be anybody's.
fn isatap(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(address) = address else { return None };
    let [.., 0 | 0x200, 0x5efe, _, _] = address.segments() else { return None };
    Some(Ipv4Addr::from_bits(address.to_bits() as u32).into())
}

/// Whether an HTTP server may be expected at `port`: not where mail, databases and other things listen that would take a
/// request for something else (the WHATWG fetch standard's bad ports, and databases).
pub fn is_web_port(port: u16) -> bool {
    !OTHER_PORTS.contains(&port)
}

/// The address that `host` is by itself, without a name server: IPv4 or IPv6 (also in brackets), or IPv4 in one of the
/// forms that browsers and C libraries take for it, such as `0x7f000001`, `2130706433`, `0177.1`
/// and `127.0.0.1.` (the WHATWG URL standard's IPv4 parser). In SQL: `address_literal`.
pub fn literal(host: &str) -> Option<IpAddr> {
    if let Some(bare) = host.strip_prefix('[') {
        let address: Ipv6Addr = bare.strip_suffix(']')?.parse().ok()?;
        return Some(address.into());
    }
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    let parts: Vec<_> = host.strip_suffix('.').unwrap_or(host).split('.').collect();
    let (last, first) = parts.split_last()?;
    if first.len() > 3 {
        return None;
    }
    let mut bits = part(last)?;
    if bits >= 1 << (8 * (4 - first.len())) {
        return None;
    }
    for (index, text) in first.iter().enumerate() {
        let byte = part(text).filter(|byte| *byte <= 0xff)?;
        bits |= byte << (8 * (3 - index));
    }
    Some(Ipv4Addr::from_bits(bits as u32).into())
}

/// A number of an IPv4 address: decimal, octal behind `0`, hexadecimal behind `0x`.
fn part(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [] | [b'+', ..] => return None,
        [b'0', b'x' | b'X'] => return Some(0),
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let is_number = digits.bytes().all(|byte| char::from(byte).is_digit(radix));
    if is_number { u64::from_str_radix(digits, radix).ok() } else { None }
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
    (Ipv4Addr::new(192, 31, 196, 0), 24), // AS112
    (Ipv4Addr::new(192, 52, 193, 0), 24), // AMT relays
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(192, 175, 48, 0), 24), // AS112
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // reserved, broadcast
    // Services of clouds for their own machines, with credentials behind some of them, at public addresses.
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure
    (Ipv4Addr::new(161, 26, 0, 0), 16),    // IBM Cloud
    (Ipv4Addr::new(166, 8, 0, 0), 14),     // IBM Cloud
];

const INTERNAL_V6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::UNSPECIFIED, 128),
    (Ipv6Addr::LOCALHOST, 128),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48), // local NAT64
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 63),     // discard and dummy prefixes
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),    // protocol assignments, Teredo
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // AS112
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),    // documentation
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16),    // segment routing
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),     // unique local, fd00:ec2::254 of AWS too
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),    // link-local
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10),    // site-local
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),     // multicast
];

const PRIVATE: &[(IpAddr, u8)] = &[
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16),
    (IpAddr::V4(Ipv4Addr::new(172, 16, 0, 0)), 12),
    (IpAddr::V4(Ipv4Addr::new(192, 168, 0, 0)), 16),
    (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
    (IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)), 7),
    (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)), 10),
];

const OTHER_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989,
    990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 4190, 5060, 5061,
    5432, 6000, 6379, 6432, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 10080, 11211,
    27017,
];

#[cfg(test)]
mod tests;
