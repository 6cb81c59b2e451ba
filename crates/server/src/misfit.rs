//! What does not fit into the fields of a request, in words of its sender: `serde` names the types of this program.

use std::borrow::Cow;

/// Longest text of a sender that is said back, in characters.
const MAX_SHOWN: usize = 60;

/// What a reader of values says, in plain words: `expected usize` is a whole number for whoever sent a text.
///
/// Words that are not known stay as they are.
pub(crate) fn in_plain_words(said: &str) -> String {
    let said = without_place(said);
    if let Some(words) = of_parameter(said) {
        return words.to_owned();
    }
    let Some((found, expected)) = said.rsplit_once(", expected ") else { return said.to_owned() };
    if let Some(found) =
        found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: "))
    {
        return format!("{} is given where {} is expected", shown(found), kind(expected));
    }
    if let Some(found) = found.strip_prefix("invalid length ") {
        return format!("{found} values are given where {} is expected", kind(expected));
    }
    said.to_owned()
}

/// Without the line and column, which say little of a body in one line; the place is told by its fields.
fn without_place(said: &str) -> &str {
    let Some((words, place)) = said.rsplit_once(" at line ") else { return said };
    let is_place = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    match place.split_once(" column ") {
        Some((line, column)) if is_place(line) && is_place(column) => words,
        Some(_) | None => said,
    }
}

/// What is said of the text of a parameter or a form's field.
fn of_parameter(said: &str) -> Option<&'static str> {
    Some(match said {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "a whole number from 0 is expected"
        }
        "number too large to fit in target type" => "the number is too large",
        "number too small to fit in target type" => "the number is too small",
        "invalid float literal" | "cannot parse float from empty string" => "a number is expected",
        "provided string was not `true` or `false`" => "true or false is expected",
        _ => return None,
    })
}

/// What was found.
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

/// What a type stands for.
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
    #[allow(dead_code, reason = "only what cannot be read of it matters")]
    struct Asked {
        top: usize,
        name: Option<String>,
        share: Option<f64>,
        exact: Option<bool>,
        names: Option<Vec<String>>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only what cannot be read of it matters")]
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
    fn types_of_this_program_are_told_as_what_is_to_be_sent() {
        for (json, words) in [
            (r#"{"top": "3"}"#, "the text \"3\" is given where a whole number from 0 is expected"),
            (r#"{"top": -1}"#, "the number -1 is given where a whole number from 0 is expected"),
            (r#"{"top": 1.5}"#, "the number 1.5 is given where a whole number from 0 is expected"),
            (r#"{"top": null}"#, "null is given where a whole number from 0 is expected"),
            (r#"{"top": 1, "name": 7}"#, "the number 7 is given where text is expected"),
            (r#"{"top": 1, "name": ["a"]}"#, "a list is given where text is expected"),
            (r#"{"top": 1, "share": {}}"#, "an object is given where a number is expected"),
            (r#"{"top": 1, "exact": "yes"}"#, "the text \"yes\" is given where true or false is expected"),
            (r#"{"top": 1, "names": "a"}"#, "the text \"a\" is given where a list is expected"),
            (r#"{"top": 1, "inner": 1}"#, "the number 1 is given where an object is expected"),
            (r#"{"top": 1, "inner": {"mode": "far"}}"#, "unknown variant `far`, expected `near`"),
            (r#"{}"#, "missing field `top`"),
            (r#"7"#, "the number 7 is given where an object is expected"),
        ] {
            assert_eq!(check_words::<Asked>(json), words, "{json}");
        }
        assert_eq!(in_plain_words("invalid digit found in string"), "a whole number from 0 is expected");
        let long = format!("{{\"top\": \"{}\"}}", "x".repeat(1000));
        assert!(check_words::<Asked>(&long).len() < 200);
    }
}
