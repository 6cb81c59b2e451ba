//! Users and their passwords.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use graphloom_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Access, AccessError, Grant, check_name, random, token};

/// Shortest password, in characters.
pub const MIN_PASSWORD_CHARS: usize = 8;
/// Longest password, in bytes: hashing takes time for every byte.
pub(crate) const MAX_PASSWORD_BYTES: usize = 1024;

/// A user as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRecord {
    /// The name to log in with.
    pub name: String,
    /// The password's Argon2id hash, with salt and parameters.
    pub(super) password_hash: String,
    /// What the user may do.
    pub grant: Grant,
    /// When it was made, or its password set.
    pub created_at: Timestamp,
}

/// A password that nobody can guess: 144 random bits.
pub fn random_password() -> Result<String, AccessError> {
    Ok(BASE64_URL_SAFE_NO_PAD.encode(random::<18>()?))
}

impl Access {
    /// Makes a user, or gives one another password and grant; tokens of before are void then.
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

    /// Removes a user; its tokens are void then.
    pub fn remove_user(&mut self, name: &str) -> Result<(), AccessError> {
        let before = self.users.len();
        self.users.retain(|user| user.name != name);
        match self.users.len() < before {
            true => Ok(()),
            false => Err(AccessError::UnknownUser { name: name.to_owned() }),
        }
    }

    /// Whether this is the user's password. It takes as long where there is no such user. Slow on purpose.
    pub(crate) fn check_password(&self, name: &str, password: &str) -> bool {
        // Verified against where there is no user, so that the time says nothing.
        static NOBODY: LazyLock<String> = LazyLock::new(|| hash("nobody").unwrap_or_default());
        let user = self.users.iter().find(|user| user.name == name);
        let stored = user.map_or(NOBODY.as_str(), |user| user.password_hash.as_str());
        let matches = PasswordHash::new(stored)
            .is_ok_and(|known| Argon2::default().verify_password(password.as_bytes(), &known).is_ok());
        matches && user.is_some()
    }

    /// A token of a user that was let in.
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
