//! The state of the workspace before any model call, and the part of it that a filter selects.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::{
    DocumentFilter, EmbeddingSpec, FilteredIds, ItemKind, Revision, Snapshot, StoreError, WorkspaceId,
};

use super::QueryError;
use crate::Engine;

/// Maximum number of filters whose results are cached, and of entries in all these results, each of about a hundred bytes.
const MAX_RESOLVED: usize = 16;
const MAX_RESOLVED_ENTRIES: usize = 1_000_000;

/// The workspace at one revision.
pub(super) struct Workspace<'a> {
    pub(super) revision: Revision,
    /// `None` before the first vector.
    pub(super) space: Option<EmbeddingSpec>,
    pub(super) selection: FilterView<'a>,
}

/// The items that a filter allows at one revision; everything if there is no filter.
pub(super) struct FilterView<'a> {
    engine: &'a Engine,
    filter: Option<&'a DocumentFilter>,
    with_graph: bool,
    /// Revision of the evidence.
    revision: Revision,
    pub(super) allowed: Option<Arc<FilteredIds>>,
}

impl<'a> Workspace<'a> {
    /// Reads the latest commit. Rejects a filter that matches no document before anything is paid for.
    pub(super) async fn read(
        engine: &'a Engine,
        filter: Option<&'a DocumentFilter>,
        with_graph: bool,
    ) -> Result<Self, QueryError> {
        let snapshot = engine.store.snapshot().await?;
        let selection = FilterView::of(engine, snapshot.as_ref(), filter, with_graph).await?;
        Ok(Self { revision: snapshot.revision(), space: snapshot.embedding().await?, selection })
    }
}

impl<'a> FilterView<'a> {
    async fn of(
        engine: &'a Engine,
        snapshot: &dyn Snapshot,
        filter: Option<&'a DocumentFilter>,
        with_graph: bool,
    ) -> Result<Self, QueryError> {
        let allowed = match filter {
            None => None,
            Some(filter) => {
                filter.check()?;
                engine
                    .caches
                    .resolved()
                    .resolve(engine.store.workspace(), snapshot, filter, with_graph)
                    .await?
            }
        };
        if allowed.as_ref().is_some_and(|allowed| allowed.is_empty()) {
            return Err(QueryError::NothingAllowed);
        }
        Ok(Self { engine, filter, with_graph, revision: snapshot.evidence_revision(), allowed })
    }

    /// Resolves the filter again if the workspace has changed meanwhile.
    pub(super) async fn renew(&mut self, snapshot: &dyn Snapshot) -> Result<(), QueryError> {
        if snapshot.evidence_revision() != self.revision {
            *self = Self::of(self.engine, snapshot, self.filter, self.with_graph).await?;
        }
        Ok(())
    }
}

/// The results of recent filters. Resolving a filter reads the row of every document.
#[derive(Default)]
pub(super) struct FilterCache {
    /// The entry that was not used for the longest time is first.
    recent: Mutex<VecDeque<(State, Option<Arc<FilteredIds>>)>>,
}

/// Everything that the result of a filter depends on.
#[derive(PartialEq)]
struct State {
    workspace: WorkspaceId,
    /// Revision of the evidence. A question that pays for its vector makes a commit, but that does not change this revision.
    revision: Revision,
    filter: DocumentFilter,
    with_graph: bool,
}

impl FilterCache {
    /// Returns what the filter allows in the snapshot, from the cache if possible; `None` means everything.
    async fn resolve(
        &self,
        workspace: &WorkspaceId,
        snapshot: &dyn Snapshot,
        filter: &DocumentFilter,
        with_graph: bool,
    ) -> Result<Option<Arc<FilteredIds>>, StoreError> {
        let revision = snapshot.evidence_revision();
        let state = State { workspace: workspace.clone(), revision, filter: filter.clone(), with_graph };
        if let Some(allowed) = self.find(&state) {
            return Ok(allowed);
        }
        let allowed = FilteredIds::resolve(snapshot, filter, with_graph).await?;
        self.keep(state, allowed.clone());
        Ok(allowed)
    }

    fn find(&self, state: &State) -> Option<Option<Arc<FilteredIds>>> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let place = recent.iter().position(|(known, _)| known == state)?;
        let found = recent.remove(place)?;
        let allowed = found.1.clone();
        recent.push_back(found);
        Some(allowed)
    }

    fn keep(&self, state: State, allowed: Option<Arc<FilteredIds>>) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        // Older revisions are never needed again. The same key may already be there if two questions resolved a filter at once.
        let is_over = |old: &State| old.workspace == state.workspace && old.revision < state.revision;
        recent.retain(|(old, _)| !is_over(old) && *old != state);
        recent.push_back((state, allowed));
        let entries = |recent: &VecDeque<(State, Option<Arc<FilteredIds>>)>| -> usize {
            recent.iter().flat_map(|(_, allowed)| allowed).map(|allowed| size(allowed)).sum()
        };
        while recent.len() > MAX_RESOLVED || entries(&recent) > MAX_RESOLVED_ENTRIES {
            recent.pop_front();
        }
    }
}

fn size(allowed: &FilteredIds) -> usize {
    let kinds = [ItemKind::Chunk, ItemKind::Entity, ItemKind::Relation];
    allowed.documents().len() + kinds.map(|kind| allowed.count(kind)).iter().sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(revision: u64, filter: &str) -> State {
        State {
            workspace: WorkspaceId::default(),
            revision: Revision(revision),
            filter: serde_json::from_str(filter).expect("a filter"),
            with_graph: true,
        }
    }

    #[test]
    fn the_matches_of_a_filter_are_cached_only_for_their_revision() {
        let resolved = FilterCache::default();
        let filter = r#"{"sources": ["a/*"]}"#;
        let allowed = Some(Arc::new(FilteredIds::default()));
        resolved.keep(state(3, filter), allowed.clone());
        assert_eq!(resolved.find(&state(3, filter)), Some(allowed));
        assert_eq!(resolved.find(&state(2, filter)), None);
        assert_eq!(resolved.find(&state(4, filter)), None);
        assert_eq!(resolved.find(&state(3, r#"{"sources": ["b/*"]}"#)), None);
        assert_eq!(resolved.find(&State { with_graph: false, ..state(3, filter) }), None);
        resolved.keep(state(4, filter), None);
        resolved.keep(state(4, filter), None);
        assert_eq!(resolved.recent.lock().expect("no panic").len(), 1);
        assert_eq!(resolved.find(&state(3, filter)), None);
        assert_eq!(resolved.find(&state(4, filter)), Some(None));
    }

    #[test]
    fn the_least_recently_used_filter_is_dropped_first() {
        let resolved = FilterCache::default();
        let filter = |number: usize| state(1, &format!(r#"{{"sources": ["{number}"]}}"#));
        for number in 0..MAX_RESOLVED {
            resolved.keep(filter(number), None);
        }
        assert_eq!(resolved.find(&filter(0)), Some(None));
        resolved.keep(filter(MAX_RESOLVED), None);
        assert_eq!(resolved.find(&filter(0)), Some(None));
        assert_eq!(resolved.find(&filter(1)), None);
    }
}
