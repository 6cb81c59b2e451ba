//! Answers every question of a set with every arm and scores the answers.

use std::time::Instant;

use graphloom_engine::Engine;
use graphloom_engine::prompt::{
    ANSWER, ANSWER_NAIVE, ANSWER_USER_PROMPT, DECOMPOSE, FILTER_FACTS, KEYWORDS, KEYWORDS_FOLLOW_UP, Prompt,
};
use graphloom_engine::query::{self, AnswerKind, QueryError, Question};
use serde::{Deserialize, Serialize};

use crate::answer::{self, AnswerScore};
use crate::arm::Arm;
use crate::asking::{AskOptions, Row, Task, elapsed_ms, spent_on};
use crate::ragchecker::{CheckedAnswer, CheckingFile, RetrievedPassage};
use crate::report::{ArmInfo, Percentiles, RunInfo, grouped};
use crate::set::{QuestionSet, SetQuestion};
use crate::stats::{self, Estimate};
use crate::verdict::{self, Verdict, VerdictCounts};

/// The `kind` of report files.
pub const KIND: &str = "graphloom answers evaluation 1";

/// The default form of answers: short, like the gold answers of question sets.
pub const SHORT_ANSWER: &str =
    "The answer alone: a name, date, number or few words, without a sentence around it";

/// The answer to one question with one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRow {
    /// The arm.
    pub arm: String,
    /// The question's id.
    pub id: String,
    /// Its text.
    pub question: String,
    /// Its type; empty if the set has none.
    #[serde(rename = "type")]
    pub kind: String,
    /// The gold answers.
    pub right: Vec<String>,
    /// The answer, unmodified.
    pub answer: String,
    /// Score without citations and references; `None` if there is no gold answer.
    pub score: Option<AnswerScore>,
    /// Whether the context contained anything to answer from.
    pub found: bool,
    /// The kind of answer; `None` if the question failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_kind: Option<AnswerKind>,
    /// The verdict; `None` if the set does not define one or an LLM answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The language of the question; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// The LLM; `None` for verbatim sentences.
    pub model: Option<String>,
    /// The passages of the context, best first.
    pub passages: Vec<RetrievedPassage>,
    /// Number of valid citations.
    pub citations: usize,
    /// Number of citations that point to nothing.
    pub dropped_citations: u32,
    /// Time from question to answer.
    pub latency_ms: f64,
    /// Tokens of the context.
    pub context_tokens: u32,
    /// Number of model calls.
    pub calls: usize,
    /// Tokens sent, as counted by the models.
    pub prompt_tokens: u64,
    /// Tokens received, as counted by the models.
    pub completion_tokens: u64,
    /// The error if the question failed, which counts as a wrong answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A run with everything needed to judge it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswersReport {
    /// [`KIND`].
    pub kind: String,
    /// Description of the run.
    pub run: RunInfo,
    /// The configured answer model, or `verbatim sentences` with the model that scored them.
    pub answerer: String,
    /// The arms.
    pub arms: Vec<ArmInfo>,
    /// Results of each arm over all questions, then of each arm by type if there are several.
    pub groups: Vec<AnswerGroup>,
    /// The results of all questions and arms.
    pub rows: Vec<AnswerRow>,
}

/// Results of an arm over some questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerGroup {
    /// The arm.
    pub arm: String,
    /// Type of the questions; `None` for all.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number of questions.
    pub questions: usize,
    /// Number of questions with a gold answer; the scores are means over them.
    pub scored: usize,
    /// Number of questions that failed; they count as wrong.
    pub failed: usize,
    /// Share of questions whose context contained anything to answer from.
    pub found: f64,
    /// Exact match.
    pub exact_match: Estimate,
    /// F1 of words.
    pub f1: Estimate,
    /// Containment of a gold answer.
    pub contained: Estimate,
    /// Mean words per answer.
    pub words: f64,
    /// Latency of questions that did not fail.
    pub latency_ms: Percentiles,
    /// Mean tokens per context.
    pub context_tokens: f64,
    /// Mean model calls per question.
    pub calls: f64,
    /// Mean tokens sent per question.
    pub prompt_tokens: f64,
    /// Mean tokens received per question.
    pub completion_tokens: f64,
}

/// Returns the questions to answer: all in order, up to the limit in the options.
pub fn selected_questions<'a>(set: &'a QuestionSet, options: &AskOptions) -> Vec<&'a SetQuestion> {
    set.questions.iter().take(options.limit.unwrap_or(usize::MAX)).collect()
}

/// Sets the form of answers unless the arm has its own.
pub fn with_form(mut arm: Arm, form: &str) -> Arm {
    if arm.question.response_type == Question::default().response_type {
        form.clone_into(&mut arm.question.response_type);
    }
    arm
}

impl Row for AnswerRow {
    const WHAT: &str = "answers";

    const PROMPTS: &[Prompt] =
        &[ANSWER, ANSWER_NAIVE, ANSWER_USER_PROMPT, DECOMPOSE, FILTER_FACTS, KEYWORDS, KEYWORDS_FOLLOW_UP];

    async fn ask(engine: &Engine, task: &Task<'_>, options: &AskOptions) -> Result<Self, QueryError> {
        let question = task.arm.ask(&task.question.text, options.most);
        let began = Instant::now();
        let retrieval = query::retrieve(engine, &question).await?;
        let answer = query::answer(engine, &question, &retrieval, &mut |_| ()).await?;
        let latency_ms = elapsed_ms(began);
        let calls: Vec<_> = retrieval.cost.calls.iter().chain(&answer.cost.calls).cloned().collect();
        let (_, prompt_tokens, completion_tokens) = spent_on(&calls);
        let source = |number: u32| {
            let reference = retrieval.references.iter().find(|reference| reference.number == number);
            reference.map_or_else(String::new, |reference| reference.source.clone())
        };
        let passages = retrieval.chunks.iter().map(|found| RetrievedPassage {
            doc_id: source(found.reference),
            text: found.chunk.text.clone(),
        });
        let row = AnswerRow {
            found: answer.found,
            answer_kind: Some(answer.kind),
            verdict: match answer.model {
                Some(_) => None,
                None => verdict::verdict(task.question, Some(answer.kind), &answer.text),
            },
            model: answer.model.clone(),
            passages: passages.collect(),
            citations: answer.citations.len(),
            dropped_citations: answer.dropped_citations,
            latency_ms,
            context_tokens: engine.tokenizer.count(&retrieval.context),
            calls: calls.len(),
            prompt_tokens,
            completion_tokens,
            answer: answer.text,
            ..AnswerRow::without(task, None)
        };
        Ok(row.scored())
    }

    fn failed(task: &Task<'_>, why: String) -> Self {
        Self::without(task, Some(why))
    }
}

impl AnswerRow {
    /// The row of a question without an answer.
    fn without(task: &Task<'_>, failed: Option<String>) -> Self {
        let SetQuestion { id, text, answers, kind, gold: _, expected } = task.question;
        let row = Self {
            arm: task.arm.name.clone(),
            id: id.clone(),
            question: text.clone(),
            kind: kind.clone(),
            right: answers.clone(),
            answer: String::new(),
            score: None,
            found: false,
            answer_kind: None,
            verdict: failed.as_ref().and_then(|_| verdict::verdict(task.question, None, "")),
            language: expected.language.clone(),
            model: None,
            passages: Vec::new(),
            citations: 0,
            dropped_citations: 0,
            latency_ms: 0.0,
            context_tokens: 0,
            calls: 0,
            prompt_tokens: 0,
            completion_tokens: 0,
            failed,
        };
        row.scored()
    }

    fn scored(mut self) -> Self {
        self.score = match (self.right.is_empty(), &self.failed) {
            (true, _) => None,
            (false, Some(_)) => Some(AnswerScore::default()),
            (false, None) => Some(answer::score(&answer::bare(&self.answer), &self.right)),
        };
        self
    }
}

impl AnswersReport {
    /// Builds the report.
    pub fn of(run: RunInfo, answerer: String, arms: &[Arm], rows: Vec<AnswerRow>) -> Self {
        let of = |arm: &Arm, kind: Option<&str>| {
            let of_group =
                rows.iter().filter(|row| row.arm == arm.name && kind.is_none_or(|kind| row.kind == kind));
            AnswerGroup::of(&arm.name, kind, &of_group.collect::<Vec<_>>())
        };
        let kinds = rows.iter().map(|row| row.kind.as_str());
        let groups = grouped(arms, kinds).map(|(arm, kind)| of(arm, kind)).collect();
        let arms = arms.iter().map(ArmInfo::of).collect();
        Self { kind: KIND.to_owned(), run, answerer, arms, groups, rows }
    }

    /// Returns the answers of an arm that have a gold answer, for RAGChecker. If there are several gold answers, uses the first.
    pub fn checking_file(&self, arm: &str) -> CheckingFile {
        let rows = self.rows.iter().filter(|row| row.arm == arm && row.failed.is_none());
        let results = rows.filter_map(|row| {
            Some(CheckedAnswer {
                query_id: row.id.clone(),
                query: row.question.clone(),
                gt_answer: row.right.first()?.clone(),
                response: answer::bare(&row.answer),
                retrieved_context: row.passages.clone(),
                ..CheckedAnswer::default()
            })
        });
        CheckingFile { results: results.collect(), metrics: None }
    }

    /// Returns the number of right and wrong answers of an arm: over all questions, by type, then by language. Empty if the
    /// set defines no verdicts.
    pub fn verdicts(&self, arm: &str) -> Vec<(String, VerdictCounts)> {
        let rows = || self.rows.iter().filter(|row| row.arm == arm);
        VerdictCounts::grouped(
            rows().filter_map(|row| Some((row.kind.as_str(), row.language.as_str(), row.verdict?))),
        )
    }

    /// Number of failed questions over all arms.
    pub fn failed(&self) -> usize {
        self.rows.iter().filter(|row| row.failed.is_some()).count()
    }
}

impl AnswerGroup {
    fn of(arm: &str, kind: Option<&str>, rows: &[&AnswerRow]) -> Self {
        let mean = |value: &dyn Fn(&AnswerRow) -> f64| {
            stats::mean(&rows.iter().map(|row| value(row)).collect::<Vec<_>>())
        };
        let scores: Vec<AnswerScore> = rows.iter().filter_map(|row| row.score).collect();
        let estimate =
            |value: fn(&AnswerScore) -> f64| stats::estimate(&scores.iter().map(value).collect::<Vec<_>>());
        let asked = rows.iter().filter(|row| row.failed.is_none());
        let times: Vec<f64> = asked.map(|row| row.latency_ms).collect();
        Self {
            arm: arm.to_owned(),
            kind: kind.map(str::to_owned),
            questions: rows.len(),
            scored: scores.len(),
            failed: rows.iter().filter(|row| row.failed.is_some()).count(),
            found: mean(&|row| f64::from(u8::from(row.found))),
            exact_match: estimate(|score| score.exact_match),
            f1: estimate(|score| score.f1),
            contained: estimate(|score| score.contained),
            words: mean(&|row| answer::bare(&row.answer).split_whitespace().count() as f64),
            latency_ms: Percentiles::of(&times),
            context_tokens: mean(&|row| f64::from(row.context_tokens)),
            calls: mean(&|row| row.calls as f64),
            prompt_tokens: mean(&|row| row.prompt_tokens as f64),
            completion_tokens: mean(&|row| row.completion_tokens as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::ContentHash;
    use graphloom_engine::query::Mode;

    use crate::report::tests::run_info;
    use crate::set::ExpectedAnswer;

    use super::*;

    fn row(arm: &Arm, id: &str, answers: &[&str], answer: &str, failed: Option<&str>) -> AnswerRow {
        let question = SetQuestion {
            id: id.to_owned(),
            text: format!("{id}?"),
            answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
            kind: String::new(),
            gold: Vec::new(),
            expected: ExpectedAnswer::default(),
        };
        let task = Task { arm, question: &question, key: ContentHash::of(b"") };
        let row = AnswerRow::without(&task, failed.map(str::to_owned));
        AnswerRow { answer: answer.to_owned(), ..row }.scored()
    }

    #[test]
    fn scores_are_means_over_the_questions_with_a_right_answer() {
        let arm = Arm::of_mode(Mode::Mix);
        let rows = vec![
            row(&arm, "q1", &["Ada"], "Ada [1]\n\n### References\n* [1] x", None),
            row(&arm, "q2", &["Bo", "Cy"], "", Some("down")),
            row(&arm, "q3", &[], "whatever", None),
        ];
        let report = AnswersReport::of(run_info(3), "test".to_owned(), std::slice::from_ref(&arm), rows);
        let group = &report.groups[0];
        assert_eq!((group.questions, group.scored, group.failed, report.failed()), (3, 2, 1, 1));
        assert_eq!((group.exact_match.mean, group.f1.mean), (0.5, 0.5));
        let file = report.checking_file("mix");
        assert_eq!(file.results.len(), 1, "only answers with something to compare with");
        assert_eq!((file.results[0].gt_answer.as_str(), file.results[0].response.as_str()), ("Ada", "Ada"));
        let json = serde_json::to_string(&report).expect("JSON");
        assert_eq!(serde_json::from_str::<AnswersReport>(&json).expect("a report"), report);
    }

    #[test]
    fn a_short_answer_is_requested_unless_an_arm_says_otherwise() {
        let own = Arm::of_json("own", r#"{"response_type": "A list"}"#).expect("an arm");
        assert_eq!(with_form(own, SHORT_ANSWER).question.response_type, "A list");
        assert_eq!(with_form(Arm::of_mode(Mode::Mix), "Briefly").question.response_type, "Briefly");
    }
}
