//! Resolves the numbers in an answer to sentences of the documents, and verifies them byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use graphloom_core::{Chunk, DocumentId, Span};
use graphloom_text::{one_line, raised_digit};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use super::{Answer, Citation, FoundChunk, QueryError, Retrieval, reports};
use crate::Engine;

/// A chunk that an answer may cite.
#[derive(Debug, Clone, Copy)]
pub(super) struct CitableChunk<'a> {
    pub(super) chunk: &'a Chunk,
    /// The number of the document.
    pub(super) number: u32,
}

/// Returns the chunks of the context, in their order.
pub(super) fn cited(retrieval: &Retrieval) -> Vec<CitableChunk<'_>> {
    let chunks = retrieval.chunks.iter();
    chunks.map(|found| CitableChunk { chunk: &found.chunk, number: found.reference }).collect()
}

/// A sentence of a chunk that supports an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pick {
    /// Index of the chunk among the citable chunks.
    pub(super) chunk: usize,
    /// Byte range of the sentence in the chunk's text.
    pub(super) range: Range<usize>,
}

/// Reference numbers at one place of an answer, with the sentences they point to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Byte range in the answer, brackets included.
    pub range: Range<usize>,
    /// The sentence for each number; `None` if the number points to nothing.
    pub cited: Vec<Option<CitedSpan>>,
}

/// A sentence of a document that a number points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedSpan {
    /// The number in the answer, which is the number of the document in the context.
    pub number: u32,
    /// The document.
    pub document: DocumentId,
    /// Byte range in the document's text.
    pub span: Span,
}

/// Returns the reference numbers of `answer` with the sentences they point to, in order. They equal the citations of the
/// whole answer.
///
/// Code, lists of numbered documents and the closing list of references contain no marks.
pub fn marks(answer: &str, retrieval: &Retrieval) -> Vec<Mark> {
    let mut resolver = Resolver::new(retrieval);
    let marked = claims(answer).into_iter().map(|claim| {
        let cited = resolver.picks(&claim).into_iter().zip(&claim.numbers).map(|(pick, number)| {
            let Pick { chunk, range } = pick?;
            let found = &retrieval.chunks[chunk].chunk;
            let span = found.span.within(Span::new(range.start, range.end));
            Some(CitedSpan { number: *number, document: found.document.clone(), span })
        });
        Mark { cited: cited.collect(), range: claim.range.clone() }
    });
    marked.collect()
}

/// Returns the marks of a whole answer. If no model wrote it, a number points to the citation that is quoted before it.
pub fn marks_of(answer: &Answer, retrieval: &Retrieval) -> Vec<Mark> {
    let mut marked = marks(&answer.text, retrieval);
    if answer.model.is_some() {
        return marked;
    }
    for (mark, claim) in marked.iter_mut().zip(claims(&answer.text)) {
        let before = &answer.text[..mark.range.start];
        for (cited, number) in mark.cited.iter_mut().zip(claim.numbers) {
            let quoted = |it: &&Citation| it.number == number && ends_with_quote(before, &it.quote);
            if let Some(citation) = answer.citations.iter().find(quoted) {
                let (document, span) = (citation.document.clone(), citation.span);
                *cited = Some(CitedSpan { number, document, span });
            }
        }
    }
    marked
}

/// True if a part of a verbatim answer ends with a quote, as answers write it: on one line, without marks of quotations, and with
/// raised numbers of notes.
pub fn ends_with_quote(before: &str, quote: &str) -> bool {
    let quote = one_line(quote);
    let notes = notes(&quote);
    let written_as = |(at, c)| if is_in(&notes, at) { raised(c) } else { Some(c) };
    let mut quoted = quote.char_indices().rev().filter_map(written_as).filter(|c| !c.is_whitespace());
    let mut written = before.chars().rev().filter(|c| !c.is_whitespace());
    quoted.all(|c| written.next() == Some(c))
}

/// Returns the byte ranges of numbers in brackets in words of a document: its notes or references. An answer raises them, as in
/// `old.³` for `old.[3]`, because brackets mark its citations.
pub(super) fn notes(words: &str) -> Vec<Range<usize>> {
    markers(words).into_iter().map(|marker| marker.range).collect()
}

/// True if a position is in one of the ranges.
pub(super) fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    ranges.iter().any(|range| range.contains(&at))
}

/// Returns a character of a note as an answer writes it; `None` for a bracket.
pub(super) fn raised(c: char) -> Option<char> {
    raised_digit(c).or_else(|| (!matches!(c, '[' | ']')).then_some(c))
}

/// Returns `answer` without a closing section `### References`.
pub fn without_references(answer: &str) -> &str {
    &answer[..references_start(answer)]
}

/// Returns the sentence for each reference number of `answer`; `None` for numbers that point to nothing.
///
/// Of the sentences of its document in the context, a number points to the one that shares most words with the answer's
/// sentence around the number. It points to nothing if the context has no such document, or if no word is shared. If a
/// passage is in the context because findings rest on some of its sentences, only these are considered.
pub(super) fn resolve(answer: &str, retrieval: &Retrieval) -> Vec<Option<Pick>> {
    let mut resolver = Resolver::new(retrieval);
    claims(answer).iter().flat_map(|claim| resolver.picks(claim)).collect()
}

/// Finds the sentences for reference numbers, and caches the words of passages.
struct Resolver<'a> {
    retrieval: &'a Retrieval,
    words: ContentWords,
    sentences: BTreeMap<usize, Vec<Sentence>>,
}

impl<'a> Resolver<'a> {
    fn new(retrieval: &'a Retrieval) -> Self {
        Self { retrieval, words: ContentWords::new(), sentences: BTreeMap::new() }
    }

    fn picks(&mut self, claim: &Claim) -> Vec<Option<Pick>> {
        let claimed = self.words.of(&claim.sentence);
        claim.numbers.iter().map(|number| self.pick(*number, &claimed)).collect()
    }

    fn pick(&mut self, number: u32, claimed: &BTreeSet<String>) -> Option<Pick> {
        let mut best: Option<(f64, Pick)> = None;
        let chunks = self.retrieval.chunks.iter().enumerate();
        for (chunk, found) in chunks.filter(|(_, found)| found.reference == number) {
            let words = &self.words;
            let sentences = self.sentences.entry(chunk).or_insert_with(|| words.of_chunk(found));
            for sentence in sentences.iter() {
                let score = likeness(claimed, &sentence.words);
                if score > best.as_ref().map_or(0.0, |(score, _)| *score) {
                    best = Some((score, Pick { chunk, range: sentence.range.clone() }));
                }
            }
        }
        best.map(|(_, pick)| pick)
    }
}

/// Returns the citations of the picks whose text is in the documents exactly as it was in the context, in order of first
/// appearance, each once; and the number of picks that failed this check.
pub(super) async fn verify(
    engine: &Engine,
    cited: &[CitableChunk<'_>],
    picks: &[Pick],
) -> Result<(Vec<Citation>, u32), QueryError> {
    if picks.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let ids: BTreeSet<&DocumentId> = picks.iter().map(|pick| &cited[pick.chunk].chunk.document).collect();
    let ids: Vec<DocumentId> = ids.into_iter().cloned().collect();
    let snapshot = engine.store.snapshot().await?;
    let (documents, texts) = (snapshot.documents(&ids).await?, snapshot.texts(&ids).await?);
    drop(snapshot);
    let sources: BTreeMap<DocumentId, _> = documents
        .into_iter()
        .zip(texts)
        .flat_map(|(document, text)| document.zip(text))
        .map(|(document, text)| (document.id.clone(), (document, text)))
        .collect();

    let mut citations: Vec<Citation> = Vec::new();
    let mut dropped = 0;
    for pick in picks {
        let found = cited[pick.chunk];
        let span = found.chunk.span.within(Span::new(pick.range.start, pick.range.end));
        let source = sources.get(&found.chunk.document);
        let verified = source.and_then(|(document, text)| {
            let quote = span.slice(text)?;
            (found.chunk.text.get(pick.range.clone()) == Some(quote)).then(|| Citation {
                number: found.number,
                document: document.id.clone(),
                source: document.source.clone(),
                span,
                lines: span.lines_in(text),
                lines_match_source: document.lines_match_source,
                place: document.place_of(span),
                quote: quote.to_owned(),
            })
        });
        match verified {
            Some(citation) if citations.contains(&citation) => {}
            Some(citation) => citations.push(citation),
            None => dropped += 1,
        }
    }
    Ok((citations, dropped))
}

/// A sentence of an answer and the numbers at one place in it.
#[derive(Debug, PartialEq, Eq)]
struct Claim {
    sentence: String,
    numbers: Vec<u32>,
    /// Byte range of the numbers in the answer.
    range: Range<usize>,
}

/// Returns the claims of an answer. Code, the closing list of references and other lists of numbered documents contain no claims.
fn claims(answer: &str) -> Vec<Claim> {
    let body = &answer[..references_start(answer)];
    let markers = markers(body);
    let mut masked = body.as_bytes().to_vec();
    for marker in &markers {
        masked[marker.range.clone()].fill(b' ');
    }
    let masked = String::from_utf8_lossy(&masked);
    let sentences = sentences_by_line(&masked);
    let mut claims = Vec::new();
    for marker in markers {
        let line_start = body[..marker.range.start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = body[marker.range.end..].find('\n').map_or(body.len(), |at| marker.range.end + at);
        let says_something = |range: Range<usize>| masked[range].contains(char::is_alphanumeric);
        if !says_something(line_start..marker.range.start) && says_something(marker.range.end..line_end) {
            continue; // An entry of a list of documents.
        }
        let sentence = sentences.iter().rev().find(|sentence| sentence.start < marker.range.start);
        let sentence = sentence.map_or(String::new(), |range| masked[range.clone()].to_owned());
        claims.push(Claim { sentence, numbers: marker.numbers, range: marker.range });
    }
    claims
}

/// Returns the sentences with at least one word, line by line.
fn sentences_by_line(text: &str) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for range in graphloom_text::sentences_and_code(line) {
            let range = start + range.start..start + range.end;
            if text[range.clone()].contains(char::is_alphanumeric) {
                sentences.push(range);
            }
        }
        start += line.len();
    }
    sentences
}

/// Returns the start of the closing section `### References`, or the end of the answer if there is none.
fn references_start(answer: &str) -> usize {
    let mut start = 0;
    for line in answer.split_inclusive('\n') {
        let line_text = line.trim();
        let is_heading = line_text.starts_with(['#', '*']);
        if is_heading && line_text.trim_matches(['#', '*', ':', ' ']).eq_ignore_ascii_case("references") {
            return start;
        }
        start += line.len();
    }
    answer.len()
}

/// Numbers in brackets.
#[derive(Debug, PartialEq, Eq)]
struct Marker {
    range: Range<usize>,
    numbers: Vec<u32>,
}

/// Longest list of numbers that counts as a marker, in bytes.
const MAX_MARKER_BYTES: usize = 128;

/// Returns all `[n]` and `[n, m]` outside of code.
fn markers(text: &str) -> Vec<Marker> {
    let bytes = text.as_bytes();
    let mut markers = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'`' => at = code_end(text, at),
            b'[' => {
                let close = bytes[at..].iter().take(MAX_MARKER_BYTES).position(|byte| *byte == b']');
                let close = close.map(|length| at + length);
                let numbers = close.and_then(|close| numbers(text.get(at + 1..close)?));
                match (close, numbers) {
                    (Some(close), Some(numbers)) => {
                        markers.push(Marker { range: at..close + 1, numbers });
                        at = close + 1;
                    }
                    (_, None) | (None, _) => at += 1,
                }
            }
            _ => at += 1,
        }
    }
    markers
}

/// Parses a comma-separated list of numbers. A number too large for any list of documents becomes 0, which no document has.
fn numbers(list: &str) -> Option<Vec<u32>> {
    let number = |item: &str| {
        let item = item.trim();
        let is_number = !item.is_empty() && item.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| item.parse().unwrap_or(0))
    };
    list.split(',').map(number).collect()
}

/// Returns the end of the code that the backticks at `start` open, or the end of these backticks if nothing closes them.
fn code_end(text: &str, start: usize) -> usize {
    let opened = text[start..].bytes().take_while(|byte| *byte == b'`').count();
    let inner = start + opened;
    let mut at = inner;
    while let Some(offset) = text[at..].find('`') {
        let close = at + offset;
        let closed = text[close..].bytes().take_while(|byte| *byte == b'`').count();
        if closed == opened {
            return close + closed;
        }
        at = close + closed;
    }
    inner
}

/// Returns the square of the number of common words divided by the product of both sizes: 1 for equal sets, 0 for disjoint ones.
pub(crate) fn likeness(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let common = one.intersection(other).count() as f64;
    if common == 0.0 { 0.0 } else { common * common / (one.len() as f64 * other.len() as f64) }
}

/// A sentence of a chunk with its content words.
struct Sentence {
    range: Range<usize>,
    words: BTreeSet<String>,
}

/// Splits text into its content words, lower-case and stemmed.
pub(crate) struct ContentWords {
    stemmer: Stemmer,
}

/// Frequent English words that do not make two sentences alike.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "before",
    "but", "by", "can", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "may", "more", "most", "no", "not", "of", "on", "or",
    "other", "she", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "will", "with", "would", "you",
];

impl ContentWords {
    pub(crate) fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English) }
    }

    /// Returns the sentences of a chunk. If the chunk is in the context only for some sentences, returns these, each with the
    /// words of the statements that rest on it.
    fn of_chunk(&self, found: &FoundChunk) -> Vec<Sentence> {
        if found.evidence.is_empty() {
            return self.of_sentences(&found.chunk.text);
        }
        let text = &found.chunk.text;
        let sentences = found.evidence.iter().filter_map(|evidence| {
            let range = reports::within(found.chunk.span, evidence.span, text)?;
            let mut words = self.of(&evidence.statement);
            words.extend(self.of(&text[range.clone()]));
            Some(Sentence { range, words })
        });
        sentences.collect()
    }

    fn of_sentences(&self, text: &str) -> Vec<Sentence> {
        let sentence = |range: Range<usize>| Sentence { words: self.of(&text[range.clone()]), range };
        graphloom_text::sentences_and_code(text).into_iter().map(sentence).collect()
    }

    pub(crate) fn of(&self, text: &str) -> BTreeSet<String> {
        text.unicode_words()
            .map(str::to_lowercase)
            .filter(|word| STOP_WORDS.binary_search(&word.as_str()).is_err())
            .map(|word| self.stemmer.stem(&word).into_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_claims(answer: &str, expected: &[(&str, &[u32])]) {
        let found: Vec<(String, Vec<u32>)> = claims(answer)
            .into_iter()
            .map(|claim| (claim.sentence.split_whitespace().collect::<Vec<_>>().join(" "), claim.numbers))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(sentence, numbers)| ((*sentence).to_owned(), numbers.to_vec())).collect();
        assert_eq!(found, expected, "{answer}");
    }

    #[test]
    fn a_number_belongs_to_the_sentence_it_is_in_or_after() {
        check_claims("Ada wrote notes [1]. Bob read.", &[("Ada wrote notes .", &[1])]);
        check_claims(
            "Ada wrote notes. [1] Bob read them. [2]",
            &[("Ada wrote notes.", &[1]), ("Bob read them.", &[2])],
        );
        check_claims("Ada wrote[1, 2][3].", &[("Ada wrote .", &[1, 2]), ("Ada wrote .", &[3])]);
        check_claims("- Ada wrote [1]\n- Bob read [2]\n", &[("- Ada wrote", &[1]), ("- Bob read", &[2])]);
    }

    #[test]
    fn code_links_and_lists_of_documents_are_not_citations() {
        check_claims("Use `a[1]` and\n```\nb[2]\n```\n[x] [1a] [] [-1]", &[]);
        check_claims(
            "Ada wrote [1].\n\n### References\n\n* [1] Notes\n* [7] Other",
            &[("Ada wrote .", &[1])],
        );
        check_claims("Ada schrieb [1].\n\nQuellen:\n- [1] Notizen", &[("Ada schrieb .", &[1])]);
        check_claims("", &[]);
        check_claims("[1]", &[("", &[1])]);
        check_claims("Ada [99999999999999999999].", &[("Ada .", &[0])]);
    }

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
    }
}
