//! Lists, creates and revokes keys and users. Only for administrators of all workspaces.

use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use graphloom_core::WorkspaceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, AccessError, Caller, Grant, MAX_NAME_CHARS, Right, random_password};
use crate::apart::apart;
use crate::app::{App, now};
use crate::guard::Admission;
use crate::input::Json;
use crate::problem::Problem;
use crate::route::{Gives, Load, Needs, Route, Takes, schema};

/// Maximum workspaces of a key or user.
const MAX_WORKSPACES: usize = 1000;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/access", "The keys and users of the server, without their secrets", || get(list))
        .needs(Needs::Credential)
        .gives(Gives::Json(schema::<AccessList>)),
    Route::post("/access/keys", "Creates a key, which the response shows once", || post(create_key))
        .needs(Needs::Credential)
        .load(Load::Change)
        .takes(Takes::Json(schema::<NewKey>))
        .gives(Gives::Json(schema::<CreatedKey>)),
    Route::delete("/access/keys/{key_id}", "Revokes a key", || delete(revoke_key))
        .needs(Needs::Credential)
        .load(Load::Change)
        .gives(Gives::Json(schema::<TakenBack>)),
    Route::post("/access/users", "Creates a user, or gives one a new password and rights", || post(put_user))
        .needs(Needs::Credential)
        .load(Load::Change)
        .takes(Takes::Json(schema::<NewUser>))
        .gives(Gives::Json(schema::<CreatedUser>)),
    Route::delete("/access/users/{user_name}", "Removes a user", || delete(remove_user))
        .needs(Needs::Credential)
        .load(Load::Change)
        .gives(Gives::Json(schema::<TakenBack>)),
];

#[derive(Serialize, JsonSchema)]
struct AccessList {
    /// Oldest first, including revoked keys.
    keys: Vec<KeyItem>,
    /// By name.
    users: Vec<UserItem>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AccessKey")]
struct KeyItem {
    id: String,
    /// What it is for.
    name: String,
    right: Right,
    /// The workspaces it is limited to; `null` for all.
    workspaces: Option<BTreeSet<String>>,
    /// In milliseconds since 1970.
    created_at: u64,
    /// In milliseconds since 1970; `null` while it is valid.
    revoked_at: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AccessUser")]
struct UserItem {
    name: String,
    right: Right,
    /// The workspaces they are limited to; `null` for all.
    workspaces: Option<BTreeSet<String>>,
    /// When they were created or got their password, in milliseconds since 1970.
    created_at: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAccessKey")]
struct NewKey {
    /// What it is for.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: String,
    right: Right,
    /// Only these workspaces; all if left out.
    #[schemars(length(min = 1, max = MAX_WORKSPACES))]
    workspaces: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedAccessKey")]
struct CreatedKey {
    id: String,
    /// The key itself; it cannot be shown again.
    key: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAccessUser")]
struct NewUser {
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: String,
    right: Right,
    /// Only these workspaces; all if left out.
    #[schemars(length(min = 1, max = MAX_WORKSPACES))]
    workspaces: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedAccessUser")]
struct CreatedUser {
    name: String,
    /// The password; it cannot be shown again.
    password: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AccessTakenBack")]
struct TakenBack {
    /// The ids of the keys or the name of the user.
    taken_back: Vec<String>,
}

/// Rejects callers that are not administrators of all workspaces, because a key could grant more than its creator has.
fn check_administrator(caller: &Caller) -> Result<(), Problem> {
    let Grant { workspaces, right } = &caller.grant;
    if workspaces.is_none() && *right == Right::Admin {
        return Ok(());
    }
    let what = "managing keys and users needs the right admin on all workspaces";
    Err(Problem::forbidden(what).remedy(Some("ask the server's administrator")))
}

fn grant_of(right: Right, workspaces: Option<Vec<String>>) -> Result<Grant, Problem> {
    let Some(names) = workspaces else { return Ok(Grant { workspaces: None, right }) };
    if names.is_empty() || names.len() > MAX_WORKSPACES {
        return Err(Problem::invalid(format!("workspaces must have 1 to {MAX_WORKSPACES} names"))
            .remedy(Some("leave it out for all workspaces")));
    }
    let names = names.iter().map(|name| WorkspaceId::new(name)).collect::<Result<_, _>>();
    Ok(Grant { workspaces: Some(names.map_err(|error| Problem::invalid(error.to_string()))?), right })
}

/// Changes the file on a separate thread, because it hashes passwords and waits for the lock of other processes.
async fn change<T: Send + 'static>(
    app: App,
    how: impl FnMut(&mut Access) -> Result<T, AccessError> + Send + 'static,
) -> Result<T, Problem> {
    apart(async move || app.access.change(how).await.map_err(problem_of)).await
}

fn problem_of(error: AccessError) -> Problem {
    match error {
        AccessError::Name { .. } | AccessError::Password => Problem::invalid(error.to_string()),
        AccessError::UnknownKey { .. } | AccessError::UnknownUser { .. } => {
            Problem::not_found(error.to_string()).remedy(Some("GET /access lists keys and users"))
        }
        AccessError::Store(error) => error.into(),
        AccessError::File { .. }
        | AccessError::Gone { .. }
        | AccessError::Missing { .. }
        | AccessError::Overtaken { .. }
        | AccessError::Random { .. } => Problem::internal(&error),
    }
}

async fn list(State(app): State<App>, admitted: Admission) -> Result<axum::Json<AccessList>, Problem> {
    check_administrator(&admitted.caller)?;
    let access = app.access.read().map_err(problem_of)?;
    let names = |grant: &Grant| {
        grant.workspaces.as_ref().map(|names| names.iter().map(ToString::to_string).collect())
    };
    let keys = access.keys.iter().map(|key| KeyItem {
        id: key.id.clone(),
        name: key.name.clone(),
        right: key.grant.right,
        workspaces: names(&key.grant),
        created_at: key.created_at.0,
        revoked_at: key.revoked_at.map(|at| at.0),
    });
    let users = access.users.iter().map(|user| UserItem {
        name: user.name.clone(),
        right: user.grant.right,
        workspaces: names(&user.grant),
        created_at: user.created_at.0,
    });
    Ok(axum::Json(AccessList { keys: keys.collect(), users: users.collect() }))
}

async fn create_key(
    State(app): State<App>,
    admitted: Admission,
    Json(NewKey { name, right, workspaces }): Json<NewKey>,
) -> Result<axum::Json<CreatedKey>, Problem> {
    check_administrator(&admitted.caller)?;
    let grant = grant_of(right, workspaces)?;
    if app.access.read().map_err(problem_of)?.is_empty() && grant != Grant::ALL {
        return Err(needs_administrator());
    }
    let key = change(app, move |access| access.create_key(&name, grant.clone(), now())).await?;
    tracing::info!(key = key.id, by = admitted.caller.name, "a key was created");
    Ok(axum::Json(CreatedKey { id: key.id, key: key.secret }))
}

async fn revoke_key(
    State(app): State<App>,
    admitted: Admission,
    Path(id): Path<String>,
) -> Result<axum::Json<TakenBack>, Problem> {
    check_administrator(&admitted.caller)?;
    if admitted.caller.name == format!("key {id}") {
        return Err(own());
    }
    let taken_back = change(app, {
        let id = id.clone();
        move |access| match access.keys.iter().any(|key| key.id == id) {
            true => access.revoke_key(&id, now()),
            false => Err(AccessError::UnknownKey { reference: id.clone() }),
        }
    })
    .await?;
    tracing::info!(key = id, by = admitted.caller.name, "a key was revoked");
    Ok(axum::Json(TakenBack { taken_back }))
}

async fn put_user(
    State(app): State<App>,
    admitted: Admission,
    Json(NewUser { name, right, workspaces }): Json<NewUser>,
) -> Result<axum::Json<CreatedUser>, Problem> {
    check_administrator(&admitted.caller)?;
    let grant = grant_of(right, workspaces)?;
    if app.access.read().map_err(problem_of)?.is_empty() && grant != Grant::ALL {
        return Err(needs_administrator());
    }
    if admitted.caller.name == format!("user {name}") && grant != Grant::ALL {
        return Err(own());
    }
    let password = random_password().map_err(problem_of)?;
    change(app, {
        let (name, password) = (name.clone(), password.clone());
        move |access| access.put_user(&name, &password, grant.clone(), now())
    })
    .await?;
    tracing::info!(user = name, by = admitted.caller.name, "a user was created or changed");
    Ok(axum::Json(CreatedUser { name, password }))
}

async fn remove_user(
    State(app): State<App>,
    admitted: Admission,
    Path(name): Path<String>,
) -> Result<axum::Json<TakenBack>, Problem> {
    check_administrator(&admitted.caller)?;
    if admitted.caller.name == format!("user {name}") {
        return Err(own());
    }
    change(app, {
        let name = name.clone();
        move |access| access.remove_user(&name)
    })
    .await?;
    tracing::info!(user = name, by = admitted.caller.name, "a user was removed");
    Ok(axum::Json(TakenBack { taken_back: vec![name] }))
}

/// The first key or user closes the server to everyone else, so it must be able to create further ones.
fn needs_administrator() -> Problem {
    let what = "the first key or user must have the right admin on all workspaces, since it closes the server to all others";
    Problem::new(StatusCode::CONFLICT, what)
}

fn own() -> Problem {
    let what = "this is the credential that you use; revoking it would lock you out";
    Problem::conflict(what).remedy(Some("use another one, or the command line of the server"))
}
