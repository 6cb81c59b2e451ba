//! Rewords `serde` errors about request fields, which name Rust types.

use std::borrow::Cow;

/// Maximum characters of a sent text that are quoted.
const MAX_SHOWN: usize = 60;

/// Rewords a `serde` error: `expected usize` becomes a whole number.
///
/// Unknown messages are returned unchanged.
pub(crate) fn in_plain_words(message: &str) -> String {
    let message = without_place(message);
    if let Some(words) = of_parameter(message) {
        return words.to_owned();
    }
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    if let Some(found) =
        found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: "))
    {
        return format!("expected {}, got {}", kind(expected), shown(found));
    }
    if let Some(found) = found.strip_prefix("invalid length ") {
        return format!("expected {}, got {found} values", kind(expected));
    }
    message.to_owned()
}

/// Removes line and column, which are meaningless in a one-line body; the path names the field.
fn without_place(message: &str) -> &str {
    let Some((words, place)) = message.rsplit_once(" at line ") else { return message };
    let is_place = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    match place.split_once(" column ") {
        Some((line, column)) if is_place(line) && is_place(column) => words,
        Some(_) | None => message,
    }
}

/// Rewords an error about a query parameter or form field.
fn of_parameter(message: &str) -> Option<&'static str> {
    Some(match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected a whole number from 0"
        }
        "number too large to fit in target type" => "the number is too large",
        "number too small to fit in target type" => "the number is too small",
        "invalid float literal" | "cannot parse float from empty string" => "expected a number",
        "provided string was not `true` or `false`" => "expected true or false",
        _ => return None,
    })
}

/// Describes the value that was found.
fn shown(found: &str) -> Cow<'_, str> {
    match found {
        "null" | "unit value" | "Option value" => return "null".into(),
        "map" => return "an object".into(),
        "sequence" => return "a list".into(),
        _ => {}
    }
    if let Some(text) = found.strip_prefix("string ") {
        let short: String = text.chars().take(MAX_SHOWN).collect();
        return match short.len() < text.len() {
            true => format!("the text {short}...").into(),
            false => format!("the text {text}").into(),
        };
    }
    let quoted = |prefix: &str| found.strip_prefix(prefix)?.strip_prefix('`')?.strip_suffix('`');
    if let Some(number) = quoted("integer ").or_else(|| quoted("floating point ")) {
        return format!("the number {number}").into();
    }
    match quoted("boolean ") {
        Some(value) => value.into(),
        None => found.into(),
    }
}

/// Describes an expected type.
fn kind(expected: &str) -> Cow<'_, str> {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number from 0".into(),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" | "a borrowed string" | "str" | "a character" => "text".into(),
        "a sequence" => "a list".into(),
        "a map" | "a JSON object" => "an object".into(),
        "string or map" | "a variant identifier" | "variant identifier" => "one of the known names".into(),
        "null" | "unit" => "null".into(),
        of_list if of_list.starts_with("tuple ") || of_list.starts_with("an array of ") => "a list".into(),
        of_object if of_object.starts_with("struct ") => "an object".into(),
        of_name if of_name.starts_with("enum ") => "one of the known names".into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only its errors matter")]
    struct Sample {
        top: usize,
        name: Option<String>,
        share: Option<f64>,
        exact: Option<bool>,
        names: Option<Vec<String>>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only its errors matter")]
    struct Inner {
        mode: Mode,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Near,
    }

    fn check_words<T: DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
        in_plain_words(&serde_json::from_str::<T>(json).expect_err(json).to_string())
    }

    #[test]
    fn type_errors_say_what_the_client_must_send() {
        for (json, words) in [
            (r#"{"top": "3"}"#, "expected a whole number from 0, got the text \"3\""),
            (r#"{"top": -1}"#, "expected a whole number from 0, got the number -1"),
            (r#"{"top": 1.5}"#, "expected a whole number from 0, got the number 1.5"),
            (r#"{"top": null}"#, "expected a whole number from 0, got null"),
            (r#"{"top": 1, "name": 7}"#, "expected text, got the number 7"),
            (r#"{"top": 1, "name": ["a"]}"#, "expected text, got a list"),
            (r#"{"top": 1, "share": {}}"#, "expected a number, got an object"),
            (r#"{"top": 1, "exact": "yes"}"#, "expected true or false, got the text \"yes\""),
            (r#"{"top": 1, "names": "a"}"#, "expected a list, got the text \"a\""),
            (r#"{"top": 1, "inner": 1}"#, "expected an object, got the number 1"),
            (r#"{"top": 1, "inner": {"mode": "far"}}"#, "unknown variant `far`, expected `near`"),
            (r#"{}"#, "missing field `top`"),
            (r#"7"#, "expected an object, got the number 7"),
        ] {
            assert_eq!(check_words::<Sample>(json), words, "{json}");
        }
        assert_eq!(in_plain_words("invalid digit found in string"), "expected a whole number from 0");
        let long = format!("{{\"top\": \"{}\"}}", "x".repeat(1000));
        assert!(check_words::<Sample>(&long).len() < 200);
    }
}
