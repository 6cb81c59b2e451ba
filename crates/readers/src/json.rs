//! Reads JSON and JSON lines as one line per record, such as `name: Curie | born: 1867`.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::aligned::AlignedText;
use super::{Body, label};
use graphloom_text::sanitize;

/// Maximum bytes of an object that is one record anywhere. Elements of arrays are records of any size.
const MAX_SMALL_BYTES: usize = 400;
/// Maximum bytes of a list of plain values that is written on one line.
const MAX_LIST_BYTES: usize = 400;

/// Writes a line for every record and every other value, on the line where it starts in the source. If the
/// source is a single line, the lines follow each other.
///
/// - A record is an element of an array that is an object, or a small object: `name: Curie | born: 1867`.
///   Lists of objects in it follow as separate records.
/// - Other values follow the name of their member, `version: 3`. Lists of objects follow their name.
/// - Lines with one cell are list items, `- version: 3`.
/// - Values are written as in the source, without quotation marks. Empty values and `null` are left out.
///
/// Text that is not JSON, or whose lines would exceed `max_bytes`, is kept verbatim.
pub(super) fn parse(source: String, max_bytes: usize) -> Body {
    if !is_value(&source) {
        return Body::verbatim(source);
    }
    let mut lines = Lines { out: AlignedText::new(&source), max_bytes };
    lines.write(&Scanner { json: &source, at: 0 }.value(), "", true);
    let is_full = lines.is_full();
    let (text, in_step) = lines.out.finish();
    if is_full || text.trim().is_empty() {
        return Body::verbatim(source);
    }
    Body { lines_match_source: in_step, ..Body::verbatim(text) }
}

/// Writes the record of every line on that line. Text that is not JSON is kept.
pub(super) fn parse_lines(source: String, max_bytes: usize) -> Body {
    let mut text = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let bare = line.trim();
        if is_value(bare) {
            let mut cells = Vec::new();
            Scanner { json: bare, at: 0 }.value().cells("", &mut cells);
            let row = cells.join(" | ");
            text.push_str(if row.is_empty() { "" } else { mark_of(&row) });
            text.push_str(&row);
        } else {
            text.push_str(line.trim_end());
        }
        if line.ends_with('\n') {
            text.push('\n');
        }
        if text.len() > max_bytes {
            return Body::verbatim(source);
        }
    }
    Body::verbatim(if text.trim().is_empty() { source } else { text })
}

/// Returns the mark before a line that makes it a sentence of its own. Rows need none; other lines become list items.
fn mark_of(line: &str) -> &'static str {
    if line.contains(" | ") { "" } else { "- " }
}

/// True if the text is one JSON value.
pub(super) fn is_value(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// True if the text has several lines and each one that is not blank is a JSON value.
pub(super) fn is_lines(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(100).peekable();
    lines.peek().is_some() && lines.all(is_value)
}

/// A value with its position in the source.
struct Value<'a> {
    start: usize,
    /// Its length in the source, in bytes.
    length: usize,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// As written, with the quotation marks of a string.
    Plain(&'a str),
    List(Vec<Value<'a>>),
    /// Names as written, with their quotation marks.
    Object(Vec<(&'a str, Value<'a>)>),
}

impl Value<'_> {
    fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Plain(_))
    }

    /// True if it is a list that contains objects or such lists.
    fn lists_objects(&self) -> bool {
        let Kind::List(values) = &self.kind else { return false };
        values.iter().any(|value| matches!(value.kind, Kind::Object(_)) || value.lists_objects())
    }

    /// Appends the cells of a record: everything that it contains.
    fn cells(&self, name: &str, cells: &mut Vec<String>) {
        match &self.kind {
            Kind::Plain(raw) => {
                let value = words(raw);
                if !value.is_empty() {
                    cells.push(named(name, &value));
                }
            }
            Kind::List(values) if values.iter().all(Value::is_plain) => {
                let list = list_of(values);
                if !list.is_empty() {
                    cells.push(named(name, &list));
                }
            }
            Kind::List(values) => values.iter().for_each(|value| value.cells(name, cells)),
            Kind::Object(members) => {
                for (member, value) in members {
                    value.cells(&name_below(name, member), cells);
                }
            }
        }
    }
}

/// Returns plain values separated by commas. If the strings end in line ends, as in notebooks, they are separated by spaces.
fn list_of(values: &[Value<'_>]) -> String {
    let raw = || {
        values.iter().filter_map(|value| match value.kind {
            Kind::Plain(raw) => Some(raw),
            Kind::List(_) | Kind::Object(_) => None,
        })
    };
    let between = if raw().any(|raw| raw.ends_with("\\n\"")) { " " } else { ", " };
    raw().map(words).filter(|value| !value.is_empty()).collect::<Vec<_>>().join(between)
}

fn named(name: &str, value: &str) -> String {
    if name.is_empty() { value.to_owned() } else { format!("{name}: {value}") }
}

/// Returns the name of a member below a value that is named `above`.
fn name_below(above: &str, member: &str) -> String {
    let name = label(&words(member).replace('_', " "));
    match (above.is_empty(), name.is_empty()) {
        (true, _) => name,
        (false, true) => above.to_owned(),
        (false, false) => format!("{above} {name}"),
    }
}

/// Returns the words of a plain value; `null` has none.
fn words(raw: &str) -> String {
    let text = match raw {
        "null" => Cow::Borrowed(""),
        _ if raw.starts_with('"') => {
            // Single surrogates are valid JSON but not text.
            Cow::Owned(serde_json::from_str(raw).unwrap_or_else(|_| raw.trim_matches('"').to_owned()))
        }
        _ => Cow::Borrowed(raw),
    };
    sanitize(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines of one JSON value.
struct Lines<'a> {
    out: AlignedText<'a>,
    max_bytes: usize,
}

impl Lines<'_> {
    fn is_full(&self) -> bool {
        self.out.text().len() > self.max_bytes
    }

    fn line(&mut self, start: usize, text: &str) {
        if !text.is_empty() {
            self.out.new_line(start);
            self.out.push(mark_of(text));
            self.out.push(text);
        }
    }

    /// Writes a value that is named `name`. `top` marks the outermost value, whose members are separate lines.
    fn write(&mut self, value: &Value<'_>, name: &str, top: bool) {
        if self.is_full() {
            return;
        }
        match &value.kind {
            Kind::Plain(_) => self.row(value, name),
            Kind::List(values) if values.iter().all(Value::is_plain) && value.length <= MAX_LIST_BYTES => {
                self.row(value, name);
            }
            Kind::List(values) => {
                let objects = value.lists_objects();
                if objects && !name.is_empty() {
                    self.line(value.start, &format!("{name}:"));
                }
                for value in values {
                    match &value.kind {
                        Kind::Object(members) => self.record(value, members),
                        Kind::Plain(_) | Kind::List(_) => {
                            self.write(value, if objects { "" } else { name }, false);
                        }
                    }
                }
            }
            Kind::Object(members) => {
                let small = value.length <= MAX_SMALL_BYTES;
                if !top && small && !members.iter().any(|(_, value)| value.lists_objects()) {
                    return self.row(value, name);
                }
                for (member, value) in members {
                    self.write(value, &name_below(name, member), false);
                }
            }
        }
    }

    fn row(&mut self, value: &Value<'_>, name: &str) {
        let mut cells = Vec::new();
        value.cells(name, &mut cells);
        self.line(value.start, &cells.join(" | "));
    }

    /// Writes an element of an array: a line with everything except its lists of objects, which follow.
    fn record(&mut self, value: &Value<'_>, members: &[(&str, Value<'_>)]) {
        let mut cells = Vec::new();
        let own = members.iter().filter(|(_, value)| !value.lists_objects());
        own.for_each(|(member, value)| value.cells(&name_below("", member), &mut cells));
        self.line(value.start, &cells.join(" | "));
        for (member, value) in members.iter().filter(|(_, value)| value.lists_objects()) {
            self.write(value, &name_below("", member), false);
        }
    }
}

/// Scans JSON that is known to be valid.
struct Scanner<'a> {
    json: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn value(mut self) -> Value<'a> {
        self.next_value()
    }

    /// Returns the next character that is not white space, `:` or `,`, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b':' | b',');
        self.at += self.json.as_bytes()[self.at..].iter().take_while(|byte| between(byte)).count();
        self.json.as_bytes().get(self.at).copied()
    }

    fn next_value(&mut self) -> Value<'a> {
        let first = self.peek();
        let start = self.at;
        let kind = match first {
            Some(b'[') => {
                self.at += 1;
                let mut values = Vec::new();
                while !matches!(self.peek(), Some(b']') | None) {
                    values.push(self.next_value());
                }
                self.at += 1;
                Kind::List(values)
            }
            Some(b'{') => {
                self.at += 1;
                let mut members = Vec::new();
                while !matches!(self.peek(), Some(b'}') | None) {
                    let name = self.plain();
                    members.push((name, self.next_value()));
                }
                self.at += 1;
                Kind::Object(members)
            }
            Some(_) | None => Kind::Plain(self.plain()),
        };
        Value { start, length: self.at - start, kind }
    }

    /// Reads a string, number or literal.
    fn plain(&mut self) -> &'a str {
        let rest = &self.json.as_bytes()[self.at..];
        let length = if rest.first() == Some(&b'"') {
            let mut escaped = false;
            let inner = rest[1..].iter().take_while(|&&byte| {
                let inside = escaped || byte != b'"';
                escaped = byte == b'\\' && !escaped;
                inside
            });
            inner.count() + 2
        } else {
            rest.iter().take_while(|byte| !byte.is_ascii_whitespace() && !b":,[]{}".contains(byte)).count()
        };
        let start = self.at;
        self.at = (start + length.max(1)).min(self.json.len());
        &self.json[start..self.at]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_json(source: &str, expected: &str, in_step: bool) {
        let body = parse(source.to_owned(), 100_000);
        assert_eq!((body.text.as_str(), body.lines_match_source), (expected, in_step));
    }

    #[test]
    fn every_element_is_a_record_on_the_line_where_it_starts() {
        check_json(
            "[\n  {\n    \"name\": \"Ada\",\n    \"built_by\": \"Bo \\u00c5s\"\n  },\n  {\"name\": \"Cy\", \"year\": 1.10, \"none\": null}\n]\n",
            "\nname: Ada | built by: Bo Ås\n\n\n\nname: Cy | year: 1.10\n",
            true,
        );
    }

    #[test]
    fn minified_json_has_a_line_for_every_record() {
        check_json(
            r#"{"title":"T","items":[{"a":1,"b":{"c":"x, \"y\""}},{"a":[2,3],"d":[{"e":4}]}],"f":{}}"#,
            "- title: T\n- items:\na: 1 | b c: x, \"y\"\n- a: 2, 3\n- d:\n- e: 4\n",
            false,
        );
    }

    #[test]
    fn members_of_the_outermost_object_are_lines_of_their_own() {
        check_json(
            "{\n\"name\": \"loom\",\n\"needs\": {\"a\": \"1\", \"b\": \"2\"},\n\"tags\": [\"x\", \"y\"]\n}",
            "\n- name: loom\nneeds a: 1 | needs b: 2\n- tags: x, y\n",
            true,
        );
    }

    #[test]
    fn every_line_of_json_lines_is_a_record() {
        let body = parse_lines(
            "{\"name\": \"Ada\",\"text\": \"One.\\nTwo.\"}\n\n[1, 2]\n\"end\"\n".to_owned(),
            1000,
        );
        assert_eq!(body.text, "name: Ada | text: One. Two.\n\n- 1, 2\n- end\n");
        assert!(body.lines_match_source);
        let sentences: Vec<&str> =
            graphloom_text::sentences(&body.text).into_iter().map(|range| &body.text[range]).collect();
        assert_eq!(sentences, ["name: Ada | text: One.", "Two.", "- 1, 2", "- end"]);
    }

    #[test]
    fn json_that_holds_no_words_is_kept() {
        check_json("{\"a\": null}", "{\"a\": null}", true);
    }

    #[test]
    fn lines_of_values_are_told_from_one_value() {
        assert!(is_value("[1,\n2]") && !is_value("{}\n{}"));
        assert!(is_lines("{}\n\n[1]\n") && !is_lines("{}\nx") && !is_lines(" \n"));
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let plain = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            "\\PC{0,5}".prop_map(Into::into),
        ];
        plain.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                proptest::collection::btree_map("[a-c]{1,2}", inner, 0..5)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_of_any_shape_keeps_its_numbers(value in json(), pretty in any::<bool>()) {
            let source = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let source = source.expect("JSON");
            let text = parse(source.clone(), 100_000).text;
            let lines = parse_lines(source.replace('\n', " "), 100_000).text;
            fn numbers(value: &serde_json::Value, found: &mut Vec<String>) {
                match value {
                    serde_json::Value::Number(number) => found.push(number.to_string()),
                    serde_json::Value::Array(values) => values.iter().for_each(|value| numbers(value, found)),
                    serde_json::Value::Object(members) => members.values().for_each(|value| numbers(value, found)),
                    _ => {}
                }
            }
            let mut all = Vec::new();
            numbers(&value, &mut all);
            for number in all {
                prop_assert!(text.contains(&number) && lines.contains(&number), "{text}");
            }
        }
    }
}
