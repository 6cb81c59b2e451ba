//! `graphloom config show`: every key with its value and origin.

use std::borrow::Cow;

use graphloom::config::Service;
use graphloom_providers::without_credentials;
use serde::Serialize;

use super::App;
use crate::args::ConfigCommand;
use crate::fault::Exit;
use graphloom::config::keys::{KEYS, Key};

#[derive(Serialize)]
struct SettingRow<'a> {
    key: Cow<'a, str>,
    value: Option<Cow<'a, str>>,
    origin: Option<String>,
    /// Environment variable of the key; `None` if only files can set it.
    variable: Option<String>,
    about: &'a str,
}

/// Prints the configuration.
pub(crate) fn run(app: &App, command: &ConfigCommand) -> anyhow::Result<Exit> {
    let ConfigCommand::Show { origin: with_origin } = command;
    let shown = KEYS.iter().map(|key| {
        let setting = app.settings.get(key.name);
        SettingRow {
            key: Cow::Borrowed(key.name),
            value: setting.map(|setting| shown_value(key, &setting.value)),
            origin: setting.map(|setting| setting.origin.to_string()),
            variable: Some(key.variable()),
            about: key.about,
        }
    });
    let stores = app.settings.stores().map(|(workspace, setting)| SettingRow {
        key: Cow::Owned(format!("stores.{workspace}")),
        value: Some(Cow::Owned(without_credentials(&setting.value))),
        origin: Some(setting.origin.to_string()),
        variable: None,
        about: "database of this workspace",
    });
    let shown = shown.chain(stores);
    if app.output.json {
        app.output.json(&shown.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for key in shown {
        let value = key.value.as_deref().unwrap_or("(unset)");
        let line = match &key.origin {
            Some(origin) if *with_origin => {
                format!("{:<25} {value:<28} {}", key.key, app.output.faint(origin))
            }
            _ => format!("{:<25} {value:<28} {}", key.key, app.output.faint(key.about)),
        };
        app.output.line(line.trim_end())?;
    }
    Ok(Exit::Done)
}

/// Returns the value with secrets masked. A URL may contain a password before the host or a key in the query.
fn shown_value<'a>(key: &Key, value: &'a str) -> Cow<'a, str> {
    if key.secret {
        return Cow::Borrowed("(set, not shown)");
    }
    match Service::ALL.iter().any(|service| service.address_key() == key.name) {
        true => Cow::Owned(without_credentials(value)),
        false => Cow::Borrowed(value),
    }
}
