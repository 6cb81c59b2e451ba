//! Answers without an LLM: with sentences of the documents, and words that say how well they answer the question.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use graphloom_core::Span;
use serde::{Deserialize, Serialize};

use super::calls::QueryCost;
use super::cite::{self, CitableChunk, Pick};
use super::claims::ANSWERS;
use super::plan::{AnswerStrategy, Plan};
use super::selection::Workspace;
use super::stops::{self, CutText};
use super::wording::Language;
use super::{Answer, QueryError, QueryNote, Question, Retrieval, overview, reports};
use crate::Engine;
use crate::extract::is_boilerplate;
use graphloom_offline::{Intent, Passage, Quote, Reply};
use graphloom_text::{
    Joint, is_about_rights, is_clause, is_list_item, is_prose, joint, sentences, sentences_and_code,
    turn_label,
};

/// Maximum number of claims in an answer as of a date, and of sentences that state each.
const MAX_HELD: usize = 5;
const MAX_QUOTES: usize = 2;

/// The kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// An answer written by a model, or sentences that answer the question.
    Answer,
    /// No sentence answers the question; these are the passages closest to it.
    Closest,
    /// What the documents as a whole are about: their topics, each with a sentence.
    Overview,
    /// The documents contain nothing close to the question.
    NotFound,
    /// There are no documents to search.
    Empty,
    /// A reply to a greeting, which is not a question.
    Greeting,
}

/// Writes the name of the kind, as in JSON.
impl std::fmt::Display for AnswerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Answer => "answer",
            Self::Closest => "closest",
            Self::Overview => "overview",
            Self::NotFound => "not_found",
            Self::Empty => "empty",
            Self::Greeting => "greeting",
        })
    }
}

/// Answers without a model.
pub(super) async fn answer(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, QueryError> {
    let text = retrieval.searched(question);
    let language = Language::of(text);
    if Plan::of(retrieval.mode).answer == AnswerStrategy::MapReduce
        && let Some(answer) = reports::answer(engine, question, retrieval, on_delta).await?
    {
        return Ok(answer);
    }
    match graphloom_offline::intent(text) {
        Intent::Greeting => {
            return Ok(plain(engine, question, AnswerKind::Greeting, language.greeting(), on_delta));
        }
        Intent::Overview => {
            if let Some(overview) = overview::overview(engine, question, retrieval, language).await? {
                let cited: Vec<CitableChunk<'_>> = overview.cited();
                return written(engine, question, AnswerKind::Overview, &overview.draft, &cited, on_delta)
                    .await;
            }
        }
        Intent::Question => {}
    }
    let cited = cite::cited(retrieval);
    if let Some(draft) = held_then(retrieval, &cited, language) {
        return written(engine, question, AnswerKind::Answer, &draft, &cited, on_delta).await;
    }
    // A question about a work is not answered from the licence behind it.
    let reads_boilerplate = is_about_rights(text);
    let texts: Vec<Cow<'_, str>> = (retrieval.chunks.iter())
        .map(|found| match &retrieval.as_of {
            _ if !reads_boilerplate && is_boilerplate(&found.chunk) => Cow::Borrowed(""),
            Some(as_of) => Cow::Owned(as_of.blanked(&found.chunk)),
            None => Cow::Borrowed(found.chunk.text.as_str()),
        })
        .collect();
    let title = |number: u32| {
        let reference = retrieval.references.iter().find(|reference| reference.number == number);
        reference.map_or("", |reference| reference.title.as_str())
    };
    let passages: Vec<Passage<'_>> = retrieval
        .chunks
        .iter()
        .zip(&texts)
        .map(|(found, text)| Passage {
            text,
            title: title(found.reference),
            headings: &found.chunk.breadcrumb,
        })
        .collect();
    let scores = match &engine.models.sentence_scorer {
        Some(scorer) => graphloom_offline::scores(scorer.as_ref(), text, &passages).await?,
        None => Vec::new(),
    };
    match graphloom_offline::reply_with_scores(text, &passages, &scores) {
        Reply::Answer(quotes) => {
            let mut draft = Draft::default();
            quotes.iter().for_each(|quote| draft.quote("", &cited, quote));
            written(engine, question, AnswerKind::Answer, &draft, &cited, on_delta).await
        }
        Reply::Likely(quotes) => {
            let mut draft = Draft::default();
            draft.line(language.likely());
            draft.line("");
            quotes.iter().for_each(|quote| draft.quote("", &cited, quote));
            written(engine, question, AnswerKind::Answer, &draft, &cited, on_delta).await
        }
        Reply::Closest(quotes) => {
            let mut draft = Draft::default();
            draft.line(language.closest());
            quotes.iter().for_each(|quote| {
                draft.line("");
                draft.quote("", &cited, quote);
            });
            written(engine, question, AnswerKind::Closest, &draft, &cited, on_delta).await
        }
        Reply::Nothing => not_found(engine, question, retrieval, on_delta).await,
    }
}

/// Drafts the claims that held at the date of the question, with the sentences that state them. Returns `None` if no claim
/// has an entity and a kind that the question names.
fn held_then(retrieval: &Retrieval, cited: &[CitableChunk<'_>], language: Language) -> Option<Draft> {
    let date = &retrieval.as_of.as_ref()?.date;
    let best = retrieval.claims.first()?.score;
    let mut draft = Draft::default();
    let mut written = 0;
    for found in retrieval.claims.iter().filter(|found| found.score >= ANSWERS && found.score + 1.0 > best) {
        let quotes: Vec<Quote> = (found.claim.quotes.iter())
            .filter_map(|quote| {
                let passage = cited.iter().position(|cited| cited.chunk.id == quote.chunk)?;
                let start = quote.span.start.checked_sub(cited[passage].chunk.span.start)? as usize;
                let range = start..start + quote.span.len();
                Some(Quote { passage, range, matches: Vec::new() })
            })
            .take(MAX_QUOTES)
            .collect();
        if quotes.is_empty() || written == MAX_HELD {
            continue;
        }
        written += 1;
        draft.line(&language.as_of(&date.to_string(), &found.claim.line()));
        quotes.iter().for_each(|quote| draft.quote("", cited, quote));
    }
    (written > 0).then_some(draft)
}

/// Answers that nothing was found, with the number of documents and the words searched for.
pub(super) async fn not_found(
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, QueryError> {
    let text = retrieval.searched(question);
    let language = Language::of(text);
    let documents = documents(engine, question).await?;
    let none_fits = retrieval.notes.iter().any(|note| matches!(note, QueryNote::NoneFits { .. }));
    let (kind, words) = match documents {
        0 => (AnswerKind::Empty, language.empty().to_owned()),
        _ if none_fits => (AnswerKind::NotFound, language.none_fits().to_owned()),
        _ => (AnswerKind::NotFound, language.not_found(documents, &graphloom_offline::looked_for(text))),
    };
    Ok(plain(engine, question, kind, &words, on_delta))
}

/// Returns the number of documents that match the question's filter.
pub(super) async fn documents(engine: &Engine, question: &Question) -> Result<u64, QueryError> {
    let filter = question.filter.as_ref();
    let workspace = Workspace::read(engine, filter, false).await?;
    match &workspace.selection.allowed {
        Some(allowed) => Ok(allowed.documents().len() as u64),
        None => Ok(engine.store.snapshot().await?.counts().await?.documents),
    }
}

/// Returns an answer without citations.
fn plain(
    engine: &Engine,
    question: &Question,
    kind: AnswerKind,
    words: &str,
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Answer {
    let CutText { text, cut } = stops::cut(question, engine.tokenizer, words);
    on_delta(&text);
    Answer {
        text,
        kind,
        cut,
        found: false,
        model: None,
        citations: Vec::new(),
        dropped_citations: 0,
        matches: Vec::new(),
        cost: QueryCost::default(),
    }
}

/// Applies the limits of the question to a draft, and returns the answer with the remaining citations.
pub(super) async fn written(
    engine: &Engine,
    question: &Question,
    kind: AnswerKind,
    draft: &Draft,
    cited: &[CitableChunk<'_>],
    on_delta: &mut (dyn FnMut(&str) + Send),
) -> Result<Answer, QueryError> {
    let CutText { text, cut } = stops::cut(question, engine.tokenizer, draft.text.trim_end());
    on_delta(&text);
    let kept = draft.picks.iter().filter(|(end, _)| *end <= text.len());
    let picks: Vec<Pick> = kept.map(|(_, pick)| pick.clone()).collect();
    let (citations, dropped_citations) = cite::verify(engine, cited, &picks).await?;
    let matches = draft.matches.iter().filter(|range| range.end <= text.len());
    let matches = matches.map(|range| Span::new(range.start, range.end)).collect();
    let (found, model, cost) = (true, None, QueryCost::default());
    Ok(Answer { text, kind, cut, found, model, citations, dropped_citations, matches, cost })
}

/// An answer in progress.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) text: String,
    /// The sentences that its reference numbers point to, with the end of each number in the text.
    picks: Vec<(usize, Pick)>,
    /// Byte ranges of the text with words of the question.
    matches: Vec<Range<usize>>,
}

impl Draft {
    pub(super) fn line(&mut self, words: &str) {
        self.text.push_str(words);
        self.text.push('\n');
    }

    /// Adds a line with the words of a quote and the number of its document. Runs of white space become one space, line ends are
    /// joined as in [`graphloom_text::one_line`], and marks of quotations (`>`) at the beginning of lines are left out.
    /// Paragraphs, list items, table rows, turns of conversations, code and sentences that end without a mark, such as titles,
    /// keep their own lines. Numbers of notes are [raised](cite::notes).
    ///
    /// - `before`: text before the quote on its line.
    pub(super) fn quote(&mut self, before: &str, cited: &[CitableChunk<'_>], quote: &Quote) {
        let Some(from) = cited.get(quote.passage) else { return };
        let Some(words) = from.chunk.text.get(quote.range.clone()) else { return };
        self.text.push_str(before);
        let starts = |of: Vec<Range<usize>>| of.into_iter().map(|range| range.start).collect();
        let begins: HashSet<usize> = starts(sentences(&from.chunk.text));
        let with_code: HashSet<usize> = starts(sentences_and_code(&from.chunk.text));
        let notes = cite::notes(words);
        let mut marks = quote.matches.iter().peekable();
        let mut begun = None;
        let mut gap = String::new();
        for (at, c) in words.char_indices().map(|(at, c)| (quote.range.start + at, c)) {
            if begun.is_some() && marks.peek().is_some_and(|mark| mark.end <= at) {
                self.matches.extend(begun.take().map(|start| start..self.text.len()));
                marks.next();
            }
            if c.is_whitespace() || (c == '>' && gap.contains('\n')) {
                gap.push(c);
                continue;
            }
            if !gap.is_empty() {
                let line = words[at - quote.range.start..].lines().next().unwrap_or_default();
                let before = self.text.rsplit('\n').next().unwrap_or_default();
                let is_code = !begins.contains(&at) && with_code.contains(&at);
                // The marks of a quotation begin no line.
                let begins = begins.contains(&at) && !gap.contains('>');
                let is_message = || turn_label(line).is_some();
                let is_apart = is_code || stands_alone(line) || begins && (!is_prose(before) || is_message());
                match gap.matches('\n').count() {
                    0 => self.text.push(' '),
                    1 if !is_apart => match joint(&self.text, line) {
                        Joint::Word => {
                            self.text.pop();
                        }
                        Joint::Space => self.text.push(' '),
                        Joint::Nothing => {}
                    },
                    _ if is_code => self.text.push_str(&gap[gap.rfind('\n').unwrap_or_default()..]),
                    _ => self.text.push('\n'),
                }
                gap.clear();
            }
            if begun.is_none() && marks.peek().is_some_and(|mark| mark.start <= at && at < mark.end) {
                begun = Some(self.text.len());
            }
            match cite::is_in(&notes, at - quote.range.start) {
                true => self.text.extend(cite::raised(c)),
                false => self.text.push(c),
            }
        }
        self.matches.extend(begun.map(|start| start..self.text.len()));
        self.text.push_str(&format!(" [{}]", from.number));
        let pick = Pick { chunk: quote.passage, range: quote.range.clone() };
        self.picks.push((self.text.len(), pick));
        self.text.push('\n');
    }
}

/// True if a line does not continue the previous one: a list item, a clause, a table row or a turn of a conversation.
fn stands_alone(line: &str) -> bool {
    is_list_item(line) || is_clause(line) || line.starts_with('[') || line.contains(" | ")
}

#[cfg(test)]
mod tests {
    use graphloom_core::{Chunk, ChunkExtraction, ChunkId, DocumentId};

    use super::*;

    fn check_quote(text: &str, from: usize, matches: Vec<std::ops::Range<usize>>) -> Draft {
        let chunk = Chunk {
            id: ChunkId::from_stored("c"),
            document: DocumentId::from_stored("d"),
            ordinal: 0,
            span: Span::new(0, text.len()),
            token_count: 1,
            breadcrumb: Vec::new(),
            text: text.to_owned(),
            extraction: ChunkExtraction::Pending,
        };
        let mut draft = Draft::default();
        draft.line("Closest:");
        let quote = Quote { passage: 0, range: from..text.len(), matches };
        draft.quote("- ", &[CitableChunk { chunk: &chunk, number: 4 }], &quote);
        draft
    }

    #[test]
    fn a_quote_is_on_one_line_with_its_matches() {
        let draft = check_quote("x. The  old\nbridge fell.", 3, vec![3..6, 8..18]);
        assert_eq!(draft.text, "Closest:\n- The old bridge fell. [4]\n");
        let marked: Vec<&str> = draft.matches.iter().map(|range| &draft.text[range.clone()]).collect();
        assert_eq!(marked, ["The", "old bridge"]);
        assert_eq!(draft.picks[0].0, draft.text.trim_end().len());
    }

    #[test]
    fn quotation_marks_and_hyphenation_are_removed_from_the_answer() {
        let draft =
            check_quote("The old\n> > bridge was re-\n> > built, 5 > 3.\n> >\n> > So", 0, vec![4..7, 12..18]);
        assert_eq!(draft.text, "Closest:\n- The old bridge was rebuilt, 5 > 3.\nSo [4]\n");
        assert_eq!(&draft.text[draft.matches[1].clone()], "bridge");
        let wrapped = "这座桥在洪水之后由当地的工匠按照原来的样子重新修建\n了。";
        let expected = format!("Closest:\n- {} [4]\n", wrapped.replace('\n', ""));
        assert_eq!(check_quote(wrapped, 0, Vec::new()).text, expected);
    }

    #[test]
    fn paragraphs_entries_rows_and_turns_keep_their_own_lines() {
        let text = "It\nhas:\n\n- a lid,\nwhich is red\n- a base\n[09:14] Ada: Yes.\n\nIt is\nold.\nIt stands.\n\nHURT\nAda, 34\nBen, 37";
        assert_eq!(
            check_quote(text, 0, Vec::new()).text,
            "Closest:\n- It has:\n- a lid, which is red\n- a base\n[09:14] Ada: Yes.\nIt is old. It stands.\nHURT\n\
             Ada, 34\nBen, 37 [4]\n"
        );
        let chat = "2024-02-15 08:52 Ada: Who is there?\n2024-02-15 08:53 Ben: Me.";
        assert_eq!(check_quote(chat, 0, Vec::new()).text, format!("Closest:\n- {chat} [4]\n"));
        let values = "出席： 林青、田主任\n缺席： 罗启明（出差）";
        assert_eq!(check_quote(values, 0, Vec::new()).text, format!("Closest:\n- {values} [4]\n"));
    }

    #[test]
    fn code_keeps_its_lines_and_indentation() {
        let text = "Install it:\n\n```shell\nif true; then\n  make all\nfi\n```\n\nThen run\nit.";
        let expected =
            "Closest:\n- Install it:\n```shell\nif true; then\n  make all\nfi\n```\nThen run it. [4]\n";
        assert_eq!(check_quote(text, 0, Vec::new()).text, expected);
    }

    #[test]
    fn numbers_of_notes_are_not_taken_for_citations() {
        let text = "It is old.[3] In 1391 it got `x[1]` and a charter [4, 12].";
        let draft = check_quote(text, 0, Vec::new());
        assert_eq!(draft.text, "Closest:\n- It is old.³ In 1391 it got `x[1]` and a charter ⁴, ¹². [4]\n");
        let before = draft.text.trim_end().trim_end_matches("[4]");
        assert!(cite::ends_with_quote(before, text), "{before}");
    }
}
