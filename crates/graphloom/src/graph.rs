//! An open workspace.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{Document, DocumentFilter, DocumentId, Entity, StatusKind, Worker};
use graphloom_engine::Engine;
use graphloom_engine::derive::{
    self, CommunityEntry, CommunityReport, DeriveEstimate, DeriveReport, LayerKind, TreeEntry, TreeNodeView,
};
use graphloom_engine::edit::{self, Edit, EditReport};
use graphloom_engine::index::{self, ReEmbedReport, Removal};

use crate::config::{Config, EmbedderChoice};
use crate::error::{Fault, Result};
use crate::files::source_name;
use crate::open::OnProgress;
use crate::project::Here;
use crate::providers::Providers;
use crate::reading::Readers;
use crate::setup::{self, Engines};

/// An open workspace, to which you add documents and from which you get answers with citations. [`open`](Self::open) opens one.
///
/// Several processes may work with a workspace at once.
pub struct Graphloom {
    pub(crate) engines: Engines,
    /// Registers the process as a worker while the workspace is open.
    pub(crate) _worker: Arc<dyn Worker>,
    pub(crate) config: Config,
    pub(crate) here: Here,
    pub(crate) readers: Readers,
    pub(crate) on_progress: OnProgress,
}

/// The contents of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Number of documents by status.
    pub documents: BTreeMap<StatusKind, u64>,
    /// Number of entities in the graph.
    pub entities: u64,
    /// Number of relations in the graph.
    pub relations: u64,
}

impl Graphloom {
    /// Returns the entity with this name, in any spelling that has the same key; `None` if the graph has none.
    pub async fn entity(&self, name: &str) -> Result<Option<Entity>> {
        let snapshot = self.engine().store.snapshot().await?;
        Ok(edit::find_entity(snapshot.as_ref(), name).await?)
    }

    /// Corrects the graph. The edit is stored as a decision, also applies to documents added later, and can be undone.
    pub async fn edit(&self, edit: &Edit) -> Result<EditReport> {
        Ok(edit::apply(&self.engines.indexing, edit).await?)
    }

    /// Returns the documents that a filter admits.
    pub async fn documents(&self, filter: &DocumentFilter) -> Result<Vec<Document>> {
        let snapshot = self.engine().store.snapshot().await?;
        Ok(filter.select(snapshot.as_ref()).await?)
    }

    /// Deletes the document with this source, such as `papers/bridge.pdf`, and everything that came only from
    /// it. Returns `None` if there is no such document.
    pub async fn delete(&self, source: &str) -> Result<Option<Removal>> {
        let snapshot = self.engine().store.snapshot().await?;
        let mut names = vec![source.to_owned()];
        names.extend(source_name(source.as_ref(), &self.here).ok().filter(|name| name != source));
        let versions = snapshot.documents_of_sources(&names).await?;
        drop(snapshot);
        let ids: Vec<DocumentId> = versions.into_iter().flatten().map(|document| document.id).collect();
        if ids.is_empty() {
            return Ok(None);
        }
        Ok(Some(index::delete(&self.engines.indexing, &ids).await?))
    }

    /// Replaces all vectors by those of another embedder, such as `static:all-minilm-l6-v2`, and uses it from then on.
    ///
    /// Questions use the old vectors until all new ones are stored. After an error, call it again to continue. Afterwards the
    /// tree of summaries is out of date.
    pub async fn re_embed(&mut self, embedder: &str) -> Result<ReEmbedReport> {
        let unknown = || {
            Fault::usage(format!("unknown embedder {embedder:?}"))
                .help(format!("choose {}", EmbedderChoice::EXPECTED))
        };
        let choice = EmbedderChoice::parse(embedder).ok_or_else(unknown)?;
        let embedder = Providers::new(&self.config).embedder(&choice)?;
        let Engines { asking, indexing, .. } = &mut self.engines;
        let (mut next_asking, mut next_indexing) = (asking.clone(), indexing.clone());
        for engine in [&mut next_asking, &mut next_indexing] {
            engine.models.embedder = Arc::clone(&embedder);
            if let Some(settings) = &mut engine.index.settings {
                settings.decisive.insert(index::EMBEDDER.to_owned(), choice.to_string());
            }
        }
        let report = index::re_embed(&next_indexing, &|_, _| {}).await?;
        (*asking, *indexing) = (next_asking, next_indexing);
        Ok(report)
    }

    /// Updates a layer, such as the communities, to the current graph.
    ///
    /// Reports whose entities and relations did not change are kept, so that only changes cost LLM calls.
    pub async fn derive(&self, layer: LayerKind) -> Result<DeriveReport> {
        let progress = &*self.on_progress;
        let gone = setup::gone(&self.config)?;
        Ok(derive::derive(&self.engines.indexing, layer.deriver(), &|step| progress(step), &gone).await?)
    }

    /// Returns what [`derive`](Self::derive) would cost now. Makes no model calls and stores nothing.
    pub async fn estimate_derive(&self, layer: LayerKind) -> Result<DeriveEstimate> {
        let engine = &self.engines.indexing;
        let embeds_by_service = setup::embeds_by_service(engine);
        Ok(derive::estimate(engine, layer.deriver(), embeds_by_service, &self.config.prices).await?)
    }

    /// Returns the tree nodes of a level that have a summary, starting with those that cover the most
    /// passages. Level 1 is directly above the passages.
    pub async fn tree(&self, level: u32) -> Result<Vec<TreeEntry>> {
        let snapshot = self.engine().store.snapshot().await?;
        Ok(derive::tree_nodes(snapshot.as_ref(), level).await?)
    }

    /// Returns the tree node with this id and the passages and nodes that it joins; `None` if there is none.
    pub async fn tree_node(&self, id: &str) -> Result<Option<TreeNodeView>> {
        let snapshot = self.engine().store.snapshot().await?;
        match derive::find_tree_nodes(snapshot.as_ref(), id).await?.as_slice() {
            [key] => Ok(derive::tree_node(snapshot.as_ref(), key).await?),
            _ => Ok(None),
        }
    }

    /// Returns the communities of a level that have a report, best rated first. Level 0 is the coarsest.
    pub async fn communities(&self, level: u32) -> Result<Vec<CommunityEntry>> {
        let snapshot = self.engine().store.snapshot().await?;
        Ok(derive::communities(snapshot.as_ref(), level).await?)
    }

    /// Returns the community with this id and its report; `None` if there is none.
    pub async fn community(&self, id: &str) -> Result<Option<CommunityReport>> {
        let snapshot = self.engine().store.snapshot().await?;
        match derive::find_communities(snapshot.as_ref(), id).await?.as_slice() {
            [key] => Ok(derive::community(snapshot.as_ref(), key).await?),
            _ => Ok(None),
        }
    }

    /// Returns the number of documents, entities and relations in the workspace.
    pub async fn status(&self) -> Result<Status> {
        let snapshot = self.engine().store.snapshot().await?;
        let counts = snapshot.counts().await?;
        Ok(Status {
            documents: snapshot.status_counts().await?,
            entities: counts.entities,
            relations: counts.relations,
        })
    }

    /// Returns the engine that answers questions, for everything that this type does not offer.
    pub fn engine(&self) -> &Engine {
        &self.engines.asking
    }

    /// Returns the engine that indexes. It waits for model services that are down.
    pub fn indexing_engine(&self) -> &Engine {
        &self.engines.indexing
    }
}
