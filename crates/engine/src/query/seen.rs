//! What is known of the workspace before any model is asked, and what a filter lets a question see of it.

use std::sync::Arc;

use graphloom_core::{Allowed, DocumentFilter, EmbeddingSpec, Revision, Snapshot};

use super::QueryError;
use crate::Engine;

/// The workspace at one revision.
pub(super) struct Workspace<'a> {
    pub(super) revision: Revision,
    /// `None` before the first vector.
    pub(super) space: Option<EmbeddingSpec>,
    pub(super) seen: Seen<'a>,
}

/// What a filter allows of one revision; everything where there is none.
pub(super) struct Seen<'a> {
    filter: Option<&'a DocumentFilter>,
    with_graph: bool,
    revision: Revision,
    pub(super) allowed: Option<Arc<Allowed>>,
}

impl<'a> Workspace<'a> {
    /// Looks at the latest commit. A filter that admits no document is refused here, before anything is paid for.
    pub(super) async fn look(
        engine: &Engine,
        filter: Option<&'a DocumentFilter>,
        with_graph: bool,
    ) -> Result<Self, QueryError> {
        let snapshot = engine.store.snapshot().await?;
        let seen = Seen::of(snapshot.as_ref(), filter, with_graph).await?;
        Ok(Self { revision: snapshot.revision(), space: snapshot.embedding().await?, seen })
    }
}

impl<'a> Seen<'a> {
    async fn of(
        snapshot: &dyn Snapshot,
        filter: Option<&'a DocumentFilter>,
        with_graph: bool,
    ) -> Result<Self, QueryError> {
        let allowed = match filter {
            None => None,
            Some(filter) => {
                filter.check()?;
                Allowed::resolve(snapshot, filter, with_graph).await?
            }
        };
        if allowed.as_ref().is_some_and(|allowed| allowed.is_empty()) {
            return Err(QueryError::NothingAllowed);
        }
        Ok(Self { filter, with_graph, revision: snapshot.revision(), allowed })
    }

    /// Resolves the filter again where the workspace changed meanwhile.
    pub(super) async fn renew(&mut self, snapshot: &dyn Snapshot) -> Result<(), QueryError> {
        if snapshot.revision() != self.revision {
            *self = Self::of(snapshot, self.filter, self.with_graph).await?;
        }
        Ok(())
    }
}
