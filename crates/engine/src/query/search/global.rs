//! Global search: from high-level keywords to relations, then to their entities.

use std::collections::BTreeSet;

use graphloom_core::{EntityKey, ItemKind, Relation, RelationKey};

use super::{Hits, QueryError, Question};
use crate::filtered::FilteredSnapshot;
use crate::query::FoundEntity;

/// Returns the relations nearest to the high-level keywords, nearest first, and their ends in order of first appearance.
pub(super) async fn search(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Hits, QueryError> {
    let hits = scope.nearest(ItemKind::Relation, vector, question.top_k, question.cosine_threshold).await?;
    let hits: Vec<(RelationKey, f32)> =
        hits.into_iter().filter_map(|hit| Some((hit.item.into_relation()?, hit.score))).collect();
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
