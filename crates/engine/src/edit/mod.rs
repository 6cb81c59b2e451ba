//! Edits of the graph by people: every edit is stored as a decision, and the affected views are derived again.
//!
//! A decision applies to the current graph and to later documents; undoing it restores the graph as it would be
//! without the decision. One edit is one commit.

mod error;
mod merge;
mod plan;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use graphloom_core::{
    Action, Batch, Decision, DecisionId, Decisions, Entity, EntityKey, Relation, RelationKey, Snapshot,
    StoreError,
};
use serde::Serialize;

pub use error::EditError;
pub use merge::{DescriptionRule, KindRule};
pub use plan::find_entity;

use crate::Engine;
use crate::commit::GraphChanges;
use crate::graph::{Derivation, GraphChange, Summaries, derive};
use plan::EditPlan;

/// A change to the graph. Entities are given by name: in any spelling that leads to their key, or by the name of an entity that
/// was merged into them.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Creates an entity.
    CreateEntity {
        /// Its name.
        name: String,
        /// Its type. If `None`, the type from the documents, or `UNKNOWN`.
        kind: Option<String>,
        /// Its description.
        description: String,
    },
    /// Changes the type or the description of an entity; at least one.
    EditEntity {
        /// The entity.
        name: String,
        /// Its type.
        kind: Option<String>,
        /// Its description, instead of that from the documents.
        description: Option<String>,
    },
    /// Renames an entity, and optionally changes its type or description.
    RenameEntity {
        /// The entity.
        name: String,
        /// Its new name.
        to: String,
        /// Whether to merge if another entity has that name.
        merge: bool,
        /// Its type; unchanged if `None`.
        kind: Option<String>,
        /// Its description, instead of that from the documents; unchanged if `None`.
        description: Option<String>,
    },
    /// Deletes an entity and its relations.
    DeleteEntity {
        /// The entity.
        name: String,
    },
    /// Merges several entities into one.
    Merge {
        /// The entities to merge.
        sources: Vec<String>,
        /// The result: one of them, another entity, or a new one.
        into: String,
        /// How the description is chosen.
        description: DescriptionRule,
        /// How the type is chosen.
        kind: KindRule,
    },
    /// Moves what some chunks say about an entity to another entity.
    Split {
        /// The entity that loses them.
        name: String,
        /// The chunks.
        chunks: Vec<graphloom_core::ChunkId>,
        /// The entity that gains them, new or existing.
        into: String,
    },
    /// States that two entities are not the same.
    NotSame {
        /// The first entity.
        one: String,
        /// The second entity.
        other: String,
    },
    /// Creates a relation between two entities.
    CreateRelation {
        /// The source.
        source: String,
        /// The target.
        target: String,
        /// Its keywords.
        keywords: Vec<String>,
        /// Its description.
        description: String,
        /// Its weight; 1 if `None`.
        weight: Option<f64>,
    },
    /// Changes the keywords, the description or the weight of a relation; at least one.
    EditRelation {
        /// One end.
        source: String,
        /// The other end.
        target: String,
        /// Its keywords.
        keywords: Option<Vec<String>>,
        /// Its description, instead of that from the documents.
        description: Option<String>,
        /// Its weight.
        weight: Option<f64>,
    },
    /// Deletes a relation.
    DeleteRelation {
        /// One end.
        source: String,
        /// The other end.
        target: String,
    },
    /// Undoes an earlier decision; undoing an undo restores it.
    Undo {
        /// Its id or the start of its id; the latest decision in effect if `None`.
        decision: Option<String>,
    },
}

/// The effects of an edit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EditReport {
    /// The decision; that of a preview is not stored.
    pub decision: Decision,
    /// A second decision of the same edit, made right after the first in the same commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Decision>,
    /// The edited entity, or the source of the edited relation, after the edit; `None` if it is gone.
    pub entity: Option<Entity>,
    /// Entities that are new or whose text changed, by key.
    pub entities: Vec<Entity>,
    /// Relations that are new or whose text changed, by key.
    pub relations: Vec<Relation>,
    /// Removed entities, by key.
    pub removed_entities: Vec<EntityKey>,
    /// Removed relations, by key.
    pub removed_relations: Vec<RelationKey>,
    /// Descriptions that still need a summary: the model failed or, in a preview, was not called.
    pub stale: u32,
}

/// Stores `edit` as a decision and applies it.
#[tracing::instrument(skip_all)]
pub fn apply<'a>(engine: &'a Engine, edit: &'a Edit) -> BoxFuture<'a, Result<EditReport, EditError>> {
    Box::pin(async move {
        try_apply(engine, edit).await.inspect_err(|error| match error.is_refusal() {
            true => tracing::info!(%error, "an edit is refused"),
            false => tracing::error!(error = error as &dyn std::error::Error, "an edit failed"),
        })
    })
}

async fn try_apply(engine: &Engine, edit: &Edit) -> Result<EditReport, EditError> {
    let mut changes = GraphChanges::new(engine);
    let outcome = apply_with(engine, &mut changes, edit).await;
    changes.end(outcome).await
}

async fn apply_with(
    engine: &Engine,
    changes: &mut GraphChanges<'_>,
    edit: &Edit,
) -> Result<EditReport, EditError> {
    loop {
        let snapshot = changes.snapshot().await?;
        let decisions = Decisions::read(snapshot.as_ref()).await?;
        let planned = plan::plan(engine, snapshot.as_ref(), &decisions, edit).await?;
        let attempt = Attempt { engine, snapshot: snapshot.as_ref(), decisions: &decisions };
        let decided = attempt.decide(planned);
        let (Derivation { mut batch, .. }, texts) =
            changes.derive(snapshot.as_ref(), &decided.change(), Summaries::Now).await?;
        let edited = attempt.edited(decided, &batch).await?;
        let derived_from = snapshot.graph_revision();
        drop(snapshot);
        changes.embed(texts, None, &mut batch).await?;
        if changes.commit(derived_from, batch).await? {
            return Ok(edited);
        }
    }
}

/// Returns what `edit` would do. Nothing is stored and no model is called: descriptions that need a summary are cut instead.
pub fn preview<'a>(engine: &'a Engine, edit: &'a Edit) -> BoxFuture<'a, Result<EditReport, EditError>> {
    Box::pin(async move {
        let snapshot = engine.store.snapshot().await?;
        let decisions = Decisions::read(snapshot.as_ref()).await?;
        let planned = plan::plan(engine, snapshot.as_ref(), &decisions, edit).await?;
        let attempt = Attempt { engine, snapshot: snapshot.as_ref(), decisions: &decisions };
        let decided = attempt.decide(planned);
        let (derivation, _) =
            derive(engine, snapshot.as_ref(), &decided.change(), Summaries::Later, &BTreeMap::new()).await?;
        Ok(attempt.edited(decided, &derivation.batch).await?)
    })
}

/// Adds decisions unchanged, in this order, in one commit, and derives what they change. They are not checked: a decision about
/// something that does not exist waits for it. Used to move decisions from one workspace to another.
pub fn decide<'a>(
    engine: &'a Engine,
    actions: Vec<Action>,
) -> BoxFuture<'a, Result<Vec<DecisionId>, EditError>> {
    Box::pin(async move {
        let mut changes = GraphChanges::new(engine);
        let outcome = decide_with(engine, &mut changes, &actions).await;
        changes.end(outcome).await
    })
}

async fn decide_with(
    engine: &Engine,
    changes: &mut GraphChanges<'_>,
    actions: &[Action],
) -> Result<Vec<DecisionId>, EditError> {
    loop {
        let snapshot = changes.snapshot().await?;
        let next = Decisions::read(snapshot.as_ref()).await?.next_order();
        let made_at = engine.clock.now();
        let decided: Vec<Decision> = (next..)
            .zip(actions.iter().cloned())
            .map(|(order, action)| Decision::new(order, made_at, action))
            .collect();
        let ids = decided.iter().map(|decision| decision.id.clone()).collect();
        let change = GraphChange { decided, ..GraphChange::default() };
        let (Derivation { mut batch, .. }, texts) =
            changes.derive(snapshot.as_ref(), &change, Summaries::Now).await?;
        let derived_from = snapshot.graph_revision();
        drop(snapshot);
        changes.embed(texts, None, &mut batch).await?;
        if changes.commit(derived_from, batch).await? {
            return Ok(ids);
        }
    }
}

/// The decisions that an edit leads to.
struct NewDecisions {
    decision: Decision,
    after: Option<Decision>,
}

impl NewDecisions {
    fn change(&self) -> GraphChange {
        let decided = std::iter::once(&self.decision).chain(&self.after).cloned().collect();
        GraphChange { decided, ..GraphChange::default() }
    }
}

/// One attempt, on the graph of one snapshot.
struct Attempt<'a> {
    engine: &'a Engine,
    snapshot: &'a dyn Snapshot,
    decisions: &'a Decisions,
}

impl Attempt<'_> {
    fn decide(&self, planned: EditPlan) -> NewDecisions {
        let (order, now) = (self.decisions.next_order(), self.engine.clock.now());
        NewDecisions {
            decision: Decision::new(order, now, planned.action),
            after: planned.after.map(|action| Decision::new(order + 1, now, action)),
        }
    }

    /// Returns the effects of `batch`, which was derived from `decided`.
    async fn edited(&self, decided: NewDecisions, batch: &Batch) -> Result<EditReport, StoreError> {
        let NewDecisions { decision, after } = decided;
        let about = about(&decision.action, self.decisions);
        let mut entity =
            batch.put_entities.iter().find(|entity| Some(&entity.key) == about.as_ref()).cloned();
        if let (None, Some(key)) = (&entity, about)
            && !batch.remove_entities.contains(&key)
        {
            entity = self.snapshot.entities(&[key]).await?.into_iter().flatten().next();
        }
        Ok(EditReport {
            entity,
            entities: batch.put_entities.clone(),
            relations: batch.put_relations.clone(),
            removed_entities: batch.remove_entities.clone(),
            removed_relations: batch.remove_relations.clone(),
            stale: batch.set_stale.iter().filter(|(_, is_stale)| *is_stale).count() as u32,
            decision,
            after,
        })
    }
}

/// Returns the entity that a decision is about.
fn about(action: &Action, decisions: &Decisions) -> Option<EntityKey> {
    match action {
        Action::CreateEntity { key, .. } | Action::EditEntity { key, .. } | Action::DeleteEntity { key } => {
            Some(key.clone())
        }
        Action::RenameEntity { into, .. }
        | Action::MergeEntities { into, .. }
        | Action::SplitEntity { into, .. } => Some(into.clone()),
        Action::CreateRelation { source, .. } => Some(source.clone()),
        Action::EditRelation { relation, .. } | Action::DeleteRelation { relation } => {
            Some(relation.a().clone())
        }
        Action::NotSame { pair } => Some(pair.a().clone()),
        Action::Undo { decision } => {
            let undone = decisions.all().iter().find(|known| known.id == *decision)?;
            match &undone.action {
                Action::Undo { .. } => None,
                Action::MergeEntities { sources, .. } => sources.first().cloned(),
                Action::RenameEntity { key, .. } | Action::SplitEntity { key, .. } => Some(key.clone()),
                action => about(action, decisions),
            }
        }
    }
}
