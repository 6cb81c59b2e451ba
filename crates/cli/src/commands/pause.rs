//! `graphloom pause` and `graphloom resume`: whether a workspace is worked on.

use graphloom_core::QueueState;
use graphloom_engine::index;
use serde::Serialize;

use super::App;
use crate::fault::Exit;
use crate::wire;

#[derive(Serialize)]
struct Changed {
    #[serde(flatten)]
    queue: QueueState,
    /// Documents that wait or are worked on.
    waiting: usize,
}

/// Pauses all work on the workspace.
pub(crate) async fn pause(app: &App) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config)?;
    let queue = index::pause(store.as_ref(), wire::now()).await?;
    let waiting = index::queued(store.snapshot().await?.as_ref()).await?.len();
    if app.output.json {
        app.output.json(&Changed { queue, waiting })?;
    } else {
        app.output.line("paused: no model is asked for documents any more")?;
        app.output
            .note("processes at work store what is in flight and end; `graphloom resume` lets work go on");
    }
    Ok(Exit::Done)
}

/// Lets work go on.
pub(crate) async fn resume(app: &App) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config)?;
    let before = index::resume(store.as_ref()).await?;
    let waiting = index::queued(store.snapshot().await?.as_ref()).await?.len();
    if app.output.json {
        app.output.json(&Changed { queue: QueueState::Running, waiting })?;
        return Ok(Exit::Done);
    }
    app.output.line(if before.is_paused() { "resumed" } else { "it was not paused" })?;
    if waiting > 0 {
        app.output.note("`graphloom work` works on what waits");
    }
    Ok(Exit::Done)
}
