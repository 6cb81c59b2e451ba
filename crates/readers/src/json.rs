//! Reads JSON and JSON lines as one line per record, such as `name: Curie | born: 1867`.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::aligned::AlignedText;
use super::{Body, ParseLimits, label};
use graphloom_text::sanitize;

/// Maximum bytes of an object that is one record anywhere. Elements of arrays are records of any size.
const MAX_SMALL_BYTES: usize = 400;
/// Maximum bytes of a list of plain values that is written on one line.
const MAX_LIST_BYTES: usize = 400;
/// Maximum bytes of the joined names of nested members. Beyond it, a member has only its own name.
const MAX_NAME_BYTES: usize = 240;

/// Writes a line for every record and every other value, on the line where it starts in the source. If the
/// source is a single line, the lines follow each other.
///
/// - A record is an element of an array that is an object, or a small object: `name: Curie | born: 1867`.
///   Lists of objects in it follow as separate records.
/// - Other values follow the name of their member, `version: 3`. Lists of objects follow their name.
/// - Lines with one cell are list items, `- version: 3`.
/// - Values are written as in the source, without quotation marks. Empty values and `null` are left out.
///
/// Text that is not JSON, or whose lines would exceed the limit of bytes, is kept verbatim. So is JSON that is nested too deep,
/// with a remark.
pub(super) fn parse(source: String, limits: &ParseLimits) -> Body {
    if !is_value(&source) {
        return Body::verbatim(source);
    }
    if depth_of(&source) > limits.max_depth {
        return too_deep(source, limits);
    }
    let max_bytes = limits.max_bytes;
    let mut lines = Lines { out: AlignedText::new(&source), max_bytes };
    lines.write(&Scanner { json: &source, at: 0 }.value(), "", true);
    let is_full = lines.is_full();
    let (text, in_step) = lines.out.finish();
    if is_full || text.trim().is_empty() {
        return Body::verbatim(source);
    }
    Body { lines_match_source: in_step, ..Body::verbatim(text) }
}

/// Writes the record of every value on the line where it starts; values that share a line follow each other. A line that is
/// not JSON is kept, unless it is part of a value of several lines.
pub(super) fn parse_lines(source: String, limits: &ParseLimits) -> Body {
    if depth_of(&source) > limits.max_depth {
        return too_deep(source, limits);
    }
    let mut out = AlignedText::new(&source);
    match values(&source) {
        Some(all) => records(&source, 0, &all, &mut out),
        None => {
            let mut at = 0;
            for line in source.split_inclusive('\n') {
                if let Some(all) = values(line) {
                    records(&source, at, &all, &mut out);
                } else {
                    out.new_line(at);
                    out.push(line.trim_end());
                }
                at += line.len();
            }
        }
    }
    let (text, in_step) = out.finish();
    if text.len() > limits.max_bytes || text.trim().is_empty() {
        return Body::verbatim(source);
    }
    Body { lines_match_source: in_step, ..Body::verbatim(text) }
}

/// Writes the values of the text at `from` as a line each.
fn records(source: &str, from: usize, values: &[Range<usize>], out: &mut AlignedText<'_>) {
    for range in values {
        let value = Scanner { json: &source[..from + range.end], at: from + range.start }.value();
        let mut cells = Vec::new();
        value.cells("", &mut cells);
        let row = cells.join(" | ");
        if !row.is_empty() {
            out.new_line(value.start);
            out.push(mark_of(&row));
            out.push(&row);
        }
    }
}

/// Returns the ranges of the JSON values that a text consists of, with at most white space between them; `None` if it has
/// anything else.
fn values(text: &str) -> Option<Vec<Range<usize>>> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(value) = stream.next() {
        value.ok()?;
        found.push(start..stream.byte_offset());
        start = stream.byte_offset();
    }
    Some(found)
}

/// Returns how deep brackets are nested outside of strings.
fn depth_of(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Keeps JSON verbatim that is nested too deep to be read as records.
fn too_deep(source: String, limits: &ParseLimits) -> Body {
    let remark = format!("it is nested more than {} deep and is read as text", limits.max_depth);
    Body { remarks: vec![remark], ..Body::verbatim(source) }
}

/// Returns the mark before a line that makes it a sentence of its own. Rows need none; other lines become list items.
fn mark_of(line: &str) -> &'static str {
    if line.contains(" | ") { "" } else { "- " }
}

/// True if the text is one JSON value.
pub(super) fn is_value(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// True if the text consists of JSON values, or if each of its first lines does.
pub(super) fn is_lines(text: &str) -> bool {
    let consists = |text: &str| values(text).is_some();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(100).peekable();
    lines.peek().is_some() && (lines.all(consists) || consists(text))
}

/// A value with its position in the source.
struct Value<'a> {
    start: usize,
    /// Its length in the source, in bytes.
    length: usize,
    kind: Kind<'a>,
    /// True if it is a list that contains objects or such lists.
    lists_objects: bool,
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
        (false, false) if above.len() + name.len() > MAX_NAME_BYTES => name,
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
                let objects = value.lists_objects;
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
                if !top && small && !members.iter().any(|(_, value)| value.lists_objects) {
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
        let own = members.iter().filter(|(_, value)| !value.lists_objects);
        own.for_each(|(member, value)| value.cells(&name_below("", member), &mut cells));
        self.line(value.start, &cells.join(" | "));
        for (member, value) in members.iter().filter(|(_, value)| value.lists_objects) {
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
        let lists_objects = match &kind {
            Kind::List(values) => {
                values.iter().any(|value| value.lists_objects || matches!(value.kind, Kind::Object(_)))
            }
            Kind::Plain(_) | Kind::Object(_) => false,
        };
        Value { start, length: self.at - start, kind, lists_objects }
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
        let body = parse(source.to_owned(), &ParseLimits::default());
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
    fn members_of_the_outermost_object_are_their_own_lines() {
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
            &ParseLimits::default(),
        );
        assert_eq!(body.text, "name: Ada | text: One. Two.\n\n- 1, 2\n- end\n");
        assert!(body.lines_match_source);
        let sentences: Vec<&str> =
            graphloom_text::sentences(&body.text).into_iter().map(|range| &body.text[range]).collect();
        assert_eq!(sentences, ["name: Ada | text: One.", "Two.", "- 1, 2", "- end"]);
    }

    #[track_caller]
    fn check_lines(source: &str, expected: &str, in_step: bool) {
        let body = parse_lines(source.to_owned(), &ParseLimits::default());
        assert_eq!((body.text.as_str(), body.lines_match_source), (expected, in_step));
    }

    #[test]
    fn records_that_share_a_line_are_separated() {
        check_lines(
            "{\"a\": 1, \"b\": 2} {\"a\": 3, \"b\": 4}\n{\"a\": 5}{\"a\": 6}\n",
            "a: 1 | b: 2\na: 3 | b: 4\n- a: 5\n- a: 6\n",
            false,
        );
        check_lines("{\"a\": 1} {\"a\": 2}\n{broken\n", "- a: 1\n- a: 2\n{broken\n", false);
    }

    #[test]
    fn multi_line_records_are_placed_where_they_start() {
        check_lines("{\n \"a\": 1\n}\n{\n \"a\": 2,\n \"b\": 3\n}\n", "- a: 1\n\n\na: 2 | b: 3\n", true);
        assert!(is_lines("{\n \"a\": 1\n}\n{\"a\": 2}"));
    }

    #[test]
    fn a_line_that_is_not_json_is_kept_in_place() {
        check_lines("{\"a\": 1}\n\n{broken\n{\"a\": 2}\n", "- a: 1\n\n{broken\n- a: 2\n", true);
    }

    #[test]
    fn json_nested_too_deeply_is_read_as_text_and_the_document_says_so() {
        let limits = ParseLimits { max_depth: 3, ..ParseLimits::default() };
        assert_eq!(parse("[[[1]]]".to_owned(), &limits).text, "- 1\n");
        let deep = |depth: usize| format!("{}\"[\"{}", "[".repeat(depth), "]".repeat(depth));
        for body in [parse(deep(4), &limits), parse_lines(deep(4), &limits)] {
            assert_eq!(body.text, deep(4));
            assert_eq!(body.remarks, ["it is nested more than 3 deep and is read as text"]);
        }
        let deepest = deep(1_000_000);
        assert_eq!(parse(deepest.clone(), &ParseLimits::default()).text, deepest);
    }

    #[test]
    fn names_of_deeply_nested_members_stay_short() {
        let name = "n".repeat(80);
        let source = format!("{}1{}", format!("{{\"{name}\":").repeat(50), "}".repeat(50));
        assert!(parse(source, &ParseLimits::default()).text.len() < 300);
    }

    #[test]
    fn json_without_words_is_kept() {
        check_json("{\"a\": null}", "{\"a\": null}", true);
    }

    #[test]
    fn lines_of_values_are_distinguished_from_one_value() {
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
            let text = parse(source.clone(), &ParseLimits::default()).text;
            let lines = parse_lines(source.replace('\n', " "), &ParseLimits::default()).text;
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
