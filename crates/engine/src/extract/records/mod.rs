//! Parses the records of a model's answer, no matter how well it follows the requested form.
//!
//! [`parse`] is total: any text gives records and rejects, never an error or a panic, in time linear in its
//! length. It accepts LightRAG's tuple lines, the older parenthesised form, JSON, JSON lines and XML elements.
//! Well-formed text is parsed strictly; only the rest is repaired, and each record lists its repairs. Nothing is
//! invented: the words of every field occur in the answer, except that an entity without a type gets `Other`.
//!
//! A repair depends only on text before it, never on text after the record. A truncated answer therefore gives the
//! same records as the whole one, up to the truncated record.

mod json;
mod marks;
mod objects;
mod pieces;
mod record;
mod steps;
mod thinking;
mod tuple;
mod xml;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use graphloom_core::{EntityRecord, Records, Reject, RejectReason, RelationRecord};
use serde::Serialize;

use super::ENTITY_TYPES;
use marks::{
    FIELD, completion_marks, delimiter_at, delimiter_follows, has_delimiter, is_quote, leading_tag,
    without_cut_mark,
};
pub(crate) use pieces::{JsonItem, fields_of, json_objects, says_complete};
use steps::tally;
pub(crate) use thinking::{THOUGHT_BLOCKS, after_thinking};
use thinking::{Thoughts, leading_block, unopened_block};
use tuple::{Kinds, RepairedRecord, read_strictly, repair};

/// Characters of a rejected piece that are kept for users to read.
const MAX_REJECT_CHARS: usize = 200;
/// Maximum number of lines that one record may span.
const MAX_JOINED_LINES: usize = 4;
/// Types that older prompts offered, in addition to [`ENTITY_TYPES`].
const OLD_TYPES: [&str; 2] = ["Geo", "Category"];

/// A record of any kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParsedRecord {
    /// An entity.
    Entity(EntityRecord),
    /// A relation.
    Relation(RelationRecord),
    /// The themes of the chunk as a whole.
    Themes(Vec<String>),
}

/// What had to be repaired to read a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// List numbers, bullets, emphasis or `##` around the record.
    Decoration,
    /// A delimiter is misspelt or missing.
    Delimiter,
    /// A quote is missing, or something follows it.
    Quotes,
    /// A parenthesis is missing.
    Parenthesis,
    /// Full-width or curly punctuation.
    Punctuation,
    /// The tag is missing, misplaced or the wrong one.
    Tag,
    /// A field is missing, and its content with it.
    MissingField,
    /// Fields are empty or too many, or a field that the form makes optional is missing.
    FieldCount,
    /// Several records share a line without a separator.
    Glued,
    /// The weight is written in words.
    Weight,
    /// The record spans several lines.
    Lines,
    /// Junk follows the record.
    TrailingText,
    /// The JSON is invalid, or the record is an XML element.
    Json,
    /// A JSON value has the wrong type for its field.
    WrongType,
}

impl Damage {
    /// Returns its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decoration => "decoration",
            Self::Delimiter => "delimiter",
            Self::Quotes => "quotes",
            Self::Parenthesis => "parenthesis",
            Self::Punctuation => "punctuation",
            Self::Tag => "tag",
            Self::MissingField => "missing_field",
            Self::FieldCount => "field_count",
            Self::Glued => "glued",
            Self::Weight => "weight",
            Self::Lines => "lines",
            Self::TrailingText => "trailing_text",
            Self::Json => "json",
            Self::WrongType => "wrong_type",
        }
    }
}

/// A record and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedPiece {
    /// The record.
    pub record: ParsedRecord,
    /// Its bytes in the answer.
    pub span: Range<usize>,
    /// What was repaired; empty for a well-formed record.
    pub damage: BTreeSet<Damage>,
}

/// A piece of the answer that is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedPiece {
    /// The reason.
    pub reason: RejectReason,
    /// Its bytes in the answer.
    pub span: Range<usize>,
}

/// The content of one answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedResponse {
    /// The records, in order.
    pub found: Vec<ParsedPiece>,
    /// The pieces that are not records, in order. Blank lines, fences, marks and rules are ignored and not listed.
    pub rejects: Vec<RejectedPiece>,
    /// Whether the answer says that it is complete: by a completion mark, or by closed JSON.
    pub complete: bool,
}

impl ParsedResponse {
    /// Returns the records by kind, in order.
    pub fn records(&self) -> Records {
        let mut records = Records::default();
        for found in &self.found {
            match &found.record {
                ParsedRecord::Entity(entity) => records.entities.push(entity.clone()),
                ParsedRecord::Relation(relation) => records.relations.push(relation.clone()),
                ParsedRecord::Themes(themes) => {
                    for theme in themes {
                        if !records.themes.contains(theme) {
                            records.themes.push(theme.clone());
                        }
                    }
                }
            }
        }
        records
    }

    /// Returns the rejects in stored form; `text` is answer number `response` about a chunk.
    pub fn rejects_of(&self, response: u32, text: &str) -> Vec<Reject> {
        let reject = |RejectedPiece { reason, span }: &RejectedPiece| Reject {
            response,
            offset: span.start as u64,
            reason: *reason,
            text: text.get(span.clone()).unwrap_or_default().chars().take(MAX_REJECT_CHARS).collect(),
        };
        self.rejects.iter().map(reject).collect()
    }

    fn add(&mut self, span: Range<usize>, record: ParsedRecord, damage: BTreeSet<Damage>) {
        self.found.push(ParsedPiece { record, span, damage });
    }

    /// Adds a reject. Consecutive prose is one reject.
    fn reject(&mut self, reason: RejectReason, span: Range<usize>) {
        let last_record = self.found.last().map_or(0, |found| found.span.end);
        match self.rejects.last_mut() {
            Some(last)
                if reason == RejectReason::Prose && last.reason == reason && last.span.end >= last_record =>
            {
                last.span.end = span.end;
            }
            Some(_) | None => self.rejects.push(RejectedPiece { reason, span }),
        }
    }
}

/// Parses the records of an answer.
///
/// `cut`: whether the output limit ended the answer. If so, a last record that nothing closes is rejected even if it looks
/// complete.
pub fn parse(text: &str, cut: bool) -> ParsedResponse {
    let end = without_cut_mark(text);
    let marks = completion_marks(text);
    let kinds = Kinds::new(ENTITY_TYPES.into_iter().chain(OLD_TYPES));
    let found = ParsedResponse::default();
    let mut reader =
        Reader { text, end, cut, marks, next_mark: 0, no_json_before: 0, no_element_before: 0, kinds, found };
    reader.run();
    reader.found
}

struct Reader<'t> {
    text: &'t str,
    /// End of the content.
    end: usize,
    cut: bool,
    marks: Vec<(Range<usize>, bool)>,
    next_mark: usize,
    /// JSON was tried and not found up to here.
    no_json_before: usize,
    /// XML elements were tried and not found up to here.
    no_element_before: usize,
    kinds: Kinds,
    found: ParsedResponse,
}

impl<'t> Reader<'t> {
    fn run(&mut self) {
        let mut at = unopened_block(self.text).unwrap_or(0);
        while at < self.end {
            at = self.step(at);
        }
    }

    /// Reads what is at `at` and returns where to continue.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..self.end];
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 {
            return at + blank;
        }
        while self.marks.get(self.next_mark).is_some_and(|(mark, _)| mark.end <= at) {
            self.next_mark += 1;
        }
        if let Some((mark, _)) = self.marks.get(self.next_mark).filter(|(mark, _)| mark.start <= at) {
            self.found.complete = true;
            return mark.end;
        }
        if rest.starts_with('<') {
            match leading_block(rest) {
                Thoughts::None => {}
                Thoughts::Until(end) => return (at + end).min(self.end),
                Thoughts::Unclosed => {
                    self.found.reject(RejectReason::UnclosedThinking, at..self.text.len());
                    return self.end;
                }
            }
            if let Some(next) = self.element(at) {
                return next;
            }
        }
        if let Some(fenced) = rest.strip_prefix("```") {
            let language = fenced.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(fenced.len());
            // A tag directly after the fence is not a language.
            let language = if leading_tag(marks::bounded(fenced)).is_some() { 0 } else { language };
            return at + 3 + language;
        }
        if at >= self.no_json_before && json::begins(&self.text[..self.end], at) {
            match json::read(&self.text[..self.end], at) {
                json::Outcome::Value(node) => return self.json(&node),
                json::Outcome::Not(tried) => self.no_json_before = tried,
            }
        }
        let end = self.line_end(at);
        if let Some(json) = self.json_in(at, end) {
            self.line(at, json);
            return json;
        }
        self.line(at, end)
    }

    /// Returns where JSON starts inside a line of prose: `Here it is: {"entities": ...`.
    fn json_in(&self, start: usize, end: usize) -> Option<usize> {
        let line = &self.text[start..end];
        let at = line.char_indices().skip(1).map(|(at, _)| at).find(|at| {
            let rest = &line[*at..];
            (rest.starts_with("{\"") || rest.starts_with("[{")) && start + at >= self.no_json_before
        })?;
        tally(at);
        (!has_delimiter(&line[..at]) && json::begins(&self.text[..self.end], start + at))
            .then_some(start + at)
    }

    fn json(&mut self, node: &json::Node) -> usize {
        let known = self.found.found.len();
        let meant = objects::collect(node, &mut self.found);
        if !meant {
            self.found.reject(RejectReason::Prose, node.start..node.end);
        } else if !node.cut && matches!(node.value, json::Json::Object(_) | json::Json::Array(_)) {
            self.found.complete = true;
        }
        for found in self.found.found.iter().skip(known) {
            if let (true, ParsedRecord::Entity(entity)) = (found.damage.is_empty(), &found.record) {
                self.kinds.learn(&entity.kind);
            }
        }
        node.end.max(node.start + 1)
    }

    fn element(&mut self, at: usize) -> Option<usize> {
        if at < self.no_element_before || !xml::begins(&self.text[at..self.end]) {
            return None;
        }
        let limit = self.block_end(at);
        tally(limit - at);
        match xml::read(self.text, at, limit) {
            xml::Element::None => {
                self.no_element_before = limit;
                None
            }
            xml::Element::Record(node) => {
                objects::collect(&node, &mut self.found);
                Some(node.end)
            }
            xml::Element::Tuple(name, body) => {
                let inner = self.text[body.clone()].trim();
                let tagged = leading_tag(marks::bounded(inner.trim_start_matches(['(', '"']))).is_some();
                let piece = if tagged { inner.to_owned() } else { format!("{name}<|#|>{inner}") };
                let read = read_strictly(&piece)
                    .map(|read| read.map(|record| (record, BTreeSet::new())))
                    .unwrap_or_else(|| repair(&piece, true, &self.kinds));
                self.take(body.clone(), read, Some(Damage::Tag));
                Some(body.end + name.len() + 3)
            }
        }
    }

    /// Returns where an XML element that starts at `at` must end: at a blank line, or at the next completion mark.
    fn block_end(&self, at: usize) -> usize {
        let limit = self.marks.get(self.next_mark).map_or(self.end, |(mark, _)| mark.start.min(self.end));
        self.text[at..limit].find("\n\n").map_or(limit, |blank| at + blank)
    }

    /// Returns the end of the line at `at`: its line break, or a completion mark in it.
    fn line_end(&self, at: usize) -> usize {
        let limit =
            self.marks.get(self.next_mark).map_or(self.end, |(mark, _)| mark.start.clamp(at, self.end));
        let end = self.text[at..limit].find('\n').map_or(limit, |end| at + end);
        tally(end - at);
        end
    }

    /// True if something follows `at`, so what ends there was not cut.
    fn is_followed(&self, at: usize) -> bool {
        at < self.end
    }

    /// Reads one line, record by record.
    fn line(&mut self, start: usize, end: usize) -> usize {
        let mut borders = borders(&self.text[start..end]);
        if !self.is_followed(end) {
            borders.extend(cut_tag(&self.text[start..end]));
            borders.sort_by_key(|border| border.at);
        }
        let mut at = start;
        for border in borders.iter().filter(|border| border.hard) {
            self.piece(at, start + border.at, true);
            at = start + border.at;
        }
        // Only the last piece can continue on the next line.
        let terminated = self.is_followed(end) || self.text[at..end].trim_end().ends_with("##");
        let next = self.piece(at, end, terminated);
        next.max(end).max(start + 1)
    }

    /// Reads a piece that contains at least one record. Returns where it ended, which is after `end` if lines were joined.
    fn piece(&mut self, start: usize, end: usize, terminated: bool) -> usize {
        let piece = &self.text[start..end];
        let span = start..start + piece.trim_end().len();
        tally(piece.len());
        // Skips rules, brackets and list numbers.
        if !piece.chars().any(char::is_alphabetic) {
            return end;
        }
        let trusted = terminated || !self.cut || is_closed(piece);
        match read_strictly(piece) {
            Some(_) if !trusted => {
                self.found.reject(RejectReason::Cut, span);
                return end;
            }
            Some(Ok(record)) => {
                self.take(span, Ok((record, BTreeSet::new())), None);
                return end;
            }
            Some(Err(reason)) => {
                self.found.reject(reason, span);
                return end;
            }
            None => {}
        }
        let tagged = tag_position(piece);
        if tagged.is_some()
            && let Some((joined, record)) = self.join(start, end)
        {
            self.take(start..joined, Ok((record, BTreeSet::new())), Some(Damage::Lines));
            return joined;
        }
        let mut inner = borders(piece);
        inner.retain(|border| {
            Some(border.tag) != tagged && border.at > 0 && border.at < piece.trim_end().len()
        });
        // `Ada<|#|>entity<|#|>Person<|#|>...`: the tag is the second field and starts no new record.
        if tagged.is_none() && inner.first().is_some_and(|first| fields_in(&piece[..first.at]) == 2) {
            inner.remove(0);
        }
        if inner.is_empty() {
            let read = self.read_damaged(piece, terminated);
            self.take(span, read, None);
            return end;
        }
        let mut at = start;
        for border in inner {
            self.part(at, start + border.at, true);
            at = start + border.at;
        }
        self.part(at, end, terminated);
        end
    }

    /// Reads one record of a line that holds several.
    fn part(&mut self, start: usize, end: usize, terminated: bool) {
        let part = &self.text[start..end];
        if !part.chars().any(char::is_alphabetic) {
            return;
        }
        let trusted = terminated || !self.cut;
        let read = match read_strictly(part).filter(|_| trusted) {
            Some(read) => read.map(|record| (record, BTreeSet::new())),
            None => self.read_damaged(part, terminated),
        };
        self.take(start..start + part.trim_end().len(), read, Some(Damage::Glued));
    }

    fn read_damaged(&self, piece: &str, terminated: bool) -> Result<RepairedRecord, RejectReason> {
        if !terminated && self.cut && !is_closed(piece) {
            return Err(if has_delimiter(piece) { RejectReason::Cut } else { RejectReason::Prose });
        }
        repair(piece, terminated, &self.kinds)
    }

    fn take(&mut self, span: Range<usize>, read: Result<RepairedRecord, RejectReason>, also: Option<Damage>) {
        match read {
            Ok((record, mut damage)) => {
                damage.extend(also);
                // A repair may have mistaken something else for a type.
                if let (true, ParsedRecord::Entity(entity)) = (damage.is_empty(), &record) {
                    self.kinds.learn(&entity.kind);
                }
                self.found.add(span, record, damage);
            }
            Err(reason) => self.found.reject(reason, span),
        }
    }

    /// Joins a record with the lines after `end` if it is complete only with them; returns its end and the record.
    fn join(&mut self, start: usize, end: usize) -> Option<(usize, ParsedRecord)> {
        let mut joined = end;
        for _ in 1..MAX_JOINED_LINES {
            if !self.text[joined..self.end].starts_with('\n') {
                return None;
            }
            let next = joined + 1;
            let line_end = self.line_end(next);
            let line = &self.text[next..line_end];
            tally(line.len());
            let starts_something_new = tag_position(line).is_some() || line.trim_start().starts_with("```");
            if line.trim().is_empty() || starts_something_new {
                return None;
            }
            joined = line_end;
            if let Some(Ok(record)) = read_strictly(&self.text[start..joined]) {
                return Some((joined, record));
            }
        }
        None
    }
}

/// True if a parenthesis, perhaps followed by `##`, closes the piece.
fn is_closed(piece: &str) -> bool {
    piece.trim_end().trim_end_matches('#').trim_end().ends_with([')', '）'])
}

/// Returns the border before a record of which a cut answer contains only the beginning of the tag.
fn cut_tag(line: &str) -> Option<Border> {
    let begins_tag = |text: &str| {
        let word = text.to_lowercase();
        let tags = ["entity", "relationship", "content_keywords"];
        !word.is_empty() && tags.iter().any(|whole| whole.starts_with(&word))
    };
    // Glued to a complete record.
    if let Some(at) = line.rfind(FIELD)
        && begins_tag(&line[at + FIELD.len()..])
    {
        let start = borders(&line[..at]).last().map_or(0, |border| border.at);
        let tag = at + FIELD.len();
        return read_strictly(&line[start..at]).map(|_| Border { at: tag, tag, hard: true });
    }
    let at = line.rfind(['(', '（', '#', ')', '）'])?;
    let tag =
        line[at..].trim_start_matches(['(', '（', '#', ')', '）']).trim_start_matches([' ', '"', '“', '*']);
    let before = line[..line.len() - tag.len()]
        .trim_end_matches(|c: char| c.is_whitespace() || "\"“*(（#".contains(c));
    let after = Border { at: before.len(), tag: line.len() - tag.len(), hard: true };
    ((tag.is_empty() || begins_tag(tag)) && before.ends_with([')', '）'])).then_some(after)
}

/// A place in a line where a record starts.
#[derive(Debug, Clone, Copy)]
struct Border {
    /// Start of the record, including its parenthesis and quote.
    at: usize,
    /// Start of its tag.
    tag: usize,
    /// Whether a parenthesis or `##` makes it certain.
    hard: bool,
}

/// Returns the position of the tag if the piece starts with one, perhaps after decoration.
fn tag_position(piece: &str) -> Option<usize> {
    let lead = piece.find(|c: char| c.is_alphabetic())?;
    let plain = |c: char| {
        c.is_whitespace() || c.is_ascii_digit() || is_quote(c) || "#*-•·+>`</|([{（【.)、:'\\".contains(c)
    };
    if !piece[..lead].chars().all(plain) {
        return None;
    }
    leading_tag(marks::bounded(&piece[lead..])).map(|_| lead)
}

/// Returns the places in `line` where a record may start: at a tag with a delimiter after it and the end of something before it.
fn borders(line: &str) -> Vec<Border> {
    let mut borders = Vec::new();
    let mut floor = 0;
    let mut previous = None;
    tally(line.len());
    for (at, c) in line.char_indices() {
        let begins_word = !previous.is_some_and(|c: char| c.is_alphanumeric() || c == '_');
        previous = Some(c);
        if begins_word
            && matches!(c, 'e' | 'E' | 'r' | 'R' | 'c' | 'C' | 'h' | 'H')
            && let Some((_, len)) = leading_tag(marks::bounded(&line[at..]))
        {
            let after = at + len;
            let quote = line[after..].chars().next().filter(|c| is_quote(*c) || *c == '*' || *c == '\'');
            let opened = line[..at].ends_with(|c: char| is_quote(c) || matches!(c, '*' | '\''));
            let closed = quote.is_none() || opened;
            if closed && delimiter_follows(line, after + quote.map_or(0, char::len_utf8)) {
                borders.extend(border(line, floor, at));
                floor = at;
            }
        } else if c == '#' && line[at..].starts_with("##") && !line[floor..at].ends_with(['|', '<', '#']) {
            let gap = line[at..].trim_start_matches('#');
            let begin = line.len() - gap.len();
            // After `)##` something new starts, whatever it is; after `##("event"<|>` too.
            if line[floor..at].trim_end().ends_with([')', '）']) {
                borders.push(Border { at: begin, tag: begin, hard: true });
            }
            let gap = gap.trim_start();
            let begin = line.len() - gap.len();
            let quoted =
                gap.strip_prefix("(\"").is_some_and(|tag| leading_tag(marks::bounded(tag)).is_none());
            if quoted {
                borders.push(Border { at: begin, tag: begin + 2, hard: true });
            }
        }
    }
    borders
}

/// Returns the border before the tag at `tag`, if the text before it ends something.
fn border(line: &str, floor: usize, tag: usize) -> Option<Border> {
    let before = &line[floor..tag];
    let bare = before.trim_end_matches(|c: char| is_quote(c) || matches!(c, '*' | '\'' | ' ' | '`'));
    let opened = bare.strip_suffix(['(', '（', '[', '【', '{']);
    if let Some(opened) = opened {
        return Some(Border { at: floor + opened.len(), tag, hard: true });
    }
    let kept = before.trim_end_matches(|c: char| is_quote(c) || matches!(c, '*' | '\'' | '`'));
    let at = floor + kept.len();
    let gap = kept.trim_end();
    if gap.ends_with("##") && delimiter_at(line, floor + gap.trim_end_matches('#').len(), false).is_none() {
        return Some(Border { at, tag, hard: true });
    }
    let closing = ['>', '|', '#', '.', '。', '!', '！', '?', '？', '"', '”', ')', '）', ';', ':', '：'];
    let ends = gap.is_empty() || gap.ends_with(closing) || (gap.len() < kept.len() && is_whole(gap));
    ends.then_some(Border { at, tag, hard: false })
}

/// True if `gap`, which follows a tag or starts with one, has all fields of its record, the last one without quotes. A tag that
/// only a space separates from it is then glued on; otherwise it is a word of the last field.
fn is_whole(gap: &str) -> bool {
    let fields = marks::split(gap, marks::Spelling::WordInside);
    let last = fields.last().map_or("", |last| gap[last.clone()].trim_start());
    let first = fields.first().map_or("", |first| gap[first.clone()].trim());
    let entity = marks::tag_of(first) == Some(marks::Tag::Entity);
    fields.len() > if entity { 3 } else { 4 } && !last.starts_with(is_quote) && !last.starts_with('\'')
}

/// Returns the number of fields in the start of a piece, including the one that its last delimiter opens.
fn fields_in(piece: &str) -> usize {
    marks::split(piece, marks::Spelling::WordInside).len()
}
