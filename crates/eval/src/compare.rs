//! Compares two runs: which metrics differ significantly, and which questions improved or got worse.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::rank::{self, Metric};
use crate::report::RetrievalReport;
use crate::retrieval::RetrievalRow;
use crate::stats::{self, Estimate};

/// Significance level, after Holm's correction for the number of comparisons.
pub const SIGNIFICANT: f64 = 0.05;

/// The comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Results per pair of arms.
    pub arms: Vec<ArmComparison>,
    /// Arms of one run without a counterpart in the other.
    pub unpaired_arms: Vec<String>,
    /// Whether a metric is significantly lower in the second run.
    pub is_worse: bool,
}

/// One arm of the first run and one of the second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmComparison {
    /// The arm in the first run.
    pub first: String,
    /// The arm in the second run.
    pub second: String,
    /// Number of questions in both runs.
    pub questions: usize,
    /// Number of questions in only one run, which are left out.
    pub unpaired_questions: usize,
    /// The metrics in both runs.
    pub metrics: Vec<Difference>,
    /// Questions whose gold passages rank higher in the second run, largest gain first.
    pub better: Vec<Change>,
    /// Questions whose gold passages rank lower in the second run, largest loss first.
    pub worse: Vec<Change>,
}

/// The difference of a metric over the questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The metric.
    pub metric: Metric,
    /// Its mean in the first run.
    pub first: f64,
    /// Its mean in the second run.
    pub second: f64,
    /// Second minus first, with a bootstrap confidence interval over the questions.
    pub difference: Estimate,
    /// Probability of a difference at least as large by chance (sign-flip permutation test).
    pub p: f64,
    /// `p` after Holm's correction over all metrics and arms of this comparison.
    pub p_adjusted: f64,
    /// Number of questions with a higher value in the second run.
    pub better: usize,
    /// Number of questions with a lower value in the second run.
    pub worse: usize,
}

/// A question whose result changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The question.
    pub id: String,
    /// Its text.
    pub question: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The rank of each gold passage before and after; `None` if not found.
    pub gold: Vec<RankChange>,
    /// Change of nDCG over the whole list.
    pub gain: f64,
}

/// The ranks of one gold passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RankChange {
    /// The passage.
    pub passage: String,
    /// Its rank in the first run.
    pub before: Option<usize>,
    /// Its rank in the second run.
    pub after: Option<usize>,
}

/// Why two runs cannot be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CompareError {
    /// The sets differ.
    #[error("the runs use different sets: {first} and {second}")]
    OtherSet {
        /// The first set with the start of its hash.
        first: String,
        /// The second.
        second: String,
    },
    /// The arm does not exist.
    #[error("the {run} run has no arm {arm}; it has {}", known.join(", "))]
    NoArm {
        /// The run.
        run: &'static str,
        /// The arm.
        arm: String,
        /// The existing arms.
        known: Vec<String>,
    },
    /// No arms could be paired.
    #[error("no arm of the first run ({}) has the same name as an arm of the second ({})", first.join(", "), second.join(", "))]
    NothingPaired {
        /// The arms of the first run.
        first: Vec<String>,
        /// The arms of the second run.
        second: Vec<String>,
    },
    /// No metric is in both runs.
    #[error("the runs have no question or no k in common")]
    NothingInCommon,
}

impl CompareError {
    /// A remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::OtherSet { .. } => "compare runs over the same corpus.jsonl and questions.jsonl",
            Self::NoArm { .. } => "use one of these",
            Self::NothingPaired { .. } => "pair arms with different names explicitly",
            Self::NothingInCommon => "run both over the same questions and with a common k",
        }
    }
}

/// Compares `second` with `first` over their common questions and metrics.
///
/// - `pairs`: arms of the first run and their counterparts in the second; duplicates are ignored. If empty, arms with
///   the same name are compared.
pub fn compare(
    first: &RetrievalReport,
    second: &RetrievalReport,
    pairs: &[(String, String)],
) -> Result<Comparison, CompareError> {
    if first.run.set_hash != second.run.set_hash {
        let set_of = |report: &RetrievalReport| {
            let hash: String = report.run.set_hash.to_string().chars().take(8).collect();
            format!("{} ({hash})", report.run.set)
        };
        return Err(CompareError::OtherSet { first: set_of(first), second: set_of(second) });
    }
    let names =
        |report: &RetrievalReport| report.arms.iter().map(|arm| arm.name.clone()).collect::<Vec<String>>();
    let (of_first, of_second) = (names(first), names(second));
    let (pairs, unpaired_arms) = if pairs.is_empty() {
        let both = |name: &&String| of_second.contains(name);
        let pairs: Vec<_> = of_first.iter().filter(both).map(|name| (name.clone(), name.clone())).collect();
        let in_both = |name: &&String| of_first.contains(name) && of_second.contains(name);
        let rest = of_first.iter().chain(&of_second).filter(|name| !in_both(name)).cloned().collect();
        (pairs, rest)
    } else {
        let mut once: Vec<(String, String)> = Vec::new();
        for pair in pairs {
            if !once.contains(pair) {
                once.push(pair.clone());
            }
        }
        (once, Vec::new())
    };
    if pairs.is_empty() {
        return Err(CompareError::NothingPaired { first: of_first, second: of_second });
    }
    for (one, other) in &pairs {
        for (run, arm, known) in [("first", one, &of_first), ("second", other, &of_second)] {
            if !known.contains(arm) {
                return Err(CompareError::NoArm { run, arm: arm.clone(), known: known.clone() });
            }
        }
    }
    let of_second = second.metrics();
    let metrics: Vec<Metric> =
        first.metrics().into_iter().filter(|metric| of_second.contains(metric)).collect();
    let mut arms: Vec<ArmComparison> =
        pairs.iter().map(|(one, other)| compare_arms(first, second, one, other, &metrics)).collect();
    if arms.iter().all(|arm| arm.questions == 0) {
        return Err(CompareError::NothingInCommon);
    }
    let ps: Vec<f64> = arms.iter().flat_map(|arm| &arm.metrics).map(|difference| difference.p).collect();
    for (difference, p) in arms.iter_mut().flat_map(|arm| &mut arm.metrics).zip(stats::holm(&ps)) {
        difference.p_adjusted = p;
    }
    let is_worse = arms.iter().flat_map(|arm| &arm.metrics).any(Difference::is_worse);
    Ok(Comparison { arms, unpaired_arms, is_worse })
}

fn compare_arms(
    first: &RetrievalReport,
    second: &RetrievalReport,
    one: &str,
    other: &str,
    metrics: &[Metric],
) -> ArmComparison {
    fn of<'a>(report: &'a RetrievalReport, arm: &str) -> Vec<&'a RetrievalRow> {
        report.rows.iter().filter(|row| row.arm == arm).collect()
    }
    let (before, after) = (of(first, one), of(second, other));
    let by_id: BTreeMap<&str, &RetrievalRow> = after.iter().map(|row| (row.id.as_str(), *row)).collect();
    let paired: Vec<(&RetrievalRow, &RetrievalRow)> =
        before.iter().filter_map(|row| Some((*row, *by_id.get(row.id.as_str())?))).collect();
    let ids_before: BTreeSet<&str> = before.iter().map(|row| row.id.as_str()).collect();
    let only_after = after.iter().filter(|row| !ids_before.contains(row.id.as_str())).count();
    let mut changes: Vec<Change> = paired
        .iter()
        .map(|(before, after)| Change::of(before, after))
        .filter(|change| change.gain != 0.0)
        .collect();
    changes.sort_by(|a, b| b.gain.abs().total_cmp(&a.gain.abs()).then(a.id.cmp(&b.id)));
    let (better, worse) = changes.into_iter().partition(|change| change.gain > 0.0);
    ArmComparison {
        first: one.to_owned(),
        second: other.to_owned(),
        questions: paired.len(),
        unpaired_questions: before.len() - paired.len() + only_after,
        metrics: metrics.iter().map(|metric| Difference::of(*metric, &paired)).collect(),
        better,
        worse,
    }
}

impl Difference {
    fn of(metric: Metric, paired: &[(&RetrievalRow, &RetrievalRow)]) -> Self {
        let value = |row: &RetrievalRow| metric.value(&row.ranked, &row.gold);
        let [first, second] = [
            paired.iter().map(|(before, _)| value(before)).collect::<Vec<f64>>(),
            paired.iter().map(|(_, after)| value(after)).collect(),
        ];
        let differences: Vec<f64> = second.iter().zip(&first).map(|(after, before)| after - before).collect();
        let p = stats::sign_flip_p(&differences);
        Self {
            metric,
            first: stats::mean(&first),
            second: stats::mean(&second),
            difference: stats::estimate(&differences),
            p,
            p_adjusted: p,
            better: differences.iter().filter(|difference| **difference > 0.0).count(),
            worse: differences.iter().filter(|difference| **difference < 0.0).count(),
        }
    }

    /// True if the metric is significantly lower in the second run.
    pub fn is_worse(&self) -> bool {
        self.p_adjusted < SIGNIFICANT && self.difference.mean < 0.0
    }

    /// True if the metric is significantly higher in the second run.
    pub fn is_better(&self) -> bool {
        self.p_adjusted < SIGNIFICANT && self.difference.mean > 0.0
    }
}

impl Change {
    fn of(before: &RetrievalRow, after: &RetrievalRow) -> Self {
        let whole = before.ranked.len().max(after.ranked.len()).max(1);
        let value = |row: &RetrievalRow| Metric::Ndcg(whole).value(&row.ranked, &before.gold);
        let rank = |row: &RetrievalRow, passage: &String| {
            rank::ranks(&row.ranked, std::slice::from_ref(passage)).into_iter().flatten().next()
        };
        let gold = before.gold.iter().map(|passage| RankChange {
            passage: passage.clone(),
            before: rank(before, passage),
            after: rank(after, passage),
        });
        Self {
            id: before.id.clone(),
            question: before.question.clone(),
            kind: before.kind.clone(),
            gold: gold.collect(),
            gain: value(after) - value(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::ContentHash;

    use crate::report::tests::{report, row};

    use super::*;

    fn run(rankings: &[&str]) -> RetrievalReport {
        let rows = rankings.iter().enumerate().flat_map(|(at, ranked)| {
            ["naive", "mix"].map(|arm| row(arm, &format!("q{at}"), "", ranked, "x y"))
        });
        report(rows.collect())
    }

    #[test]
    fn questions_that_changed_are_listed_with_the_ranks_of_what_they_need() {
        let compared =
            compare(&run(&["x y", "a x y", "a"]), &run(&["x y", "x", "y a"]), &[]).expect("compared");
        let mix = &compared.arms[1];
        assert_eq!((mix.first.as_str(), mix.questions, mix.worse.len()), ("mix", 3, 1));
        assert_eq!(mix.better.iter().map(|change| change.id.as_str()).collect::<Vec<_>>(), ["q2"]);
        let worse = &mix.worse[0];
        let ranks: Vec<_> = worse.gold.iter().map(|gold| (gold.before, gold.after)).collect();
        assert_eq!((worse.id.as_str(), ranks), ("q1", vec![(Some(2), Some(1)), (Some(3), None)]));
        let recall = &mix.metrics[1];
        assert_eq!((recall.metric, recall.better, recall.worse), (Metric::Recall(2), 1, 0));
        assert!((recall.difference.mean - 0.5 / 3.0).abs() < 1e-12 && recall.p == 1.0);
        assert!(!compared.is_worse);
    }

    #[test]
    fn being_worse_on_most_questions_is_significant_and_being_equal_is_not() {
        let (good, bad) = (vec!["x y"; 20], vec!["a"; 20]);
        // With a cutoff of 1, two gold passages are never both found.
        let all = |compared: &Comparison, holds: fn(&Difference) -> bool| {
            let metrics = compared.arms[0].metrics.iter();
            metrics.filter(|difference| difference.metric != Metric::AllGold(1)).all(holds)
        };
        let compared = compare(&run(&good), &run(&bad), &[]).expect("compared");
        assert!(compared.is_worse && all(&compared, Difference::is_worse));
        let back = compare(&run(&bad), &run(&good), &[]).expect("compared");
        assert!(!back.is_worse && all(&back, Difference::is_better));
        let same = compare(&run(&good), &run(&good), &[]).expect("compared");
        assert!(same.arms[0].metrics.iter().all(|difference| difference.p_adjusted == 1.0));
        assert!(same.arms[0].better.is_empty() && same.arms[0].worse.is_empty());
    }

    #[test]
    fn arms_with_different_names_are_compared_on_request() {
        let one = run(&["x y"]);
        let pair = |a: &str, b: &str| [(a.to_owned(), b.to_owned())];
        let compared = compare(&one, &one, &pair("naive", "mix")).expect("compared");
        assert_eq!((compared.arms[0].first.as_str(), compared.arms[0].second.as_str()), ("naive", "mix"));
        // A duplicate would count as another comparison in Holm's correction.
        let twice = [pair("naive", "mix"), pair("naive", "mix")].concat();
        assert_eq!(compare(&one, &one, &twice).expect("compared"), compared);
        let error = compare(&one, &one, &pair("naive", "best")).expect_err("no such arm");
        assert_eq!(error.to_string(), "the second run has no arm best; it has naive, mix");
    }

    #[test]
    fn a_duplicate_question_in_a_report_does_no_harm() {
        let (once, mut twice) = (run(&["x y"]), run(&["x y"]));
        twice.rows.extend(twice.rows.clone());
        for (first, second) in [(&once, &twice), (&twice, &once)] {
            let compared = compare(first, second, &[]).expect("compared");
            assert_eq!(compared.arms[0].unpaired_questions, 0);
        }
    }

    #[test]
    fn runs_over_different_sets_are_not_compared() {
        let (one, mut other) = (run(&["x"]), run(&["x"]));
        other.run.set_hash = ContentHash::of(b"other");
        assert!(matches!(compare(&one, &other, &[]), Err(CompareError::OtherSet { .. })));
    }
}
