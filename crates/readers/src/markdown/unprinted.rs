//! Hides what a page made from Markdown does not show: directives of site generators, citations by key, attributes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::options;

/// Maximum bytes of a directive or citation. Longer text between its marks is not one.
const MAX_BYTES: usize = 1000;
/// Replaces hidden text inside a line. Cleaning removes it, so the words around it keep their places.
const HIDDEN: char = '\u{1}';
/// Replaces hidden text in the target of a link, which has no control characters.
const IN_TARGET: char = 'x';
/// The marks of directives. Of two that begin alike, the longer one comes first.
const DIRECTIVES: [(&str, &str); 4] = [("{{<", ">}}"), ("{{%", "%}}"), ("{{", "}}"), ("{%", "%}")];

/// Returns Markdown without what a page does not show; the length in bytes stays the same. Code, formulas and front matter stay.
///
/// - Directives of Jekyll, Hugo, Liquid, Jinja and mdBook: `{% include x %}`, `{{< ref "x" >}}`, `{{ site.title }}`.
/// - Citations of Pandoc: `[@key]`, `[see @key, p. 3; @other]`.
/// - Marks of notes that are links, as copied from pages: `[[9]](#cite_note-9)`, `[[a]](x.md)`. Other links lose a second pair of
///   brackets, which would make them wiki links: `[[Pipes]](x.md)`.
/// - Attributes of Kramdown, `{: .note}`, and the fences of boxes, `:::note`.
/// - Lines of MDX that import components.
pub(super) fn without_unprinted(source: &str) -> Cow<'_, str> {
    let hidden = unprinted(source);
    if hidden.is_empty() {
        return Cow::Borrowed(source);
    }
    let mut plain = String::with_capacity(source.len());
    for range in hidden {
        // Directives may be nested: `{% x {{ y }} %}`.
        if range.start < plain.len() {
            continue;
        }
        let before = &source[source.floor_char_boundary(range.start.saturating_sub(MAX_BYTES))..range.start];
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        let behind = window(source, range.end).lines().next().unwrap_or_default();
        let filler = if line.trim().is_empty() && behind.trim().is_empty() {
            // A line of its own ends the paragraph before it.
            ' '
        } else if is_target(line) {
            IN_TARGET
        } else {
            HIDDEN
        };
        // A mark that loses its words keeps its space: `- {{ x }}`.
        let spaces = line.len() - line.trim_end_matches(' ').len();
        let follows = line.trim_end().ends_with(|c: char| c.is_alphanumeric() || "\"'”’.,:;!?)".contains(c));
        let start = if filler == HIDDEN && follows { range.start - spaces } else { range.start };
        let start = start.max(plain.len());
        plain.push_str(&source[plain.len()..start]);
        plain.extend(source[start..range.end].bytes().map(|byte| if byte == b'\n' { '\n' } else { filler }));
    }
    plain.push_str(&source[plain.len()..]);
    Cow::Owned(plain)
}

/// True if a line ends inside the target of a link.
fn is_target(line: &str) -> bool {
    let inline = line.rfind("](").is_some_and(|at| !line[at..].contains(')'));
    inline || (line.trim_start().starts_with('[') && line.contains("]: "))
}

/// Returns the ranges of what a page does not show, ascending by their start.
fn unprinted(source: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices('{') {
        let rest = window(source, at);
        let marks = DIRECTIVES.iter().find(|(opening, _)| rest.starts_with(opening));
        let close = match marks {
            Some((opening, closing)) => rest.find(closing).map(|end| end.max(opening.len()) + closing.len()),
            None if rest.starts_with("{:") => {
                rest.lines().next().and_then(|line| line.find('}')).map(|end| end + 1)
            }
            None => None,
        };
        found.extend(close.filter(|end| !rest[..*end].contains("\n\n")).map(|end| at..at + end));
    }
    let mut citations = source.match_indices('[').filter_map(|(at, _)| citation(source, at)).peekable();
    if citations.peek().is_some() {
        let defined: HashSet<&str> = source.lines().filter_map(defined_by).collect();
        found.extend(citations.filter(|range| !defined.contains(&source[range.start + 1..range.end - 1])));
    }
    found.extend(bracketed_links(source));
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let bare = line.trim_end();
        if bare.starts_with("import ") && bare.trim_end_matches(';').ends_with(['"', '\'']) {
            found.push(at..at + bare.len());
        } else if let Some(rest) = bare.trim_start().strip_prefix(":::") {
            let name = rest.trim_start_matches(':').trim_start();
            let words = if name.starts_with('{') { name.len() } else { name.find(' ').unwrap_or(name.len()) };
            let start = at + bare.len() - bare.trim_start().len();
            found.push(start..at + bare.len() - name.len() + words);
        }
        at += line.len();
    }
    if found.is_empty() {
        return found;
    }
    let kept = kept(source);
    let is_kept = |range: &Range<usize>| {
        let next = kept.partition_point(|kept| kept.end <= range.start);
        kept.get(next).is_some_and(|kept| kept.start < range.end)
    };
    found.retain(|range| !is_kept(range));
    found.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    found
}

fn window(source: &str, at: usize) -> &str {
    &source[at..source.floor_char_boundary(at + MAX_BYTES)]
}

/// Returns the ranges of links that are marks of notes, and of the inner brackets of other links.
fn bracketed_links(source: &str) -> Vec<Range<usize>> {
    const NOTES: &str = "#cite_";
    if !["[[", "[\\[", NOTES].iter().any(|mark| source.contains(mark)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(source, options() - Options::ENABLE_WIKILINKS).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
        let inner = [("[[", "]]", 1), ("[\\[", "\\]]", 2)].into_iter().find_map(|(open, close, length)| {
            let label = source[range.clone()].strip_prefix(open)?.split_once(close)?.0;
            let start = range.start + open.len();
            Some((label, start - length..start, start + label.len()..start + label.len() + length))
        });
        if dest_url.contains(NOTES) || inner.as_ref().is_some_and(|(label, ..)| is_note_mark(label)) {
            found.push(range);
        } else if let Some((_, open, close)) = inner {
            found.extend([open, close]);
        }
    }
    found
}

/// True for the mark of a note: a number or a letter.
fn is_note_mark(label: &str) -> bool {
    const MAX_DIGITS: usize = 3;
    let is_number = label.len() <= MAX_DIGITS && label.bytes().all(|byte| byte.is_ascii_digit());
    !label.is_empty()
        && (is_number || label.len() == 1 && label.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Returns the label of a link that a line defines: `[label]: target`.
fn defined_by(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('[')?.split_once("]:").map(|(label, _)| label)
}

/// Returns the range of the citation that begins with the bracket at `at`.
fn citation(source: &str, at: usize) -> Option<Range<usize>> {
    let rest = window(source, at);
    let end = rest[1..].find(['[', ']']).map(|end| end + 1)?;
    let inner = &rest[1..end];
    let behind = &source[at + end..].strip_prefix(']')?;
    let names = |(place, _): (usize, &str)| {
        let before = inner[..place].chars().next_back();
        let key = inner[place + 1..].chars().next();
        before.is_none_or(|c| c.is_whitespace() || matches!(c, '-' | ';'))
            && key.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '{'))
    };
    let is_link = behind.starts_with(['(', '[', ':']);
    let is_speaker = speaks(source, at, inner, behind);
    let cites =
        !source[..at].ends_with('\\') && !inner.contains("\n\n") && inner.match_indices('@').any(names);
    (cites && !is_link && !is_speaker).then_some(at..at + end + 1)
}

/// True if a bracket names who says the rest of its line, as in logs of chats: `[09:15 @ada] It leaks.` It begins a line, and has
/// the time of a clock, or what precedes it is no text that a citation could belong to.
fn speaks(source: &str, at: usize, inner: &str, behind: &str) -> bool {
    let before = &source[source.floor_char_boundary(at.saturating_sub(MAX_BYTES))..at];
    let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
    let above = above.rsplit('\n').next().unwrap_or_default().trim();
    let begins_line = line.trim_matches([' ', '-', '*', '>']).is_empty();
    let is_number =
        |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = |word: &str| word.contains(':') && word.split(':').all(is_number);
    let has_time = inner.split([' ', ',', '|']).any(is_time);
    let says = behind.starts_with(' ') && (above.is_empty() || above.starts_with('['));
    begins_line && (has_time || says)
}

/// Returns the ranges of code, formulas and front matter, ascending.
fn kept(source: &str) -> Vec<Range<usize>> {
    let events = Parser::new_ext(source, options()).into_offset_iter();
    let is_kept = |event: &Event<'_>| {
        matches!(
            event,
            Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::Start(Tag::CodeBlock(_) | Tag::MetadataBlock(_))
        )
    };
    events.filter(|(event, _)| is_kept(event)).map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_plain(source: &str, expected: &str) {
        let plain = without_unprinted(source);
        assert_eq!(plain.len(), source.len());
        assert_eq!(plain.replace(HIDDEN, ""), expected);
    }

    #[test]
    fn directives_of_site_generators_are_hidden() {
        check_plain("See {{ site.title }} and {{< ref \"a.md\" >}}.", "See and.");
        check_plain("{{% note %}}Wash.{{% /note %}}", "Wash.");
        check_plain("One.\n{% include x.html %}\nTwo.", "One.\n                    \nTwo.");
        check_plain("- {{ x }} Pipes {: .wide}", "-  Pipes");
        check_plain("{% unclosed and {{ also", "{% unclosed and {{ also");
    }

    #[test]
    fn a_link_to_a_directive_stays_a_link() {
        check_plain("[Pipes]({{< ref \"a b\" >}})", "[Pipes](xxxxxxxxxxxxxxxxx)");
        check_plain("[a]: {{ site.url }}/a", "[a]: xxxxxxxxxxxxxx/a");
    }

    #[test]
    fn citations_by_key_are_hidden_and_links_are_not() {
        check_plain("Pipes leak [@ada1843, p. 3; see @bo].", "Pipes leak.");
        check_plain("It says [-@ada] so", "It says so");
        for kept in ["[@ada](x.md)", "[@ada][x]", "[a@b.org] [ @ ]", "[@ada]\n\n[@ada]: x", "[ ] @ada"] {
            check_plain(kept, kept);
        }
    }

    #[test]
    fn marks_of_notes_that_are_links_are_hidden() {
        check_plain(
            "The Mallard is a duck of Europe.[[9]](#cite_note-Carboneras540-9) It eats grass.[[a]](https://example.com/Foo_(bar))",
            "The Mallard is a duck of Europe. It eats grass.",
        );
        check_plain("Ducks[\\[12\\]](a.md \"Note\") [fly](b.md).[4](c.md#cite_note-4)", "Ducks [fly](b.md).");
        for kept in ["`[[9]](#cite_note-9)`", "[9](b.md)", "[[Ducks]] (9) [[9]]", "[[Ducks]](born 1815)"] {
            check_plain(kept, kept);
        }
    }

    #[test]
    fn a_link_in_two_pairs_of_brackets_loses_one() {
        check_plain("See [[Ducks]](a.md), [\\[Pipes\\]](b.md).", "See [Ducks](a.md), [Pipes](b.md).");
    }

    #[test]
    fn speakers_in_logs_of_chats_are_not_citations() {
        for kept in [
            "# Log\n\n[09:15 @ada] It leaks.\n[09:20:05, @bo] No more.",
            "Log:\n- [@ada 9:15] It leaks.",
            "Log\n\n[@ada] It leaks.\n[@bo] No more.",
            "@ada It leaks.\n@bo No more.",
        ] {
            check_plain(kept, kept);
        }
        check_plain("Pipes leak\n[@ada, p. 3] often [@ada 9:15].", "Pipes leak\n often.");
    }

    #[test]
    fn admonitions_lose_their_fences_and_imports_are_hidden() {
        check_plain(
            "import Tabs from '@theme/Tabs';\n\n:::warning Hot pipes\nWait.\n:::\n",
            "                               \n\n Hot pipes\nWait.\n   \n",
        );
        check_plain("import duties are \"high\" today", "import duties are \"high\" today");
    }

    #[test]
    fn code_formulas_and_front_matter_are_kept() {
        for kept in [
            "`{{ x }}` and\n\n```\n{% x %}\nimport a from 'b'\n```\n",
            "---\na: {{ x }}\n---\n",
            "so $\\frac{{a}}{{b}}$ is",
        ] {
            check_plain(kept, kept);
        }
    }
}
