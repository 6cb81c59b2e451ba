//! Logging in.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use graphloom_core::Timestamp;
use graphloom_server::Right;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::support::{Answer, Request, Running, grant};

async fn login(server: &Running, name: &str, password: &str) -> Answer {
    let form = format!("username={name}&password={password}&grant_type=password");
    let request = Request::new("POST", "/login").header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(form)).await
}

fn add_user(server: &Running, name: &str, password: &str) {
    let grant = grant(Right::Read, &[]);
    server.access().change(|access| access.put_user(name, password, grant, Timestamp(1))).expect("a user");
}

#[tokio::test]
async fn a_login_returns_a_token_that_is_valid_until_the_user_is_removed() {
    let server = Running::start().await;
    add_user(&server, "ada", "correct+horse");
    let status = server.get("/auth-status").await.ok();
    assert_eq!((&status["auth_configured"], &status["auth_mode"]), (&json!(true), &json!("enabled")));
    assert_eq!(server.get("/auth/verify").await.problem(401), "No credentials provided. Please login.");

    assert_eq!(login(&server, "ada", "wrong-horse").await.problem(401), "Incorrect credentials");
    assert_eq!(login(&server, "bob", "correct+horse").await.problem(401), "Incorrect credentials");
    let token = login(&server, "ada", "correct%2Bhorse").await.ok();
    assert_eq!(token["token_type"], "bearer");
    let bearer = format!("Bearer {}", token["access_token"].as_str().expect("a token"));
    let verify = Request::get("/auth/verify").header("authorization", &bearer);
    let verified = json!({ "status": "ok", "name": "user ada", "right": "read", "workspaces": null });
    assert_eq!(server.send(verify.clone()).await.ok(), verified);
    let clear = Request::new("DELETE", "/documents").header("authorization", &bearer);
    server.send(clear).await.problem(403);

    server.access().change(|access| access.remove_user("ada")).expect("known");
    add_user(&server, "eve", "another-one");
    assert_eq!(server.send(verify).await.problem(401), "Invalid token. Please login again.");
}

/// Returns the same token as if it had been issued some hours ago: signed again with the secret of the installation.
fn aged(server: &Running, token: &str, hours: u64) -> String {
    let file = std::fs::read_to_string(server.folder.path().join("access.json")).expect("a file");
    let access: Value = serde_json::from_str(&file).expect("JSON");
    let secret = access["token_secret"].as_str().expect("a secret").as_bytes();
    let parts: Vec<&str> = token.split('.').collect();
    let claims = BASE64_URL_SAFE_NO_PAD.decode(parts[1]).expect("base64");
    let mut claims: Value = serde_json::from_slice(&claims).expect("JSON");
    for field in ["iat", "exp"] {
        claims[field] = json!(claims[field].as_u64().expect("a time") - hours * 3600);
    }
    let message = format!("{}.{}", parts[0], BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key");
    mac.update(message.as_bytes());
    format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn a_token_past_half_its_lifetime_is_renewed() {
    let server = Running::start().await;
    add_user(&server, "ada", "correct-horse");
    let token = login(&server, "ada", "correct-horse").await.ok()["access_token"].clone();
    let token = token.as_str().expect("a token");
    let ask = async |path: &str, token: &str| {
        let answer =
            server.send(Request::get(path).header("authorization", &format!("Bearer {token}"))).await;
        (answer.status, answer.headers.get("x-new-token").cloned())
    };
    assert_eq!(ask("/jobs", token).await, (200, None));
    assert_eq!(ask("/jobs", &aged(&server, token, 23)).await, (200, None));
    let old = aged(&server, token, 25);
    assert_eq!(ask("/documents/pipeline_status", &old).await, (200, None), "asked repeatedly");
    let (status, new) = ask("/jobs", &old).await;
    let new = new.expect("a new token");
    assert_eq!((status, new == old), (200, false));
    assert_eq!(ask("/jobs", &new).await, (200, None));
    assert_eq!(ask("/jobs", &aged(&server, token, 49)).await, (401, None));
    assert_eq!(ask("/jobs", "no.token.at-all").await, (401, None));
}

#[tokio::test]
async fn repeated_guesses_lock_out_even_the_right_password() {
    let server = Running::start().await;
    add_user(&server, "ada", "correct-horse");
    for _ in 0..5 {
        login(&server, "ada", "guess").await.problem(401);
    }
    let answer = login(&server, "ada", "correct-horse").await;
    answer.problem(429);
    let seconds: u64 = answer.headers["retry-after"].parse().expect("seconds");
    assert!((200..=300).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn without_users_a_guest_token_is_issued_that_grants_nothing() {
    let server = Running::start().await;
    let status = server.get("/auth-status").await.ok();
    assert_eq!((&status["auth_configured"], &status["auth_mode"]), (&json!(false), &json!("disabled")));
    let bearer = format!("Bearer {}", status["access_token"].as_str().expect("a token"));
    let verify = Request::get("/auth/verify").header("authorization", &bearer);
    assert_eq!(
        server.send(verify.clone()).await.status,
        200,
        "open to this machine as long as there is no key"
    );
    let key = server.key(Right::Read, &[]);
    assert_eq!(server.send(verify.clone()).await.problem(403), "API Key required");
    assert_eq!(server.send(verify.header("x-api-key", &key)).await.status, 200);
}
