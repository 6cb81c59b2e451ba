//! `graphloom cost`: what model calls cost, out of the ledger.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{Call, CallOutcome, DocumentId, Role, Snapshot, Timestamp, Usage};
use graphloom_engine::money::{Money, Prices};
use serde::Serialize;

use super::App;
use crate::args::{CostArgs, CostBy};
use crate::fault::Exit;
use crate::output::render::{count, plain};
use crate::wire;

/// Ledger rows read at once.
const PAGE: usize = 1000;
/// Rows printed for people; `--json` gives all.
const MOST_PRINTED: usize = 50;
/// Shown for calls that are about no single document, such as summaries.
const NO_DOCUMENT: &str = "(no single document)";

/// What calls of one kind cost together.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
struct Spent {
    #[serde(flatten)]
    group: Group,
    calls: u64,
    failed: u64,
    prompt_tokens: u64,
    /// Of these, tokens that came from the provider's prompt cache.
    cached_prompt_tokens: u64,
    completion_tokens: u64,
    /// Of the models whose price is configured.
    cost: Money,
    /// Calls of models without a configured price.
    unpriced_calls: u64,
}

/// What calls are added up by; `None` where nobody asked for it.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Group {
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
}

#[derive(Debug, Serialize)]
struct Printed {
    rows: Vec<Spent>,
    total: Spent,
    /// Models of the ledger without a configured price.
    unpriced: BTreeSet<String>,
}

/// Prints the sums of the ledger.
pub(crate) async fn run(app: &App, args: &CostArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config)?;
    let snapshot = store.snapshot().await?;
    let mut ledger =
        Ledger { by: &args.by, prices: &app.config.prices, rows: BTreeMap::new(), unpriced: BTreeSet::new() };
    let mut read = 0;
    loop {
        let page = snapshot.scan_calls(read, PAGE).await?;
        let last = page.len() < PAGE;
        read += page.len() as u64;
        page.iter().for_each(|call| ledger.add(call));
        if last {
            break;
        }
    }
    let sources = sources(snapshot.as_ref(), &ledger).await?;
    let printed = ledger.finish(&sources);
    if app.output.json {
        app.output.json(&printed)?;
    } else {
        print(app, &printed)?;
    }
    Ok(Exit::Done)
}

/// The ledger, added up.
struct Ledger<'a> {
    by: &'a [CostBy],
    prices: &'a Prices,
    rows: BTreeMap<Group, Spent>,
    unpriced: BTreeSet<String>,
}

impl Ledger<'_> {
    fn add(&mut self, call: &Call) {
        let by = |what| self.by.contains(&what);
        let group = Group {
            day: by(CostBy::Day).then(|| day(call.started_at)),
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
        let spent = self.rows.entry(group.clone()).or_insert(Spent { group, ..Spent::default() });
        *spent = sum(
            spent.clone(),
            &Spent {
                group: Group::default(),
                calls: 1,
                failed: u64::from(matches!(call.outcome, CallOutcome::Failed { .. })),
                prompt_tokens: call.prompt_tokens,
                cached_prompt_tokens: call.cached_prompt_tokens,
                completion_tokens: call.completion_tokens,
                cost: price.map(|price| price.of(usage)).unwrap_or_default(),
                unpriced_calls: u64::from(price.is_none()),
            },
        );
    }

    /// The rows with the sources of documents in place of their ids; days in order, else the dearest first.
    fn finish(self, sources: &BTreeMap<String, String>) -> Printed {
        let total = self.rows.values().fold(Spent::default(), sum);
        let mut rows: Vec<Spent> = self.rows.into_values().collect();
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
        Printed { rows, total, unpriced: self.unpriced }
    }
}

fn sum(spent: Spent, more: &Spent) -> Spent {
    Spent {
        group: spent.group,
        calls: spent.calls + more.calls,
        failed: spent.failed + more.failed,
        prompt_tokens: spent.prompt_tokens + more.prompt_tokens,
        cached_prompt_tokens: spent.cached_prompt_tokens + more.cached_prompt_tokens,
        completion_tokens: spent.completion_tokens + more.completion_tokens,
        cost: spent.cost + more.cost,
        unpriced_calls: spent.unpriced_calls + more.unpriced_calls,
    }
}

/// The source of each document of the ledger that is still there; ids of removed ones stay ids.
async fn sources(snapshot: &dyn Snapshot, ledger: &Ledger<'_>) -> anyhow::Result<BTreeMap<String, String>> {
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

fn print(app: &App, printed: &Printed) -> anyhow::Result<()> {
    let output = &app.output;
    if printed.rows.is_empty() {
        output.line("no model was called")?;
        return Ok(());
    }
    for row in printed.rows.iter().take(MOST_PRINTED) {
        let Group { day, role, model, document } = &row.group;
        let parts = [
            day.clone(),
            role.map(|role| role.name().to_owned()),
            model.as_deref().map(plain),
            document.as_deref().map(plain),
        ];
        let name = parts.into_iter().flatten().collect::<Vec<_>>().join("  ");
        output.line(format_args!("{name}: {}", words(row)))?;
    }
    if let Some(more) = printed.rows.len().checked_sub(MOST_PRINTED).filter(|more| *more > 0) {
        output.line(format_args!("and {more} more; --json lists all"))?;
    }
    output.line(format_args!("{}: {}", output.heading("together"), words(&printed.total)))?;
    for model in &printed.unpriced {
        output.note(format_args!("no price configured for {}", plain(model)));
    }
    Ok(())
}

fn words(spent: &Spent) -> String {
    let mut text = count(spent.calls, "call");
    if spent.failed > 0 {
        text.push_str(&format!(" ({} failed)", spent.failed));
    }
    text.push_str(&format!(", {} tokens in", spent.prompt_tokens));
    if spent.cached_prompt_tokens > 0 {
        text.push_str(&format!(" ({} from the provider's cache)", spent.cached_prompt_tokens));
    }
    text.push_str(&format!(", {} tokens out", spent.completion_tokens));
    if spent.unpriced_calls < spent.calls {
        text.push_str(&format!(", costs {}", spent.cost));
        if spent.unpriced_calls > 0 {
            text.push_str(&format!(" and {} without a price", count(spent.unpriced_calls, "call")));
        }
    }
    text
}

/// The day of a time in UTC, as `2024-02-29`.
pub(super) fn day(time: Timestamp) -> String {
    const DAY_MS: u64 = 86_400_000;
    // Days of the civil calendar, counted from 1 March of year 0, in cycles of 400 years.
    let days = time.0 / DAY_MS + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{of_month:02}", year + cycle * 400 + next)
}

#[cfg(test)]
mod tests {
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
        let mut ledger = Ledger { by, prices: &prices, rows: BTreeMap::new(), unpriced: BTreeSet::new() };
        ledger.add(&call(Role::Extract, "a:x", Some("d1"), 0));
        ledger.add(&call(Role::Extract, "a:x", Some("d2"), 90_000_000));
        ledger.add(&call(Role::Embed, "b:y", None, 90_000_000));
        let sources = BTreeMap::from([("d1".to_owned(), "one.md".to_owned())]);
        let printed = ledger.finish(&sources);
        let rows = printed.rows.iter().chain([&printed.total]).map(|row| {
            let Group { day, role, model, document } = &row.group;
            let name =
                [day.clone(), role.map(|role| role.name().to_owned()), model.clone(), document.clone()];
            format!("{} {} {}", name.into_iter().flatten().collect::<Vec<_>>().join(" "), row.calls, row.cost)
        });
        rows.collect()
    }

    #[test]
    fn calls_are_added_up_by_what_was_asked_for() {
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

    #[test]
    fn days_follow_the_calendar() {
        for (ms, expected) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_709_164_799_999, "2024-02-28"),
            (1_709_164_800_000, "2024-02-29"),
            (4_107_542_400_000, "2100-03-01"),
        ] {
            assert_eq!(day(Timestamp(ms)), expected);
        }
    }
}
