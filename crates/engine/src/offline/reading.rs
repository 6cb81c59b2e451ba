//! What the whole text tells about its words: its language, its headings and quotations, what is capital.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::han::MAX_KNOWN_CHARS;
use super::languages::Language;
use super::lexicon::{is_connector, is_opener};
use super::token::{Shape, Token, is_foreign, tokens};

/// Headings, and quotations, whose words are no names of their own, at most.
const MAX_KNOWN: usize = 16;
/// Most words of a heading that is taken for a name as a whole.
const MAX_HEADING_WORDS: usize = 12;
/// Longest quotation, in bytes, that is taken for a title or term.
const MAX_QUOTED_BYTES: usize = 80;
/// Marks that stand around a quotation.
pub(super) const QUOTES: [(&str, &str); 8] = [
    ("\"", "\""),
    ("“", "”"),
    ("``", "''"),
    ("«", "»"),
    ("„", "“"),
    ("「", "」"),
    ("『", "』"),
    ("《", "》"),
];

/// What the whole text tells about its words.
pub(super) struct Reading<'a> {
    pub(super) language: Language,
    pub(super) common: Common,
    /// Words that are capital somewhere other than at the start of a sentence.
    pub(super) capitals: BTreeSet<&'a str>,
    /// Words that are written in small letters somewhere.
    pub(super) small: BTreeSet<&'a str>,
    /// Headings and quotations, the first ones; empty in English.
    pub(super) known: HashSet<&'a str>,
}

/// What small words make noun phrases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Common {
    Phrases,
    /// Phrases whose first word is the head.
    HeadFirst,
    Words,
    Nothing,
}

impl<'a> Reading<'a> {
    pub(super) fn of(text: &'a str, sentences: &'a [Sentence<'a>]) -> Self {
        let language = Language::of(text);
        let words: Vec<&[Token<'_>]> = sentences.iter().map(|sentence| sentence.tokens.as_slice()).collect();
        let has_capitals = words.iter().copied().flatten().any(Token::is_capital);
        let common = match language {
            Language::English if !is_foreign(&words) => Common::Phrases,
            Language::Chinese | Language::Japanese | Language::Korean => Common::Words,
            Language::Arabic | Language::Persian => Common::HeadFirst,
            _ if has_capitals => Common::Nothing,
            _ => Common::Words,
        };
        let (mut capitals, mut small) = (BTreeSet::new(), BTreeSet::new());
        for sentence in sentences.iter().filter(|sentence| !sentence.heading) {
            let inside = sentence.tokens.iter().skip(1);
            capitals.extend(inside.filter(|token| token.is_capital()).map(|token| token.lower.as_str()));
            let lower = sentence.tokens.iter().filter(|token| token.shape == Shape::Lower);
            small.extend(lower.map(|token| token.lower.as_str()));
        }
        let mut known = HashSet::new();
        if language != Language::English {
            let headings = sentences.iter().filter(|sentence| sentence.heading);
            let headings = headings.map(|sentence| heading_range(text, &sentence.range));
            let quotations = sentences.iter().flat_map(|sentence| quoted(text, &sentence.range));
            let fits = |name: &&str| (2..=MAX_KNOWN_CHARS).contains(&name.chars().count());
            let names = headings.take(MAX_KNOWN).chain(quotations.take(MAX_KNOWN)).map(|range| &text[range]);
            known.extend(names.filter(fits));
        }
        Self { language, common, capitals, small, known }
    }

    /// Where known names stand in a sentence: what stands inside one of them is no name of its own.
    pub(super) fn inside(
        &self,
        text: &str,
        sentence: &Sentence<'_>,
        quoted: &[Range<usize>],
    ) -> Vec<Range<usize>> {
        if self.language == Language::English {
            return Vec::new();
        }
        let slice = &text[sentence.range.clone()];
        let places = self.known.iter().flat_map(|name| {
            slice.match_indices(name).map(|(at, name)| {
                let start = sentence.range.start + at;
                start..start + name.len()
            })
        });
        places.chain(quoted.iter().cloned()).collect()
    }

    pub(super) fn is_opener(&self, word: &str) -> bool {
        is_opener(word) || self.language.is_function_word(word)
    }

    /// Whether a word in small letters joins the parts of a name on both sides of it.
    pub(super) fn joins(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let word = tokens[at].lower.as_str();
        if self.language == Language::English {
            return is_connector(word);
        }
        let binds = matches!(word, "und" | "et" | "y" | "e" | "of" | "for")
            || (self.language == Language::German && matches!(word, "das" | "den" | "des" | "do"));
        is_connector(word) && !binds
    }
}

/// A sentence with its words.
pub(super) struct Sentence<'a> {
    pub(super) range: Range<usize>,
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) heading: bool,
}

impl<'a> Sentence<'a> {
    pub(super) fn read(text: &'a str, range: Range<usize>) -> Self {
        let tokens = tokens(text, range.clone());
        let alone =
            text[range.end..].starts_with(['\n', '\r']) || text[..range.start].ends_with(['\n', '\r']);
        let stopped = text[range.clone()].ends_with(['.', '!', '?', ':', ';', ',', '。', '！', '？']);
        let starts_line = text[..range.start].trim_end_matches([' ', '\t']).is_empty()
            || text[..range.start].trim_end_matches([' ', '\t']).ends_with(['\n', '\r']);
        let heading = alone
            && starts_line
            && !text[range.clone()].contains(['\n', '\r', '|'])
            && !stopped
            && (1..=MAX_HEADING_WORDS).contains(&tokens.len());
        Self { range, tokens, heading }
    }
}

/// The heading without marks in front and a bracket behind.
pub(super) fn heading_range(text: &str, range: &Range<usize>) -> Range<usize> {
    let line = &text[range.clone()];
    let bare =
        line.trim_start_matches(|c: char| c == '#' || c == '*' || c == '-' || c == '>' || c.is_whitespace());
    let start = range.start + line.len() - bare.len();
    let end = bare.rfind(" (").filter(|_| bare.ends_with(')')).unwrap_or(bare.len());
    start..start + bare[..end].trim_end_matches(['*', '#', ' ']).len()
}

/// What stands in quotation marks, where it is short.
pub(super) fn quoted(text: &str, sentence: &Range<usize>) -> Vec<Range<usize>> {
    let slice = &text[sentence.clone()];
    let mut found = Vec::new();
    for (open, close) in QUOTES {
        let mut from = 0;
        while let Some(start) = slice[from..].find(open).map(|at| from + at + open.len()) {
            let Some(length) = slice[start..].find(close) else { break };
            let inner = &slice[start..start + length];
            let bare = inner.trim_matches(|c: char| c.is_whitespace() || c == ',' || c == '.');
            if !bare.is_empty() && bare.len() <= MAX_QUOTED_BYTES {
                let lead = inner.len()
                    - inner.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == '.').len();
                let start = sentence.start + start + lead;
                found.push(start..start + bare.len());
            }
            from = start + length + close.len();
        }
    }
    found
}
