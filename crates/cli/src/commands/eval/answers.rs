//! `graphloom eval answers`: answers every question with every arm and compares with the gold answers.

use graphloom_engine::Models;
use graphloom_eval::answering::{self, AnswerGroup, AnswerRow, AnswersReport, SHORT_ANSWER};
use graphloom_eval::arm::Arm;
use graphloom_eval::asking::{self, AskOptions};
use graphloom_eval::stats::Estimate;

use super::evaluation::{self, OpenWorkspace};
use super::{can_write, columns, write_json};
use crate::args::AnswersArgs;
use crate::commands::App;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, plain};
use crate::wire::QueryModels;

/// Maximum arms per table.
const ARMS_ABREAST: usize = 4;

/// Name of the answerer if there is no LLM.
const BY_RULES: &str = "verbatim sentences";

/// Maximum failed questions printed.
const MOST_FAILURES: usize = 3;

/// Indexes missing passages, asks the questions, and prints the scores.
pub(crate) async fn run(app: &App, args: &AnswersArgs) -> anyhow::Result<Exit> {
    let arms = arms(app, args)?;
    if args.ragchecker.is_some() && arms.len() > 1 {
        let fault = Fault::usage(format!("--ragchecker needs exactly one arm, not {}", arms.len()));
        return Err(fault.help("name one mode or arm").into());
    }
    let options: AskOptions = evaluation::options(&args.evaluation);
    let set = evaluation::read_set(app, &args.evaluation)?;
    let questions = answering::selected_questions(&set, &options);
    can_write(&[("--out", args.evaluation.out.as_deref()), ("--ragchecker", args.ragchecker.as_deref())])?;
    let ready = match evaluation::prepare(app, &args.evaluation, &set, QueryModels::Answer).await? {
        Ok(ready) => ready,
        Err(exit) => return Ok(exit),
    };
    let OpenWorkspace { engine, is_partial, .. } = &ready;
    let answerer = answerer(&engine.models);
    if engine.models.answer.is_none() {
        app.output.note(
            "no LLM is configured: scoring verbatim sentences; choose an LLM with --set answer_llm=openai:MODEL",
        );
    }
    let tasks = asking::tasks::<AnswerRow>(engine, &set, &questions, &arms, &options).await?;
    let rows = evaluation::ask_all::<AnswerRow>(app, &args.evaluation, &ready, &tasks, &options).await?;
    let Some(rows) = rows else { return Ok(Exit::Interrupted) };
    let info = evaluation::info(app, engine, &set, questions.len(), &options).await?;
    let report = AnswersReport::of(info, answerer, &arms, rows);
    if let Some(out) = &args.evaluation.out {
        write_json(out, &report)?;
    }
    if let (Some(out), Some(arm)) = (&args.ragchecker, arms.first()) {
        let file = report.checking_file(&arm.name);
        write_json(out, &file)?;
        let answers = count(file.results.len() as u64, "answer");
        app.output.note(format_args!(
            "{answers} for `graphloom eval ragchecker {}`; those without a gold answer are left out",
            out.display()
        ));
    }
    if app.output.json {
        app.output.json(&report)?;
    } else {
        print(app, &report)?;
    }
    for row in report.rows.iter().filter(|row| row.failed.is_some()).take(MOST_FAILURES) {
        let reason = one_line(row.failed.as_deref().unwrap_or_default(), 300);
        app.output.warn(format_args!("warning: {}, question {}: {reason}", plain(&row.arm), plain(&row.id)));
    }
    if report.failed() > 0 {
        let failed = count(report.failed() as u64, "question");
        app.output.warn(format_args!("warning: {failed} failed, counted as wrong; --resume tries again"));
    }
    Ok(if *is_partial || report.failed() > 0 { Exit::Partly } else { Exit::Done })
}

/// Returns the arms with the requested form of answer.
fn arms(app: &App, args: &AnswersArgs) -> anyhow::Result<Vec<Arm>> {
    let form = args.response_type.as_deref().unwrap_or(SHORT_ANSWER);
    let arms = evaluation::arms(&args.evaluation)?.into_iter().map(|arm| {
        let mut arm = answering::with_form(arm, form);
        arm.question.prefix_user_prompt(&app.config.user_prompt_prefix);
        arm.check().map_err(evaluation::wrong_arm)?;
        Ok(arm)
    });
    arms.collect()
}

/// Returns the name of the answer model or, without one, how sentences are chosen.
fn answerer(models: &Models) -> String {
    match (&models.answer, &models.sentence_scorer) {
        (Some(model), _) => model.name().to_owned(),
        (None, Some(scorer)) => format!("{BY_RULES}, scored by {}", scorer.name()),
        (None, None) => BY_RULES.to_owned(),
    }
}

fn print(app: &App, report: &AnswersReport) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(output.heading(&format!(
        "{}: {}, answered by {}",
        plain(&report.run.set),
        count(report.run.questions as u64, "question"),
        plain(&report.answerer)
    )))?;
    let groups: Vec<&AnswerGroup> = report.groups.iter().filter(|group| group.kind.is_none()).collect();
    for groups in groups.chunks(ARMS_ABREAST) {
        let names = groups.iter().map(|group| plain(&group.arm));
        let mut rows = vec![std::iter::once(String::new()).chain(names).collect()];
        let mut row = |label: &str, cell: &dyn Fn(&AnswerGroup) -> String| {
            let cells = groups.iter().map(|group| cell(group));
            rows.push(std::iter::once(label.to_owned()).chain(cells).collect());
        };
        row("exact match", &|group| with_interval(group.exact_match));
        row("F1", &|group| with_interval(group.f1));
        row("contained", &|group| with_interval(group.contained));
        row("scored", &|group| group.scored.to_string());
        row("found something", &|group| format!("{:.3}", group.found));
        row("words", &|group| format!("{:.1}", group.words));
        row("p50 / p90 / p99 ms", &|group| {
            let times = group.latency_ms;
            format!("{:.0} / {:.0} / {:.0}", times.p50, times.p90, times.p99)
        });
        row("tokens in / out", &|group| {
            format!("{:.0} / {:.0}", group.prompt_tokens, group.completion_tokens)
        });
        row("model calls", &|group| format!("{:.2}", group.calls));
        output.line("")?;
        for line in columns(&rows) {
            output.line(line)?;
        }
    }
    for arm in &report.arms {
        print_verdicts(app, report, &arm.name)?;
    }
    let of_kinds: Vec<&AnswerGroup> = report.groups.iter().filter(|group| group.kind.is_some()).collect();
    if of_kinds.is_empty() {
        return Ok(());
    }
    let head = ["by type", "arm", "questions", "exact match", "F1", "contained"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for group in of_kinds {
        let kind = group.kind.as_deref().filter(|kind| !kind.is_empty()).unwrap_or("(none)");
        let scores = [group.exact_match, group.f1, group.contained].map(|value| format!("{:.3}", value.mean));
        let first = [one_line(kind, 40), plain(&group.arm), group.questions.to_string()];
        rows.push(first.into_iter().chain(scores).collect());
    }
    output.line("")?;
    for line in columns(&rows) {
        output.line(line)?;
    }
    Ok(())
}

/// Prints how many answers of an arm are right and wrong, if the set has gold answers.
fn print_verdicts(app: &App, report: &AnswersReport, arm: &str) -> anyhow::Result<()> {
    let groups = report.verdicts(arm);
    if groups.is_empty() {
        return Ok(());
    }
    let head = ["verdicts", "questions", "correct", "partly", "wrong", "wrongly refused", "wrongly answered"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, counts) in groups {
        let cells = [
            counts.total(),
            counts.correct,
            counts.partly,
            counts.wrong,
            counts.wrongly_refused,
            counts.wrongly_answered,
        ];
        rows.push(std::iter::once(one_line(&name, 40)).chain(cells.map(|cell| cell.to_string())).collect());
    }
    app.output.line("")?;
    for line in columns(&rows) {
        app.output.line(line)?;
    }
    Ok(())
}

fn with_interval(value: Estimate) -> String {
    format!("{:.3} ({:.3}-{:.3})", value.mean, value.low, value.high)
}
