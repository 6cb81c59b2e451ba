//! Measures how well the parser handles recorded extraction answers.
//!
//! `graphloom-bench-salvage --responses FILE [--json] [--sample N]`, where FILE has one answer per line: `source`,
//! `prompt_kind` and `response`. Answers whose kind starts with `extract` are read.
//!
//! Pieces are classified by rules of this program, so that the parser does not judge itself: a piece that follows
//! the grammar exactly is *well-formed*; a piece with a tag and a delimiter is *damaged*. Well-formed pieces must
//! be parsed field by field without change. A damaged piece is *salvaged* if it yields a record. A field is
//! *invented* if its words do not occur in the record's bytes. Each answer is also truncated at 16 positions,
//! where only the truncated record may be lost.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, bail};
use graphloom_engine::extract::records::{ParsedPiece, ParsedRecord, parse};
use graphloom_text::{clean_name, unescape};
use serde::{Deserialize, Serialize};

const USAGE: &str = "usage: graphloom-bench-salvage --responses FILE [--json] [--sample N]";

#[derive(Deserialize)]
struct Row {
    source: String,
    #[serde(default)]
    model: Option<String>,
    prompt_kind: String,
    response: String,
}

/// Number of positions at which each answer is truncated.
const CUTS: usize = 16;

/// Counts for one source, one kind of damage, or all.
#[derive(Debug, Default, Serialize)]
struct Counts {
    answers: u64,
    with_records: u64,
    well_formed: u64,
    kept: u64,
    /// Well-formed, but relating an entity to itself or without a name.
    meaningless: u64,
    damaged: u64,
    salvaged: u64,
    invented: u64,
    records: u64,
    rejects: u64,
    /// Number of truncated answers, and of those whose records before the truncation changed.
    cuts: u64,
    cuts_with_loss: u64,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    all: Counts,
    by_source: BTreeMap<String, Counts>,
    /// Damaged pieces by the parser's name for the repair, or for the reason of rejection.
    repaired: BTreeMap<&'static str, u64>,
    not_salvaged: BTreeMap<&'static str, u64>,
    rejects: BTreeMap<&'static str, u64>,
    /// Descriptions of failures.
    lost: Vec<String>,
    invented: Vec<String>,
}

/// A damaged piece and its outcome, for manual inspection.
struct PieceOutcome {
    source: String,
    piece: String,
    outcome: String,
}

fn main() -> anyhow::Result<()> {
    let (path, json, sample) = arguments()?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut report = Report::default();
    let mut judged = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let row: Row =
            serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), number + 1))?;
        if row.prompt_kind.starts_with("extract") {
            measure(&row, &mut report, &mut judged);
        }
    }
    if let Some(count) = sample {
        print_sample(judged, count);
    } else if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print_tables(&report);
    }
    Ok(())
}

fn arguments() -> anyhow::Result<(PathBuf, bool, Option<usize>)> {
    let (mut path, mut json, mut sample) = (None, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--responses" => path = arguments.next().map(PathBuf::from),
            "--json" => json = true,
            "--sample" => sample = Some(arguments.next().context(USAGE)?.parse().context(USAGE)?),
            other => bail!("unknown argument {other}; {USAGE}"),
        }
    }
    Ok((path.context(USAGE)?, json, sample))
}

fn measure(row: &Row, report: &mut Report, judged: &mut Vec<PieceOutcome>) {
    let text = &row.response;
    let parsed = parse(text, false);
    let pieces = pieces(text);
    let mut counts = Counts { answers: 1, ..Counts::default() };
    counts.with_records = u64::from(pieces.iter().any(|piece| !matches!(piece, Piece::Other)));
    counts.records = parsed.found.len() as u64;
    counts.rejects = parsed.rejects.len() as u64;
    for cut in 1..=CUTS {
        let end = text.floor_char_boundary(text.len() * cut / (CUTS + 1));
        let part = parse(&text[..end], true).found;
        let before = parsed.found.iter().filter(|found| found.span.end < end);
        let lost = before.clone().count() > part.len()
            || before.zip(&part).any(|(before, part)| before.record != part.record);
        counts.cuts += 1;
        counts.cuts_with_loss += u64::from(lost);
    }
    for reject in &parsed.rejects {
        *report.rejects.entry(reject.reason.name()).or_default() += 1;
    }
    for found in &parsed.found {
        for field in invented(found, &text[found.span.clone()]) {
            counts.invented += 1;
            report.invented.push(format!(
                "{}: {field:?} is not in {:?}",
                row.source,
                &text[found.span.clone()]
            ));
        }
    }
    for piece in pieces {
        match piece {
            Piece::Other => {}
            Piece::WellFormed { span, record } => match record {
                None => counts.meaningless += 1,
                Some(record) => {
                    counts.well_formed += 1;
                    let kept = overlapping(&parsed.found, &span).any(|found| found.record == record);
                    counts.kept += u64::from(kept);
                    if !kept {
                        report.lost.push(format!("{}: {}", row.source, &text[span]));
                    }
                }
            },
            Piece::Damaged { span } => {
                counts.damaged += 1;
                let found: Vec<&ParsedPiece> = overlapping(&parsed.found, &span).collect();
                counts.salvaged += u64::from(!found.is_empty());
                if found.is_empty() {
                    let reject = parsed.rejects.iter().find(|reject| {
                        reject.span.start < span.end
                            && span.start < reject.span.end.max(reject.span.start + 1)
                    });
                    *report
                        .not_salvaged
                        .entry(reject.map_or("silence", |it| it.reason.name()))
                        .or_default() += 1;
                }
                for damage in found.iter().flat_map(|found| &found.damage) {
                    *report.repaired.entry(damage.name()).or_default() += 1;
                }
                let outcome = match found.as_slice() {
                    [] => "REJECTED".to_owned(),
                    found => found
                        .iter()
                        .map(|found| format!("{:?}", found.record))
                        .collect::<Vec<_>>()
                        .join("\n     "),
                };
                judged.push(PieceOutcome {
                    source: row.source.clone(),
                    piece: text[span].to_owned(),
                    outcome,
                });
            }
        }
    }
    let source = format!("{} {}", row.source, row.model.as_deref().unwrap_or("(unknown model)"));
    report.all.add(&counts);
    report.by_source.entry(source).or_default().add(&counts);
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.with_records += other.with_records;
        self.well_formed += other.well_formed;
        self.kept += other.kept;
        self.meaningless += other.meaningless;
        self.damaged += other.damaged;
        self.salvaged += other.salvaged;
        self.invented += other.invented;
        self.records += other.records;
        self.rejects += other.rejects;
        self.cuts += other.cuts;
        self.cuts_with_loss += other.cuts_with_loss;
    }
}

fn overlapping<'f>(found: &'f [ParsedPiece], span: &Range<usize>) -> impl Iterator<Item = &'f ParsedPiece> {
    let span = span.clone();
    found.iter().filter(move |found| found.span.start < span.end && span.start < found.span.end)
}

/// A piece of an answer, between line ends, `##` and completion marks.
enum Piece {
    /// Follows a form exactly; `None` if it has no meaning.
    WellFormed { span: Range<usize>, record: Option<ParsedRecord> },
    /// Has a tag or a parenthesis, and something like a delimiter.
    Damaged { span: Range<usize> },
    /// Anything else.
    Other,
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let borders = ["\n", "##", "<|COMPLETE|>", "<|complete|>"];
        let (at, len) = borders
            .iter()
            .filter_map(|border| rest.find(border).map(|at| (at, border.len())))
            .min()
            .unwrap_or((rest.len(), 0));
        let raw = &rest[..at];
        let piece = raw.trim();
        let lead = start + (raw.len() - raw.trim_start().len());
        let span = lead..lead + piece.len();
        pieces.push(match well_formed(piece) {
            Some(record) => Piece::WellFormed { span, record },
            None if looks_like_a_record(piece) => Piece::Damaged { span },
            None => Piece::Other,
        });
        start += at + len.max(1);
        while start < text.len() && !text.is_char_boundary(start) {
            start += 1;
        }
    }
    pieces
}

fn looks_like_a_record(piece: &str) -> bool {
    let lower = piece.to_lowercase();
    let delimited = ["<|", "|>", "|#|", "<#"].iter().any(|mark| piece.contains(mark));
    delimited
        && (lower.contains("entity")
            || lower.contains("relation")
            || lower.contains("content_keywords")
            || piece.contains('('))
}

/// Parses a piece that follows one of the two tuple forms exactly.
fn well_formed(piece: &str) -> Option<Option<ParsedRecord>> {
    let (fields, old): (Vec<&str>, bool) = match piece
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
    {
        Some(inner) => {
            let quoted = |field: &'_ str| {
                let plain = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
                plain
                    .filter(|plain| !plain.contains('"') && !plain.contains("<|") && !plain.contains("|>"))
                    .is_some()
            };
            let number =
                |field: &str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let fields: Vec<&str> = inner.split("<|>").collect();
            if !fields.iter().all(|field| quoted(field) || number(field)) {
                return None;
            }
            (fields.into_iter().map(|field| field.trim_matches('"')).collect(), true)
        }
        None => (piece.split("<|#|>").collect(), false),
    };
    let weight = |weight: &str| weight.parse::<f64>().ok();
    let record = match (old, fields.as_slice()) {
        (_, ["entity", name, kind, description]) => entity(name, kind, description),
        (true, ["relationship", source, target, description, weight_]) => {
            relation(source, target, "", description, weight(weight_)?)
        }
        (true, ["relationship", source, target, description, keywords, weight_]) => {
            relation(source, target, keywords, description, weight(weight_)?)
        }
        (false, ["relation", source, target, keywords, description]) => {
            relation(source, target, keywords, description, 1.0)
        }
        (true, ["content_keywords", themes]) => Some(ParsedRecord::Themes(list(themes))),
        _ => return None,
    };
    Some(record)
}

fn entity(name: &str, kind: &str, description: &str) -> Option<ParsedRecord> {
    let (name, kind) = (clean_name(name)?, kind.trim());
    if kind.is_empty() {
        return None;
    }
    let (kind, description) = (kind.to_owned(), description.trim().to_owned());
    Some(ParsedRecord::Entity(graphloom_core::EntityRecord { name, kind, description }))
}

fn relation(
    source: &str,
    target: &str,
    keywords: &str,
    description: &str,
    weight: f64,
) -> Option<ParsedRecord> {
    let (source, target) = (clean_name(source)?, clean_name(target)?);
    if source == target {
        return None;
    }
    let (keywords, description) = (list(keywords), description.trim().to_owned());
    Some(ParsedRecord::Relation(graphloom_core::RelationRecord {
        source,
        target,
        keywords,
        description,
        weight,
    }))
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns the fields of a record whose words do not occur in its piece of the answer. Ignores white space, quotes, full width,
/// character references, emphasis, and the type `Other` of an entity without a type.
fn invented(found: &ParsedPiece, piece: &str) -> Vec<String> {
    let folded = fold(piece);
    let stands = |field: &str| folded.contains(&fold(field));
    let fields: Vec<&str> = match &found.record {
        ParsedRecord::Entity(entity) => {
            let kind = if entity.kind == "Other" { "" } else { entity.kind.as_str() };
            vec![&entity.name, kind, &entity.description]
        }
        ParsedRecord::Relation(relation) => {
            let ends = [relation.source.as_str(), &relation.target, &relation.description];
            ends.into_iter().chain(relation.keywords.iter().map(String::as_str)).collect()
        }
        ParsedRecord::Themes(themes) => themes.iter().map(String::as_str).collect(),
    };
    fields.into_iter().filter(|field| !stands(field)).map(str::to_owned).collect()
}

fn fold(text: &str) -> String {
    let narrow = |c: char| match c {
        '！'..='～' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '—' => '-',
        c => c,
    };
    unescape(text)
        .chars()
        .map(narrow)
        .filter(|c| {
            !c.is_whitespace()
                && !c.is_control()
                && !matches!(c, '"' | '\'' | '“' | '”' | '‘' | '’' | '《' | '》' | '*' | '`' | '_')
        })
        .collect()
}

fn print_sample(mut judged: Vec<PieceOutcome>, count: usize) {
    // A fixed shuffle, so that a sample can be repeated.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for i in (1..judged.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        judged.swap(i, (state % (i as u64 + 1)) as usize);
    }
    for (number, PieceOutcome { source, piece, outcome }) in judged.into_iter().take(count).enumerate() {
        println!("{:>3}. [{source}] {piece}\n  => {outcome}", number + 1);
    }
}

fn print_tables(report: &Report) {
    println!(
        "| source | answers | with records | well-formed | kept | damaged | salvaged | invented fields |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (source, counts) in
        report.by_source.iter().map(|(name, counts)| (name.as_str(), counts)).chain([("all", &report.all)])
    {
        println!(
            "| {source} | {} | {} | {} | {} | {} | {} | {} |",
            counts.answers,
            counts.with_records,
            counts.well_formed,
            share(counts.kept, counts.well_formed),
            counts.damaged,
            share(counts.salvaged, counts.damaged),
            counts.invented
        );
    }
    println!(
        "\nwell-formed, but without a meaning (an entity related to itself, no name): {}",
        report.all.meaningless
    );
    println!("records: {}, rejects: {}", report.all.records, report.all.rejects);
    println!(
        "answers cut short: {}, of which {} lost more than the record that was cut",
        report.all.cuts, report.all.cuts_with_loss
    );
    for (title, rows) in [
        ("repaired in damaged pieces", &report.repaired),
        ("damaged pieces without a record", &report.not_salvaged),
        ("rejects", &report.rejects),
    ] {
        println!("\n| {title} | |\n|---|---|");
        for (name, count) in rows {
            println!("| {name} | {count} |");
        }
    }
    for (title, list) in [("lost", &report.lost), ("invented", &report.invented)] {
        for line in list.iter().take(20) {
            println!("{title}: {line}");
        }
    }
}

fn share(part: u64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { format!("{part} ({:.2}%)", 100.0 * part as f64 / of as f64) }
}
