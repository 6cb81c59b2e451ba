//! The budget of a workspace, from which the calls of one process are paid. The possible cost of a call is held back in the store,
//! where all processes see it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::oneshot;
use graphloom_core::{
    BudgetChange, BudgetUnit, Clock, CostBounds, Embedder, LanguageModel, ModelError, Reranker, StoreError,
    Timestamp, Usage, WorkspaceBudget, WorkspaceStore,
};

use super::budget::{
    BudgetedEmbedder, BudgetedModel, BudgetedReranker, CallHold, HoldOf, Limit, Meter, Payer, WhenShort, cost,
};
use super::price::{Money, Prices};
use crate::index::LEASE_MS;

/// How often a call reads the budget if others keep replacing it.
const MAX_LOOKS: u32 = 20;

/// How long the amounts held for calls stay held after the process last booked, in milliseconds: as long as a lease on a document.
/// Without this limit, a killed process would withhold them from the others forever.
const HOLD_MS: u64 = LEASE_MS;

/// The largest budget of a workspace in money.
pub const MAX_WORKSPACE_MONEY: &str = "18000000.0";

/// Pays for calls from the [budget](WorkspaceBudget) of a workspace, if it has one when the call is sent.
pub struct WorkspaceAccount {
    store: Arc<dyn WorkspaceStore>,
    prices: Prices,
    /// The name of this process.
    process: String,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The budget as last read.
    known: Option<WorkspaceBudget>,
    /// Calls of this process in flight.
    in_flight: u32,
    /// Calls of this process that ended but are not settled yet: the amounts held and the cost, by the start of the budget.
    ended: BTreeMap<Timestamp, (CostBounds, u64)>,
    /// Calls that wait for others of this process to end, because those may cost less than is held for them.
    waiting: Vec<oneshot::Sender<()>>,
}

impl WorkspaceAccount {
    /// Creates the account of this process, under a name that no other process has.
    pub fn new(
        store: Arc<dyn WorkspaceStore>,
        prices: Prices,
        process: String,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self { store, prices, process, clock, state: Mutex::default() })
    }

    /// Wraps `model` so that the workspace pays for its calls.
    pub fn model(self: &Arc<Self>, model: Arc<dyn LanguageModel>, when_short: WhenShort) -> BudgetedModel {
        let meter = self.meter(model.name(), when_short);
        BudgetedModel { model, meter }
    }

    /// Wraps `embedder` so that the workspace pays for its calls, which never wait for others.
    pub fn embedder(self: &Arc<Self>, embedder: Arc<dyn Embedder>) -> BudgetedEmbedder {
        let meter = self.meter(embedder.name(), WhenShort::Refuse);
        BudgetedEmbedder { embedder, meter }
    }

    /// Wraps `reranker` so that the workspace pays for its calls, which never wait for others.
    pub fn reranker(self: &Arc<Self>, reranker: Arc<dyn Reranker>) -> BudgetedReranker {
        let meter = self.meter(reranker.name(), WhenShort::Refuse);
        BudgetedReranker { reranker, meter }
    }

    fn meter(self: &Arc<Self>, model: &str, when_short: WhenShort) -> Meter {
        Meter { payer: Payer::Workspace(Arc::clone(self)), model: model.to_owned(), when_short }
    }

    /// Holds back the maximum cost of a call, `most`. `least` is its cost if it is cut off.
    pub(super) async fn hold(
        self: &Arc<Self>,
        meter: &Meter,
        most: Usage,
        least: Usage,
    ) -> Result<CallHold, ModelError> {
        let mut known = self.state().known.clone();
        for _ in 0..MAX_LOOKS {
            if known.is_none() {
                known = self.store.budget().await.map_err(|error| unbooked(meter, &error))?;
            }
            let Some(budget) = known else {
                return Ok(CallHold { of: HoldOf::Nobody, price: None, held: 0, least: 0, cost: 0 });
            };
            let price = match budget.unit {
                BudgetUnit::Tokens => None,
                BudgetUnit::Money => {
                    Some(self.prices.of(&meter.model).ok_or_else(|| ModelError::OverBudget {
                        model: meter.model.clone(),
                        what: format!(
                            "the budget of the workspace is in money, and no price is configured for {}",
                            meter.model
                        ),
                    })?)
                }
            };
            let begins = CostBounds { most: units(cost(price, most)), least: units(cost(price, least)) };
            // Registered before the attempt, so that a call that ends meanwhile is not missed.
            let (ended, spent, freed) = {
                let mut state = self.state();
                let (ended, spent) = state.ended.remove(&budget.since).unwrap_or_default();
                state.ended.clear();
                let (free, freed) = oneshot::channel();
                state.waiting.retain(|waiting| !waiting.is_canceled());
                state.waiting.push(free);
                (ended, spent, freed)
            };
            let book = self.book(budget.since, ended, spent, begins);
            let outcome = match self.store.change_budget(book).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.give_back(budget.since, ended, spent);
                    return Err(unbooked(meter, &error));
                }
            };
            let others = {
                let mut state = self.state();
                state.known.clone_from(&outcome.budget);
                state.in_flight += u32::from(outcome.held);
                state.in_flight
            };
            if outcome.held {
                let of = HoldOf::Workspace(Arc::clone(self), budget.since);
                let least = begins.least.into();
                return Ok(CallHold { of, price, held: begins.most.into(), least, cost: least });
            }
            known = outcome.budget;
            match &known {
                Some(latest) if latest.since == budget.since => {
                    if meter.when_short == WhenShort::Refuse || others == 0 || begins.most > latest.amount {
                        let what = format!(
                            "the workspace has spent {} of its budget of {} and the call may cost {}",
                            shown(latest.unit, latest.spent),
                            limit_of(latest),
                            shown(latest.unit, begins.most)
                        );
                        return Err(ModelError::OverBudget { model: meter.model.clone(), what });
                    }
                    // A dropped sender means the same: check again.
                    let _ = freed.await;
                }
                // The budget was restarted or removed: look at it again.
                Some(_) | None => {}
            }
        }
        let what = "the budget of the workspace keeps being replaced".to_owned();
        Err(ModelError::OverBudget { model: meter.model.clone(), what })
    }

    /// Replaces the amount held for a call by its cost.
    pub(super) async fn settle(&self, since: Timestamp, call: &CallHold) {
        // Runs even if this future is dropped. The call then stays booked with the amount held for it.
        let _ended = CallEnd(self);
        let (ended, cost) = (bounds_of(call), units(call.cost));
        let book = self.book(since, ended, cost, CostBounds::default());
        match self.store.change_budget(book).await {
            Ok(outcome) => self.state().known = outcome.budget,
            Err(error) => {
                tracing::warn!(%error, "the cost of a call is booked with the next one");
                self.give_back(since, ended, cost);
            }
        }
    }

    /// Settles the call together with the next one.
    pub(super) fn settle_later(&self, since: Timestamp, call: &CallHold) {
        let _ended = CallEnd(self);
        self.give_back(since, bounds_of(call), units(call.cost));
    }

    fn book(&self, since: Timestamp, ended: CostBounds, cost: u64, begins: CostBounds) -> BudgetChange {
        let now = self.clock.now();
        let until = Timestamp(now.0.saturating_add(HOLD_MS));
        BudgetChange::Book { since, of: self.process.clone(), ended, cost, begins, now, until }
    }

    fn give_back(&self, since: Timestamp, bounds: CostBounds, cost: u64) {
        let mut state = self.state();
        let ended = state.ended.entry(since).or_default();
        *ended = (ended.0.plus(bounds), ended.1.saturating_add(cost));
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a call of this process when it is dropped, and wakes the calls that wait.
struct CallEnd<'a>(&'a WorkspaceAccount);

impl Drop for CallEnd<'_> {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.0.state();
            state.in_flight = state.in_flight.saturating_sub(1);
            std::mem::take(&mut state.waiting)
        };
        for free in waiting {
            // The receiver may have been cancelled.
            let _ = free.send(());
        }
    }
}

/// Returns the limit of a budget.
pub fn limit_of(budget: &WorkspaceBudget) -> Limit {
    match budget.unit {
        BudgetUnit::Tokens => Limit::Tokens(budget.amount),
        BudgetUnit::Money => Limit::Money(Money::of_units(budget.amount.into())),
    }
}

/// Returns the change that sets the budget of a workspace; `None` if it is more than [`MAX_WORKSPACE_MONEY`].
///
/// - `restart`: whether the amount spent becomes 0. A change of the unit always resets it.
pub fn limiting(limit: Limit, restart: bool, now: Timestamp) -> Option<BudgetChange> {
    let (unit, amount) = match limit {
        Limit::Tokens(tokens) => (BudgetUnit::Tokens, tokens),
        Limit::Money(money) => {
            let most = Money::parse(MAX_WORKSPACE_MONEY).filter(|most| money <= *most);
            (BudgetUnit::Money, most.and_then(|_| u64::try_from(money.units()).ok())?)
        }
    };
    Some(BudgetChange::Limit { unit, amount, restart, now })
}

/// Formats an amount of a budget for display.
pub fn shown(unit: BudgetUnit, amount: u64) -> String {
    match unit {
        BudgetUnit::Tokens => amount.to_string(),
        BudgetUnit::Money => Money::of_units(amount.into()).to_string(),
    }
}

/// Returns an amount of a budget as a number, in tokens or in the currency of the prices.
pub fn number(unit: BudgetUnit, amount: u64) -> f64 {
    match unit {
        BudgetUnit::Tokens => amount as f64,
        BudgetUnit::Money => amount as f64 / 1e12,
    }
}

fn bounds_of(call: &CallHold) -> CostBounds {
    CostBounds { most: units(call.held), least: units(call.least) }
}

fn units(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}

fn unbooked(meter: &Meter, error: &StoreError) -> ModelError {
    let what = format!("booking the call in the budget of the workspace: {}", crate::chain(error));
    ModelError::Local { model: meter.model.clone(), what }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;
    use futures::{StreamExt, stream};
    use graphloom_core::{
        ChatEvent, ChatMessage, ChatRequest, ChatRole, ChatStream, Completion, FinishReason, Reranking,
        WorkspaceId, complete,
    };
    use graphloom_storage::conformance::block_on;
    use graphloom_storage::memory::MemoryStore;

    use super::*;

    /// A model that costs 30 tokens each way and counts its calls.
    #[derive(Default)]
    struct CountingModel(AtomicU64);

    #[async_trait]
    impl LanguageModel for CountingModel {
        fn name(&self) -> &str {
            "counting:model"
        }

        async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let usage = Usage { prompt_tokens: 30, completion_tokens: 30, ..Usage::default() };
            let done = Completion { finish: FinishReason::Stop, usage, attempts: 1 };
            Ok(stream::iter([Ok(ChatEvent::Delta("yes".to_owned())), Ok(ChatEvent::Done(done))]).boxed())
        }
    }

    /// A call holds 10 tokens of prompt and 90 of answer, and then costs 60.
    fn request() -> ChatRequest {
        let messages = vec![ChatMessage::new(ChatRole::User, "may I?")];
        ChatRequest { messages, max_output_tokens: Some(90), ..ChatRequest::default() }
    }

    fn stored(limit: Option<&str>) -> Arc<MemoryStore> {
        let store = Arc::new(MemoryStore::new(WorkspaceId::default()));
        if let Some(limit) = limit.map(|limit| Limit::parse(limit).expect("a limit")) {
            let change = limiting(limit, false, Timestamp(1)).expect("small enough");
            block_on(store.change_budget(change)).expect("memory does not fail");
        }
        store
    }

    fn spent(store: &MemoryStore) -> Option<u64> {
        block_on(store.budget()).expect("memory does not fail").map(|budget| budget.spent)
    }

    /// A clock that tests can set.
    #[derive(Default)]
    struct SetClock(AtomicU64);

    impl Clock for SetClock {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::Relaxed))
        }
    }

    fn account(store: &Arc<MemoryStore>, prices: &Prices, process: &str) -> Arc<WorkspaceAccount> {
        let clock = Arc::new(SetClock::default());
        WorkspaceAccount::new(store.clone(), prices.clone(), process.to_owned(), clock)
    }

    /// Makes nine calls in a row, from two processes in turn; returns how many pass and the amount spent.
    fn check_calls(limit: Option<&str>, prices: &str) -> (u64, Option<u64>) {
        let store = stored(limit);
        let model = Arc::new(CountingModel::default());
        let prices = Prices::parse(prices).expect("prices");
        let processes = ["one", "other"]
            .map(|process| account(&store, &prices, process).model(model.clone(), WhenShort::Wait));
        for call in 0..9 {
            let outcome = block_on(complete(&processes[call % 2], request()));
            assert!(matches!(outcome, Ok(_) | Err(ModelError::OverBudget { .. })), "{:?}", outcome.err());
        }
        (model.0.load(Ordering::Relaxed), spent(&store))
    }

    #[test]
    fn processes_share_one_budget_and_never_exceed_it() {
        assert_eq!(check_calls(Some("250tokens"), ""), (3, Some(180)));
        assert_eq!(check_calls(Some("99tokens"), ""), (0, Some(0)));
        assert_eq!(check_calls(Some("0.00025"), "counting=1/1"), (3, Some(180_000_000)));
        assert_eq!(check_calls(Some("0.00025"), ""), (0, Some(0)), "without a price");
        assert_eq!(check_calls(None, ""), (9, None));
    }

    #[test]
    fn a_call_waits_for_others_of_its_process_and_settles_dropped_ones() {
        let store = stored(Some("170tokens"));
        let account = account(&store, &Prices::default(), "one");
        let model = account.model(Arc::new(CountingModel::default()), WhenShort::Wait);
        block_on(async {
            let first = model.chat(request()).await.expect("it fits");
            assert_eq!(store.budget().await.expect("a budget").map(|budget| budget.spent), Some(100));
            let mut second = std::pin::pin!(model.chat(request()));
            assert!(futures::poll!(second.as_mut()).is_pending(), "both together might exceed the budget");
            // Cut off before its first word, it costs only its prompt.
            drop(first);
            drop(second.await.expect("it fits now"));
        });
        assert_eq!(spent(&store), Some(110), "the second is booked with the next call");
        block_on(complete(&model, request())).expect("it fits");
        assert_eq!(spent(&store), Some(80));
    }

    #[test]
    fn the_reservations_of_a_killed_process_expire_after_the_lease_time() {
        let store = stored(Some("170tokens"));
        let killed = account(&store, &Prices::default(), "killed");
        let model = killed.model(Arc::new(CountingModel::default()), WhenShort::Refuse);
        // The call is never settled, as if its process had been killed.
        std::mem::forget(block_on(model.chat(request())).expect("it fits"));
        let clock = Arc::new(SetClock::default());
        let other =
            WorkspaceAccount::new(store.clone(), Prices::default(), "other".to_owned(), clock.clone());
        let model = other.model(Arc::new(CountingModel::default()), WhenShort::Refuse);
        clock.0.store(HOLD_MS, Ordering::Relaxed);
        block_on(complete(&model, request())).expect_err("the other call may still be under way");
        clock.0.store(HOLD_MS + 1, Ordering::Relaxed);
        block_on(complete(&model, request())).expect("it fits now");
        assert_eq!(spent(&store), Some(70), "the call that was cut off costs its prompt");
    }

    /// Reports that it read this many tokens.
    struct CountingReranker(u64);

    #[async_trait]
    impl Reranker for CountingReranker {
        fn name(&self) -> &str {
            "counting:reranker"
        }

        async fn rerank(&self, _: &str, passages: &[String]) -> Result<Reranking, ModelError> {
            let usage = Usage { prompt_tokens: self.0, ..Usage::default() };
            Ok(Reranking { scores: vec![1.0; passages.len()], usage, attempts: 1 })
        }
    }

    #[test]
    fn reranker_calls_are_charged_by_reported_or_sent_tokens() {
        let store = stored(Some("20tokens"));
        let account = account(&store, &Prices::default(), "one");
        let passages = ["one two three".to_owned(), "four".to_owned()];
        let rerank = |tokens| {
            let reranker = account.reranker(Arc::new(CountingReranker(tokens)));
            block_on(reranker.rerank("which one", &passages))
        };
        rerank(7).expect("it fits");
        assert_eq!(spent(&store), Some(7));
        rerank(0).expect("it fits");
        assert_eq!(spent(&store), Some(15), "twice the two tokens of the question, and four");
        assert!(matches!(rerank(7), Err(ModelError::OverBudget { .. })));
        assert_eq!(spent(&store), Some(15));
    }

    #[test]
    fn a_budget_that_is_set_or_removed_takes_effect_with_the_next_call() {
        let store = stored(None);
        let account = account(&store, &Prices::default(), "one");
        let model = account.model(Arc::new(CountingModel::default()), WhenShort::Refuse);
        block_on(complete(&model, request())).expect("no budget");
        let set = |limit: &str, restart| {
            let limit = Limit::parse(limit).expect("a limit");
            let change = limiting(limit, restart, Timestamp(1)).expect("small enough");
            block_on(store.change_budget(change)).expect("memory does not fail");
        };
        set("150tokens", false);
        block_on(complete(&model, request())).expect("it fits");
        let refused = block_on(complete(&model, request())).expect_err("it might pass the budget");
        let shown = "the workspace has spent 60 of its budget of 150 tokens and the call may cost 100";
        assert!(refused.to_string().contains(shown), "{refused}");
        set("150tokens", true);
        block_on(complete(&model, request())).expect("counting began again");
        block_on(store.change_budget(BudgetChange::Put(None))).expect("memory does not fail");
        block_on(complete(&model, request())).expect("no budget");
        assert_eq!(spent(&store), None);
        let much = Limit::parse("19000000.5").expect("a limit");
        assert_eq!(limiting(much, false, Timestamp(1)), None);
    }
}
