//! Work that clients request in addition to indexing, done after each run: chunk contexts, re-extraction, layers.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{DocumentId, ProgressSink};
use graphloom_engine::Engine;
use graphloom_engine::derive::{LayerKind, derive};
use graphloom_engine::index::{self, IndexError, MissingContexts, RunReport};
use graphloom_engine::money::{Budget, NoPrice, WhenShort};

use super::Ingest;
use crate::host::OpenWorkspace;
use crate::problem::chain;

/// Prefix of the names of runs in which clients request re-extraction. The store keeps the documents of such a run, so that a
/// server continues it after a restart. Runs of the command line are left to the command line.
pub(crate) const RE_EXTRACT: &str = "re-extract-served";

/// The layers that clients requested.
#[derive(Debug, Default)]
pub(super) struct Layering {
    /// The requested layers, each with its budget if there is one.
    pub(super) wanted: BTreeMap<LayerKind, Option<Arc<Budget>>>,
    pub(super) deriving: Option<LayerKind>,
    /// Why the last attempt at a layer failed.
    pub(super) failures: BTreeMap<LayerKind, String>,
}

impl Ingest {
    /// Retries the failed chunk contexts of documents that were queued again. If it stops early, the next run does the rest.
    pub(super) async fn contextualize(
        &self,
        opened: &OpenWorkspace,
        show: ProgressSink<'_>,
    ) -> Result<(), IndexError> {
        let engine = &opened.indexing;
        let waiting = std::mem::take(&mut *self.again());
        if waiting.is_empty() {
            return Ok(());
        }
        let documents: Vec<DocumentId> = waiting.into_iter().collect();
        let context = async {
            let MissingContexts { again, by_others } = index::without_context(engine, &documents).await?;
            for (who, chunks) in by_others {
                self.lock().say(format!(
                    "the context of {chunks} chunks by {who} failed and is not retried, since the setting `contextual` has \
                     changed"
                ));
            }
            index::contextualize(engine, &again, show).await
        };
        let outcome = context.await;
        if outcome.as_ref().map_or(true, |report| report.paused) {
            self.again().extend(documents);
        }
        outcome.map(|_| ())
    }

    /// Extracts documents again that clients requested from this process or an earlier one. Does nothing if there are none.
    pub(super) async fn renew(
        &self,
        opened: &OpenWorkspace,
        show: ProgressSink<'_>,
    ) -> Result<Option<RunReport>, IndexError> {
        let engine = &opened.indexing;
        let waiting = index::waiting_renewals(engine, RE_EXTRACT, opened.gone.as_ref()).await?;
        if waiting.is_empty() {
            return Ok(None);
        }
        index::require_settings(engine).await?;
        // The model may have changed since the documents were recorded.
        let plan = index::plan_renewal(engine, &waiting, None, opened.gone.as_ref()).await?;
        let (chunks, documents) = (plan.chunks, plan.renewed.len());
        self.lock().say(format!("re-extraction: {chunks} chunks of {documents} documents"));
        let report = index::renew(engine, &plan.renewed, show).await?;
        self.lock().say(format!("re-extraction finished: {} documents", report.finished));
        Ok(Some(report))
    }

    /// Derives the layers that clients requested. Layers that a pause interrupts are derived in the next run.
    pub(super) async fn derive_wanted(&self, opened: &OpenWorkspace, show: ProgressSink<'_>) {
        loop {
            let wanted = {
                let mut layers = self.layers();
                let wanted = layers.wanted.pop_first();
                layers.deriving = wanted.as_ref().map(|(kind, _)| *kind);
                wanted
            };
            let Some((kind, budget)) = wanted else { return };
            let engine = match &budget {
                None => Ok(opened.indexing.clone()),
                Some(budget) => within(budget, &opened.indexing, opened.embeds_by_service),
            };
            let outcome = match engine {
                Ok(engine) => derive(&engine, kind.deriver(), show, opened.gone.as_ref())
                    .await
                    .map_err(|error| chain(&error)),
                Err(error) => Err(chain(&error)),
            };
            let failure = match &outcome {
                Ok(derived) if derived.paused => None,
                Ok(derived) => {
                    let stopped =
                        || Some(format!("stopped by the budget: {}", derived.over_budget.as_ref()?));
                    derived.reason.clone().or_else(stopped)
                }
                Err(error) => Some(error.clone()),
            };
            let is_paused = outcome.as_ref().is_ok_and(|derived| derived.paused);
            {
                let mut layers = self.layers();
                layers.deriving = None;
                if is_paused {
                    layers.wanted.entry(kind).or_insert(budget);
                }
                if let Some(reason) = &failure {
                    layers.failures.insert(kind, reason.clone());
                }
            }
            if is_paused {
                return;
            }
            if let Some(reason) = &failure {
                self.lock().say_why(format!("{} is not complete", kind.name()), reason.clone());
            }
            self.events.derive_ended(&kind.deriver().layer(), outcome.as_ref().ok(), failure.as_deref());
        }
    }
}

/// Returns the engine with models that are limited by a budget, as far as deriving a layer calls them. Models in this process
/// cost nothing.
pub(crate) fn within(
    budget: &Arc<Budget>,
    engine: &Engine,
    embeds_by_service: bool,
) -> Result<Engine, NoPrice> {
    let mut engine = engine.clone();
    if let Some(model) = engine.models.summarize.take() {
        engine.models.summarize = Some(Arc::new(budget.model(model, WhenShort::Refuse)?));
    }
    if embeds_by_service {
        engine.models.embedder = Arc::new(budget.embedder(engine.models.embedder.clone())?);
    }
    Ok(engine)
}
