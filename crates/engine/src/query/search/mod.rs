//! The searches of what a question sees of one snapshot, and their hits made one.

mod global;
mod local;
mod naive;

use graphloom_core::{ChunkId, Relation};

use super::embed::QueryVectors;
use super::fuse::round_robin;
use super::plan::Plan;
use super::{FoundEntity, QueryError, Question};
use crate::scope::Scope;

/// What the searches of a plan found, each list best first.
#[derive(Debug, Clone, Default)]
pub(super) struct Hits {
    /// Entities, each once.
    pub(super) entities: Vec<FoundEntity>,
    /// Relations with their cosine, each once.
    pub(super) relations: Vec<(Relation, Option<f32>)>,
    /// Chunks found by their own vectors, with their cosine.
    pub(super) chunks: Vec<(ChunkId, f32)>,
}

/// Runs the searches that the plan asks for and that there are vectors for.
pub(super) async fn search(
    scope: &Scope<'_>,
    question: &Question,
    plan: Plan,
    vectors: &QueryVectors,
) -> Result<Hits, QueryError> {
    let local = match &vectors.low_level {
        Some(vector) => local::search(scope, question, vector).await?,
        None => Hits::default(),
    };
    let global = match &vectors.high_level {
        Some(vector) => global::search(scope, question, vector).await?,
        None => Hits::default(),
    };
    let chunks = match &vectors.question {
        Some(vector) if plan.naive => naive::search(scope, question, vector).await?,
        Some(_) | None => Vec::new(),
    };
    Ok(Hits {
        entities: round_robin(vec![local.entities, global.entities], |found| found.entity.key.clone()),
        relations: round_robin(vec![local.relations, global.relations], |(relation, _)| relation.key.clone()),
        chunks,
    })
}
