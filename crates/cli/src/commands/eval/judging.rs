//! Shared by `eval ragchecker` and `eval pairwise`: a judge whose verdicts are saved.

use std::future::Future;
use std::path::Path;

use futures::{StreamExt, stream};
use graphloom::wording::Wording;
use graphloom_engine::index::StopRequest;
use graphloom_eval::journal::Journal;
use graphloom_eval::judge::{Judge, JudgeError, JudgeSpent};

use super::journal_beside;
use crate::commands::App;
use crate::commands::indexing::until_finished;
use crate::fault::{Fault, remedy};
use crate::interrupt::Interrupt;
use crate::output::meter::Meter;
use crate::output::render::count;
use crate::wire;

/// Consecutive failures after which the run stops.
const MOST_FAILURES_IN_A_ROW: usize = 5;

/// Returns the configured judge with its saved verdicts, which are stored beside `out` or in the data folder.
pub(super) fn judge(app: &App, out: Option<&Path>) -> anyhow::Result<Judge> {
    let model = wire::judge(app)?;
    let prompts = Wording::read(&app.config)?.prompts;
    let path = match out {
        Some(out) => journal_beside(out),
        None => app.config.data_dir.join("eval").join("judge.rows.jsonl"),
    };
    let (journal, kept) = Journal::open(&path, true)?;
    Ok(Judge::new(model, prompts, journal, kept))
}

/// Judges all items, several at once, and returns the results in order. `None` after Ctrl-C; verdicts until then are saved.
///
/// - `one`: judges one item; returns the error if it failed.
pub(super) async fn judge_all<T, F>(
    app: &App,
    items: Vec<T>,
    one: impl Fn(T) -> F,
) -> anyhow::Result<Option<Vec<(T, Option<JudgeError>)>>>
where
    F: Future<Output = (T, Option<JudgeError>)>,
{
    let interrupt = Interrupt::listen()?;
    let stop = StopRequest::default();
    let all = items.len();
    let mut meter = Meter::new(app.output.clone(), "judging", all);
    let judging = async {
        let mut judged = Vec::new();
        let mut failures = 0;
        let one = async |item| if stop.is_made() { None } else { Some(one(item).await) };
        let mut outcomes = stream::iter(items).map(one).buffered(app.config.max_concurrent_calls.max(1));
        while let Some(Some((item, error))) = outcomes.next().await {
            meter.step(if error.is_some() { "failed" } else { "judged" });
            failures = if error.is_some() { failures + 1 } else { 0 };
            match error {
                Some(error) if failures == MOST_FAILURES_IN_A_ROW => {
                    let what = format!("{MOST_FAILURES_IN_A_ROW} items in a row could not be judged");
                    return Err(anyhow::Error::from(error).context(what));
                }
                error => judged.push((item, error)),
            }
        }
        Ok(judged)
    };
    let judged = until_finished(app, &interrupt, &stop, true, judging).await.transpose()?;
    let judged = judged.filter(|judged| judged.len() == all);
    if judged.is_none() {
        app.output.warn("stopped; run the same command to continue");
    }
    Ok(judged)
}

/// Returns the error for a run in which every item failed, which has no metrics. The reasons were printed before.
///
/// - `nouns`: the items, such as `4 pairs`.
/// - `first`: the first error.
pub(super) fn nothing_judged(nouns: &str, first: JudgeError) -> anyhow::Error {
    let help = remedy(&anyhow::Error::from(first));
    let fault = Fault::failed(format!("judging failed: {nouns} failed"));
    fault.help(help.unwrap_or_else(|| "run the same command to try again".to_owned())).into()
}

/// Prints the cost of judging.
pub(super) fn print_judging_cost(app: &App, judge: &Judge) {
    let JudgeSpent { calls, remembered, prompt_tokens, completion_tokens, .. } = judge.spent();
    let price = app.config.prices.of(judge.name()).map(|price| {
        let usage = graphloom_core::Usage {
            prompt_tokens,
            cached_prompt_tokens: judge.spent().cached_prompt_tokens,
            completion_tokens,
        };
        format!(", {}", price.of(usage))
    });
    app.output.note(format_args!(
        "judged by {}: {}, {prompt_tokens} tokens sent, {completion_tokens} received{}; {remembered} cached",
        judge.name(),
        count(calls, "call"),
        price.unwrap_or_default()
    ));
}
