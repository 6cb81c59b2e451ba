//! Finds the best matches by BM25. Scores are the same to the last bit, however the index is split into segments and
//! whatever was removed from it.
//!
//! tantivy's own search does not guarantee that: it counts removed entries until their segments are merged, adds up
//! scores in an order that depends on the positions of entries, and skips blocks by bounds computed from the lengths at
//! the time of writing. Here all counts are over live entries, scores are added up in the order of the words, and an
//! entry is skipped only if it cannot be among the best.

use std::collections::{BTreeMap, BinaryHeap};

use graphloom_core::StoreError;
use graphloom_rules::search::{ScoredId, TextQuery};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::Bm25Weight;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED, TantivyError, Term};

use super::super::rows;
use super::within::Entries;
use super::{Fault, IndexView, KEY};
use crate::vector;

/// Most allowed entries that are visited one by one. With more, each possible hit is checked against the filter.
const MAX_ALLOWED_TERMS: usize = 4096;
/// Upper bound of the relative rounding error in a sum of scores.
const SLACK: f32 = 1e-4;

/// Returns the best matches of the words, each with its weight, that are in the snapshot, in the order of [`vector::rank`].
pub(super) fn find(
    ready: &IndexView,
    query: &TextQuery,
    words: &BTreeMap<String, f32>,
    holds: &impl Fn(&str) -> Result<bool, StoreError>,
) -> Result<Vec<ScoredId>, Fault> {
    let IndexView { searcher, fields, holds_all, statistics, within: recent, .. } = ready;
    let code = rows::kind_code(query.kind);
    let field = fields.words[usize::from(code)];
    let kind = statistics.of_kind(searcher, fields, code)?;
    let mut terms = Vec::new();
    for (word, &share) in words {
        let term = Term::from_field_text(field, word);
        let holding = statistics.holding(searcher, &kind, &term)?;
        if holding > 0 {
            let weight = Bm25Weight::for_one_term_without_explain(holding, kind.entries, kind.mean_words())
                .boost_by(share);
            // The score for endless repetition in the shortest text.
            let ceiling = weight.score(0, u32::MAX);
            terms.push(WeightedTerm { term, weight, ceiling });
        }
    }
    let filtered = query.only.filtered.as_ref();
    let few = filtered.filter(|allowed| allowed.count(query.kind) <= MAX_ALLOWED_TERMS);
    let few = few.map(|allowed| recent.entries(searcher, fields, query.kind, allowed)).transpose()?;
    let mut few = few.map(Vec::into_iter);
    let mut best = Best { limit: query.limit, hits: BinaryHeap::new() };
    for segment in searcher.segment_readers() {
        let mut allowed = few.as_mut().and_then(Iterator::next);
        let Some(mut matches) = Matches::of(segment, &terms)? else { continue };
        let ids = segment.fast_fields().str(KEY)?;
        while let Some((doc, score)) = matches.next(allowed.as_mut(), best.least()) {
            if score < best.least() || segment.is_deleted(doc) {
                continue;
            }
            let mut id = String::new();
            if let Some(column) = &ids
                && let Some(ord) = column.term_ords(doc).next()
            {
                column.ord_to_str(ord, &mut id).map_err(TantivyError::from)?;
            }
            let hit = ScoredId { id, score };
            if best.would_take(&hit)
                && query.only.admits(query.kind, &hit.id)
                && (*holds_all || holds(&hit.id)?)
            {
                best.take(hit);
            }
        }
    }
    Ok(best.hits.into_sorted_vec().into_iter().map(|HitOrder(hit)| hit).collect())
}

/// A word of the question.
struct WeightedTerm {
    term: Term,
    weight: Bm25Weight,
    /// Upper bound of an entry's score for the word.
    ceiling: f32,
}

/// The matches of one segment, in its order.
///
/// Words whose scores together cannot reach the best hits so far are only looked up in the matches of the other words.
/// So the lists of common words are hardly read.
///
/// Source: Turtle, Flood, "Query evaluation: strategies and optimizations", 1995 (MaxScore).
struct Matches<'a> {
    /// Sorted by ascending ceiling.
    cursors: Vec<Cursor<'a>>,
    /// For each cursor, an upper bound of an entry's score for all words up to it.
    ceilings: Vec<f32>,
    /// Index of the first leading cursor. Only leading cursors find new matches.
    leading: usize,
    lengths: FieldNormReader,
    /// The score of each word for the current entry, with the position of the word.
    parts: Vec<(usize, f32)>,
}

struct Cursor<'a> {
    /// Position of the word in the question.
    place: usize,
    word: &'a WeightedTerm,
    postings: SegmentPostings,
}

impl Cursor<'_> {
    /// Returns the score of the word for an entry. `None` if the entry does not contain the word.
    fn score_at(&mut self, doc: DocId, length: u8) -> Option<f32> {
        if self.postings.doc() < doc {
            self.postings.seek(doc);
        }
        (self.postings.doc() == doc).then(|| self.word.weight.score(length, self.postings.term_freq()))
    }
}

impl<'a> Matches<'a> {
    /// `None` if the segment contains none of the words.
    fn of(segment: &SegmentReader, words: &'a [WeightedTerm]) -> tantivy::Result<Option<Self>> {
        let mut cursors = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let list = segment.inverted_index(word.term.field())?;
            if let Some(postings) = list.read_postings(&word.term, IndexRecordOption::WithFreqs)? {
                cursors.push(Cursor { place, word, postings });
            }
        }
        let Some(first) = cursors.first() else { return Ok(None) };
        let lengths = segment.get_fieldnorms_reader(first.word.term.field())?;
        cursors.sort_by(|one, other| one.word.ceiling.total_cmp(&other.word.ceiling));
        let ceilings = cursors.iter().scan(0.0, |sum, cursor| {
            *sum += cursor.word.ceiling;
            Some(*sum * (1.0 + SLACK))
        });
        let ceilings = ceilings.collect();
        Ok(Some(Self { cursors, ceilings, leading: 0, lengths, parts: Vec::new() }))
    }

    /// Returns the next entry that may score at least `least`, and its score. With `allowed`, only these entries are visited.
    fn next(&mut self, mut allowed: Option<&mut Entries>, least: f32) -> Option<(DocId, f32)> {
        while self.ceilings.get(self.leading).is_some_and(|&ceiling| ceiling < least) {
            self.leading += 1;
        }
        let (following, leading) = self.cursors.split_at_mut(self.leading);
        loop {
            let nearest = leading.iter().map(|cursor| cursor.postings.doc()).min()?;
            let doc = match &mut allowed {
                Some(allowed) => allowed.seek(nearest),
                None => nearest,
            };
            if doc == TERMINATED {
                return None;
            }
            let length = self.lengths.fieldnorm_id(doc);
            self.parts.clear();
            let mut sum = 0.0;
            for cursor in &mut *leading {
                if let Some(score) = cursor.score_at(doc, length) {
                    self.parts.push((cursor.place, score));
                    sum += score;
                    cursor.postings.advance();
                }
            }
            let mut may_be = !self.parts.is_empty();
            for (cursor, ceiling) in following.iter_mut().zip(&self.ceilings).rev() {
                may_be = may_be && sum * (1.0 + SLACK) + ceiling >= least;
                if !may_be {
                    break;
                }
                if let Some(score) = cursor.score_at(doc, length) {
                    self.parts.push((cursor.place, score));
                    sum += score;
                }
            }
            if may_be {
                // The order of the sum so far depends on which words lead.
                self.parts.sort_unstable_by_key(|&(place, _)| place);
                return Some((doc, self.parts.iter().map(|(_, score)| score).sum()));
            }
        }
    }
}

/// The best hits so far.
struct Best {
    limit: usize,
    hits: BinaryHeap<HitOrder>,
}

impl Best {
    /// Returns the lowest score that still makes a hit.
    fn least(&self) -> f32 {
        match self.hits.peek() {
            Some(HitOrder(last)) if self.hits.len() >= self.limit => last.score,
            _ => f32::NEG_INFINITY,
        }
    }

    fn would_take(&self, hit: &ScoredId) -> bool {
        let is_better = |HitOrder(last): &HitOrder| vector::compare(hit, last).is_lt();
        self.hits.len() < self.limit || self.hits.peek().is_some_and(is_better)
    }

    fn take(&mut self, hit: ScoredId) {
        if self.hits.len() >= self.limit {
            self.hits.pop();
        }
        self.hits.push(HitOrder(hit));
    }
}

/// Orders hits so that the best is the least.
struct HitOrder(ScoredId);

impl Ord for HitOrder {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        vector::compare(&self.0, &other.0)
    }
}

impl PartialOrd for HitOrder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for HitOrder {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for HitOrder {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_rounds_lengths_as_the_index_does() {
        for words in (0..3000).chain((3000..2_000_000).step_by(997)) {
            let rounded = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(words));
            assert_eq!(crate::words::rounded_length(words), rounded, "{words}");
        }
    }
}
