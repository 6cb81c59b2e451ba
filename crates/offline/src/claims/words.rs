//! The words, dates and offices of a sentence.

use std::ops::Range;

use super::office::{Office, office_at};
use super::time::{Time, time_at};

/// One word or sign of a sentence.
#[derive(Debug, Clone)]
pub(super) struct Word<'a> {
    /// Its range in the text, in bytes.
    pub(super) range: Range<usize>,
    pub(super) text: &'a str,
    pub(super) lower: String,
}

impl Word<'_> {
    /// True if it contains a capital or a digit, or belongs to a script without case.
    pub(super) fn is_name_like(&self) -> bool {
        self.text
            .chars()
            .any(|c| c.is_uppercase() || c.is_numeric() || (c.is_alphabetic() && !c.is_lowercase()))
    }

    pub(super) fn is_sign(&self) -> bool {
        self.text.chars().all(|c| !c.is_alphanumeric())
    }
}

/// A part of a sentence.
#[derive(Debug, Clone)]
pub(super) enum Item<'a> {
    Word(Word<'a>),
    /// A date or period with its preposition.
    Time(Time),
    /// Offices, such as `president and chief executive officer`.
    Offices(Vec<Office>),
    /// A possessive ending.
    Possessive,
}

impl<'a> Item<'a> {
    pub(super) fn word(&self) -> Option<&Word<'a>> {
        match self {
            Self::Word(word) => Some(word),
            Self::Time(_) | Self::Offices(..) | Self::Possessive => None,
        }
    }

    pub(super) fn lower(&self) -> &str {
        self.word().map_or("", |word| word.lower.as_str())
    }
}

/// Returns the items of the sentence at `range` of `text`, in order.
pub(super) fn items(text: &str, range: Range<usize>) -> Vec<Item<'_>> {
    let words = words(text, range);
    let mut items = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        if let Some((time, next)) = time_at(&words, at) {
            // If the sentence has another date, a year directly after a name is part of it: `CEO of Mattoni 1873 in 2014`.
            let names = is_bare_year(&words, at, next) && has_worded_date(&words);
            items.push(if names { Item::Word(words[at].clone()) } else { Item::Time(time) });
            at = next;
        } else if let Some((offices, next)) = offices_at(&words, at) {
            items.push(Item::Offices(offices));
            at = next;
        } else if matches!(words[at].text, "'s" | "’s" | "'" | "’") {
            items.push(Item::Possessive);
            at += 1;
        } else {
            items.push(Item::Word(words[at].clone()));
            at += 1;
        }
    }
    items
}

/// True if a single word is a year that follows a name.
fn is_bare_year(words: &[Word<'_>], at: usize, next: usize) -> bool {
    let named = at.checked_sub(1).map(|before| &words[before]);
    let is_name = |word: &Word<'_>| word.is_name_like() && word.text.chars().all(char::is_alphabetic);
    next == at + 1 && at > 1 && named.is_some_and(is_name)
}

/// True if the words contain a date with a preposition, as in `in 2014`.
fn has_worded_date(words: &[Word<'_>]) -> bool {
    (0..words.len()).any(|at| {
        let is_preposition =
            words[at].text.chars().all(|c| c.is_alphabetic() && !c.is_uppercase() || at == 0);
        is_preposition && time_at(words, at).is_some_and(|(_, next)| next > at + 1)
    })
}

/// Reads one or more offices of one person: `chairman and chief executive officer`.
fn offices_at(words: &[Word<'_>], at: usize) -> Option<(Vec<Office>, usize)> {
    let (first, mut next) = office_at(words, at)?;
    let mut offices = vec![first];
    while let Some(word) = words.get(next)
        && matches!(word.lower.as_str(), "and" | "und" | "&" | ",")
        && let Some((office, after)) = office_at(words, next + 1)
    {
        offices.push(office);
        next = after;
    }
    Some((offices, next))
}

/// Signs at the end of a word that do not belong to it.
const CLOSERS: [char; 11] = [',', ';', ':', '!', '?', ')', ']', '"', '”', '“', '»'];
const OPENERS: [char; 6] = ['(', '[', '"', '“', '„', '«'];

fn words(text: &str, range: Range<usize>) -> Vec<Word<'_>> {
    let mut found: Vec<Word<'_>> = Vec::new();
    let slice = &text[range.clone()];
    let mut depth = 0usize;
    let mut at = 0;
    for chunk in slice.split_whitespace() {
        let start = at + slice[at..].find(chunk).unwrap_or(0);
        at = start + chunk.len();
        let is_last = slice[at..].trim().is_empty();
        push_chunk(text, range.start + start, chunk, is_last, &mut depth, &mut found);
    }
    join_legal_forms(text, found)
}

fn push_chunk<'a>(
    text: &'a str,
    start: usize,
    chunk: &str,
    is_last: bool,
    depth: &mut usize,
    found: &mut Vec<Word<'a>>,
) {
    let mut push = |range: Range<usize>| {
        if !range.is_empty() {
            let word = &text[range.clone()];
            found.push(Word { range, text: word, lower: word.to_lowercase() });
        }
    };
    let (mut from, mut to) = (start, start + chunk.len());
    while let Some(c) = text[from..to].chars().next().filter(|c| OPENERS.contains(c)) {
        // `Fluid (company)` is one name.
        let qualifies = c == '('
            && text[from..to].ends_with(')')
            && !text[from..to].contains(|c: char| c.is_ascii_digit());
        if qualifies {
            break;
        }
        *depth += usize::from(c == '(');
        push(from..from + c.len_utf8());
        from += c.len_utf8();
    }
    let mut behind = Vec::new();
    // A mark after a capitalized word within a sentence is part of a name: `Yum! Brands`.
    let named = !is_last && text[from..to].starts_with(char::is_uppercase) && text[from..to].ends_with('!');
    while let Some(c) = text[from..to].chars().next_back().filter(|_| !named) {
        let closes = CLOSERS.contains(&c) && !(c == ')' && *depth == 0 && text[from..to].contains('('));
        let stops = c == '.' && is_last && !keeps_its_stop(&text[from..to]);
        if !closes && !stops {
            break;
        }
        *depth = depth.saturating_sub(usize::from(c == ')'));
        to -= c.len_utf8();
        behind.push(to..to + c.len_utf8());
    }
    let word = &text[from..to];
    let dash = word.find(['–', '—', '-', '/']).filter(|dash| {
        let sign = word[*dash..].chars().next().map_or(1, char::len_utf8);
        let is_year = |part: &str| part.len() == 4 && part.bytes().all(|b| b.is_ascii_digit());
        let open = word[dash + sign..].is_empty() && !word[*dash..].starts_with('/');
        is_year(&word[..*dash]) && (is_year(&word[dash + sign..]) || open)
    });
    let possessive = ["'s", "’s"].iter().find(|ending| word.len() > 2 && word.ends_with(**ending));
    let plural = ["s'", "s’"].iter().find(|ending| word.len() > 3 && word.ends_with(**ending));
    if let Some(dash) = dash {
        let sign = word[dash..].chars().next().map_or(1, char::len_utf8);
        push(from..from + dash);
        push(from + dash..from + dash + sign);
        push(from + dash + sign..to);
    } else if let Some(ending) = possessive {
        push(from..to - ending.len());
        push(to - ending.len()..to);
    } else if let Some(ending) = plural {
        push(from..to - ending.len() + 1);
        push(to - ending.len() + 1..to);
    } else {
        push(from..to);
    }
    for range in behind.into_iter().rev() {
        push(range);
    }
}

/// True if the full stop at the end of a sentence also belongs to its last word: `Inc.`, `B.M.`
fn keeps_its_stop(word: &str) -> bool {
    let body = word.trim_end_matches('.');
    is_legal_form(&body.to_lowercase())
        || is_capital_form(body)
        || body.contains('.')
        || body.chars().count() == 1
}

fn is_legal_form(lower: &str) -> bool {
    matches!(
        lower.trim_end_matches('.'),
        "inc"
            | "ltd"
            | "llc"
            | "plc"
            | "corp"
            | "co"
            | "lp"
            | "llp"
            | "jr"
            | "sr"
            | "s.a"
            | "gmbh"
            | "ag"
            | "n.v"
            | "limited"
            | "incorporated"
            | "s.p.a"
            | "a.s"
            | "pty"
    )
}

/// True for legal forms that are ordinary words unless capitalized.
fn is_capital_form(text: &str) -> bool {
    matches!(
        text.trim_end_matches('.'),
        "UAB"
            | "S.L"
            | "SL"
            | "SA"
            | "S.A.S"
            | "SAS"
            | "SE"
            | "AB"
            | "AS"
            | "ASA"
            | "A/S"
            | "ApS"
            | "Oy"
            | "Oyj"
            | "NV"
            | "BV"
            | "B.V"
            | "KG"
            | "SpA"
            | "S.r.l"
            | "Srl"
            | "SARL"
            | "S.p.A"
            | "d.o.o"
            | "OÜ"
            | "SIA"
    )
}

/// Merges the comma and legal form of `Netflix, Inc.` into the name.
fn join_legal_forms<'a>(text: &'a str, words: Vec<Word<'a>>) -> Vec<Word<'a>> {
    let mut joined: Vec<Word<'a>> = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let form = words
            .peek()
            .filter(|next| word.text == "," && (is_legal_form(&next.lower) || is_capital_form(next.text)))
            .map(|next| next.range.end);
        match (form, joined.last_mut()) {
            (Some(end), Some(last)) if !last.is_sign() => {
                last.range.end = end;
                last.text = &text[last.range.clone()];
                last.lower = last.text.to_lowercase();
                words.next();
            }
            _ => joined.push(word),
        }
    }
    joined
}
