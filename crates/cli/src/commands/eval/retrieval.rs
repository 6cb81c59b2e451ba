//! `graphloom eval retrieval`: every question in every arm, scored.

use std::collections::BTreeSet;
use std::path::PathBuf;

use graphloom_engine::Engine;
use graphloom_engine::query::Mode;
use graphloom_eval::arm::Arm;
use graphloom_eval::journal::{Journal, Kept};
use graphloom_eval::rank::Metric;
use graphloom_eval::report::{Group, RetrievalReport, RunInfo};
use graphloom_eval::retrieval::{self, AskOptions, RetrievalRow};
use graphloom_eval::set::QuestionSet;
use graphloom_eval::{html, stats};

use super::passages::{self, Indexed};
use super::{columns, journal_beside, write_json, write_whole};
use crate::args::{OWN_WORKSPACE, RetrievalArgs};
use crate::commands::App;
use crate::config::Origin;
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::meter::Meter;
use crate::output::render::{count, one_line, plain};
use crate::wire::{self, Asks};

/// Arms beside each other in a table.
const ARMS_ABREAST: usize = 4;

/// Most arms of one run.
const MAX_ARMS: usize = 100;

/// Notes of questions that are printed.
const MOST_NOTES: usize = 3;

/// Indexes what is missing, asks, and prints the figures.
pub(crate) async fn run(app: &App, args: &RetrievalArgs) -> anyhow::Result<Exit> {
    let arms = arms(args)?;
    let ks: Vec<usize> = args.k.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let options = AskOptions {
        concurrency: args.concurrency,
        timed: args.timed,
        most: ks.last().copied().unwrap_or(1),
        limit: args.limit,
        release: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let is_own = app
        .settings
        .get("workspace")
        .is_some_and(|setting| setting.origin == Origin::Flag(OWN_WORKSPACE.to_owned()));
    let set = QuestionSet::read(&args.data, is_own)?;
    for remark in &set.remarks {
        app.output.warn(format_args!("warning: {}", one_line(remark, 300)));
    }
    let asked = retrieval::asked(&set, &options).len();
    if asked == 0 {
        let help = "give each question the ids of the passages it needs as gold";
        return Err(Fault::failed("no question of the set says which passages it needs").help(help).into());
    }
    let without = set.questions.iter().filter(|question| question.gold.is_empty()).count();
    if without > 0 {
        app.output.note(format_args!("{} without gold passages left out", count(without as u64, "question")));
    }
    let interrupt = Interrupt::listen()?;
    let is_partial = match &set.passages {
        None => false,
        Some(_) => match passages::index(app, &set, &args.indexing, &interrupt).await? {
            Indexed::Whole => false,
            Indexed::Partly => true,
            Indexed::Stopped(exit) => return Ok(exit),
        },
    };
    let mut engine = wire::query_engine(app, Asks::Keywords).await?;
    engine.models.reranker = wire::reranker(app)?;
    let Some(rows) = ask(app, args, &engine, &set, &arms, &options, &interrupt).await? else {
        app.output.warn("stopped; the same command with --resume goes on");
        return Ok(Exit::Interrupted);
    };
    let report = RetrievalReport::of(info(app, &engine, &set, asked, &options).await?, ks, &arms, rows);
    if let Some(out) = &args.out {
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
    tell_notes(app, &report);
    Ok(if is_partial || report.failed() > 0 { Exit::Partly } else { Exit::Done })
}

/// The arms in the order of the command line: modes first.
fn arms(args: &RetrievalArgs) -> anyhow::Result<Vec<Arm>> {
    let mut arms: Vec<Arm> = args.modes.iter().map(|mode| Arm::of_mode((*mode).into())).collect();
    for (name, json) in &args.arm {
        arms.push(Arm::of_json(name, json).map_err(wrong_arm)?);
    }
    if arms.is_empty() {
        arms.push(Arm::of_mode(Mode::Auto));
    }
    let mut names = BTreeSet::new();
    for arm in &arms {
        arm.check().map_err(wrong_arm)?;
        if !names.insert(&arm.name) {
            let fault = Fault::usage(format!("two arms have the name {}", plain(&arm.name)));
            return Err(fault.help("give each --arm a name of its own").into());
        }
    }
    if arms.len() > MAX_ARMS {
        return Err(Fault::usage(format!("{} arms are more than {MAX_ARMS}", arms.len())).into());
    }
    Ok(arms)
}

fn wrong_arm(error: graphloom_eval::arm::ArmError) -> anyhow::Error {
    let error = anyhow::Error::from(error);
    Fault::usage(format!("{error:#}"))
        .help("an arm is NAME=JSON with the fields of `ask --question-json`, such as 'wide={\"mode\": \"mix\", \"top_k\": 80}'")
        .into()
}

/// The rows of everything, asked now or before; `None` where Ctrl-C came between.
async fn ask(
    app: &App,
    args: &RetrievalArgs,
    engine: &Engine,
    set: &QuestionSet,
    arms: &[Arm],
    options: &AskOptions,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Vec<RetrievalRow>>> {
    let tasks = retrieval::tasks(engine, set, arms, options).await?;
    let path = match &args.out {
        Some(out) => journal_beside(out),
        None => default_journal(app),
    };
    let (mut journal, kept) = Journal::open::<RetrievalRow>(&path, args.resume)?;
    let Kept { rows: done, unreadable } = kept;
    if unreadable > 0 {
        app.output.note(format_args!(
            "{} of {} not readable",
            count(unreadable as u64, "line"),
            path.display()
        ));
    }
    let left = tasks.iter().filter(|task| !done.contains_key(&task.key)).count();
    if args.resume {
        app.output.note(format_args!(
            "{} of {} asked before",
            tasks.len() - left,
            count(tasks.len() as u64, "question")
        ));
    }
    let mut meter = Meter::new(app.output, "asking", left);
    let mut on_row = |key: &_, row: &RetrievalRow| {
        meter.step(&row.arm);
        journal.append(key, row)
    };
    let asking = retrieval::ask_all(engine, &tasks, options, done, &mut on_row);
    tokio::select! {
        rows = asking => Ok(Some(rows?)),
        () = interrupt.wait() => Ok(None),
    }
}

/// Where results are kept while they come, without --out.
fn default_journal(app: &App) -> PathBuf {
    app.config.data_dir.join("eval").join(format!("{}.rows.jsonl", app.config.workspace))
}

async fn info(
    app: &App,
    engine: &Engine,
    set: &QuestionSet,
    questions: usize,
    options: &AskOptions,
) -> anyhow::Result<RunInfo> {
    let named = |model: Option<String>, none: &str| model.unwrap_or_else(|| none.to_owned());
    let models = &engine.models;
    Ok(RunInfo {
        set: set.name.clone(),
        set_hash: set.hash.clone(),
        passages: set.passages.as_ref().map_or(0, Vec::len),
        questions,
        workspace: app.config.workspace.to_string(),
        graph_revision: engine.store.snapshot().await?.graph_revision(),
        embedder: models.embedder.name().to_owned(),
        extractor: named(app.config.models.extract.as_ref().map(ToString::to_string), "rules"),
        keywords: named(models.keywords.as_ref().map(|model| model.name().to_owned()), "rules"),
        reranker: named(models.reranker.as_ref().map(|model| model.name().to_owned()), "none"),
        concurrency: options.concurrency,
        timed: options.timed,
        release: options.release.clone(),
    })
}

fn print(app: &App, report: &RetrievalReport) -> anyhow::Result<()> {
    let output = &app.output;
    let run = &report.run;
    output.line(output.heading(&format!(
        "{}: {}, {}",
        plain(&run.set),
        count(run.questions as u64, "question"),
        count(run.passages as u64, "passage")
    )))?;
    let groups: Vec<&Group> = report.overall().collect();
    for groups in groups.chunks(ARMS_ABREAST) {
        let mut rows = vec![
            std::iter::once(String::new()).chain(groups.iter().map(|group| plain(&group.arm))).collect(),
        ];
        for metric in report.metrics() {
            let cells = groups.iter().map(|group| group.metric(metric).map_or_else(String::new, told));
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

/// One figure for each arm and type of question.
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

fn told(value: stats::Estimate) -> String {
    format!("{:.3} ({:.3}-{:.3})", value.mean, value.low, value.high)
}

/// Says what did not go as asked for, a few of each kind.
fn tell_notes(app: &App, report: &RetrievalReport) {
    let failed = report.rows.iter().filter_map(|row| Some((row, row.failed.as_ref()?)));
    for (row, reason) in failed.take(MOST_NOTES) {
        let (arm, id) = (plain(&row.arm), plain(&row.id));
        app.output.warn(format_args!("warning: {arm}, question {id}: {}", one_line(reason, 300)));
    }
    let failed = report.failed();
    if failed > 0 {
        let failed = count(failed as u64, "question");
        app.output.warn(format_args!(
            "warning: {failed} could not be asked and count as having found nothing; --resume asks them again"
        ));
    }
    let notes: BTreeSet<&String> = report.rows.iter().flat_map(|row| &row.notes).collect();
    for note in notes.into_iter().take(MOST_NOTES) {
        app.output.warn(format_args!("warning: {}", one_line(note, 300)));
    }
}
