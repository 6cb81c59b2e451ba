//! Local search: from low-level keywords to entities, then to their relations.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{EntityKey, ItemKind, Relation};

use super::{Hits, QueryError, Question};
use crate::filtered::FilteredSnapshot;
use crate::query::FoundEntity;

/// Returns the entities nearest to the low-level keywords, nearest first, and all their relations: those whose ends have the
/// most relations first, then the heaviest, ties by key.
pub(super) async fn search(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    vector: &[f32],
) -> Result<Hits, QueryError> {
    let hits = scope.nearest(ItemKind::Entity, vector, question.top_k, question.cosine_threshold).await?;
    let (keys, scores): (Vec<EntityKey>, Vec<f32>) =
        hits.into_iter().filter_map(|hit| Some((hit.item.into_entity()?, hit.score))).unzip();
    let entities: Vec<FoundEntity> = scope
        .entities(&keys)
        .await?
        .into_iter()
        .zip(scores)
        .filter_map(|(entity, score)| Some(FoundEntity { entity: entity?, score: Some(score) }))
        .collect();
    let relations = relations_of(scope, &entities).await?;
    Ok(Hits { entities, relations, ..Hits::default() })
}

async fn relations_of(
    scope: &FilteredSnapshot<'_>,
    entities: &[FoundEntity],
) -> Result<Vec<(Relation, Option<f32>)>, QueryError> {
    let mut degrees: BTreeMap<EntityKey, u32> =
        entities.iter().map(|found| (found.entity.key.clone(), found.entity.degree)).collect();
    let keys: Vec<EntityKey> = entities.iter().map(|found| found.entity.key.clone()).collect();
    let relations = scope.relations_of(&keys).await?;

    let others: BTreeSet<&EntityKey> = relations.iter().flat_map(|relation| relation.key.ends()).collect();
    let others: Vec<EntityKey> =
        others.into_iter().filter(|end| !degrees.contains_key(*end)).cloned().collect();
    degrees.extend(others.iter().cloned().zip(scope.degrees(&others).await?));

    let degree = |relation: &Relation| -> u64 {
        relation.key.ends().iter().map(|end| u64::from(degrees.get(*end).copied().unwrap_or(0))).sum()
    };
    let mut ranked: Vec<(u64, Relation)> =
        relations.into_iter().map(|relation| (degree(&relation), relation)).collect();
    ranked.sort_by(|(degree_a, a), (degree_b, b)| {
        degree_b.cmp(degree_a).then_with(|| b.weight.total_cmp(&a.weight)).then_with(|| a.key.cmp(&b.key))
    });
    Ok(ranked.into_iter().map(|(_, relation)| (relation, None)).collect())
}
