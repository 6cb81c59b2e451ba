//! The searches of one snapshot, and their hits made one.

mod global;
mod local;
mod naive;

use graphloom_core::{ChunkId, Relation, Snapshot, VectorHit, VectorKind, VectorQuery};

use super::embed::QueryVectors;
use super::fuse::round_robin;
use super::plan::Plan;
use super::{FoundEntity, QueryError, Question};

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
    snapshot: &dyn Snapshot,
    question: &Question,
    plan: Plan,
    vectors: &QueryVectors,
) -> Result<Hits, QueryError> {
    let local = match &vectors.low_level {
        Some(vector) => local::search(snapshot, question, vector).await?,
        None => Hits::default(),
    };
    let global = match &vectors.high_level {
        Some(vector) => global::search(snapshot, question, vector).await?,
        None => Hits::default(),
    };
    let chunks = match &vectors.question {
        Some(vector) if plan.naive => naive::search(snapshot, question, vector).await?,
        Some(_) | None => Vec::new(),
    };
    Ok(Hits {
        entities: round_robin(vec![local.entities, global.entities], |found| found.entity.key.clone()),
        relations: round_robin(vec![local.relations, global.relations], |(relation, _)| relation.key.clone()),
        chunks,
    })
}

async fn nearest(
    snapshot: &dyn Snapshot,
    kind: VectorKind,
    vector: &[f32],
    limit: usize,
    min_score: f32,
) -> Result<Vec<VectorHit>, QueryError> {
    let query = VectorQuery { kind, vectors: vec![vector.to_vec()], limit, min_score };
    Ok(snapshot.search_vectors(&query).await?.pop().unwrap_or_default())
}
