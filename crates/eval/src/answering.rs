//! Answers every question of a set in every arm and scores the answers.

use std::time::Instant;

use graphloom_engine::Engine;
use graphloom_engine::prompt::{
    ANSWER, ANSWER_NAIVE, ANSWER_USER_PROMPT, DECOMPOSE, FILTER_FACTS, KEYWORDS, KEYWORDS_FOLLOW_UP, Prompt,
};
use graphloom_engine::query::{self, AnswerKind, QueryError, Question};
use serde::{Deserialize, Serialize};

use crate::answer::{self, AnswerScore};
use crate::arm::Arm;
use crate::asking::{AskOptions, Row, Task, elapsed_ms, record, spent_on};
use crate::ragchecker::{CheckedAnswer, CheckingFile, RetrievedPassage};
use crate::report::{ArmInfo, Percentiles, RunInfo, grouped};
use crate::set::{QuestionSet, SetQuestion};
use crate::stats::{self, Estimate};
use crate::verdict::{self, Verdict, VerdictCounts};

/// What a file of this form says of itself.
pub const KIND: &str = "graphloom answers evaluation 1";

/// The form of answer that is asked for where an arm does not say another: that of the right answers of question sets.
pub const SHORT_ANSWER: &str =
    "The answer alone: a name, date, number or few words, without a sentence around it";

/// What one question was answered in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRow {
    /// The arm.
    pub arm: String,
    /// The question's id.
    pub id: String,
    /// Its words.
    pub question: String,
    /// Its kind; empty where the set does not say.
    #[serde(rename = "type")]
    pub kind: String,
    /// The right answers.
    pub right: Vec<String>,
    /// The answer as it came.
    pub answer: String,
    /// Its score, without citations and list of references; `None` where the set knows no right answer.
    pub score: Option<AnswerScore>,
    /// Whether there was anything to answer from.
    pub found: bool,
    /// What kind of answer it is; `None` where asking failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_kind: Option<AnswerKind>,
    /// Whether it is right; `None` where the set does not say what is, and where a model answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The language of the question; empty where the set does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// The model that answered; `None` for verbatim sentences.
    pub model: Option<String>,
    /// The passages of the context, best first.
    pub passages: Vec<RetrievedPassage>,
    /// Citations that hold.
    pub citations: usize,
    /// Citations that point to nothing.
    pub dropped_citations: u32,
    /// From question to answer.
    pub latency_ms: f64,
    /// Tokens of the context.
    pub context_tokens: u32,
    /// Calls of models.
    pub calls: usize,
    /// Tokens sent to them, as they counted.
    pub prompt_tokens: u64,
    /// Tokens received from them.
    pub completion_tokens: u64,
    /// Why there is no answer, where asking failed; it counts as a wrong one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A run with everything that is needed to judge it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswersReport {
    /// [`KIND`].
    pub kind: String,
    /// What was asked where.
    pub run: RunInfo,
    /// Who answered: the model that is configured, or `verbatim sentences`.
    pub answerer: String,
    /// The arms.
    pub arms: Vec<ArmInfo>,
    /// Each arm over all questions, then each arm over each type where there are several.
    pub groups: Vec<AnswerGroup>,
    /// Every question in every arm.
    pub rows: Vec<AnswerRow>,
}

/// An arm over some questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerGroup {
    /// The arm.
    pub arm: String,
    /// The type of the questions; all questions where `None`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How many questions.
    pub questions: usize,
    /// Of these, how many have a right answer to compare with; the scores are means over them.
    pub scored: usize,
    /// Of all, how many could not be asked; they count as wrong.
    pub failed: usize,
    /// Share of questions for which there was anything to answer from.
    pub found: f64,
    /// Exact match.
    pub exact_match: Estimate,
    /// F1 of words.
    pub f1: Estimate,
    /// Whether a right answer stands inside the answer.
    pub contained: Estimate,
    /// Words of an answer.
    pub words: f64,
    /// Latency of those that could be asked.
    pub latency_ms: Percentiles,
    /// Tokens of a context.
    pub context_tokens: f64,
    /// Calls of models for one question.
    pub calls: f64,
    /// Tokens sent to models for one question.
    pub prompt_tokens: f64,
    /// Tokens received.
    pub completion_tokens: f64,
}

/// The questions that are answered: all, in order, at most as many as the options say.
pub fn asked<'a>(set: &'a QuestionSet, options: &AskOptions) -> Vec<&'a SetQuestion> {
    set.questions.iter().take(options.limit.unwrap_or(usize::MAX)).collect()
}

/// `arm` with this form of answer, unless it asks for one of its own.
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
        record(engine, [&retrieval.spent, &answer.spent]).await;
        let calls: Vec<_> = retrieval.spent.calls.iter().chain(&answer.spent.calls).cloned().collect();
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
    /// The report of these rows.
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

    /// The answers of an arm, that have a right one, for RAGChecker. Of several right answers the first counts.
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

    /// How many answers of an arm are right and wrong: of all questions, of each type, then of each language; empty where the
    /// set does not say what is right.
    pub fn verdicts(&self, arm: &str) -> Vec<(String, VerdictCounts)> {
        let rows = || self.rows.iter().filter(|row| row.arm == arm);
        VerdictCounts::grouped(
            rows().filter_map(|row| Some((row.kind.as_str(), row.language.as_str(), row.verdict?))),
        )
    }

    /// Questions that could not be asked, over all arms.
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
    use crate::set::Expected;

    use super::*;

    fn row(arm: &Arm, id: &str, answers: &[&str], answer: &str, failed: Option<&str>) -> AnswerRow {
        let question = SetQuestion {
            id: id.to_owned(),
            text: format!("{id}?"),
            answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
            kind: String::new(),
            gold: Vec::new(),
            expected: Expected::default(),
        };
        let task = Task { arm, question: &question, key: ContentHash::of(b"") };
        let row = AnswerRow::without(&task, failed.map(str::to_owned));
        AnswerRow { answer: answer.to_owned(), ..row }.scored()
    }

    #[test]
    fn scores_are_means_over_the_questions_that_have_a_right_answer() {
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
    fn a_short_answer_is_asked_for_unless_an_arm_says_otherwise() {
        let own = Arm::of_json("own", r#"{"response_type": "A list"}"#).expect("an arm");
        assert_eq!(with_form(own, SHORT_ANSWER).question.response_type, "A list");
        assert_eq!(with_form(Arm::of_mode(Mode::Mix), "Briefly").question.response_type, "Briefly");
    }
}
