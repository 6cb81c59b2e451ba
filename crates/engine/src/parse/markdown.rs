//! Reads Markdown: the text stays verbatim, headings and title are found in it.

use super::{Body, Heading};
use crate::text::sanitize;

/// Markdown as it stands, with its headings; the title is that of the front matter, else the first level 1
/// heading.
pub(super) fn parse(source: String) -> Body {
    let (front, matter_title) = front_matter(&source);
    let mut found = Body::default();
    headings(&source, front, |heading| found.push_heading(heading));
    let Body { headings, headings_left_out, .. } = found;
    let title = matter_title.or_else(|| headings.iter().find(|h| h.level == 1).map(|h| h.title.clone()));
    Body { title, headings, headings_left_out, ..Body::verbatim(source) }
}

/// Whether text without a telling name is Markdown: it has a heading or front matter.
pub(super) fn looks_like(text: &str) -> bool {
    let (front, _) = front_matter(text);
    let mut has_atx = false;
    headings(text, front, |heading| {
        has_atx |= text[heading.offset..].trim_start().starts_with('#');
    });
    front > 0 || has_atx && !text.starts_with("#!")
}

/// Where the front matter ends (0 without any), and its title.
fn front_matter(source: &str) -> (usize, Option<String>) {
    let mut title = None;
    let mut offset = 0;
    for (n, line) in source.split_inclusive('\n').enumerate() {
        offset += line.len();
        let bare = line.trim_end();
        match n {
            0 if bare == "---" => {}
            0 => return (0, None),
            _ if bare == "---" || bare == "..." => return (offset, title),
            _ => {
                if let Some(value) = line.strip_prefix("title:") {
                    let value = value.trim().trim_matches(['"', '\'']).trim();
                    title = (!value.is_empty()).then(|| value.to_owned());
                }
            }
        }
    }
    (0, None)
}

/// ATX and setext headings from byte `from` on, outside of fenced code. A setext heading is one line with its
/// underline; the last line of a paragraph above a rule is none.
fn headings(source: &str, from: usize, mut found: impl FnMut(Heading)) {
    let mut fence: Option<(char, usize)> = None;
    // The line before, and whether it is a paragraph of one line so far.
    let mut paragraph: Option<(usize, &str)> = None;
    let mut previous_is_text = false;
    let mut offset = from;
    for line in source[from..].split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let indent = line.len() - line.trim_start_matches(' ').len();
        let body = line.trim();
        if let Some((mark, length)) = fence {
            let run = body.chars().take_while(|&c| c == mark).count();
            if run >= length && body.chars().count() == run {
                fence = None;
            }
            continue;
        }
        if body.is_empty() || (indent > 3 && !previous_is_text) {
            (paragraph, previous_is_text) = (None, false);
            continue;
        }
        if let Some(opened) = opens_fence(body) {
            fence = Some(opened);
            (paragraph, previous_is_text) = (None, false);
            continue;
        }
        if let Some((level, title)) = atx(body) {
            push(&mut found, start + indent, level, title);
            (paragraph, previous_is_text) = (None, false);
            continue;
        }
        if let (Some(level), Some((at, title))) = (underline(body), paragraph) {
            push(&mut found, at, level, title);
            (paragraph, previous_is_text) = (None, false);
            continue;
        }
        let starts_block = body.starts_with(['>', '|', '<', '-', '*', '+', '=']);
        paragraph = (!previous_is_text && !starts_block && indent <= 3).then_some((start + indent, body));
        previous_is_text = true;
    }
}

fn push(found: &mut impl FnMut(Heading), offset: usize, level: u8, title: &str) {
    let title = plain(title);
    if !title.is_empty() {
        found(Heading { offset, level, title });
    }
}

fn opens_fence(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|&c| c == mark).count();
    let info = &line[length..];
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

fn atx(line: &str) -> Option<(u8, &str)> {
    let rest = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - rest.len()).ok().filter(|level| (1..=6).contains(level))?;
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let rest = rest.trim();
    let closed = rest.trim_end_matches('#');
    Some((level, if closed.is_empty() || closed.ends_with([' ', '\t']) { closed.trim() } else { rest }))
}

fn underline(line: &str) -> Option<u8> {
    let all = |mark: char| line.chars().all(|c| c == mark);
    if all('=') {
        Some(1)
    } else if all('-') {
        Some(2)
    } else {
        None
    }
}

/// The words of a heading without emphasis, code marks and link targets.
fn plain(title: &str) -> String {
    let mut words = String::with_capacity(title.len());
    let mut rest = title;
    while let Some(open) = rest.find('[') {
        let link = rest[open..].find("](").map(|mid| open + mid);
        let close = link.and_then(|mid| rest[mid..].find(')').map(|end| mid + end));
        let (Some(mid), Some(end)) = (link, close) else { break };
        words.push_str(rest[..open].trim_end_matches('!'));
        words.push_str(&rest[open + 1..mid]);
        rest = &rest[end + 1..];
    }
    words.push_str(rest);
    let words = words.replace("**", "").replace("__", "").replace('`', "");
    let words = words.split_once(" {#").map_or(words.as_str(), |(before, _)| before);
    sanitize(words).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_headings(source: &str, expected: &[(usize, u8, &str)]) {
        let body = parse(source.to_owned());
        let found: Vec<_> = body.headings.iter().map(|h| (h.offset, h.level, h.title.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(body.text, source);
    }

    #[test]
    fn atx_and_setext_headings_are_found() {
        check_headings(
            "# One #\r\ntext\r\n\r\nTwo\r\n---\r\n### [Three](x) `code`\r\n",
            &[(0, 1, "One"), (17, 2, "Two"), (27, 3, "Three code")],
        );
        check_headings("Title\n=====\n", &[(0, 1, "Title")]);
    }

    #[test]
    fn code_rules_and_hash_tags_are_no_headings() {
        check_headings("```sh\n# comment\n```\n~~~\n## x\n", &[]);
        check_headings("#tag\n\n####### seven\n\n    # indented code\n", &[]);
        check_headings("two lines\nof text\n---\n\n---\n", &[]);
        check_headings("| a |\n---\n- item\n---\n", &[]);
    }

    #[test]
    fn the_front_matter_names_the_title() {
        let body = parse("---\ntitle: \"Radium\"\ntags: x\n---\n# Other\n".to_owned());
        assert_eq!(body.title.as_deref(), Some("Radium"));
        assert_eq!(body.headings.len(), 1);
        assert_eq!(parse("text\n# First\n".to_owned()).title.as_deref(), Some("First"));
    }
}
