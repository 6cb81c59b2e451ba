//! Web pages that try to reach a server on this machine: through their own host names, and from other origins.

use serde_json::json;

use super::{Attack, check_all};
use crate::support::{Request, Running};

/// Hosts that are not this machine.
const HOSTS: &[&str] = &[
    "evil.example",
    "evil.example:9621",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1.nip.io",
    "localtest.me",
    "10.0.0.1",
    "192.168.1.1:9621",
    "169.254.169.254",
    "0.0.0.0",
    "0.0.0.0:9621",
    "[::]",
    "[::2]:9621",
    "[::ffff:10.0.0.1]",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "xn--lcalhost-54a",
    "localhost@evil.example",
    "evil.example#localhost",
    "[localhost",
    "",
];

/// Origins of other pages.
const ORIGINS: &[&str] = &[
    "https://evil.example",
    "http://evil.example:9621",
    "null",
    "file://",
    "http://localhost",
    "http://localhost.evil.example",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "https://127.0.0.1:443",
    "chrome-extension://abcdef",
    "http://evil.example?HOST",
    "evil.example",
    "",
    "http://[::1]:1",
];

pub(super) fn table() -> Vec<Attack> {
    let mut attacks = Vec::new();
    for host in HOSTS {
        let list = Request::get("/graph/label/list").header("host", host);
        attacks.push(Attack::new(format!("host {host:?}"), list, &[400, 403]));
    }
    for origin in ORIGINS {
        for path in ["/documents/text", "/mcp", "/query"] {
            let change = Request::post(path, json!({ "text": "text", "query": "Who?" }));
            let change = change.header("origin", origin);
            attacks.push(Attack::new(format!("{path} from {origin:?}"), change, &[403]));
        }
        // A read is answered, but the page may not see the response.
        let look = Request::get("/graph/label/list").header("origin", origin);
        attacks.push(Attack::new(format!("look from {origin:?}"), look, &[200]));
        let preflight = Request::new("OPTIONS", "/documents")
            .header("origin", origin)
            .header("access-control-request-method", "DELETE");
        attacks.push(Attack::new(format!("preflight from {origin:?}"), preflight, &[405]));
    }
    // Requests that a page can send without permission.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let form = Request::new("POST", "/documents/text").header("content-type", kind);
        attacks.push(Attack::new(format!("kind {kind:?}"), form.body(r#"{"text": "x"}"#), &[415]));
    }
    attacks
}

#[tokio::test]
async fn no_page_with_another_origin_or_host_reaches_the_server() {
    let server = Running::start().await;
    check_all(&server, table()).await;
}
