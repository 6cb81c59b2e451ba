//! `graphloom workspace`: lists, deletes and moves workspaces.

use std::time::{Duration, Instant};

use graphloom::stores::{self, place_of, workspaces, workspaces_at};
use graphloom_core::{Patience, QueueState, Store, WorkspaceId, Workspaces};
use graphloom_engine::copy::{CopyError, CopyReport};
use graphloom_engine::index;
use serde::Serialize;
use serde_json::json;

use super::App;
use super::copying::{copy_one, copy_opened, index_copy};
use super::unreadable::Unreadable;
use crate::args::WorkspaceCommand;
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::render::{count, plain};
use crate::wire;

/// How long a move waits for workers to stop.
const MAX_WAIT: Duration = Duration::from_secs(300);
/// How often a move checks whether they stopped.
const LOOK: Duration = Duration::from_millis(200);

/// Runs the command.
pub(crate) async fn run(app: &App, command: &WorkspaceCommand) -> anyhow::Result<Exit> {
    match command {
        WorkspaceCommand::List => list(app).await,
        WorkspaceCommand::Delete { name, yes } => delete(app, name, *yes).await,
        WorkspaceCommand::Move { name, to } => {
            let interrupt = Interrupt::listen()?;
            let (from, to) = (place_of(&app.config, name)?, workspaces_at(&app.config, to)?);
            move_one(app, name, from.as_ref(), to.as_ref(), &interrupt).await
        }
    }
}

/// A workspace of the list.
#[derive(Serialize)]
struct ListedWorkspace {
    workspace: WorkspaceId,
    #[serde(flatten)]
    content: WorkspaceContent,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WorkspaceContent {
    Read {
        documents: u64,
        chunks: u64,
        queued: usize,
        paused: bool,
        /// `None` in a database.
        bytes: Option<u64>,
    },
    Unreadable(Unreadable),
}

/// Lists all workspaces; exits with 3 if some cannot be read.
async fn list(app: &App) -> anyhow::Result<Exit> {
    let mut listed = Vec::new();
    for workspace in stores::list(&app.config).await? {
        let content = content(app, &workspace)
            .await
            .unwrap_or_else(|error| WorkspaceContent::Unreadable(Unreadable::new(app, &workspace, &error)));
        listed.push(ListedWorkspace { workspace, content });
    }
    if app.output.json {
        app.output.json(&listed)?;
    } else {
        print_list(app, &listed)?;
    }
    let unreadable = |listed: &ListedWorkspace| matches!(listed.content, WorkspaceContent::Unreadable(_));
    Ok(if listed.iter().any(unreadable) { Exit::Partly } else { Exit::Done })
}

async fn content(app: &App, workspace: &WorkspaceId) -> anyhow::Result<WorkspaceContent> {
    let store = place_of(&app.config, workspace)?.open(workspace, Patience::Endless).await?;
    let snapshot = store.snapshot().await?;
    let counts = snapshot.counts().await?;
    Ok(WorkspaceContent::Read {
        documents: counts.documents,
        chunks: counts.chunks,
        queued: index::queued(snapshot.as_ref()).await?.len(),
        paused: snapshot.queue().await?.is_paused(),
        bytes: store.size().map(|size| size.data + size.log),
    })
}

fn print_list(app: &App, listed: &[ListedWorkspace]) -> anyhow::Result<()> {
    for ListedWorkspace { workspace, content } in listed {
        match content {
            WorkspaceContent::Read { documents, queued, paused, bytes, .. } => {
                let mut line = format!("{workspace}: {}", count(*documents, "document"));
                if *queued > 0 {
                    line.push_str(&format!(", {queued} of them queued"));
                }
                if *paused {
                    line.push_str(", paused");
                }
                if let Some(bytes) = bytes {
                    line.push_str(&format!(", {:.1} MiB", *bytes as f64 / f64::from(1 << 20)));
                }
                app.output.line(line)?;
            }
            WorkspaceContent::Unreadable(unreadable) => {
                app.output.line(format_args!("{workspace}: cannot be read: {}", plain(&unreadable.error)))?;
                unreadable.print_help();
            }
        }
    }
    if listed.is_empty() {
        app.output.note(format_args!("no workspaces in {}", workspaces(&app.config)?.place()));
    }
    Ok(())
}

async fn delete(app: &App, name: &WorkspaceId, yes: bool) -> anyhow::Result<Exit> {
    let place = place_of(&app.config, name)?;
    require(place.as_ref(), name).await?;
    if !yes {
        let store = place.open(name, Patience::Endless).await?;
        let documents = store.snapshot().await?.counts().await?.documents;
        let what = format!("this deletes {name} in {} with {}", place.place(), count(documents, "document"));
        return Err(Fault::usage(what)
            .help("add --yes to delete it; `graphloom backup` keeps a copy")
            .into());
    }
    place.delete(name).await?;
    if app.output.json {
        app.output.json(&json!({ "deleted": name, "place": place.place() }))?;
    } else {
        app.output.line(format_args!("deleted {name} in {}", place.place()))?;
    }
    Ok(Exit::Done)
}

async fn require(place: &dyn Workspaces, name: &WorkspaceId) -> anyhow::Result<()> {
    if !place.exists(name).await? {
        let missing = graphloom::Error::NoWorkspace { workspace: name.clone(), place: place.place() };
        return Err(missing.into());
    }
    Ok(())
}

/// Copies the workspace while it is in use, stops the workers, copies what changed meanwhile, and deletes the original once
/// no process can commit and the copy is equal.
async fn move_one(
    app: &App,
    name: &WorkspaceId,
    from: &dyn Workspaces,
    to: &dyn Workspaces,
    interrupt: &Interrupt,
) -> anyhow::Result<Exit> {
    require(from, name).await?;
    if from.place() == to.place() {
        return Err(Fault::usage(format!("{name} is already in {}", to.place())).into());
    }
    tokio::select! {
        copied = copy_one(app, name, from, to) => copied.map(drop)?,
        () = interrupt.wait() => {
            app.output.note("stopped; run the same command to continue");
            return Ok(Exit::Interrupted);
        }
    }
    let source = from.open(name, Patience::Endless).await?;
    let before = source.snapshot().await?.queue().await?;
    index::pause(source.as_ref(), wire::now()).await?;
    let moved = async {
        wait_for_workers(source.as_ref(), from).await?;
        move_rest(app, name, from, to).await
    };
    let moved = tokio::select! {
        moved = moved => moved,
        () = interrupt.wait() => Err(Fault::usage("stopped; the workspace stays where it was").into()),
    };
    let report = match moved {
        Ok(report) => report,
        Err(error) => {
            if before == QueueState::Running {
                index::resume(source.as_ref()).await?;
            }
            return Err(error);
        }
    };
    if before == QueueState::Running {
        index::resume(to.open(name, Patience::Endless).await?.as_ref()).await?;
    }
    if app.output.json {
        let (hash, documents) = (&report.hash, report.documents);
        app.output.json(&json!({
            "moved": name, "from": from.place(), "to": to.place(), "hash": hash, "documents": documents,
        }))?;
    } else {
        app.output.line(format_args!(
            "{name}: {} moved to {}; the hash is {}",
            count(report.documents, "document"),
            to.place(),
            report.hash
        ))?;
    }
    Ok(Exit::Done)
}

/// Waits until no running worker holds a document.
async fn wait_for_workers(source: &dyn Store, from: &dyn Workspaces) -> anyhow::Result<()> {
    let until = Instant::now() + MAX_WAIT;
    loop {
        let leased = source.snapshot().await?.leased_jobs().await?;
        let holder = leased
            .into_iter()
            .filter_map(|job| job.lease)
            .find(|lease| !from.workers().is_gone(&lease.owner));
        let Some(holder) = holder else { return Ok(()) };
        if Instant::now() > until {
            let fault =
                Fault::usage(format!("worker {} still holds documents of the workspace", holder.owner));
            return Err(fault.help("run the command again once it has stopped").into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Copies what changed meanwhile, blocks commits, copies the rest, and deletes the original.
async fn move_rest(
    app: &App,
    name: &WorkspaceId,
    from: &dyn Workspaces,
    to: &dyn Workspaces,
) -> anyhow::Result<CopyReport> {
    // The first copy took long, so the second may still be large. After it, little is left to copy while commits are blocked.
    copy_again(app, name, from, to).await?;
    let source = from.open(name, Patience::Endless).await?;
    let held = from.hold(name).await?;
    let target = to.open(name, Patience::Endless).await?;
    let report = match copy_opened(app, name, source.as_ref(), target.as_ref()).await {
        Err(error) if is_outdated(&error) => {
            to.delete(name).await?;
            let target = to.open(name, Patience::Endless).await?;
            copy_opened(app, name, source.as_ref(), target.as_ref()).await?
        }
        copied => copied?,
    };
    held.delete().await?;
    index_copy(name, to).await;
    Ok(report)
}

/// Brings the copy up to date. If documents were removed from the original since then, deletes the copy and copies again.
async fn copy_again(
    app: &App,
    name: &WorkspaceId,
    from: &dyn Workspaces,
    to: &dyn Workspaces,
) -> anyhow::Result<()> {
    match copy_one(app, name, from, to).await {
        Err(error) if is_outdated(&error) => {
            to.delete(name).await?;
            copy_one(app, name, from, to).await.map(drop)
        }
        copied => copied.map(drop),
    }
}

fn is_outdated(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(CopyError::Other { .. }))
}
