//! Users and their passwords.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use graphloom_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Access, AccessError, Grant, check_name, random, token};

/// Minimum length of a password, in characters.
pub const MIN_PASSWORD_CHARS: usize = 8;
/// Maximum length of a password in bytes, since hashing takes time for each byte.
pub(crate) const MAX_PASSWORD_BYTES: usize = 1024;

/// A stored user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRecord {
    /// The login name.
    pub name: String,
    /// Argon2id hash of the password, with salt and parameters.
    pub(super) password_hash: String,
    /// Permissions.
    pub grant: Grant,
    /// When the user was created or the password set.
    pub created_at: Timestamp,
}

/// A random password with 144 bits.
pub fn random_password() -> Result<String, AccessError> {
    Ok(BASE64_URL_SAFE_NO_PAD.encode(random::<18>()?))
}

impl Access {
    /// Creates a user, or sets a new password and permissions, which invalidates older tokens.
    pub fn put_user(
        &mut self,
        name: &str,
        password: &str,
        grant: Grant,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        check_name(name)?;
        if password.chars().count() < MIN_PASSWORD_CHARS || password.len() > MAX_PASSWORD_BYTES {
            return Err(AccessError::Password);
        }
        self.ensure_token_secret()?;
        let password_hash = hash(password)?;
        self.users.retain(|user| user.name != name);
        self.users.push(UserRecord { name: name.to_owned(), password_hash, grant, created_at: now });
        self.users.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(())
    }

    /// Removes a user and invalidates the user's tokens.
    pub fn remove_user(&mut self, name: &str) -> Result<(), AccessError> {
        let before = self.users.len();
        self.users.retain(|user| user.name != name);
        match self.users.len() < before {
            true => Ok(()),
            false => Err(AccessError::UnknownUser { name: name.to_owned() }),
        }
    }

    /// Whether the password is correct. Slow on purpose, and equally slow for unknown users.
    pub(crate) fn check_password(&self, name: &str, password: &str) -> bool {
        // The hash to verify against for unknown users, so that the time does not reveal whether the user exists.
        static NOBODY: LazyLock<String> = LazyLock::new(|| hash("nobody").unwrap_or_default());
        let user = self.users.iter().find(|user| user.name == name);
        let stored = user.map_or(NOBODY.as_str(), |user| user.password_hash.as_str());
        let matches = PasswordHash::new(stored)
            .is_ok_and(|known| Argon2::default().verify_password(password.as_bytes(), &known).is_ok());
        matches && user.is_some()
    }

    /// A token for a user who has logged in.
    pub(crate) fn token_of(&self, name: &str, now: Timestamp) -> Option<String> {
        let user = self.users.iter().find(|user| user.name == name)?;
        token::sign(self, user, now)
    }
}

fn hash(password: &str) -> Result<String, AccessError> {
    let failed = |error: argon2::password_hash::Error| AccessError::Random { what: error.to_string() };
    let salt = SaltString::encode_b64(&random::<16>()?).map_err(failed)?;
    Ok(Argon2::default().hash_password(password.as_bytes(), &salt).map_err(failed)?.to_string())
}
