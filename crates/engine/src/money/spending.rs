//! Adds up the ledger.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{Call, CallOutcome, DocumentId, Role, Snapshot, StoreError, Usage, table};
use serde::Serialize;

use super::{Money, Prices};

/// Ledger rows and documents per read.
const PAGE: usize = 1000;
/// The document name for calls that concern no single document, such as summaries.
const NO_DOCUMENT: &str = "(no single document)";

/// How calls are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostBy {
    /// By the role of the model.
    Role,
    /// By model.
    Model,
    /// By the document that the call is about.
    Document,
    /// By day, in UTC.
    Day,
}

impl CostBy {
    /// All groupings.
    pub const ALL: [Self; 4] = [Self::Role, Self::Model, Self::Document, Self::Day];

    /// Returns its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Model => "model",
            Self::Document => "document",
            Self::Day => "day",
        }
    }
}

/// The totals of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spending {
    /// One row per group: days in order, then the most expensive first.
    pub rows: Vec<CallTotals>,
    /// The sum of all groups.
    pub total: CallTotals,
    /// Models in the ledger without a configured price.
    pub unpriced: BTreeSet<String>,
}

/// The totals of one group of calls.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct CallTotals {
    /// The group.
    #[serde(flatten)]
    pub group: CostGroup,
    /// Number of calls.
    pub calls: u64,
    /// Of these, failed calls.
    pub failed: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Of these, tokens that came from the provider's prompt cache.
    pub cached_prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Cost of the models with a configured price.
    pub cost: Money,
    /// Calls of models without a configured price.
    pub unpriced_calls: u64,
    /// Calls for which the service reported no tokens. They count as 0 tokens, and their cost is unknown.
    pub uncounted_calls: u64,
}

impl CallTotals {
    /// Adds the calls of another group to this one.
    #[must_use]
    pub fn plus(self, more: &Self) -> Self {
        Self {
            group: self.group,
            calls: self.calls + more.calls,
            failed: self.failed + more.failed,
            prompt_tokens: self.prompt_tokens + more.prompt_tokens,
            cached_prompt_tokens: self.cached_prompt_tokens + more.cached_prompt_tokens,
            completion_tokens: self.completion_tokens + more.completion_tokens,
            cost: self.cost + more.cost,
            unpriced_calls: self.unpriced_calls + more.unpriced_calls,
            uncounted_calls: self.uncounted_calls + more.uncounted_calls,
        }
    }
}

/// The dimensions of a group of calls; `None` if not grouped by.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CostGroup {
    /// The day, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The role of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The document's source, or its id if the document is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// Adds up the calls of the ledger, grouped by `by`, at these prices.
pub async fn spending(
    snapshot: &dyn Snapshot,
    by: &BTreeSet<CostBy>,
    prices: &Prices,
) -> Result<Spending, StoreError> {
    spending_after(snapshot, 0, by, prices).await
}

/// Same as [`spending`], without the first `skip` calls.
pub fn spending_after<'a>(
    snapshot: &'a dyn Snapshot,
    skip: u64,
    by: &'a BTreeSet<CostBy>,
    prices: &'a Prices,
) -> BoxFuture<'a, Result<Spending, StoreError>> {
    Box::pin(async move {
        let mut ledger = Ledger { by, prices, rows: BTreeMap::new(), unpriced: BTreeSet::new() };
        let mut pages = snapshot.pages(table::Calls).after(Some(skip));
        while let Some(page) = pages.next().await? {
            page.iter().for_each(|call| ledger.add(call));
        }
        let sources = sources(snapshot, &ledger).await?;
        Ok(ledger.finish(&sources))
    })
}

struct Ledger<'a> {
    by: &'a BTreeSet<CostBy>,
    prices: &'a Prices,
    rows: BTreeMap<CostGroup, CallTotals>,
    unpriced: BTreeSet<String>,
}

impl Ledger<'_> {
    fn add(&mut self, call: &Call) {
        let by = |what| self.by.contains(&what);
        let group = CostGroup {
            day: by(CostBy::Day).then(|| call.started_at.to_date()),
            role: by(CostBy::Role).then_some(call.role),
            model: by(CostBy::Model).then(|| call.model.clone()),
            document: by(CostBy::Document)
                .then(|| call.document.as_ref().map_or(NO_DOCUMENT.to_owned(), DocumentId::to_string)),
        };
        let usage = Usage {
            prompt_tokens: call.prompt_tokens,
            cached_prompt_tokens: call.cached_prompt_tokens,
            completion_tokens: call.completion_tokens,
        };
        let price = self.prices.of(&call.model);
        if price.is_none() {
            self.unpriced.insert(call.model.clone());
        }
        let spent = self.rows.entry(group.clone()).or_insert(CallTotals { group, ..CallTotals::default() });
        *spent = spent.clone().plus(&CallTotals {
            group: CostGroup::default(),
            calls: 1,
            failed: u64::from(matches!(call.outcome, CallOutcome::Failed { .. })),
            prompt_tokens: call.prompt_tokens,
            cached_prompt_tokens: call.cached_prompt_tokens,
            completion_tokens: call.completion_tokens,
            cost: price.map(|price| price.of(usage)).unwrap_or_default(),
            unpriced_calls: u64::from(price.is_none()),
            uncounted_calls: u64::from(call.is_uncounted()),
        });
    }

    /// Returns the rows with document sources instead of ids: days in order, then the most expensive first.
    fn finish(self, sources: &BTreeMap<String, String>) -> Spending {
        let total = self.rows.values().fold(CallTotals::default(), CallTotals::plus);
        let mut rows: Vec<CallTotals> = self.rows.into_values().collect();
        for row in &mut rows {
            if let Some(document) = &mut row.group.document
                && let Some(source) = sources.get(document)
            {
                document.clone_from(source);
            }
        }
        rows.sort_by_key(|row| {
            let tokens = row.prompt_tokens + row.completion_tokens;
            (row.group.day.clone(), std::cmp::Reverse((row.cost, tokens)), row.group.clone())
        });
        Spending { rows, total, unpriced: self.unpriced }
    }
}

/// Returns the source of each document in the ledger that still exists; removed documents keep their ids.
async fn sources(
    snapshot: &dyn Snapshot,
    ledger: &Ledger<'_>,
) -> Result<BTreeMap<String, String>, StoreError> {
    let ids: BTreeSet<DocumentId> = ledger
        .rows
        .keys()
        .filter_map(|group| group.document.clone())
        .filter(|document| document != NO_DOCUMENT)
        .map(DocumentId::from_stored)
        .collect();
    let ids: Vec<DocumentId> = ids.into_iter().collect();
    let mut sources = BTreeMap::new();
    for page in ids.chunks(PAGE) {
        let documents = snapshot.documents(page).await?;
        sources.extend(documents.into_iter().flatten().map(|it| (it.id.to_string(), it.source)));
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use graphloom_core::Timestamp;

    use super::*;

    fn call(role: Role, model: &str, document: Option<&str>, started_at: u64) -> Call {
        Call {
            role,
            model: model.to_owned(),
            prompt_tokens: 1_000_000,
            cached_prompt_tokens: 500_000,
            completion_tokens: 100_000,
            attempts: 1,
            started_at: Timestamp(started_at),
            duration_ms: 1,
            outcome: CallOutcome::Ok,
            document: document.map(DocumentId::from_stored),
            rejects: 2,
        }
    }

    fn check_rows(by: &[CostBy], prices: &str) -> Vec<String> {
        let prices = Prices::parse(prices).expect("prices");
        let by = by.iter().copied().collect();
        let mut ledger =
            Ledger { by: &by, prices: &prices, rows: BTreeMap::new(), unpriced: BTreeSet::new() };
        ledger.add(&call(Role::Extract, "a:x", Some("d1"), 0));
        ledger.add(&call(Role::Extract, "a:x", Some("d2"), 90_000_000));
        ledger.add(&call(Role::Embed, "b:y", None, 90_000_000));
        let sources = BTreeMap::from([("d1".to_owned(), "one.md".to_owned())]);
        let spending = ledger.finish(&sources);
        let rows = spending.rows.iter().chain([&spending.total]).map(|row| {
            let CostGroup { day, role, model, document } = &row.group;
            let name =
                [day.clone(), role.map(|role| role.name().to_owned()), model.clone(), document.clone()];
            format!("{} {} {}", name.into_iter().flatten().collect::<Vec<_>>().join(" "), row.calls, row.cost)
        });
        rows.collect()
    }

    #[test]
    fn calls_are_grouped_as_requested() {
        let prices = "a=1/1/0.5";
        assert_eq!(check_rows(&[CostBy::Role], prices), ["extract 2 1.7000", "embed 1 0.0000", " 3 1.7000"]);
        assert_eq!(
            check_rows(&[CostBy::Document], prices),
            ["d2 1 0.8500", "one.md 1 0.8500", "(no single document) 1 0.0000", " 3 1.7000"]
        );
        assert_eq!(
            check_rows(&[CostBy::Day, CostBy::Model], prices),
            ["1970-01-01 a:x 1 0.8500", "1970-01-02 a:x 1 0.8500", "1970-01-02 b:y 1 0.0000", " 3 1.7000"]
        );
    }
}
