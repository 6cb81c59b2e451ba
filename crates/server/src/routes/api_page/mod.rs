//! A page that shows the API description and can send requests. Loads nothing from other hosts.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::route::{Gives, Load, Needs, Route};

pub(super) const ROUTES: &[Route] = &[
    public("/docs", "A page that shows this description and can send requests", || get(page), &["text/html"]),
    public("/docs/start.js", "Script of the API page", || get(start), &["text/javascript"]),
    public("/docs/swagger-ui-bundle.js", "Library of the API page", || get(bundle), &["text/javascript"]),
    public("/docs/swagger-ui.css", "Style of the API page", || get(style), &["text/css"]),
];

const fn public(
    path: &'static str,
    about: &'static str,
    mount: fn() -> axum::routing::MethodRouter<crate::app::App>,
    kinds: &'static [&'static str],
) -> Route {
    Route::get(path, about, mount).needs(Needs::Nothing).load(Load::None).gives(Gives::Media(kinds))
}

/// Allows only scripts and requests of this server. LightRAG's pages on the same server may show the page in a frame. Icons are
/// data URLs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

async fn page() -> Response {
    let policy = (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    ([policy], axum::response::Html(include_str!("page.html"))).into_response()
}

async fn start() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("start.js")).into_response()
}

async fn bundle() -> Response {
    const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz"));
    compressed("text/javascript; charset=utf-8", BYTES)
}

async fn style() -> Response {
    const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
    compressed("text/css; charset=utf-8", BYTES)
}

/// A file that is stored and sent compressed; every browser supports that.
fn compressed(kind: &'static str, bytes: &'static [u8]) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_ENCODING, "gzip"),
        // Another release may have other files.
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, bytes).into_response()
}
