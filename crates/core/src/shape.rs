//! The JSON shape of a structured answer, and its schema for model services.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A JSON type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A text.
    Text,
    /// One of these texts.
    OneOf(Vec<String>),
    /// A list.
    List(Box<Shape>),
    /// An object with exactly these members, in this order.
    Object(Vec<(&'static str, Shape)>),
}

/// A named shape for answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerShape {
    /// Name sent to the service: letters and underscores.
    pub name: &'static str,
    /// The shape.
    pub shape: Shape,
}

/// A schema language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaDialect {
    /// JSON Schema. Objects forbid additional members.
    JsonSchema,
    /// The subset of OpenAPI schemas that Gemini supports, with the order of members.
    OpenApi,
}

impl Shape {
    /// Returns the schema of this shape.
    pub fn schema(&self, dialect: SchemaDialect) -> Schema<'_> {
        Schema { shape: self, dialect }
    }
}

/// A shape as a schema. Serializes to an object whose members keep their order.
#[derive(Debug, Clone, Copy)]
pub struct Schema<'a> {
    shape: &'a Shape,
    dialect: SchemaDialect,
}

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.shape {
            Shape::Text => map.serialize_entry("type", "string")?,
            Shape::OneOf(texts) => {
                map.serialize_entry("type", "string")?;
                map.serialize_entry("enum", texts)?;
            }
            Shape::List(items) => {
                map.serialize_entry("type", "array")?;
                map.serialize_entry("items", &items.schema(self.dialect))?;
            }
            Shape::Object(members) => {
                let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
                map.serialize_entry("type", "object")?;
                map.serialize_entry("properties", &Members { members, dialect: self.dialect })?;
                map.serialize_entry("required", &names)?;
                match self.dialect {
                    SchemaDialect::JsonSchema => map.serialize_entry("additionalProperties", &false)?,
                    SchemaDialect::OpenApi => map.serialize_entry("propertyOrdering", &names)?,
                }
            }
        }
        map.end()
    }
}

struct Members<'a> {
    members: &'a [(&'static str, Shape)],
    dialect: SchemaDialect,
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.members.iter().map(|(name, shape)| (name, shape.schema(self.dialect))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_keeps_the_order_of_members_in_every_dialect() {
        let shape = Shape::List(Box::new(Shape::Object(vec![
            ("name", Shape::Text),
            ("kind", Shape::OneOf(vec!["A".to_owned(), "B".to_owned()])),
        ])));
        let written = |dialect| serde_json::to_string(&shape.schema(dialect)).expect("JSON");
        assert_eq!(
            written(SchemaDialect::JsonSchema),
            r#"{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string","enum":["A","B"]}},"required":["name","kind"],"additionalProperties":false}}"#
        );
        assert_eq!(
            written(SchemaDialect::OpenApi),
            r#"{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"kind":{"type":"string","enum":["A","B"]}},"required":["name","kind"],"propertyOrdering":["name","kind"]}}"#
        );
    }
}
