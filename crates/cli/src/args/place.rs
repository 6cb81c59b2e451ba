//! The options that select a workspace, repeated in suggested commands.

use std::fmt;

use graphloom_core::WorkspaceId;

use super::Global;
use crate::output::render::plain;

/// The options for data folder, database and workspace that were typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlaceOptions {
    data_dir: Option<String>,
    store: Option<String>,
    workspace: Option<String>,
}

impl PlaceOptions {
    pub(crate) fn of(global: &Global) -> Self {
        Self {
            data_dir: global.data_dir.as_ref().map(|folder| folder.display().to_string()),
            store: global.store.clone(),
            workspace: global.workspace.clone(),
        }
    }

    /// Returns the options that select this workspace in the same place.
    pub(crate) fn with_workspace(&self, workspace: &WorkspaceId) -> Self {
        Self { workspace: Some(workspace.to_string()), ..self.clone() }
    }

    /// Adds the options to the commands of a hint, which are written as `` `graphloom …` ``.
    pub(crate) fn in_hint(&self, hint: &str) -> String {
        hint.replace("`graphloom ", &format!("`graphloom{self} "))
    }
}

/// Writes each option preceded by a space. An address with a password is written as `URL`.
impl fmt::Display for PlaceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.store.as_deref().map(|store| if has_password(store) { "URL" } else { store });
        for (option, value) in [
            ("--data-dir", self.data_dir.as_deref()),
            ("--store", store),
            ("--workspace", self.workspace.as_deref()),
        ] {
            if let Some(value) = value {
                write!(f, " {option} {}", shell_word(&plain(value)))?;
            }
        }
        Ok(())
    }
}

fn has_password(address: &str) -> bool {
    let user = address.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    user.is_some_and(|(user, _)| user.contains(':')) || address.contains("password=")
}

/// Quotes a word for a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_repeat_the_options_that_select_the_workspace_but_no_password() {
        let hint = "`graphloom check` lists the damage, `graphloom repair` repairs it";
        assert_eq!(PlaceOptions::default().in_hint(hint), hint);
        let options = |store: &str| PlaceOptions {
            data_dir: Some("my data".to_owned()),
            store: Some(store.to_owned()),
            workspace: None,
        };
        let typed =
            options("postgres://host/lab").with_workspace(&WorkspaceId::new("notes").expect("a name"));
        assert_eq!(
            typed.in_hint("`graphloom check`"),
            "`graphloom check`"
                .replace(' ', " --data-dir 'my data' --store postgres://host/lab --workspace notes ")
        );
        let secret = options("postgres://ada:secret@host/lab");
        assert_eq!(secret.to_string(), " --data-dir 'my data' --store URL");
    }
}
