//! The address of a provider and its credentials.

use std::fmt;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::http::Target;
use crate::secret::Secret;

/// A server and its credentials, which the `Debug` output masks.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's label, which is the first part of every model name, such as `openai`.
    pub label: String,
    /// The base URL before the provider's paths, such as `https://api.openai.com/v1`. A query is kept.
    pub base_url: String,
    /// The API key, if any. Sent as a bearer token or in the provider's own header, unless it is empty.
    pub api_key: Option<Secret>,
    /// Additional headers, such as `api-key` for Azure. Their values are treated as secrets.
    pub headers: Vec<(String, Secret)>,
}

impl Endpoint {
    /// Creates an endpoint without an API key.
    pub fn new(label: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self { label: label.into(), base_url: base_url.into(), api_key: None, headers: Vec::new() }
    }

    /// Returns the same server with an API key.
    pub fn with_key(self, api_key: Option<Secret>) -> Self {
        Self { api_key, ..self }
    }

    /// Returns the URL of `path` below the base URL for `model`, with authentication headers.
    pub(crate) fn target(&self, path: &str, model: &str) -> Result<Target, ConfigError> {
        self.target_with(path, model, KeyHeader::Bearer)
    }

    /// Like [`target`](Self::target), with the API key in the provider's own header.
    pub(crate) fn target_with(
        &self,
        path: &str,
        model: &str,
        key_header: KeyHeader,
    ) -> Result<Target, ConfigError> {
        let url = self.url(path)?;
        let mut headers = HeaderMap::new();
        let mut secrets = Vec::new();
        if let Some(key) = self.api_key.as_ref().filter(|key| !key.is_empty()) {
            let (name, value) = match key_header {
                KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {}", key.expose())),
                KeyHeader::Named(name) => (HeaderName::from_static(name), key.expose().to_owned()),
            };
            headers.insert(name, sensitive(&value).ok_or(ConfigError::UnusableKey)?);
            secrets.push(key.clone());
        }
        for (name, value) in &self.headers {
            let unusable = || ConfigError::UnusableHeader { name: name.clone() };
            let header = HeaderName::try_from(name.as_str()).map_err(|_| unusable())?;
            headers.insert(header, sensitive(value.expose()).ok_or_else(unusable)?);
            secrets.push(value.clone());
        }
        if let Some(password) = url.password() {
            secrets.push(Secret::new(password));
        }
        let is_key =
            |name: &str| SECRET_PARAMETERS.iter().any(|part| name.to_ascii_lowercase().contains(part));
        let keys = url.query_pairs().filter(|(name, _)| is_key(name));
        secrets.extend(keys.map(|(_, value)| Secret::new(value)));
        Ok(Target::new(model.to_owned(), url, path.to_owned(), headers, secrets))
    }

    /// Returns the host of the base URL in lower case.
    pub(crate) fn host(&self) -> Result<String, ConfigError> {
        Ok(self.url("")?.host_str().unwrap_or_default().to_owned())
    }

    fn url(&self, path: &str) -> Result<Url, ConfigError> {
        let refuse =
            |what: String| ConfigError::UnusableUrl { url: without_credentials(&self.base_url), what };
        let address = self.base_url.trim();
        let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), Some("http" | "https")) {
            return Err(refuse("it must start with http:// or https:// and contain a host".to_owned()));
        }
        let mut url = Url::parse(address).map_err(|source| refuse(source.to_string()))?;
        let joined = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(joined.trim_end_matches('/'));
        Ok(url)
    }
}

/// The header in which a provider expects the API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The plain API key in a header with this name.
    Named(&'static str),
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("label", &self.label)
            .field("base_url", &without_credentials(&self.base_url))
            .field("api_key", &self.api_key)
            .field("headers", &self.headers)
            .finish()
    }
}

/// Why a provider's configuration is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The base URL is invalid.
    #[error("invalid base URL {url}: {what}")]
    UnusableUrl {
        /// The URL, without user and password.
        url: String,
        /// The error.
        what: String,
    },
    /// The API key contains bytes that are not allowed in an HTTP header.
    #[error("the API key contains line breaks or control characters")]
    UnusableKey,
    /// A header's name or value is invalid.
    #[error("invalid header {name}: its name or value contains characters that HTTP does not allow")]
    UnusableHeader {
        /// The header's name.
        name: String,
    },
    /// The HTTP client could not be created.
    #[error("setting up the HTTP client: {what}")]
    Client {
        /// The client's error.
        what: String,
    },
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Parts of the names of query parameters that contain a key.
const SECRET_PARAMETERS: [&str; 4] = ["key", "token", "secret", "sig"];

/// Returns a URL without its query and everything before an `@`.
pub fn without_credentials(url: &str) -> String {
    let url = url.split_once('?').map_or(url, |(url, _)| url);
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let host_start = rest.rfind('@').map_or(0, |at| at + 1);
    if scheme.is_empty() {
        rest[host_start..].to_owned()
    } else {
        format!("{scheme}://{}", &rest[host_start..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_url(base_url: &str, path: &str) -> String {
        Endpoint::new("x", base_url).target(path, "m").map_or_else(|e| e.to_string(), |t| t.url().to_string())
    }

    #[test]
    fn paths_are_joined_below_the_base_url() {
        assert_eq!(check_url("http://h:1/v1/", "chat/completions"), "http://h:1/v1/chat/completions");
        assert_eq!(check_url("http://h", "api/chat"), "http://h/api/chat");
    }

    #[test]
    fn a_query_is_sent_but_not_shown() {
        let target = Endpoint::new("x", "https://h/v1?api-version=7").target("embeddings", "m").unwrap();
        assert_eq!(target.address().as_str(), "https://h/v1/embeddings?api-version=7");
        assert_eq!(target.url().as_str(), "https://h/v1/embeddings");
        assert_eq!(target.base_url(), "https://h/v1");
    }

    #[test]
    fn a_bad_url_says_why_and_keeps_the_password() {
        assert_eq!(
            check_url("ftp://me:secret@h/x", "y"),
            "invalid base URL ftp://h/x: it must start with http:// or https:// and contain a host"
        );
        assert!(check_url("127.0.0.1:7801/v1", "y").contains("it must start with http://"));
        assert!(!check_url("http//me:secret@h", "y").contains("secret"));
    }

    #[test]
    fn keys_are_hidden_in_debug_output() {
        let endpoint = Endpoint::new("x", "http://h").with_key(Some(Secret::new("sk-123456")));
        let target = endpoint.target("y", "m").unwrap();
        assert!(!format!("{endpoint:?} {target:?}").contains("sk-123456"));
    }

    #[test]
    fn a_key_with_a_line_break_is_refused_without_being_shown() {
        let endpoint = Endpoint::new("x", "http://h").with_key(Some(Secret::new("sk\n123456")));
        assert_eq!(endpoint.target("y", "m").unwrap_err(), ConfigError::UnusableKey);
    }
}
