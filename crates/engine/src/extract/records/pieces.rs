//! Reads fields of tuples and objects of JSON for the parsers of other records.

use std::ops::Range;

use super::json::{self, Json, Node};
use super::marks::{Spelling, completion_marks, split};

/// An object in a JSON answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonItem {
    /// Its bytes in the answer.
    pub(crate) span: Range<usize>,
    /// Its members with plain values: keys in lower case without punctuation, values as text. Members that are null are left out.
    pub(crate) fields: Vec<(String, String)>,
    /// Whether the answer ends inside it.
    pub(crate) cut: bool,
}

/// Returns the innermost objects of the JSON in `text`, in order; `None` if it contains no JSON object or list.
pub(crate) fn json_objects(text: &str) -> Option<Vec<JsonItem>> {
    let begins = |at: &usize| text[*at..].starts_with(['{', '[']) && json::begins(text, *at);
    let start = text.char_indices().map(|(at, _)| at).find(begins)?;
    let json::Outcome::Value(root) = json::read(text, start) else { return None };
    let mut found = Vec::new();
    collect(&root, &mut found);
    Some(found)
}

fn collect(node: &Node, found: &mut Vec<JsonItem>) {
    match &node.value {
        Json::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Json::Object(members) => {
            let is_inner = |value: &Node| matches!(value.value, Json::Array(_) | Json::Object(_));
            if members.iter().any(|(_, value)| is_inner(value)) {
                members.iter().for_each(|(_, value)| collect(value, found));
                return;
            }
            let fields = members
                .iter()
                .filter_map(|(key, value)| Some((folded(key), plain(value)?)))
                .collect::<Vec<_>>();
            if !fields.is_empty() {
                found.push(JsonItem { span: node.start..node.end, fields, cut: node.cut });
            }
        }
        Json::Text(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {}
    }
}

fn folded(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn plain(value: &Node) -> Option<String> {
    match &value.value {
        Json::Text(text) => Some(text.clone()),
        Json::Number(number) => Some(number.clone()),
        Json::Bool(is) => Some(is.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Returns the trimmed fields of a tuple on one line, without its list mark, brackets and record separator; `None` if the line
/// has fewer than three fields.
pub(crate) fn fields_of(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches(['-', '*', '•', ' ']).trim_end_matches('#').trim();
    let line = line.strip_prefix('(').map_or(line, |line| line.strip_suffix(')').unwrap_or(line));
    let ranges = split(line, Spelling::Loose);
    let field = |range: Range<usize>| line[range].trim().trim_matches('"').trim().to_owned();
    (ranges.len() > 2).then(|| ranges.into_iter().map(field).collect())
}

/// True if an answer contains a completion mark.
pub(crate) fn says_complete(text: &str) -> bool {
    !completion_marks(text).is_empty()
}
