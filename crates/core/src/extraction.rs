//! Extractions: what an LLM or the rules extracted from one chunk.

use serde::{Deserialize, Serialize};

use crate::{ClaimRecord, ExtractionKey};

/// The answers about one chunk, verbatim and parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extraction {
    /// Hash of chunk text, prompt, model and parameters.
    pub key: ExtractionKey,
    /// The model's name, or the name of the rules.
    pub model: String,
    /// The answers, verbatim: the first answer, then gleanings. An answer that reached the output limit is
    /// stored in the pieces in which it arrived. Empty for rules.
    pub responses: Vec<String>,
    /// The parsed records.
    pub records: Records,
    /// Parts that could not be parsed.
    pub rejects: Vec<Reject>,
}

/// Parsed records in the order of the answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// Entity records.
    pub entities: Vec<EntityRecord>,
    /// Relation records.
    pub relations: Vec<RelationRecord>,
    /// Claim records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimRecord>,
    /// Topics of the chunk as a whole, if the model returned them (`content_keywords` in an older format).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub themes: Vec<String>,
}

impl Records {
    /// True if there are no entities and no relations.
    pub fn name_nothing(&self) -> bool {
        self.entities.is_empty() && self.relations.is_empty()
    }
}

/// `entity<|#|>name<|#|>type<|#|>description`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityRecord {
    /// The name in the answer, cleaned.
    pub name: String,
    /// The type in the answer, such as `Person`.
    pub kind: String,
    /// Description.
    pub description: String,
}

/// `relation<|#|>source<|#|>target<|#|>keywords<|#|>description`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelationRecord {
    /// Name of the source entity.
    pub source: String,
    /// Name of the target entity.
    pub target: String,
    /// Keywords.
    pub keywords: Vec<String>,
    /// Description.
    pub description: String,
    /// Weight; 1 by default.
    pub weight: f64,
}

/// A piece of an answer that is not a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// Index of the answer, from 0.
    pub response: u32,
    /// First byte of the piece in that answer.
    pub offset: u64,
    /// Why it is not a record.
    pub reason: RejectReason,
    /// The piece, shortened for display.
    pub text: String,
}

/// Why a piece of an answer is not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "String")]
pub enum RejectReason {
    /// Text around records or in place of them.
    Prose,
    /// The answer ends within the record.
    Cut,
    /// A thinking block that is never closed hides the rest.
    UnclosedThinking,
    /// Neither an entity nor a relation.
    UnknownTag,
    /// Too few or too many fields to tell which is which.
    FieldCount,
    /// An entity or relation with an empty name.
    NoName,
    /// A name that means nothing on its own, such as a short number.
    BadName,
    /// An entity whose type is markup.
    BadType,
    /// A relation between an entity and itself.
    SelfRelation,
    /// A field is missing. The rest of the record was kept.
    MissingField,
    /// A follow-up request failed, so that its part of the answer is missing.
    NotAnswered,
    /// A copy of a prompt example that does not occur in the passage.
    PromptExample,
    /// The quote of a claim does not occur in the passage.
    QuoteNotFound,
    /// Any other reason that an older release stored.
    Unreadable,
}

impl RejectReason {
    /// Every reason.
    pub const ALL: [Self; 14] = [
        Self::Prose,
        Self::Cut,
        Self::UnclosedThinking,
        Self::UnknownTag,
        Self::FieldCount,
        Self::NoName,
        Self::BadName,
        Self::BadType,
        Self::SelfRelation,
        Self::MissingField,
        Self::NotAnswered,
        Self::PromptExample,
        Self::QuoteNotFound,
        Self::Unreadable,
    ];

    /// Returns the name in output and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Cut => "cut",
            Self::UnclosedThinking => "unclosed_thinking",
            Self::UnknownTag => "unknown_tag",
            Self::FieldCount => "field_count",
            Self::NoName => "no_name",
            Self::BadName => "bad_name",
            Self::BadType => "bad_type",
            Self::SelfRelation => "self_relation",
            Self::MissingField => "missing_field",
            Self::NotAnswered => "not_answered",
            Self::PromptExample => "prompt_example",
            Self::QuoteNotFound => "quote_not_found",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns a description for people.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Prose => "text that is not a record",
            Self::Cut => "the answer ends within this record",
            Self::UnclosedThinking => "a thinking block is never closed",
            Self::UnknownTag => "the record's tag is neither entity nor relation",
            Self::FieldCount => "too few or too many fields",
            Self::NoName => "an entity has no name",
            Self::BadName => "the name has no meaning by itself, such as a short number",
            Self::BadType => "the entity's type is markup",
            Self::SelfRelation => "the relation connects an entity with itself",
            Self::MissingField => "a field of this record is missing; the rest of it was kept",
            Self::NotAnswered => "a follow-up request about the chunk failed",
            Self::PromptExample => "repeats an example of the prompt",
            Self::QuoteNotFound => "the quote of a claim is not in the passage",
            Self::Unreadable => "not readable",
        }
    }

    /// True if information was lost, so that another request may recover it.
    pub fn is_loss(self) -> bool {
        match self {
            Self::Cut
            | Self::UnclosedThinking
            | Self::UnknownTag
            | Self::FieldCount
            | Self::NoName
            | Self::BadType
            | Self::MissingField
            | Self::NotAnswered => true,
            // These reasons mean that nothing was lost that belongs in the graph.
            Self::Prose
            | Self::BadName
            | Self::SelfRelation
            | Self::PromptExample
            | Self::QuoteNotFound
            | Self::Unreadable => false,
        }
    }
}

impl From<String> for RejectReason {
    /// Parses a name. Names of older releases become [`RejectReason::Unreadable`].
    fn from(name: String) -> Self {
        Self::ALL.into_iter().find(|reason| reason.name() == name).unwrap_or(Self::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_stored_by_name_and_names_of_older_releases_are_read() {
        for reason in RejectReason::ALL {
            let reject = Reject { response: 0, offset: 1, reason, text: "x".to_owned() };
            let json = serde_json::to_string(&reject).expect("JSON");
            assert!(json.contains(reason.name()), "{json}");
            assert_eq!(serde_json::from_str::<Reject>(&json).expect("a reject"), reject);
        }
        let old = r#"{"response":0,"offset":1,"reason":"no field delimiter","text":"x"}"#;
        let reject: Reject = serde_json::from_str(old).expect("a reject");
        assert_eq!(reject.reason, RejectReason::Unreadable);
    }
}
