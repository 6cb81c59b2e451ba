//! Keys and users over HTTP: only administrators of all workspaces create and revoke them.

use graphloom_server::Right;
use serde_json::{Value, json};

use crate::support::{Request, Running};

#[tokio::test]
async fn keys_and_users_that_an_administrator_creates_work_until_they_are_removed() {
    let server = Running::start().await;
    server.add("", "a.md", "Radium glows.").await;
    let admin = server.key_of("admin", Right::Admin, &[]);
    let with = |request: Request, key: &str| request.header("x-api-key", key);
    let made = json!({ "name": "notes", "right": "read", "workspaces": ["default"] });
    let made = server.send(with(Request::post("/access/keys", made), &admin)).await.ok();
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    let labels = Request::get("/graph/label/list");
    assert_eq!(server.send(with(labels.clone(), key)).await.status, 200);
    server.send(with(Request::get("/w/other/graph/label/list"), key)).await.problem(403);

    let listed = server.send(with(Request::get("/access"), &admin)).await;
    assert!(!listed.body.contains(key.splitn(3, '_').nth(2).expect("a secret")), "{listed:?}");
    let listed = listed.ok();
    assert_eq!(listed["keys"][1]["name"], "notes");
    assert_eq!(listed["keys"][1]["workspaces"], json!(["default"]));
    assert_eq!(listed["keys"][1]["revoked_at"], Value::Null);

    let revoke = Request::delete(&format!("/access/keys/{id}"), json!({}));
    assert_eq!(server.send(with(revoke.clone(), &admin)).await.ok()["taken_back"], json!([id]));
    server.send(with(labels.clone(), key)).await.problem(403);
    server.send(with(revoke, &admin)).await.problem(404);

    let ada = json!({ "name": "ada", "right": "write" });
    let ada = server.send(with(Request::post("/access/users", ada), &admin)).await.ok();
    let password = ada["password"].as_str().expect("a password");
    let form = format!("username=ada&password={password}");
    let login = |form: &str| {
        Request::new("POST", "/login").header("content-type", "application/x-www-form-urlencoded").body(form)
    };
    let token = server.send(login(&form)).await.ok()["access_token"].as_str().expect("a token").to_owned();
    let bearer = labels.header("authorization", &format!("Bearer {token}"));
    assert_eq!(server.send(bearer.clone()).await.status, 200);
    let gone = Request::delete("/access/users/ada", json!({}));
    assert_eq!(server.send(with(gone, &admin)).await.ok()["taken_back"], json!(["ada"]));
    server.send(bearer).await.problem(403);
}

#[tokio::test]
async fn only_administrators_manage_keys_and_users_and_they_cannot_lock_themselves_out() {
    let server = Running::start().await;
    let with = |request: Request, key: &str| request.header("x-api-key", key);
    // Without keys, the first key must be able to create the next one.
    let first = json!({ "name": "first", "right": "write" });
    server.post("/access/keys", first).await.problem(409);
    let first = server.post("/access/keys", json!({ "name": "first", "right": "admin" })).await.ok();
    let (id, admin) = (first["id"].as_str().expect("an id"), first["key"].as_str().expect("a key"));
    server.get("/access").await.problem(403);
    let own = Request::delete(&format!("/access/keys/{id}"), json!({}));
    assert!(server.send(with(own, admin)).await.problem(409).contains("lock you out"));

    for key in [server.key_of("of one", Right::Admin, &["alpha"]), server.key_of("writer", Right::Write, &[])]
    {
        for request in [
            Request::get("/access"),
            Request::post("/access/keys", json!({ "name": "x", "right": "admin" })),
            Request::delete(&format!("/access/keys/{id}"), json!({})),
            Request::post("/access/users", json!({ "name": "x", "right": "read" })),
            Request::delete("/access/users/x", json!({})),
        ] {
            let refused = server.send(with(request, &key)).await.problem(403);
            assert!(refused.contains("admin on all workspaces"), "{refused}");
        }
    }
    for wrong in [
        json!({ "name": " x", "right": "read" }),
        json!({ "name": "x", "right": "owner" }),
        json!({ "name": "x", "right": "read", "workspaces": [] }),
        json!({ "name": "x", "right": "read", "workspaces": ["Not a name"] }),
    ] {
        server.send(with(Request::post("/access/keys", wrong), admin)).await.problem(422);
    }
}
