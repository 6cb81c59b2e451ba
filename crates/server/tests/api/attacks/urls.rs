//! URLs in all fields that accept text. The server fetches nothing: a URL is only a label.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::net::TcpListener;

use super::{Attack, Delivery, tool_call};
use crate::support::{Request, Running};

/// URLs that lead to this machine; `PORT` is where a listener waits.
const ADDRESSES: &[&str] = &[
    "http://127.0.0.1:PORT/a.md",
    "http://localhost:PORT/a.md",
    "http://127.1:PORT/a.md",
    "http://0:PORT/a.md",
    "http://0.0.0.0:PORT/a.md",
    "http://2130706433:PORT/a.md",
    "http://0x7f000001:PORT/a.md",
    "http://0x7f.0.0.1:PORT/a.md",
    "http://0177.0.0.1:PORT/a.md",
    "http://017700000001:PORT/a.md",
    "http://[::1]:PORT/a.md",
    "http://[::ffff:127.0.0.1]:PORT/a.md",
    "http://[0:0:0:0:0:ffff:7f00:1]:PORT/a.md",
    "http://user:password@127.0.0.1:PORT/a.md",
    "http://example.org@127.0.0.1:PORT/a.md",
    "http://127.0.0.1:PORT#@example.org/a.md",
    "http:127.0.0.1:PORT/a.md",
    "http:///127.0.0.1:PORT/a.md",
    "HTTP://LOCALHOST:PORT/a.md",
    "http://①②⑦.⓪.⓪.①:PORT/a.md",
    "http://127。0。0。1:PORT/a.md",
    "https://127.0.0.1:PORT/a.md",
    "ftp://127.0.0.1:PORT/a.md",
    "gopher://127.0.0.1:PORT/_FLUSHALL",
    "dict://127.0.0.1:PORT/info",
    "ldap://127.0.0.1:PORT/a",
    "ws://127.0.0.1:PORT/a.md",
    "jar:http://127.0.0.1:PORT/a.zip",
    "file:etc/passwd",
    "file://127.0.0.1:PORT/etc/passwd",
    "url:http://127.0.0.1:PORT/a.md",
    "http://127.0.0.1:PORT",
];

pub(super) fn table(port: u16) -> Vec<Attack> {
    let mut attacks = Vec::new();
    for (number, address) in ADDRESSES.iter().enumerate() {
        let address = address.replace("PORT", &port.to_string());
        let text = json!({ "text": format!("See {address} ({number})."), "file_source": address });
        attacks.push(Attack::new(
            format!("text of {address}"),
            Request::post("/documents/text", text),
            &[200, 400],
        ));
        let added = tool_call(
            "/mcp",
            "add_document",
            json!({ "name": format!("{address}?{number}"), "text": address }),
        );
        attacks.push(Attack::new(format!("add_document {address}"), added, &[200]));
        let asked = json!({ "query": format!("What does {address} say?"), "user_prompt": address });
        attacks.push(Attack::new(
            format!("question about {address}"),
            Request::post("/query", asked),
            &[200],
        ));
    }
    let image = |url: &str| {
        let content = json!([
            { "type": "text", "text": "What is on it?" },
            { "type": "image_url", "image_url": { "url": url } },
        ]);
        json!({ "model": "default:naive", "messages": [{ "role": "user", "content": content }] })
    };
    let address = format!("http://127.0.0.1:{port}/a.png");
    for url in [address.as_str(), "file:///etc/passwd", "data:text/html,x"] {
        let chat = Request::post("/v1/chat/completions", image(url));
        attacks.push(Attack::new(format!("image {url}"), chat, &[200, 400, 422]));
    }
    let page = format!(
        "<html><head><link rel=stylesheet href={address}><base href={address}><meta http-equiv=refresh content='0;url={address}'>\
         </head><body><img src={address}><iframe src={address}></iframe><object data={address}></object>Radium glows.</body></html>"
    );
    let upload = Request::new("POST", "/documents/upload").file("page.html", &page);
    attacks.push(Attack::new("a page with parts elsewhere", upload, &[200]));
    let entity = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY % d SYSTEM \"{address}\"> %d; <!ENTITY e SYSTEM \"{address}\">]><x>&e; Radium</x>"
    );
    let upload = Request::new("POST", "/documents/upload").file("entity.xml", &entity);
    attacks.push(Attack::new("an entity elsewhere", upload, &[200, 422]));
    for header in ["referer", "x-wap-profile", "x-forwarded-host", "link", "location", "destination"] {
        let asked = Request::get("/livez").header(header, &address);
        attacks.push(Attack::new(format!("{header}: {address}"), asked, &[200]));
    }
    attacks
}

#[tokio::test]
async fn no_address_in_a_request_is_ever_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&visits);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let server = Running::start().await;
    let mut added = 0;
    for attack in table(port) {
        let is_text =
            matches!(&attack.sent, Delivery::Request(request) if request.path() == "/documents/text");
        let answer = attack.check(&server).await.expect("an answer");
        added += usize::from(is_text && answer.status == 200);
    }
    assert!(added > 20, "addresses are labels: {added}");
    // Everything that was added gets indexed, and neither indexing nor asking has fetched anything.
    server.wait_until_idle("").await;
    assert_eq!(visits.load(Ordering::SeqCst), 0);
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("the port is open");
}
