//! Answers from reports without an LLM: the best reports, each with a sentence of the documents.

use std::collections::BTreeSet;

use graphloom_core::NodeKey;

use super::{FoundReport, evidence};
use crate::Engine;
use crate::derive::RULES;
use crate::query::cite::{self, ContentWords, likeness};
use crate::query::verbatim::{self, Draft, written};
use crate::query::wording::Language;
use crate::query::{Answer, AnswerKind, QueryError, Question, Retrieval};
use graphloom_offline::{Intent, Quote};
use graphloom_text::is_prose;

/// Maximum number of reports shown.
const MAX_SHOWN: usize = 8;

/// Returns the most relevant reports that have a sentence, with their titles; `None` if there are none.
///
/// A report by an LLM is shown with the text of its first finding, a report by rules only with the sentence.
pub(in crate::query) async fn answer(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Option<Answer>, QueryError> {
    let text = retrieval.searched(question);
    let language = Language::of(text);
    let is_overview = graphloom_offline::intent(text) == Intent::Overview;
    let words = ContentWords::new();
    let looked_for = if is_overview { BTreeSet::new() } else { words.of(text) };
    let mut quoted = BTreeSet::new();
    let mut lines = Vec::new();
    for report in &retrieval.reports {
        if lines.len() == MAX_SHOWN {
            break;
        }
        let Some((statement, quote)) = best_sentence(retrieval, &report.id, &looked_for, &words, &mut quoted)
        else {
            continue;
        };
        lines.push((before(report, statement), quote));
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let documents = verbatim::documents(engine, question).await?;
    let mut draft = Draft::default();
    draft.line(&match is_overview {
        true => language.overview_of_reports(documents, lines.len(), retrieval.reports.len()),
        false => language.nearest_reports(lines.len(), retrieval.reports.len()),
    });
    let cited = cite::cited(retrieval);
    for (before, quote) in lines {
        draft.line("");
        draft.quote(&before, &cited, &quote);
    }
    let kind = if is_overview { AnswerKind::Overview } else { AnswerKind::Closest };
    written(engine, question, kind, &draft, &cited, on_delta).await.map(Some)
}

fn before(report: &FoundReport, statement: &str) -> String {
    match report.by == RULES {
        true => format!("{}: ", report.title),
        false => format!("{}: {statement} ", report.title),
    }
}

/// Returns the best sentence behind the findings of a report that is not quoted yet, and the text of its finding: prose
/// before tables, then the sentence most similar to the question, then the first.
fn best_sentence<'a>(
    retrieval: &'a Retrieval,
    report: &NodeKey,
    question_words: &BTreeSet<String>,
    words: &ContentWords,
    quoted: &mut BTreeSet<(usize, usize)>,
) -> Option<(&'a str, Quote)> {
    let mut best: Option<((bool, f64), &str, Quote)> = None;
    for (passage, found) in retrieval.chunks.iter().enumerate() {
        for evidence in found.evidence.iter().filter(|evidence| evidence.report.as_ref() == Some(report)) {
            let Some(range) = evidence::within(found.chunk.span, evidence.span, &found.chunk.text) else {
                continue;
            };
            let sentence = &found.chunk.text[range.clone()];
            let score = (is_prose(sentence), likeness(question_words, &words.of(sentence)));
            let is_better = best
                .as_ref()
                .is_none_or(|(known, ..)| score.0.cmp(&known.0).then(score.1.total_cmp(&known.1)).is_gt());
            if is_better && !quoted.contains(&(passage, range.start)) {
                let quote = Quote { passage, range, matches: Vec::new() };
                best = Some((score, evidence.statement.as_str(), quote));
            }
        }
    }
    let (_, statement, quote) = best?;
    quoted.insert((quote.passage, quote.range.start));
    Some((statement, quote))
}
