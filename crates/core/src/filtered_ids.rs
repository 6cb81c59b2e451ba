//! The documents that match a filter, and their chunks, entities and relations in one snapshot: everything
//! that a filtered question may use.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::{
    ChunkId, Document, DocumentFilter, DocumentId, DocumentStatus, EntityKey, GraphKey, ItemKind, JobState,
    Snapshot, SourcePattern, StoreError, Visibility,
};

/// Documents, their chunks, and the entities and relations with evidence in those chunks.
///
/// Resolved once per snapshot. Lookups are cheap, so searches can check every candidate. Shared as `Option<Arc<FilteredIds>>`,
/// where `None` allows everything. If resolved without the graph, it allows no entity or relation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilteredIds {
    documents: BTreeSet<DocumentId>,
    chunks: HashSet<String>,
    /// Entities, each with the number of its allowed relations.
    entities: HashMap<String, u32>,
    relations: HashSet<String>,
}

impl FilteredIds {
    /// Resolves a filter over the live documents; `None` if it admits all of them. Resolving without the
    /// graph is much cheaper and enough to search for chunks only.
    pub async fn resolve(
        snapshot: &dyn Snapshot,
        filter: &DocumentFilter,
        with_graph: bool,
    ) -> Result<Option<Arc<Self>>, StoreError> {
        let (documents, all) = filter.find(snapshot).await?;
        if all {
            return Ok(None);
        }
        let live = documents.into_iter().filter(|document| document.visibility == Visibility::Live);
        let live = live.map(|document| document.id).collect();
        Ok(Some(Arc::new(Self::of(snapshot, live, with_graph).await?)))
    }

    /// Resolves a set of documents, with or without the graph.
    pub async fn of(
        snapshot: &dyn Snapshot,
        documents: BTreeSet<DocumentId>,
        with_graph: bool,
    ) -> Result<Self, StoreError> {
        let ids: Vec<DocumentId> = documents.iter().cloned().collect();
        let chunks: Vec<ChunkId> = snapshot.chunk_ids_of(&ids).await?.into_iter().flatten().collect();
        let mut allowed = Self { documents, ..Self::default() };
        if with_graph {
            allowed.add_graph(snapshot.graph_keys_of(&chunks).await?);
        }
        allowed.chunks = chunks.into_iter().map(|chunk| chunk.to_string()).collect();
        Ok(allowed)
    }

    fn add_graph(&mut self, keys: Vec<GraphKey>) {
        for key in keys {
            match key {
                GraphKey::Entity(key) => {
                    self.entities.entry(key.to_string()).or_default();
                }
                GraphKey::Relation(key) => {
                    for end in key.ends() {
                        // The entities of relations are also listed separately, before all relations.
                        if let Some(degree) = self.entities.get_mut(end.as_str()) {
                            *degree += 1;
                        }
                    }
                    self.relations.insert(key.to_string());
                }
            }
        }
    }

    /// True if no document is allowed.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the allowed documents.
    pub fn documents(&self) -> &BTreeSet<DocumentId> {
        &self.documents
    }

    /// True if the item is allowed: a chunk of these documents, or an entity or relation with evidence in
    /// them. Nodes of layers are never allowed, because their text was written from all documents.
    pub fn admits(&self, kind: ItemKind, id: &str) -> bool {
        match kind {
            ItemKind::Chunk => self.chunks.contains(id),
            ItemKind::Entity => self.entities.contains_key(id),
            ItemKind::Relation => self.relations.contains(id),
            ItemKind::Node => false,
        }
    }

    /// Returns the number of allowed items of a kind.
    pub fn count(&self, kind: ItemKind) -> usize {
        match kind {
            ItemKind::Chunk => self.chunks.len(),
            ItemKind::Entity => self.entities.len(),
            ItemKind::Relation => self.relations.len(),
            ItemKind::Node => 0,
        }
    }

    /// Returns the allowed ids of a kind, in no particular order.
    pub fn ids(&self, kind: ItemKind) -> Box<dyn Iterator<Item = &str> + '_> {
        match kind {
            ItemKind::Chunk => Box::new(self.chunks.iter().map(String::as_str)),
            ItemKind::Entity => Box::new(self.entities.keys().map(String::as_str)),
            ItemKind::Relation => Box::new(self.relations.iter().map(String::as_str)),
            ItemKind::Node => Box::new(std::iter::empty()),
        }
    }

    /// Returns the number of an entity's allowed relations; 0 if the entity is not allowed.
    pub fn degree(&self, entity: &EntityKey) -> u32 {
        self.entities.get(entity.as_str()).copied().unwrap_or(0)
    }
}

impl DocumentFilter {
    /// Returns the matching documents, live and staged, by id.
    ///
    /// If the filter lists documents or exact sources, only those documents are read; otherwise the row of
    /// every document is read. Texts and extractions are never read.
    pub async fn select(&self, snapshot: &dyn Snapshot) -> Result<Vec<Document>, StoreError> {
        Ok(self.find(snapshot).await?.0)
    }

    /// Returns the matching documents, and whether they are all documents of the store.
    async fn find(&self, snapshot: &dyn Snapshot) -> Result<(Vec<Document>, bool), StoreError> {
        if let Some(named) = self.named(snapshot).await? {
            return Ok((self.admitted(snapshot, named).await?, false));
        }
        let (documents, all) = snapshot.documents_matching(self).await?;
        let admitted = self.of_status(snapshot, documents).await?;
        let is_all = admitted.len() as u64 == all;
        Ok((admitted, is_all))
    }

    /// Returns the documents with the ids or exact sources in the filter; `None` if it has neither.
    async fn named(&self, snapshot: &dyn Snapshot) -> Result<Option<Vec<Document>>, StoreError> {
        if !self.documents.is_empty() {
            let ids: Vec<DocumentId> = self.documents.iter().cloned().collect();
            return Ok(Some(snapshot.documents(&ids).await?.into_iter().flatten().collect()));
        }
        if !self.names_documents() {
            return Ok(None);
        }
        let exact: BTreeSet<&str> = self.sources.iter().filter_map(SourcePattern::exact).collect();
        let sources: Vec<String> = exact.into_iter().map(str::to_owned).collect();
        let mut found: Vec<Document> =
            snapshot.documents_of_sources(&sources).await?.into_iter().flatten().collect();
        found.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Some(found))
    }

    /// Returns the documents that the filter admits, in order. Reads statuses only if the filter needs them.
    pub async fn admitted(
        &self,
        snapshot: &dyn Snapshot,
        mut documents: Vec<Document>,
    ) -> Result<Vec<Document>, StoreError> {
        documents.retain(|document| self.admits_document(document));
        self.of_status(snapshot, documents).await
    }

    /// Returns the documents with one of the filter's statuses, in order.
    async fn of_status(
        &self,
        snapshot: &dyn Snapshot,
        documents: Vec<Document>,
    ) -> Result<Vec<Document>, StoreError> {
        if self.status.is_empty() {
            return Ok(documents);
        }
        let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
        let statuses = statuses_of(snapshot, &ids).await?;
        let pairs = documents.into_iter().zip(statuses);
        let wanted = pairs.filter(|(_, status)| self.status.contains(&status.kind()));
        Ok(wanted.map(|(document, _)| document).collect())
    }
}

/// Returns the status of each document, in order. A document without a job has the status of a new one.
pub async fn statuses_of(
    snapshot: &dyn Snapshot,
    documents: &[DocumentId],
) -> Result<Vec<DocumentStatus>, StoreError> {
    let jobs = snapshot.jobs(documents).await?;
    let counts = snapshot.chunk_counts_of(documents).await?;
    let statuses = jobs.into_iter().zip(counts).map(|(job, counts)| {
        let state = job.map_or(JobState::Accepted, |job| job.state);
        DocumentStatus::derive(&state, counts)
    });
    Ok(statuses.collect())
}
