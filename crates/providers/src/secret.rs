//! API keys and passwords that are never displayed.

use std::fmt;

use serde::Deserialize;

/// Shown in place of a secret.
pub(crate) const MASK: &str = "***";

/// Minimum length of a secret that is masked in messages. Masking a single letter would only garble the message.
const MIN_MASKED_LEN: usize = 4;

/// An API key or password. Its `Debug` output shows `***`, and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps `value` without surrounding white space.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().trim().to_owned())
    }

    /// Returns the value, for the code that sends it.
    pub fn expose(&self) -> &str {
        self.0.trim()
    }

    /// True if the value is empty.
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    /// Returns `text` with every occurrence of this secret masked.
    pub(crate) fn mask_in(&self, text: &str) -> String {
        if self.expose().len() < MIN_MASKED_LEN { text.to_owned() } else { text.replace(self.expose(), MASK) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({MASK})")
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new(" sk-12345\n");
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert_eq!(secret.expose(), "sk-12345");
        assert_eq!(secret.mask_in("wrong key sk-12345!"), "wrong key ***!");
    }
}
