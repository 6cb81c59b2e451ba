//! The vectors that a filter admits, kept while questions use the same filter.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use graphloom_core::{FilteredIds, ItemKind};
use graphloom_rules::search::{Only, ScoredId, VectorQuery};

use super::vectors::{BYTES_A_NUMBER, BYTES_A_VECTOR, Vectors};
use super::{Memory, Reservation, SearchMemory, SearchState};
use crate::error::Fault;
use crate::search;
use crate::session::Session;

/// Most numbers in the vectors that a filter admits if they are kept: some 10,000 vectors of 384 numbers.
const MAX_NUMBERS: usize = 4 << 20;
/// Most pairs of filter and kind whose vectors are kept. The least recently searched one is dropped first.
const MAX_KEPT: usize = 16;

/// The vectors kept for each filter and kind, in the order of their last searches.
#[derive(Default)]
pub(super) struct AdmittedVectors(Mutex<VecDeque<Arc<FilterVectors>>>);

struct FilterVectors {
    filtered: Weak<FilteredIds>,
    kind: ItemKind,
    /// The revision of the [`SearchState`] in which they were read.
    revision: i64,
    vectors: Vectors,
    _reserved: Reservation,
}

impl AdmittedVectors {
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the vectors of this kind in this state, and drops those that can no longer be searched.
    fn find(
        &self,
        filtered: &Arc<FilteredIds>,
        kind: ItemKind,
        state: SearchState,
    ) -> Option<Arc<FilterVectors>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.filtered.strong_count() > 0 && kept.revision >= state.revision);
        let is_it = |kept: &Arc<FilterVectors>| {
            (kept.kind, kept.revision, kept.filtered.as_ptr())
                == (kind, state.revision, Arc::as_ptr(filtered))
        };
        let place = kept.iter().position(is_it)?;
        let found = kept.remove(place)?;
        kept.push_back(Arc::clone(&found));
        Some(found)
    }

    fn keep(&self, new: FilterVectors) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another search may have read the same vectors already.
        kept.retain(|kept| kept.kind != new.kind || !kept.filtered.ptr_eq(&new.filtered));
        if kept.len() == MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back(Arc::new(new));
    }
}

impl Memory {
    /// Returns the nearest vectors that the query's filter admits. `None` without a filter, or if it admits too many.
    pub(super) async fn nearest_admitted(
        &self,
        session: &Session,
        state: SearchState,
        query: &VectorQuery,
    ) -> Result<Option<Vec<Vec<ScoredId>>>, Fault> {
        let (Some(filtered), Some(vector)) = (&query.only.filtered, query.vectors.first()) else {
            return Ok(None);
        };
        let (count, numbers) = (filtered.count(query.kind), vector.len());
        let is_too_large = count.saturating_mul(numbers) > MAX_NUMBERS;
        if self.comes() == SearchMemory::Never || query.only.layer.is_some() || is_too_large {
            return Ok(None);
        }
        // The filter admits every vector that is kept.
        let all = VectorQuery { only: Only::default(), ..query.clone() };
        if let Some(kept) = self.admitted.find(filtered, query.kind, state) {
            return Ok(Some(kept.vectors.nearest(&all)));
        }
        let bytes = count * (numbers * BYTES_A_NUMBER + BYTES_A_VECTOR);
        let Some(reserved) = Reservation::of(&self.shared.memory, bytes) else { return Ok(None) };
        let Some(vectors) = Vectors::of(&search::admitted(session, query).await?)? else { return Ok(None) };
        let hits = vectors.nearest(&all);
        self.admitted.keep(FilterVectors {
            filtered: Arc::downgrade(filtered),
            kind: query.kind,
            revision: state.revision,
            vectors,
            _reserved: reserved,
        });
        Ok(Some(hits))
    }
}
