//! Limits on the content of a workspace: documents beyond them are rejected.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use graphloom_core::{Snapshot, StoreError};

use super::Refusal;
use crate::Engine;

/// Limits on the content of a workspace; unlimited by default.
///
/// The limits are checked when documents are accepted. Accepted documents are always indexed completely, so documents in the queue
/// can make the store larger than `max_bytes`.
#[derive(Clone, Default)]
pub struct Quota {
    /// Documents, by source. A new version of a known source is always accepted, and counts in addition to the old one until it
    /// replaces it.
    pub max_documents: Option<u64>,
    /// Size of the store in bytes.
    pub max_bytes: Option<u64>,
    /// Returns the current size of the store in bytes.
    pub stored_bytes: Option<Arc<dyn Fn() -> u64 + Send + Sync>>,
}

impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_documents, max_bytes, stored_bytes: _ } = self;
        f.debug_struct("Quota").field("max_documents", max_documents).field("max_bytes", max_bytes).finish()
    }
}

/// The room that is left while a list of documents is accepted.
pub(super) struct Room<'a> {
    quota: &'a Quota,
    documents: u64,
    bytes: u64,
}

impl<'a> Room<'a> {
    pub(super) async fn left(quota: &'a Quota, snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let documents = match quota.max_documents {
            Some(_) => snapshot.status_counts().await?.values().sum(),
            None => 0,
        };
        let bytes = quota.stored_bytes.as_ref().filter(|_| quota.max_bytes.is_some());
        Ok(Self { quota, documents, bytes: bytes.map_or(0, |bytes| bytes()) })
    }

    /// Takes room for one more version, of a new source or a known one; fails if there is none.
    pub(super) fn take(&mut self, is_new_source: bool) -> Result<(), Refusal> {
        if let Some(most) = self.quota.max_bytes.filter(|most| self.bytes >= *most) {
            let reason =
                format!("the workspace uses {:.1} MiB, the limit is {:.1} MiB", mib(self.bytes), mib(most));
            return Err(full(reason, "max_workspace_mb"));
        }
        if let Some(most) = self.quota.max_documents.filter(|most| is_new_source && self.documents >= *most) {
            let reason = format!("the workspace has {} documents, the limit is {most}", self.documents);
            return Err(full(reason, "max_documents"));
        }
        self.documents += u64::from(is_new_source);
        Ok(())
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn full(reason: String, key: &str) -> Refusal {
    Refusal { reason, remedy: Some(format!("remove documents, or raise {key}")) }
}

/// Returns why documents of these sources cannot all be accepted; `None` if the workspace has room for them.
pub async fn no_room_for(engine: &Engine, sources: &[String]) -> Result<Option<Refusal>, StoreError> {
    let snapshot = engine.store.snapshot().await?;
    let mut room = Room::left(&engine.index.quota, snapshot.as_ref()).await?;
    let known = snapshot.documents_of_sources(sources).await?;
    let mut seen = BTreeSet::new();
    let mut taken = sources.iter().zip(known).filter(|(source, _)| seen.insert(*source));
    Ok(taken.find_map(|(_, known)| room.take(known.is_empty()).err()))
}
