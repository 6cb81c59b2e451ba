//! Computes stale views again: entities with many mentions, and descriptions that need a summary.

use graphloom_core::{GraphKey, ModelError, Progress, ProgressSink, StoreError, table};

use super::IndexError;
use super::work::needs_a_person;
use crate::commit::GraphChanges;
use crate::graph::{Derivation, GraphChange, Summaries};
use crate::{Engine, chain};

/// How often a group is derived if other processes change the graph so often that its summaries are skipped in the end.
const MAX_ROUNDS: u32 = 5;
/// How often a run checks for views that became stale while it settled others.
const MAX_LOOKS: u32 = 100;
/// Why a description stays stale after [`MAX_ROUNDS`].
const OVERTAKEN: &str = "other processes kept changing the graph";

/// What remains after [`settle`].
#[derive(Debug, Default)]
pub(super) struct SettleOutcome {
    /// Entities and relations that stay stale.
    pub(super) unfinished: u32,
    /// The first reason.
    pub(super) reason: Option<String>,
    /// The amount spent when a call exceeded the budget.
    pub(super) over_budget: Option<String>,
    /// Whether the queue was paused.
    pub(super) paused: bool,
}

/// Computes all stale views again, in small groups with one commit each, so that a crash loses only the summaries in progress.
/// If the model fails, its views stay stale until the next run. If a whole group fails, the remaining groups are not tried.
///
/// Only one process settles at a time, since two would pay for the same summaries. It checks again for stale views after it has
/// released its turn, so other processes can leave what they make stale meanwhile to it.
pub(super) async fn settle(engine: &Engine, progress: ProgressSink<'_>) -> Result<SettleOutcome, IndexError> {
    let mut settled = SettleOutcome::default();
    for _ in 0..MAX_LOOKS {
        if stale(engine).await?.is_empty() {
            break;
        }
        let Some(turn) = engine.store.summaries_turn().await? else { break };
        // Another process may have settled them before it released the turn.
        let left = stale(engine).await?;
        let is_complete = settle_all(engine, &left, &mut settled, progress).await?;
        drop(turn);
        if !is_complete {
            break;
        }
    }
    Ok(settled)
}

/// Computes these views again. True if none of them stays stale.
async fn settle_all(
    engine: &Engine,
    stale: &[GraphKey],
    settled: &mut SettleOutcome,
    progress: ProgressSink<'_>,
) -> Result<bool, IndexError> {
    let total = stale.len() as u32;
    let (mut tried, before) = (0, settled.unfinished);
    for group in stale.chunks(engine.index.max_concurrent_calls.max(1)) {
        if engine.index.stop.is_made() {
            settled.unfinished += total - tried;
            settled.reason.get_or_insert_with(|| "the run was asked to end".to_owned());
            return Ok(false);
        }
        if engine.store.snapshot().await?.queue().await?.is_paused() {
            settled.paused = true;
            settled.unfinished += total - tried;
            settled.reason.get_or_insert_with(|| "the workspace is paused".to_owned());
            return Ok(false);
        }
        let (unfinished, failure) = settle_group(engine, group).await?;
        if let Some(error) = failure {
            settled.reason.get_or_insert_with(|| chain(&error));
            if let ModelError::OverBudget { what, .. } = &error {
                settled.over_budget.get_or_insert_with(|| what.clone());
            }
            if needs_a_person(&error) {
                return Err(error.into());
            }
        }
        if unfinished > 0 {
            settled.reason.get_or_insert_with(|| OVERTAKEN.to_owned());
        }
        tried += group.len() as u32;
        settled.unfinished += unfinished;
        progress(Progress::Settled { done: tried - (settled.unfinished - before), total });
        if unfinished as usize == group.len() {
            settled.unfinished += total - tried;
            return Ok(false);
        }
    }
    Ok(settled.unfinished == before)
}

/// Returns everything marked stale.
async fn stale(engine: &Engine) -> Result<Vec<GraphKey>, StoreError> {
    let snapshot = engine.store.snapshot().await?;
    snapshot.pages(table::Stale).all().await
}

/// Computes a group again. Returns how many of its views stay stale, and the first failure.
async fn settle_group(engine: &Engine, group: &[GraphKey]) -> Result<(u32, Option<ModelError>), StoreError> {
    let mut round = 1;
    loop {
        let mut changes = GraphChanges::new(engine);
        let outcome = try_settle(&mut changes, group).await;
        let (unfinished, failure) = changes.end(outcome).await?;
        // Views that stay stale without a failure lost against other processes and lack summaries of what those changed.
        if unfinished == 0 || failure.is_some() || round >= MAX_ROUNDS {
            return Ok((unfinished, failure));
        }
        round += 1;
    }
}

async fn try_settle(
    changes: &mut GraphChanges<'_>,
    group: &[GraphKey],
) -> Result<(u32, Option<ModelError>), StoreError> {
    let change = GraphChange { stale: group.to_vec(), ..GraphChange::default() };
    loop {
        let snapshot = changes.snapshot().await?;
        let (Derivation { mut batch, unfinished, failure }, texts) =
            changes.derive(snapshot.as_ref(), &change, Summaries::Now).await?;
        let derived_from = snapshot.graph_revision();
        drop(snapshot);
        if let Err(error) = changes.embed(texts, None, &mut batch).await {
            return Ok((group.len() as u32, Some(error)));
        }
        if changes.commit(derived_from, batch).await? {
            return Ok((unfinished, failure));
        }
    }
}
