//! The searches of a plan over one snapshot under a filter, and the fusion of their hits.

mod definitions;
mod fused;
mod global;
mod local;
mod naive;
mod pagerank;
mod synonyms;
mod tree;

use graphloom_core::{ChunkId, LayerNode, Relation, RelationKey};

use super::chunks::Candidate;
use super::embed::QueryVectors;
use super::fuse::round_robin;
use super::plan::{Fusion, Operator, Plan, Prior};
use super::trust::PageRankTrust;
use super::{Arm, ChunkPath, FoundEntity, QueryError, Question};
use crate::filtered::FilteredSnapshot;

pub(super) use pagerank::near_facts;
pub(super) use tree::note as tree_note;

/// The hits of a plan's operators, each list best first.
#[derive(Debug, Clone, Default)]
pub(super) struct Hits {
    /// Entities, each once.
    pub(super) entities: Vec<FoundEntity>,
    /// Relations with their cosine, each once.
    pub(super) relations: Vec<(Relation, Option<f32>)>,
    /// Chunks, each once.
    pub(super) chunks: Vec<Candidate>,
    /// Nodes of layers with their cosine, best first.
    pub(super) nodes: Vec<(LayerNode, f32)>,
    /// Paths of PageRank to the first chunks.
    pub(super) paths: Vec<ChunkPath>,
    /// How much mode auto trusted PageRank.
    pub(super) trust: Option<PageRankTrust>,
}

/// Runs the operators of a plan whose vectors exist, and fuses their results. PageRank starts at `facts` if given.
pub(super) async fn search(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    plan: Plan,
    vectors: &QueryVectors,
    mut facts: Option<Vec<(RelationKey, f64)>>,
) -> Result<Hits, QueryError> {
    let mut found = Vec::new();
    for operator in plan.operators {
        found.push(match (operator, vectors) {
            (Operator::PageRank(prior), _) => {
                let mut hits = pagerank::search(scope, question, *prior, vectors, facts.take()).await?;
                if *prior == Prior::VectorAndWords {
                    definitions::put_first(
                        scope,
                        question.text.trim(),
                        question.wanted_chunks(),
                        &mut hits.chunks,
                    )
                    .await?;
                }
                hits
            }
            (Operator::Fused, QueryVectors { question: Some(vector), .. }) => {
                of_chunks(Arm::Fused, fused::search(scope, question, vector).await?)
            }
            (Operator::Dense, QueryVectors { question: Some(vector), .. }) => {
                of_chunks(Arm::Vector, naive::search(scope, question, vector).await?)
            }
            (Operator::Tree(order), QueryVectors { question: Some(vector), .. }) => {
                tree::search(scope, question, *order, vector).await?
            }
            (Operator::Entities, QueryVectors { low_level: Some(vector), .. }) => {
                local::search(scope, question, vector).await?
            }
            (Operator::Relations, QueryVectors { high_level: Some(vector), .. }) => {
                global::search(scope, question, vector).await?
            }
            (
                Operator::Fused
                | Operator::Dense
                | Operator::Entities
                | Operator::Relations
                | Operator::Tree(_),
                _,
            ) => Hits::default(),
            // `reports::find` runs these.
            (Operator::Reports | Operator::Community | Operator::Drift, _) => Hits::default(),
        });
    }
    Ok(fused_by(plan.fusion, found))
}

/// Returns the hits of a search for chunks, best first.
fn of_chunks(arm: Arm, chunks: Vec<(ChunkId, f32)>) -> Hits {
    let chunks = chunks.into_iter().map(|(id, score)| Candidate { id, arm, score: Some(score) });
    Hits { chunks: chunks.collect(), ..Hits::default() }
}

fn fused_by(fusion: Fusion, mut found: Vec<Hits>) -> Hits {
    if found.len() == 1 {
        return found.remove(0);
    }
    let (mut entities, mut relations, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = Hits::default();
    for hits in found {
        entities.push(hits.entities);
        relations.push(hits.relations);
        chunks.push(hits.chunks);
        all.nodes.extend(hits.nodes);
        all.paths.extend(hits.paths);
        all.trust = all.trust.or(hits.trust);
    }
    match fusion {
        Fusion::TakeTurns | Fusion::Shares => Hits {
            entities: round_robin(entities, |found| found.entity.key.clone()),
            relations: round_robin(relations, |(relation, _)| relation.key.clone()),
            chunks: round_robin(chunks, |candidate| candidate.id.clone()),
            ..all
        },
    }
}
