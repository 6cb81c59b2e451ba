//! API keys: `glk_ID_SECRET`, 256 random bits, shown once.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use graphloom_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Access, AccessError, Grant, check_name, hex, random};

/// Prefix of every key, recognized by people and by scanners for leaked secrets.
const PREFIX: &str = "glk_";

/// A stored key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Id of the key; part of the key, not secret.
    pub id: String,
    /// Purpose of the key.
    pub name: String,
    /// BLAKE3 hash of the secret. A secret of 256 random bits cannot be guessed, so a fast hash is enough.
    secret_hash: String,
    /// Permissions.
    pub grant: Grant,
    /// Creation time.
    pub created_at: Timestamp,
    /// Revocation time.
    pub revoked_at: Option<Timestamp>,
}

/// A new key.
#[derive(Debug, Clone, Serialize)]
pub struct NewKey {
    /// Id of the key.
    pub id: String,
    /// The key itself; it cannot be shown again.
    #[serde(rename = "key")]
    pub secret: String,
}

impl Access {
    /// Creates a key. Names need not be unique, ids are.
    pub fn create_key(&mut self, name: &str, grant: Grant, now: Timestamp) -> Result<NewKey, AccessError> {
        check_name(name)?;
        self.ensure_token_secret()?;
        let id = hex(&random::<6>()?);
        let secret = BASE64_URL_SAFE_NO_PAD.encode(random::<32>()?);
        self.keys.push(KeyRecord {
            id: id.clone(),
            name: name.to_owned(),
            secret_hash: blake3::hash(secret.as_bytes()).to_hex().to_string(),
            grant,
            created_at: now,
            revoked_at: None,
        });
        Ok(NewKey { secret: format!("{PREFIX}{id}_{secret}"), id })
    }

    /// Revokes the key with this id, or all keys with this name, and returns their ids. Fails if there is none to
    /// revoke.
    pub fn revoke_key(&mut self, reference: &str, now: Timestamp) -> Result<Vec<String>, AccessError> {
        let meant =
            |key: &&mut KeyRecord| key.revoked_at.is_none() && (key.id == reference || key.name == reference);
        let mut revoked = Vec::new();
        for key in self.keys.iter_mut().filter(meant) {
            key.revoked_at = Some(now);
            revoked.push(key.id.clone());
        }
        match revoked.is_empty() {
            true => Err(AccessError::UnknownKey { reference: reference.to_owned() }),
            false => Ok(revoked),
        }
    }
}

/// Whether a bearer credential is a key rather than a token.
pub(super) fn looks_like_one(shown: &str) -> bool {
    shown.starts_with(PREFIX)
}

/// The key that matches `shown`, unless it is revoked.
pub(super) fn find<'a>(keys: &'a [KeyRecord], shown: &str) -> Option<&'a KeyRecord> {
    let (id, secret) = shown.strip_prefix(PREFIX)?.split_once('_')?;
    let hash = blake3::hash(secret.as_bytes());
    // Hashes are compared in constant time; the id is not secret.
    let is_it = |key: &&KeyRecord| {
        key.id == id && blake3::Hash::from_hex(&key.secret_hash).is_ok_and(|known| known == hash)
    };
    keys.iter().find(is_it).filter(|key| key.revoked_at.is_none())
}
