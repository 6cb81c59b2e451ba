//! Every route, called with every kind of credential.

use std::collections::BTreeSet;

use graphloom_core::Timestamp;
use graphloom_server::Right;
use serde_json::json;

use crate::support::{Answer, Request, Running, description};

/// Returns each route of the description: method, path with its parameters filled in, and its stated requirement.
fn routes() -> Vec<(String, String, Option<String>, bool)> {
    let document = description();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let needs = operation["x-right"].as_str().map(str::to_owned);
            let fill = |part: &str| if part.starts_with('{') { "t".to_owned() } else { part.to_owned() };
            let filled = path.split('/').map(fill).collect::<Vec<_>>().join("/");
            routes.push((method.to_uppercase(), filled, needs, operation.get("security").is_some()));
        }
    }
    assert!(routes.len() > 30, "{}", routes.len());
    routes
}

async fn ask(server: &Running, method: &str, path: &str, key: Option<&str>) -> Answer {
    let mut request = Request::new(method, path).json(json!({})).header("lightrag-workspace", "alpha");
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    server.send_until_events(request).await
}

#[test]
fn the_api_description_contains_the_size_limits() {
    let document = description();
    let schemas = &document["components"]["schemas"];
    for (schema, field, word, most) in [
        ("QueryRequest", "top_k", "maximum", 1000),
        ("QueryRequest", "query", "maxLength", 65_536),
        ("QueryRequest", "conversation_history", "maxItems", 128),
        ("DeleteDocuments", "doc_ids", "maxItems", 10_000),
        ("DeleteDocuments", "doc_ids", "minItems", 1),
        ("InsertTexts", "texts", "maxItems", 256),
        ("SearchRequest", "top_k", "maximum", 200),
    ] {
        assert_eq!(schemas[schema]["properties"][field][word], most, "{schema}.{field}: {schemas}");
    }
    let (mut numbers, mut changes) = (0, 0);
    for operations in document["paths"].as_object().expect("paths").values() {
        for operation in operations.as_object().expect("operations").values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if parameter["schema"]["type"] == "integer" {
                    assert!(parameter["schema"]["maximum"].is_u64(), "{parameter}");
                    numbers += 1;
                }
            }
            if ["write", "admin"].iter().any(|right| operation["x-right"] == *right) {
                changes += usize::from(operation["responses"]["507"].is_object());
            }
        }
    }
    assert!(numbers > 8 && changes > 15, "{numbers} numbers, {changes} changes");
}

#[test]
fn every_type_in_the_api_description_has_its_own_name() {
    let document = description();
    let names = document["components"]["schemas"].as_object().expect("schemas").keys();
    let numbered: Vec<&String> =
        names.filter(|name| name.ends_with(|last: char| last.is_ascii_digit())).collect();
    assert!(numbered.is_empty(), "two types of one name: {numbered:?}");
}

#[tokio::test]
async fn every_route_refuses_missing_and_revoked_credentials() {
    let server = Running::start().await;
    let revoked = server.key(Right::Admin, &[]);
    server.access().change(|access| access.revoke_key("test", Timestamp(2))).expect("revoked");
    let mut open = BTreeSet::new();
    for (method, path, _, is_guarded) in routes() {
        for key in [None, Some(revoked.as_str()), Some("glk_0123456789ab_x"), Some("secret")] {
            let answer = ask(&server, &method, &path, key).await;
            let refused = [401, 403].contains(&answer.status);
            assert_eq!(refused, is_guarded, "{method} {path} with {key:?}: {answer:?}");
        }
        if !is_guarded {
            open.insert(path);
        }
    }
    let expected = [
        "/",
        "/auth-status",
        "/docs",
        "/docs/start.js",
        "/docs/swagger-ui-bundle.js",
        "/docs/swagger-ui.css",
        "/health",
        "/livez",
        "/login",
        "/openapi.json",
        "/readyz",
        "/ui",
        "/ui/",
        "/ui/assets/t",
        "/ui/customization",
        "/ui/t",
        "/ui/t/t",
        "/ui/t/t/t",
    ];
    assert_eq!(open.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn only_a_key_for_the_workspace_with_enough_rights_is_accepted() {
    let server = Running::start().await;
    let elsewhere = server.key(Right::Admin, &["beta"]);
    let keys = [
        ("read", server.key(Right::Read, &["alpha"])),
        ("write", server.key(Right::Write, &["alpha"])),
        ("admin", server.key(Right::Admin, &["alpha"])),
    ];
    let rank = |right: &str| keys.iter().position(|(name, _)| *name == right).expect("a right");
    for (method, path, needs, _) in routes() {
        let Some(needs) = needs else { continue };
        let answer = ask(&server, &method, &path, Some(&elsewhere)).await;
        assert!(answer.problem(403).contains("no access to workspace alpha"), "{method} {path}");
        for (has, key) in &keys {
            let answer = ask(&server, &method, &path, Some(key)).await;
            let refused = [401, 403].contains(&answer.status);
            assert_eq!(refused, rank(has) < rank(&needs), "{method} {path} with {has}: {answer:?}");
            assert!(answer.status < 500, "{method} {path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn no_text_of_a_workspace_appears_in_another() {
    let server = Running::start().await;
    let names = ["alpha", "beta", "gamma"];
    for name in names {
        let text = format!("The canary of this place is Zilpha{name}. Zilpha{name} was born in Weirholm.");
        server.add(&format!("/w/{name}"), "canary.md", &text).await;
    }
    let ask = json!({ "query": "Who was born in Weirholm?", "mode": "mix", "include_chunk_content": true });
    for name in names {
        let prefix = format!("/w/{name}");
        let answers = [
            server.post(&format!("{prefix}/query"), ask.clone()).await,
            server.post(&format!("{prefix}/query/stream"), ask.clone()).await,
            server.post(&format!("{prefix}/query/data"), ask.clone()).await,
            server.get(&format!("{prefix}/graph/label/list")).await,
            server.get(&format!("{prefix}/graphs?label=*")).await,
            server.post(&format!("{prefix}/documents/paginated"), json!({})).await,
            server.send(Request::post("/query", ask.clone()).header("LIGHTRAG-WORKSPACE", name)).await,
        ];
        for answer in answers {
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.body.to_lowercase().contains(&format!("zilpha{name}")), "{answer:?}");
            for other in names.iter().filter(|other| **other != name) {
                assert!(!answer.body.to_lowercase().contains(&format!("zilpha{other}")), "{answer:?}");
            }
        }
    }
    server.get("/w/delta/graph/label/list").await.problem(404);
    assert_eq!(server.get("/graph/label/list").await.ok(), json!([]));
}

#[tokio::test]
async fn an_ambiguous_or_invalid_workspace_is_refused() {
    let server = Running::start().await;
    let named = |path: &str, name: &str| Request::get(path).header("lightrag-workspace", name);
    server.send(named("/w/alpha/graph/label/list", "beta")).await.problem(422);
    for name in ["../alpha", "Alpha", "a/b", "."] {
        server.send(named("/graph/label/list", name)).await.problem(422);
    }
    server.get("/w/..%2falpha/graph/label/list").await.problem(422);
    server.get("/w/Alpha/graph/label/list").await.problem(422);
}

#[tokio::test]
async fn health_tells_strangers_only_that_the_server_is_healthy() {
    let server = Running::start().await;
    let key = server.key(Right::Read, &[]);
    let told = server.get("/health").await.ok();
    assert_eq!((told["status"].as_str(), told.get("configuration")), (Some("healthy"), None));
    let told =
        server.send(Request::get("/health").header("authorization", &format!("Bearer {key}"))).await.ok();
    assert_eq!(told["configuration"]["workspace"], "default");
    // LightRAG's pages read these fields without checking that they exist.
    let settings = &told["configuration"];
    assert!(
        settings["force_llm_summary_on_merge"].is_u64() && settings["summary_language"].is_string(),
        "{told}"
    );
    assert!(settings["role_llm_config"]["query"].is_object(), "{told}");
    server.get("/metrics").await.problem(403);
    let metrics = server.send(Request::get("/metrics").header("x-api-key", &key)).await;
    assert!(metrics.body.contains("graphloom_http_requests_total{"), "{metrics:?}");
    assert!(server.get("/openapi.json").await.ok() == description());
}

#[tokio::test]
async fn a_model_name_does_not_give_a_key_access_to_another_workspace() {
    let server = Running::start().await;
    server.add("/w/alpha", "a.md", "Radium glows.").await;
    server.add("/w/beta", "b.md", "Radon decays.").await;
    let elsewhere = server.key(Right::Admin, &["beta"]);
    let mut asked = 0;
    for (method, path, needs, is_guarded) in routes() {
        let is_chat = path.starts_with("/v1/") || path.starts_with("/api/");
        if needs.is_some() || !is_guarded || !is_chat {
            continue;
        }
        let body = json!({
            "model": "alpha:auto", "messages": [{ "role": "user", "content": "Who?" }], "prompt": "Who?", "input": "Who?",
        });
        let path = path.replace("/models/t", "/models/alpha:auto");
        let request = Request::new(&method, &path).json(body).header("x-api-key", &elsewhere);
        let answer = server.send(request.clone()).await;
        match method == "POST" || path.contains("alpha") {
            true => {
                assert!(answer.problem(403).contains("has no access to model \"alpha"), "{method} {path}")
            }
            // Lists contain only what the key can access.
            false => {
                assert!(answer.status == 200 && !answer.body.contains("alpha"), "{method} {path}: {answer:?}")
            }
        }
        // The workspace of the request does not give access to anything else.
        let answer = server.send(request.header("lightrag-workspace", "beta")).await;
        assert!(!answer.body.contains("Radium"), "{method} {path}: {answer:?}");
        asked += 1;
    }
    assert!(asked >= 10, "{asked}");
}
