//! `graphloom cache`: cached LLM answers, vectors of questions, and texts of layers.

use anyhow::Context;
use graphloom_core::{Batch, CacheKind, CacheSize};
use serde::Serialize;

use super::App;
use crate::args::CacheCommand;
use crate::fault::Exit;
use crate::wire;

#[derive(Serialize)]
struct ClearOutput {
    cleared: Vec<CacheSize>,
}

/// Shows or clears the cache.
pub(crate) async fn run(app: &App, command: &CacheCommand) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let sizes = store.snapshot().await?.cache_sizes().await?;
    match command {
        CacheCommand::Show => {
            if app.output.json {
                app.output.json(&sizes)?;
            } else {
                print(app, &sizes)?;
            }
        }
        CacheCommand::Clear { keywords, answers, vectors, nodes } => {
            let all = !(*keywords || *answers || *vectors || *nodes);
            let named = |kind| match kind {
                CacheKind::Keywords => *keywords,
                CacheKind::Answer => *answers,
                CacheKind::Vector => *vectors,
                CacheKind::Node => *nodes,
                CacheKind::NextVector => false,
            };
            let cleared: Vec<CacheSize> = sizes.into_iter().filter(|size| all || named(size.kind)).collect();
            let clear_caches = cleared.iter().map(|size| size.kind).collect();
            store.commit(Batch { clear_caches, ..Batch::default() }).await.context("clearing the cache")?;
            if app.output.json {
                app.output.json(&ClearOutput { cleared })?;
            } else {
                app.output.note("cleared:");
                print(app, &cleared)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn print(app: &App, sizes: &[CacheSize]) -> anyhow::Result<()> {
    for CacheSize { kind, entries, bytes } in sizes {
        app.output.line(format_args!("{:<11} {entries:>6} entries {bytes:>10} bytes", kind.name()))?;
    }
    Ok(())
}
