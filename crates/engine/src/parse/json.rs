//! Reads JSON: verbatim, broken into lines where it has none.

use serde::de::IgnoredAny;

use super::Body;

/// JSON with a longer average line than this is broken into lines.
const MAX_LINE_BYTES: usize = 400;
/// Deepest indentation written.
const MAX_INDENT: usize = 16;

/// JSON as it stands; minified JSON gets line breaks and indentation, and every value stays as written.
pub(super) fn parse(source: String, max_bytes: usize) -> Body {
    let lines = source.lines().count().max(1);
    if source.len() / lines <= MAX_LINE_BYTES || !is_value(&source) {
        return Body::verbatim(source);
    }
    match indent(&source, max_bytes) {
        Some(text) => Body { lines_match_source: false, ..Body::verbatim(text) },
        None => Body::verbatim(source),
    }
}

/// Whether the text is one JSON value.
pub(super) fn is_value(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether the text is several lines that are JSON values each, apart from blank ones.
pub(super) fn is_lines(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(100).peekable();
    lines.peek().is_some() && lines.all(is_value)
}

/// Valid JSON with one member a line; `None` where that is over `max_bytes`.
fn indent(json: &str, max_bytes: usize) -> Option<String> {
    let mut out = String::with_capacity(json.len() + json.len() / 4);
    let mut depth: usize = 0;
    let (mut in_string, mut escaped) = (false, false);
    let mut opened = false;
    for c in json.chars() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(c, '}' | ']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        // The first member and a closing bracket start a line; empty brackets stay together.
        if opened != closes {
            break_line(&mut out, depth);
        }
        opened = matches!(c, '{' | '[');
        out.push(c);
        match c {
            '{' | '[' => depth += 1,
            ',' => break_line(&mut out, depth),
            ':' => out.push(' '),
            '"' => in_string = true,
            _ => {}
        }
        if out.len() > max_bytes {
            return None;
        }
    }
    Some(out)
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_with_lines_is_verbatim_and_minified_json_gets_lines() {
        let body = parse("{\n\"a\": 1.10 }".to_owned(), 1000);
        assert_eq!((body.text.as_str(), body.lines_match_source), ("{\n\"a\": 1.10 }", true));
        assert_eq!(
            indent(r#"{"a":[1.10,{"b":"x, \"y\""}],"c":[],"d":{}}"#, 1000).as_deref(),
            Some(
                "{\n  \"a\": [\n    1.10,\n    {\n      \"b\": \"x, \\\"y\\\"\"\n    }\n  ],\n  \"c\": [],\n  \"d\": {}\n}"
            )
        );
    }

    #[test]
    fn lines_of_values_are_told_from_one_value() {
        assert!(is_value("[1,\n2]") && !is_value("{}\n{}"));
        assert!(is_lines("{}\n\n[1]\n") && !is_lines("{}\nx") && !is_lines(" \n"));
    }

    proptest! {
        #[test]
        fn indentation_changes_white_space_only(text in "[\\[\\]{}:,\" \\\\a1]{0,40}") {
            let bare = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(indent(&text, 10_000).map(|text| bare(&text)), Some(bare(&text)));
        }
    }
}
