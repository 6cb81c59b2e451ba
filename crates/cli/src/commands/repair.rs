//! `graphloom repair`: takes a store that lost commits as it is, after a copy.

use std::path::PathBuf;

use graphloom_storage::sqlite::repair::{self, Loss};
use serde::Serialize;

use super::App;
use crate::args::RepairArgs;
use crate::fault::{Exit, Fault};
use crate::wire;

#[derive(Serialize)]
struct Repaired {
    /// What was committed and is no longer there; nothing where all of it is.
    lost: Option<Lost>,
    /// The files as they were before.
    copies: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Lost {
    /// Where the store ends.
    revision: u64,
    /// The last revision that was committed.
    committed: u64,
}

/// Repairs the workspace; exits with 3 where something stays lost.
pub(crate) async fn run(app: &App, args: &RepairArgs) -> anyhow::Result<Exit> {
    wire::require_workspace(&app.config)?;
    let (folder, workspace) = (&app.config.data_dir, &app.config.workspace);
    let lost = repair::loss(folder, workspace)?;
    let mut copies = Vec::new();
    if let Some(Loss { found, committed }) = &lost {
        if !args.accept_loss {
            let message = format!(
                "workspace {workspace} ends at revision {found}, but revision {committed} was committed: {} commits are \
                 missing",
                committed.0 - found.0
            );
            let help = "put back the file and its write-ahead log (-wal), or a newer backup; with --accept-loss the \
                        workspace is kept as it is, and what was added since must be added again";
            return Err(Fault::failed(message).help(help).into());
        }
        copies = repair::keep_copy(folder, workspace)?;
        repair::accept_loss(folder, workspace)?;
    }
    let exit = if lost.is_some() { Exit::Partly } else { Exit::Done };
    let lost = lost.map(|Loss { found, committed }| Lost { revision: found.0, committed: committed.0 });
    if app.output.json {
        app.output.json(&Repaired { lost, copies })?;
        return Ok(exit);
    }
    for copy in &copies {
        app.output.line(format_args!("kept {}", copy.display()))?;
    }
    match &lost {
        Some(Lost { revision, committed }) => app.output.line(format_args!(
            "workspace {workspace} goes on from revision {revision}; lost are the {} commits up to {committed}: add again \
             what was added or changed since",
            committed - revision
        ))?,
        None => app.output.line("nothing is lost")?,
    }
    Ok(exit)
}
