//! Global search: high-level keywords to relations, and on to their entities.

use std::collections::BTreeSet;

use graphloom_core::{EntityKey, Relation, RelationKey, VectorKind};

use super::{Hits, QueryError, Question};
use crate::query::FoundEntity;
use crate::scope::Scope;

/// The relations nearest to the high-level keywords, in that order, and their ends in order of first appearance.
pub(super) async fn search(
    scope: &Scope<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Hits, QueryError> {
    let hits = scope.nearest(VectorKind::Relation, vector, question.top_k, question.cosine_threshold).await?;
    let hits: Vec<(RelationKey, f32)> =
        hits.iter().filter_map(|hit| Some((RelationKey::parse(&hit.id)?, hit.score))).collect();
    let keys: Vec<RelationKey> = hits.iter().map(|(key, _)| key.clone()).collect();
    let relations: Vec<(Relation, Option<f32>)> = scope
        .relations(&keys)
        .await?
        .into_iter()
        .zip(&hits)
        .filter_map(|(relation, (_, score))| Some((relation?, Some(*score))))
        .collect();

    let mut seen = BTreeSet::new();
    let ends: Vec<EntityKey> = relations
        .iter()
        .flat_map(|(relation, _)| relation.key.ends())
        .filter(|end| seen.insert(*end))
        .cloned()
        .collect();
    let entities = scope.entities(&ends).await?;
    let entities = entities.into_iter().flatten().map(|entity| FoundEntity { entity, score: None }).collect();
    Ok(Hits { entities, relations, ..Hits::default() })
}
