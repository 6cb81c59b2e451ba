//! Forged credentials.

use graphloom_server::Right;

use super::Attack;
use crate::support::{Request, Running};

/// - `key`: a revoked key, from parts of which others are made.
pub(super) fn table(key: &str) -> Vec<Attack> {
    let asked = || Request::get("/graph/label/list");
    let secret = key.splitn(3, '_').nth(2).expect("a secret");
    let (almost, longer) = (&key[..key.len() - 1], format!("{key}x"));
    let (upper, spaced) = (key.to_uppercase(), format!("{key} {key}"));
    let keys = [
        key,
        almost,
        &longer,
        &upper,
        &spaced,
        secret,
        "glk_",
        "glk__",
        "glk_*_*",
        "glk_%_%",
        "null",
        "true",
        "undefined",
        "0",
        "admin",
        "' OR '1'='1",
        "../access.json",
        "[object Object]",
        "{\"$ne\":null}",
    ];
    let mut attacks = Vec::new();
    for key in keys {
        let shown = asked().header("x-api-key", key);
        attacks.push(Attack::new(format!("key {key:?}"), shown, &[401, 403]));
        let shown = asked().header("authorization", &format!("Bearer {key}"));
        attacks.push(Attack::new(format!("bearer {key:?}"), shown, &[401, 403]));
    }
    let payload = "eyJzdWIiOiJhZGEiLCJleHAiOjk5OTk5OTk5OTl9";
    for token in [
        // {"alg":"none"}; {"alg":"HS256"} unsigned, signed with an empty key, and with a path as key.
        format!("eyJhbGciOiJub25lIn0.{payload}."),
        format!("eyJhbGciOiJub25lIn0.{payload}"),
        format!("eyJhbGciOiJIUzI1NiJ9.{payload}."),
        format!("eyJhbGciOiJIUzI1NiJ9.{payload}.AAAA"),
        format!("eyJhbGciOiJIUzI1NiIsImtpZCI6Ii9kZXYvbnVsbCJ9.{payload}.AAAA"),
        "..".to_owned(),
        ".".repeat(1000),
        "a.b.c.d.e".to_owned(),
    ] {
        let shown = asked().header("authorization", &format!("Bearer {token}"));
        attacks.push(Attack::new(format!("token {token:.60}"), shown, &[401, 403]));
    }
    for other in
        ["Basic YWRhOmFkYQ==", "Digest username=ada", "Negotiate AAAA", "Bearer", "bearer ", "Token x"]
    {
        let shown = asked().header("authorization", other);
        attacks.push(Attack::new(other, shown, &[401, 403]));
    }
    let elsewhere = [
        Request::get(&format!("/graph/label/list?api_key={key}")),
        Request::get(&format!("/graph/label/list?token={key}&access_token={key}")),
        asked().header("cookie", &format!("token={key}; api_key={key}")),
        asked().header("x-forwarded-for", "127.0.0.1").header("x-real-ip", "127.0.0.1"),
        asked().header("forwarded", "for=127.0.0.1;host=localhost"),
        asked().header("x-forwarded-user", "admin").header("remote-user", "admin"),
        asked().header("host", "localhost"),
        asked().header("x-api-key", "").header("authorization", ""),
    ];
    for (number, request) in elsewhere.into_iter().enumerate() {
        attacks.push(Attack::new(format!("elsewhere {number}"), request, &[401, 403]));
    }
    for form in [
        "username=ada&password=",
        "username=&password=",
        "username=ada&password=ada&password=correct",
        "username[$ne]=x&password[$ne]=x",
        "username=ada'--&password=x",
        "username=ada%00&password=x",
        "username=ada%0d%0aset-cookie:x&password=x",
        "username=*&password=*",
        "grant_type=client_credentials",
        "",
    ] {
        let login = Request::new("POST", "/login")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        attacks.push(Attack::new(format!("login {form:?}"), login, &[400, 401, 422, 429]));
    }
    attacks
}

#[tokio::test]
async fn forged_and_revoked_credentials_grant_nothing() {
    let server = Running::start().await;
    let key = server.key(Right::Admin, &[]);
    server.user("ada", "correct horse battery");
    server
        .access()
        .change(|access| access.revoke_key("test", graphloom_core::Timestamp(2)))
        .expect("revoked");
    let attacks = table(&key);
    let before = std::fs::read(server.folder.path().join("access.json")).expect("the file");
    for attack in attacks {
        let answer = attack.check(&server).await.expect("an answer");
        assert!(!answer.body.contains("access_token"), "{answer:?}");
    }
    assert_eq!(std::fs::read(server.folder.path().join("access.json")).expect("the file"), before);
}
