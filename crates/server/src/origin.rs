//! The origin of a request: this machine, an address, or a client behind a trusted proxy.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName};

/// Maximum entries of a forwarding header that are read; no request passes more proxies.
const MAX_HOPS: usize = 32;
/// Headers that show that a proxy forwarded the request.
const PASSED_ON: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];

/// An address, or a network as `ADDRESS/BITS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

/// The error for an invalid network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an address or a network such as 10.0.0.0/8")]
pub struct NotANetwork;

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NotANetwork)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let is_number = |bits: &str| bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = match bits {
            None => most,
            Some(bits) if is_number(bits) => bits.parse().map_err(|_| NotANetwork)?,
            Some(_) => return Err(NotANetwork),
        };
        match bits <= most {
            true => Ok(Self { address, bits }),
            false => Err(NotANetwork),
        }
    }
}

impl Network {
    /// Whether the network contains an address.
    fn contains(self, address: IpAddr) -> bool {
        let differ = |one: u128, other: u128, width: u32| {
            // A shift by the whole width would overflow; a network with a prefix of 0 bits contains every address.
            (one ^ other).checked_shr(width - self.bits).unwrap_or(0) != 0
        };
        match (self.address.to_canonical(), address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) if self.bits <= 32 => {
                !differ(own.to_bits().into(), other.to_bits().into(), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => !differ(own.to_bits(), other.to_bits(), 128),
            (IpAddr::V4(_) | IpAddr::V6(_), IpAddr::V4(_) | IpAddr::V6(_)) => false,
        }
    }
}

/// The sender of a request, as far as its headers can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    from: From,
    /// Whether the client used TLS, if a trusted proxy reports it.
    is_secure: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// A program on this machine that sends its own request.
    Here,
    /// A client at an address.
    Client(IpAddr),
    /// A peer at this address forwards the request but is not trusted or does not name the client.
    Unknown(IpAddr),
}

impl Origin {
    /// The origin of a request from this peer. Forwarding headers are trusted only from trusted proxies. The
    /// client is the last address in the chain that is not a trusted proxy.
    pub(crate) fn of(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> Self {
        let peer = peer.to_canonical();
        let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
        let was_passed_on = PASSED_ON.iter().any(|name| headers.contains_key(*name));
        if !is_trusted(peer) {
            let from = match (was_passed_on, peer.is_loopback()) {
                (true, _) => From::Unknown(peer),
                (false, true) => From::Here,
                (false, false) => From::Client(peer),
            };
            return Self { from, is_secure: None };
        }
        let ways: Vec<Way> =
            [chain_of_forwarded_for(headers), chain_of_forwarded(headers)].into_iter().flatten().collect();
        let clients: Vec<Option<From>> = ways.iter().map(|way| client_of(peer, way, &is_trusted)).collect();
        let from = match clients.as_slice() {
            [] if was_passed_on => From::Unknown(peer),
            [] if peer.is_loopback() => From::Here,
            [] => From::Client(peer),
            // A proxy that sets one header may pass on the other as the client sent it.
            [first, others @ ..] if others.iter().all(|other| other == first) => {
                first.unwrap_or(From::Unknown(peer))
            }
            [..] => From::Unknown(peer),
        };
        Self { from, is_secure: is_secure(headers) }
    }

    /// Whether it is a program on this machine that sends its own request.
    pub(crate) fn is_here(self) -> bool {
        self.from == From::Here
    }

    /// Whether an untrusted peer forwards the request.
    pub(crate) fn is_unknown(self) -> bool {
        matches!(self.from, From::Unknown(_))
    }

    /// Whether the client used TLS; `None` if no trusted proxy reports it.
    pub(crate) fn is_secure(self) -> Option<bool> {
        self.is_secure
    }

    /// The client's address for the log, or the peer's if the client is unknown.
    pub(crate) fn client(self) -> IpAddr {
        match self.from {
            From::Here => IpAddr::V6(Ipv6Addr::LOCALHOST),
            From::Client(address) | From::Unknown(address) => address,
        }
    }

    /// The address for rate limits. An IPv6 household has many addresses with the same first half, which count as
    /// one.
    pub(crate) fn address(self) -> IpAddr {
        match self.client() {
            IpAddr::V6(address) if !address.is_loopback() => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
            }
            address => address,
        }
    }
}

/// The addresses a request passed, nearest first; `None` for an entry that is not an address.
type Way = Vec<Option<IpAddr>>;

/// The last address that is not a trusted proxy; `None` if that entry cannot be parsed.
fn client_of(peer: IpAddr, way: &Way, is_trusted: &impl Fn(IpAddr) -> bool) -> Option<From> {
    let mut stays_here = peer.is_loopback();
    let mut farthest = peer;
    for hop in way {
        let address = (*hop)?.to_canonical();
        if !is_trusted(address) {
            return Some(From::Client(address));
        }
        stays_here &= address.is_loopback();
        farthest = address;
    }
    // All are trusted. A loopback address named by another machine is that machine's.
    Some(if stays_here { From::Here } else { From::Client(farthest) })
}

fn chain_of_forwarded_for(headers: &HeaderMap) -> Option<Way> {
    way(headers, "x-forwarded-for", |entry| Some(entry))
}

/// Source: RFC 7239, section 4.
fn chain_of_forwarded(headers: &HeaderMap) -> Option<Way> {
    way(headers, "forwarded", |entry| parameter(entry, "for"))
}

/// The entries of all lines of a header, last first, each mapped by `address`.
fn way(headers: &HeaderMap, name: &'static str, address: impl Fn(&str) -> Option<&str>) -> Option<Way> {
    let lines: Vec<&str> = headers
        .get_all(HeaderName::from_static(name))
        .iter()
        .rev()
        .map(|line| line.to_str().unwrap_or("unreadable"))
        .collect();
    let entries = lines.iter().flat_map(|line| line.rsplit(',')).take(MAX_HOPS);
    let way: Way = entries.map(|entry| address(entry.trim()).and_then(address_of)).collect();
    (!lines.is_empty()).then_some(way)
}

/// Parses an address with or without quotes, brackets and port.
fn address_of(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(address, _)| address);
    let without_port = text.rsplit_once(':').map(|(address, _)| address);
    [Some(text), bracketed, without_port].into_iter().flatten().find_map(|text| text.parse().ok())
}

fn parameter<'a>(entry: &'a str, wanted: &str) -> Option<&'a str> {
    entry.split(';').find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        name.eq_ignore_ascii_case(wanted).then_some(value)
    })
}

/// Whether the nearest proxy reports TLS.
fn is_secure(headers: &HeaderMap) -> Option<bool> {
    let last = |name: &str| headers.get_all(name).iter().next_back()?.to_str().ok()?.rsplit(',').next();
    let scheme = match last("x-forwarded-proto") {
        Some(scheme) => scheme,
        None => parameter(last("forwarded")?, "proto")?,
    };
    Some(scheme.trim().trim_matches('"').eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const LOCAL_PROXY: &[&str] = &["127.0.0.0/8", "::1"];

    fn check(peer: &str, trusted: &[&str], lines: &[(&'static str, &str)]) -> From {
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(*name, HeaderValue::from_str(line).expect("a header"));
        }
        let trusted: Vec<Network> = trusted.iter().map(|one| one.parse().expect("a network")).collect();
        Origin::of(peer.parse().expect("an address"), &headers, &trusted).from
    }

    fn client(address: &str) -> From {
        From::Client(address.parse().expect("an address"))
    }

    fn unknown(address: &str) -> From {
        From::Unknown(address.parse().expect("an address"))
    }

    #[test]
    fn without_trusted_proxies_the_peer_is_the_client_and_forwarded_requests_are_never_local() {
        for peer in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(check(peer, &[], &[]), From::Here);
            for name in PASSED_ON {
                for trusted in [&[] as &[&str], &["192.0.2.1"]] {
                    assert!(
                        matches!(check(peer, trusted, &[(name, "127.0.0.1")]), From::Unknown(_)),
                        "{name}"
                    );
                }
            }
        }
        assert_eq!(check("192.0.2.7", &[], &[]), client("192.0.2.7"));
        let forwarded = [("x-forwarded-for", "198.51.100.1")];
        assert_eq!(check("192.0.2.7", LOCAL_PROXY, &forwarded), unknown("192.0.2.7"));
    }

    #[test]
    fn the_client_is_the_last_forwarded_address_that_is_not_a_trusted_proxy() {
        let check = |lines: &[(&'static str, &str)]| check("127.0.0.1", &["127.0.0.1", "10.0.0.0/8"], lines);
        let way = |way| [("x-forwarded-for", way)];
        assert_eq!(check(&way("192.0.2.7")), client("192.0.2.7"));
        assert_eq!(check(&way("127.0.0.1, 192.0.2.7")), client("192.0.2.7"), "a client can write anything");
        assert_eq!(check(&way("198.51.100.1,192.0.2.7 , 10.1.2.3")), client("192.0.2.7"));
        assert_eq!(check(&way("192.0.2.7:4711")), client("192.0.2.7"));
        assert_eq!(check(&way("[2001:db8::1]:4711")), client("2001:db8::1"));
        let lines = [("x-forwarded-for", "198.51.100.1"), ("x-forwarded-for", "192.0.2.7")];
        assert_eq!(check(&lines), client("192.0.2.7"));
        let forwarded = [("forwarded", "for=198.51.100.1, For=\"[2001:db8::1]:80\";proto=https;by=10.0.0.1")];
        assert_eq!(check(&forwarded), client("2001:db8::1"));
        for unreadable in ["unknown", "", "_hidden", "192.0.2.7, unknown"] {
            assert_eq!(check(&way(unreadable)), unknown("127.0.0.1"), "{unreadable:?}");
        }
        let both = [("x-forwarded-for", "192.0.2.7"), ("forwarded", "for=192.0.2.8")];
        assert_eq!(check(&both), unknown("127.0.0.1"), "one of them is not the proxy's");
        assert_eq!(check(&[("x-real-ip", "192.0.2.7")]), unknown("127.0.0.1"));
        let long = vec!["10.0.0.1"; 2 * MAX_HOPS].join(",");
        assert_eq!(check(&way(&long)), client("10.0.0.1"));
    }

    #[test]
    fn only_a_local_proxy_can_forward_requests_of_local_programs() {
        let way = |way| [("x-forwarded-for", way)];
        assert_eq!(check("127.0.0.1", LOCAL_PROXY, &way("127.0.0.1")), From::Here);
        assert_eq!(check("127.0.0.1", LOCAL_PROXY, &way("::1, 127.0.0.1")), From::Here);
        assert_eq!(check("127.0.0.1", LOCAL_PROXY, &[]), From::Here);
        assert_eq!(check("127.0.0.1", LOCAL_PROXY, &way("127.0.0.1, 192.0.2.7")), client("192.0.2.7"));
        let elsewhere = ["127.0.0.1", "10.0.0.1"];
        assert_eq!(check("10.0.0.1", &elsewhere, &way("127.0.0.1")), client("127.0.0.1"));
        assert_eq!(check("127.0.0.1", &elsewhere, &way("127.0.0.1, 10.0.0.1")), client("127.0.0.1"));
        assert_eq!(check("10.0.0.1", &elsewhere, &[]), client("10.0.0.1"));
    }

    #[test]
    fn the_nearest_trusted_proxy_decides_whether_a_request_used_tls() {
        let check = |trusted: &[Network], name: &'static str, line: &'static str| {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(line))]);
            Origin::of(IpAddr::from([127, 0, 0, 1]), &headers, trusted).is_secure()
        };
        let trusted = ["127.0.0.1".parse().expect("a network")];
        assert_eq!(check(&trusted, "x-forwarded-proto", "http, https"), Some(true));
        assert_eq!(check(&trusted, "x-forwarded-proto", "http"), Some(false));
        assert_eq!(check(&trusted, "forwarded", "for=192.0.2.7;proto=https"), Some(true));
        assert_eq!(check(&trusted, "x-forwarded-for", "192.0.2.7"), None);
        assert_eq!(check(&[], "x-forwarded-proto", "https"), None);
    }

    #[test]
    fn a_network_is_an_address_with_a_valid_prefix_length() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("192.0.2.7", "::ffff:192.0.2.7", "192.0.2.8"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("0.0.0.0/0", "203.0.113.9", "2001:db8::1"),
            ("::/0", "2001:db8::1", "203.0.113.9"),
        ] {
            let network: Network = network.parse().expect("a network");
            let contains = |address: &str| network.contains(address.parse().expect("an address"));
            assert!(contains(inside) && !contains(outside), "{network:?}");
        }
        for other in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "::1/129", "example.org", "10.0.0.0/8/8"]
        {
            assert_eq!(other.parse::<Network>(), Err(NotANetwork), "{other:?}");
        }
    }

    #[test]
    fn ipv6_addresses_of_one_network_count_as_one() {
        let check = |one: &str| {
            let from = From::Client(one.parse().expect("an address"));
            Origin { from, is_secure: None }.address()
        };
        assert_eq!(check("2001:db8:1:2::3"), check("2001:db8:1:2:ffff::"));
        assert_ne!(check("2001:db8:1:2::3"), check("2001:db8:1:3::3"));
        assert_ne!(check("192.0.2.1"), check("192.0.2.2"));
    }
}
