//! `graphloom eval pairwise`: which of two runs answers better, judged in both orders.

use std::collections::BTreeMap;
use std::path::Path;

use graphloom_engine::chain;
use graphloom_eval::answer;
use graphloom_eval::answering::{AnswersReport, KIND};
use graphloom_eval::pairwise::{self, CriterionSummary, Pair, PairVerdict, PairwiseReport};

use super::judging::{judge, judge_all, nothing_judged, print_judging_cost};
use super::{can_write, columns, not_a, read_json, write_json};
use crate::args::PairwiseArgs;
use crate::commands::App;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, plain};

/// Maximum failures printed.
const MOST_FAILURES: usize = 3;

/// Judges every pair and prints the number of wins.
pub(crate) async fn run(app: &App, args: &PairwiseArgs) -> anyhow::Result<Exit> {
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    if first.run.set_hash != second.run.set_hash {
        let (one, other) = (plain(&first.run.set), plain(&second.run.set));
        let fault =
            Fault::usage(format!("the answers are for different sets or questions: {one} and {other}"));
        return Err(fault.help("compare answers for the same corpus.jsonl and questions.jsonl").into());
    }
    let named = args.arm.as_ref();
    let one = arm_of(&first, &args.first, named.map(|(one, _)| one.as_str()))?;
    let other = arm_of(&second, &args.second, named.map(|(_, other)| other.as_str()))?;
    let mut pairs = pairs(&first, &one, &second, &other);
    pairs.truncate(args.limit.unwrap_or(usize::MAX));
    if pairs.is_empty() {
        let fault = Fault::failed("no question was answered in both runs");
        return Err(fault.help("answer the same questions in both runs").into());
    }
    can_write(&[("--out", args.out.as_deref())])?;
    let judge = judge(app, args.out.as_deref())?;
    let shared_judge = &judge;
    let judge_one = |pair: Pair| async move {
        match pairwise::judge_pair(shared_judge, &pair).await {
            Ok(verdict) => ((pair, Some(verdict)), None),
            Err(error) => ((pair, None), Some(error)),
        }
    };
    let items: Vec<(Pair, Option<PairVerdict>)> = pairs.into_iter().map(|pair| (pair, None)).collect();
    let Some(judged) = judge_all(app, items, |(pair, _)| judge_one(pair)).await? else {
        return Ok(Exit::Interrupted);
    };
    let (mut rows, mut first_error) = (Vec::with_capacity(judged.len()), None);
    for ((pair, verdict), error) in judged {
        let why = error.as_ref().map(|error| chain(error));
        rows.push(verdict.unwrap_or_else(|| PairVerdict::without(&pair, why)));
        first_error = first_error.or(error);
    }
    let report = PairwiseReport::of([&one, &other], &judge, rows);
    if let (0, Some(error)) = (report.pairs, first_error) {
        print_judging_cost(app, &judge);
        warn_failures(app, &report);
        return Err(nothing_judged(&count(report.failed as u64, "pair"), error));
    }
    if let Some(out) = &args.out {
        write_json(out, &report)?;
    }
    if app.output.json {
        app.output.json(&report)?;
    } else {
        print(app, &report)?;
    }
    print_judging_cost(app, &judge);
    warn_failures(app, &report);
    if report.failed > 0 {
        let failed = count(report.failed as u64, "pair");
        app.output.warn(format_args!(
            "warning: {failed} could not be judged, left out; run the same command to try again"
        ));
    }
    Ok(if report.failed > 0 { Exit::Partly } else { Exit::Done })
}

/// Prints the first failed pairs with the reasons.
fn warn_failures(app: &App, report: &PairwiseReport) {
    for row in report.rows.iter().filter(|row| row.failed.is_some()).take(MOST_FAILURES) {
        let reason = one_line(row.failed.as_deref().unwrap_or_default(), 300);
        app.output.warn(format_args!("warning: question {}: {reason}", plain(&row.id)));
    }
}

fn read(path: &Path) -> anyhow::Result<AnswersReport> {
    const WHAT: &str = "report of `eval answers`";
    const REMEDY: &str = "use the FILE written by `graphloom eval answers --out FILE`";
    let report: AnswersReport = read_json(path, WHAT, REMEDY)?;
    match report.kind == KIND {
        true => Ok(report),
        false => {
            let why = format!("its kind is {:?}, not {KIND:?}", one_line(&report.kind, 60));
            Err(not_a(path, WHAT, &why, REMEDY))
        }
    }
}

/// Returns the named arm, or the only one.
fn arm_of(report: &AnswersReport, path: &Path, named: Option<&str>) -> anyhow::Result<String> {
    let arms: Vec<&str> = report.arms.iter().map(|arm| arm.name.as_str()).collect();
    let names = || plain(&arms.join(", "));
    match (named, arms.as_slice()) {
        (Some(name), arms) if arms.contains(&name) => Ok(name.to_owned()),
        (Some(name), _) => {
            let fault = Fault::usage(format!("{} has no arm {}", path.display(), plain(name)));
            Err(fault.help(format!("it has {}", names())).into())
        }
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => {
            let fault = Fault::usage(format!("{} has several arms: {}", path.display(), names()));
            Err(fault.help("choose one per file, such as --arm auto=mix").into())
        }
    }
}

/// Returns the pairs of answers to the questions answered in both runs, in the order of the first run.
fn pairs(first: &AnswersReport, one: &str, second: &AnswersReport, other: &str) -> Vec<Pair> {
    let answers: BTreeMap<&str, &str> = (second.rows.iter())
        .filter(|row| row.arm == other && row.failed.is_none())
        .map(|row| (row.id.as_str(), row.answer.as_str()))
        .collect();
    let rows = first.rows.iter().filter(|row| row.arm == one && row.failed.is_none());
    rows.filter_map(|row| {
        Some(Pair {
            id: row.id.clone(),
            question: row.question.clone(),
            first: answer::bare(&row.answer),
            second: answer::bare(answers.get(row.id.as_str())?),
        })
    })
    .collect()
}

fn print(app: &App, report: &PairwiseReport) -> anyhow::Result<()> {
    let output = &app.output;
    let (first, second) = (plain(&report.first), plain(&report.second));
    let pairs = count(report.pairs as u64, "question");
    output.line(
        output.heading(&format!("{first} against {second}: {pairs}, judged by {}", plain(&report.judge))),
    )?;
    let head = [
        "",
        "first wins",
        "second wins",
        "ties",
        "first's share of wins (95%)",
        "p",
        "orders agree",
        "for answer 1",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for summary in &report.criteria {
        let CriterionSummary {
            criterion,
            first_wins,
            second_wins,
            ties,
            first_share,
            p,
            agreement,
            for_answer_1,
        } = summary;
        rows.push(vec![
            criterion.to_string(),
            first_wins.to_string(),
            second_wins.to_string(),
            ties.to_string(),
            format!("{:.3} ({:.3}-{:.3})", first_share.mean, first_share.low, first_share.high),
            format!("{p:.4}"),
            format!("{agreement:.3}"),
            format!("{for_answer_1:.3}"),
        ]);
    }
    for line in columns(&rows) {
        output.line(line)?;
    }
    Ok(())
}
