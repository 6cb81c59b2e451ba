//! The table of all routes. Routes are created only from its rows.

mod access;
mod api_page;
mod budget;
mod configuration;
mod conversations;
mod documents;
mod graph;
mod health;
mod jobs;
mod login;
mod mcp;
mod ollama;
mod openai;
mod query;
mod query_data;
mod query_events;
mod search;
mod suggestions;
mod ui;
mod workspace;

pub(crate) use conversations::{KeptAnswer, KeptPlace, unknown_conversation};
pub(crate) use documents::{InsertResponse, add_texts, source_of};
pub(crate) use graph::Pictures;
pub(crate) use query::citations;
pub(crate) use suggestions::{Suggestions, suggested};

use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;

use crate::app::App;
use crate::compress;
use crate::guard::guard;
use crate::observe::observe;
use crate::problem::{Problem, in_words_of};
use crate::route::{Route, protocol_of};

/// All routes by subject.
pub(crate) static ROUTES: LazyLock<Vec<&'static Route>> = LazyLock::new(|| {
    let tables = [
        health::ROUTES,
        ui::ROUTES,
        api_page::ROUTES,
        login::ROUTES,
        access::ROUTES,
        query::ROUTES,
        query_data::ROUTES,
        query_events::ROUTES,
        search::ROUTES,
        suggestions::ROUTES,
        conversations::ROUTES,
        workspace::ROUTES,
        budget::ROUTES,
        jobs::ROUTES,
        jobs::layers::ROUTES,
        ollama::ROUTES,
        mcp::ROUTES,
    ];
    let tables = tables.into_iter().chain(documents::TABLES).chain(graph::TABLES).chain(openai::TABLES);
    tables.flatten().collect()
});

/// The path of the matching row.
pub(crate) fn path_of(path: &str) -> Option<&'static str> {
    ROUTES.iter().find(|route| route.path == path).map(|route| route.path)
}

/// All routes with their guards.
pub(crate) fn router(app: &App) -> Router {
    router_of(app, ROUTES.iter().copied())
}

/// The routes about the process itself.
pub(crate) fn health_router(app: &App) -> Router {
    router_of(app, health::ROUTES.iter())
}

fn router_of(app: &App, routes: impl Iterator<Item = &'static Route>) -> Router {
    let mut router = Router::new();
    for route in routes {
        let guarded = (route.mount)().route_layer(from_fn_with_state((app.clone(), route), guard));
        router = router.route(route.path, guarded);
    }
    let mut router = router
        .fallback(|uri: Uri| async move {
            unmatched(&uri, Problem::not_found("unknown route; /openapi.json lists all routes"))
        })
        .method_not_allowed_fallback(|uri: Uri| async move {
            let what = "the route does not support this method";
            unmatched(&uri, Problem::new(StatusCode::METHOD_NOT_ALLOWED, what))
        })
        // The guard limits each body as the route's row says.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| panicked()))
        .layer(compress::layer());
    if let Some(cors) = cors(app) {
        router = router.layer(cors);
    }
    router.layer(from_fn_with_state(app.clone(), observe)).with_state(app.clone())
}

/// The response if no route matches, in the error format of the path's protocol.
fn unmatched(uri: &Uri, problem: Problem) -> Response {
    let response = problem.into_response();
    match protocol_of(uri.path()) {
        Some(protocol) => in_words_of(protocol, response),
        None => response,
    }
}

/// How long a browser need not ask again whether it may send a request.
const PREFLIGHT_AGE: Duration = Duration::from_secs(600);

/// Allows web pages of the configured origins to send requests; none by default.
fn cors(app: &App) -> Option<tower_http::cors::CorsLayer> {
    use axum::http::{HeaderName, HeaderValue, Method, header};
    use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

    let origins: Vec<HeaderValue> =
        app.cors_origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let exposed = [
        HeaderName::from_static("x-request-id"),
        HeaderName::from_static(crate::guard::NEW_TOKEN),
        header::RETRY_AFTER,
    ];
    Some(
        CorsLayer::new()
            .allow_origin(AllowOrigin::list(origins))
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            // Clients add headers of their own, such as `x-stainless-os` of OpenAI's.
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(exposed)
            .max_age(PREFLIGHT_AGE),
    )
}

/// The response after a panic, which affects only its request.
fn panicked() -> Response {
    tracing::error!("a request panicked");
    let what = "internal server error; see the server's log under the id of this request";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, what).into_response()
}
