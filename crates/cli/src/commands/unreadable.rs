//! A workspace that cannot be read, for commands that go on with the others.

use graphloom_core::WorkspaceId;
use serde::Serialize;

use super::App;
use crate::fault;
use crate::output::tell;

/// Why a workspace cannot be read.
#[derive(Debug, Serialize)]
pub(crate) struct Unreadable {
    pub(crate) error: String,
    /// What the user can do about it, with commands that select this workspace.
    pub(crate) help: Option<String>,
}

impl Unreadable {
    pub(crate) fn new(app: &App, workspace: &WorkspaceId, error: &anyhow::Error) -> Self {
        let place = app.output.place.with_workspace(workspace);
        let help = fault::remedy(error).map(|help| place.in_hint(&help));
        Self { error: format!("{error:#}"), help }
    }

    /// Prints what the user can do about it to stderr.
    pub(crate) fn print_help(&self) {
        if let Some(help) = &self.help {
            tell(format_args!("help: {help}"));
        }
    }
}
