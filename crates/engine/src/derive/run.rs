//! Runs a deriver: takes the lease of the layer, removes nodes that are not planned, and writes the others step by step.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use graphloom_core::{
    Batch, Call, ContentHash, ItemKey, Layer, LayerName, LayerNode, Lease, ModelError, NodeKey, Progress,
    ProgressSink, Require, Revision, Snapshot, StoreError, Timestamp, table,
};
use serde_json::{Map, Value, json};

use super::plan::{LayerPlan, member_nodes};
use super::{Deriver, FAILED, NodeOutcome};
use crate::Engine;
use crate::chain::chain;
use crate::graph::embed;
use crate::index::needs_a_person;

/// Number of nodes that share a snapshot and, if they need no call, a commit; bounds the size of commits and memory.
const STEP_NODES: usize = 64;
/// Number of nodes removed per commit.
const REMOVED_NODES: usize = 1000;
/// Maximum number of times a layer is planned again because the graph changed while it was derived.
const MAX_ROUNDS: u32 = 8;

/// The result of running a deriver.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DeriveReport {
    /// The layer.
    pub layer: LayerName,
    /// Number of nodes in the layer.
    pub nodes: u64,
    /// Number of nodes whose text was written.
    pub written: u64,
    /// Number of unchanged nodes.
    pub kept: u64,
    /// Number of removed nodes.
    pub removed: u64,
    /// Number of nodes without a text because a model failed on them, or on a node that they are built on.
    pub failed: u64,
    /// The first of these failures.
    pub reason: Option<String>,
    /// True if the layer is complete and the graph has not changed since.
    pub current: bool,
    /// True if the queue is paused; the next run after it is resumed continues.
    pub paused: bool,
    /// Spending at the first call that did not fit the budget.
    pub over_budget: Option<String>,
}

/// Why deriving stopped. Committed nodes stay; the next run continues from there.
#[derive(Debug, thiserror::Error)]
pub enum DeriveError {
    /// The store failed.
    #[error("deriving {layer}")]
    Store {
        /// The layer.
        layer: LayerName,
        /// The cause.
        source: StoreError,
    },
    /// The model cannot answer until a person fixes something.
    #[error("deriving {layer}")]
    Model {
        /// The layer.
        layer: LayerName,
        /// The cause.
        source: ModelError,
    },
    /// Another process is deriving the layer.
    #[error("deriving {layer}: it is being derived by {owner}")]
    Busy {
        /// The layer.
        layer: LayerName,
        /// The other worker.
        owner: String,
    },
}

/// Brings a layer up to date with the graph.
///
/// - `gone` tells whether the worker with that name has ended; if so, its lease is taken over.
/// - If the model fails on a node, the failure is recorded and the node is left to the next run, as are nodes that need its
///   text.
/// - If other processes keep changing the graph, the layer stays out of date.
/// - Dropping the future cancels the run; nothing is half-written.
pub fn derive<'a>(
    engine: &'a Engine,
    deriver: &'a dyn Deriver,
    progress: ProgressSink<'a>,
    gone: &'a (dyn Fn(&str) -> bool + Send + Sync),
) -> BoxFuture<'a, Result<DeriveReport, DeriveError>> {
    Box::pin(async move {
        let layer = deriver.layer();
        let mut run = Run {
            engine,
            deriver,
            progress,
            derived: DeriveReport {
                layer: layer.clone(),
                nodes: 0,
                written: 0,
                kept: 0,
                removed: 0,
                failed: 0,
                reason: None,
                current: false,
                paused: false,
                over_budget: None,
            },
            details: None,
        };
        for _ in 0..MAX_ROUNDS {
            match engine.index.stop.during(run.round(gone)).await {
                Ok(()) => break,
                Err(Stop::GraphChanged) => {
                    tracing::debug!(%layer, "the graph changed while a layer was derived")
                }
                Err(Stop::Busy(owner)) => return Err(DeriveError::Busy { layer, owner }),
                Err(Stop::Store(source)) => return Err(DeriveError::Store { layer, source }),
                Err(Stop::Model(source)) => return Err(DeriveError::Model { layer, source }),
            }
        }
        Ok(run.derived)
    })
}

/// Why a round ends early.
enum Stop {
    /// The graph changed; paid results are stored.
    GraphChanged,
    Busy(String),
    Store(StoreError),
    Model(ModelError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

struct Run<'a> {
    engine: &'a Engine,
    deriver: &'a dyn Deriver,
    progress: ProgressSink<'a>,
    derived: DeriveReport,
    /// The deriver's details of the layer as a whole.
    details: Option<Map<String, Value>>,
}

/// The layer as this run last wrote it. Every commit requires it, so no other process can derive it at the same time.
struct LayerHold {
    layer: Layer,
    graph: Revision,
}

impl Run<'_> {
    /// Derives the layer from the current graph.
    async fn round(&mut self, gone: &(dyn Fn(&str) -> bool + Send + Sync)) -> Result<(), Stop> {
        // A cancelled run may still have a commit under way; its lease is only visible after that commit.
        self.engine.store.commit(Batch::default()).await?;
        let snapshot = self.engine.store.snapshot().await?;
        if snapshot.queue().await?.is_paused() {
            self.derived.paused = true;
            return Ok(());
        }
        let name = self.deriver.layer();
        let settings = self.deriver.settings(self.engine);
        let stored = snapshot.layers().await?.into_iter().find(|layer| layer.name == name);
        if let Some(layer) = &stored
            && layer.settings == settings
            && layer.is_current(snapshot.graph_revision())
        {
            let nodes = snapshot.node_counts(&name).await?.into_values().sum();
            (self.derived.nodes, self.derived.kept, self.derived.current) = (nodes, nodes, true);
            return Ok(());
        }
        let mut held = self.take(snapshot.as_ref(), stored, settings, gone).await?;
        let outcome = self.build(snapshot, &mut held).await;
        if !matches!(outcome, Err(Stop::Busy(_))) {
            let complete = outcome.is_ok() && self.is_done();
            self.derived.current = self.release(held, complete).await? && complete;
        }
        outcome
    }

    /// Returns the number of nodes per step. With a model it is smaller, because a step can take minutes and a pause takes
    /// effect only between steps.
    fn step_nodes(&self) -> usize {
        match &self.engine.models.summarize {
            Some(_) => STEP_NODES.min(self.engine.index.max_concurrent_calls.max(1) * 4),
            None => STEP_NODES,
        }
    }

    fn is_done(&self) -> bool {
        self.derived.failed == 0 && self.may_go_on()
    }

    fn may_go_on(&self) -> bool {
        !self.derived.paused && self.derived.over_budget.is_none()
    }

    /// Takes the lease of the layer.
    async fn take(
        &self,
        snapshot: &dyn Snapshot,
        stored: Option<Layer>,
        settings: ContentHash,
        gone: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<LayerHold, Stop> {
        let now = self.engine.clock.now();
        let name = self.deriver.layer();
        let worker = &self.engine.index.worker;
        if let Some(lease) = stored.as_ref().and_then(|layer| layer.lease.as_ref())
            && lease.owner != *worker
            && lease.expires_at > now
            && !gone(&lease.owner)
        {
            return Err(Stop::Busy(lease.owner.clone()));
        }
        let details = stored.as_ref().map_or(serde_json::Value::Null, |layer| layer.details.clone());
        let layer = Layer {
            name: name.clone(),
            settings,
            watermark: snapshot.revision(),
            complete: false,
            lease: Some(self.lease(now)),
            details,
        };
        let require = vec![Require::LayerIs { name, layer: stored }];
        let batch = Batch { require, put_layers: vec![layer.clone()], ..Batch::default() };
        match self.engine.store.commit(batch).await {
            Ok(_) => Ok(LayerHold { layer, graph: snapshot.graph_revision() }),
            Err(error) if error.is_conflict() => Err(Stop::Busy("another process".to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    fn lease(&self, now: Timestamp) -> Lease {
        let expires_at = Timestamp(now.0 + self.engine.index.lease_ms);
        Lease { owner: self.engine.index.worker.clone(), expires_at }
    }

    /// Ends the lease; returns `false` if another process took it over.
    async fn release(&mut self, held: LayerHold, complete: bool) -> Result<bool, StoreError> {
        let before = || held.layer.details.as_object().cloned().unwrap_or_default();
        let mut details = self.details.take().unwrap_or_else(before);
        details.insert(FAILED.to_owned(), json!(self.derived.failed));
        let details = details.into();
        let layer = Layer { lease: None, complete, details, ..held.layer.clone() };
        let require = vec![Require::LayerIs { name: layer.name.clone(), layer: Some(held.layer) }];
        match self.engine.store.commit(Batch { require, put_layers: vec![layer], ..Batch::default() }).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn build(&mut self, snapshot: Box<dyn Snapshot>, held: &mut LayerHold) -> Result<(), Stop> {
        let planned = LayerPlan::new(self.deriver.plan(self.engine, snapshot.as_ref()).await?);
        let unplanned = self.unplanned(snapshot.as_ref(), &planned).await?;
        drop(snapshot);
        self.derived.removed += unplanned.len() as u64;
        for keys in unplanned.chunks(REMOVED_NODES) {
            self.commit(held, Batch { remove_nodes: keys.to_vec(), ..Batch::default() }).await?;
        }
        self.details = Some(self.deriver.details(&planned));
        (self.derived.nodes, self.derived.kept, self.derived.failed) = (planned.len() as u64, 0, 0);
        let mut done = 0;
        for nodes in planned.steps() {
            for step in nodes.chunks(self.step_nodes()) {
                let snapshot = self.engine.store.snapshot().await?;
                if snapshot.graph_revision() > held.graph {
                    return Err(Stop::GraphChanged);
                }
                self.derived.paused |=
                    snapshot.queue().await?.is_paused() || self.engine.index.stop.is_made();
                if self.derived.paused || self.derived.over_budget.is_some() {
                    return Ok(());
                }
                self.step(held, snapshot, &planned, step).await?;
                done += step.len() as u32;
                let (layer, total) = (self.derived.layer.clone(), self.derived.nodes as u32);
                (self.progress)(Progress::Derived { layer, done, total });
            }
        }
        Ok(())
    }

    /// Returns the stored nodes of the layer that are not planned.
    async fn unplanned(
        &self,
        snapshot: &dyn Snapshot,
        planned: &LayerPlan,
    ) -> Result<Vec<NodeKey>, StoreError> {
        let mut unplanned = Vec::new();
        let mut pages = snapshot.pages(table::Nodes { layer: self.derived.layer.clone(), level: None });
        while let Some(page) = pages.next().await? {
            unplanned.extend(page.into_iter().map(|node| node.key).filter(|key| !planned.holds(key)));
        }
        Ok(unplanned)
    }

    /// Writes a few nodes, none of which is built on another.
    async fn step(
        &mut self,
        held: &mut LayerHold,
        snapshot: Box<dyn Snapshot>,
        planned: &LayerPlan,
        nodes: &[&LayerNode],
    ) -> Result<(), Stop> {
        let keys: Vec<NodeKey> = nodes.iter().map(|node| node.key.clone()).collect();
        let stored = snapshot.nodes(&keys).await?;
        let (deriver, engine, reader) = (self.deriver, self.engine, snapshot.as_ref());
        // After a permanent failure no new calls start; results of running calls are still stored.
        let halted = &AtomicBool::new(false);
        let mut written = stream::iter(nodes.iter().zip(&stored))
            .map(|(node, stored)| async move {
                let written = async {
                    if halted.load(Ordering::Relaxed) {
                        return Ok(None);
                    }
                    let members: Vec<NodeKey> = member_nodes(node).cloned().collect();
                    let members = reader.nodes(&members).await?;
                    match members.into_iter().collect::<Option<Vec<LayerNode>>>() {
                        Some(parts) => deriver
                            .write(engine, reader, planned, (*node).clone(), &parts, stored.as_ref())
                            .await
                            .map(Some),
                        None => Ok(Some(NodeOutcome::Waits)),
                    }
                };
                (node.key.clone(), stored.is_some(), written.await)
            })
            .buffer_unordered(engine.index.max_concurrent_calls.max(1))
            // Boxed, because the compiler cannot see that the bare stream is `Send`.
            .boxed();
        let mut free = Vec::new();
        let mut failure = None;
        let mut stopped = None;
        while let Some((key, is_stored, outcome)) = written.next().await {
            match outcome {
                Ok(None) => {}
                Ok(Some(NodeOutcome::Kept)) => self.derived.kept += 1,
                Ok(Some(NodeOutcome::New { node, paid: None, .. })) => free.push(node),
                Ok(Some(NodeOutcome::New { node, paid: Some(paid), calls })) => {
                    let batch = Batch { append_calls: calls, put_cached: vec![paid], ..Batch::default() };
                    if let Err(stop) = self.put(held, vec![node], batch).await {
                        stopped.get_or_insert(stop);
                    }
                }
                Ok(Some(NodeOutcome::Waits)) => {
                    self.derived.failed += 1;
                    self.forget(held, is_stored.then_some(key), Vec::new(), &mut stopped).await;
                }
                Ok(Some(NodeOutcome::Failed { error, calls })) => {
                    self.forget(held, is_stored.then_some(key), calls, &mut stopped).await;
                    match error {
                        ModelError::OverBudget { what, .. } => {
                            self.derived.over_budget.get_or_insert(what);
                        }
                        ModelError::Stopped { .. } => self.derived.paused = true,
                        error if needs_a_person(&error) => {
                            failure.get_or_insert(error);
                        }
                        error => {
                            self.derived.failed += 1;
                            self.derived.reason.get_or_insert_with(|| chain(&error));
                        }
                    }
                }
                Err(error) => {
                    stopped.get_or_insert(Stop::Store(error));
                }
            }
            let halts = stopped.is_some() || failure.is_some() || !self.may_go_on();
            halted.fetch_or(halts, Ordering::Relaxed);
        }
        drop(written);
        drop(snapshot);
        if let Some(stop) = stopped {
            return Err(stop);
        }
        // In a fixed order, whichever was written first.
        free.sort_by(|one: &LayerNode, other| one.key.cmp(&other.key));
        if !free.is_empty() {
            self.put(held, free, Batch::default()).await?;
        }
        failure.map_or(Ok(()), |error| Err(Stop::Model(error)))
    }

    /// Commits nodes with their vectors. Paid results are stored even if the graph changed in the meantime.
    async fn put(
        &mut self,
        held: &mut LayerHold,
        nodes: Vec<LayerNode>,
        mut batch: Batch,
    ) -> Result<(), Stop> {
        let count = nodes.len() as u64;
        let texts = nodes.iter().map(|node| (ItemKey::Node(node.key.clone()), node.indexed_text())).collect();
        let embedded = embed(self.engine, texts, None, &mut batch).await;
        if embedded.is_ok() {
            batch.put_nodes = nodes;
        }
        let paid = (batch.append_calls.clone(), batch.put_cached.clone());
        match self.commit(held, batch).await {
            Ok(()) => {}
            Err(stop) => {
                let (append_calls, put_cached) = paid;
                self.engine.store.commit(Batch { append_calls, put_cached, ..Batch::default() }).await?;
                return Err(stop);
            }
        }
        match embedded {
            Ok(()) => self.derived.written += count,
            Err(ModelError::OverBudget { what, .. }) => {
                self.derived.over_budget.get_or_insert(what);
            }
            Err(ModelError::Stopped { .. }) => self.derived.paused = true,
            Err(error) if needs_a_person(&error) => return Err(Stop::Model(error)),
            Err(error) => {
                self.derived.failed += count;
                self.derived.reason.get_or_insert_with(|| chain(&error));
            }
        }
        Ok(())
    }

    /// Removes a node whose text is outdated and could not be written, and stores ledger rows.
    async fn forget(
        &mut self,
        held: &mut LayerHold,
        key: Option<NodeKey>,
        mut calls: Vec<Call>,
        stopped: &mut Option<Stop>,
    ) {
        calls.retain(|call| call.attempts > 0);
        let batch = Batch {
            remove_nodes: key.into_iter().collect(),
            append_calls: calls.clone(),
            ..Batch::default()
        };
        if batch.is_empty() {
            return;
        }
        if let Err(stop) = self.commit(held, batch).await {
            let paid = Batch { append_calls: calls, ..Batch::default() };
            let kept = self.engine.store.commit(paid).await;
            stopped.get_or_insert(kept.map_or_else(Stop::Store, |_| stop));
        }
    }

    /// Commits a step and renews the lease.
    async fn commit(&self, held: &mut LayerHold, mut batch: Batch) -> Result<(), Stop> {
        let layer = Layer { lease: Some(self.lease(self.engine.clock.now())), ..held.layer.clone() };
        batch.require.push(Require::LayerIs { name: layer.name.clone(), layer: Some(held.layer.clone()) });
        batch.require.push(Require::GraphUnchangedSince(held.graph));
        batch.put_layers.push(layer.clone());
        match self.engine.store.commit(batch).await {
            Ok(_) => {
                held.layer = layer;
                Ok(())
            }
            Err(error) if error.is_conflict() => {
                let snapshot = self.engine.store.snapshot().await?;
                match snapshot.graph_revision() > held.graph {
                    true => Err(Stop::GraphChanged),
                    false => Err(Stop::Busy("another process".to_owned())),
                }
            }
            Err(error) => Err(error.into()),
        }
    }
}
