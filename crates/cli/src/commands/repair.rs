//! `graphloom repair`: repairs a workspace with damaged files or missing commits.

use std::path::PathBuf;

use graphloom::stores::workspaces;
use graphloom_core::{Finding, Loss, RepairReport, Repairs, StoreError};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{App, check, work};
use crate::args::RepairArgs;
use crate::fault::{Exit, Fault, of_store};
use crate::output::render::{count, one_line, plain};
use crate::{remedies, wire};

/// Maximum findings printed; `graphloom check` lists all.
const MOST_PRINTED: usize = 20;

#[derive(Serialize)]
struct RepairOutput {
    event: &'static str,
    /// Missing commits, if any.
    lost: Option<LossRow>,
    /// Copies of the files from before the repair.
    copies: Vec<PathBuf>,
    /// Damage found in the files.
    findings: Vec<Finding>,
    /// What was repaired; `None` if nothing was damaged.
    #[serde(serialize_with = "with_remedies")]
    mended: Option<RepairReport>,
}

#[derive(Serialize)]
struct LossRow {
    /// The last revision in the store.
    revision: u64,
    /// The last revision that was committed.
    committed: u64,
}

/// Repairs the workspace; exits with 3 if something stays lost.
pub(crate) async fn run(app: &App, args: &RepairArgs) -> anyhow::Result<Exit> {
    let workspaces = workspaces(&app.config)?;
    let Some(repairs) = workspaces.repairs() else {
        let fault = Fault::usage("`repair` works on workspace files, but `store` names a database");
        return Err(fault.help("restore a backup of the database").into());
    };
    wire::require_workspace(&app.config).await?;
    let workspace = &app.config.workspace;
    let (lost, mut copies) = accept_loss(app, args, repairs).await?;
    // If no file is left, the next `add` creates the workspace.
    let findings = match workspaces.exists(workspace).await? {
        true => findings(app).await?,
        false => Vec::new(),
    };
    let is_rebuilt = |finding: &Finding| finding.kind == "projection";
    let mended = if findings.is_empty() {
        None
    } else if findings.iter().all(is_rebuilt) {
        repairs.forget_indexes(workspace).await?;
        Some(RepairReport::default())
    } else {
        app.output.note(format_args!("{}; copying intact data", count(findings.len() as u64, "finding")));
        if copies.is_empty() {
            copies = repairs.keep_copy(workspace).await?;
        }
        let mended = repairs.mend(workspace).await.map_err(|error| match error {
            StoreError::Corrupt { .. } => anyhow::Error::from(
                Fault::failed(error.to_string()).help("too much is damaged: restore a backup"),
            ),
            other => other.into(),
        });
        Some(mended?)
    };
    let is_lost = lost.is_some() || mended.as_ref().is_some_and(|mended| !mended.lost.is_empty());
    let is_whole = mended.is_none();
    let repaired = RepairOutput { event: "repaired", lost, copies, findings, mended };
    match app.output.json {
        true => app.output.json(&repaired)?,
        false => print(app, &repaired)?,
    }
    if is_whole {
        return Ok(if is_lost { Exit::Partly } else { Exit::Done });
    }
    // Derives missing views and asks again for missing extractions.
    let worked = work::run(app, &args.work).await?;
    let left = check::findings(app).await?;
    if !left.is_empty() {
        let first = left
            .first()
            .map_or_else(String::new, |finding| format!("{} {}: {}", finding.kind, finding.id, finding.what));
        let message =
            format!("{} remain after the repair, first {first}", count(left.len() as u64, "finding"));
        return Err(Fault::failed(message).help("run `graphloom repair` again, or restore a backup").into());
    }
    Ok(if is_lost { Exit::Partly } else { worked })
}

/// Accepts missing commits. Returns the loss and the copies of the files.
async fn accept_loss(
    app: &App,
    args: &RepairArgs,
    repairs: &dyn Repairs,
) -> anyhow::Result<(Option<LossRow>, Vec<PathBuf>)> {
    let workspace = &app.config.workspace;
    let Loss { found, committed } = match repairs.loss(workspace).await {
        Ok(Some(loss)) => loss,
        // `findings` reports a file that cannot be read.
        Ok(None) | Err(StoreError::Corrupt { .. }) => return Ok((None, Vec::new())),
        Err(error) => return Err(error.into()),
    };
    if !args.accept_loss {
        let message = format!(
            "workspace {workspace} ends at revision {found}, but revision {committed} was committed: {} commits are missing",
            committed.0 - found.0
        );
        let help = "restore the file and its write-ahead log (-wal), or a newer backup; or use --accept-loss to continue with the \
                    workspace as it is, and add again what was added since";
        return Err(Fault::failed(message).help(help).into());
    }
    let copies = repairs.keep_copy(workspace).await?;
    repairs.accept_loss(workspace).await?;
    Ok((Some(LossRow { revision: found.0, committed: committed.0 }), copies))
}

/// Returns the findings about the workspace; a file that cannot be opened counts as one.
async fn findings(app: &App) -> anyhow::Result<Vec<Finding>> {
    match check::findings(app).await {
        Err(error) => {
            let damage = match of_store(&error) {
                Some(StoreError::Corrupt { path, what }) => {
                    Some(Finding { kind: "file", id: path.clone(), what: what.clone() })
                }
                _ => None,
            };
            damage.map(|finding| vec![finding]).ok_or(error)
        }
        found => found,
    }
}

/// Serializes what was repaired, with a remedy for each loss.
fn with_remedies<S: Serializer>(mended: &Option<RepairReport>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut shown = serde_json::json!(mended);
    let lost = mended.iter().flat_map(|mended| &mended.lost);
    for (shown, lost) in shown.get_mut("lost").and_then(Value::as_array_mut).into_iter().flatten().zip(lost) {
        shown["remedy"] = remedies::of_lost(lost).into();
    }
    shown.serialize(serializer)
}

fn print(app: &App, repaired: &RepairOutput) -> anyhow::Result<()> {
    let workspace = &app.config.workspace;
    for finding in repaired.findings.iter().take(MOST_PRINTED) {
        app.output.line(format_args!(
            "{} {}: {}",
            finding.kind,
            plain(&finding.id),
            one_line(&finding.what, 500)
        ))?;
    }
    if repaired.findings.len() > MOST_PRINTED {
        app.output.line(format_args!("and {} more", repaired.findings.len() - MOST_PRINTED))?;
    }
    for copy in &repaired.copies {
        app.output.line(format_args!("copy kept: {}", copy.display()))?;
    }
    if let Some(LossRow { revision, committed }) = &repaired.lost {
        app.output.line(format_args!(
            "workspace {workspace} continues from revision {revision}; the {} commits up to {committed} are lost: add again \
             what was added or changed since",
            committed - revision
        ))?;
    }
    let Some(mended) = &repaired.mended else {
        if repaired.lost.is_none() {
            app.output.line("nothing is damaged or lost")?;
        }
        return Ok(());
    };
    for lost in &mended.lost {
        let id = plain(&lost.id);
        app.output.line(format_args!(
            "lost {} {}: {}; {}",
            lost.kind.name(),
            one_line(&id, 200),
            lost.what,
            remedies::of_lost(lost)
        ))?;
    }
    app.output.line(format_args!(
        "{} to derive again, {} to index, {} to extract again; evidence lost: {}",
        count(mended.views_to_derive, "view"),
        count(mended.documents_to_work_on, "document"),
        count(mended.chunks_to_ask_again, "chunk"),
        mended.lost.len(),
    ))?;
    Ok(())
}
