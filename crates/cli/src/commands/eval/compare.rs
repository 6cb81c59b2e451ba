//! `graphloom eval compare`: differences between two runs.

use std::path::Path;

use graphloom_eval::compare::{self, ArmComparison, Change, CompareError, Difference};
use graphloom_eval::report::{KIND, RetrievalReport};

use super::{columns, not_a, read_json};
use crate::args::CompareArgs;
use crate::commands::App;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, plain};

/// Compares two runs; the exit code tells whether a metric is significantly worse.
pub(crate) fn run(app: &App, args: &CompareArgs) -> anyhow::Result<Exit> {
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    let comparison = compare::compare(&first, &second, &args.arm).map_err(|error| {
        let remedy = match &error {
            CompareError::NothingPaired { .. } => "pair arms with different names, such as --arm naive=auto",
            error => error.remedy(),
        };
        Fault::usage(error.to_string()).help(remedy)
    })?;
    if app.output.json {
        app.output.json(&comparison)?;
    } else {
        for arm in &comparison.arms {
            print(app, arm, args.most)?;
        }
        if !comparison.unpaired_arms.is_empty() {
            let arms = plain(&comparison.unpaired_arms.join(", "));
            app.output.note(format_args!("arms in only one run, not compared: {arms}"));
        }
    }
    Ok(if comparison.is_worse { Exit::Partly } else { Exit::Done })
}

fn read(path: &Path) -> anyhow::Result<RetrievalReport> {
    const WHAT: &str = "report of `eval retrieval`";
    const REMEDY: &str = "use the FILE written by `graphloom eval retrieval --out FILE`";
    let report: RetrievalReport = read_json(path, WHAT, REMEDY)?;
    match report.kind == KIND {
        true => Ok(report),
        false => {
            let why = format!("its kind is {:?}, not {KIND:?}", one_line(&report.kind, 60));
            Err(not_a(path, WHAT, &why, REMEDY))
        }
    }
}

fn print(app: &App, arm: &ArmComparison, most: usize) -> anyhow::Result<()> {
    let output = &app.output;
    let name = match arm.first == arm.second {
        true => plain(&arm.first),
        false => format!("{} -> {}", plain(&arm.first), plain(&arm.second)),
    };
    output.line(output.heading(&format!("{name}: {}", count(arm.questions as u64, "question"))))?;
    if arm.unpaired_questions > 0 {
        let rows = count(arm.unpaired_questions as u64, "question");
        output.line(format_args!("{rows} in only one run, left out"))?;
    }
    let head = ["", "before", "after", "difference (95%)", "p", "p adjusted", "better", "worse", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for difference in &arm.metrics {
        let Difference { metric, first, second, difference: change, p, p_adjusted, better, worse } =
            difference;
        rows.push(vec![
            metric.to_string(),
            format!("{first:.3}"),
            format!("{second:.3}"),
            format!("{:+.3} ({:+.3} to {:+.3})", change.mean, change.low, change.high),
            format!("{p:.4}"),
            format!("{p_adjusted:.4}"),
            better.to_string(),
            worse.to_string(),
            match (difference.is_better(), difference.is_worse()) {
                (true, _) => "better".to_owned(),
                (_, true) => "worse".to_owned(),
                (false, false) => String::new(),
            },
        ]);
    }
    for line in columns(&rows) {
        output.line(line)?;
    }
    print_changes(app, "better", &arm.better, most)?;
    print_changes(app, "worse", &arm.worse, most)?;
    output.line("")?;
    Ok(())
}

fn print_changes(app: &App, what: &str, changes: &[Change], most: usize) -> anyhow::Result<()> {
    let output = &app.output;
    if changes.is_empty() {
        return Ok(());
    }
    output.line(format_args!("{}: {}", output.heading(what), count(changes.len() as u64, "question")))?;
    for change in changes.iter().take(most) {
        let rank = |rank: Option<usize>| rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        let gold: Vec<String> = (change.gold.iter())
            .map(|gold| format!("{} {}>{}", plain(&gold.passage), rank(gold.before), rank(gold.after)))
            .collect();
        let (id, question) = (plain(&change.id), one_line(&change.question, 100));
        output.line(format_args!("  {:+.3}  {id}  {question}  [{}]", change.gain, gold.join(", ")))?;
    }
    if let Some(more) = changes.len().checked_sub(most).filter(|more| *more > 0) {
        output.line(format_args!("  and {more} more; --json lists all"))?;
    }
    Ok(())
}
