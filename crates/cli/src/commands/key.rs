//! `graphloom key` and `graphloom user`: access to the server.

use std::io::Read;

use anyhow::Context;
use graphloom::stores::workspaces;
use graphloom_server::{Access, AccessStore, Grant, KeyRecord, UserRecord, random_password};
use serde_json::{Value, json};

use super::App;
use crate::args::{KeyCommand, UserCommand};
use crate::fault::Exit;
use crate::output::render::plain;
use crate::wire;

/// Maximum bytes read from standard input for a password.
const MAX_INPUT: u64 = 4096;

/// Creates, lists or revokes keys.
pub(crate) async fn run(app: &App, command: &KeyCommand) -> anyhow::Result<Exit> {
    let access = access_of(app).await?;
    let output = &app.output;
    match command {
        KeyCommand::Create { name, grant } => {
            let key = access.change(|access| access.create_key(name, grant.grant(), wire::now())).await?;
            if output.json {
                output.json(&key)?;
            } else {
                output.line(&key.secret)?;
                output.note(format_args!(
                    "the key is shown only once and {}; `graphloom key revoke {}` revokes it",
                    reach(&grant.grant()),
                    key.id
                ));
            }
        }
        KeyCommand::List => {
            let access = access.read()?;
            if output.json {
                output.json(&access.keys.iter().map(key_json).collect::<Vec<_>>())?;
            } else {
                for key in &access.keys {
                    let revoked = key.revoked_at.map(|at| format!(", revoked {}", at.to_iso()));
                    output.line(format_args!(
                        "{}  {}  {}{}",
                        key.id,
                        plain(&key.name),
                        reach(&key.grant),
                        revoked.unwrap_or_default()
                    ))?;
                }
            }
        }
        KeyCommand::Revoke { reference } => {
            let revoked = access.change(|access| access.revoke_key(reference, wire::now())).await?;
            if output.json {
                output.json(&json!({ "revoked": revoked }))?;
            } else {
                output.line(format_args!("revoked {}", revoked.join(", ")))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Creates, lists or removes users.
pub(crate) async fn users(app: &App, command: &UserCommand) -> anyhow::Result<Exit> {
    let access = access_of(app).await?;
    let output = &app.output;
    match command {
        UserCommand::Add { name, grant, password_stdin } => {
            let password = if *password_stdin { given()? } else { random_password()? };
            let put = |access: &mut Access| {
                // Setting a new password must not widen the permissions.
                let held = access.users.iter().find(|user| user.name == *name).map(|user| user.grant.clone());
                let grant = grant.over(held.as_ref());
                access.put_user(name, &password, grant.clone(), wire::now())?;
                Ok(grant)
            };
            let grant = access.change(put).await?;
            let shown = (!password_stdin).then_some(&password);
            if output.json {
                output.json(&json!({ "user": name, "password": shown, "grant": grant }))?;
            } else if let Some(password) = shown {
                output.line(password)?;
                output.note(format_args!("the password is shown only once; the user {}", reach(&grant)));
            } else {
                output.line(format_args!("the user {} {}", plain(name), reach(&grant)))?;
            }
        }
        UserCommand::List => {
            let access = access.read()?;
            if output.json {
                output.json(&access.users.iter().map(user_json).collect::<Vec<_>>())?;
            } else {
                for user in &access.users {
                    output.line(format_args!("{}  {}", plain(&user.name), reach(&user.grant)))?;
                }
            }
        }
        UserCommand::Remove { name } => {
            access.change(|access| access.remove_user(name)).await?;
            if output.json {
                output.json(&json!({ "removed": name }))?;
            } else {
                output.line(format_args!("removed {}", plain(name)))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Returns the store of keys and users, which is where the workspaces are.
async fn access_of(app: &App) -> anyhow::Result<AccessStore> {
    let access = AccessStore::of(workspaces(&app.config)?.shared_texts(), &app.config.data_dir);
    access.refresh().await?;
    Ok(access)
}

/// Returns the first line of standard input.
fn given() -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin().lock().take(MAX_INPUT).read_to_string(&mut text).context("reading the password")?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Describes the permissions.
fn reach(grant: &Grant) -> String {
    let right = grant.right.name();
    match &grant.workspaces {
        None => format!("has {right} access to every workspace"),
        Some(only) => {
            let names: Vec<&str> = only.iter().map(graphloom_core::WorkspaceId::as_str).collect();
            format!("has {right} access to {}", names.join(", "))
        }
    }
}

fn key_json(key: &KeyRecord) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "grant": key.grant,
        "created_at": key.created_at,
        "revoked_at": key.revoked_at,
    })
}

fn user_json(user: &UserRecord) -> Value {
    json!({ "name": user.name, "grant": user.grant, "created_at": user.created_at })
}
