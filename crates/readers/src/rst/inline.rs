//! Turns the inline markup of reStructuredText into words.

use std::collections::BTreeMap;

/// Roles whose text is code.
const CODE_ROLES: [&str; 22] = [
    "attr", "class", "code", "command", "const", "data", "envvar", "exc", "file", "func", "kbd", "keyword",
    "literal", "macro", "member", "meth", "mod", "obj", "option", "program", "samp", "type",
];

/// Returns the words of a paragraph, each on its line: without roles, targets, emphasis and references to notes. Literals and the
/// text of roles for code stay between single backticks.
pub(super) fn plain(text: &str, substitutions: &BTreeMap<&str, &str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let markup = match c {
            '\\' => escaped(rest),
            '`' | ':' | '_' => literal(rest).or_else(|| interpreted(rest, may_begin(&text[..at]))),
            '*' if may_begin(&text[..at]) => emphasis(rest),
            '|' if may_begin(&text[..at]) => substitution(rest, substitutions),
            '[' => note(rest),
            _ => None,
        };
        if let Some((length, words)) = markup {
            if words.is_empty() && c == '[' {
                out.truncate(out.trim_end_matches(' ').len());
            }
            out.push_str(&words);
            // Lines of left out text stay lines.
            let lost = rest[..length].matches('\n').count().saturating_sub(words.matches('\n').count());
            out.extend(std::iter::repeat_n('\n', lost));
            at += length;
            continue;
        }
        let next = rest[c.len_utf8()..].trim_start_matches('_').chars().next();
        let ends_reference = c == '_'
            && out.ends_with(char::is_alphanumeric)
            && next.is_none_or(|next| next.is_whitespace() || ".,;:!?)'\"]}>".contains(next));
        if !ends_reference {
            out.push(c);
        }
        at += c.len_utf8();
    }
    out
}

/// True if markup may begin behind `before`: not inside a word.
fn may_begin(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || "'\"([{<-/:“„‘«".contains(c) || !c.is_ascii())
}

/// The length of a piece of markup, and its words.
type Markup = Option<(usize, String)>;

fn escaped(rest: &str) -> Markup {
    let next = rest[1..].chars().next()?;
    let words = if next.is_whitespace() && next != '\n' { String::new() } else { next.to_string() };
    Some((1 + next.len_utf8(), words))
}

/// Reads ``` ``code`` ```.
fn literal(rest: &str) -> Markup {
    let inner = rest.strip_prefix("``")?;
    let end = inner.find("``").filter(|end| *end > 0)?;
    // A backtick inside would end the code.
    let code = &inner[..end];
    Some((end + 4, if code.contains('`') { code.to_owned() } else { format!("`{code}`") }))
}

/// Reads `` :role:`text <target>` ``, `` `text <target>`_ `` and `` _`text` ``.
fn interpreted(rest: &str, may_begin: bool) -> Markup {
    let open = rest.find('`').filter(|_| may_begin)?;
    let role = match &rest[..open] {
        "" | "_" => "",
        role => {
            let role = role.strip_prefix(':')?.strip_suffix(':')?;
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, ':' | '-' | '_' | '+' | '.');
            (!role.is_empty() && role.chars().all(is_part)).then_some(role)?
        }
    };
    let inner = &rest[open + 1..];
    let end = inner.find('`').filter(|end| *end > 0 && !inner.starts_with(char::is_whitespace))?;
    let behind = inner[end + 1..].len() - inner[end + 1..].trim_start_matches('_').len();
    let content = &inner[..end];
    let titled =
        content.rsplit_once('<').filter(|(title, target)| target.ends_with('>') && !title.trim().is_empty());
    let words = titled.map_or(content, |(title, _)| title.trim_end());
    let role = role.rsplit(':').next().unwrap_or(role);
    let words = match role {
        "pep" | "rfc" if titled.is_none() => format!("{} {words}", role.to_uppercase()),
        _ if CODE_ROLES.contains(&role) => format!("`{}`", name_of(words)),
        _ => words.to_owned(),
    };
    Some((open + 1 + end + 1 + behind, words))
}

/// Returns how the name of a definition is shown: `leak` for `~mill.pipes.leak`.
fn name_of(words: &str) -> &str {
    match words.strip_prefix('~') {
        Some(path) => path.rsplit('.').next().unwrap_or(path),
        None => words.trim_start_matches('!'),
    }
}

/// Reads `*words*` and `**words**`.
fn emphasis(rest: &str) -> Markup {
    let mark = if rest.starts_with("**") { "**" } else { "*" };
    let inner = &rest[mark.len()..];
    if inner.starts_with(|c: char| c.is_whitespace() || c == '*') {
        return None;
    }
    let ends = |(end, _): &(usize, &str)| {
        let before = inner[..*end].chars().next_back();
        let behind = inner[end + mark.len()..].chars().next();
        before.is_some_and(|c| !c.is_whitespace() && c != '\\')
            && behind.is_none_or(|c| !c.is_alphanumeric() || !c.is_ascii())
    };
    let (end, _) = inner.match_indices(mark).find(ends)?;
    Some((end + 2 * mark.len(), inner[..end].to_owned()))
}

/// Reads `|name|`, also as a reference.
fn substitution(rest: &str, substitutions: &BTreeMap<&str, &str>) -> Markup {
    let end = rest[1..].find('|')? + 1;
    let words = substitutions.get(&rest[1..end])?;
    let behind = rest[end + 1..].len() - rest[end + 1..].trim_start_matches('_').len();
    Some((end + 1 + behind, (*words).to_owned()))
}

/// Reads the reference to a note or source: `[1]_`, `[#name]_`, `[Ada1843]_`.
fn note(rest: &str) -> Markup {
    let end = rest.find("]_").filter(|end| *end > 1)?;
    let is_label = rest[1..end].chars().all(|c| c.is_alphanumeric() || "#*-_.:".contains(c));
    is_label.then(|| (end + 2, String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_plain(text: &str, expected: &str) {
        assert_eq!(plain(text, &BTreeMap::from([("mill", "Old Mill")])), expected);
    }

    #[test]
    fn roles_and_links_become_their_text() {
        check_plain("See :ref:`how pipes leak <leak>` and :doc:`wash`.", "See how pipes leak and wash.");
        check_plain("`Pipes <https://a.example>`_, `Valves`__ and Taps_.", "Pipes, Valves and Taps.");
        check_plain("Call :py:func:`~mill.leak` (:pep:`8`, ``a_b``).", "Call `leak` (PEP 8, `a_b`).");
        check_plain("a :ref:`b\nc\n<d>` e", "a b\nc\n e");
    }

    #[test]
    fn emphasis_notes_and_substitutions_are_removed() {
        check_plain(
            "It **leaks** *much* [1]_, 2*3*4, \\*x\\* of |mill|_.",
            "It leaks much, 2*3*4, *x* of Old Mill.",
        );
        check_plain("a _private name, snake_case, 10:30 and: `", "a _private name, snake_case, 10:30 and: `");
    }
}
