//! The counts for BM25, over only the live entries of one state of the index.
//!
//! The index's own counts include removed entries until their segments are merged, and after a merge they are
//! estimates. So each segment is counted here from its lists and its removed entries, once for each state.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use tantivy::index::{SegmentId, SegmentReader};
use tantivy::merge_policy::{LogMergePolicy, MergeCandidate, MergePolicy};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Opstamp, Searcher, SegmentMeta, TERMINATED, Term};

use super::Fields;

/// Number of words whose counts are kept.
const REMEMBERED_WORDS: usize = 4096;
/// If a word's list is at most this many times as long as the list of removed entries, it is read as a whole. Otherwise
/// it is read only at the removed entries.
const REMOVED_A_SEEK: usize = 8;
/// Removed entries that a segment may always keep. Fewer are not worth rewriting it.
pub(super) const KEPT_REMOVED: u32 = 10_000;

/// The counts of one state of the index, each computed when it is first needed.
pub(super) struct Statistics {
    segments: Mutex<HashMap<Place, Arc<SegmentCounts>>>,
    /// Number of live entries that contain a word, if the index does not know it.
    words: Mutex<LruCache<Term, u64>>,
}

/// A segment, the stamp of its deletions, and the code of a kind.
type Place = (SegmentId, Option<Opstamp>, u8);

/// Counts of one kind in one segment.
struct SegmentCounts {
    entries: u64,
    words: u64,
    /// Removed entries that the segment's lists still contain, ascending.
    removed: Vec<DocId>,
}

/// Counts of one kind in the whole index.
pub(super) struct KindCounts {
    pub(super) entries: u64,
    words: u64,
    /// Counts per segment, in the searcher's order.
    segments: Vec<Arc<SegmentCounts>>,
}

impl KindCounts {
    /// Returns the mean number of words per entry, from the rounded lengths that scores use.
    pub(super) fn mean_words(&self) -> f32 {
        self.words as f32 / self.entries as f32
    }
}

impl Statistics {
    /// Creates the statistics for a state of the index, with those counts of an earlier state that still hold.
    pub(super) fn of(searcher: &Searcher, earlier: Option<&Self>) -> Self {
        let mut segments = earlier.map(|earlier| lock(&earlier.segments).clone()).unwrap_or_default();
        let is_there = |&(id, removed, _): &Place| {
            let mut readers = searcher.segment_readers().iter();
            readers.any(|segment| (segment.segment_id(), segment.delete_opstamp()) == (id, removed))
        };
        segments.retain(|place, _| is_there(place));
        Self { segments: Mutex::new(segments), words: Mutex::new(LruCache::unbounded()) }
    }

    pub(super) fn of_kind(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        code: u8,
    ) -> tantivy::Result<KindCounts> {
        let mut kind = KindCounts { entries: 0, words: 0, segments: Vec::new() };
        for segment in searcher.segment_readers() {
            let place = (segment.segment_id(), segment.delete_opstamp(), code);
            let known = lock(&self.segments).get(&place).cloned();
            let counted = match known {
                Some(counted) => counted,
                None => {
                    let counted = Arc::new(SegmentCounts::count(segment, fields, code)?);
                    lock(&self.segments).insert(place, Arc::clone(&counted));
                    counted
                }
            };
            kind.entries += counted.entries;
            kind.words += counted.words;
            kind.segments.push(counted);
        }
        Ok(kind)
    }

    /// Returns the number of live entries that contain a word.
    pub(super) fn holding(
        &self,
        searcher: &Searcher,
        kind: &KindCounts,
        word: &Term,
    ) -> tantivy::Result<u64> {
        if kind.segments.iter().all(|counted| counted.removed.is_empty()) {
            return searcher.doc_freq(word);
        }
        if let Some(&holding) = lock(&self.words).get(word) {
            return Ok(holding);
        }
        let mut holding = 0;
        for (segment, counted) in searcher.segment_readers().iter().zip(&kind.segments) {
            holding += counted.holding(segment, word)?;
        }
        let mut words = lock(&self.words);
        words.put(word.clone(), holding);
        if words.len() > REMEMBERED_WORDS {
            words.pop_lru();
        }
        Ok(holding)
    }
}

impl SegmentCounts {
    fn count(segment: &SegmentReader, fields: &Fields, code: u8) -> tantivy::Result<Self> {
        let mut counted = Self { entries: 0, words: 0, removed: Vec::new() };
        let kind = Term::from_field_text(fields.kind, &code.to_string());
        let list = segment.inverted_index(fields.kind)?;
        let Some(mut postings) = list.read_postings(&kind, IndexRecordOption::Basic)? else {
            return Ok(counted);
        };
        let lengths = segment.get_fieldnorms_reader(fields.words[usize::from(code)])?;
        let mut doc = postings.doc();
        while doc != TERMINATED {
            if segment.is_deleted(doc) {
                counted.removed.push(doc);
            } else {
                counted.entries += 1;
                counted.words += u64::from(lengths.fieldnorm(doc));
            }
            doc = postings.advance();
        }
        Ok(counted)
    }

    fn holding(&self, segment: &SegmentReader, word: &Term) -> tantivy::Result<u64> {
        let list = segment.inverted_index(word.field())?;
        let Some(info) = list.get_term_info(word)? else { return Ok(0) };
        let Some(alive) = segment.alive_bitset().filter(|_| !self.removed.is_empty()) else {
            return Ok(u64::from(info.doc_freq));
        };
        let mut postings = list.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
        if info.doc_freq as usize <= self.removed.len().saturating_mul(REMOVED_A_SEEK) {
            return Ok(u64::from(postings.doc_freq_given_deletes(alive)));
        }
        let is_listed = |&doc: &DocId| {
            if postings.doc() < doc {
                postings.seek(doc);
            }
            postings.doc() == doc
        };
        let removed = self.removed.iter().copied().filter(is_listed).count();
        Ok(u64::from(info.doc_freq) - removed as u64)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Merges segments like tantivy, with two additions:
///
/// - A segment with more removed than live entries is rewritten. So removed entries cost searches at most as much as live ones.
/// - Small segments are merged as soon as together they have half as many entries as the next larger one. Each segment
///   has its own dictionary, which for a small workspace is a third of the index. An entry is rewritten only each time
///   its segment grows by half.
#[derive(Debug)]
pub(super) struct Tidy {
    pub(super) merging: LogMergePolicy,
    /// Removed entries that a segment may always keep.
    pub(super) kept_removed: u32,
}

/// Most live entries in segments that are merged before tantivy would merge them.
const FEW_ENTRIES: u32 = 50_000;

/// Returns the small segments to merge, at least two, or none.
fn small_segments(segments: &[SegmentMeta]) -> Vec<SegmentId> {
    let mut by_size: Vec<&SegmentMeta> = segments.iter().collect();
    by_size.sort_by_key(|segment| (segment.num_docs(), segment.id()));
    let (mut merged, mut entries) = (0, 0);
    for (place, segment) in by_size.iter().enumerate() {
        let smaller = entries;
        entries += segment.num_docs();
        if entries > FEW_ENTRIES {
            break;
        }
        if place > 0 && segment.num_docs() <= 2 * smaller {
            merged = place + 1;
        }
    }
    by_size[..merged].iter().map(|segment| segment.id()).collect()
}

impl MergePolicy for Tidy {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let small = small_segments(segments);
        let others: Vec<SegmentMeta> =
            segments.iter().filter(|segment| !small.contains(&segment.id())).cloned().collect();
        let mut found = self.merging.compute_merge_candidates(&others);
        if !small.is_empty() {
            found.push(MergeCandidate(small));
        }
        let is_untidy =
            |segment: &&SegmentMeta| segment.num_deleted_docs() > segment.num_docs().max(self.kept_removed);
        for segment in segments.iter().filter(is_untidy) {
            if !found.iter().any(|merge| merge.0.contains(&segment.id())) {
                found.push(MergeCandidate(vec![segment.id()]));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use tantivy::schema::{STRING, Schema};
    use tantivy::{Index, IndexWriter, TantivyDocument};

    use super::*;

    #[test]
    fn a_segment_with_more_removed_than_live_entries_is_rewritten() {
        let mut schema = Schema::builder();
        let key = schema.add_text_field("key", STRING);
        let index = Index::create_in_ram(schema.build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).expect("a writer");
        writer.set_merge_policy(Box::new(Tidy { merging: LogMergePolicy::default(), kept_removed: 4 }));
        for number in 0..10 {
            let mut document = TantivyDocument::new();
            document.add_text(key, number.to_string());
            writer.add_document(document).expect("added");
        }
        writer.commit().expect("committed");
        let remove = |writer: &mut IndexWriter, numbers: std::ops::Range<u32>| {
            for number in numbers {
                writer.delete_term(Term::from_field_text(key, &number.to_string()));
            }
            writer.commit().expect("committed");
        };
        let removed = || {
            let metas = index.searchable_segment_metas().expect("the segments");
            metas.iter().map(SegmentMeta::num_deleted_docs).collect::<Vec<_>>()
        };
        remove(&mut writer, 0..5);
        assert_eq!(removed(), [5]);
        remove(&mut writer, 5..6);
        writer.wait_merging_threads().expect("merged");
        assert_eq!(removed(), [0]);
    }

    #[test]
    fn small_segments_are_merged_and_a_large_one_joins_once_they_reach_half_its_size() {
        let mut schema = Schema::builder();
        let key = schema.add_text_field("key", STRING);
        let index = Index::create_in_ram(schema.build());
        let add = |entries: u32| {
            let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).expect("a writer");
            writer.set_merge_policy(Box::new(Tidy { merging: LogMergePolicy::default(), kept_removed: 4 }));
            for number in 0..entries {
                let mut document = TantivyDocument::new();
                document.add_text(key, number.to_string());
                writer.add_document(document).expect("added");
            }
            writer.commit().expect("committed");
            writer.wait_merging_threads().expect("merged");
            let metas = index.searchable_segment_metas().expect("the segments");
            let mut sizes: Vec<u32> = metas.iter().map(SegmentMeta::num_docs).collect();
            sizes.sort_unstable();
            sizes
        };
        assert_eq!(add(100), [100]);
        assert_eq!(add(20), [20, 100]);
        assert_eq!(add(10), [30, 100]);
        assert_eq!(add(20), [150]);
        assert_eq!(add(60), [60, 150]);
        assert_eq!(add(200), [410]);
    }
}
