//! Compresses responses with zstd or gzip, as the client accepts.
//!
//! Three kinds of responses stay uncompressed: small ones; streams, whose values must arrive one by one; and
//! responses with a token, whose length must not depend on data an attacker can choose (BREACH).

use axum::body::Body;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::response::Response;
use http_body_util::BodyExt;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, Predicate, SizeAbove};

use crate::route::{Load, Route};

/// Minimum size of a compressed response; smaller ones fit in one packet anyway.
const MIN_BYTES: u16 = 1024;
/// Routes whose responses contain a token.
const WITH_TOKEN: [&str; 2] = ["/login", "/auth-status"];

/// Marks a response that may be compressed.
#[derive(Clone, Copy)]
struct Compressible;

type MarkTest = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// Compresses marked responses at the fastest level.
pub(crate) fn layer() -> CompressionLayer<And<SizeAbove, MarkTest>> {
    let is_marked: MarkTest = |_, _, _, extensions| extensions.get::<Compressible>().is_some();
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(MIN_BYTES).and(is_marked))
}

/// Marks the response of a route, unless it is a stream or contains a token.
pub(crate) fn mark(route: &Route, mut response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    // An export is read to its end, so it can be compressed.
    let is_stream = kind.starts_with(b"text/event-stream")
        || (kind.starts_with(b"application/x-ndjson") && route.load != Load::Whole);
    if is_stream || WITH_TOKEN.contains(&route.path) {
        return response;
    }
    response.extensions_mut().insert(Compressible);
    // The compressor polls again after the end, which stream bodies do not allow.
    response.map(|body| Body::new(body.fuse()))
}
