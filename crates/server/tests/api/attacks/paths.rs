//! Paths, workspaces and methods that lead elsewhere than they seem to.

use serde_json::json;

use super::{Attack, check_all};
use crate::support::{Request, Running};

/// Paths without a route.
const PATHS: &[&str] = &[
    "/../../etc/passwd",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/%252e%252e%252fetc%252fpasswd",
    "/..;/..;/etc/passwd",
    "/documents/../../etc/passwd",
    "/documents/..%5c..%5cwindows%5cwin.ini",
    "/\\..\\..\\etc\\passwd",
    "//etc/passwd",
    "///",
    "/./openapi.json",
    "/openapi.json/../access.json",
    "/openapi.json%00.html",
    "/access.json",
    "/.graphloom/access.json",
    "/default.graphloom",
    "/workers/",
    "/.git/config",
    "/.env",
    "/proc/self/environ",
    "/file:///etc/passwd",
    "/graph//label/list",
    "/graph/label/list/",
    "/graph/label/list%00",
    "/graph/label/list%2f",
    "/GRAPH/LABEL/LIST",
    "/graph%2flabel%2flist",
    "/w/alpha",
    "/w/alpha/w/beta/graph/label/list",
    "/w/alpha/../graph/label/list",
];

/// Invalid workspaces.
const WORKSPACES: &[&str] = &[
    "..",
    ".",
    "%2e%2e",
    "..%2falpha",
    "../alpha",
    "Alpha",
    "ALPHA",
    "_alpha",
    "-alpha",
    "alpha.graphloom",
    "a.b",
    "a/b",
    "a\\b",
    "a:b",
    "a;b",
    "a|b",
    "a&b",
    "a*b",
    "a'b",
    "a\"b",
    "a$b",
    "$(id)",
    "`id`",
    "~root",
    "{alpha}",
    "<b>",
    "al pha",
    "alpha,beta",
    "%00",
    "alpha%00",
    "alpha%0d%0ax-injected:%201",
];

pub(super) fn table() -> Vec<Attack> {
    let mut attacks = Vec::new();
    for path in PATHS {
        attacks.push(Attack::new(*path, Request::get(path), &[400, 404]));
    }
    let long = "x".repeat(65);
    for name in WORKSPACES.iter().copied().chain([long.as_str(), "\u{430}lpha", "ａlpha"]) {
        // Adding a text would create the workspace if that were possible.
        let add = json!({ "text": "text", "file_source": "a.md" });
        let named = Request::post("/documents/text", add.clone()).header("lightrag-workspace", name);
        attacks.push(Attack::new(format!("header {name:?}"), named, &[422]));
        if !name.contains([' ', '/', '"', '<', '{', '`', '\\', '|']) && name.is_ascii() {
            let prefixed = Request::post(&format!("/w/{name}/documents/text"), add);
            attacks.push(Attack::new(format!("path {name:?}"), prefixed, &[404, 422]));
        }
        let messages = json!([{ "role": "user", "content": "Who?" }]);
        let chat = json!({ "model": format!("{name}:auto"), "messages": messages });
        let chat = Request::post("/v1/chat/completions", chat);
        attacks.push(Attack::new(format!("model {name:?}"), chat, &[404, 422]));
    }
    let two = Request::get("/w/alpha/graph/label/list").header("lightrag-workspace", "beta");
    attacks.push(Attack::new("two workspaces", two, &[422]));
    for method in ["TRACE", "TRACK", "CONNECT", "PUT", "PATCH", "DELETE", "PROPFIND", "BREW", "get", "DEBUG"]
    {
        attacks.push(Attack::new(method, Request::new(method, "/query"), &[400, 405]));
    }
    for override_name in ["x-http-method-override", "x-http-method", "x-method-override"] {
        let tunnelled = Request::get("/documents").header(override_name, "DELETE");
        attacks.push(Attack::new(override_name, tunnelled, &[405]));
    }
    for rewritten in ["x-original-url", "x-rewrite-url", "x-forwarded-prefix"] {
        let rewritten_to = Request::get("/nowhere").header(rewritten, "/graph/label/list");
        attacks.push(Attack::new(rewritten, rewritten_to, &[404]));
    }
    for track in ["..%2f..%2fetc", "%00", "a%0d%0ab", "%2e%2e", "..", "a%2fb", "%ff%fe", "<script>"] {
        let path = format!("/documents/track_status/{track}");
        attacks.push(Attack::new(format!("track {track}"), Request::get(&path), &[400, 404, 422]));
    }
    attacks
}

#[tokio::test]
async fn no_path_workspace_or_method_reaches_other_resources() {
    let server = Running::start().await;
    check_all(&server, table()).await;
}
