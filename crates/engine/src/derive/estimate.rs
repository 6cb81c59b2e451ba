//! Estimates the cost of deriving a layer, before anything is sent or stored.
//!
//! The deriver writes the planned nodes with a stand-in for the configured model that makes no calls and only counts.
//! Prompts of nodes over chunks or entities are exactly those that would be sent. Prompts of nodes over other nodes depend
//! on texts that do not exist yet, so everything is counted twice: with the shortest answers and with long ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream;
use graphloom_core::{
    ChatEvent, ChatRequest, ChatStream, Completion, FinishReason, LanguageModel, LayerName, LayerNode,
    ModelError, NodeKey, Role, StoreError, Usage,
};
use serde::Serialize;

use super::plan::member_nodes;
use super::{Deriver, LayerPlan, NodeOutcome};
use crate::Engine;
use crate::index::{Estimate, ExpectedCalls, PricedStep, PricedTotal, Range, Step};
use crate::money::{Prices, prompt_tokens, text_tokens};

/// The work and cost of deriving a layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeriveEstimate {
    /// The layer.
    pub layer: LayerName,
    /// Number of nodes that the layer would have.
    pub nodes: u64,
    /// Nodes that need no call, because they are unchanged, written by rules, or already paid for.
    pub free: u64,
    /// The calls, by purpose.
    pub steps: Vec<PricedStep>,
    /// Calls and tokens of all steps.
    pub total: PricedTotal,
    /// Models without a configured price; their steps are not part of any cost total.
    pub unpriced: std::collections::BTreeSet<String>,
}

/// Estimates the current cost of [`derive`](super::derive), without storing anything or calling a model.
///
/// - `embeds_by_service`: true if a service computes the vectors; local models cost nothing.
/// - Second attempts after a truncated or unreadable answer are not counted.
pub fn estimate<'a>(
    engine: &'a Engine,
    deriver: &'a dyn Deriver,
    embeds_by_service: bool,
    prices: &'a Prices,
) -> BoxFuture<'a, Result<DeriveEstimate, StoreError>> {
    Box::pin(async move {
        let snapshot = engine.store.snapshot().await?;
        let planned = LayerPlan::new(deriver.plan(engine, snapshot.as_ref()).await?);
        drop(snapshot);
        let low = count(engine, deriver, &planned, false).await?;
        let high = count(engine, deriver, &planned, true).await?;
        let range = |low: u64, high: u64| Range { low: low.min(high), high: low.max(high) };
        let mut steps = Vec::new();
        if let Some(model) = engine.models.summarize.as_deref().filter(|_| high.calls > 0) {
            steps.push(ExpectedCalls {
                step: Step::WriteNodes,
                role: Role::Summarize,
                model: model.name().to_owned(),
                calls: range(low.calls, high.calls),
                input_tokens: range(low.input, high.input),
                output_tokens: range(low.output, high.output),
            });
        }
        if embeds_by_service && high.embedded > 0 {
            steps.push(ExpectedCalls {
                step: Step::EmbedNodes,
                role: Role::Embed,
                model: engine.models.embedder.name().to_owned(),
                // Nodes that need no call are embedded in batches.
                calls: range(u64::max(1, low.calls), low.embedded.max(high.embedded)),
                input_tokens: range(low.embedded_tokens, high.embedded_tokens),
                output_tokens: Range::default(),
            });
        }
        let priced = Estimate { steps, ..Estimate::default() }.priced(prices);
        Ok(DeriveEstimate {
            layer: deriver.layer(),
            nodes: planned.len() as u64,
            free: planned.len() as u64 - high.calls,
            steps: priced.steps,
            total: priced.total,
            unpriced: priced.unpriced,
        })
    })
}

/// Totals of one pass over all nodes.
#[derive(Default)]
struct Counts {
    calls: u64,
    input: u64,
    output: u64,
    embedded: u64,
    embedded_tokens: u64,
}

async fn count(
    engine: &Engine,
    deriver: &dyn Deriver,
    planned: &LayerPlan,
    long: bool,
) -> Result<Counts, StoreError> {
    let mut counts = Counts::default();
    let meter = engine.models.summarize.as_ref().map(|model| {
        Arc::new(Meter {
            name: model.name().to_owned(),
            answer: deriver.sample_answer(long),
            counted: Mutex::default(),
        })
    });
    let mut dry = engine.clone();
    dry.models.summarize = meter.clone().map(|meter| meter as Arc<dyn LanguageModel>);
    let mut written: BTreeMap<NodeKey, LayerNode> = BTreeMap::new();
    for nodes in planned.steps() {
        let snapshot = engine.store.snapshot().await?;
        let keys: Vec<NodeKey> = nodes.iter().map(|node| node.key.clone()).collect();
        let stored = snapshot.nodes(&keys).await?;
        for (node, stored) in nodes.into_iter().zip(stored) {
            let parts: Vec<LayerNode> =
                member_nodes(node).filter_map(|key| written.get(key).cloned()).collect();
            let outcome = deriver
                .write(&dry, snapshot.as_ref(), planned, node.clone(), &parts, stored.as_ref())
                .await?;
            match (outcome, stored) {
                (NodeOutcome::Kept, Some(stored)) => drop(written.insert(stored.key.clone(), stored)),
                (NodeOutcome::New { node, .. }, _) => {
                    counts.embedded += 1;
                    counts.embedded_tokens += text_tokens([node.indexed_text().as_str()]);
                    written.insert(node.key.clone(), node);
                }
                (NodeOutcome::Kept | NodeOutcome::Failed { .. } | NodeOutcome::Waits, _) => {}
            }
        }
    }
    if let Some(meter) = meter {
        let counted = meter.counted.lock().unwrap_or_else(PoisonError::into_inner);
        (counts.calls, counts.input, counts.output) = *counted;
    }
    Ok(counts)
}

/// A model that makes no calls: it always gives the same answer, and counts calls and tokens.
struct Meter {
    name: String,
    answer: String,
    counted: Mutex<(u64, u64, u64)>,
}

#[async_trait]
impl LanguageModel for Meter {
    fn name(&self) -> &str {
        &self.name
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.0 += 1;
        counted.1 += prompt_tokens(&request.messages);
        counted.2 += text_tokens([self.answer.as_str()]);
        let end = Completion { finish: FinishReason::Stop, usage: Usage::default(), attempts: 0 };
        let events = vec![Ok(ChatEvent::Delta(self.answer.clone())), Ok(ChatEvent::Done(end))];
        Ok(stream::iter(events).boxed())
    }
}
