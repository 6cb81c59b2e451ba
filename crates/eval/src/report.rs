//! The report of a run: metrics with confidence intervals per arm and type of question, and one row per question.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{ContentHash, Revision};
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::rank::Metric;
use crate::retrieval::RetrievalRow;
use crate::stats::{self, Estimate};

/// The `kind` of report files.
pub const KIND: &str = "graphloom retrieval evaluation 1";

/// A run with everything needed to compare it with another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetrievalReport {
    /// [`KIND`].
    pub kind: String,
    /// Description of the run.
    pub run: RunInfo,
    /// The k of the metrics, ascending.
    pub ks: Vec<usize>,
    /// The arms.
    pub arms: Vec<ArmInfo>,
    /// Results of each arm over all questions, then of each arm by type if there are several.
    pub groups: Vec<Group>,
    /// The results of all questions and arms.
    pub rows: Vec<RetrievalRow>,
}

/// Description of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The set's name.
    pub set: String,
    /// The hash of its passages and questions.
    pub set_hash: ContentHash,
    /// Number of its passages; 0 if it has no corpus.
    pub passages: usize,
    /// Number of questions per arm.
    pub questions: usize,
    /// The workspace.
    pub workspace: String,
    /// The revision of its graph.
    pub graph_revision: Revision,
    /// The embedder.
    pub embedder: String,
    /// The configured extraction model, or `rules`.
    pub extractor: String,
    /// The keyword model, or `rules`.
    pub keywords: String,
    /// The reranker, or `none`.
    pub reranker: String,
    /// Concurrent questions.
    pub concurrency: usize,
    /// Timed repetitions.
    pub timed: usize,
    /// The release.
    pub release: String,
}

/// An arm as it was configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmInfo {
    /// Its name.
    pub name: String,
    /// Its question fields; fields unknown to this release are kept.
    pub question: serde_json::Value,
}

/// Results of an arm over some questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The arm.
    pub arm: String,
    /// Type of the questions; `None` for all.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number of questions.
    pub questions: usize,
    /// Number of questions that failed; they count as misses.
    pub failed: usize,
    /// The metrics.
    pub metrics: BTreeMap<Metric, Estimate>,
    /// Mean passages in the context.
    pub returned: f64,
    /// Latency of questions that did not fail.
    pub latency_ms: Percentiles,
    /// Latency without the time of models.
    pub own_latency_ms: Percentiles,
    /// Mean tokens per context.
    pub context_tokens: f64,
    /// Mean model calls per question.
    pub calls: f64,
    /// Mean tokens sent per question.
    pub prompt_tokens: f64,
    /// Mean tokens received per question.
    pub completion_tokens: f64,
}

/// Percentiles of a duration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl RetrievalReport {
    /// Builds the report.
    pub fn of(run: RunInfo, ks: Vec<usize>, arms: &[Arm], rows: Vec<RetrievalRow>) -> Self {
        let of = |arm: &Arm, kind: Option<&str>| {
            let rows: Vec<&RetrievalRow> = rows
                .iter()
                .filter(|row| row.arm == arm.name && kind.is_none_or(|kind| row.kind == kind))
                .collect();
            Group::of(&arm.name, kind, &rows, &ks)
        };
        let kinds = rows.iter().map(|row| row.kind.as_str());
        let groups = grouped(arms, kinds).map(|(arm, kind)| of(arm, kind)).collect();
        Self { kind: KIND.to_owned(), run, arms: arms.iter().map(ArmInfo::of).collect(), groups, ks, rows }
    }

    /// Returns the metrics, in the order of tables.
    pub fn metrics(&self) -> Vec<Metric> {
        Metric::of(&self.ks)
    }

    /// Returns the results of the arms over all questions.
    pub fn overall(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| group.kind.is_none())
    }

    /// Returns the types of questions, ascending; empty if there is only one type.
    pub fn kinds(&self) -> BTreeSet<&str> {
        self.groups.iter().filter_map(|group| group.kind.as_deref()).collect()
    }

    /// Returns the results of an arm over the questions of a type.
    pub fn group(&self, arm: &str, kind: Option<&str>) -> Option<&Group> {
        self.groups.iter().find(|group| group.arm == arm && group.kind.as_deref() == kind)
    }

    /// Number of failed questions over all arms.
    pub fn failed(&self) -> usize {
        self.overall().map(|group| group.failed).sum()
    }

    /// Returns the k to show if there is room for only one: 5 if it was evaluated, otherwise the middle value.
    pub fn main_k(&self) -> usize {
        let middle = self.ks.get(self.ks.len() / 2).copied().unwrap_or(1);
        if self.ks.contains(&5) { 5 } else { middle }
    }
}

/// The results of each arm over all questions, then of each arm by type if there are several.
pub(crate) fn grouped<'a>(
    arms: &'a [Arm],
    kinds: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (&'a Arm, Option<&'a str>)> {
    let kinds: BTreeSet<&str> = kinds.collect();
    let kinds = if kinds.len() > 1 { kinds } else { BTreeSet::new() };
    let by_kind = kinds.into_iter().flat_map(move |kind| arms.iter().map(move |arm| (arm, Some(kind))));
    arms.iter().map(|arm| (arm, None)).chain(by_kind)
}

impl ArmInfo {
    /// Describes an arm.
    pub(crate) fn of(arm: &Arm) -> Self {
        // Serializing plain data cannot fail.
        Self { name: arm.name.clone(), question: serde_json::to_value(&arm.question).unwrap_or_default() }
    }
}

impl Percentiles {
    /// Returns the percentiles of durations.
    pub(crate) fn of(times: &[f64]) -> Self {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| stats::quantile(times, share));
        Self { p50, p90, p99 }
    }
}

impl Group {
    fn of(arm: &str, kind: Option<&str>, rows: &[&RetrievalRow], ks: &[usize]) -> Self {
        let mean = |value: &dyn Fn(&RetrievalRow) -> f64| {
            stats::mean(&rows.iter().map(|row| value(row)).collect::<Vec<_>>())
        };
        let percentiles = |value: &dyn Fn(&RetrievalRow) -> f64| {
            let asked = rows.iter().filter(|row| row.failed.is_none());
            Percentiles::of(&asked.map(|row| value(row)).collect::<Vec<_>>())
        };
        let metrics = Metric::of(ks).into_iter().map(|metric| {
            let values: Vec<f64> = rows.iter().map(|row| metric.value(&row.ranked, &row.gold)).collect();
            (metric, stats::estimate(&values))
        });
        Self {
            arm: arm.to_owned(),
            kind: kind.map(str::to_owned),
            questions: rows.len(),
            failed: rows.iter().filter(|row| row.failed.is_some()).count(),
            metrics: metrics.collect(),
            returned: mean(&|row| row.ranked.len() as f64),
            latency_ms: percentiles(&|row| row.latency_ms),
            own_latency_ms: percentiles(&|row| row.own_latency_ms),
            context_tokens: mean(&|row| f64::from(row.context_tokens)),
            calls: mean(&|row| row.calls as f64),
            prompt_tokens: mean(&|row| row.prompt_tokens as f64),
            completion_tokens: mean(&|row| row.completion_tokens as f64),
        }
    }

    /// Returns the value of a metric.
    pub fn metric(&self, metric: Metric) -> Option<Estimate> {
        self.metrics.get(&metric).copied()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use graphloom_engine::query::Mode;

    use super::*;

    /// A row of an arm; its ids are separated by spaces.
    pub(crate) fn row(arm: &str, id: &str, kind: &str, ranked: &str, gold: &str) -> RetrievalRow {
        let ids = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        RetrievalRow {
            arm: arm.to_owned(),
            id: id.to_owned(),
            question: format!("What is {id}?"),
            kind: kind.to_owned(),
            gold: ids(gold),
            ranked: ids(ranked),
            latency_ms: 4.0,
            own_latency_ms: 3.0,
            model_ms: 1,
            context_tokens: 100,
            calls: 1,
            prompt_tokens: 10,
            completion_tokens: 0,
            notes: Vec::new(),
            failed: None,
        }
    }

    /// A run with this many questions.
    pub(crate) fn run_info(questions: usize) -> RunInfo {
        RunInfo {
            set: "set".to_owned(),
            set_hash: ContentHash::of(b"set"),
            passages: 9,
            questions,
            workspace: "eval-set".to_owned(),
            graph_revision: Revision(3),
            embedder: "builtin".to_owned(),
            extractor: "rules".to_owned(),
            keywords: "rules".to_owned(),
            reranker: "none".to_owned(),
            concurrency: 1,
            timed: 0,
            release: "0.1.0".to_owned(),
        }
    }

    /// The report of some rows of the arms naive and mix.
    pub(crate) fn report(rows: Vec<RetrievalRow>) -> RetrievalReport {
        let run = run_info(rows.len() / 2);
        RetrievalReport::of(run, vec![1, 2], &[Arm::of_mode(Mode::Naive), Arm::of_mode(Mode::Mix)], rows)
    }

    #[test]
    fn arms_are_summed_up_over_all_questions_and_over_each_type() {
        let mut failed = row("mix", "q2", "b", "", "x");
        failed.failed = Some("down".to_owned());
        let report = report(vec![
            row("naive", "q1", "a", "x y", "x y"),
            row("naive", "q2", "b", "y x", "x"),
            row("mix", "q1", "a", "y", "x y"),
            failed,
        ]);
        let value = |arm, kind, metric: &str| {
            let metric = metric.parse().expect("a metric");
            report.group(arm, kind).expect("a group").metric(metric).expect("a metric").mean
        };
        assert_eq!(value("naive", None, "recall@1"), 0.25);
        assert_eq!(value("naive", None, "mrr"), 0.75);
        assert_eq!(value("naive", Some("b"), "all_gold@2"), 1.0);
        assert_eq!(value("mix", None, "recall@2"), 0.25);
        let mix = report.group("mix", None).expect("a group");
        assert_eq!((mix.questions, mix.failed, report.failed()), (2, 1, 1));
        assert_eq!((mix.latency_ms.p50, mix.own_latency_ms.p99), (4.0, 3.0));
        assert_eq!(report.groups.len(), 6);
    }

    #[test]
    fn a_report_survives_json() {
        let report = report(vec![row("naive", "q1", "", "x", "x"), row("mix", "q1", "", "", "x")]);
        let json = serde_json::to_string(&report).expect("JSON");
        assert_eq!(serde_json::from_str::<RetrievalReport>(&json).expect("a report"), report);
        assert!(!json.contains("\"type\":null"), "{json}");
        assert!(report.kinds().is_empty());
    }
}
