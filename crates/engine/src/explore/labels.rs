//! Lists entity names: all, those with the most relations, or those that match a text.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{Decisions, Entity, EntityKey, Snapshot, StoreError, table};
use serde::Serialize;

use graphloom_text::entity_key;

/// Maximum number of popular labels [LightRAG].
pub const MAX_LABELS: usize = 1000;
/// Maximum number of matches [LightRAG].
pub const MAX_MATCHES: usize = 100;

/// Scores of matches [LightRAG].
const EXACT: i64 = 1000;
const PREFIX: i64 = 500;
/// Minus the length of the name, so that shorter names come first.
const CONTAINS: i64 = 100;
const WORD_START: i64 = 50;

/// The name of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: EntityKey,
    /// Its type.
    pub kind: String,
    /// The number of its relations.
    pub degree: u32,
    /// How well it matches; `None` without a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

impl Label {
    fn new(entity: Entity, score: Option<i64>) -> Self {
        Self { name: entity.name, key: entity.key, kind: entity.kind, degree: entity.degree, score }
    }
}

/// Returns all labels by name; ties by key.
pub async fn all_labels(snapshot: &dyn Snapshot) -> Result<Vec<Label>, StoreError> {
    let mut labels = Vec::new();
    scan(snapshot, |entity| labels.push(Label::new(entity, None))).await?;
    labels.sort_by(|one, other| (&one.name, &one.key).cmp(&(&other.name, &other.key)));
    Ok(labels)
}

/// Returns the labels of the best connected entities: highest degree first, ties by name; at most `limit` and [`MAX_LABELS`].
pub async fn popular_labels(snapshot: &dyn Snapshot, limit: usize) -> Result<Vec<Label>, StoreError> {
    let mut best = Best::new(limit.min(MAX_LABELS));
    scan(snapshot, |entity| best.offer(i64::from(entity.degree), Label::new(entity, None))).await?;
    Ok(best.into_labels())
}

/// Returns the labels that match `text`: equal names first, then names that start with it, then names that contain it. In the last
/// group, matches at the start of a word and in short names score higher. Ties are ordered by name; at most `limit` and
/// [`MAX_MATCHES`]. Case is ignored. The former name of a merged or renamed entity finds that entity.
///
/// Source: LightRAG, `search_labels`.
pub async fn search_labels(
    snapshot: &dyn Snapshot,
    text: &str,
    limit: usize,
) -> Result<Vec<Label>, StoreError> {
    let wanted = text.trim().to_lowercase();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let led_to = match entity_key(text) {
        Some(key) => Some(Decisions::read(snapshot).await?.resolve(&key)),
        None => None,
    };
    let mut best = Best::new(limit.min(MAX_MATCHES));
    scan(snapshot, |entity| {
        let by_name = score(&entity.name.to_lowercase(), &wanted);
        let by_key = (Some(&entity.key) == led_to.as_ref()).then_some(EXACT);
        if let Some(score) = by_name.max(by_key) {
            best.offer(score, Label::new(entity, Some(score)));
        }
    })
    .await?;
    Ok(best.into_labels())
}

/// Returns how well a name matches; `None` if it does not.
fn score(name: &str, wanted: &str) -> Option<i64> {
    if name == wanted {
        return Some(EXACT);
    }
    if name.starts_with(wanted) {
        return Some(PREFIX);
    }
    let at = name.find(wanted)?;
    let length = i64::try_from(name.chars().count()).unwrap_or(i64::MAX);
    let starts_word = (name.match_indices(wanted).map(|(at, _)| at).chain([at]))
        .any(|at| name[..at].ends_with(|c: char| c.is_whitespace() || c == '_' || c == '-'));
    Some(CONTAINS - length + if starts_word { WORD_START } else { 0 })
}

async fn scan(snapshot: &dyn Snapshot, mut see: impl FnMut(Entity)) -> Result<(), StoreError> {
    let mut pages = snapshot.pages(table::Entities);
    while let Some(page) = pages.next().await? {
        page.into_iter().for_each(&mut see);
    }
    Ok(())
}

/// Keeps the best labels offered: highest score first, then by name and key.
struct Best {
    limit: usize,
    kept: BTreeSet<(Reverse<i64>, String, EntityKey)>,
    labels: BTreeMap<EntityKey, Label>,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, kept: BTreeSet::new(), labels: BTreeMap::new() }
    }

    fn offer(&mut self, points: i64, label: Label) {
        self.kept.insert((Reverse(points), label.name.clone(), label.key.clone()));
        self.labels.insert(label.key.clone(), label);
        if self.kept.len() > self.limit
            && let Some((_, _, key)) = self.kept.pop_last()
        {
            self.labels.remove(&key);
        }
    }

    fn into_labels(mut self) -> Vec<Label> {
        self.kept.iter().filter_map(|(_, _, key)| self.labels.remove(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_score(name: &str, wanted: &str, expected: Option<i64>) {
        assert_eq!(score(name, wanted), expected, "{wanted:?} in {name:?}");
    }

    #[test]
    fn whole_names_come_before_prefixes_and_prefixes_before_parts() {
        check_score("radium", "radium", Some(1000));
        check_score("radium institute", "radium", Some(500));
        check_score("the radium", "radium", Some(100 - 10 + 50));
        check_score("uraniradium", "radium", Some(100 - 11));
        check_score("polonium", "radium", None);
    }

    #[test]
    fn a_part_at_the_start_of_a_word_counts_once_and_lengths_are_in_characters() {
        check_score("xab ab", "ab", Some(100 - 6 + 50));
        check_score("ßßab", "ab", Some(100 - 4));
    }
}
