//! Parses one piece of text into one tuple record: strictly first, then with repairs.

use std::collections::BTreeSet;

use graphloom_core::RejectReason;

use super::marks::{
    FIELD, OLD_FIELD, Spelling, Tag, bounded, delimiter_at, has_delimiter, is_quote, leading_tag, split,
    tag_of,
};
use super::record::{self, UNTYPED, Weight};
use super::steps::tally;
use super::{Damage, ParsedRecord};

/// Maximum length of junk after the closing parenthesis of a record, as in `)<TIME|>`.
const MAX_JUNK_BYTES: usize = 24;
/// Separates the fields of a record that is written as a table row.
const BAR: &str = " | ";
/// Number of words from which a field reads as a description and not as a type.
const SENTENCE_WORDS: usize = 4;

/// Entity types known so far, in lower case. They tell a type from a name if a tag is missing or wrong.
#[derive(Debug, Clone)]
pub(super) struct Kinds(BTreeSet<String>);

impl Kinds {
    pub(super) fn new(kinds: impl IntoIterator<Item = &'static str>) -> Self {
        Self(kinds.into_iter().map(str::to_lowercase).collect())
    }

    pub(super) fn learn(&mut self, kind: &str) {
        self.0.insert(kind.to_lowercase());
    }

    fn knows(&self, kind: &str) -> bool {
        self.0.contains(&kind.trim().to_lowercase())
    }
}

/// A record and what had to be repaired to read it.
pub(super) type RepairedRecord = (ParsedRecord, BTreeSet<Damage>);

/// Reads a piece that follows one of the forms exactly; `None` if it does not.
pub(super) fn read_strictly(piece: &str) -> Option<Result<ParsedRecord, RejectReason>> {
    tally(piece.len());
    let piece = piece.trim();
    let piece = piece.strip_suffix("##").map_or(piece, str::trim_end);
    match piece.strip_prefix('(') {
        Some(inner) => read_old(inner.strip_suffix(')')?),
        None => read_new(piece, false),
    }
}

/// Reads `"entity"<|>"name"<|>"type"<|>"description"` and its variants, without the parentheses.
fn read_old(inner: &str) -> Option<Result<ParsedRecord, RejectReason>> {
    if !inner.contains(OLD_FIELD) {
        return read_new(inner, true);
    }
    let fields: Option<Vec<&str>> = inner.split(OLD_FIELD).map(unquote).collect();
    let fields = fields?;
    let (tag, fields) = fields.split_first()?;
    let number = |field: &str| match record::weight(field) {
        Some(Weight::Number(number)) => Some(record::usable(number)),
        Some(Weight::Worded(_)) | None => None,
    };
    match (strict_tag(tag)?, fields) {
        (Tag::Entity, [name, kind, description]) => Some(entity(name, kind, description)),
        (Tag::Relation, [source, target, description, weight]) => {
            Some(relation(source, target, "", description, number(weight)?))
        }
        (Tag::Relation, [source, target, description, keywords, weight]) => {
            Some(relation(source, target, keywords, description, number(weight)?))
        }
        (Tag::Themes, [themes]) => Some(Ok(ParsedRecord::Themes(record::keywords(themes)))),
        (Tag::Entity | Tag::Relation | Tag::Themes, _) => None,
    }
}

/// Reads `entity<|#|>name<|#|>type<|#|>description` and its variants.
fn read_new(piece: &str, quoted: bool) -> Option<Result<ParsedRecord, RejectReason>> {
    let fields: Option<Vec<&str>> =
        piece.split(FIELD).map(|field| if quoted { unquote(field) } else { Some(field.trim()) }).collect();
    let fields = fields?;
    if fields.iter().any(|field| is_torn(field)) {
        return None;
    }
    let (tag, fields) = fields.split_first()?;
    match (strict_tag(tag)?, fields) {
        // A delimiter after the last field is ignored.
        // If the last field itself is empty, the rest of the record is on the next line.
        (Tag::Entity, [_, _, ""]) | (Tag::Relation, [_, _, _, ""]) => None,
        (Tag::Entity, [name, kind, description] | [name, kind, description, ""]) => {
            Some(entity(name, kind, description))
        }
        (
            Tag::Relation,
            [source, target, keywords, description] | [source, target, keywords, description, ""],
        ) => Some(relation(source, target, keywords, description, 1.0)),
        (Tag::Relation, [source, target, keywords, description, weight]) => match record::weight(weight)? {
            Weight::Number(number) => {
                Some(relation(source, target, keywords, description, record::usable(number)))
            }
            Weight::Worded(_) => None,
        },
        (Tag::Themes, [themes]) => Some(Ok(ParsedRecord::Themes(record::keywords(themes)))),
        (Tag::Entity | Tag::Relation | Tag::Themes, _) => None,
    }
}

/// True if a field starts with a fragment of a delimiter.
fn is_torn(field: &str) -> bool {
    field.starts_with(['|', '>'])
}

/// Returns the content of a field with quotes on both sides or on neither.
fn unquote(field: &str) -> Option<&str> {
    let field = field.trim();
    match (field.strip_prefix('"'), field.strip_suffix('"')) {
        (None, None) => Some(field),
        (Some(opened), _) => opened.strip_suffix('"').map(str::trim),
        (None, Some(_)) => None,
    }
}

fn strict_tag(tag: &str) -> Option<Tag> {
    if tag.chars().all(|c| c.is_ascii_alphabetic() || c == '_') { tag_of(tag) } else { None }
}

fn entity(name: &str, kind: &str, description: &str) -> Result<ParsedRecord, RejectReason> {
    record::entity(name, kind, description).map(ParsedRecord::Entity)
}

fn relation(
    source: &str,
    target: &str,
    keywords: &str,
    description: &str,
    weight: f64,
) -> Result<ParsedRecord, RejectReason> {
    record::relation(source, target, record::keywords(keywords), description, weight)
        .map(ParsedRecord::Relation)
}

/// Repairs a damaged piece.
///
/// `terminated`: whether something follows the piece. If nothing does, the answer may have been cut there: missing fields are
/// then not guessed, and the piece is [`RejectReason::Cut`].
pub(super) fn repair(piece: &str, terminated: bool, kinds: &Kinds) -> Result<RepairedRecord, RejectReason> {
    if !has_delimiter(piece) {
        return read_row(piece, terminated).unwrap_or(Err(RejectReason::Prose));
    }
    let shape = Shape::of(piece);
    // A tag in the right place is worth more than a number of fields that happens to be right.
    let mut best: Option<Attempt<'_>> = None;
    'search: for tagged in [true, false] {
        for spelling in [Spelling::Exact, Spelling::ExactOld, Spelling::WordInside, Spelling::Loose] {
            let Some(attempt) = Attempt::new(&shape, spelling, tagged, kinds) else { continue };
            if attempt.is_whole() {
                best = Some(attempt);
                break 'search;
            }
            // Fields that only a tolerant reading finds are closest to what was meant.
            if best.is_none() || (spelling == Spelling::WordInside && tagged) {
                best = Some(attempt);
            }
        }
        if best.is_some() {
            break;
        }
    }
    let best = best.ok_or(if terminated { RejectReason::UnknownTag } else { RejectReason::Cut })?;
    let closed = !shape.parenthesised || shape.closed;
    best.read(terminated || (shape.parenthesised && shape.closed), closed, kinds)
}

/// Reads a row such as `entity | Ada | Person | Works.`, with or without outer bars; `None` if it is not a row. Prose can contain
/// single bars too, so a row must have exactly the fields of its tag.
fn read_row(piece: &str, terminated: bool) -> Option<Result<RepairedRecord, RejectReason>> {
    tally(piece.len());
    let row = piece.trim().trim_matches('|');
    let mut fields = row.split(BAR).map(str::trim);
    let tag = strict_tag(fields.next()?)?;
    let fields: Vec<&str> = fields.collect();
    let record = match (tag, fields.as_slice()) {
        (_, []) => return None,
        _ if !terminated => Err(RejectReason::Cut),
        (Tag::Entity, [name, kind, description]) => entity(name, kind, description),
        (Tag::Relation, [source, target, keywords, description]) => {
            relation(source, target, keywords, description, 1.0)
        }
        (Tag::Entity | Tag::Relation | Tag::Themes, _) => Err(RejectReason::FieldCount),
    };
    Some(record.map(|record| (record, BTreeSet::from([Damage::Delimiter]))))
}

/// A piece without its decoration.
struct Shape<'t> {
    body: &'t str,
    /// Whether it started with a parenthesis or bracket.
    parenthesised: bool,
    /// Whether that parenthesis is closed.
    closed: bool,
    /// Whether the tag was in quotes.
    quoted: bool,
    damage: BTreeSet<Damage>,
}

impl<'t> Shape<'t> {
    fn of(piece: &'t str) -> Self {
        let mut damage = BTreeSet::new();
        let (mut at, mut parenthesised, mut quoted) = (0, false, false);
        while let Some(c) = piece[at..].chars().next() {
            let after = at + c.len_utf8();
            if let Some(end) = delimiter_at(piece, at, false) {
                damage.insert(Damage::Delimiter);
                at = end;
            } else if c.is_whitespace() {
                at = after;
            } else if matches!(c, '(' | '（' | '[' | '【' | '{') && !parenthesised {
                if c != '(' {
                    damage.insert(Damage::Punctuation);
                }
                parenthesised = true;
                at = after;
            } else if (is_quote(c) || c == '\'') && leading_tag(bounded(&piece[after..])).is_some() {
                quoted = true;
                at = after;
                break;
            } else if matches!(c, '#' | '*' | '-' | '•' | '·' | '+' | '>' | '`' | '<' | '/' | '–') {
                damage.insert(Damage::Decoration);
                at = after;
            } else if let Some(end) = list_number(piece, at) {
                damage.insert(Damage::Decoration);
                at = end;
            } else {
                break;
            }
        }
        let mut body = piece[at..].trim_end();
        let mut closed = false;
        loop {
            tally(body.len());
            let bare = body.trim_end_matches(|c: char| {
                c.is_whitespace()
                    || matches!(c, '#' | '`' | '*')
                    || (parenthesised && matches!(c, ',' | ';' | '_'))
            });
            if bare.len() < body.len() {
                if !body[bare.len()..].trim().trim_matches('#').is_empty() {
                    damage.insert(Damage::Decoration);
                }
                body = bare;
            }
            if !parenthesised || closed {
                break;
            }
            match close_at(body) {
                Some((end, junk)) => {
                    if junk {
                        damage.insert(Damage::TrailingText);
                    }
                    body = &body[..end];
                    closed = true;
                }
                None => {
                    damage.insert(Damage::Parenthesis);
                    break;
                }
            }
        }
        Self { body, parenthesised, closed, quoted, damage }
    }
}

/// Returns the position of the closing parenthesis of `body`, and whether short junk follows it.
fn close_at(body: &str) -> Option<(usize, bool)> {
    let end = body.rfind([')', '）', ']', '】', '}'])?;
    let after = body[end..].chars().next().map_or(end, |c| end + c.len_utf8());
    let junk = body[after..].trim();
    if junk.is_empty() {
        return Some((end, false));
    }
    let before = body[..end].trim_end().chars().next_back();
    let ends_field = before.is_some_and(|c| is_quote(c) || c.is_ascii_digit() || c == '>');
    (junk.len() <= MAX_JUNK_BYTES && ends_field && !is_another_field(junk)).then_some((end, true))
}

/// True if `junk` is a delimiter with a field after it: the parenthesis closed too early.
fn is_another_field(junk: &str) -> bool {
    delimiter_at(junk, 0, true).is_some_and(|end| junk[end..].chars().any(char::is_alphanumeric))
}

/// Returns the end of `12. `, `12) ` or `12、` at `at`.
fn list_number(piece: &str, at: usize) -> Option<usize> {
    let rest = &piece[at..];
    let digits = rest.bytes().take(4).take_while(u8::is_ascii_digit).count();
    let mark = rest[digits..].chars().next()?;
    (digits > 0 && matches!(mark, '.' | ')' | '、' | ':')).then_some(at + digits + mark.len_utf8())
}

/// A field without its quotes.
#[derive(Debug, Clone)]
struct Field<'t> {
    text: &'t str,
    /// A weight that followed the closing quote.
    weight: Option<Weight>,
    /// Whether a quote closed it.
    closed: bool,
    damage: Option<Damage>,
}

impl<'t> Field<'t> {
    fn of(raw: &'t str) -> Self {
        tally(raw.len());
        let raw = raw.trim();
        let plain = |text: &'t str| Self { text, weight: None, closed: false, damage: None };
        let Some(open) = raw.chars().next().filter(|c| is_quote(*c)) else {
            let closing = raw.char_indices().next_back().filter(|(_, c)| is_quote(*c));
            return match closing {
                Some((at, _)) if !raw[..at].contains(is_quote) => {
                    Self { closed: true, damage: Some(Damage::Quotes), ..plain(raw[..at].trim_end()) }
                }
                Some(_) | None => plain(raw),
            };
        };
        let inner = &raw[open.len_utf8()..];
        let Some((at, close)) = inner.char_indices().rev().find(|(_, c)| is_quote(*c)) else {
            return Self { damage: Some(Damage::Quotes), ..plain(inner.trim()) };
        };
        let (text, after) = (inner[..at].trim(), inner[at + close.len_utf8()..].trim());
        let odd = (open != '"' || close != '"').then_some(Damage::Punctuation);
        if after.is_empty() {
            return Self { closed: true, damage: odd, ..plain(text) };
        }
        let junk = |c: char| matches!(c, '\'' | ')' | '）' | '*' | '#' | '`' | '.' | ',' | '>' | ']' | '}');
        if after.chars().all(|c| junk(c) || c.is_whitespace()) {
            return Self { closed: true, damage: Some(Damage::Quotes), ..plain(text) };
        }
        let bare = after.trim_matches(['<', '>', '|', '#', '\'', ' ']);
        match record::weight(bare) {
            Some(weight) => {
                Self { text, weight: Some(weight), closed: true, damage: Some(Damage::Delimiter) }
            }
            // Quotes that are part of the text: `"A" and "B" meet`.
            None => plain(raw),
        }
    }
}

/// A piece read under one assumption about its delimiters.
struct Attempt<'t> {
    tag: Tag,
    fields: Vec<Field<'t>>,
    weight: Option<Weight>,
    /// Whether the description comes before the keywords.
    old_order: bool,
    damage: BTreeSet<Damage>,
}

impl<'t> Attempt<'t> {
    /// Returns `None` if there is no delimiter, if the presence of a leading tag contradicts `tagged`, or if neither tag nor fields
    /// tell what the record is.
    fn new(shape: &Shape<'t>, spelling: Spelling, tagged: bool, kinds: &Kinds) -> Option<Self> {
        let ranges = split(shape.body, spelling);
        if ranges.len() < 2 {
            return None;
        }
        let mut damage = shape.damage.clone();
        if matches!(spelling, Spelling::WordInside | Spelling::Loose) && !spelled_well(shape.body, &ranges) {
            damage.insert(Damage::Delimiter);
        }
        let raw: Vec<&str> = ranges.into_iter().map(|range| shape.body[range].trim()).collect();
        let exact = matches!(spelling, Spelling::Exact | Spelling::ExactOld);
        if tag_of(raw[0]).is_some() != tagged
            || (!tagged && has_delimiter(raw[0]))
            || (exact && raw.iter().skip(1).any(|raw| is_torn(raw)))
        {
            return None;
        }
        let mut fields: Vec<Field<'t>> = raw.iter().map(|raw| Field::of(raw)).collect();
        damage.extend(fields.iter().skip(1).filter_map(|field| field.damage));
        let tag = match tag_of(raw[0]) {
            Some(tag) => {
                if raw[0].contains(['*', '_', '`', ':']) && tag != Tag::Themes {
                    damage.insert(Damage::Decoration);
                }
                fields.remove(0);
                tag
            }
            None => Self::untagged(shape, &raw, &mut fields, kinds, &mut damage)?,
        };
        let new_marks = shape.body.contains(FIELD);
        let mut attempt = Self { tag, fields, weight: None, old_order: false, damage };
        attempt.take_weight();
        attempt.old_order = !new_marks && (shape.parenthesised || shape.quoted || attempt.weight.is_some());
        Some(attempt)
    }

    /// Infers the tag of a record that does not start with one, and puts `fields` into the order of that tag.
    fn untagged(
        shape: &Shape<'t>,
        raw: &[&'t str],
        fields: &mut Vec<Field<'t>>,
        kinds: &Kinds,
        damage: &mut BTreeSet<Damage>,
    ) -> Option<Tag> {
        damage.insert(Damage::Tag);
        // `entity Ada<|#|>Person<|#|>...`, `entity: Ada<|#|>...`
        if let Some((tag, end)) = leading_tag(bounded(raw[0])) {
            let name = raw[0][end..].trim_start_matches([' ', ':', '|', '-', '"', '>', '=']);
            if !name.is_empty() && name.len() < raw[0].len() - end {
                fields[0] = Field::of(name);
                return Some(tag);
            }
        }
        // `Ada<|#|>entity<|#|>Person<|#|>...`
        if let Some(tag) = raw.get(1).and_then(|second| tag_of(second)) {
            fields.remove(1);
            return Some(tag);
        }
        let known: Vec<bool> = fields.iter().take(2).map(|field| kinds.knows(field.text)).collect();
        match (fields.len(), known.as_slice()) {
            (3 | 4, [false, true]) => Some(Tag::Entity),
            // `("event"<|>"The Gathering"<|>"...")`
            (3, [true, false]) => {
                fields.swap(0, 1);
                Some(Tag::Entity)
            }
            (4..=5, _)
                if shape.parenthesised || shape.body.contains(FIELD) || shape.body.contains(OLD_FIELD) =>
            {
                Some(Tag::Relation)
            }
            _ => None,
        }
    }

    /// Removes trailing empty fields and the weight from the end.
    fn take_weight(&mut self) {
        let whole = match self.tag {
            Tag::Entity => 3,
            Tag::Relation => 4,
            Tag::Themes => 1,
        };
        while self.fields.len() > whole && self.fields.last().is_some_and(|field| field.text.is_empty()) {
            self.fields.pop();
            self.damage.insert(Damage::FieldCount);
        }
        let Some(last) = self.fields.last_mut() else { return };
        if let Some(glued) = last.weight.take() {
            self.weight = Some(glued);
        } else if self.fields.len() >= whole
            && self.tag != Tag::Themes
            && let Some(weight) = self.fields.last().and_then(|last| record::weight(last.text))
        {
            if self.tag == Tag::Entity && self.fields.len() == whole {
                return;
            }
            self.fields.pop();
            self.weight = Some(weight);
            if self.tag == Tag::Entity {
                self.damage.insert(Damage::FieldCount);
            }
        }
        if matches!(self.weight, Some(Weight::Worded(_))) {
            self.damage.insert(Damage::Weight);
        }
    }

    /// True if the number of fields is what the tag requires.
    fn is_whole(&self) -> bool {
        match self.tag {
            Tag::Entity => self.fields.len() == 3,
            Tag::Relation => {
                self.fields.len() == 4 || (self.fields.len() == 3 && self.weight.is_some() && self.old_order)
            }
            Tag::Themes => self.fields.len() == 1,
        }
    }

    /// True if a field is missing whose content cannot be inferred.
    fn misses_a_field(&self, kinds: &Kinds) -> bool {
        let is_entity = self.fields.get(1).is_some_and(|second| kinds.knows(second.text));
        match self.tag {
            Tag::Entity => self.fields.len() == 2,
            // Three fields with a type are an entity under the wrong tag; the older form may omit keywords or weight.
            Tag::Relation => self.fields.len() == 3 && !self.old_order && !is_entity,
            Tag::Themes => false,
        }
    }

    fn read(mut self, terminated: bool, closed: bool, kinds: &Kinds) -> Result<RepairedRecord, RejectReason> {
        if !terminated {
            self.drop_cut_tag();
            let ends =
                closed || (self.tag == Tag::Entity && self.fields.last().is_some_and(|last| last.closed));
            let empty = self.fields.last().is_none_or(|last| last.text.is_empty());
            if !self.is_whole() || !ends || empty {
                return Err(RejectReason::Cut);
            }
        }
        if self.misses_a_field(kinds) {
            self.damage.insert(Damage::MissingField);
        } else if !self.is_whole() {
            self.damage.insert(Damage::FieldCount);
        }
        let texts: Vec<&str> = self.fields.iter().map(|field| field.text).collect();
        let weight = self.weight.map_or(1.0, Weight::value);
        let related = |fields: [&str; 2], first: &str, second: &str| {
            let old_order = self.old_order || (second.is_empty() && is_sentence(first));
            let (keywords, description) = if old_order { (second, first) } else { (first, second) };
            relation(fields[0], fields[1], keywords, description, weight)
        };
        let record = match (self.tag, texts.as_slice()) {
            (Tag::Entity, [name, kind, description]) => entity(name, kind, description)?,
            (Tag::Entity, [name, kind, rest @ ..]) if rest.len() == 2 && kinds.knows(kind) => {
                entity(name, kind, &rest.join(" "))?
            }
            // More fields than an entity has: a relation under the wrong tag.
            (Tag::Entity, [source, target, first, second]) => {
                self.damage.insert(Damage::Tag);
                related([source, target], first, second)?
            }
            (Tag::Entity, [name, second]) if kinds.knows(second) || !is_sentence(second) => {
                entity(name, second, "")?
            }
            (Tag::Entity, [name, description]) => entity(name, UNTYPED, description)?,
            (Tag::Relation, [source, target, first, second]) => related([source, target], first, second)?,
            // The older form omits the weight so often that this is no reason to doubt its tag.
            (Tag::Relation, [name, kind, description])
                if self.weight.is_none() && !self.old_order && kinds.knows(kind) =>
            {
                self.damage.insert(Damage::Tag);
                entity(name, kind, description)?
            }
            (Tag::Relation, [source, target, description]) => {
                relation(source, target, "", description, weight)?
            }
            (Tag::Relation, [source, target, rest @ ..]) if rest.len() > 2 => {
                let longest = (0..rest.len()).max_by_key(|i| (rest[*i].len(), *i)).unwrap_or(0);
                if longest + 1 < rest.len() && !self.old_order {
                    return Err(RejectReason::FieldCount);
                }
                let others: Vec<&str> =
                    rest.iter().enumerate().filter(|(i, _)| *i != longest).map(|(_, text)| *text).collect();
                relation(source, target, &others.join(","), rest[longest], weight)?
            }
            (Tag::Themes, fields) if !fields.is_empty() => {
                ParsedRecord::Themes(record::keywords(&fields.join(",")))
            }
            (Tag::Entity | Tag::Relation | Tag::Themes, _) => return Err(RejectReason::FieldCount),
        };
        Ok((record, self.damage))
    }

    /// Removes a last field that is the start of the next record's tag, glued on and then cut.
    fn drop_cut_tag(&mut self) {
        let whole = if self.tag == Tag::Entity { 3 } else { 4 };
        let last = self.fields.last().map(|last| last.text.to_lowercase()).unwrap_or_default();
        let begins = |tag: &str| !last.is_empty() && tag.starts_with(&last);
        if self.fields.len() == whole + 1 && (begins("entity") || begins("relationship")) {
            self.fields.pop();
            self.damage.insert(Damage::Glued);
        }
    }
}

/// True if all delimiters between these fields are spelled correctly.
fn spelled_well(body: &str, fields: &[std::ops::Range<usize>]) -> bool {
    fields.windows(2).all(|pair| {
        let delimiter = &body[pair[0].end..pair[1].start];
        delimiter == FIELD || delimiter == OLD_FIELD
    })
}

fn is_sentence(text: &str) -> bool {
    text.split_whitespace().count() >= SENTENCE_WORDS || text.ends_with(['.', '。'])
}
