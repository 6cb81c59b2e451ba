//! Login tokens: JSON Web Tokens signed with HMAC-SHA-256. No other algorithm is accepted, whatever the header
//! says.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use graphloom_core::Timestamp;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;

use super::{Access, UserRecord};

/// Lifetime of a token in seconds [LightRAG].
const LIFETIME_S: u64 = 48 * 3600;
/// Maximum length of an accepted token in bytes; ours are far shorter.
const MAX_TOKEN_BYTES: usize = 4096;
/// The role of users in tokens.
const USER: &str = "user";

#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    role: String,
    iat: u64,
    exp: u64,
    /// Identifies the password the user logged in with.
    epoch: String,
    #[serde(default)]
    metadata: serde_json::Value,
}

/// Creates a token for this user; `None` without a token secret, which is created with the first user.
pub(super) fn sign(access: &Access, user: &UserRecord, now: Timestamp) -> Option<String> {
    let claims = Claims {
        sub: user.name.clone(),
        role: USER.to_owned(),
        iat: now.0 / 1000,
        exp: now.0 / 1000 + LIFETIME_S,
        epoch: epoch(user),
        metadata: json!({ "auth_mode": "enabled" }),
    };
    signed(access.token_secret.as_ref()?.as_bytes(), &claims)
}

/// The user of a valid token.
pub(super) fn holder<'a>(access: &'a Access, token: &str, now: Timestamp) -> Option<&'a UserRecord> {
    checked(access, token, now).map(|(user, _)| user)
}

/// A new token for the same user if more than half of the lifetime is over [LightRAG].
pub(super) fn renewed(access: &Access, token: &str, now: Timestamp) -> Option<String> {
    let (user, claims) = checked(access, token, now)?;
    let is_old = claims.exp.saturating_sub(now.0 / 1000) < LIFETIME_S / 2;
    if is_old { sign(access, user, now) } else { None }
}

fn checked<'a>(access: &'a Access, token: &str, now: Timestamp) -> Option<(&'a UserRecord, Claims)> {
    let secret = access.token_secret.as_ref()?.as_bytes();
    if token.len() > MAX_TOKEN_BYTES {
        return None;
    }
    let (message, signature) = token.rsplit_once('.')?;
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
    // Constant-time comparison.
    mac(secret, message)?.verify_slice(&signature).ok()?;
    let (_, payload) = message.split_once('.')?;
    let claims: Claims = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    let user = access.users.iter().find(|user| user.name == claims.sub)?;
    let is_good = claims.role == USER && now.0 / 1000 < claims.exp && claims.epoch == epoch(user);
    is_good.then_some((user, claims))
}

/// Whether it has the three parts of a token, valid or not.
pub(super) fn looks_like_one(shown: &str) -> bool {
    shown.split('.').count() == 3
}

/// A token for LightRAG clients, which expect one even if no login is required. It grants nothing.
pub(crate) fn guest_token(secret: &[u8; 32], now: Timestamp) -> String {
    let claims = Claims {
        sub: "guest".to_owned(),
        role: "guest".to_owned(),
        iat: now.0 / 1000,
        exp: now.0 / 1000 + LIFETIME_S,
        epoch: String::new(),
        metadata: json!({ "auth_mode": "disabled" }),
    };
    signed(secret, &claims).unwrap_or_default()
}

fn signed(secret: &[u8], claims: &Claims) -> Option<String> {
    let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
    let payload = BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(claims).ok()?);
    let message = format!("{header}.{payload}");
    let signature = BASE64_URL_SAFE_NO_PAD.encode(mac(secret, &message)?.finalize().into_bytes());
    Some(format!("{message}.{signature}"))
}

fn mac(secret: &[u8], message: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(message.as_bytes());
    Some(mac)
}

/// Changes with the password.
fn epoch(user: &UserRecord) -> String {
    blake3::hash(user.password_hash.as_bytes()).to_hex()[..16].to_owned()
}
