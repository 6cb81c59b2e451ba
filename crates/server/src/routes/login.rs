//! Login, and whether one is required.

use std::collections::BTreeSet;

use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::health::API_VERSION;
use crate::access::{AccessError, Caller, guest_token};
use crate::app::{App, now};
use crate::background::in_background;
use crate::guard::Admission;
use crate::input::Form;
use crate::observe::LoginName;
use crate::origin::Origin;
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};

/// Maximum length of a login name in bytes; no user has a longer one.
const MAX_NAME_BYTES: usize = 400;
/// Maximum characters of a name in the log.
const MAX_NAME_CHARS: usize = 100;
/// Maximum size of a login form in bytes.
const MAX_LOGIN_BODY: usize = 16 << 10;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/auth-status", "Whether a login is required", || get(auth_status))
        .needs(Needs::Nothing)
        .load(Load::None)
        .gives(Gives::Json(schema::<AuthStatus>)),
    Route::post("/login", "Returns a token for a name and a password", || post(named_login))
        .needs(Needs::Nothing)
        .load(Load::Login)
        .max_body(MAX_LOGIN_BODY)
        .takes(Takes::Form(schema::<Login>))
        .gives(Gives::Json(schema::<AuthStatus>)),
    Route::get("/ui/customization", "Customization of LightRAG's pages: none", || get(customization))
        .needs(Needs::Nothing)
        .load(Load::None)
        .gives(Gives::Json(schema::<Customization>)),
    Route::get("/auth/verify", "Whether the credential is valid", || get(verify))
        .needs(Needs::Credential)
        .load(Load::None)
        .gives(Gives::Json(schema::<CredentialInfo>)),
];

#[derive(Deserialize, JsonSchema)]
struct Login {
    username: String,
    password: String,
}

/// Whether a login is required, and the token after a login or if none is required.
#[derive(Serialize, JsonSchema)]
struct AuthStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_configured: Option<bool>,
    /// `enabled` if users log in.
    auth_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    core_version: &'static str,
    api_version: &'static str,
    webui_title: Option<String>,
    webui_description: Option<String>,
    ai_content_notice_enabled: bool,
}

impl AuthStatus {
    fn new(auth_mode: &'static str, access_token: Option<String>) -> Self {
        Self {
            auth_configured: None,
            auth_mode,
            token_type: access_token.is_some().then_some("bearer"),
            access_token,
            message: None,
            core_version: env!("CARGO_PKG_VERSION"),
            api_version: API_VERSION,
            webui_title: None,
            webui_description: None,
            ai_content_notice_enabled: false,
        }
    }

    /// Without logins, LightRAG clients still expect a token; this one grants nothing.
    fn guest(app: &App) -> Self {
        let message = Some("Authentication is disabled. Using guest access.");
        Self { message, ..Self::new("disabled", Some(guest_token(&app.guest_secret, now()))) }
    }
}

/// Tells LightRAG's pages that they are not customized.
#[derive(Serialize, JsonSchema)]
struct Customization {
    customized: bool,
    brand: Brand,
}

#[derive(Serialize, JsonSchema)]
struct Brand {
    title: &'static str,
    description: &'static str,
}

async fn customization() -> axum::Json<Customization> {
    let brand =
        Brand { title: "Graphloom", description: "Knowledge graphs and cited answers from your documents" };
    axum::Json(Customization { customized: false, brand })
}

/// A valid credential, and what it allows.
#[derive(Serialize, JsonSchema)]
struct CredentialInfo {
    status: &'static str,
    /// The caller as the log names it, such as `user ada`; `local` if there are no keys and users. Graphloom only.
    name: String,
    /// `read`, `write` or `admin`. Graphloom only.
    right: &'static str,
    /// The workspaces it is limited to; `null` for all. Graphloom only.
    workspaces: Option<BTreeSet<String>>,
}

async fn verify(admitted: Admission) -> axum::Json<CredentialInfo> {
    let Caller { name, grant } = admitted.caller;
    let workspaces = grant.workspaces.map(|names| names.iter().map(ToString::to_string).collect());
    axum::Json(CredentialInfo { status: "ok", name, right: grant.right.name(), workspaces })
}

async fn auth_status(State(app): State<App>) -> Result<axum::Json<AuthStatus>, Problem> {
    let has_users = !read(app.access.read())?.users.is_empty();
    let status = if has_users { AuthStatus::new("enabled", None) } else { AuthStatus::guest(&app) };
    Ok(axum::Json(AuthStatus { auth_configured: Some(has_users), ..status }))
}

/// Logs in, and passes the name to the log.
async fn named_login(state: State<App>, origin: Extension<Origin>, Form(form): Form<Login>) -> Response {
    let name: String = form.username.chars().take(MAX_NAME_CHARS).collect();
    let mut response = login(state, origin, Form(form)).await.into_response();
    response.extensions_mut().insert(LoginName(name));
    response
}

async fn login(
    State(app): State<App>,
    Extension(origin): Extension<Origin>,
    Form(Login { username, password }): Form<Login>,
) -> Result<axum::Json<AuthStatus>, Problem> {
    let access = read(app.access.read())?;
    if access.users.is_empty() {
        return Ok(axum::Json(AuthStatus::guest(&app)));
    }
    if username.len() > MAX_NAME_BYTES {
        return Err(wrong());
    }
    let from = origin.address();
    let slow = app.throttle.begin(from, &username).await.map_err(|wait| {
        tracing::warn!(client = %origin.client(), "too many login attempts");
        Problem::busy("Too many failed login attempts. Please try again later.", wait)
    })?;
    tokio::time::sleep(slow).await;
    // The semaphore is never closed; if it were, all logins would fail.
    let _turn = app.passwords.acquire().await.map_err(|_| wrong())?;
    let (known, name) = (access.clone(), username.clone());
    let is_right = in_background(move || known.check_password(&name, &password)).await;
    if !is_right.unwrap_or(false) {
        return Err(wrong());
    }
    app.throttle.succeed(from, &username).await;
    let token = access.token_of(&username, now()).ok_or_else(wrong)?;
    Ok(axum::Json(AuthStatus::new("enabled", Some(token))))
}

fn wrong() -> Problem {
    Problem::unauthorized("Incorrect credentials")
}

fn read<T>(access: Result<T, AccessError>) -> Result<T, Problem> {
    access.map_err(|error| Problem::internal(&error))
}
