//! `graphloom eval retrieval`: asks every question with every arm and scores the retrieved passages.

use std::collections::BTreeSet;

use graphloom_eval::asking::{self, AskOptions};
use graphloom_eval::rank::Metric;
use graphloom_eval::report::{Group, RetrievalReport};
use graphloom_eval::retrieval::{self, RetrievalRow};
use graphloom_eval::{html, stats};

use super::evaluation::{self, OpenWorkspace};
use super::{can_write, columns, write_json, write_whole};
use crate::args::RetrievalArgs;
use crate::commands::App;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, plain};
use crate::wire::QueryModels;

/// Maximum arms per table.
const ARMS_ABREAST: usize = 4;

/// Maximum notes of questions printed.
const MOST_NOTES: usize = 3;

/// Indexes missing passages, asks the questions, and prints the scores.
pub(crate) async fn run(app: &App, args: &RetrievalArgs) -> anyhow::Result<Exit> {
    let arms = evaluation::arms(&args.evaluation)?;
    let ks: Vec<usize> = args.k.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let options = AskOptions {
        timed: args.timed,
        most: ks.last().copied().unwrap_or(1),
        ..evaluation::options(&args.evaluation)
    };
    let set = evaluation::read_set(app, &args.evaluation)?;
    let questions = retrieval::selected_questions(&set, &options);
    if questions.is_empty() {
        let help = "list the ids of the needed passages as gold of each question";
        return Err(Fault::failed("no question of the set has gold passages").help(help).into());
    }
    let without = set.questions.iter().filter(|question| question.gold.is_empty()).count();
    if without > 0 {
        app.output.note(format_args!("{} without gold passages left out", count(without as u64, "question")));
    }
    can_write(&[("--out", args.evaluation.out.as_deref()), ("--html", args.html.as_deref())])?;
    let ready = match evaluation::prepare(app, &args.evaluation, &set, QueryModels::Keywords).await? {
        Ok(ready) => ready,
        Err(exit) => return Ok(exit),
    };
    let OpenWorkspace { engine, is_partial, .. } = &ready;
    let tasks = asking::tasks::<RetrievalRow>(engine, &set, &questions, &arms, &options).await?;
    let rows = evaluation::ask_all::<RetrievalRow>(app, &args.evaluation, &ready, &tasks, &options).await?;
    let Some(rows) = rows else { return Ok(Exit::Interrupted) };
    let info = evaluation::info(app, engine, &set, questions.len(), &options).await?;
    let report = RetrievalReport::of(info, ks, &arms, rows);
    if let Some(out) = &args.evaluation.out {
        write_json(out, &report)?;
    }
    if let Some(out) = &args.html {
        write_whole(out, html::page(&report).as_bytes())?;
    }
    if app.output.json {
        app.output.json(&report)?;
    } else {
        print(app, &report)?;
    }
    print_notes(app, &report);
    Ok(if *is_partial || report.failed() > 0 { Exit::Partly } else { Exit::Done })
}

fn print(app: &App, report: &RetrievalReport) -> anyhow::Result<()> {
    let output = &app.output;
    let run = &report.run;
    output.line(output.heading(&format!(
        "{}: {}, {}",
        plain(&run.set),
        count(run.questions as u64, "question"),
        match run.passages {
            0 => format!("documents of workspace {}", run.workspace),
            passages => count(passages as u64, "passage"),
        }
    )))?;
    let groups: Vec<&Group> = report.overall().collect();
    for groups in groups.chunks(ARMS_ABREAST) {
        let mut rows = vec![
            std::iter::once(String::new()).chain(groups.iter().map(|group| plain(&group.arm))).collect(),
        ];
        for metric in report.metrics() {
            let cells =
                groups.iter().map(|group| group.metric(metric).map_or_else(String::new, with_interval));
            rows.push(std::iter::once(metric.to_string()).chain(cells).collect());
        }
        let mut row = |label: &str, cell: &dyn Fn(&Group) -> String| {
            rows.push(
                std::iter::once(label.to_owned()).chain(groups.iter().map(|group| cell(group))).collect(),
            );
        };
        row("p50 / p90 / p99 ms", &|group| {
            let times = group.latency_ms;
            format!("{:.1} / {:.1} / {:.1}", times.p50, times.p90, times.p99)
        });
        row("without models", &|group| {
            let times = group.own_latency_ms;
            format!("{:.1} / {:.1} / {:.1}", times.p50, times.p90, times.p99)
        });
        row("passages", &|group| format!("{:.1}", group.returned));
        row("context tokens", &|group| format!("{:.0}", group.context_tokens));
        row("model calls", &|group| format!("{:.2}", group.calls));
        if groups.iter().any(|group| group.failed > 0) {
            row("failed", &|group| group.failed.to_string());
        }
        output.line("")?;
        for line in columns(&rows) {
            output.line(line)?;
        }
    }
    print_kinds(app, report)
}

/// Prints one metric for each arm and type of question.
fn print_kinds(app: &App, report: &RetrievalReport) -> anyhow::Result<()> {
    let kinds = report.kinds();
    if kinds.is_empty() {
        return Ok(());
    }
    let metric = Metric::Recall(report.main_k());
    let names = report.arms.iter().map(|arm| plain(&arm.name));
    let mut rows =
        vec![[format!("{metric} by type"), "questions".to_owned()].into_iter().chain(names).collect()];
    for kind in kinds {
        let groups: Vec<Option<&Group>> =
            report.arms.iter().map(|arm| report.group(&arm.name, Some(kind))).collect();
        let questions = groups.iter().flatten().map(|group| group.questions).max().unwrap_or(0);
        let cells = groups.iter().map(|group| {
            group
                .and_then(|group| group.metric(metric))
                .map_or_else(String::new, |value| format!("{:.3}", value.mean))
        });
        let name = if kind.is_empty() { "(none)".to_owned() } else { one_line(kind, 40) };
        rows.push([name, questions.to_string()].into_iter().chain(cells).collect());
    }
    app.output.line("")?;
    for line in columns(&rows) {
        app.output.line(line)?;
    }
    Ok(())
}

fn with_interval(value: stats::Estimate) -> String {
    format!("{:.3} ({:.3}-{:.3})", value.mean, value.low, value.high)
}

/// Prints failed questions and notes, a few of each kind.
fn print_notes(app: &App, report: &RetrievalReport) {
    let failed = report.rows.iter().filter_map(|row| Some((row, row.failed.as_ref()?)));
    for (row, reason) in failed.take(MOST_NOTES) {
        let (arm, id) = (plain(&row.arm), plain(&row.id));
        app.output.warn(format_args!("warning: {arm}, question {id}: {}", one_line(reason, 300)));
    }
    let failed = report.failed();
    if failed > 0 {
        let failed = count(failed as u64, "question");
        app.output.warn(format_args!("warning: {failed} failed, counted as misses; --resume tries again"));
    }
    let notes: BTreeSet<&String> = report.rows.iter().flat_map(|row| &row.notes).collect();
    for note in notes.into_iter().take(MOST_NOTES) {
        app.output.warn(format_args!("warning: {}", one_line(note, 300)));
    }
}
