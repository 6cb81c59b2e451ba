//! Malformed requests, and requests framed so that two readers would see different requests.

use std::time::Duration;

use graphloom_server::Limits;

use super::{Attack, check_all};
use crate::support::Running;

/// A second request, for a reader that takes the first one for shorter.
const SMUGGLED: &str = "DELETE /documents HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Heads of requests to `/query` that are malformed or whose end is ambiguous.
const HEADS: &[(&str, &str)] = &[
    ("two lengths", "content-length: 2\r\ncontent-length: 3"),
    ("two lengths in one", "content-length: 2, 3"),
    ("a length with a sign", "content-length: +2"),
    ("a negative length", "content-length: -2"),
    ("a length in hex", "content-length: 0x2"),
    ("a length with a space", "content-length: 2 2"),
    ("an empty length", "content-length: "),
    ("a length that is a word", "content-length: two"),
    ("a length beyond all", "content-length: 99999999999999999999999"),
    ("an unknown coding", "transfer-encoding: xchunked"),
    ("an unknown last coding", "transfer-encoding: chunked, identity"),
    ("a coding in quotes", "transfer-encoding: \"chunked\""),
    ("a coding after a tab", "transfer-encoding:\x0bchunked"),
    ("a space before the colon", "content-length : 2"),
    ("a folded header", "x-a: b\r\n c: d"),
    ("a header without a colon", "x-a b"),
    ("a header without a name", ": b"),
    ("a name with a space", "x a: b"),
    ("a name with a NUL", "x\0a: b"),
    ("a NUL in a value", "x-a: b\0c"),
    ("a bare CR in a value", "x-a: b\rx-injected: 1"),
    ("a DEL in a value", "x-a: b\x7fc"),
    ("a control character in a value", "lightrag-workspace: al\x01pha"),
];

/// Invalid first lines.
const FIRST_LINES: &[&str] = &[
    "GET",
    "GET /livez",
    "GET  /livez HTTP/1.1",
    "GET /livez HTTP/1.1 x",
    "GET /livez HTTP/3.0",
    "GET /livez HTTP/1.10",
    "GET /livez http/1.1",
    "GET /livez\tHTTP/1.1",
    "GET /li vez HTTP/1.1",
    "GET /livez\0 HTTP/1.1",
    "GET livez HTTP/1.1",
    "G\0T /livez HTTP/1.1",
    "GET /livez HTTP/1.1\r",
    "PRI * HTTP/2.0",
    "CONNECT 127.0.0.1:22 HTTP/1.1",
    "OPTIONS * HTTP/1.1",
    "@#$% /livez HTTP/1.1",
];

/// Invalid chunked bodies.
const CHUNKS: &[(&str, &str)] = &[
    ("a size beyond all", "FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"),
    ("a negative size", "-2\r\n{}\r\n0\r\n\r\n"),
    ("a size with a prefix", "0x2\r\n{}\r\n0\r\n\r\n"),
    ("a size that is a word", "two\r\n{}\r\n0\r\n\r\n"),
    ("no end of a chunk", "2\r\n{}0\r\n\r\n"),
    ("a chunk that is longer", "2\r\n{}}}\r\n0\r\n\r\n"),
    ("a bare LF after the size", "2\n{}\r\n0\r\n\r\n"),
    ("an empty size", "\r\n{}\r\n0\r\n\r\n"),
];

pub(super) fn table() -> Vec<Attack> {
    let mut attacks = Vec::new();
    // The connection stays open, so that leftover bytes would be the next request.
    let open = "POST /query HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\n";
    let post = format!("{open}connection: close\r\n");
    for (what, head) in HEADS {
        let bytes = format!("{open}{head}\r\n\r\n{{}}{SMUGGLED}");
        attacks.push(Attack::bytes(*what, bytes, &[400]));
    }
    for line in FIRST_LINES {
        let bytes = format!("{line}\r\nhost: HOST\r\nconnection: close\r\n\r\n");
        attacks.push(Attack::bytes(format!("{line:?}"), bytes, &[0, 400, 404, 405, 505]));
    }
    for (what, body) in CHUNKS {
        let bytes = format!("{open}transfer-encoding: chunked\r\n\r\n{body}{SMUGGLED}");
        attacks.push(Attack::bytes(*what, bytes, &[400]));
    }
    let both = format!("{post}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}");
    attacks.push(Attack::bytes("a length and chunks", both, &[400, 422]));
    let both = format!("{post}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n{SMUGGLED}");
    attacks.push(Attack::bytes("chunks and a length", both, &[400, 422]));
    let extended =
        format!("{post}transfer-encoding: chunked\r\n\r\n2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(1 << 20));
    attacks.push(Attack::bytes("an endless extension", extended, &[0, 400, 422]));
    let trailers = "x-a: b\r\n".repeat(100_000);
    let trailed = format!("{post}transfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n{trailers}\r\n");
    attacks.push(Attack::bytes("endless trailers", trailed, &[0, 400, 422]));
    let no_host = "GET /graph/label/list HTTP/1.1\r\nconnection: close\r\n\r\n";
    attacks.push(Attack::bytes("no host", no_host, &[400, 403]));
    let two =
        "GET /graph/label/list HTTP/1.1\r\nhost: evil.example\r\nhost: HOST\r\nconnection: close\r\n\r\n";
    attacks.push(Attack::bytes("two hosts", two, &[400, 403]));
    let old = "GET /graph/label/list HTTP/1.0\r\n\r\n";
    attacks.push(Attack::bytes("HTTP/1.0 without a host", old, &[400, 403]));
    attacks.push(Attack::bytes("HTTP/0.9", "GET /graph/label/list\r\n", &[0, 400]));
    let whole = "GET http://evil.example/graph/label/list HTTP/1.1\r\nconnection: close\r\n\r\n";
    attacks.push(Attack::bytes("another host in the first line", whole, &[400, 403]));
    let get = "GET /livez HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\n";
    let many = format!("{get}{}\r\n", "x-a: b\r\n".repeat(1000));
    attacks.push(Attack::bytes("a thousand headers", many, &[0, 400, 431]));
    let long = format!("{get}x-a: {}\r\n\r\n", "b".repeat(2 << 20));
    attacks.push(Attack::bytes("a header of two megabytes", long, &[0, 400, 431]));
    let long = format!("GET /{} HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\n\r\n", "a".repeat(100_000));
    attacks.push(Attack::bytes("a path of 100 kB", long, &[400, 404, 414]));
    attacks.push(Attack::bytes(
        "the hello of TLS",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(20),
        &[0, 400],
    ));
    attacks.push(Attack::bytes(
        "bytes of any kind",
        (0..=255).cycle().take(4096).collect::<Vec<u8>>(),
        &[0, 400],
    ));
    attacks.push(Attack::bytes("empty lines", "\r\n".repeat(10_000), &[0, 400]));
    let mail = "EHLO evil.example\r\nMAIL FROM:<a@b>\r\n\r\n";
    attacks.push(Attack::bytes("mail", mail, &[0, 400]));
    attacks.push(Attack::bytes("redis", "*1\r\n$8\r\nFLUSHALL\r\n\r\n", &[0, 400]));
    attacks
}

#[tokio::test]
async fn no_request_is_read_as_two_and_malformed_requests_are_refused() {
    // A connection that stalls is soon closed.
    let (head, body) = (Duration::from_secs(1), Duration::from_secs(1));
    let server = Running::start_with(Limits { head, body, ..Limits::default() }).await;
    server.add("", "kept.md", "Radium glows in the dark.").await;
    check_all(&server, table()).await;
}
