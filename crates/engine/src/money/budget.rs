//! A budget: admits a call if it fits together with the amount spent and the calls in flight.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::channel::oneshot;
use futures::{StreamExt, stream};
use graphloom_core::{
    ChatEvent, ChatRequest, ChatStream, Embedder, Embeddings, LanguageModel, ModelError, Purpose, Reranker,
    Reranking, Timestamp, Usage,
};

use super::account::WorkspaceAccount;
use super::price::{Money, Price, Prices};
use super::{prompt_tokens, shape_tokens, text_tokens};
use graphloom_text::Tokenizer;

/// Tokens reserved for the answer to a request without an output limit.
pub const OUTPUT_RESERVE: u32 = 4096;

/// The budget is in money, but the price of a model is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no price is configured for {model}")]
pub struct NoPrice {
    /// The model.
    pub model: String,
}

/// A spending limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Tokens sent and received together.
    Tokens(u64),
    /// Money, at the configured prices.
    Money(Money),
}

impl Limit {
    /// The accepted syntax, as shown to users.
    pub const EXPECTED: &'static str =
        "tokens with a unit, such as 2M, 500k or 900tokens, or money with a point, such as 1.50 or 20.0";

    /// Reads `2M`, `1.5M`, `500k`, `900tokens` as tokens and `1.50` as money. A bare integer is rejected, because it could be
    /// either.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        for (unit, tokens) in [("tokens", 1), ("k", 1_000), ("K", 1_000), ("M", 1_000_000)] {
            if let Some(number) = text.strip_suffix(unit) {
                let millionths = Money::parse(number.trim_end())?.units() / 1_000_000;
                let tokens = millionths.checked_mul(tokens)? / 1_000_000;
                return u64::try_from(tokens).ok().filter(|tokens| *tokens > 0).map(Self::Tokens);
            }
        }
        let money = text.contains('.').then(|| Money::parse(text)).flatten();
        money.filter(|money| *money > Money::default()).map(Self::Money)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
            Self::Money(money) => money.fmt(f),
        }
    }
}

/// What to do with a call that does not fit while others are in flight, which may cost less than is held for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenShort {
    /// Wait for the others. Not for calls that those may be waiting for, such as the calls of a merge.
    Wait,
    /// Do not send the call.
    Refuse,
}

/// The budget of one run, shared by all of its models.
#[derive(Debug)]
pub struct Budget {
    limit: Limit,
    prices: Prices,
    state: Mutex<State>,
}

/// Why a budget refused calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shortage {
    /// What is left was too little. A new budget with the same limit pays for the call.
    Spent,
    /// The call may cost more than the whole limit.
    TooSmall,
}

/// Amounts in the limit's unit: tokens, or millionths of a millionth of the currency.
#[derive(Debug, Default)]
struct State {
    spent: u128,
    /// Maximum cost of the calls in flight.
    held: u128,
    shortage: Option<Shortage>,
    /// Calls that wait for others to end, because those may cost less than is held for them.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Budget {
    /// Creates a budget from which nothing has been spent.
    pub fn new(limit: Limit, prices: Prices) -> Arc<Self> {
        Arc::new(Self { limit, prices, state: Mutex::default() })
    }

    /// Wraps `model` so that this budget pays for its calls. Fails if the limit is money and the model has no price.
    pub fn model(
        self: &Arc<Self>,
        model: Arc<dyn LanguageModel>,
        when_short: WhenShort,
    ) -> Result<BudgetedModel, NoPrice> {
        let meter = self.meter(model.name(), when_short)?;
        Ok(BudgetedModel { model, meter })
    }

    /// Wraps `embedder` so that this budget pays for its calls, which never wait for others. Fails if the limit is money and the
    /// model has no price.
    pub fn embedder(self: &Arc<Self>, embedder: Arc<dyn Embedder>) -> Result<BudgetedEmbedder, NoPrice> {
        let meter = self.meter(embedder.name(), WhenShort::Refuse)?;
        Ok(BudgetedEmbedder { embedder, meter })
    }

    /// Returns the limit.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns the amount spent so far, for display.
    pub fn spent(&self) -> String {
        self.shown(self.state().spent)
    }

    /// Returns why it refused calls; `None` if it refused none.
    pub fn shortage(&self) -> Option<Shortage> {
        self.state().shortage
    }

    fn meter(self: &Arc<Self>, model: &str, when_short: WhenShort) -> Result<Meter, NoPrice> {
        let price = match self.limit {
            Limit::Tokens(_) => None,
            Limit::Money(_) => {
                let price = self.prices.of(model).ok_or_else(|| NoPrice { model: model.to_owned() })?;
                Some(price)
            }
        };
        let payer = Payer::Run(Arc::clone(self), price);
        Ok(Meter { payer, model: model.to_owned(), when_short })
    }

    /// Holds back `most` for a call of `meter`. Fails if the call might exceed the budget.
    async fn hold(&self, meter: &Meter, most: u128) -> Result<(), ModelError> {
        let limit = match self.limit {
            Limit::Tokens(tokens) => u128::from(tokens),
            Limit::Money(money) => money.units(),
        };
        loop {
            let freed = {
                let mut state = self.state();
                if state.spent + state.held + most <= limit {
                    state.held += most;
                    return Ok(());
                }
                let may_fit_later = state.spent + most <= limit && state.held > 0;
                if meter.when_short == WhenShort::Refuse || !may_fit_later {
                    let in_flight = match state.held {
                        0 => String::new(),
                        held => format!(", {} are reserved for calls in flight", self.shown(held)),
                    };
                    let shortage = if most > limit { Shortage::TooSmall } else { Shortage::Spent };
                    state.shortage = state.shortage.max(Some(shortage));
                    let (spent, most) = (self.shown(state.spent), self.shown(most));
                    let what = format!(
                        "{spent} of {} are spent{in_flight} and the call may cost {most}",
                        self.limit
                    );
                    return Err(ModelError::OverBudget { model: meter.model.clone(), what });
                }
                let (free, freed) = oneshot::channel();
                state.waiting.push(free);
                freed
            };
            // A dropped sender means the same: check again.
            let _ = freed.await;
        }
    }

    /// Replaces the amount held for a call by its cost, and wakes the calls that wait.
    fn book(&self, held: u128, cost: u128) {
        let waiting = {
            let mut state = self.state();
            state.held = state.held.saturating_sub(held);
            state.spent += cost;
            std::mem::take(&mut state.waiting)
        };
        for free in waiting {
            // The receiver may have been cancelled.
            let _ = free.send(());
        }
    }

    fn shown(&self, units: u128) -> String {
        match self.limit {
            Limit::Tokens(_) => units.to_string(),
            Limit::Money(_) => Money::of_units(units).to_string(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What pays for calls: the budget of a run, or that of the workspace.
#[derive(Clone)]
pub(super) enum Payer {
    /// The budget of a run, and the price of the model; `None` if the limit is in tokens.
    Run(Arc<Budget>, Option<Price>),
    /// The budget of the workspace, if it has one when the call is sent.
    Workspace(Arc<WorkspaceAccount>),
}

/// The amount held for a call in flight. Dropping it books the cost and wakes the calls that wait.
pub(super) struct CallHold {
    pub(super) of: HoldOf,
    /// `None` if the limit is in tokens.
    pub(super) price: Option<Price>,
    pub(super) held: u128,
    /// The cost if the call is cut off.
    pub(super) least: u128,
    pub(super) cost: u128,
}

/// Where a hold is booked.
pub(super) enum HoldOf {
    Run(Arc<Budget>),
    Workspace(Arc<WorkspaceAccount>, Timestamp),
    /// Nowhere: there is no budget, or the hold is settled.
    Nobody,
}

impl CallHold {
    /// Sets the cost of the call so far.
    fn count(&mut self, usage: Usage) {
        self.cost = cost(self.price, usage);
    }

    /// Books the cost before returning, so that other processes see it too.
    async fn settle(mut self) {
        match std::mem::replace(&mut self.of, HoldOf::Nobody) {
            HoldOf::Run(budget) => budget.book(self.held, self.cost),
            HoldOf::Workspace(account, since) => account.settle(since, &self).await,
            HoldOf::Nobody => {}
        }
    }
}

impl Drop for CallHold {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.of, HoldOf::Nobody) {
            HoldOf::Run(budget) => budget.book(self.held, self.cost),
            HoldOf::Workspace(account, since) => account.settle_later(since, self),
            HoldOf::Nobody => {}
        }
    }
}

/// Returns the cost of these tokens: money if there is a price, otherwise tokens.
pub(super) fn cost(price: Option<Price>, usage: Usage) -> u128 {
    match price {
        None => u128::from(usage.prompt_tokens) + u128::from(usage.completion_tokens),
        Some(price) => price.of(usage).units(),
    }
}

/// Counts the calls of one model against a budget.
#[derive(Clone)]
pub(super) struct Meter {
    pub(super) payer: Payer,
    pub(super) model: String,
    pub(super) when_short: WhenShort,
}

impl Meter {
    async fn hold(&self, prompt_tokens: u64, output_tokens: u64) -> Result<CallHold, ModelError> {
        let most = Usage { prompt_tokens, completion_tokens: output_tokens, ..Usage::default() };
        let least = Usage { completion_tokens: 0, ..most };
        match &self.payer {
            Payer::Run(budget, price) => {
                let held = cost(*price, most);
                budget.hold(self, held).await?;
                let of = HoldOf::Run(Arc::clone(budget));
                let least = cost(*price, least);
                Ok(CallHold { of, price: *price, held, least, cost: least })
            }
            Payer::Workspace(account) => account.hold(self, most, least).await,
        }
    }
}

/// A chat model whose calls a budget pays for. A call that is cut off costs what was received so far; a failed call costs
/// nothing.
pub struct BudgetedModel {
    pub(super) model: Arc<dyn LanguageModel>,
    pub(super) meter: Meter,
}

#[async_trait]
impl LanguageModel for BudgetedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let prompt_tokens = prompt_tokens(&request.messages) + shape_tokens(request.shape.as_deref());
        let output_tokens = request.max_output_tokens.unwrap_or(OUTPUT_RESERVE);
        let mut held = self.meter.hold(prompt_tokens, u64::from(output_tokens)).await?;
        let events = match self.model.chat(request).await {
            Ok(events) => events,
            Err(error) => {
                held.cost = 0;
                held.settle().await;
                return Err(error);
            }
        };
        let counted = Usage { prompt_tokens, ..Usage::default() };
        // The state ends with the last event, so the hold is released when the caller has the whole answer.
        let metered = stream::unfold(Some((events, held, counted)), |state| async move {
            let (mut events, mut held, mut counted) = state?;
            let event = events.next().await?;
            match &event {
                Ok(ChatEvent::Delta(text)) => {
                    counted.completion_tokens += u64::from(Tokenizer.count(text));
                    held.count(counted);
                    return Some((event, Some((events, held, counted))));
                }
                Ok(ChatEvent::Done(done)) => held.count(known(done.usage, counted)),
                Err(_) => {}
            }
            held.settle().await;
            Some((event, None))
        });
        Ok(metered.boxed())
    }
}

/// Returns the provider's token counts, or our own where it reported none.
fn known(usage: Usage, counted: Usage) -> Usage {
    let or = |reported: u64, counted: u64| if reported > 0 { reported } else { counted };
    Usage {
        prompt_tokens: or(usage.prompt_tokens, counted.prompt_tokens),
        cached_prompt_tokens: usage.cached_prompt_tokens,
        completion_tokens: or(usage.completion_tokens, counted.completion_tokens),
    }
}

/// An embedder whose calls a budget pays for.
pub struct BudgetedEmbedder {
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) meter: Meter,
}

#[async_trait]
impl Embedder for BudgetedEmbedder {
    fn name(&self) -> &str {
        self.embedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        self.embedder.dimensions().await
    }

    fn is_lexical(&self) -> bool {
        self.embedder.is_lexical()
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let counted = text_tokens(texts.iter().map(String::as_str));
        let mut held = self.meter.hold(counted, 0).await?;
        let outcome = self.embedder.embed(purpose, texts).await;
        match &outcome {
            Ok(embeddings) => {
                let counted = Usage { prompt_tokens: counted, ..Usage::default() };
                held.count(known(embeddings.usage, counted));
            }
            Err(_) => held.cost = 0,
        }
        held.settle().await;
        outcome
    }
}

/// A reranker whose calls a budget pays for.
pub struct BudgetedReranker {
    pub(super) reranker: Arc<dyn Reranker>,
    pub(super) meter: Meter,
}

#[async_trait]
impl Reranker for BudgetedReranker {
    fn name(&self) -> &str {
        self.reranker.name()
    }

    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Reranking, ModelError> {
        // The model reads the query with each passage.
        let queries = text_tokens([query]) * passages.len() as u64;
        let counted = queries + text_tokens(passages.iter().map(String::as_str));
        let mut held = self.meter.hold(counted, 0).await?;
        let outcome = self.reranker.rerank(query, passages).await;
        match &outcome {
            Ok(reranking) => {
                let counted = Usage { prompt_tokens: counted, ..Usage::default() };
                held.count(known(reranking.usage, counted));
            }
            Err(_) => held.cost = 0,
        }
        held.settle().await;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::{ChatMessage, ChatRole, Completion, FinishReason, complete};

    use super::*;

    /// Answers when its gate opens, and reports a cost of `tokens` each way.
    struct GatedModel {
        tokens: u64,
        gates: Mutex<Vec<oneshot::Receiver<()>>>,
    }

    #[async_trait]
    impl LanguageModel for GatedModel {
        fn name(&self) -> &str {
            "gated:model"
        }

        async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
            let gate = self.gates.lock().expect("one thread").pop();
            if let Some(gate) = gate {
                gate.await.expect("opened");
            }
            let usage =
                Usage { prompt_tokens: self.tokens, cached_prompt_tokens: 0, completion_tokens: self.tokens };
            let done = Completion { finish: FinishReason::Stop, usage, attempts: 1 };
            Ok(stream::iter([Ok(ChatEvent::Delta("yes".to_owned())), Ok(ChatEvent::Done(done))]).boxed())
        }
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
    }

    fn request() -> ChatRequest {
        let messages = vec![ChatMessage::new(ChatRole::User, "may I?")];
        ChatRequest { messages, max_output_tokens: Some(90), ..ChatRequest::default() }
    }

    fn budgeted(limit: &str, prices: &str, tokens: u64) -> Result<BudgetedModel, NoPrice> {
        let prices = Prices::parse(prices).expect("prices");
        let budget = Budget::new(Limit::parse(limit).expect("a limit"), prices);
        budget.model(Arc::new(GatedModel { tokens, gates: Mutex::default() }), WhenShort::Wait)
    }

    fn budget_of(model: &BudgetedModel) -> &Arc<Budget> {
        let Payer::Run(budget, _) = &model.meter.payer else { panic!("the budget of a run") };
        budget
    }

    /// Returns how many calls in a row a budget lets through, and the amount spent.
    fn check_calls(limit: &str, prices: &str, tokens: u64) -> (usize, String) {
        let model = budgeted(limit, prices, tokens).expect("priced");
        let mut calls = 0;
        while block_on(complete(&model, request())).is_ok() {
            calls += 1;
            assert!(calls < 100, "the budget ends");
        }
        (calls, budget_of(&model).spent())
    }

    #[test]
    fn calls_are_made_as_long_as_they_fit_in_the_worst_case() {
        // A call holds 10 tokens for the prompt and 90 for the answer, and then costs 60.
        assert_eq!(check_calls("250tokens", "", 30), (3, "180".to_owned()));
        assert_eq!(check_calls("99tokens", "", 30), (0, "0".to_owned()));
        assert_eq!(check_calls("0.00025", "gated=1/1", 30), (3, "0.0002".to_owned()));
    }

    #[test]
    fn the_tokens_of_a_service_that_reports_none_are_counted() {
        assert_eq!(check_calls("111tokens", "", 0), (2, "22".to_owned()));
    }

    #[test]
    fn a_call_waits_for_those_in_flight_and_is_made_if_they_cost_less() {
        let budget = Budget::new(Limit::Tokens(170), Prices::default());
        let (open, gate) = oneshot::channel();
        let gates = Mutex::new(vec![gate]);
        let model = budget
            .model(Arc::new(GatedModel { tokens: 30, gates }), WhenShort::Wait)
            .expect("tokens need no price");
        let both = async {
            let first = complete(&model, request());
            let second = async {
                let second = complete(&model, request());
                let mut second = std::pin::pin!(second);
                assert!(
                    futures::poll!(second.as_mut()).is_pending(),
                    "both together might exceed the budget"
                );
                open.send(()).expect("the first waits");
                second.await
            };
            futures::join!(first, second)
        };
        let (first, second) = block_on(both);
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(budget.spent(), "120");
    }

    #[test]
    fn a_dropped_call_is_charged_for_its_prompt() {
        let model = budgeted("500tokens", "", 30).expect("tokens need no price");
        drop(block_on(model.chat(request())).expect("fits"));
        assert_eq!(budget_of(&model).spent(), "10");
    }

    struct Counting;

    #[async_trait]
    impl Embedder for Counting {
        fn name(&self) -> &str {
            "counting:model"
        }

        async fn dimensions(&self) -> Result<u32, ModelError> {
            Ok(1)
        }

        async fn embed(&self, _: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
            let usage = Usage { prompt_tokens: 3, ..Usage::default() };
            Ok(Embeddings { vectors: vec![vec![1.0]; texts.len()], usage, attempts: 1 })
        }
    }

    #[test]
    fn embeddings_are_charged_to_the_same_budget() {
        let budget = Budget::new(Limit::Tokens(8), Prices::default());
        let embedder = budget.embedder(Arc::new(Counting)).expect("tokens need no price");
        let texts = ["one two".to_owned()];
        let embed = || block_on(embedder.embed(Purpose::Document, &texts));
        assert!(embed().is_ok() && embed().is_ok());
        assert_eq!(budget.spent(), "6");
        assert!(embed().is_ok_and(|embeddings| embeddings.usage.prompt_tokens == 3) && embed().is_err());
    }

    #[test]
    fn embeddings_do_not_wait_for_calls_in_flight() {
        let model = budgeted("101tokens", "", 30).expect("tokens need no price");
        let embedder = budget_of(&model).embedder(Arc::new(Counting)).expect("tokens need no price");
        let in_flight = block_on(model.chat(request())).expect("fits");
        let texts = ["one two three".to_owned()];
        let refused = block_on(embedder.embed(Purpose::Document, &texts)).expect_err("is held back");
        assert!(refused.to_string().contains("100 are reserved for calls in flight"), "{refused}");
        drop(in_flight);
        assert!(block_on(embedder.embed(Purpose::Document, &texts)).is_ok());
    }

    #[test]
    fn a_budget_of_money_needs_prices() {
        let refused = budgeted("1.00", "other=1", 30).map(drop).expect_err("no price");
        assert_eq!(refused.to_string(), "no price is configured for gated:model");
    }

    #[test]
    fn a_limit_is_in_tokens_or_in_money() {
        assert_eq!(Limit::parse("2M"), Some(Limit::Tokens(2_000_000)));
        assert_eq!(Limit::parse("1.5M"), Some(Limit::Tokens(1_500_000)));
        assert_eq!(Limit::parse("500k"), Some(Limit::Tokens(500_000)));
        assert_eq!(Limit::parse("900 tokens"), Some(Limit::Tokens(900)));
        assert_eq!(Limit::parse("1.50"), Money::parse("1.5").map(Limit::Money));
        for text in ["500", "0.0", "0k", "", "M", "-1.0", "1.50USD", "two", "1e6"] {
            assert_eq!(Limit::parse(text), None, "{text:?}");
        }
    }
}
