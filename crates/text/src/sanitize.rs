//! Removes characters that must not be stored, and keeps line numbers.

use std::borrow::Cow;

/// Returns `text` without control characters and non-characters, ready to be stored.
///
/// Tabs and line ends stay, so line numbers stay correct. Form feeds and vertical tabs become spaces because they separate
/// words. Nothing is trimmed or unescaped: the text that a citation quotes must also be in the source.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unwanted) {
        return Cow::Borrowed(text);
    }
    let keep = |c: char| match c {
        '\u{b}' | '\u{c}' | '\u{85}' => Some(' '),
        c if is_unwanted(c) => None,
        c => Some(c),
    };
    Cow::Owned(text.chars().filter_map(keep).collect())
}

/// Returns `text` with HTML character references resolved: `AT&amp;T` becomes `AT&T`. Markup is left alone.
pub fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    // `<` and the two characters that the HTML parser rewrites are hidden, so the parser sees only references.
    let hidden = text.replace('<', "&lt;").replace('\r', "&#13;").replace('\0', "");
    let fragment = scraper::Html::parse_fragment(&hidden);
    Cow::Owned(fragment.root_element().text().collect())
}

fn is_unwanted(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_and_lines_stay() {
        assert_eq!(sanitize("a\u{1b}[31mb\r\n\tc\u{0}\u{fffe}"), "a[31mb\r\n\tc");
        assert_eq!(sanitize("page one\u{c}page two"), "page one page two");
        assert_eq!(sanitize("  &amp; "), "  &amp; ");
    }

    #[test]
    fn character_references_are_resolved_and_markup_is_not() {
        assert_eq!(unescape("AT&amp;T &#8211; &eacute; <b>x</b>"), "AT&T \u{2013} é <b>x</b>");
        assert_eq!(unescape("R&D"), "R&D");
        assert_eq!(unescape(" &lt;p&gt; "), " <p> ");
    }
}
