//! `graphloom pause` and `graphloom resume`: stop and continue indexing a workspace.

use graphloom_core::QueueState;
use graphloom_engine::index;
use serde::Serialize;

use super::App;
use crate::fault::Exit;
use crate::wire;

#[derive(Serialize)]
struct PauseOutput {
    #[serde(flatten)]
    queue: QueueState,
    /// Number of documents that are waiting or being indexed.
    waiting: usize,
}

/// Pauses indexing.
pub(crate) async fn pause(app: &App) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let queue = index::pause(store.as_ref(), wire::now()).await?;
    let waiting = index::queued(store.snapshot().await?.as_ref()).await?.len();
    if app.output.json {
        app.output.json(&PauseOutput { queue, waiting })?;
    } else {
        app.output.line("paused: indexing makes no more model calls")?;
        app.output
            .note("running processes store results in flight and stop; `graphloom resume` resumes indexing");
    }
    Ok(Exit::Done)
}

/// Resumes indexing.
pub(crate) async fn resume(app: &App) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let before = index::resume(store.as_ref()).await?;
    let waiting = index::queued(store.snapshot().await?.as_ref()).await?.len();
    if app.output.json {
        app.output.json(&PauseOutput { queue: QueueState::Running, waiting })?;
        return Ok(Exit::Done);
    }
    app.output.line(if before.is_paused() { "resumed" } else { "the workspace was not paused" })?;
    if waiting > 0 {
        app.output.note("`graphloom work` indexes the queued documents");
    }
    Ok(Exit::Done)
}
