//! The requested form of records: lines of tuples, or a JSON object with a schema.

use std::sync::Arc;

use graphloom_core::{AnswerShape, SchemaDialect, Shape};

use crate::prompt::{EXTRACT_JSON_SYSTEM, EXTRACT_SYSTEM, Prompt};

/// How records are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordForm {
    /// One line per record, which any model can write.
    #[default]
    Lines,
    /// A JSON object whose shape the service guarantees: structured output.
    Shaped,
}

impl RecordForm {
    /// Returns the instructions for this form.
    pub fn system_prompt(self) -> Prompt {
        match self {
            Self::Lines => EXTRACT_SYSTEM,
            Self::Shaped => EXTRACT_JSON_SYSTEM,
        }
    }

    /// Returns the answer for a model that finds nothing.
    pub(super) fn nothing(self) -> &'static str {
        match self {
            Self::Lines => "<|COMPLETE|>",
            Self::Shaped => r#"{"entities": [], "relations": []}"#,
        }
    }

    /// Returns the shape of an answer with entities of these types; `None` for lines.
    pub(crate) fn shape(self, entity_types: &[String]) -> Option<Arc<AnswerShape>> {
        let list = |members| Shape::List(Box::new(Shape::Object(members)));
        let mut types: Vec<String> = Vec::new();
        for kind in entity_types.iter().map(String::as_str).chain(["Other"]) {
            if !types.iter().any(|known| known == kind) {
                types.push(kind.to_owned());
            }
        }
        let entities =
            list(vec![("name", Shape::Text), ("type", Shape::OneOf(types)), ("description", Shape::Text)]);
        let relations = list(vec![
            ("source", Shape::Text),
            ("target", Shape::Text),
            ("keywords", Shape::List(Box::new(Shape::Text))),
            ("description", Shape::Text),
        ]);
        match self {
            Self::Lines => None,
            Self::Shaped => Some(Arc::new(AnswerShape {
                name: "knowledge_graph",
                shape: Shape::Object(vec![("entities", entities), ("relations", relations)]),
            })),
        }
    }

    /// Returns the part of the extraction's key that the form adds to the prompts.
    pub(super) fn identity(self, entity_types: &[String]) -> String {
        let shape = self.shape(entity_types);
        shape.map_or("lines".to_owned(), |shape| {
            serde_json::to_string(&shape.shape.schema(SchemaDialect::JsonSchema)).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_contains_every_type_once_and_other() {
        let types = ["Person", "Other", "Person"].map(str::to_owned);
        let identity = RecordForm::Shaped.identity(&types);
        assert!(identity.contains(r#""enum":["Person","Other"]"#), "{identity}");
        assert_eq!(RecordForm::Lines.shape(&types), None);
    }
}
