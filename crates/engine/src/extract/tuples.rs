//! Reads tuple records out of a model's response: total, every byte becomes a record, a reject or silence.

use graphloom_core::{EntityRecord, Records, Reject, RelationRecord};

use crate::text::clean_name;

/// Parts the fields of a record.
pub(crate) const FIELD: &str = "<|#|>";
/// Ends an answer.
pub(crate) const COMPLETE: &str = "<|COMPLETE|>";
/// Characters of a rejected piece that are kept for people.
const MAX_REJECT_CHARS: usize = 200;

/// What one response said.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ParsedResponse {
    /// The records, in order.
    pub(crate) records: Records,
    /// The pieces that were no records.
    pub(crate) rejects: Vec<Reject>,
    /// Whether the completion mark was there.
    pub(crate) complete: bool,
}

/// The records of `text`, the `response`-th answer about a chunk.
///
/// A record is a line; a line that glues several records is parted before each tag. Lines without a field mark are
/// ignored when blank or a code fence and rejected otherwise. A `<think>` block is skipped.
pub(crate) fn parse_tuples(response: u32, text: &str) -> ParsedResponse {
    let mut parsed = ParsedResponse::default();
    for (offset, piece) in pieces(after_thinking(text)) {
        if piece.eq_ignore_ascii_case(COMPLETE) {
            parsed.complete = true;
            continue;
        }
        match read_record(piece) {
            Ok(Some(Record::Entity(entity))) => parsed.records.entities.push(entity),
            Ok(Some(Record::Relation(relation))) => parsed.records.relations.push(relation),
            Ok(None) => {}
            Err(reason) => parsed.rejects.push(Reject {
                response,
                offset: offset as u64,
                reason,
                text: piece.chars().take(MAX_REJECT_CHARS).collect(),
            }),
        }
    }
    parsed
}

enum Record {
    Entity(EntityRecord),
    Relation(RelationRecord),
}

/// `text` and the offset of its first byte after a leading `<think>` block; an unclosed block hides everything.
pub(crate) fn after_thinking(text: &str) -> (usize, &str) {
    let start = text.len() - text.trim_start().len();
    if !text[start..].starts_with("<think>") {
        return (0, text);
    }
    match text.find("</think>") {
        Some(end) => {
            let end = end + "</think>".len();
            (end, &text[end..])
        }
        None => (text.len(), ""),
    }
}

/// Trimmed, non-empty candidate records with their offsets: lines, parted at completion marks and before glued tags.
fn pieces((base, text): (usize, &str)) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let mut offset = base;
    for line in text.split_inclusive('\n') {
        let mut at = 0;
        while at < line.len() {
            let rest = &line[at..];
            let end = next_border(rest);
            let piece = rest[..end].trim();
            if !piece.is_empty() {
                let lead = rest.len() - rest.trim_start().len();
                pieces.push((offset + at + lead, piece));
            }
            at += end;
        }
        offset += line.len();
    }
    pieces
}

/// Where the first piece of `rest` ends: around a completion mark, or before a glued tag. At least 1, on a character
/// border.
fn next_border(rest: &str) -> usize {
    let mark = find_ignoring_case(rest, COMPLETE);
    if mark == Some(0) {
        return COMPLETE.len();
    }
    let glued = ["entity<|#|>", "relation<|#|>", "relationship<|#|>"].iter().filter_map(|tag| {
        let skip = rest.chars().next().map_or(0, char::len_utf8);
        // A tag glued to a delimiter is a field whose content is the word itself only in damaged output; part it.
        rest[skip..].find(&format!("{FIELD}{tag}")).map(|at| skip + at + FIELD.len())
    });
    glued.chain(mark).min().unwrap_or(rest.len())
}

fn find_ignoring_case(text: &str, ascii: &str) -> Option<usize> {
    text.as_bytes().windows(ascii.len()).position(|window| window.eq_ignore_ascii_case(ascii.as_bytes()))
}

/// The record of one piece; `None` where it is silence, an error where it is neither.
fn read_record(piece: &str) -> Result<Option<Record>, String> {
    if piece.starts_with("```") {
        return Ok(None);
    }
    if !piece.contains(FIELD) {
        return Err("no field delimiter".to_owned());
    }
    let mut fields: Vec<&str> = piece.split(FIELD).map(str::trim).collect();
    // A trailing delimiter closes the last field, or was followed by a record that stands on its own.
    if fields.last() == Some(&"") {
        fields.pop();
    }
    let (tag, fields) = fields.split_first().ok_or("empty record")?;
    let tag = tag.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    match (tag.as_str(), fields) {
        ("entity", [name, kind, description]) => Ok(Some(Record::Entity(EntityRecord {
            name: named(name, "entity name")?,
            kind: read_kind(kind)?,
            description: (*description).to_owned(),
        }))),
        ("relation" | "relationship", [source, target, keywords, description, rest @ ..])
            if rest.len() <= 1 =>
        {
            let source = named(source, "source name")?;
            let target = named(target, "target name")?;
            if source == target {
                return Err(format!("the relation joins {source:?} with itself"));
            }
            let weight = rest.first().and_then(|weight| weight.parse::<f64>().ok()).filter(|w| w.is_finite());
            Ok(Some(Record::Relation(RelationRecord {
                source,
                target,
                keywords: keywords
                    .split([',', '，', '、'])
                    .map(str::trim)
                    .filter(|k| !k.is_empty())
                    .map(str::to_owned)
                    .collect(),
                description: (*description).to_owned(),
                weight: weight.filter(|w| *w > 0.0).unwrap_or(1.0),
            })))
        }
        ("entity", fields) => Err(format!("an entity has 3 fields, this has {}", fields.len())),
        ("relation" | "relationship", fields) => {
            Err(format!("a relation has 4 fields, this has {}", fields.len()))
        }
        (tag, _) => Err(format!("unknown tag {:?}", tag.chars().take(40).collect::<String>())),
    }
}

fn named(name: &str, what: &str) -> Result<String, String> {
    clean_name(name).ok_or_else(|| format!("{what} {name:?} names nothing"))
}

/// The type before the first comma; LightRAG refuses markup in it.
fn read_kind(kind: &str) -> Result<String, String> {
    let kind = kind.trim_matches(['"', '\'', ' ']);
    if kind.is_empty() || kind.contains(['\'', '(', ')', '<', '>', '|', '/', '\\']) {
        return Err(format!("{kind:?} is no entity type"));
    }
    Ok(kind.split([',', '，']).next().unwrap_or(kind).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_names(text: &str) -> (Vec<String>, Vec<(String, String)>, usize) {
        let parsed = parse_tuples(0, text);
        let entities = parsed.records.entities.into_iter().map(|e| e.name).collect();
        let relations = parsed.records.relations.into_iter().map(|r| (r.source, r.target)).collect();
        (entities, relations, parsed.rejects.len())
    }

    #[test]
    fn a_clean_answer_is_read_whole() {
        let text = "entity<|#|>Ada Voss<|#|>Person<|#|>Chemist.\nrelation<|#|>Ada Voss<|#|>Kelm<|#|>work, place<|#|>Works in Kelm.\n<|COMPLETE|>";
        let parsed = parse_tuples(0, text);
        assert!(parsed.complete);
        assert_eq!(parsed.rejects, []);
        assert_eq!(parsed.records.entities[0].kind, "Person");
        assert_eq!(parsed.records.relations[0].keywords, ["work", "place"]);
    }

    #[test]
    fn a_cut_answer_loses_only_the_cut_record() {
        let (entities, relations, rejects) =
            check_names("entity<|#|>A1<|#|>Person<|#|>x\nrelation<|#|>A1<|#|>B");
        assert_eq!((entities, relations, rejects), (vec!["A1".to_owned()], vec![], 1));
    }

    #[test]
    fn glued_records_are_parted() {
        let text = "entity<|#|>Ada<|#|>Person<|#|>x<|#|>entity<|#|>Kelm<|#|>Location<|#|>y<|complete|>";
        assert_eq!(check_names(text).0, ["Ada", "Kelm"]);
    }

    #[test]
    fn thinking_fences_and_blank_lines_are_no_rejects() {
        let text = "<think>entity<|#|>No<|#|>X<|#|>y</think>\n```\n\nentity<|#|>Ada<|#|>Person<|#|>x\n```\n<|COMPLETE|>";
        assert_eq!(check_names(text), (vec!["Ada".to_owned()], vec![], 0));
    }

    #[test]
    fn a_reject_says_why_and_where() {
        let text = "entity<|#|>Ada<|#|>Person<|#|>x\nHere you are\nrelation<|#|>Ada<|#|>Ada<|#|>k<|#|>d\n";
        let rejects = parse_tuples(3, text).rejects;
        let said: Vec<_> =
            rejects.iter().map(|r| (r.response, r.offset as usize, r.reason.as_str())).collect();
        assert_eq!(said[0], (3, text.find("Here").unwrap_or(0), "no field delimiter"));
        assert_eq!(said[1].2, "the relation joins \"Ada\" with itself");
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_offsets_point_at_the_rejects(
            text in "(entity|relation|<\\|#\\|>|<\\|COMPLETE\\|>|<think>|</think>|[a-zé中 \n\"]){0,40}"
        ) {
            for reject in parse_tuples(0, &text).rejects {
                prop_assert!(text[reject.offset as usize..].starts_with(&reject.text));
            }
        }
    }
}
