//! Access control: keys, users and login tokens, in one file of the data folder or in the database.
//!
//! Secrets are random, shown once and stored as hashes. The file is read again whenever it changes, so a revoked
//! key is rejected immediately, whichever process revoked it.

mod file;
mod key;
mod password;
mod shared;
mod throttle;
mod token;

use std::collections::BTreeSet;

use graphloom_core::{Timestamp, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use file::{AccessError, AccessFile};
pub use key::{KeyRecord, NewKey};
pub use password::{MIN_PASSWORD_CHARS, UserRecord, random_password};
pub use shared::AccessStore;
pub(crate) use throttle::Throttle;
pub(crate) use token::guest_token;

/// Maximum length of the name of a key or user, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 100;

/// The permission level of a credential; each includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Ask questions and read.
    Read,
    /// Also add, edit and remove documents.
    Write,
    /// Also clear whole workspaces.
    Admin,
}

impl Right {
    /// Every level, lowest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// The name in output and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// The permissions of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The allowed workspaces; `None` for all, including future ones.
    pub workspaces: Option<BTreeSet<WorkspaceId>>,
    /// The permission level in them.
    pub right: Right,
}

impl Grant {
    /// Full access to every workspace.
    pub const ALL: Self = Self { workspaces: None, right: Right::Admin };

    /// Whether the workspace is allowed.
    pub fn reaches(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces.as_ref().is_none_or(|workspaces| workspaces.contains(workspace))
    }
}

/// The content of the access file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Access {
    /// Signs tokens. Created with the first key or user, so that no two installations share one.
    token_secret: Option<String>,
    /// Keys, oldest first, including revoked ones.
    pub keys: Vec<KeyRecord>,
    /// Users by name.
    pub users: Vec<UserRecord>,
}

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Name for logs; never a secret.
    pub(crate) name: String,
    /// Permissions.
    pub(crate) grant: Grant,
}

/// Why a request was not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessRefusal {
    /// It has no credential.
    NoCredential,
    /// The key is unknown or revoked.
    BadKey,
    /// The token is not ours or expired, or its user was removed or has a new password.
    BadToken,
}

/// The credentials of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Credentials<'a> {
    /// `X-API-Key`.
    pub(crate) key: Option<&'a str>,
    /// `Authorization: Bearer`; a token or a key.
    pub(crate) bearer: Option<&'a str>,
}

impl Access {
    /// Whether there were never any keys or users. Revoked keys count, and so do removed users, who leave the
    /// token secret behind: removing the last one must not open the server to everyone.
    pub fn is_empty(&self) -> bool {
        self.token_secret.is_none() && self.keys.is_empty() && self.users.is_empty()
    }

    /// Authenticates the sender of a request.
    pub(crate) fn identify(&self, shown: Credentials<'_>, now: Timestamp) -> Result<Caller, AccessRefusal> {
        if let Some(key) = shown.key {
            return self.key(key).ok_or(AccessRefusal::BadKey);
        }
        let Some(bearer) = shown.bearer else { return Err(AccessRefusal::NoCredential) };
        if key::looks_like_one(bearer) {
            return self.key(bearer).ok_or(AccessRefusal::BadKey);
        }
        let Some(user) = token::holder(self, bearer, now) else {
            // OpenAI clients send any key as a bearer token.
            let is_token = token::looks_like_one(bearer);
            return Err(if is_token { AccessRefusal::BadToken } else { AccessRefusal::BadKey });
        };
        Ok(Caller { name: format!("user {}", user.name), grant: user.grant.clone() })
    }

    /// A new token to replace the current one, if it has used up most of its lifetime.
    pub(crate) fn renewed(&self, shown: Credentials<'_>, now: Timestamp) -> Option<String> {
        match shown {
            Credentials { key: None, bearer: Some(token) } => token::renewed(self, token, now),
            Credentials { key: Some(_), .. } | Credentials { bearer: None, .. } => None,
        }
    }

    fn key(&self, shown: &str) -> Option<Caller> {
        let key = key::find(&self.keys, shown)?;
        Some(Caller { name: format!("key {}", key.id), grant: key.grant.clone() })
    }

    /// Creates the secret that signs tokens if there is none.
    fn ensure_token_secret(&mut self) -> Result<(), AccessError> {
        if self.token_secret.is_none() {
            self.token_secret = Some(hex(&random::<32>()?));
        }
        Ok(())
    }
}

/// Checks the name of a key or user, since it is printed and logged.
fn check_name(name: &str) -> Result<(), AccessError> {
    let fits = !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS;
    if fits && name.trim() == name && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(AccessError::Name { name: name.to_owned() })
}

/// Random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], AccessError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| AccessError::Random { what: error.to_string() })?;
    Ok(bytes)
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn reading(workspace: &str) -> Grant {
        let workspace = WorkspaceId::new(workspace).expect("a name");
        Grant { workspaces: Some(BTreeSet::from([workspace])), right: Right::Read }
    }

    #[test]
    fn a_key_grants_its_rights_until_it_is_revoked_and_is_not_stored() {
        let mut access = Access::default();
        assert!(access.is_empty());
        let key = access.create_key("notes", reading("alpha"), NOW).expect("random bytes");
        let stored = serde_json::to_string(&access).expect("JSON");
        let secret = key.secret.splitn(3, '_').nth(2).expect("a secret");
        assert!(secret.len() >= 43 && !stored.contains(secret), "{stored}");

        for shown in [
            Credentials { key: Some(&key.secret), bearer: None },
            Credentials { key: None, bearer: Some(&key.secret) },
            Credentials { key: Some(&key.secret), bearer: Some("a guest's token") },
        ] {
            assert_eq!(access.identify(shown, NOW).expect("let in").grant, reading("alpha"));
        }
        let almost = format!("{}x", &key.secret[..key.secret.len() - 1]);
        let other = access.create_key("other", Grant::ALL, NOW).expect("random bytes");
        let mixed = format!("glk_{}_{secret}", other.id);
        for wrong in ["", "glk_", "glk__", &almost, &mixed, "glk_000000000000_AAAA"] {
            let shown = Credentials { key: Some(wrong), bearer: None };
            assert_eq!(access.identify(shown, NOW), Err(AccessRefusal::BadKey), "{wrong}");
        }

        access.revoke_key("notes", NOW).expect("known");
        let shown = Credentials { key: Some(&key.secret), bearer: None };
        assert_eq!(access.identify(shown, NOW), Err(AccessRefusal::BadKey));
        assert!(!access.is_empty(), "revoking keys must not open the doors");
        assert!(access.revoke_key("notes", NOW).is_err());
    }

    #[test]
    fn a_token_expires_with_its_time_its_user_and_its_password() {
        let mut access = Access::default();
        access.put_user("ada", "correct horse", Grant::ALL, NOW).expect("a user");
        assert!(access.check_password("ada", "correct horse"));
        assert!(!access.check_password("ada", "correct horse ") && !access.check_password("bob", ""));
        let token = access.token_of("ada", NOW).expect("a user");
        let check = |access: &Access, token: &str, now| {
            access.identify(Credentials { key: None, bearer: Some(token) }, now).map(|caller| caller.name)
        };
        assert_eq!(check(&access, &token, NOW), Ok("user ada".to_owned()));
        let later = Timestamp(NOW.0 + 49 * 3600 * 1000);
        assert_eq!(check(&access, &token, later), Err(AccessRefusal::BadToken));
        let parts: Vec<&str> = token.split('.').collect();
        for forged in [
            "..".to_owned(),
            format!("{}.{}.", parts[0], parts[1]),
            format!("{}.{}.{}", parts[1], parts[1], parts[2]),
            // {"alg":"none"}
            format!("eyJhbGciOiJub25lIn0.{}.", parts[1]),
            guest_token(&[7; 32], NOW),
        ] {
            assert_eq!(check(&access, &forged, NOW), Err(AccessRefusal::BadToken), "{forged}");
        }
        for no_token in ["", "sk-wrong", "a.b", "a.b.c.d"] {
            assert_eq!(check(&access, no_token, NOW), Err(AccessRefusal::BadKey), "{no_token}");
        }
        let mut other = Access::default();
        other.put_user("ada", "correct horse", Grant::ALL, NOW).expect("a user");
        assert_eq!(
            check(&other, &token, NOW),
            Err(AccessRefusal::BadToken),
            "no two installations share a secret"
        );
        access.put_user("ada", "another one", Grant::ALL, NOW).expect("a user");
        assert_eq!(check(&access, &token, NOW), Err(AccessRefusal::BadToken));
        let token = access.token_of("ada", NOW).expect("a user");
        access.remove_user("ada").expect("known");
        assert_eq!(check(&access, &token, NOW), Err(AccessRefusal::BadToken));
        assert!(!access.is_empty(), "removing users must not open the doors");
    }

    #[test]
    fn names_that_would_confuse_a_log_are_refused() {
        let mut access = Access::default();
        for name in ["", " ", "a\nb", "a ", &"x".repeat(101)] {
            assert!(access.create_key(name, Grant::ALL, NOW).is_err(), "{name:?}");
            assert!(access.put_user(name, "long enough", Grant::ALL, NOW).is_err(), "{name:?}");
        }
        assert!(access.put_user("ada", "short", Grant::ALL, NOW).is_err());
        assert!(access.is_empty());
    }
}
