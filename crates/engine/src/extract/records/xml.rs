//! Reads records written as XML elements: `<entity name="Ada" type="Person">Works.</entity>`, or with one child per field.

use super::json::{Json, Node};
use super::marks::{Tag, bounded, has_delimiter, leading_tag, tag_of};

/// Maximum number of attributes and children to read from one element.
const MAX_FIELDS: usize = 16;

/// What is at a place where an element may start.
pub(super) enum Element<'t> {
    /// No element that is a record.
    None,
    /// A record, converted to the equivalent JSON object under the name of its list.
    Record(Node),
    /// An element around a tuple.
    Tuple(&'t str, std::ops::Range<usize>),
}

/// True if `text` starts with an element that may be a record.
pub(super) fn begins(text: &str) -> bool {
    text.strip_prefix('<').is_some_and(|inner| leading_tag(bounded(inner)).is_some())
}

/// Reads the element that starts at `start`; it must end before `limit`.
pub(super) fn read(text: &str, start: usize, limit: usize) -> Element<'_> {
    let rest = &text[start..limit];
    let Some(inner) = rest.strip_prefix('<') else { return Element::None };
    let end = bounded(inner).find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(0);
    let name = &inner[..end];
    let list = match tag_of(name) {
        Some(Tag::Entity) if !name.ends_with('s') && !name.ends_with('S') => "entities",
        Some(Tag::Relation) if !name.ends_with('s') && !name.ends_with('S') => "relations",
        Some(Tag::Entity | Tag::Relation | Tag::Themes) | None => return Element::None,
    };
    let Some(close) = inner[end..].find('>').map(|at| end + at) else { return Element::None };
    let head = &inner[end..close];
    let mut fields = attributes(head);
    let mut stop = 1 + close + 1;
    if !head.ends_with('/') {
        let body = &rest[stop..];
        let closing = format!("</{name}>");
        let Some(at) = body.find(&closing) else { return Element::None };
        let body = &body[..at];
        let body_start = start + stop;
        stop += at + closing.len();
        if has_delimiter(body) {
            return Element::Tuple(name, body_start..body_start + at);
        }
        let children = children(body);
        if children.is_empty() && !body.trim().is_empty() {
            fields.push(("description".to_owned(), body.trim().to_owned()));
        }
        fields.extend(children);
    }
    if fields.is_empty() {
        return Element::None;
    }
    let node = |value| Node { start, end: start + stop, value, cut: false, repaired: true };
    let members = fields.into_iter().map(|(key, value)| (key, node(Json::Text(value)))).collect();
    let record = node(Json::Array(vec![node(Json::Object(members))]));
    Element::Record(node(Json::Object(vec![(list.to_owned(), record)])))
}

/// Reads `key="value"` pairs.
fn attributes(head: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = head;
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim().trim_start_matches('/').trim();
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else { break };
        let Some((value, next)) = after[1..].split_once(quote) else { break };
        if fields.len() < MAX_FIELDS {
            fields.push((key.to_owned(), value.to_owned()));
        }
        rest = next;
    }
    fields
}

/// Reads `<key>value</key>` elements.
fn children(body: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = body;
    while fields.len() < MAX_FIELDS
        && let Some(open) = rest.find('<')
        && let Some(end) = rest[open..].find('>').map(|end| open + end)
    {
        let key = &rest[open + 1..end];
        let after = &rest[end + 1..];
        let closing = format!("</{key}>");
        let Some(at) = after.find(&closing).filter(|_| !key.is_empty()) else { break };
        fields.push((key.to_owned(), after[..at].trim().to_owned()));
        rest = &after[at + closing.len()..];
    }
    fields
}
