//! JSON values in which no object has a field twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::map::{Entry, Map};

/// A JSON value. An object that has a field twice is an error, whereas [`Value`] keeps the last one.
pub(crate) struct StrictValue(pub(crate) Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(StrictValue(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, StrictValue(value))) = fields.next_entry::<String, _>()? {
            match object.entry(name) {
                Entry::Vacant(place) => place.insert(value),
                Entry::Occupied(first) => {
                    return Err(A::Error::custom(format_args!("duplicate field `{}`", first.key())));
                }
            };
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_read_unchanged() {
        let text = r#"{"a":[null,true,-1,2,1.5,"x\n",{}],"b":{"a":1}}"#;
        let StrictValue(value) = serde_json::from_str(text).expect("JSON");
        assert_eq!(value, json!({"a": [null, true, -1, 2, 1.5, "x\n", {}], "b": {"a": 1}}));
    }

    #[test]
    fn a_duplicate_field_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"c":2,"a":1}}]"#] {
            let error = serde_json::from_str::<StrictValue>(text).err().expect("a duplicate");
            assert!(error.to_string().starts_with("duplicate field `a`"), "{error}");
        }
    }
}
