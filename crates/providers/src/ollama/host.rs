//! Parses `OLLAMA_HOST`.

use super::OLLAMA_BASE_URL;

const DEFAULT_PORT: &str = "11434";

/// Returns the base URL for a value of `OLLAMA_HOST`, with Ollama's rules.
///
/// - Scheme, host and port are optional. With a scheme the port defaults to the scheme's port, otherwise to 11434.
/// - Addresses that servers bind to but clients cannot connect to (`0.0.0.0`, `::`) become loopback.
/// - An empty value means [`OLLAMA_BASE_URL`].
pub fn base_url_from_host(value: &str) -> String {
    let value = value.trim().trim_matches(['"', '\'']).trim();
    if value.is_empty() {
        return OLLAMA_BASE_URL.to_owned();
    }
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, value),
    };
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, path.trim_end_matches('/')),
        None => (rest, ""),
    };
    let (host, port) = host_and_port(authority);
    let host = match host {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let port = match (port, scheme) {
        (Some(port), _) => format!(":{port}"),
        (None, Some(_)) => String::new(),
        (None, None) => format!(":{DEFAULT_PORT}"),
    };
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    format!("{}://{host}{port}{path}", scheme.unwrap_or("http"))
}

/// Returns the host without brackets, and the port. A bare IPv6 address has no port.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    if let Some((host, rest)) = authority.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        return (host, rest.strip_prefix(':').filter(|port| !port.is_empty()));
    }
    match authority.rsplit_once(':') {
        Some((host, _)) if host.contains(':') => (authority, None),
        Some((host, port)) => (host, Some(port).filter(|port| !port.is_empty())),
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::base_url_from_host;

    #[test]
    fn every_form_of_ollama_host_is_understood() {
        for (value, url) in [
            ("", "http://127.0.0.1:11434"),
            ("  \"example.com\" ", "http://example.com:11434"),
            ("example.com:56789", "http://example.com:56789"),
            (":56789", "http://127.0.0.1:56789"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:56789", "http://127.0.0.1:56789"),
            ("http://example.com", "http://example.com"),
            ("https://example.com/", "https://example.com"),
            ("https://example.com:56789/ollama/", "https://example.com:56789/ollama"),
            ("[::1]", "http://[::1]:11434"),
            ("[::]:56789", "http://[::1]:56789"),
            ("::1", "http://[::1]:11434"),
        ] {
            assert_eq!(base_url_from_host(value), url, "{value:?}");
        }
    }
}
