//! `graphloom eval ragchecker`: judges the claims of answers and derives metrics of retrieval and LLM.

use graphloom_engine::chain;
use graphloom_eval::ragchecker::{CheckedAnswer, CheckingFile, LabelError, MetricGroups, Metrics};
use graphloom_eval::{claims, stats};
use serde::Serialize;

use super::judging::{judge, judge_all, nothing_judged, print_judging_cost};
use super::{can_write, columns, not_a, read_bytes, write_json};
use crate::args::RagcheckerArgs;
use crate::commands::App;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, plain};

/// Maximum failures printed.
const MOST_FAILURES: usize = 3;

#[derive(Serialize)]
struct Summary<'a> {
    answers: usize,
    failed: usize,
    metrics: Option<MetricGroups>,
    file: &'a CheckingFile,
}

/// Judges claims without a label and prints the metrics.
pub(crate) async fn run(app: &App, args: &RagcheckerArgs) -> anyhow::Result<Exit> {
    let remedy = "`graphloom eval answers --ragchecker FILE` writes one";
    let mut file = CheckingFile::of_json(&read_bytes(&args.file)?).map_err(|error| {
        let remedy = error.remedy().unwrap_or(remedy);
        not_a(
            &args.file,
            "file of answers in RAGChecker's layout",
            &one_line(&error.to_string(), 300),
            remedy,
        )
    })?;
    if file.results.is_empty() {
        return Err(Fault::failed(format!("{} has no answers", args.file.display())).help(remedy).into());
    }
    let is_judged = |answer: &CheckedAnswer| match answer.metrics_of_labels() {
        Ok(_) => Ok(true),
        Err(LabelError::Missing { .. }) => Ok(false),
        Err(error) => {
            let what = format!("{}: {}", args.file.display(), plain(&error.to_string()));
            Err(Fault::failed(what).help(error.remedy()))
        }
    };
    let mut is_whole = true;
    for answer in &file.results {
        is_whole &= is_judged(answer)?;
        if let Some(text) = answer.claims_of_nothing() {
            app.output.warn(format_args!(
                "warning: answer {}: {text} is empty but has claims; they and their labels are used as they are",
                plain(&answer.query_id)
            ));
        }
    }
    can_write(&[("--out", args.out.as_deref())])?;
    let (mut failures, mut first_error) = (Vec::new(), None);
    if !is_whole {
        let judge = judge(app, args.out.as_deref())?;
        let shared_judge = &judge;
        let one = |mut answer: CheckedAnswer| async move {
            let error = claims::judge_answer(shared_judge, &mut answer).await.err();
            (answer, error)
        };
        let Some(judged) = judge_all(app, std::mem::take(&mut file.results), one).await? else {
            return Ok(Exit::Interrupted);
        };
        for (answer, error) in judged {
            if let Some(error) = error {
                failures.push(format!("answer {}: {}", plain(&answer.query_id), chain(&error)));
                first_error = first_error.or(Some(error));
            }
            file.results.push(answer);
        }
        print_judging_cost(app, &judge);
    }
    let mut metrics: Vec<Metrics> = Vec::new();
    for answer in &mut file.results {
        answer.metrics = answer.metrics_of_labels().ok();
        metrics.extend(answer.metrics);
    }
    if let (true, Some(error)) = (metrics.is_empty(), first_error) {
        warn_failures(app, &failures);
        return Err(nothing_judged(&count(failures.len() as u64, "answer"), error));
    }
    file.metrics = MetricGroups::of(&metrics);
    if let Some(out) = &args.out {
        write_json(out, &file)?;
    }
    if app.output.json {
        let (answers, failed) = (metrics.len(), failures.len());
        app.output.json(&Summary { answers, failed, metrics: file.metrics, file: &file })?;
    } else {
        print(app, &metrics)?;
    }
    warn_failures(app, &failures);
    if !failures.is_empty() {
        let failed = count(failures.len() as u64, "answer");
        app.output.warn(format_args!(
            "warning: {failed} could not be judged, left out; run the same command to try again"
        ));
    }
    Ok(if failures.is_empty() { Exit::Done } else { Exit::Partly })
}

/// Prints the first failed answers with the reasons.
fn warn_failures(app: &App, failures: &[String]) {
    for failure in failures.iter().take(MOST_FAILURES) {
        app.output.warn(format_args!("warning: {}", one_line(failure, 400)));
    }
}

/// Prints the means in percent with confidence intervals, per group.
fn print(app: &App, metrics: &[Metrics]) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(output.heading(&count(metrics.len() as u64, "answer")))?;
    let groups = [("overall", 0..3), ("retriever", 3..5), ("generator", 5..11)];
    let names = Metrics::default().named().map(|(name, _)| name);
    for (group, places) in groups {
        output.line("")?;
        output.line(output.heading(group))?;
        let rows: Vec<Vec<String>> = places
            .map(|at| {
                let values: Vec<f64> = metrics.iter().map(|metrics| metrics.named()[at].1 * 100.0).collect();
                let value = stats::estimate(&values);
                vec![
                    names[at].to_owned(),
                    format!("{:.1}", value.mean),
                    format!("({:.1}-{:.1})", value.low, value.high),
                ]
            })
            .collect();
        for line in columns(&rows) {
            output.line(line)?;
        }
    }
    Ok(())
}
