//! The guard of every route: authentication, permission, capacity, and request rate.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Uri, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use graphloom_core::WorkspaceId;

use crate::access::{Access, AccessRefusal, Caller, Credentials, Grant, Right};
use crate::apart::for_holder;
use crate::app::{App, now};
use crate::compress;
use crate::leash::{Reader, hold};
use crate::origin::Origin;
use crate::problem::{Problem, chain, in_words_of};
use crate::rates::RateKey;
use crate::route::{Load, Method, Needs, Route};
use crate::turns::{Holder, Turn};
use crate::unread::drain;

/// Header with the workspace of a request [LightRAG].
pub(crate) const WORKSPACE_HEADER: &str = "lightrag-workspace";
/// Path prefix with the workspace: `/w/NAME/...`.
const WORKSPACE_PREFIX: &str = "/w/";

/// Header with a new token that replaces the current one [LightRAG].
pub(crate) const NEW_TOKEN: &str = "x-new-token";
/// Routes that clients poll; their responses carry no new token [LightRAG].
const POLLED: [&str; 3] = ["/health", "/documents/paginated", "/documents/pipeline_status"];
/// Cheap routes for monitoring, which may share an address with other clients.
pub(crate) const PROBES: [&str; 2] = ["/livez", "/readyz"];
/// Files that a browser loads dozens of at once, before its user can log in.
const UI_FILES: &str = "/ui/assets/{file}";

/// The caller of every request if there are no credentials. No key or user can have this name.
pub(crate) const LOCAL: &str = "local";

/// The result of the guard, for the handler and the log.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    /// The caller.
    pub(crate) caller: Caller,
    /// The workspace of the request.
    pub(crate) workspace: WorkspaceId,
    /// Whether the request names its workspace.
    pub(crate) names_workspace: bool,
    /// The holder of the request's turn.
    pub(crate) holder: Holder,
    /// The turn; held while the request uses the server's capacity.
    pub(crate) turn: Option<Arc<Turn>>,
}

/// The authenticated caller of a request that was rejected for missing permissions, for the log.
#[derive(Debug, Clone)]
pub(crate) struct RefusedCaller(pub(crate) String);

/// A rejection, with the caller if known.
struct Rejection {
    problem: Problem,
    caller: Option<String>,
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Self {
        Self { problem, caller: None }
    }
}

/// The workspace named by the path.
#[derive(Debug, Clone)]
struct PathWorkspace(String);

/// Removes `/w/NAME` from the path before routing.
pub(crate) fn take_prefix<B>(mut request: axum::http::Request<B>) -> axum::http::Request<B> {
    let uri = request.uri();
    let Some((name, rest)) = uri.path().strip_prefix(WORKSPACE_PREFIX).and_then(|path| path.split_once('/'))
    else {
        return request;
    };
    let rest = match uri.query() {
        Some(query) => format!("/{rest}?{query}"),
        None => format!("/{rest}"),
    };
    let (name, Ok(rest)) = (name.to_owned(), rest.parse::<Uri>()) else { return request };
    *request.uri_mut() = rest;
    request.extensions_mut().insert(PathWorkspace(name));
    request
}

/// The guard of one route.
pub(crate) async fn guard(
    State((app, route)): State<(App, &'static Route)>,
    request: Request,
    next: Next,
) -> Response {
    let response = tokio::select! {
        // What is finished is sent, even if the server stops.
        biased;
        response = answer(&app, route, request, next) => response,
        () = app.must_end() => Problem::stopping().into_response(),
    };
    let response = match route.protocol() {
        Some(protocol) => in_words_of(protocol, response),
        None => response,
    };
    compress::mark(route, response)
}

async fn answer(app: &App, route: &'static Route, request: Request, next: Next) -> Response {
    let admitted = match check_request(app, route, &request) {
        Ok(admitted) => admitted,
        Err(Rejection { problem, caller }) => {
            drain(request.into_body()).await;
            let mut response = problem.into_response();
            if let Some(caller) = caller {
                response.extensions_mut().insert(RefusedCaller(caller));
            }
            return response;
        }
    };
    let name = admitted.caller.name.clone();
    let (admitted, mut request) = match admit(app, route, admitted, request).await {
        Ok(admitted) => admitted,
        Err(problem) => {
            let mut response = problem.into_response();
            response.extensions_mut().insert(RefusedCaller(name));
            return response;
        }
    };
    let renewed = renewed(app, route, &request);
    let reader = Reader::of(&admitted.caller, request.headers());
    request.extensions_mut().insert(admitted.clone());
    let mut response = for_holder(admitted.holder.clone(), next.run(request)).await;
    if let Some(token) = renewed.and_then(|token| HeaderValue::from_str(&token).ok()) {
        response.headers_mut().insert(NEW_TOKEN, token);
    }
    response.extensions_mut().insert(Admission { turn: None, ..admitted });
    hold(app, route, reader, response)
}

/// Receives the body, then takes a turn, since a turn is for requests that can be processed now. A login, which
/// anyone may send, takes its turn first, from a separate set.
async fn admit(
    app: &App,
    route: &'static Route,
    admitted: Admission,
    request: Request,
) -> Result<(Admission, Request), Problem> {
    let turn_before = match route.load {
        Load::Login => turn_of(app, route.load, &admitted.holder).await?,
        Load::None | Load::Look | Load::Question | Load::Change | Load::Whole | Load::Stream => None,
    };
    let request = app.bodies.receive(route, &admitted.holder, &app.limits, request).await?;
    let turn = match turn_before {
        Some(turn) => Some(turn),
        None => turn_of(app, route.load, &admitted.holder).await?,
    };
    Ok((Admission { turn, ..admitted }, request))
}

/// A new token to replace the current one. Polled routes get none, since a new token every few seconds is useless.
fn renewed(app: &App, route: &'static Route, request: &Request) -> Option<String> {
    if POLLED.contains(&route.path) {
        return None;
    }
    app.access.read().ok()?.renewed(shown(request.headers()), now())
}

/// Checks caller, workspace, permission and size.
fn check_request(app: &App, route: &'static Route, request: &Request) -> Result<Admission, Rejection> {
    let access = app.access.read().map_err(|error| {
        tracing::error!(error = chain(&error), "reading keys and users failed; rejecting all requests");
        let what = "the server cannot read its keys and users and rejects all requests; see the server's log";
        Problem::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, what)
    })?;
    let caller = identify(app, &access, route, request);
    let name = caller.as_ref().ok().map(|caller| caller.name.clone());
    admitted(app, route, request, caller).map_err(|problem| Rejection { problem, caller: name })
}

/// Checks the permissions of the caller; `caller` holds the reason if it is not authenticated.
fn admitted(
    app: &App,
    route: &'static Route,
    request: &Request,
    caller: Result<Caller, Problem>,
) -> Result<Admission, Problem> {
    let holder = holder_of(request, caller.as_ref().ok());
    check_rate(app, route, request, caller.as_ref().ok())?;
    check_single(request.headers())?;
    let named = workspace_of(request);
    let names_workspace = !matches!(named, Ok(None));
    let workspace = named.map(|named| named.unwrap_or_else(|| app.default_workspace.clone()));
    let (caller, workspace) = match route.needs {
        Needs::Nothing => {
            // This route is open to everyone; credentials only add details to the response.
            let nobody = Grant { workspaces: Some(BTreeSet::new()), right: Right::Read };
            let caller = caller.unwrap_or(Caller { name: "nobody".to_owned(), grant: nobody });
            (caller, workspace?)
        }
        Needs::Credential => (caller?, workspace?),
        Needs::Workspace(right) => {
            let (caller, workspace) = (caller?, workspace?);
            check(&caller, right, &workspace)?;
            (caller, workspace)
        }
    };
    // Only after authentication, so that size limits are revealed only to permitted callers.
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|bytes| bytes > route.max_body as u64) {
        return Err(Problem::too_large(route.max_body));
    }
    Ok(Admission { caller, workspace, names_workspace, holder, turn: None })
}

/// The holder of a request's turn.
fn holder_of(request: &Request, caller: Option<&Caller>) -> Holder {
    match (caller, origin_of(request)) {
        (Some(caller), _) if caller.name == LOCAL => Holder::Machine,
        (Some(caller), _) => Holder::Credential(caller.name.clone()),
        (None, Some(origin)) => Holder::Address(origin.address()),
        (None, None) => Holder::Machine,
    }
}

/// Takes a turn for this load; `None` if the load is not limited.
pub(crate) async fn turn_of(app: &App, load: Load, holder: &Holder) -> Result<Option<Arc<Turn>>, Problem> {
    let turns = match load {
        Load::None => return Ok(None),
        Load::Look => &app.looks,
        Load::Question => &app.questions,
        Load::Change => &app.changes,
        Load::Whole => &app.wholes,
        Load::Stream => &app.streams,
        Load::Login => &app.logins,
    };
    let full = |wait| Problem::busy("the server is handling too many requests", wait);
    Ok(Some(Arc::new(turns.take(holder, app.limits.turn).await.map_err(full)?)))
}

/// Authenticates the caller. Without keys and users, programs on this machine have full access and others none.
fn identify(app: &App, access: &Access, route: &'static Route, request: &Request) -> Result<Caller, Problem> {
    if access.is_empty() && app.is_loopback {
        check_local(app, route, request)?;
        return Ok(Caller { name: LOCAL.to_owned(), grant: Grant::ALL });
    }
    access.identify(shown(request.headers()), now()).map_err(|not| refuse(access, route, not))
}

/// Checks the request rate: per credential if authenticated, otherwise per address.
fn check_rate(
    app: &App,
    route: &'static Route,
    request: &Request,
    caller: Option<&Caller>,
) -> Result<(), Problem> {
    let Some(origin) = origin_of(request) else { return Ok(()) };
    if PROBES.contains(&route.path) || route.path == UI_FILES {
        return Ok(());
    }
    let (counted, what) = match caller {
        Some(_) if origin.is_here() => return Ok(()),
        Some(caller) => (RateKey::Caller(caller.name.clone()), "this credential exceeds its request rate"),
        None => {
            let what = "this address exceeds the request rate for clients without valid credentials";
            (RateKey::Address(origin.address()), what)
        }
    };
    app.rates.count(counted, Instant::now()).map_err(|wait| {
        let remedy =
            "wait for the time in Retry-After; the server's settings rate_limit and rate_limit_unknown are the limits";
        Problem::busy(what, wait).remedy(Some(remedy))
    })
}

pub(crate) fn shown(headers: &HeaderMap) -> Credentials<'_> {
    let bearer = text(headers, header::AUTHORIZATION.as_str()).and_then(bearer_of);
    Credentials { key: text(headers, "x-api-key").filter(|key| !key.is_empty()), bearer }
}

/// Uses the wording and status on which LightRAG clients prompt for a key (403) or a login (401). Clients of other
/// protocols always get 401.
fn refuse(access: &Access, route: &'static Route, not: AccessRefusal) -> Problem {
    let has_users = !access.users.is_empty();
    let key_problem = |detail: &str| match has_users || route.is_foreign() {
        true => Problem::unauthorized(detail),
        false => Problem::forbidden(detail),
    };
    match not {
        AccessRefusal::NoCredential if has_users => {
            Problem::unauthorized("No credentials provided. Please login.")
        }
        AccessRefusal::NoCredential => key_problem("API Key required"),
        AccessRefusal::BadKey => key_problem("Invalid API Key"),
        AccessRefusal::BadToken if has_users => Problem::unauthorized("Invalid token. Please login again."),
        AccessRefusal::BadToken => key_problem("API Key required"),
    }
    .remedy(Some(
        "send an API key as X-API-Key or as Authorization: Bearer; the server's administrator creates keys",
    ))
}

/// Checks permission and workspace. The error is the same whether a forbidden workspace exists or not.
pub(crate) fn check(caller: &Caller, right: Right, workspace: &WorkspaceId) -> Result<(), Problem> {
    if !caller.grant.reaches(workspace) {
        return Err(Problem::forbidden(format!("this credential has no access to workspace {workspace}")));
    }
    if caller.grant.right < right {
        let (has, needs) = (caller.grant.right.name(), right.name());
        return Err(Problem::forbidden(format!(
            "this credential has the right {has}; this request needs {needs}"
        )));
    }
    Ok(())
}

/// Without credentials, only programs on this machine may send requests. A browser on this machine runs pages from
/// anywhere: requests with a foreign host name (DNS rebinding) or a foreign origin are rejected.
fn check_local(app: &App, route: &'static Route, request: &Request) -> Result<(), Problem> {
    check_own(request)?;
    if !is_local_name(&host_of(request.headers(), request.uri())) {
        return Err(Problem::forbidden(
            "the server accepts requests only from this machine, under its local names",
        )
        .remedy(Some("use localhost or 127.0.0.1, or an API key; the server's administrator creates keys")));
    }
    match route.method {
        Method::Get => Ok(()),
        Method::Post | Method::Delete => check_origin(app, request),
    }
}

/// Rejects requests that a proxy on this machine forwards for others. A plain nginx adds no header, but forwards
/// over HTTP/1.0, which programs no longer use.
fn check_own(request: &Request) -> Result<(), Problem> {
    let origin = origin_of(request);
    let why = if origin.is_some_and(Origin::is_unknown) {
        "this request was forwarded by an untrusted proxy, or without a client address"
    } else if origin.is_some_and(|origin| !origin.is_here()) {
        "this request comes from another machine"
    } else if request.version() <= Version::HTTP_10 {
        "this request uses HTTP/1.0, as proxies do"
    } else {
        return Ok(());
    };
    let what = format!(
        "there are no keys, so the server accepts requests only from programs on this machine; {why}"
    );
    Err(Problem::forbidden(what)
        .remedy(Some("use an API key, or add the proxy to the server's setting trusted_proxies")))
}

/// The origin of a request; `None` without a connection.
fn origin_of(request: &Request) -> Option<Origin> {
    request.extensions().get::<Origin>().copied()
}

/// Rejects requests that a browser sends for a page of another, untrusted origin.
pub(crate) fn check_origin(app: &App, request: &Request) -> Result<(), Problem> {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let host = host_of(request.headers(), request.uri());
    // If a proxy reports the scheme, a page loaded over HTTP does not have the same origin as one over TLS.
    let scheme =
        origin_of(request).and_then(Origin::is_secure).map(|secure| if secure { "https" } else { "http" });
    let is_ours = origin
        .split_once("://")
        .is_some_and(|(of, from)| from == host && scheme.is_none_or(|scheme| scheme == of));
    if is_ours || app.cors_origins.iter().any(|known| known == origin) {
        return Ok(());
    }
    Err(Problem::forbidden("requests from web pages of other origins are not allowed to change anything")
        .remedy(Some("if you trust the origin, add it to the server's setting cors_origins")))
}

/// The requested host, with the port if given.
fn host_of(headers: &HeaderMap, uri: &Uri) -> String {
    let host = text(headers, header::HOST.as_str()).map(str::to_owned);
    host.or_else(|| uri.authority().map(ToString::to_string)).unwrap_or_default()
}

/// Whether a host, with or without port, is a local name of this machine.
fn is_local_name(host: &str) -> bool {
    let bracketed = host.strip_prefix('[').map(|inner| inner.split_once(']'));
    let (name, port) = match bracketed {
        Some(Some((name, port))) => (name, port),
        Some(None) => return false,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok() && !port.starts_with('+');
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return false;
    }
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// Headers that must not occur twice, since different components could read different ones.
const SINGLE: [&str; 4] = [WORKSPACE_HEADER, "host", "x-api-key", "authorization"];

fn check_single(headers: &HeaderMap) -> Result<(), Problem> {
    match SINGLE.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        None => Ok(()),
        Some(name) => Err(Problem::bad(format!("the header {name} is sent more than once"))),
    }
}

/// The workspace that a request names in its path or header.
fn workspace_of(request: &Request) -> Result<Option<WorkspaceId>, Problem> {
    let prefixed = request.extensions().get::<PathWorkspace>().map(|PathWorkspace(name)| name.as_str());
    let header = match request.headers().get(WORKSPACE_HEADER) {
        Some(value) => Some(
            value.to_str().map_err(|_| Problem::invalid("the workspace header is not valid text"))?.trim(),
        ),
        None => None,
    };
    let name = match (prefixed, header.filter(|name| !name.is_empty())) {
        (None, None) => return Ok(None),
        (Some(one), Some(other)) if one != other => {
            let what = format!("the path names workspace {one:?}, but the header names {other:?}");
            return Err(Problem::invalid(what));
        }
        (Some(name), _) | (None, Some(name)) => name,
    };
    WorkspaceId::new(name).map(Some).map_err(|error| Problem::invalid(error.to_string()))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn bearer_of(authorization: &str) -> Option<&str> {
    let (scheme, credential) = authorization.split_once(' ')?;
    let credential = credential.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty()).then_some(credential)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_host_names_of_this_machine_are_local() {
        for host in ["localhost", "LocalHost:9621", "127.0.0.1:9621", "127.0.0.1", "[::1]:9621", "127.8.9.1"]
        {
            assert!(is_local_name(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
            "[localhost",
            "localhost:80@evil.example",
            "localhost:",
            "[::1]evil.example",
            "localhost:+1",
        ] {
            assert!(!is_local_name(host), "{host}");
        }
    }

    #[test]
    fn the_workspace_is_removed_from_the_path_and_the_query_stays() {
        let check = |uri: &str| {
            let request = axum::http::Request::builder().uri(uri).body(()).expect("a request");
            let request = take_prefix(request);
            let name = request.extensions().get::<PathWorkspace>().map(|PathWorkspace(name)| name.clone());
            (request.uri().to_string(), name)
        };
        assert_eq!(check("/w/alpha/query?a=/w/b"), ("/query?a=/w/b".to_owned(), Some("alpha".to_owned())));
        assert_eq!(check("/w/../query"), ("/query".to_owned(), Some("..".to_owned())));
        assert_eq!(check("/w/alpha/w/beta/query"), ("/w/beta/query".to_owned(), Some("alpha".to_owned())));
        assert_eq!(check("/w/alpha"), ("/w/alpha".to_owned(), None));
        assert_eq!(check("/query"), ("/query".to_owned(), None));
    }

    #[test]
    fn only_bearer_credentials_are_read_in_any_case() {
        assert_eq!(bearer_of("Bearer abc"), Some("abc"));
        assert_eq!(bearer_of("bearer  abc "), Some("abc"));
        for other in ["Basic abc", "Bearer", "Bearer ", ""] {
            assert_eq!(bearer_of(other), None, "{other:?}");
        }
    }
}
