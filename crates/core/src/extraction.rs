//! Extractions: what one model, or the rules, said about one chunk.

use serde::{Deserialize, Serialize};

use crate::ExtractionKey;

/// What was said about a chunk's text, verbatim and parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extraction {
    /// Hash of chunk text, prompt, model and parameters.
    pub key: ExtractionKey,
    /// The model, or the name of the rules.
    pub model: String,
    /// The answers as they came, first answer then gleanings, each in the pieces that the output limit cut it into; empty
    /// for rules.
    pub responses: Vec<String>,
    /// The parsed records.
    pub records: Records,
    /// What could not be read.
    pub rejects: Vec<Reject>,
}

/// Parsed records in the order they were said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// Entity records.
    pub entities: Vec<EntityRecord>,
    /// Relation records.
    pub relations: Vec<RelationRecord>,
    /// What the chunk as a whole is about, where the model said so (the older form's `content_keywords`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub themes: Vec<String>,
}

impl Records {
    /// Whether nothing was named: neither an entity nor a relation.
    pub fn name_nothing(&self) -> bool {
        self.entities.is_empty() && self.relations.is_empty()
    }
}

/// `entity<|#|>name<|#|>type<|#|>description`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityRecord {
    /// The name as said, cleaned.
    pub name: String,
    /// The type as said, such as `Person`.
    pub kind: String,
    /// What the text says about it.
    pub description: String,
}

/// `relation<|#|>source<|#|>target<|#|>keywords<|#|>description`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelationRecord {
    /// Name of the source entity.
    pub source: String,
    /// Name of the target entity.
    pub target: String,
    /// What the relation is about.
    pub keywords: Vec<String>,
    /// What the text says about it.
    pub description: String,
    /// Strength; 1 where none was given.
    pub weight: f64,
}

/// A piece of a response that was not a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// Which response, from 0.
    pub response: u32,
    /// First byte of the piece in that response.
    pub offset: u64,
    /// Why it was not read.
    pub reason: RejectReason,
    /// The piece, cut to a readable length.
    pub text: String,
}

/// Why a piece of a response is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "String")]
pub enum RejectReason {
    /// Words around the records, or in place of them.
    Prose,
    /// The response ends inside the record.
    Cut,
    /// A block of thoughts that never ends hides the rest.
    UnclosedThinking,
    /// Neither an entity nor a relation.
    UnknownTag,
    /// Too few or too many fields to tell which is which.
    FieldCount,
    /// An entity, or an end of a relation, without a name.
    NoName,
    /// A name that means nothing by itself, such as a short number.
    BadName,
    /// An entity whose type is markup.
    BadType,
    /// A relation of an entity with itself.
    SelfRelation,
    /// A field is missing; what the record says without it was kept.
    MissingField,
    /// A question that followed the first one failed, so what it asks for is missing.
    NotAnswered,
    /// Repeats an example of the prompt that the passage does not speak of.
    PromptExample,
    /// None of the others; what an older release could not read.
    Unreadable,
}

impl RejectReason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
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
        Self::Unreadable,
    ];

    /// The reason's name in output and in the store.
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
            Self::Unreadable => "unreadable",
        }
    }

    /// The reason for people.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Prose => "text that is no record",
            Self::Cut => "the answer ends inside this record",
            Self::UnclosedThinking => "a block of thoughts is opened and never closed",
            Self::UnknownTag => "the record is tagged neither entity nor relation",
            Self::FieldCount => "too few or too many fields to tell which is which",
            Self::NoName => "an entity or an end of a relation has no name",
            Self::BadName => "the name means nothing by itself, such as a short number",
            Self::BadType => "the entity's type is markup",
            Self::SelfRelation => "the relation joins an entity with itself",
            Self::MissingField => "a field of this record is missing; the rest of it was kept",
            Self::NotAnswered => "a further question about the chunk failed",
            Self::PromptExample => "repeats an example of the prompt",
            Self::Unreadable => "not readable",
        }
    }

    /// Whether something that the model had to say is lost with it, so that asking again may bring it.
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
            // Nothing was meant by them, or nothing that a graph could hold.
            Self::Prose | Self::BadName | Self::SelfRelation | Self::PromptExample | Self::Unreadable => {
                false
            }
        }
    }
}

impl From<String> for RejectReason {
    /// The reason of that name; words of an older release are [`RejectReason::Unreadable`].
    fn from(name: String) -> Self {
        Self::ALL.into_iter().find(|reason| reason.name() == name).unwrap_or(Self::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_stored_by_name_and_words_of_an_older_release_are_read() {
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
