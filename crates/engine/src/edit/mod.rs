//! Edits of the graph by people: every edit is a decision, and the affected views are derived again.
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

/// Something to change in the graph. Entities are given by name, in any spelling that leads to their key, or by the name
/// of what was merged into them.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// A new entity.
    CreateEntity {
        /// Its name.
        name: String,
        /// Its type; `UNKNOWN` where `None` and no document says better.
        kind: Option<String>,
        /// Its description.
        description: String,
    },
    /// Another type or description; at least one.
    EditEntity {
        /// The entity.
        name: String,
        /// Its type.
        kind: Option<String>,
        /// Its description, in place of the documents'.
        description: Option<String>,
    },
    /// Another name, and with it another type or description.
    RenameEntity {
        /// The entity.
        name: String,
        /// Its new name.
        to: String,
        /// Whether to merge where that name is another entity's.
        merge: bool,
        /// Its type; as it was where `None`.
        kind: Option<String>,
        /// Its description, in place of the documents'; as it was where `None`.
        description: Option<String>,
    },
    /// Without the entity and its relations.
    DeleteEntity {
        /// The entity.
        name: String,
    },
    /// Several entities are one.
    Merge {
        /// Those that are merged.
        sources: Vec<String>,
        /// What they become: one of them, another entity, or a new one.
        into: String,
        /// How the description comes about.
        description: DescriptionRule,
        /// How the type comes about.
        kind: KindRule,
    },
    /// Assigns what some chunks say about an entity to another entity.
    Split {
        /// The entity that loses them.
        name: String,
        /// The chunks.
        chunks: Vec<graphloom_core::ChunkId>,
        /// The entity that gains them; a new one, or one that exists.
        into: String,
    },
    /// Two entities are not the same.
    NotSame {
        /// One.
        one: String,
        /// The other.
        other: String,
    },
    /// A new relation between two entities.
    CreateRelation {
        /// The source.
        source: String,
        /// The target.
        target: String,
        /// What it is about.
        keywords: Vec<String>,
        /// Its description.
        description: String,
        /// Its strength; 1 where `None`.
        weight: Option<f64>,
    },
    /// Other keywords, description or weight; at least one.
    EditRelation {
        /// One end.
        source: String,
        /// The other end.
        target: String,
        /// What it is about.
        keywords: Option<Vec<String>>,
        /// Its description, in place of the documents'.
        description: Option<String>,
        /// Its strength.
        weight: Option<f64>,
    },
    /// Without the relation.
    DeleteRelation {
        /// One end.
        source: String,
        /// The other end.
        target: String,
    },
    /// An earlier decision does not hold; undoing an undo makes it hold again.
    Undo {
        /// Its id or the beginning of it; the latest that holds where `None`.
        decision: Option<String>,
    },
}

/// What an edit does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EditReport {
    /// The decision; a preview's is not stored.
    pub decision: Decision,
    /// What was decided right after it in the same commit, where the edit came to two decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Decision>,
    /// The entity or the source of the relation that it is about, as it reads then; `None` where it is gone.
    pub entity: Option<Entity>,
    /// Entities that are new or read differently, by key.
    pub entities: Vec<Entity>,
    /// Relations that are new or read differently, by key.
    pub relations: Vec<Relation>,
    /// Entities that are gone, by key.
    pub removed_entities: Vec<EntityKey>,
    /// Relations that are gone, by key.
    pub removed_relations: Vec<RelationKey>,
    /// Descriptions that wait for a summary: the model failed, or, in a preview, was not asked.
    pub stale: u32,
}

/// Decides and applies `edit`.
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

/// What `edit` would do. Nothing is stored and no model is asked: descriptions that would be summarised are cut.
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

/// Adds decisions as they are, in this order, in one commit, and derives what they change. Nothing is asked of them: one
/// that names what does not exist waits for it. For moving decisions from one workspace to another.
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

/// The decisions that an edit comes to.
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

/// One try at the graph as a snapshot shows it.
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

    /// What `batch`, derived from `decided`, does.
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

/// The entity that a decision is about.
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
