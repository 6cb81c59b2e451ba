//! Fetches documents by URL, with limits on size, time, redirects and network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{StatusCode, Url};

/// Limits on fetching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchConfig {
    /// Maximum size of a document after decompression, in bytes.
    pub max_bytes: usize,
    /// Maximum redirects.
    pub max_redirects: usize,
    /// Maximum wait for a connection.
    pub connect_timeout: Duration,
    /// Maximum total time.
    pub total_timeout: Duration,
    /// Whether to allow addresses of the local network: loopback, private and link-local.
    pub allow_private: bool,
}

impl Default for FetchConfig {
    fn default() -> Self {
        Self {
            max_bytes: 50 * 1024 * 1024,
            max_redirects: 5,
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(120),
            allow_private: false,
        }
    }
}

/// A fetched document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebDocument {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The content type sent by the server, such as `text/html; charset=utf-8`.
    pub media_type: Option<String>,
}

/// Why a document could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Not a valid URL.
    #[error("invalid URL: {what}")]
    Address {
        /// The reason.
        what: String,
    },
    /// An address of the local network.
    #[error("{host} is an address of the local network")]
    Private {
        /// The host.
        host: String,
    },
    /// Too many redirects.
    #[error("more than {max} redirects")]
    Redirects {
        /// The limit.
        max: usize,
    },
    /// The server returned an error.
    #[error("the server returned {status}")]
    Status {
        /// The status as text.
        status: String,
    },
    /// The document is too large.
    #[error("larger than {max_bytes} bytes, the limit for one document")]
    TooLarge {
        /// The limit.
        max_bytes: usize,
    },
    /// The time limit was exceeded.
    #[error("fetching took more than {seconds} seconds")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// The response is missing or incomplete.
    #[error("fetching failed: {what}")]
    Failed {
        /// The error.
        what: String,
    },
}

impl FetchError {
    /// Returns a remedy, if one is known, that does not refer to any user interface.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Address { .. } => {
                Some("use a URL that starts with http:// or https://, without a password")
            }
            Self::Private { .. } => Some("allow private addresses to fetch it"),
            Self::Redirects { .. } => Some("add the URL it redirects to"),
            Self::Status { .. } => {
                Some("open it in a browser; if that works, save the page and add the file")
            }
            Self::TooLarge { .. } => Some("download it in another way, split it, and add the files"),
            Self::TimedOut { .. } | Self::Failed { .. } => {
                Some("check the URL and the connection, and try again")
            }
        }
    }
}

/// True if `text` looks like a URL.
pub fn is_web_address(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
}

/// Returns the canonical form of a URL, as in browsers and without the fragment. It is used as source name.
pub fn canonical_address(address: &str) -> Result<String, FetchError> {
    let mut url = parsed(address)?;
    url.set_fragment(None);
    Ok(url.into())
}

/// Fetches a document, following redirects within the limits. Every address on the way is checked: names are resolved once, and
/// the connection uses the checked address. Proxies are not used, because behind a proxy it is unknown where a name leads.
pub async fn fetch(address: &str, config: &FetchConfig) -> Result<WebDocument, FetchError> {
    let seconds = config.total_timeout.as_secs();
    let allowed: AddressTest = if config.allow_private { |_| true } else { is_public };
    let fetched = tokio::time::timeout(config.total_timeout, follow(parsed(address)?, config, allowed)).await;
    fetched.unwrap_or(Err(FetchError::TimedOut { seconds }))
}

/// Decides whether connecting to an address is allowed.
type AddressTest = fn(IpAddr) -> bool;

async fn follow(mut url: Url, config: &FetchConfig, allowed: AddressTest) -> Result<WebDocument, FetchError> {
    let client = client(config, allowed)?;
    for _ in 0..=config.max_redirects {
        check_host(&url, allowed)?;
        let request = client.get(url.clone()).header(ACCEPT, "*/*");
        let answer = request.send().await.map_err(|error| failed(&url, &error))?;
        let status = answer.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            url = match next {
                Some(next) => parsed(next.as_str())?,
                None => return Err(FetchError::Status { status: status.to_string() }),
            };
            continue;
        }
        if !status.is_success() {
            return Err(FetchError::Status { status: status.to_string() });
        }
        let media_type =
            answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
        let mut bytes = Vec::new();
        let mut pieces = answer.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| failed(&url, &error))?;
            if bytes.len() + piece.len() > config.max_bytes {
                return Err(FetchError::TooLarge { max_bytes: config.max_bytes });
            }
            bytes.extend_from_slice(&piece);
        }
        return Ok(WebDocument { bytes, media_type });
    }
    Err(FetchError::Redirects { max: config.max_redirects })
}

fn parsed(address: &str) -> Result<Url, FetchError> {
    let wrong = |what: &str| FetchError::Address { what: what.to_owned() };
    let url = Url::parse(address).map_err(|error| FetchError::Address { what: error.to_string() })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("only http and https are supported"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it contains a password, which would be stored in the document's name"));
    }
    Ok(url)
}

fn client(config: &FetchConfig, allowed: AddressTest) -> Result<reqwest::Client, FetchError> {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::CryptoProvider::install_default(rustls::crypto::ring::default_provider());
    reqwest::Client::builder()
        .connect_timeout(config.connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .dns_resolver(Arc::new(Guard { allowed }))
        .user_agent(concat!("graphloom/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| FetchError::Failed { what: error.to_string() })
}

/// Rejects forbidden numeric addresses. The [`Guard`] checks names.
fn check_host(url: &Url, allowed: AddressTest) -> Result<(), FetchError> {
    let host = url.host_str().unwrap_or_default();
    let number: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    match number {
        Some(number) if !allowed(number) => Err(FetchError::Private { host: host.to_owned() }),
        Some(_) | None => Ok(()),
    }
}

/// Resolves names to allowed addresses only.
struct Guard {
    allowed: AddressTest,
}

/// The error for a name that resolves to the local network.
#[derive(Debug, thiserror::Error)]
#[error("it resolves to an address of the local network")]
struct PrivateAddress;

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let may_be = self.allowed;
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = tokio::task::spawn_blocking(move || (host.as_str(), 0).to_socket_addrs());
            let found: Vec<SocketAddr> = found.await??.collect();
            let allowed: Vec<SocketAddr> =
                found.iter().copied().filter(|address| may_be(address.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(PrivateAddress.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// True if an address belongs to the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let special = (a, b, c) == (192, 0, 0) || (a == 198 && (b == 18 || b == 19));
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || shared
        || special)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let parts = address.segments();
    let v4_at = |at: usize| {
        let [a, b] = parts[at].to_be_bytes();
        let [c, d] = parts[at + 1].to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        // An embedded IPv4 address: translated (64:ff9b::/96) or tunnelled (2002::/16).
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => is_public_v4(v4_at(6)),
        [0x2002, ..] => is_public_v4(v4_at(1)),
        // IPv4-compatible, documentation, local translation (64:ff9b:1::/48), discard (100::/64), and protocol
        // assignments, including tunnels through address translation (2001::/23).
        [0, 0, 0, 0, 0, 0, ..] | [0x2001, 0xdb8, ..] | [0x64, 0xff9b, 1, ..] | [0x100, 0, 0, 0, ..] => false,
        [0x2001, second, ..] if second < 0x200 => false,
        // Unique local, link-local, site-local (deprecated), multicast.
        [first, ..] => {
            first & 0xfe00 != 0xfc00
                && first & 0xffc0 != 0xfe80
                && first & 0xffc0 != 0xfec0
                && first & 0xff00 != 0xff00
        }
    }
}

/// Returns the root cause of a failure, without the URL, which the caller knows.
fn failed(url: &Url, error: &reqwest::Error) -> FetchError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
        if cause.is::<PrivateAddress>() {
            return FetchError::Private { host: url.host_str().unwrap_or_default().to_owned() };
        }
    }
    FetchError::Failed { what: cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Reply, ScriptedServer};

    fn check_fetch(
        replies: Vec<Reply>,
        change: impl Fn(&mut FetchConfig),
    ) -> Result<WebDocument, FetchError> {
        let server = ScriptedServer::replies(replies);
        let mut config = FetchConfig { allow_private: true, ..FetchConfig::default() };
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(fetch(&format!("{}/page", server.url()), &config))
    }

    fn page(body: &str) -> Reply {
        Reply::json(200, body)
    }

    fn redirect(to: &str) -> Reply {
        Reply::json(302, "").header("location", to)
    }

    #[test]
    fn a_document_is_fetched_with_its_media_type() {
        let fetched = check_fetch(vec![redirect("/other"), page("words")], |_| {}).unwrap();
        assert_eq!(fetched.bytes, b"words");
        assert_eq!(fetched.media_type.as_deref(), Some("application/json"));
    }

    #[test]
    fn size_redirects_and_status_are_bounded() {
        let refused = |replies, change: fn(&mut FetchConfig)| check_fetch(replies, change).unwrap_err();
        assert_eq!(
            refused(vec![page("0123456789")], |config| config.max_bytes = 9),
            FetchError::TooLarge { max_bytes: 9 }
        );
        assert_eq!(
            refused(vec![redirect("/again")], |config| config.max_redirects = 3),
            FetchError::Redirects { max: 3 }
        );
        assert!(matches!(refused(vec![Reply::json(404, "")], |_| {}), FetchError::Status { .. }));
        assert!(matches!(refused(vec![redirect("file:///etc/passwd")], |_| {}), FetchError::Address { .. }));
        assert!(matches!(refused(vec![page("half").cut()], |_| {}), FetchError::Failed { .. }));
        let quick = |config: &mut FetchConfig| config.total_timeout = Duration::from_millis(50);
        assert_eq!(refused(vec![page("").hang()], quick), FetchError::TimedOut { seconds: 0 });
    }

    #[test]
    fn addresses_inside_the_network_are_refused_by_number_and_by_name() {
        let refused = check_fetch(vec![page("x")], |config| config.allow_private = false);
        assert_eq!(refused, Err(FetchError::Private { host: "127.0.0.1".to_owned() }));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let refused = runtime.block_on(fetch("http://localhost:9/", &FetchConfig::default()));
        assert_eq!(refused, Err(FetchError::Private { host: "localhost".to_owned() }));
    }

    #[test]
    fn a_redirect_into_the_network_is_refused_in_any_notation() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The only address that counts as public in this test.
        let allowed: AddressTest = |address| address == IpAddr::V4(Ipv4Addr::LOCALHOST);
        for (inside, host) in [
            ("http://127.0.0.2:PORT/", "127.0.0.2"),
            ("//127.0.0.2:PORT/", "127.0.0.2"),
            ("http://2130706434:PORT/", "127.0.0.2"),
            ("http://0x7f.0.0.2:PORT/", "127.0.0.2"),
            ("http://[::ffff:127.0.0.1]:PORT/", "[::ffff:7f00:1]"),
            ("http://169.254.169.254/latest/meta-data/", "169.254.169.254"),
        ] {
            let server = ScriptedServer::start(move |_, asked| match asked.path.as_str() {
                "/page" => {
                    redirect(&inside.replace("PORT", asked.headers["host"].trim_start_matches("127.0.0.1:")))
                }
                _ => page("the inside"),
            });
            let url = Url::parse(&format!("{}/page", server.url())).unwrap();
            let refused = runtime.block_on(follow(url, &FetchConfig::default(), allowed));
            assert_eq!(refused, Err(FetchError::Private { host: host.to_owned() }), "{inside}");
            assert_eq!(server.recorded().len(), 1, "{inside}");
        }
    }

    #[test]
    fn public_and_private_addresses_are_distinguished() {
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["93.184.216.34", "172.32.0.1", "2606:4700::1111", "64:ff9b::5db8:d822"] {
            assert!(is_public(outside.parse().unwrap()), "{outside}");
        }
    }

    #[test]
    fn an_address_has_one_canonical_form_without_a_password() {
        assert!(is_web_address("HTTPS://example.org") && !is_web_address("notes.md"));
        let name = canonical_address("HTTP://Example.org/a b#top");
        assert_eq!(name.as_deref(), Ok("http://example.org/a%20b"));
        assert!(matches!(
            canonical_address("https://me:secret@example.org/"),
            Err(FetchError::Address { .. })
        ));
    }
}
