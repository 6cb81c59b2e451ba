//! Local search: low-level keywords to entities, and on to their relations.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{EntityKey, Relation, Snapshot, VectorKind};

use super::{Hits, QueryError, Question, nearest};
use crate::query::FoundEntity;

/// The entities nearest to the low-level keywords, in that order, and all their relations: those whose ends have the
/// most relations first, then the heaviest, ties by key.
pub(super) async fn search(
    snapshot: &dyn Snapshot,
    question: &Question,
    vector: &[f32],
) -> Result<Hits, QueryError> {
    let hits =
        nearest(snapshot, VectorKind::Entity, vector, question.top_k, question.cosine_threshold).await?;
    let keys: Vec<EntityKey> = hits.iter().map(|hit| EntityKey::from_stored(hit.id.as_str())).collect();
    let entities: Vec<FoundEntity> = snapshot
        .entities(&keys)
        .await?
        .into_iter()
        .zip(&hits)
        .filter_map(|(entity, hit)| Some(FoundEntity { entity: entity?, score: Some(hit.score) }))
        .collect();
    let relations = relations_of(snapshot, &entities).await?;
    Ok(Hits { entities, relations, chunks: Vec::new() })
}

async fn relations_of(
    snapshot: &dyn Snapshot,
    entities: &[FoundEntity],
) -> Result<Vec<(Relation, Option<f32>)>, QueryError> {
    let mut degrees: BTreeMap<EntityKey, u32> =
        entities.iter().map(|found| (found.entity.key.clone(), found.entity.degree)).collect();
    let keys: Vec<EntityKey> = entities.iter().map(|found| found.entity.key.clone()).collect();
    let mut seen = BTreeSet::new();
    let mut relations: Vec<Relation> = snapshot.relations_of(&keys).await?.into_iter().flatten().collect();
    relations.retain(|relation| seen.insert(relation.key.clone()));

    let others: BTreeSet<&EntityKey> = seen.iter().flat_map(|pair| pair.ends()).collect();
    let others: Vec<EntityKey> =
        others.into_iter().filter(|end| !degrees.contains_key(*end)).cloned().collect();
    degrees.extend(others.iter().cloned().zip(snapshot.degrees(&others).await?));

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
