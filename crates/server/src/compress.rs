//! Compresses answers with zstd or gzip, whichever the client accepts.
//!
//! Three kinds of answers stay as they are: small ones, streams of values, which must arrive value by value, and answers
//! that hold a token, whose length must not depend on what an attacker makes the client send (BREACH).

use axum::body::Body;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::response::Response;
use http_body_util::BodyExt;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, Predicate, SizeAbove};

use crate::route::{Load, Route};

/// Answers of fewer bytes are not compressed: they fit into one packet as they are.
const MIN_BYTES: u16 = 1024;
/// Routes whose answers hold a token.
const WITH_TOKEN: [&str; 2] = ["/login", "/auth-status"];

/// Marks an answer that may be compressed.
#[derive(Clone, Copy)]
struct Compressible;

type Marked = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// Compresses what is marked, at the level that costs a server the least.
pub(crate) fn layer() -> CompressionLayer<And<SizeAbove, Marked>> {
    let is_marked: Marked = |_, _, _, extensions| extensions.get::<Compressible>().is_some();
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(MIN_BYTES).and(is_marked))
}

/// Marks the answer of a route, unless it is a stream of values or holds a token.
pub(crate) fn mark(route: &Route, mut response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    // An export is read from its beginning to its end, in whichever form.
    let is_stream = kind.starts_with(b"text/event-stream")
        || (kind.starts_with(b"application/x-ndjson") && route.load != Load::Whole);
    if is_stream || WITH_TOKEN.contains(&route.path) {
        return response;
    }
    response.extensions_mut().insert(Compressible);
    // What compresses asks again after the end, which bodies made of streams do not bear.
    response.map(|body| Body::new(body.fuse()))
}
