//! Reads source code: the text verbatim, with definitions as headings.

use super::{Body, Heading};

/// Maximum definitions that become headings. A generated file may contain any number.
const MAX_DEFINITIONS: usize = 20_000;
/// Maximum bytes of a line that is searched for a definition. Longer lines are data.
const MAX_LINE_BYTES: usize = 400;
/// Maximum characters of a definition's name.
const MAX_NAME_CHARS: usize = 80;

/// Words that begin a definition, with its level: types contain functions.
const KEYWORDS: [(&str, u8); 27] = [
    ("class", 1),
    ("struct", 1),
    ("enum", 1),
    ("trait", 1),
    ("impl", 1),
    ("interface", 1),
    ("module", 1),
    ("mod", 1),
    ("namespace", 1),
    ("object", 1),
    ("protocol", 1),
    ("extension", 1),
    ("record", 1),
    ("union", 1),
    ("contract", 1),
    ("defmodule", 1),
    ("def", 2),
    ("fn", 2),
    ("func", 2),
    ("fun", 2),
    ("function", 2),
    ("sub", 2),
    ("proc", 2),
    ("procedure", 2),
    ("defp", 2),
    ("macro_rules!", 2),
    ("CREATE TABLE", 1),
];

/// Words that may precede those.
const MODIFIERS: [&str; 27] = [
    "pub",
    "pub(crate)",
    "pub(super)",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "async",
    "export",
    "default",
    "const",
    "unsafe",
    "extern",
    "override",
    "virtual",
    "inline",
    "open",
    "data",
    "sealed",
    "partial",
    "local",
    "suspend",
    "readonly",
    "declare",
];

/// Returns the code verbatim.
pub(super) fn parse(source: String) -> Body {
    let mut headings = Vec::new();
    let mut offset = 0;
    for line in source.split_inclusive('\n') {
        if line.len() <= MAX_LINE_BYTES
            && headings.len() < MAX_DEFINITIONS
            && let Some((level, title)) = definition(line)
        {
            headings.push(Heading { offset, level, title });
        }
        offset += line.len();
    }
    Body { headings, ..Body::verbatim(source) }
}

/// Returns the definition in a line: its level, and its words up to the parameters.
fn definition(line: &str) -> Option<(u8, String)> {
    let indent = line.len() - line.trim_start().len();
    let mut rest = line.trim();
    // Methods are indented one level inside their type. Anything deeper is local.
    if indent > 8 {
        return None;
    }
    while let Some((word, after)) = rest.split_once(' ')
        && MODIFIERS.contains(&word)
    {
        rest = after.trim_start();
    }
    let (keyword, level) = KEYWORDS
        .into_iter()
        .find(|(keyword, _)| rest.strip_prefix(keyword).is_some_and(|after| after.starts_with([' ', '<'])))?;
    let name = rest[keyword.len()..].trim_start();
    let named =
        name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '<' | '(' | '*' | '`' | '"' | '$'));
    let end = rest.find(['{', ';', ':', '=']).unwrap_or(rest.len());
    let head = rest[..end].split(" where ").next().unwrap_or(rest);
    // In Go, the type of a method is in brackets before the method's name.
    let receiver = name.strip_prefix('(').and_then(|name| name.split_once(") "));
    let title = match (level, receiver) {
        (2, Some((_, method))) => format!("{keyword} {}", method.split('(').next().unwrap_or(method)),
        (2, None) => head.split('(').next().unwrap_or(head).to_owned(),
        (_, _) => head.to_owned(),
    };
    let title: String = title.trim().trim_end_matches(['(', ',']).chars().take(MAX_NAME_CHARS).collect();
    (named && title.len() > keyword.len()).then_some((level, title))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_definitions(source: &str, expected: &[(u8, &str)]) {
        let body = parse(source.to_owned());
        let found: Vec<_> =
            body.headings.iter().map(|heading| (heading.level, heading.title.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(body.text, source);
        for heading in &body.headings {
            let line = body.text[heading.offset..].lines().next().expect("a line");
            assert!(line.contains(heading.title.split(' ').next_back().expect("a word")), "{line}");
        }
    }

    #[test]
    fn definitions_are_headings_in_any_language() {
        check_definitions(
            "use x;\npub struct Pipe<T> {\n    length: T,\n}\nimpl<T> Pipe<T> {\n    pub async fn flow(&self) -> u8 {\n        1\n    }\n}\n",
            &[(1, "struct Pipe<T>"), (1, "impl<T> Pipe<T>"), (2, "fn flow")],
        );
        check_definitions(
            "class Pipe(Base):\n    def flow(self):\n        define = 1\n        return define\n",
            &[(1, "class Pipe(Base)"), (2, "def flow")],
        );
        check_definitions("func (p *Pipe) Flow(n int) int {\n", &[(2, "func Flow")]);
        check_definitions("export default function flow() {}\n", &[(2, "function flow")]);
    }

    #[test]
    fn words_that_only_look_like_definitions_are_not_headings() {
        check_definitions("classical = 1\nmodest words\n// class of its own\nfn\n", &[]);
    }
}
