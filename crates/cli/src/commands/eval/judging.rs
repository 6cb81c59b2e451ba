//! What `eval ragchecker` and `eval pairwise` have in common: a judge whose verdicts are kept.

use std::future::Future;
use std::path::Path;

use futures::{StreamExt, stream};
use graphloom::wording::Wording;
use graphloom_eval::journal::Journal;
use graphloom_eval::judge::{Judge, JudgeError, JudgeSpent};

use super::journal_beside;
use crate::commands::App;
use crate::fault::{Fault, remedy};
use crate::interrupt::Interrupt;
use crate::output::meter::Meter;
use crate::output::render::count;
use crate::wire;

/// Items that fail one after another before the run gives up.
const MOST_FAILURES_IN_A_ROW: usize = 5;

/// The configured judge with what it said before, kept beside `out` or in the data folder.
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

/// Judges every item, several at once, in order; `None` where Ctrl-C came between. What was judged by then is kept.
///
/// - `one`: judges one; why it failed, where it did.
pub(super) async fn judge_all<T, F>(
    app: &App,
    items: Vec<T>,
    one: impl Fn(T) -> F,
) -> anyhow::Result<Option<Vec<(T, Option<JudgeError>)>>>
where
    F: Future<Output = (T, Option<JudgeError>)>,
{
    let interrupt = Interrupt::listen()?;
    let mut meter = Meter::new(app.output, "judging", items.len());
    let judging = async {
        let mut judged = Vec::new();
        let mut failures = 0;
        let mut outcomes = stream::iter(items).map(one).buffered(app.config.max_concurrent_calls.max(1));
        while let Some((item, error)) = outcomes.next().await {
            meter.step(if error.is_some() { "failed" } else { "judged" });
            failures = if error.is_some() { failures + 1 } else { 0 };
            match error {
                Some(error) if failures == MOST_FAILURES_IN_A_ROW => {
                    let what = format!("{MOST_FAILURES_IN_A_ROW} could not be judged one after another");
                    return Err(anyhow::Error::from(error).context(what));
                }
                error => judged.push((item, error)),
            }
        }
        Ok(judged)
    };
    tokio::select! {
        judged = judging => judged.map(Some),
        () = interrupt.wait() => {
            app.output.warn("stopped; the same command goes on");
            Ok(None)
        }
    }
}

/// The error where nothing at all could be judged: there are no figures then. The reasons are named before.
///
/// - `nouns`: what was to be judged, such as `4 pairs`.
/// - `first`: why the first could not be.
pub(super) fn nothing_judged(nouns: &str, first: JudgeError) -> anyhow::Error {
    let help = remedy(&anyhow::Error::from(first));
    let fault = Fault::failed(format!("nothing could be judged: {nouns} failed"));
    fault.help(help.unwrap_or_else(|| "the same command tries again".to_owned())).into()
}

/// Says what judging cost.
pub(super) fn tell_spent(app: &App, judge: &Judge) {
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
        "judged by {}: {}, {prompt_tokens} tokens sent, {completion_tokens} received{}; {remembered} remembered",
        judge.name(),
        count(calls, "call"),
        price.unwrap_or_default()
    ));
}
