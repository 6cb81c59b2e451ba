//! Text formatting shared by several commands.

use graphloom_core::{DocumentStatus, Place, StatusKind};
use textwrap::core::display_width;

/// Maximum characters of a place; sheets can have long names.
const MAX_PLACE_CHARS: usize = 100;

/// Makes text from documents and models safe for a terminal: control characters become `�`.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// Makes a name safe for a terminal: like [`plain`], and on one line.
pub(crate) fn name(text: &str) -> String {
    plain(text).replace(['\n', '\t'], "\u{fffd}")
}

/// Joins lines as sentences, collapses white space, and cuts to `most` columns of the terminal, including the `…`.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let joined = plain(&graphloom_text::one_line(text));
    if display_width(&joined) <= most {
        return joined;
    }
    let mut columns = 0;
    let cut = joined.char_indices().find(|(at, c)| {
        columns += display_width(&joined[*at..at + c.len_utf8()]);
        columns >= most
    });
    let cut = cut.map_or(joined.len(), |(at, _)| at);
    format!("{}…", joined[..cut].trim_end())
}

/// Shortens a path to `most` characters: folders in the middle become `…`, and the file name stays whole. If the file name
/// alone is too long, its middle is cut out.
pub(crate) fn shortened_path(path: &str, most: usize) -> String {
    let path = name(path);
    let length = |text: &str| text.chars().count();
    if length(&path) <= most {
        return path;
    }
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", &path));
    if length(file) + 2 > most {
        return cut_in_the_middle(file, most);
    }
    let mut kept = String::new();
    for folder in folders.split_inclusive('/') {
        if !folder.ends_with('/') || length(&kept) + length(folder) + 2 + length(file) > most {
            break;
        }
        kept.push_str(folder);
    }
    format!("{kept}…/{file}")
}

fn cut_in_the_middle(text: &str, most: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let head: String = characters[..kept / 2].iter().collect();
    let tail: String = characters[characters.len() - (kept - kept / 2)..].iter().collect();
    if most == 0 { String::new() } else { format!("{head}…{tail}") }
}

/// Formats a place: `path, p. 12` if the document has pages, slides or sheets; otherwise `path:12` or `path:12-14`, or
/// `path (text lines 12-14)` if the line numbers are not those of the file.
pub(crate) fn place(
    source: &str,
    lines: (u32, u32),
    lines_match_source: bool,
    place: Option<&Place>,
) -> String {
    let source = name(source);
    if let Some(place) = place {
        return format!("{source}, {}", one_line(&place.to_string(), MAX_PLACE_CHARS));
    }
    let (range, noun) = match lines {
        (first, last) if first == last => (first.to_string(), "line"),
        (first, last) => (format!("{first}-{last}"), "lines"),
    };
    if lines_match_source { format!("{source}:{range}") } else { format!("{source} (text {noun} {range})") }
}

/// True if a document is partly indexed and no process continues it.
///
/// - `in_progress`: how many documents of the workspace a process is working on.
pub(crate) fn is_interrupted(status: &DocumentStatus, in_progress: u64) -> bool {
    in_progress == 0 && status.kind() == StatusKind::Indexing
}

/// Describes a document's status.
pub(crate) fn status(status: &DocumentStatus, is_interrupted: bool) -> String {
    match status {
        DocumentStatus::Waiting => "waiting".to_owned(),
        DocumentStatus::Indexing { extracted, failed, chunks } => {
            let state = if is_interrupted { "interrupted" } else { "indexing" };
            let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
            format!("{state}, {extracted} of {} read{failed}", count(*chunks, "chunk"))
        }
        DocumentStatus::Ready { chunks } => format!("ready, {}", count(*chunks, "chunk")),
        DocumentStatus::Incomplete { failed, damaged, without_context, chunks } => {
            format!("incomplete, {}", ill(*failed, *damaged, *without_context, *chunks))
        }
        DocumentStatus::Cancelled { extracted, chunks, .. } => {
            format!("cancelled, {extracted} of {} read", count(*chunks, "chunk"))
        }
        DocumentStatus::Failed { reason } => format!("failed: {}", one_line(reason, 300)),
    }
}

/// Formats the problems of a document: `1 of 9 chunks failed, 2 damaged`.
pub(crate) fn ill(failed: u32, damaged: u32, without_context: u32, chunks: u32) -> String {
    let mut of = format!(" of {}", count(chunks, "chunk"));
    let kinds = [(failed, "failed"), (damaged, "damaged"), (without_context, "without context")];
    let parts = kinds.into_iter().filter(|(number, _)| *number > 0);
    let parts = parts.map(|(number, what)| format!("{number}{} {what}", std::mem::take(&mut of)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Formats a count: `1 chunk`, `2 chunks`.
pub(crate) fn count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

/// Says how many of the accepted documents are new versions of known ones; `None` if there are none.
pub(crate) fn as_new_versions(number: u64) -> Option<String> {
    match number {
        0 => None,
        1 => Some("1 as a new version".to_owned()),
        _ => Some(format!("{number} as new versions")),
    }
}

/// Formats a number with a unit: `950`, `12.3k`, `4.0M`.
pub(crate) fn thousands(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=999_949 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_cannot_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\tc\n"), "a\u{fffd}[2Jb\tc\n");
        assert_eq!(one_line("a\u{1b} \n  b", 10), "a\u{fffd} b");
        assert_eq!(name("a\tb\nc.md"), "a\u{fffd}b\u{fffd}c.md");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(one_line("ääää", 3), "ää…");
        assert_eq!(one_line("äää", 3), "äää");
        assert_eq!(one_line("one two", 5), "one…");
        // These take two columns each.
        assert_eq!(one_line("水库闸门", 6), "水库…");
        assert_eq!(one_line("水库闸门", 8), "水库闸门");
    }

    #[test]
    fn a_long_path_is_shortened_in_the_middle_and_keeps_its_file_name() {
        assert_eq!(shortened_path("work/rust/src/ch17.md", 21), "work/rust/src/ch17.md");
        assert_eq!(shortened_path("work/rust/src/ch17.md", 20), "work/rust/…/ch17.md");
        assert_eq!(shortened_path("work/rust/src/ch17.md", 14), "work/…/ch17.md");
        assert_eq!(shortened_path("work/rust/src/ch17.md", 10), "…/ch17.md");
        assert_eq!(shortened_path("/abs/olute/ch17.md", 13), "/…/ch17.md");
        assert_eq!(shortened_path("src/a-long-name.md", 9), "a-lo…e.md");
        assert_eq!(shortened_path("src/ch17.md", 0), "");
    }

    #[test]
    fn a_place_says_whether_its_lines_are_those_of_the_file() {
        assert_eq!(place("a.md", (3, 3), true, None), "a.md:3");
        assert_eq!(place("a.html", (3, 3), false, None), "a.html (text line 3)");
        assert_eq!(place("a.html", (3, 5), false, None), "a.html (text lines 3-5)");
    }

    #[test]
    fn numbers_agree_with_their_nouns() {
        assert_eq!(count(1u32, "entity"), "1 entity");
        assert_eq!(count(2u32, "entity"), "2 entities");
        assert_eq!(count(0u32, "chunk"), "0 chunks");
        assert_eq!([999, 12_345, 999_999].map(thousands), ["999", "12.3k", "1.0M"]);
    }
}
