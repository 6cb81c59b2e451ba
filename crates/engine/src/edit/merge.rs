//! Merging several entities into one: which one stays, and how its description and type are chosen.
//!
//! Source: LightRAG, `amerge_entities`. Differences: a merge is a decision, so it can be undone and also applies to later
//! documents. The default type is the majority over all mentions. The weights of relations that become one are added.

use std::collections::BTreeSet;

use graphloom_core::{Action, Decisions, Entity, EntityKey, Snapshot};

use super::EditError;
use super::plan::{find, target, text_of};
use crate::Engine;

/// How the description of a merged entity is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DescriptionRule {
    /// All distinct descriptions, summarized if there are many [LightRAG: concatenate].
    #[default]
    Concatenate,
    /// The description of the first source.
    KeepFirst,
    /// The description of the entity merged into, or of the last source if that entity is new.
    KeepLast,
    /// This description.
    Text(String),
}

/// How the type of a merged entity is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KindRule {
    /// The most common type of all mentions.
    #[default]
    Majority,
    /// The type of the first source [LightRAG's default].
    KeepFirst,
    /// The type of the entity merged into, or of the last source if that entity is new.
    KeepLast,
    /// This type.
    Kind(String),
}

/// Returns the decision that merges the entities `names` into `into`.
pub(super) async fn plan_merge(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    decisions: &Decisions,
    names: &[String],
    into: &str,
    description: &DescriptionRule,
    kind: &KindRule,
) -> Result<Action, EditError> {
    let (into_key, into_name, existing) = target(snapshot, decisions, into).await?;
    let mut sources: Vec<Entity> = Vec::new();
    for name in names {
        let source = find(snapshot, decisions, name).await?;
        if source.key != into_key && sources.iter().all(|known| known.key != source.key) {
            sources.push(source);
        }
    }
    if sources.is_empty() {
        let one = names.first().cloned().unwrap_or_default();
        return Err(EditError::OneEntity { one, other: into.to_owned() });
    }
    let mut together = BTreeSet::from([into_key.clone()]);
    for source in &sources {
        if let Some(verdict) = decisions.apart(&BTreeSet::from([source.key.clone()]), &together) {
            let (one, other) = (source.name.clone(), into_name);
            return Err(EditError::Apart { one, other, decision: verdict.id.clone() });
        }
        together.insert(source.key.clone());
    }
    let of_first = sources.first();
    let of_last = existing.as_ref().or(sources.last());
    let description = match description {
        DescriptionRule::Concatenate => None,
        DescriptionRule::KeepFirst => of_first.map(|entity| entity.description.clone()),
        DescriptionRule::KeepLast => of_last.map(|entity| entity.description.clone()),
        DescriptionRule::Text(text) => Some(text_of(engine, "description", text)?),
    };
    let kind = match kind {
        KindRule::Majority => None,
        KindRule::KeepFirst => of_first.map(|entity| entity.kind.clone()),
        KindRule::KeepLast => of_last.map(|entity| entity.kind.clone()),
        KindRule::Kind(kind) => Some(text_of(engine, "type", kind)?),
    };
    let sources: Vec<EntityKey> = sources.into_iter().map(|source| source.key).collect();
    Ok(Action::MergeEntities { sources, into: into_key, name: into_name, kind, description })
}
