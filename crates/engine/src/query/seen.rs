//! What is known of the workspace before any model is asked, and what a filter lets a question see of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::{
    DocumentFilter, EmbeddingSpec, FilteredIds, ItemKind, Revision, Snapshot, StoreError, WorkspaceId,
};

use super::QueryError;
use crate::Engine;

/// Filters remembered with what they allow, and the most entries that those allow together, of about a hundred bytes each.
const MAX_RESOLVED: usize = 16;
const MAX_RESOLVED_ENTRIES: usize = 1_000_000;

/// The workspace at one revision.
pub(super) struct Workspace<'a> {
    pub(super) revision: Revision,
    /// `None` before the first vector.
    pub(super) space: Option<EmbeddingSpec>,
    pub(super) seen: FilterView<'a>,
}

/// What a filter allows of one revision; everything where there is none.
pub(super) struct FilterView<'a> {
    engine: &'a Engine,
    filter: Option<&'a DocumentFilter>,
    with_graph: bool,
    /// That of the evidence.
    revision: Revision,
    pub(super) allowed: Option<Arc<FilteredIds>>,
}

impl<'a> Workspace<'a> {
    /// Looks at the latest commit. A filter that admits no document is refused here, before anything is paid for.
    pub(super) async fn look(
        engine: &'a Engine,
        filter: Option<&'a DocumentFilter>,
        with_graph: bool,
    ) -> Result<Self, QueryError> {
        let snapshot = engine.store.snapshot().await?;
        let seen = FilterView::of(engine, snapshot.as_ref(), filter, with_graph).await?;
        Ok(Self { revision: snapshot.revision(), space: snapshot.embedding().await?, seen })
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

    /// Resolves the filter again where the workspace changed meanwhile.
    pub(super) async fn renew(&mut self, snapshot: &dyn Snapshot) -> Result<(), QueryError> {
        if snapshot.evidence_revision() != self.revision {
            *self = Self::of(self.engine, snapshot, self.filter, self.with_graph).await?;
        }
        Ok(())
    }
}

/// What filters allowed lately: to find it every document's row is read.
#[derive(Default)]
pub(super) struct FilterCache {
    /// The one not used for longest is the first.
    lately: Mutex<VecDeque<(State, Option<Arc<FilteredIds>>)>>,
}

/// All that what is allowed depends on.
#[derive(PartialEq)]
struct State {
    workspace: WorkspaceId,
    /// That of the evidence: a question that pays for its vector is a commit, and changes nothing here.
    revision: Revision,
    filter: DocumentFilter,
    with_graph: bool,
}

impl FilterCache {
    /// What the filter allows of the snapshot, from memory where it was asked for the same evidence; `None` is everything.
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
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let place = lately.iter().position(|(known, _)| known == state)?;
        let found = lately.remove(place)?;
        let allowed = found.1.clone();
        lately.push_back(found);
        Some(allowed)
    }

    fn keep(&self, state: State, allowed: Option<Arc<FilteredIds>>) {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        // Of an older revision nothing is asked again; two questions at once may both have resolved a filter.
        let is_over = |old: &State| old.workspace == state.workspace && old.revision < state.revision;
        lately.retain(|(old, _)| !is_over(old) && *old != state);
        lately.push_back((state, allowed));
        let entries = |lately: &VecDeque<(State, Option<Arc<FilteredIds>>)>| -> usize {
            lately.iter().flat_map(|(_, allowed)| allowed).map(|allowed| size(allowed)).sum()
        };
        while lately.len() > MAX_RESOLVED || entries(&lately) > MAX_RESOLVED_ENTRIES {
            lately.pop_front();
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
    fn what_a_filter_allows_is_remembered_for_its_revision_alone() {
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
        assert_eq!(resolved.lately.lock().expect("no panic").len(), 1);
        assert_eq!(resolved.find(&state(3, filter)), None);
        assert_eq!(resolved.find(&state(4, filter)), Some(None));
    }

    #[test]
    fn the_filter_not_used_for_longest_is_forgotten_first() {
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
