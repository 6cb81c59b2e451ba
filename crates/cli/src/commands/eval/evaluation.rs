//! Shared by `eval retrieval` and `eval answers`: set, arms, workspace, and saved results.

use std::collections::BTreeSet;
use std::path::PathBuf;

use graphloom::config::Origin;
use graphloom_core::Visibility;
use graphloom_engine::Engine;
use graphloom_engine::query::Mode;
use graphloom_eval::arm::{Arm, ArmError};
use graphloom_eval::asking::{self, AskOptions, Row, Task};
use graphloom_eval::journal::{Journal, JournalContent};
use graphloom_eval::report::RunInfo;
use graphloom_eval::set::{CORPUS_FILE, QuestionSet};

use super::journal_beside;
use super::passages::{self, IndexOutcome};
use crate::args::{EvaluationArgs, OWN_WORKSPACE};
use crate::commands::App;
use crate::commands::indexing::until_stopped;
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::meter::Meter;
use crate::output::render::{count, one_line, plain};
use crate::wire::{self, QueryModels};

/// Maximum sources per lookup.
const SOURCES_AT_ONCE: usize = 500;

/// Maximum arms of a run.
const MAX_ARMS: usize = 100;

/// A workspace ready for questions.
pub(super) struct OpenWorkspace {
    pub(super) engine: Engine,
    /// Whether some passages are missing or incomplete.
    pub(super) is_partial: bool,
    interrupt: Interrupt,
}

/// Returns the arms in command-line order, modes first.
pub(super) fn arms(args: &EvaluationArgs) -> anyhow::Result<Vec<Arm>> {
    let mut arms: Vec<Arm> = args.modes.iter().map(|mode| Arm::of_mode(*mode)).collect();
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
            let fault = Fault::usage(format!("two arms are named {}", plain(&arm.name)));
            return Err(fault.help("give each --arm a unique name").into());
        }
    }
    if arms.len() > MAX_ARMS {
        return Err(Fault::usage(format!("too many arms: {}, the limit is {MAX_ARMS}", arms.len())).into());
    }
    Ok(arms)
}

/// Adds the expected form to an error about an arm.
pub(super) fn wrong_arm(error: ArmError) -> anyhow::Error {
    let error = anyhow::Error::from(error);
    Fault::usage(format!("{error:#}"))
        .help("an arm is NAME=JSON with the fields of `ask --question-json`, such as 'wide={\"mode\": \"mix\", \"top_k\": 80}'")
        .into()
}

/// Returns the options that both commands share.
pub(super) fn options(args: &EvaluationArgs) -> AskOptions {
    AskOptions {
        concurrency: args.concurrency,
        timed: 0,
        most: 0,
        limit: args.limit,
        release: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Reads the set and prints remarks about it.
pub(super) fn read_set(app: &App, args: &EvaluationArgs) -> anyhow::Result<QuestionSet> {
    let is_own = app
        .settings
        .get("workspace")
        .is_some_and(|setting| setting.origin == Origin::Flag(OWN_WORKSPACE.to_owned()));
    let set = QuestionSet::read(&args.data, is_own)?;
    for remark in &set.remarks {
        app.output.warn(format_args!("warning: {}", one_line(remark, 300)));
    }
    Ok(set)
}

/// Indexes missing passages and opens the workspace. Returns the exit code if indexing was stopped.
pub(super) async fn prepare(
    app: &App,
    args: &EvaluationArgs,
    set: &QuestionSet,
    asks: QueryModels,
) -> anyhow::Result<Result<OpenWorkspace, Exit>> {
    let interrupt = Interrupt::listen()?;
    let is_partial = match &set.passages {
        None => {
            nothing_to_index(app, args)?;
            false
        }
        Some(_) => match passages::index(app, set, &args.indexing, &interrupt).await? {
            IndexOutcome::Whole => false,
            IndexOutcome::Partly => true,
            IndexOutcome::Stopped(exit) => return Ok(Err(exit)),
        },
    };
    let mut engine = wire::query_engine(app, asks).await?;
    engine.models.reranker = wire::reranker(app).await?;
    if set.passages.is_none() {
        warn_of_missing(app, set, &engine).await?;
    }
    Ok(Ok(OpenWorkspace { engine, is_partial, interrupt }))
}

/// Rejects `--prune`, and notes other options that have no effect because the set has no passages of its own.
fn nothing_to_index(app: &App, args: &EvaluationArgs) -> anyhow::Result<()> {
    let folder = args.data.display();
    if args.indexing.prune {
        let fault = Fault::usage(format!(
            "--prune removes documents that are not passages of the set, but {folder} has no {CORPUS_FILE}"
        ));
        return Err(fault.help("remove --prune; use `graphloom rm` to remove documents").into());
    }
    for (is_set, option) in
        [(args.indexing.with_others, "--with-others"), (args.indexing.budget.is_some(), "--budget")]
    {
        if is_set {
            app.output.note(format_args!("{option} has no effect: {folder} has no {CORPUS_FILE} to index"));
        }
    }
    Ok(())
}

/// Warns about documents that the questions need but the workspace does not have.
async fn warn_of_missing(app: &App, set: &QuestionSet, engine: &Engine) -> anyhow::Result<()> {
    let snapshot = engine.store.snapshot().await?;
    let mut held = BTreeSet::new();
    for sources in set.needed_sources().chunks(SOURCES_AT_ONCE) {
        let documents = snapshot.documents_of_sources(sources).await?;
        let live = documents.into_iter().flatten().filter(|document| document.visibility == Visibility::Live);
        held.extend(live.map(|document| document.source));
    }
    for remark in set.not_held(&held, &app.config.workspace.to_string()) {
        app.output.warn(format_args!("warning: {}", one_line(&remark, 300)));
    }
    Ok(())
}

/// Returns the rows of all tasks, new or saved. Each row is saved as it arrives. `None` after Ctrl-C.
pub(super) async fn ask_all<R: Row>(
    app: &App,
    args: &EvaluationArgs,
    ready: &OpenWorkspace,
    tasks: &[Task<'_>],
    options: &AskOptions,
) -> anyhow::Result<Option<Vec<R>>> {
    let path = match &args.out {
        Some(out) => journal_beside(out),
        None => default_journal(app, R::WHAT),
    };
    let (mut journal, kept) = Journal::open::<R>(&path, args.resume)?;
    let JournalContent { rows: done, unreadable } = kept;
    if unreadable > 0 {
        let lines = count(unreadable as u64, "line");
        app.output.note(format_args!("{lines} of {} cannot be read", path.display()));
    }
    let left = tasks.iter().filter(|task| !done.contains_key(&task.key)).count();
    if args.resume {
        let all = count(tasks.len() as u64, "question");
        app.output.note(format_args!("{} of {all} already asked", tasks.len() - left));
        if left == tasks.len() && !done.is_empty() {
            app.output.note(format_args!(
                "{} has results only for another set, workspace or configuration, which cannot be reused",
                path.display()
            ));
        }
    }
    let mut meter = Meter::new(app.output.clone(), "asking", left);
    let mut on_row = |task: &Task<'_>, row: &R| {
        meter.step(&plain(&task.arm.name));
        journal.append(&task.key, row)
    };
    let asking = asking::ask_all(&ready.engine, tasks, options, done, &mut on_row);
    let rows = until_stopped(app, &ready.engine, &ready.interrupt, asking).await.transpose()?;
    let rows = rows.filter(|rows| rows.len() == tasks.len());
    if rows.is_none() {
        app.output.warn("stopped; run the same command with --resume to continue");
    }
    Ok(rows)
}

/// Returns the file where results are saved without `--out`.
fn default_journal(app: &App, what: &str) -> PathBuf {
    app.config.data_dir.join("eval").join(format!("{}.{what}.rows.jsonl", app.config.workspace))
}

/// Describes the run for the report.
pub(super) async fn info(
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
