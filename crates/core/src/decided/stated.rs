//! What people stated: created and edited entities and relations, and what several statements come to.

use std::collections::BTreeSet;

use crate::{EntityKey, Fact, RelationKey};

/// What was decided about one entity of the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecidedEntity {
    /// Whether it exists even if nothing mentions it.
    pub created: bool,
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub kind: Option<String>,
    /// Its description, in place of all others.
    pub description: Option<String>,
    /// Descriptions beside those of documents.
    pub descriptions: BTreeSet<String>,
}

/// What was decided about one relation of the graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecidedRelation {
    /// What people stated, as facts of a chunk that does not exist.
    pub facts: Vec<Fact>,
    /// Its keywords, in place of all others.
    pub keywords: Option<Vec<String>>,
    /// Its description, in place of all others.
    pub description: Option<String>,
    /// Its weight, in place of the sum.
    pub weight: Option<f64>,
    /// Keywords beside those of documents.
    pub more_keywords: BTreeSet<String>,
    /// Descriptions beside those of documents.
    pub descriptions: BTreeSet<String>,
}

/// Something people stated, and after how many rules.
pub(super) struct Statement {
    pub(super) after: usize,
    pub(super) at: At,
    pub(super) what: Stated,
}

pub(super) enum At {
    Entity(EntityKey),
    Relation { source: EntityKey, target: EntityKey },
}

pub(super) enum Stated {
    Created { name: String, kind: Option<String>, description: String },
    Edited { name: Option<String>, kind: Option<String>, description: Option<String> },
    Fact(Fact),
    EditedRelation { keywords: Option<Vec<String>>, description: Option<String>, weight: Option<f64> },
}

impl DecidedEntity {
    /// Statements come in order, so the latest stands. One that came through a merge describes and does not rule.
    pub(super) fn add(&mut self, what: Stated, merged: bool) {
        match what {
            Stated::Created { name, kind, description } => {
                self.created = true;
                self.describe(description);
                if !merged {
                    self.name = Some(name);
                    self.kind = kind.or(self.kind.take());
                }
            }
            Stated::Edited { name, kind, description } if !merged => {
                self.name = name.or(self.name.take());
                self.kind = kind.or(self.kind.take());
                self.description = description.or(self.description.take());
            }
            Stated::Edited { description, .. } => self.describe(description.unwrap_or_default()),
            Stated::Fact(_) | Stated::EditedRelation { .. } => {}
        }
    }

    fn describe(&mut self, description: String) {
        if !description.is_empty() {
            self.descriptions.insert(description);
        }
    }
}

impl DecidedRelation {
    pub(super) fn add(&mut self, what: Stated, relation: RelationKey, source_is_a: bool, merged: bool) {
        match what {
            Stated::Fact(fact) => self.facts.push(Fact { relation, source_is_a, ..fact }),
            Stated::EditedRelation { keywords, description, weight } if !merged => {
                self.keywords = keywords.or(self.keywords.take());
                self.description = description.or(self.description.take());
                self.weight = weight.or(self.weight);
            }
            Stated::EditedRelation { keywords, description, .. } => {
                self.more_keywords.extend(keywords.unwrap_or_default());
                self.descriptions.extend(description.filter(|description| !description.is_empty()));
            }
            Stated::Created { .. } | Stated::Edited { .. } => {}
        }
    }
}
