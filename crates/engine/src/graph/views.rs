//! Computes entities and relations as pure functions of their mentions and facts.
//!
//! Every rule is independent of order: sets, majorities with ties to the smallest, sums in canonical order. The inputs are
//! sorted by (chunk, ordinal), so the order of arrival has no effect.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    ContentHash, DecidedEntity, DecidedRelation, Entity, EntityKey, Fact, Mention, PartsHasher, Relation,
    RelationKey,
};

/// The type of an entity that only relations name, as in LightRAG.
pub const UNKNOWN_KIND: &str = "UNKNOWN";

/// A view without its description, and the distinct descriptions for it.
#[derive(Debug, PartialEq)]
pub(crate) struct Draft<View> {
    /// The view; its description is empty, and its hash covers everything except the summariser.
    pub(crate) view: View,
    /// Distinct descriptions, longest first, ties in ascending order.
    pub(crate) fragments: Vec<String>,
    /// The description that a person wrote instead of the fragments.
    pub(crate) decided: Option<String>,
}

/// Returns the entity behind `mentions`, or behind the `facts` that name it if nothing mentions it; `None` without either,
/// unless a person created it.
///
/// - `mentions`, `facts`: the active ones of `key`, sorted by (chunk, ordinal).
/// - `degree`: the number of its live relations.
/// - `decided`: decisions about it, which take precedence over the evidence.
pub(crate) fn derive_entity(
    key: &EntityKey,
    mentions: &[Mention],
    facts: &[Fact],
    degree: u32,
    decided: Option<&DecidedEntity>,
) -> Option<Draft<Entity>> {
    let created = decided.is_some_and(|decided| decided.created);
    if mentions.is_empty() && facts.is_empty() && !created {
        return None;
    }
    let mut inputs = inputs_of(&[key.as_str(), &degree.to_string()]);
    let (name, kind, mut fragments) = if mentions.is_empty() {
        let names = facts.iter().map(|fact| name_in(fact, key));
        for fact in facts {
            let ordinal = fact.ordinal.to_string();
            push(&mut inputs, &[fact.chunk.as_str(), &ordinal, &fact.description, name_in(fact, key)]);
        }
        let descriptions: Vec<&str> = facts.iter().map(|fact| fact.description.as_str()).collect();
        (majority(names), UNKNOWN_KIND, descriptions)
    } else {
        for Mention { chunk, ordinal, name, kind, description, .. } in mentions {
            push(&mut inputs, &[chunk.as_str(), &ordinal.to_string(), name, kind, description]);
        }
        let kind = majority(mentions.iter().map(|m| m.kind.as_str()));
        let descriptions = mentions.iter().map(|m| m.description.as_str()).collect();
        (majority(mentions.iter().map(|m| m.name.as_str())), kind.unwrap_or(UNKNOWN_KIND), descriptions)
    };
    let mut view = Entity {
        key: key.clone(),
        name: name.unwrap_or(key.as_str()).to_owned(),
        kind: kind.to_owned(),
        description: String::new(),
        mention_count: mentions.len() as u32,
        degree,
        inputs_hash: ContentHash::of(&[]),
    };
    if let Some(DecidedEntity { created, name, kind, description, descriptions }) = decided {
        inputs.push(&format!("decided {created} {name:?} {kind:?} {description:?} {descriptions:?}"));
        name.iter().for_each(|name| view.name.clone_from(name));
        kind.iter().for_each(|kind| view.kind.clone_from(kind));
        fragments.extend(descriptions.iter().map(String::as_str));
    }
    view.inputs_hash = inputs.finish();
    let description = decided.and_then(|decided| decided.description.clone());
    Some(Draft { view, fragments: longest_first(fragments), decided: description })
}

/// Returns the relation behind `facts`, which are sorted by (chunk, ordinal) and include those that people added; `None`
/// without facts.
///
/// - `decided`: decisions about it, which take precedence over the evidence.
pub(crate) fn derive_relation(
    key: &RelationKey,
    facts: &[Fact],
    decided: Option<&DecidedRelation>,
) -> Option<Draft<Relation>> {
    if facts.is_empty() {
        return None;
    }
    let mut inputs = inputs_of(&[&key.to_string()]);
    for fact in facts {
        push(&mut inputs, &[fact.chunk.as_str(), &fact.ordinal.to_string(), &fact.description]);
        let keywords = fact.keywords.join(",");
        push(&mut inputs, &[&keywords, &fact.weight.to_string(), &fact.source, &fact.target]);
    }
    let mut keywords: BTreeSet<&String> = facts.iter().flat_map(|fact| &fact.keywords).collect();
    let mut fragments: Vec<&str> = facts.iter().map(|fact| fact.description.as_str()).collect();
    let mut weight: f64 = facts.iter().map(|fact| fact.weight).sum();
    // Facts that people added are already in the list.
    if let Some(DecidedRelation {
        facts: _,
        keywords: instead,
        description,
        weight: heavy,
        more_keywords,
        descriptions,
    }) = decided
    {
        let decided =
            format!("decided {instead:?} {description:?} {heavy:?} {more_keywords:?} {descriptions:?}");
        inputs.push(&decided);
        keywords.extend(more_keywords);
        keywords = instead.as_ref().map_or(keywords, |instead| instead.iter().collect());
        fragments.extend(descriptions.iter().map(String::as_str));
        weight = heavy.unwrap_or(weight);
    }
    let view = Relation {
        key: key.clone(),
        keywords: keywords.into_iter().filter(|keyword| !keyword.is_empty()).cloned().collect(),
        description: String::new(),
        weight,
        fact_count: facts.len() as u32,
        inputs_hash: inputs.finish(),
    };
    let description = decided.and_then(|decided| decided.description.clone());
    Some(Draft { view, fragments: longest_first(fragments), decided: description })
}

/// Returns the text by which an entity is found: `name\ndescription` [LightRAG].
pub(crate) fn entity_text(entity: &Entity) -> String {
    format!("{}\n{}", entity.name, entity.description)
}

/// Returns the text by which a relation is found: `keywords\tsource\ntarget\ndescription` [LightRAG], with the ends in key
/// order.
pub(crate) fn relation_text(relation: &Relation, (a, b): (String, String)) -> String {
    format!("{}\t{a}\n{b}\n{}", relation.keywords.join(","), relation.description)
}

/// Returns the most common names of the two ends in `facts`, in key order.
pub(crate) fn end_names(key: &RelationKey, facts: &[Fact]) -> (String, String) {
    let name = |end: &EntityKey| {
        majority(facts.iter().map(|fact| name_in(fact, end))).unwrap_or(end.as_str()).to_owned()
    };
    (name(key.a()), name(key.b()))
}

/// Returns how `fact` spells the end with the key `key`.
fn name_in<'a>(fact: &'a Fact, key: &EntityKey) -> &'a str {
    if (fact.relation.a() == key) == fact.source_is_a { &fact.source } else { &fact.target }
}

/// Returns the most common value; ties go to the smallest; `None` without values.
fn majority<'a>(values: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    // Ascending order and a strict comparison keep the smallest of equally common values.
    counts.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(value, _)| value)
}

fn longest_first(mut descriptions: Vec<&str>) -> Vec<String> {
    descriptions.retain(|description| !description.is_empty());
    descriptions.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    descriptions.dedup();
    descriptions.into_iter().map(str::to_owned).collect()
}

fn inputs_of(parts: &[&str]) -> PartsHasher {
    let mut inputs = PartsHasher::default();
    push(&mut inputs, parts);
    inputs
}

fn push(inputs: &mut PartsHasher, parts: &[&str]) {
    parts.iter().for_each(|part| inputs.push(part));
}

#[cfg(test)]
mod tests {
    use graphloom_core::ChunkId;
    use proptest::prelude::*;

    use super::*;

    fn mention(chunk: u32, name: &str, kind: &str, description: &str) -> Mention {
        Mention {
            chunk: ChunkId::from_stored(format!("c{chunk}")),
            ordinal: 0,
            entity: EntityKey::from_stored("ADA"),
            name: name.to_owned(),
            kind: kind.to_owned(),
            description: description.to_owned(),
            span: None,
            set_aside: false,
        }
    }

    fn check_entity(mentions: &[Mention]) -> (String, String, Vec<String>) {
        let draft = derive_entity(&EntityKey::from_stored("ADA"), mentions, &[], 0, None).expect("mentioned");
        (draft.view.name, draft.view.kind, draft.fragments)
    }

    #[test]
    fn name_and_type_are_the_most_common_and_ties_go_to_the_smallest() {
        let mentions = [
            mention(1, "Ada", "Person", "Chemist."),
            mention(2, "ada", "Place", "Chemist."),
            mention(3, "ada", "Person", "Founded the lab."),
            mention(4, "Ada", "Place", ""),
        ];
        let fragments = vec!["Founded the lab.".to_owned(), "Chemist.".to_owned()];
        assert_eq!(check_entity(&mentions), ("Ada".to_owned(), "Person".to_owned(), fragments));
    }

    #[test]
    fn an_entity_named_only_by_relations_has_an_unknown_type_and_their_descriptions() {
        let key = EntityKey::from_stored("KELM");
        let relation = RelationKey::new(EntityKey::from_stored("ADA"), key.clone()).expect("two ends");
        let fact = Fact {
            chunk: ChunkId::from_stored("c1"),
            ordinal: 0,
            relation,
            source: "Ada".into(),
            target: "Kelm".into(),
            source_is_a: true,
            keywords: vec!["work".into()],
            description: "Ada works in Kelm.".into(),
            weight: 1.0,
            set_aside: false,
        };
        let draft = derive_entity(&key, &[], std::slice::from_ref(&fact), 1, None).expect("named");
        assert_eq!((draft.view.name.as_str(), draft.view.kind.as_str()), ("Kelm", UNKNOWN_KIND));
        assert_eq!(draft.fragments, ["Ada works in Kelm."]);
        let facts = std::slice::from_ref(&fact);
        let relation = derive_relation(&fact.relation, facts, None).expect("stated").view;
        assert_eq!(relation_text(&relation, end_names(&relation.key, facts)), "work\tAda\nKelm\n");
    }

    proptest! {
        #[test]
        fn the_view_does_not_depend_on_the_order_of_mentions(words in prop::collection::vec("[ab]{0,3}", 1..12)) {
            let mentions: Vec<_> = words.iter().enumerate().map(|(i, w)| mention(i as u32, w, w, w)).collect();
            let mut reversed = mentions.clone();
            reversed.reverse();
            prop_assert_eq!(check_entity(&mentions), check_entity(&reversed));
        }
    }
}
