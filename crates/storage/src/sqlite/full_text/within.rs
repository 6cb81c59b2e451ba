//! The entries that a small filter allows, by segment, kept from one question to the next.

use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use graphloom_core::{FilteredIds, ItemKind};
use lru::LruCache;
use tantivy::index::{SegmentId, SegmentReader};
use tantivy::query::{EnableScoring, Query, TermSetQuery, Weight};
use tantivy::{DocId, DocSet, Searcher, TERMINATED, Term};

use super::super::rows;
use super::{Fields, uid};

/// Number of lists that are kept, enough for some sixteen filters, three kinds and thirty segments.
const KEPT_LISTS: NonZeroUsize = NonZeroUsize::new(16 * 3 * 30).expect("more than none");

/// The entries that recent filters allow.
pub(super) struct FilterCache(Mutex<LruCache<Place, Arc<[DocId]>>>);

/// A filter, the code of a kind, and a segment. Within a segment, entries never move.
type Place = (Filter, u8, SegmentId);

/// A filter, identified by its address. No other filter gets the address while this is kept.
struct Filter(Weak<FilteredIds>);

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl Eq for Filter {}

impl Hash for Filter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

impl Default for FilterCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(KEPT_LISTS)))
    }
}

impl FilterCache {
    /// Returns the allowed entries of each segment, in the searcher's order. Includes removed entries.
    pub(super) fn entries(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        kind: ItemKind,
        allowed: &Arc<FilteredIds>,
    ) -> tantivy::Result<Vec<Entries>> {
        let code = rows::kind_code(kind);
        let place = |segment: &SegmentReader| (Filter(Arc::downgrade(allowed)), code, segment.segment_id());
        let mut weight: Option<Box<dyn Weight>> = None;
        let mut all = Vec::new();
        for segment in searcher.segment_readers() {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&place(segment)).cloned();
            let docs = match known {
                Some(known) => known,
                None => {
                    let weight = match &mut weight {
                        Some(weight) => weight,
                        None => weight.insert(matching(searcher, fields, code, allowed.ids(kind))?),
                    };
                    let docs = listed(&**weight, segment)?;
                    let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                    lists.put(place(segment), Arc::clone(&docs));
                    docs
                }
            };
            all.push(Entries { docs, at: 0 });
        }
        Ok(all)
    }
}

fn matching<'a>(
    searcher: &Searcher,
    fields: &Fields,
    code: u8,
    ids: impl Iterator<Item = &'a str>,
) -> tantivy::Result<Box<dyn Weight>> {
    let uids = ids.map(|id| Term::from_field_text(fields.uid, &uid(code, id)));
    TermSetQuery::new(uids).weight(EnableScoring::disabled_from_searcher(searcher))
}

fn listed(weight: &dyn Weight, segment: &SegmentReader) -> tantivy::Result<Arc<[DocId]>> {
    let mut scorer = weight.scorer(segment, 1.0)?;
    let mut docs = Vec::new();
    while scorer.doc() != TERMINATED {
        docs.push(scorer.doc());
        scorer.advance();
    }
    Ok(docs.into())
}

/// The allowed entries of a segment, ascending, and a position that only moves forward.
pub(super) struct Entries {
    docs: Arc<[DocId]>,
    at: usize,
}

impl Entries {
    /// Moves to the first entry from `target` on and returns it, or [`TERMINATED`] after the last one.
    pub(super) fn seek(&mut self, target: DocId) -> DocId {
        self.at += self.docs[self.at..].partition_point(|&doc| doc < target);
        self.docs.get(self.at).copied().unwrap_or(TERMINATED)
    }
}
