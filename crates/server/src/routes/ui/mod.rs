//! The web UI: one page for all its paths, and its assets. Loads nothing from other hosts.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route};

pub(super) const ROUTES: &[Route] = &[
    public("/", "Redirects to the web UI", || get(begin), &["text/html"]),
    public("/ui", "Redirects to the web UI", || get(begin), &["text/html"]),
    public("/ui/", "The web UI", || get(page), &["text/html"]),
    public("/ui/{page}", "A page of the web UI", || get(page), &["text/html"]),
    public("/ui/{page}/{item}", "An item on a page of the web UI", || get(page), &["text/html"]),
    public(
        "/ui/{page}/{item}/{part}",
        "A part of an item on a page of the web UI",
        || get(page),
        &["text/html"],
    ),
    public("/ui/assets/{file}", "A script, style or picture of the web UI", || get(asset), ASSET_KINDS),
];

const fn public(
    path: &'static str,
    about: &'static str,
    mount: fn() -> axum::routing::MethodRouter<crate::app::App>,
    kinds: &'static [&'static str],
) -> Route {
    Route::get(path, about, mount).needs(Needs::Nothing).load(Load::None).gives(Gives::Media(kinds))
}

/// A file of the built UI; its name contains a hash of its content.
struct Asset {
    name: &'static str,
    /// `None` for files that are already compressed.
    brotli: Option<&'static [u8]>,
    gzip: &'static [u8],
}

// The page and the assets, as the build script found them.
include!(concat!(env!("OUT_DIR"), "/ui.rs"));

/// Shown instead of the UI if the UI was not built.
const UNBUILT: &str = include_str!("unbuilt.html");
/// The placeholder in the page for the address of the UI, to which all its links are relative.
const BASE: &str = "<base href=\"./\"";

/// Attribute of a line in the head that names the page for which the line is.
const FOR_PAGE: &str = " data-page=\"";

/// Allows only scripts, styles and requests of this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      font-src 'self'; worker-src 'self'; connect-src 'self'; base-uri 'self'; \
                      form-action 'none'; frame-ancestors 'none'";

const ASSET_KINDS: &[&str] = &["text/javascript", "text/css", "image/svg+xml", "font/woff2"];

/// Relative, so that it also works below `/w/NAME/` and behind a proxy that adds a prefix.
async fn begin() -> Response {
    (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "ui/")]).into_response()
}

async fn page(uri: Uri) -> Response {
    let page = page_for(PAGE.unwrap_or(UNBUILT), uri.path());
    let headers = [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        // Another release has other assets.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, Html(page)).into_response()
}

/// Returns the page for a path: it contains the address of the UI, and preloads only the files of this path.
fn page_for(page: &str, path: &str) -> String {
    let name = path.trim_start_matches("/ui/").split('/').next().unwrap_or_default();
    let is_for_path =
        |line: &&str| line.split_once(FOR_PAGE).is_none_or(|(_, rest)| rest.split('"').next() == Some(name));
    let page: String = page.split_inclusive('\n').filter(is_for_path).collect();
    page.replacen(BASE, &format!("<base href=\"{}\"", base_of(path)), 1)
}

/// Returns the relative address of `/ui/` on a page of the UI.
fn base_of(path: &str) -> String {
    match path.matches('/').count().saturating_sub(2) {
        0 => "./".to_owned(),
        levels => "../".repeat(levels),
    }
}

async fn asset(Path(file): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let found = ASSETS.iter().find(|asset| asset.name == file);
    let Asset { brotli, gzip, .. } =
        found.ok_or_else(|| Problem::not_found("the web UI has no such file"))?;
    // Every browser supports gzip, but brotli only over TLS and from this machine.
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|accepted| accepted.to_str().ok());
    let (encoding, bytes) = match brotli.filter(|_| accepted.is_some_and(accepts_brotli)) {
        Some(brotli) => ("br", brotli),
        None => ("gzip", *gzip),
    };
    let headers = [
        (header::CONTENT_TYPE, kind_of(&file)),
        (header::CONTENT_ENCODING, encoding),
        (header::VARY, "accept-encoding"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, bytes).into_response())
}

/// Whether a list of encodings contains brotli and does not exclude it.
fn accepts_brotli(accepted: &str) -> bool {
    accepted.split(',').any(|entry| {
        let (name, weight) = entry.split_once(';').unwrap_or((entry, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("br") && weight.is_some_and(|weight| weight > 0.0)
    })
}

fn kind_of(file: &str) -> &'static str {
    match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_the_ui_has_the_right_relative_base() {
        for (path, base) in [
            ("/ui/", "./"),
            ("/ui/documents", "./"),
            ("/ui/documents/doc-1", "../"),
            ("/ui/graph/entity/Ada%2FLovelace", "../../"),
        ] {
            assert_eq!(base_of(path), base, "{path}");
        }
    }

    #[test]
    fn the_page_has_one_placeholder_for_its_base() {
        for page in PAGE.into_iter().chain([UNBUILT]) {
            assert_eq!(page.matches(BASE).count(), 1);
        }
    }

    #[test]
    fn a_page_preloads_its_own_files_only() {
        let page = "<base href=\"./\" />\n<link data-page=\"graph\" href=\"./g.js\" />\n<link data-page=\"documents\" href=\"./d.js\" />\n";
        for (path, expected) in [
            ("/ui/", "<base href=\"./\" />\n"),
            ("/ui/documents", "<base href=\"./\" />\n<link data-page=\"documents\" href=\"./d.js\" />\n"),
            (
                "/ui/graph/entity/Ada",
                "<base href=\"../../\" />\n<link data-page=\"graph\" href=\"./g.js\" />\n",
            ),
            ("/ui/graphs", "<base href=\"./\" />\n"),
        ] {
            assert_eq!(page_for(page, path), expected, "{path}");
        }
    }

    #[test]
    fn brotli_is_sent_only_to_clients_that_accept_it() {
        assert!(accepts_brotli("gzip, deflate, br, zstd") && accepts_brotli("BR;q=0.5"));
        for other in ["gzip", "", "br;q=0", "*", "brotli", "br;x=1"] {
            assert!(!accepts_brotli(other), "{other}");
        }
    }
}
