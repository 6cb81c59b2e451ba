//! The searches of what a question sees of one snapshot, and their hits made one.

mod fused;
mod global;
mod local;
mod naive;
mod synonyms;
mod walked;

use graphloom_core::{ChunkId, Relation, RelationKey};

use super::embed::QueryVectors;
use super::fuse::round_robin;
use super::plan::Plan;
use super::trust::WalkTrust;
use super::{ChunkPath, FoundEntity, QueryError, Question};
use crate::scope::Scope;

pub(super) use walked::near_facts;

/// What the searches of a plan found, each list best first.
#[derive(Debug, Clone, Default)]
pub(super) struct Hits {
    /// Entities, each once.
    pub(super) entities: Vec<FoundEntity>,
    /// Relations with their cosine, each once.
    pub(super) relations: Vec<(Relation, Option<f32>)>,
    /// Chunks found by their own vectors, with their cosine, by vectors and words, with their fused score, or by a walk, with
    /// their PageRank, or with weighted reciprocal ranks where other rankings count beside it.
    pub(super) chunks: Vec<(ChunkId, f32)>,
    /// How a walk came to the first of the chunks.
    pub(super) paths: Vec<ChunkPath>,
    /// How far mode auto trusted its walk.
    pub(super) trust: Option<WalkTrust>,
}

/// Runs the searches that the plan asks for and that there are vectors for. A walk begins at `facts` where they were chosen.
pub(super) async fn search(
    scope: &Scope<'_>,
    question: &Question,
    plan: Plan,
    vectors: &QueryVectors,
    facts: Option<Vec<(RelationKey, f64)>>,
) -> Result<Hits, QueryError> {
    if let Some(prior) = plan.walk {
        return walked::search(scope, question, prior, vectors, facts).await;
    }
    if let (true, Some(vector)) = (plan.fused, &vectors.question) {
        let chunks = fused::search(scope, question, vector).await?;
        return Ok(Hits { chunks, ..Hits::default() });
    }
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
        paths: Vec::new(),
        trust: None,
    })
}
