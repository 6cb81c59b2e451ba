//! Statements of people: created and edited entities and relations, and their combined effect.

use std::collections::BTreeSet;

use crate::{EntityKey, Fact, RelationKey};

/// The combined decisions about one entity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecidedEntity {
    /// Whether it exists even without mentions.
    pub created: bool,
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub kind: Option<String>,
    /// Its description, which replaces all others.
    pub description: Option<String>,
    /// Descriptions in addition to those from documents.
    pub descriptions: BTreeSet<String>,
}

/// The combined decisions about one relation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecidedRelation {
    /// Facts that people stated, stored under a chunk id that no document has.
    pub facts: Vec<Fact>,
    /// Its keywords, which replace all others.
    pub keywords: Option<Vec<String>>,
    /// Its description, which replaces all others.
    pub description: Option<String>,
    /// Its weight, which replaces the sum.
    pub weight: Option<f64>,
    /// Keywords in addition to those from documents.
    pub more_keywords: BTreeSet<String>,
    /// Descriptions in addition to those from documents.
    pub descriptions: BTreeSet<String>,
}

/// A statement and the number of rules before it.
pub(super) struct Statement {
    pub(super) after: usize,
    pub(super) at: At,
    pub(super) what: DecidedFact,
}

pub(super) enum At {
    Entity(EntityKey),
    Relation { source: EntityKey, target: EntityKey },
}

pub(super) enum DecidedFact {
    Created { name: String, kind: Option<String>, description: String },
    Edited { name: Option<String>, kind: Option<String>, description: Option<String> },
    Fact(Fact),
    EditedRelation { keywords: Option<Vec<String>>, description: Option<String>, weight: Option<f64> },
}

impl DecidedEntity {
    /// Adds a statement. Statements are added in order, so the latest wins. After a merge, a statement only adds a description.
    pub(super) fn add(&mut self, what: DecidedFact, merged: bool) {
        match what {
            DecidedFact::Created { name, kind, description } => {
                self.created = true;
                self.describe(description);
                if !merged {
                    self.name = Some(name);
                    self.kind = kind.or(self.kind.take());
                }
            }
            DecidedFact::Edited { name, kind, description } if !merged => {
                self.name = name.or(self.name.take());
                self.kind = kind.or(self.kind.take());
                self.description = description.or(self.description.take());
            }
            DecidedFact::Edited { description, .. } => self.describe(description.unwrap_or_default()),
            DecidedFact::Fact(_) | DecidedFact::EditedRelation { .. } => {}
        }
    }

    fn describe(&mut self, description: String) {
        if !description.is_empty() {
            self.descriptions.insert(description);
        }
    }
}

impl DecidedRelation {
    pub(super) fn add(&mut self, what: DecidedFact, relation: RelationKey, source_is_a: bool, merged: bool) {
        match what {
            DecidedFact::Fact(fact) => self.facts.push(Fact { relation, source_is_a, ..fact }),
            DecidedFact::EditedRelation { keywords, description, weight } if !merged => {
                self.keywords = keywords.or(self.keywords.take());
                self.description = description.or(self.description.take());
                self.weight = weight.or(self.weight);
            }
            DecidedFact::EditedRelation { keywords, description, .. } => {
                self.more_keywords.extend(keywords.unwrap_or_default());
                self.descriptions.extend(description.filter(|description| !description.is_empty()));
            }
            DecidedFact::Created { .. } | DecidedFact::Edited { .. } => {}
        }
    }
}
