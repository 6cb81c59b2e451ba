//! RAGChecker's metrics: which claims of an answer are right, and whether errors come from retrieval or from the
//! LLM.
//!
//! Source: Ru et al., "RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation",
//! NeurIPS 2024. Files have the layout of its own program, so either program can continue the other's work.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum characters of an invalid label in a message.
const CLIP: usize = 60;

/// A file with answers and their judgements so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckingFile {
    /// The answers.
    pub results: Vec<CheckedAnswer>,
    /// Means over all answers with metrics, in percent with one decimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricGroups>,
}

/// An answer, its passages, and its judgements so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckedAnswer {
    /// The question's id.
    pub query_id: String,
    /// The question.
    pub query: String,
    /// The gold answer.
    pub gt_answer: String,
    /// The answer.
    pub response: String,
    /// The passages of its context.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub retrieved_context: Vec<RetrievedPassage>,
    /// Claims of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_claims: Option<Vec<Claim>>,
    /// Claims of the gold answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gt_answer_claims: Option<Vec<Claim>>,
    /// Whether the gold answer entails each claim of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer2response: Option<Vec<Label>>,
    /// Whether the answer entails each claim of the gold answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response2answer: Option<Vec<Label>>,
    /// For each claim of the answer, whether each passage entails it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved2response: Option<Vec<Vec<Label>>>,
    /// For each claim of the gold answer, whether each passage entails it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved2answer: Option<Vec<Vec<Label>>>,
    /// The metrics; each is a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
}

/// A passage in the context of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrievedPassage {
    /// Its name.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub doc_id: String,
    /// Its text.
    pub text: String,
}

/// A single claim of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Claim {
    /// As a sentence.
    Sentence(String),
    /// As subject, predicate and object.
    Parts(Vec<String>),
}

impl Claim {
    /// Returns the claim as a sentence.
    pub fn words(&self) -> String {
        match self {
            Self::Sentence(sentence) => sentence.clone(),
            Self::Parts(parts) => parts.join(" "),
        }
    }
}

/// The relation of a text to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub enum Label {
    /// The text entails the claim.
    Entailment,
    /// The text says nothing about the claim.
    Neutral,
    /// The text contradicts the claim.
    Contradiction,
    /// The judge gave no verdict.
    Abstain,
}

impl Label {
    /// All labels.
    pub const ALL: [Self; 4] = [Self::Entailment, Self::Neutral, Self::Contradiction, Self::Abstain];
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Entailment => "Entailment",
            Self::Neutral => "Neutral",
            Self::Contradiction => "Contradiction",
            Self::Abstain => "Abstain",
        })
    }
}

impl FromStr for Label {
    type Err = NoLabel;

    /// Parses a label, ignoring case.
    fn from_str(text: &str) -> Result<Self, NoLabel> {
        let is_named = |label: &Self| label.to_string().eq_ignore_ascii_case(text.trim());
        Self::ALL
            .into_iter()
            .find(is_named)
            .ok_or_else(|| NoLabel { text: text.chars().take(CLIP).collect() })
    }
}

impl TryFrom<String> for Label {
    type Error = NoLabel;

    fn try_from(text: String) -> Result<Self, NoLabel> {
        text.parse()
    }
}

/// The error for an invalid label.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("{text:?} is not a label; the labels are {}", Label::ALL.map(|label| label.to_string()).join(", "))]
pub struct NoLabel {
    /// The text, shortened.
    pub text: String,
}

/// The metrics of one answer as shares from 0 to 1, or means in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Share of the answer's claims that are right.
    pub precision: f64,
    /// Share of the gold answer's claims in the answer.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
    /// Share of the gold answer's claims in some passage.
    pub claim_recall: f64,
    /// Share of relevant passages, which contain some claim of the gold answer.
    pub context_precision: f64,
    /// Share of the gold answer's claims in passages that are also in the answer.
    pub context_utilization: f64,
    /// Share of the answer's claims that are wrong and in a relevant passage.
    pub noise_sensitivity_in_relevant: f64,
    /// Share of the answer's claims that are wrong and only in irrelevant passages.
    pub noise_sensitivity_in_irrelevant: f64,
    /// Share of the answer's claims that are wrong and in no passage.
    pub hallucination: f64,
    /// Share of the answer's claims that are right and in no passage.
    pub self_knowledge: f64,
    /// Share of the answer's claims in some passage.
    pub faithfulness: f64,
}

/// The metrics by subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricGroups {
    /// The answer as a whole.
    pub overall: Overall,
    /// Metrics of the retrieval.
    pub retriever: Retriever,
    /// Metrics of the LLM.
    pub generator: Generator,
}

/// Metrics of the answers as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are those of Metrics")]
pub struct Overall {
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
}

/// Metrics of the passages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are those of Metrics")]
pub struct Retriever {
    pub claim_recall: f64,
    pub context_precision: f64,
}

/// Metrics of how the LLM uses the passages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are those of Metrics")]
pub struct Generator {
    pub context_utilization: f64,
    pub noise_sensitivity_in_relevant: f64,
    pub noise_sensitivity_in_irrelevant: f64,
    pub hallucination: f64,
    pub self_knowledge: f64,
    pub faithfulness: f64,
}

/// Members of an answer that contain labels.
const LABEL_MEMBERS: [&str; 4] =
    ["answer2response", "response2answer", "retrieved2response", "retrieved2answer"];

/// Why a file of answers is invalid.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is not JSON or has the wrong outer form.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    /// An answer has the wrong form.
    #[error("{answer}: {what}")]
    Answer {
        /// The id of the answer.
        answer: String,
        /// The error.
        what: String,
    },
    /// A label is invalid.
    #[error("{answer}: {member}: {what}")]
    Label {
        /// The id of the answer.
        answer: String,
        /// The member with the label.
        member: &'static str,
        /// The error, with the valid labels.
        what: String,
    },
}

impl FileError {
    /// A remedy for invalid labels.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Label { .. } => {
                Some("correct the label, or remove that member of the answer to have it judged again")
            }
            Self::Form(_) | Self::Answer { .. } => None,
        }
    }
}

impl CheckingFile {
    /// Parses a file. An error names the answer by its id, or by its position from 1 if it has none.
    pub fn of_json(json: &[u8]) -> Result<Self, FileError> {
        #[derive(Deserialize)]
        struct Form {
            results: Vec<Value>,
            metrics: Option<MetricGroups>,
        }
        let Form { results, metrics } = serde_json::from_slice(json)?;
        let results = results.into_iter().enumerate().map(|(at, answer)| {
            let id = answer.get("query_id").and_then(Value::as_str).filter(|id| !id.is_empty());
            let name = id.map_or_else(|| format!("result {}", at + 1), |id| format!("answer {id}"));
            for member in LABEL_MEMBERS {
                if let Err(what) = answer.get(member).map_or(Ok(()), check_labels) {
                    return Err(FileError::Label { answer: name, member, what });
                }
            }
            serde_json::from_value(answer)
                .map_err(|error| FileError::Answer { answer: name, what: error.to_string() })
        });
        Ok(Self { results: results.collect::<Result<_, _>>()?, metrics })
    }
}

/// Checks that every text in a list, or in a list of lists, is a label. Other errors are found when the answer is
/// parsed.
fn check_labels(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(values) => values.iter().try_for_each(check_labels),
        Value::String(text) => text.parse::<Label>().map(drop).map_err(|error| error.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Ok(()),
    }
}

/// Why an answer has no metrics.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum LabelError {
    /// A judgement is missing.
    #[error("answer {answer} has no {what}")]
    Missing {
        /// The answer's id.
        answer: String,
        /// The missing member.
        what: &'static str,
    },
    /// The number of labels is wrong.
    #[error("answer {answer}: {what} has {labels} labels, expected {expected}")]
    Count {
        /// The answer's id.
        answer: String,
        /// The member with the labels.
        what: &'static str,
        /// The number of labels.
        labels: usize,
        /// The expected number.
        expected: usize,
    },
}

impl LabelError {
    /// A remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "configure an LLM as judge_llm to judge what is missing",
            Self::Count { .. } => "remove these labels from the file to have them judged again",
        }
    }
}

impl CheckedAnswer {
    /// Returns the member with claims of an empty text, if there is one: the text was changed after its claims were
    /// extracted. Other changes cannot be detected, because the file does not contain the original text.
    pub fn claims_of_nothing(&self) -> Option<&'static str> {
        let of_nothing = |text: &str, claims: &Option<Vec<Claim>>| {
            text.trim().is_empty() && claims.as_ref().is_some_and(|claims| !claims.is_empty())
        };
        if of_nothing(&self.response, &self.response_claims) {
            return Some("response");
        }
        of_nothing(&self.gt_answer, &self.gt_answer_claims).then_some("gt_answer")
    }

    /// Computes the metrics from the labels. A share of zero claims or passages is 0.
    pub fn metrics_of_labels(&self) -> Result<Metrics, LabelError> {
        let missing = |what| LabelError::Missing { answer: self.query_id.clone(), what };
        let count = |what, labels, expected| match labels == expected {
            true => Ok(()),
            false => Err(LabelError::Count { answer: self.query_id.clone(), what, labels, expected }),
        };
        let answer_claims = self.response_claims.as_ref().ok_or_else(|| missing("response_claims"))?.len();
        let gold_claims = self.gt_answer_claims.as_ref().ok_or_else(|| missing("gt_answer_claims"))?.len();
        let right_claims = entailed(self.answer2response.as_ref().ok_or_else(|| missing("answer2response"))?);
        let covered_claims =
            entailed(self.response2answer.as_ref().ok_or_else(|| missing("response2answer"))?);
        count("answer2response", right_claims.len(), answer_claims)?;
        count("response2answer", covered_claims.len(), gold_claims)?;
        let table = |rows: &Option<Vec<Vec<Label>>>, what, claims| {
            let rows = rows.as_ref().ok_or_else(|| missing(what))?;
            count(what, rows.len(), claims)?;
            rows.iter().try_for_each(|row| count(what, row.len(), self.retrieved_context.len()))?;
            Ok::<Vec<Vec<bool>>, LabelError>(rows.iter().map(|row| entailed(row)).collect())
        };
        let answer_by_passage = table(&self.retrieved2response, "retrieved2response", answer_claims)?;
        let gold_by_passage = table(&self.retrieved2answer, "retrieved2answer", gold_claims)?;
        Ok(metrics(
            &right_claims,
            &covered_claims,
            &answer_by_passage,
            &gold_by_passage,
            self.retrieved_context.len(),
        ))
    }
}

fn entailed(labels: &[Label]) -> Vec<bool> {
    labels.iter().map(|label| *label == Label::Entailment).collect()
}

fn metrics(
    right_claims: &[bool],
    covered_claims: &[bool],
    answer_by_passage: &[Vec<bool>],
    gold_by_passage: &[Vec<bool>],
    passages: usize,
) -> Metrics {
    let any = |row: &Vec<bool>| row.contains(&true);
    let is_relevant: Vec<bool> =
        (0..passages).map(|at| gold_by_passage.iter().any(|row| row.get(at) == Some(&true))).collect();
    // True if a passage that is relevant, or irrelevant, contains the claim.
    let by = |row: &[bool], relevant: bool| {
        row.iter().zip(&is_relevant).any(|(says, is)| *says && *is == relevant)
    };
    let answer_share = |holds: &dyn Fn(bool, &Vec<bool>) -> bool| {
        let count = right_claims
            .iter()
            .zip(answer_by_passage)
            .filter(|(is_right, row)| holds(**is_right, row))
            .count();
        part(count, right_claims.len())
    };
    let precision = part(right_claims.iter().filter(|is| **is).count(), right_claims.len());
    let recall = part(covered_claims.iter().filter(|is| **is).count(), covered_claims.len());
    let found = gold_by_passage.iter().filter(|row| any(row)).count();
    let used = gold_by_passage
        .iter()
        .zip(covered_claims)
        .filter(|(row, is_covered)| any(row) && **is_covered)
        .count();
    Metrics {
        precision,
        recall,
        f1: if precision > 0.0 && recall > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        },
        claim_recall: part(found, gold_by_passage.len()),
        context_precision: part(is_relevant.iter().filter(|is| **is).count(), passages),
        context_utilization: part(used, found),
        noise_sensitivity_in_relevant: answer_share(&|is_right, row| !is_right && by(row, true)),
        noise_sensitivity_in_irrelevant: answer_share(&|is_right, row| {
            !is_right && by(row, false) && !by(row, true)
        }),
        hallucination: answer_share(&|is_right, row| !is_right && !any(row)),
        self_knowledge: answer_share(&|is_right, row| is_right && !any(row)),
        faithfulness: answer_share(&|_, row| any(row)),
    }
}

/// Returns the share `count / all`; 0 if `all` is 0.
fn part(count: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { count as f64 / all as f64 }
}

impl Metrics {
    /// Returns all metrics with their names, in the order of the groups.
    pub fn named(&self) -> [(&'static str, f64); 11] {
        [
            ("precision", self.precision),
            ("recall", self.recall),
            ("f1", self.f1),
            ("claim_recall", self.claim_recall),
            ("context_precision", self.context_precision),
            ("context_utilization", self.context_utilization),
            ("noise_sensitivity_in_relevant", self.noise_sensitivity_in_relevant),
            ("noise_sensitivity_in_irrelevant", self.noise_sensitivity_in_irrelevant),
            ("hallucination", self.hallucination),
            ("self_knowledge", self.self_knowledge),
            ("faithfulness", self.faithfulness),
        ]
    }
}

impl MetricGroups {
    /// Returns the means of `metrics` in percent, rounded to one decimal; `None` if empty.
    pub fn of(metrics: &[Metrics]) -> Option<Self> {
        if metrics.is_empty() {
            return None;
        }
        let mean = |value: fn(&Metrics) -> f64| {
            let sum: f64 = metrics.iter().map(value).sum();
            // Rounded via text, as the reference program does.
            format!("{:.1}", sum / metrics.len() as f64 * 100.0).parse().unwrap_or(f64::NAN)
        };
        Some(Self {
            overall: Overall {
                precision: mean(|metrics| metrics.precision),
                recall: mean(|metrics| metrics.recall),
                f1: mean(|metrics| metrics.f1),
            },
            retriever: Retriever {
                claim_recall: mean(|metrics| metrics.claim_recall),
                context_precision: mean(|metrics| metrics.context_precision),
            },
            generator: Generator {
                context_utilization: mean(|metrics| metrics.context_utilization),
                noise_sensitivity_in_relevant: mean(|metrics| metrics.noise_sensitivity_in_relevant),
                noise_sensitivity_in_irrelevant: mean(|metrics| metrics.noise_sensitivity_in_irrelevant),
                hallucination: mean(|metrics| metrics.hallucination),
                self_knowledge: mean(|metrics| metrics.self_knowledge),
                faithfulness: mean(|metrics| metrics.faithfulness),
            },
        })
    }
}

fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses labels by letter: e, n, c.
    fn labels(letters: &str) -> Vec<Label> {
        let label = |c| match c {
            'e' => Label::Entailment,
            'c' => Label::Contradiction,
            _ => Label::Neutral,
        };
        letters.chars().map(label).collect()
    }

    /// Returns an answer whose claims have the given labels; table rows are separated by spaces.
    fn judged(
        said_right: &str,
        right_said: &str,
        said_by: &str,
        right_by: &str,
        passages: usize,
    ) -> CheckedAnswer {
        let claims = |count: usize| Some(vec![Claim::Sentence("x".to_owned()); count]);
        let table = |text: &str| Some(text.split_whitespace().map(labels).collect());
        CheckedAnswer {
            query_id: "q1".to_owned(),
            retrieved_context: vec![RetrievedPassage::default(); passages],
            response_claims: claims(said_right.len()),
            gt_answer_claims: claims(right_said.len()),
            answer2response: Some(labels(said_right)),
            response2answer: Some(labels(right_said)),
            retrieved2response: table(said_by),
            retrieved2answer: table(right_by),
            ..CheckedAnswer::default()
        }
    }

    #[test]
    fn values_equal_those_computed_by_hand() {
        // Passage 1 is relevant (it contains the first gold claim), passage 2 is not.
        let answer = judged("ecnen", "en", "en ne en nn nn", "en nn", 2);
        let metrics = answer.metrics_of_labels().expect("judged");
        let expected = Metrics {
            precision: 0.4,
            recall: 0.5,
            f1: 2.0 * 0.4 * 0.5 / 0.9,
            claim_recall: 0.5,
            context_precision: 0.5,
            context_utilization: 1.0,
            noise_sensitivity_in_relevant: 0.2,
            noise_sensitivity_in_irrelevant: 0.2,
            hallucination: 0.2,
            self_knowledge: 0.2,
            faithfulness: 0.6,
        };
        assert_eq!(metrics, expected);
        let nothing = Metrics { hallucination: 1.0, ..Metrics::default() };
        let half = MetricGroups::of(&[metrics, nothing]).expect("two");
        assert_eq!((half.overall.precision, half.generator.hallucination), (20.0, 60.0));
        assert_eq!(MetricGroups::of(&[]), None);
    }

    #[test]
    fn an_empty_answer_or_context_scores_zero_without_an_error() {
        let metrics = judged("", "nn", "", " ", 0);
        let error = metrics.metrics_of_labels().expect_err("two rows are missing");
        assert_eq!(error.to_string(), "answer q1: retrieved2answer has 0 labels, expected 2");
        assert_eq!(judged("", "", "", "", 3).metrics_of_labels(), Ok(Metrics::default()));
        let mut answer = judged("e", "e", "", "", 0);
        answer.retrieved2response = Some(vec![vec![]]);
        answer.retrieved2answer = Some(vec![vec![]]);
        let metrics = answer.metrics_of_labels().expect("judged");
        assert_eq!((metrics.precision, metrics.self_knowledge, metrics.claim_recall), (1.0, 1.0, 0.0));
        answer.answer2response = None;
        let error = answer.metrics_of_labels().expect_err("not judged");
        assert_eq!(error.to_string(), "answer q1 has no answer2response");
    }

    #[test]
    fn the_layout_of_the_reference_program_is_read_and_written() {
        let json = r#"{"results": [{"query_id": "1", "query": "Q?", "gt_answer": "A.", "response": "R.",
            "retrieved_context": [{"doc_id": null, "text": "P."}], "response_claims": [["a", "is", "b"], "C."],
            "answer2response": ["Entailment", "Abstain"]}, {"query_id": "2", "query": "", "gt_answer": "", "response": "",
            "retrieved_context": null}]}"#;
        let file = CheckingFile::of_json(json.as_bytes()).expect("a file");
        let claims = file.results[0].response_claims.as_ref().expect("claims");
        assert_eq!(claims.iter().map(Claim::words).collect::<Vec<_>>(), ["a is b", "C."]);
        assert_eq!(file.results[0].answer2response, Some(vec![Label::Entailment, Label::Abstain]));
        let written = serde_json::to_string(&file).expect("JSON");
        assert_eq!(CheckingFile::of_json(written.as_bytes()).expect("a file"), file);
        assert!(!written.contains("null") && !written.contains("retrieved2answer"), "{written}");
    }

    #[test]
    fn errors_in_a_file_name_the_id_of_the_answer() {
        let check = |answer: &str, expected: &str| {
            let json = format!(
                r#"{{"results": [{{"query_id": "0", "query": "", "gt_answer": "", "response": ""}}, {{{answer}}}]}}"#
            );
            assert_eq!(CheckingFile::of_json(json.as_bytes()).expect_err("refused").to_string(), expected);
        };
        let known = "the labels are Entailment, Neutral, Contradiction, Abstain";
        check(
            r#""query_id": "q7", "answer2response": ["entailment", "Maybe"]"#,
            &format!("answer q7: answer2response: \"Maybe\" is not a label; {known}"),
        );
        check(
            r#""query_id": "q7", "retrieved2answer": [["Neutral"], [""]]"#,
            &format!("answer q7: retrieved2answer: \"\" is not a label; {known}"),
        );
        check(r#""query_id": "q7", "query": "Q?", "gt_answer": "A.""#, "answer q7: missing field `response`");
        check(r#""query": "Q?""#, "result 2: missing field `query_id`");
    }

    #[test]
    fn claims_of_an_empty_text_are_detected() {
        let answer = judged("e", "e", "", "", 0);
        assert_eq!(answer.claims_of_nothing(), Some("response"));
        let answer = CheckedAnswer { response: "R.".to_owned(), ..answer };
        assert_eq!(answer.claims_of_nothing(), Some("gt_answer"));
        assert_eq!(CheckedAnswer { gt_answer: "A.".to_owned(), ..answer }.claims_of_nothing(), None);
    }

    proptest! {
        #[test]
        fn every_claim_is_accounted_for_once(
            (said_right, right_said, said_by, right_by, passages) in (0_usize..5, 1_usize..6, 0_usize..6).prop_flat_map(
                |(passages, said, right)| (
                    proptest::collection::vec(any::<bool>(), said),
                    proptest::collection::vec(any::<bool>(), right),
                    proptest::collection::vec(proptest::collection::vec(any::<bool>(), passages), said),
                    proptest::collection::vec(proptest::collection::vec(any::<bool>(), passages), right),
                    Just(passages),
                ),
            ),
        ) {
            let metrics = metrics(&said_right, &right_said, &said_by, &right_by, passages);
            for (name, value) in metrics.named() {
                prop_assert!((0.0..=1.0).contains(&value), "{name}: {value}");
            }
            let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
            prop_assert!(close(metrics.hallucination + metrics.self_knowledge + metrics.faithfulness, 1.0));
            let wrong = metrics.noise_sensitivity_in_relevant + metrics.noise_sensitivity_in_irrelevant + metrics.hallucination;
            prop_assert!(close(wrong, 1.0 - metrics.precision));
            prop_assert!(metrics.f1 <= metrics.precision.max(metrics.recall) + 1e-9);
        }
    }
}
