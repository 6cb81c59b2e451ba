//! Starting, stopping, and reaching the limits.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use graphloom_core::{StoreError, Timestamp, WorkspaceId};
use graphloom_server::{AccessError, AccessFile, Grant, Limits, Right, ServeError, Server, ServerConfig};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Answer, HELD, MemoryHost, Request, Running, config, read_answer};

#[tokio::test]
async fn a_network_address_is_refused_until_a_key_exists() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path(), Limits::default());
    config.address = ([0, 0, 0, 0], 0).into();
    let refused = Server::bind(config.clone(), Arc::new(MemoryHost::default())).await;
    let error = refused.err().expect("refused");
    assert!(matches!(error, ServeError::Open { .. }), "{error}");

    let access = AccessFile::of(folder.path());
    let key = access.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).expect("a key");
    let mut server = Running::start_as(config, folder).await;
    server.address.set_ip([127, 0, 0, 1].into());
    server.get("/graph/label/list").await.problem(403);
    let asked = Request::get("/graph/label/list").header("x-api-key", &key.secret);
    assert_eq!(server.send(asked.clone()).await.status, 200);
    // Without the file, all requests are rejected, and the next start reports why.
    std::fs::remove_file(server.folder.path().join("access.json")).expect("removed");
    server.get("/graph/label/list").await.problem(503);
    server.send(asked).await.problem(503);
    let config = config_of_loopback(server.folder.path());
    let refused = Server::bind(config, Arc::new(MemoryHost::default())).await.err().expect("refused");
    assert!(matches!(refused, ServeError::Access(AccessError::Gone { .. })), "{refused}");
}

fn config_of_loopback(folder: &std::path::Path) -> graphloom_server::ServerConfig {
    config(folder, Limits::default())
}

#[tokio::test]
async fn requests_with_other_origins_or_host_names_are_refused() {
    let server = Running::start().await;
    let list = Request::get("/graph/label/list");
    for host in ["evil.example", "evil.example:9621", "localhost.evil.example"] {
        server.send(list.clone().header("host", host)).await.problem(403);
    }
    assert_eq!(server.send(list.clone().header("host", "localhost:1")).await.status, 200);
    let change = Request::post("/documents/clear_cache", json!({}));
    server.send(change.clone().header("origin", "https://evil.example")).await.problem(403);
    server.send(change.clone().header("origin", "null")).await.problem(403);
    let own = format!("http://{}", server.address);
    assert_eq!(server.send(change.header("origin", &own)).await.status, 200);
    // A content type that a web form can send without permission is not accepted as JSON.
    let form = Request::new("POST", "/documents/text").header("content-type", "text/plain");
    server.send(form.body(r#"{"text": "x"}"#)).await.problem(415);
    let answer = server.send(list.header("origin", "https://evil.example")).await;
    assert!(!answer.headers.contains_key("access-control-allow-origin"), "{answer:?}");
}

#[tokio::test]
async fn a_configured_origin_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path(), Limits::default());
    config.cors_origins = vec!["https://app.example".to_owned()];
    let server = Running::start_as(config, folder).await;
    let preflight = Request::new("OPTIONS", "/query")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,mcp-session-id,x-stainless-os");
    let answer = server.send(preflight.clone()).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "https://app.example");
    let allowed = &answer.headers["access-control-allow-headers"];
    assert_eq!(allowed, "authorization,mcp-session-id,x-stainless-os", "clients send headers of their own");
    assert_eq!(answer.headers["access-control-max-age"], "600");
    let change = Request::post("/documents/clear_cache", json!({})).header("origin", "https://app.example");
    assert_eq!(server.send(change).await.status, 200);
}

#[tokio::test]
async fn requests_beyond_the_limit_are_told_when_to_retry() {
    let server =
        Running::start_with(Limits { changes: 1, turn: Duration::from_millis(10), ..Limits::default() })
            .await;
    let held = Request::post("/documents/text", json!({ "text": HELD }));
    let mut held = server.begin(&held.bytes(server.address)).await;
    server.wait_until_in_progress(None, 1).await;
    let add = Request::post("/documents/text", json!({ "text": "Radium glows." }));
    let busy = loop {
        let answer = server.send(add.clone()).await;
        // Until the other request has got its turn, this one is accepted.
        if answer.status != 200 {
            break answer;
        }
    };
    busy.problem(429);
    assert_eq!(busy.headers["retry-after"], "1");
    assert_eq!(server.get("/livez").await.status, 200, "requests other than changes are not delayed");
    server.release();
    assert_eq!(read_answer(&mut held).await.status, 200);
    loop {
        let answer = server.send(add.clone()).await;
        if answer.status == 200 {
            break;
        }
        assert_eq!(answer.status, 429, "{answer:?}");
    }
}

#[tokio::test]
async fn one_key_leaves_turns_to_others_while_its_own_further_questions_wait() {
    // However slow the machine is, no waiting request is rejected.
    let turn = Duration::from_secs(3600);
    let server = Running::start_with(Limits { questions: 4, turn, ..Limits::default() }).await;
    // Before there are vectors, a search does not call the embedder, so nothing holds it.
    server.add("", "radium.txt", "Radium glows.").await;
    let (ada, bob) = (server.key(Right::Read, &[]), server.key(Right::Read, &[]));
    let search =
        |key: &str, query: &str| Request::post("/search", json!({ "query": query })).header("x-api-key", key);
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(server.begin(&search(&ada, HELD).bytes(server.address)).await);
    }
    server.wait_until_in_progress(Some(&bob), 8).await;
    assert_eq!(server.send(search(&bob, "radium")).await.status, 200, "one of four turns is for others");
    server.release();
    for mut stream in held {
        assert_eq!(read_answer(&mut stream).await.status, 200, "a waiting request gets a turn");
    }
}

#[tokio::test]
async fn a_caller_that_sends_too_much_is_told_to_wait_and_delays_nobody_else() {
    let rate = NonZeroU32::new(1);
    let limits = Limits { rate_of_caller: rate, rate_of_stranger: rate, ..Limits::default() };
    let server = Running::start_behind_a_proxy(limits).await;
    let (ada, bob) = (server.key(Right::Read, &[]), server.key(Right::Read, &[]));
    let asked_by = |key: &str| Request::get("/documents/status_counts").header("x-api-key", key);
    let sent_from = |address: &str, request: Request| request.header("x-forwarded-for", address);
    for (from, request, status) in [
        ("192.0.2.1", asked_by(&ada), 200),
        ("192.0.2.2", asked_by(&bob), 200),
        ("192.0.2.1", asked_by("glk_wrong"), 403),
    ] {
        let request = sent_from(from, request);
        assert_eq!(server.send(request.clone()).await.status, status);
        let refused = server.send(request).await;
        refused.problem(429);
        let wait: u64 = refused.headers["retry-after"].parse().expect("seconds");
        assert!((1..=60).contains(&wait), "{wait}");
    }
    let other_place = sent_from("192.0.2.3", asked_by(&ada));
    assert_eq!(server.send(other_place).await.status, 429, "a key is one caller in all workspaces");
    assert_eq!(server.send(sent_from("192.0.2.3", asked_by("glk_wrong"))).await.status, 403);
    for _ in 0..4 {
        let probe = sent_from("192.0.2.1", Request::get("/readyz"));
        assert_eq!(server.send(probe).await.status, 200, "probes are never refused");
        assert_eq!(server.send(asked_by(&ada)).await.status, 200, "programs of this machine are not counted");
    }
    let foreign = sent_from("192.0.2.1", Request::get("/v1/models").header("x-api-key", &ada));
    assert!(
        server.send(foreign).await.json()["error"].is_object(),
        "errors for OpenAI clients have OpenAI's format"
    );
}

#[tokio::test]
async fn a_body_or_head_that_never_ends_is_cut_off() {
    let limits =
        Limits { head: Duration::from_millis(50), body: Duration::from_millis(50), ..Limits::default() };
    let server = Running::start_with(limits).await;
    let mut slow = TcpStream::connect(server.address).await.expect("connected");
    let head = format!(
        "POST /query HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{{",
        server.address
    );
    slow.write_all(head.as_bytes()).await.expect("sent");
    crate::support::read_answer(&mut slow).await.problem(408);
    let mut slow = TcpStream::connect(server.address).await.expect("connected");
    slow.write_all(b"GET /livez HTTP/1.1\r\nx-slow: ").await.expect("sent");
    let mut rest = Vec::new();
    let closed = tokio::io::AsyncReadExt::read_to_end(&mut slow, &mut rest);
    let _ = tokio::time::timeout(Duration::from_secs(60), closed).await.expect("closed");
}

#[tokio::test]
async fn the_server_stops_despite_idle_connections() {
    let server = Running::start().await;
    let _idle = TcpStream::connect(server.address).await.expect("connected");
    assert_eq!(server.get("/readyz").await.body, "ok\n");
    server.stop().await;
}

#[tokio::test]
async fn the_api_page_loads_nothing_from_other_hosts() {
    let server = Running::start().await;
    for prefix in ["", "/w/default"] {
        let page = server.get(&format!("{prefix}/docs")).await;
        assert_eq!((page.status, page.headers["content-type"].as_str()), (200, "text/html; charset=utf-8"));
        let policy = &page.headers["content-security-policy"];
        assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
        assert!(policy.contains("script-src 'self';") && !policy.contains("http"), "{policy}");
        let links =
            ["href=\"", "src=\""].map(|mark| page.body.split(mark).skip(1).collect::<Vec<_>>()).concat();
        let links: Vec<&str> = links.iter().filter_map(|link| link.split('"').next()).collect();
        assert_eq!(links.len(), 4, "{links:?}");
        for link in links.into_iter().filter(|link| *link != "data:,") {
            let file = server.get(&format!("{prefix}/{link}")).await;
            let kind = if link.ends_with("css") { "text/css" } else { "text/javascript" };
            assert_eq!((file.status, file.headers["content-type"].starts_with(kind)), (200, true), "{link}");
            assert!(file.body.len() > 100, "{link}");
        }
    }
}

#[tokio::test]
async fn an_idle_workspace_is_closed_to_make_room_for_another() {
    let idle = Duration::ZERO;
    let server =
        Running::start_with(Limits { workspaces: 2, idle, rate_of_stranger: None, ..Limits::default() })
            .await;
    let names = ["alpha", "beta", "gamma"];
    for name in names {
        let text = json!({ "text": format!("Zilpha{name} lives in Karst."), "file_source": "a.md" });
        let path = format!("/w/{name}/documents/text");
        retry_until_there_is_room(&server, Request::post(&path, text)).await;
        server.wait_until_idle(&format!("/w/{name}")).await;
    }
    for name in names {
        let found =
            retry_until_there_is_room(&server, Request::get(&format!("/w/{name}/graph/label/list"))).await;
        assert!(found.body.contains(&format!("Zilpha{name}")), "it is opened again: {found:?}");
    }

    let idle = Duration::from_secs(3600);
    let server = Running::start_with(Limits { workspaces: 1, idle, ..Limits::default() }).await;
    let full = server.post("/w/alpha/documents/text", json!({ "text": "Radium glows." })).await;
    full.problem(503);
    assert!(full.headers.contains_key("retry-after") && full.body.contains("remedy"), "{full:?}");
    assert_eq!(server.get("/documents/status_counts").await.status, 200, "an open workspace stays open");
}

/// Repeats the request until there is room, and returns the response.
async fn retry_until_there_is_room(server: &Running, request: Request) -> Answer {
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let answer = server.send(request.clone()).await;
        if answer.status != 503 {
            assert_eq!(answer.status, 200, "{answer:?}");
            return answer;
        }
        assert!(tokio::time::Instant::now() < until, "{answer:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn repeated_single_value_headers_are_refused() {
    let server = Running::start().await;
    let key = server.key(Right::Read, &[]);
    let host = server.address.to_string();
    for (name, one, other) in [
        ("lightrag-workspace", "default", "alpha"),
        ("x-api-key", key.as_str(), "glk_0"),
        ("authorization", &format!("Bearer {key}"), "Bearer x"),
        ("host", host.as_str(), "localhost"),
    ] {
        let request = Request::get("/documents/status_counts").header("x-api-key", &key);
        let request = match name {
            "x-api-key" => request.header(name, other),
            name => request.header(name, one).header(name, other),
        };
        let answer = server.send(request).await;
        assert_eq!(answer.status, 400, "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn a_workspace_that_fails_to_open_blocks_no_other_and_shows_in_probes() {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = WorkspaceId::new("broken").expect("a name");
    let damaged = || StoreError::Corrupt { path: "broken.graphloom".to_owned(), what: "damaged".to_owned() };
    let host = MemoryHost::default();
    host.faults.lock().expect("a lock").insert(broken.clone(), damaged);
    let config = ServerConfig { workspace: broken, ..config(folder.path(), Limits::default()) };
    let server = Running::start_on(config, folder, host).await;
    // No other workspace is open yet.
    let unready = server.get("/readyz").await;
    assert_eq!(unready.status, 503, "{unready:?}");
    server.get("/graph/label/list").await.problem(503);
    let text = json!({ "text": "Ada met Bob", "file_source": "a.md" });
    server.send(Request::post("/w/other/documents/text", text)).await.ok();
    let told = server.get("/readyz").await.ok();
    assert_eq!(
        (&told["status"], &told["workspaces"], &told["faulty"]),
        (&json!("degraded"), &json!(2), &json!(1))
    );
    assert_eq!(told["faults"][0]["workspace"], "broken");
    let health = server.get("/health").await.ok();
    assert!(health["fault"].is_string(), "{health}");
    assert!(server.get("/w/other/health").await.ok().get("fault").is_none());
}

#[tokio::test]
async fn probes_report_a_full_disk_without_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let host = MemoryHost::default();
    let full = || StoreError::DiskFull { path: "/secret/default.graphloom".to_owned() };
    host.faults.lock().expect("a lock").insert(WorkspaceId::default(), full);
    let server = Running::start_on(config(folder.path(), Limits::default()), folder, host).await;
    let told = server.get("/readyz").await;
    assert_eq!(told.status, 503, "{told:?}");
    assert!(
        told.body.contains("the disk of the workspace is full") && !told.body.contains("secret"),
        "{told:?}"
    );
    assert!(server.get("/health").await.ok()["fault"].is_string());
}
