//! Derives stale views again: entities with many mentions, and descriptions that need a summary.

use graphloom_core::{GraphKey, ModelError, Progress, ProgressSink, StoreError, table};

use super::IndexError;
use super::work::needs_a_person;
use crate::commit::GraphChanges;
use crate::graph::{Derivation, GraphChange, Summaries};
use crate::{Engine, chain};

/// Times a group is derived in all where other processes change the graph so often that no summary is asked for in the end.
const MAX_ROUNDS: u32 = 5;
/// Times that a run looks for what became stale while it settled.
const MAX_LOOKS: u32 = 100;
/// Why a description stays stale where that was too few.
const OVERTAKEN: &str = "other processes kept changing the graph";

/// What is left after [`settle`].
#[derive(Debug, Default)]
pub(super) struct SettleOutcome {
    /// Entities and relations that stay stale.
    pub(super) unfinished: u32,
    /// Why, of the first.
    pub(super) reason: Option<String>,
    /// What was spent when a call did not fit the budget.
    pub(super) over_budget: Option<String>,
    /// Whether the queue was paused.
    pub(super) paused: bool,
}

/// Derives everything stale again, a few at a time: each group is one commit, so a crash loses no more summaries than
/// were being made. What a failing model leaves stays stale for the next run; where nothing of a group gets done, the
/// rest is not tried either.
///
/// One process at a time does so, since two would pay for the same summaries. What becomes stale meanwhile is left to the one that
/// is at it, which looks again after it has given its turn back.
pub(super) async fn settle(engine: &Engine, progress: ProgressSink<'_>) -> Result<SettleOutcome, IndexError> {
    let mut settled = SettleOutcome::default();
    for _ in 0..MAX_LOOKS {
        if stale(engine).await?.is_empty() {
            break;
        }
        let Some(turn) = engine.store.summaries_turn().await? else { break };
        // Another may have done it before it gave the turn back.
        let left = stale(engine).await?;
        let is_complete = settle_all(engine, &left, &mut settled, progress).await?;
        drop(turn);
        if !is_complete {
            break;
        }
    }
    Ok(settled)
}

/// Derives these again; returns whether all of them are.
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

/// Everything marked stale.
async fn stale(engine: &Engine) -> Result<Vec<GraphKey>, StoreError> {
    let snapshot = engine.store.snapshot().await?;
    snapshot.pages(table::Stale).all().await
}

/// Derives these again; how many stay stale, and the first failure.
async fn settle_group(engine: &Engine, group: &[GraphKey]) -> Result<(u32, Option<ModelError>), StoreError> {
    let mut round = 1;
    loop {
        let mut changes = GraphChanges::new(engine);
        let outcome = try_settle(&mut changes, group).await;
        let (unfinished, failure) = changes.end(outcome).await?;
        // What is unfinished though no model failed was overtaken by others, and lacks summaries of what they changed.
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
