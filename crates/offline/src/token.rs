//! Words with their shape, part of speech and the text before them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::LazyLock;

use harper_brill::{BrillTagger, FreqDict, Tagger, UPOS, brill_tagger};
use unicode_segmentation::UnicodeSegmentation;

use super::lexicon::{is_name_abbreviation, is_stop_word};

/// Longest run of words tagged at once; the tagger's time and memory grow with the run.
const MAX_TAGGED_WORDS: usize = 256;
/// Share of unknown lowercase words above which a text is not English.
const FOREIGN_SHARE: f32 = 0.5;

/// Minimum number of consecutive uppercase words, including a stop word, that count as emphasis.
const MIN_SHOUTED_WORDS: usize = 4;

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// No capital, or a script without case.
    Lower,
    /// Only the first letter is a capital.
    Capital,
    /// Two or more letters, all capitals.
    Upper,
    /// A lowercase first letter and a later capital, as in `iPhone`.
    Mixed,
    /// The word begins with a digit.
    Digit,
}

/// One word.
#[derive(Debug, Clone)]
pub(super) struct Token<'a> {
    /// Offset of the first byte.
    pub(super) start: usize,
    /// Offset after the last byte, without a possessive ending.
    pub(super) end: usize,
    /// The word without a possessive ending.
    pub(super) text: &'a str,
    /// The word in lowercase.
    pub(super) lower: String,
    /// Text between the previous word and this one, including a possessive ending.
    pub(super) gap: &'a str,
    /// How it is written.
    pub(super) shape: Shape,
    /// Its part of speech, guessed if the tagger does not know the word.
    pub(super) tag: UPOS,
    /// True if the tagger knows the word.
    pub(super) known: bool,
}

impl Token<'_> {
    /// True if capitals mark the word as a possible name.
    pub(super) fn is_capital(&self) -> bool {
        matches!(self.shape, Shape::Capital | Shape::Upper | Shape::Mixed)
    }

    /// True if the word is not a stop word.
    pub(super) fn is_content(&self) -> bool {
        !is_stop_word(&self.lower)
    }

    /// True if the word contains a shortened verb or an elided function word: `we'll`, `don't`, `l'eau`; false for `O'Brien` and
    /// `L'Aquila`.
    pub(super) fn is_contraction(&self) -> bool {
        const SHORTENED: [&str; 5] = ["ll", "ve", "re", "d", "m"];
        const NEGATED: [&str; 24] = [
            "do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "ca", "wo", "could",
            "would", "should", "might", "must", "may", "need", "ought", "dare", "sha", "ai", "a",
        ];
        const APOSTROPHES: [char; 2] = ['\'', '’'];
        let Some((before, behind)) = self.lower.rsplit_once(APOSTROPHES) else { return false };
        let negates = behind == "t" && before.strip_suffix('n').is_some_and(|verb| NEGATED.contains(&verb));
        let elides = matches!(self.shape, Shape::Lower | Shape::Capital)
            && self.lower.split_once(APOSTROPHES).is_some_and(|(article, _)| is_elided_article(article))
            && self.text.rsplit(APOSTROPHES).next().is_some_and(|word| word.starts_with(char::is_lowercase));
        SHORTENED.contains(&behind) || negates || elides
    }
}

/// True if a lowercase word before an apostrophe is a French or Italian function word without its last letter.
pub(super) fn is_elided_article(word: &str) -> bool {
    const ELIDED: [&str; 16] =
        ["l", "d", "j", "c", "n", "m", "t", "s", "qu", "un", "dell", "all", "nell", "sull", "dall", "quell"];
    ELIDED.contains(&word)
}

/// True if a capital means nothing because the word begins a sentence, direct speech, a list item, a table cell or the text after
/// a colon.
pub(super) fn opens(tokens: &[Token<'_>], at: usize) -> bool {
    const QUOTES: [char; 9] = ['"', '“', '„', '«', '‘', '‚', '「', '『', '\''];
    if at == 0 {
        return true;
    }
    let before = tokens[at].gap.trim_end_matches(['(', '[', '_', '*']);
    let previous = &tokens[at - 1];
    let ends = before.contains(['!', '?', '…'])
        || (before.starts_with(". ")
            && previous.text.chars().count() > 1
            && !previous.text.contains('.')
            && !is_name_abbreviation(&previous.lower));
    let quotes = before
        .strip_suffix(QUOTES)
        .is_some_and(|rest| rest.is_empty() || !rest.ends_with(char::is_alphanumeric));
    // `name: Text | name: Text`
    let marks = before.ends_with('：')
        || (before.ends_with(char::is_whitespace) && before.trim_end().ends_with([':', '|', '•']));
    // `1. Text`, `2) Text` or `[x] Text`
    let begins_item = at == 1 && before.starts_with(['.', ')', ']', '、']) && previous.text.len() <= 2;
    ends || marks || begins_item || (quotes && before.len() > 1)
}

/// Tags the words of one sentence. Stretches written entirely in capitals are read as lowercase. The parts of an address, such as
/// `https://example.org/Guides`, are not words.
pub(super) fn tokens(text: &str, sentence: Range<usize>) -> Vec<Token<'_>> {
    let offset = sentence.start;
    let slice = &text[sentence];
    let mut found: Vec<Token<'_>> = Vec::new();
    let mut gap_start = 0;
    let addresses = addresses(slice);
    let is_address = |at: usize| {
        let next = addresses.partition_point(|address| address.end <= at);
        addresses.get(next).is_some_and(|address| address.start <= at)
    };
    let words = slice.unicode_word_indices().filter(|(at, _)| !is_address(*at));
    // Unicode puts a wide colon inside words, as it does a colon.
    let parts = words.flat_map(|(mut at, word)| {
        word.split('：').map(move |part| {
            let start = at;
            at += part.len() + '：'.len_utf8();
            (start, part)
        })
    });
    for (at, word) in parts.filter(|(_, word)| !word.is_empty()) {
        let bare = without_possessive(word);
        found.push(Token {
            start: offset + at,
            end: offset + at + bare.len(),
            text: bare,
            lower: bare.to_lowercase(),
            gap: gap(&slice[gap_start..at]),
            shape: shape(bare),
            tag: UPOS::NOUN,
            known: false,
        });
        gap_start = at + bare.len();
    }
    lower_emphasized(&mut found);
    tag(&mut found);
    found
}

/// Returns the ranges of the addresses of pages and mailboxes in a text, ascending.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let marks = [("://", ""), ("www.", "www."), ("@", "")];
    let mut places: Vec<usize> =
        marks.iter().flat_map(|(mark, own)| text.match_indices(mark).map(|(at, _)| at + own.len())).collect();
    places.sort_unstable();
    for at in places {
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let before = text[..at].bytes().rev();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
        let start = at - before.take_while(is_name).count();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'*+,;=%(".contains(byte);
        let end = at + text[at..].bytes().take_while(is_part).count();
        let end = start + text[start..end].trim_end_matches(|c| ".,;:!?'(".contains(c)).len();
        // A mailbox has a host with a dot: `@ada` and `5 @ 3` are not addresses.
        let is_whole = match text.get(at..end) {
            Some(mailbox) if mailbox.starts_with('@') => mailbox.contains('.'),
            Some(page) => page != "://" && !page.is_empty(),
            None => false,
        };
        if start < at && is_whole {
            found.push(start..end);
        }
    }
    found
}

/// Marks uppercase text as lowercase: whole sentences, and stretches that contain stop words.
fn lower_emphasized(tokens: &mut [Token<'_>]) {
    let total = tokens.iter().filter(|token| token.shape != Shape::Digit).count();
    let is_upper = |token: &Token<'_>| token.shape == Shape::Upper || token.text == "I" || token.text == "A";
    for stretch in tokens.chunk_by_mut(|a, b| {
        let goes_on = |token: &Token<'_>| is_upper(token) || token.shape == Shape::Digit;
        goes_on(a) && goes_on(b) && matches!(b.gap.trim(), "" | ",")
    }) {
        let shouted = stretch.iter().filter(|token| token.shape != Shape::Digit).count();
        let has_small = stretch.iter().any(|token| is_stop_word(&token.lower));
        if shouted >= MIN_SHOUTED_WORDS && is_upper(&stretch[0]) && (has_small || shouted == total) {
            let words = stretch.iter_mut().filter(|token| token.shape != Shape::Digit);
            words.for_each(|token| token.shape = Shape::Lower);
        }
    }
}

/// Returns the text between two words, or a space for a line break within a sentence.
fn gap(between: &str) -> &str {
    let wraps = between.contains(['\n', '\r']) && between.chars().all(|c| c.is_whitespace() || c == '>');
    if wraps { " " } else { between }
}

/// True if the English tagger does not know most lowercase words.
pub(super) fn is_foreign(sentences: &[&[Token<'_>]]) -> bool {
    let small = || sentences.iter().copied().flatten().filter(|token| token.shape == Shape::Lower);
    let all = small().count();
    let unknown = small().filter(|token| !token.known).count();
    all >= 4 && unknown as f32 > FOREIGN_SHARE * all as f32
}

/// Loads the tagger on first use: its model is parsed once, in some tens of milliseconds.
static TAGGER: LazyLock<Arc<BrillTagger<FreqDict>>> = LazyLock::new(brill_tagger);

/// True if a lowercase word by itself is a verb for the English tagger, except for `works`. `sells` is one because `sell` is.
pub(super) fn is_verb(word: &str) -> bool {
    let is_tagged = |word: &str| TAGGER.tag_sentence(&[word.to_owned()]) == [Some(UPOS::VERB)];
    word == "works" || is_tagged(word) || word.strip_suffix('s').is_some_and(is_tagged)
}

/// True if the English tagger knows a lowercase word.
pub(super) fn is_known(word: &str) -> bool {
    TAGGER.tag_sentence(&[word.to_owned()]).first().is_some_and(Option::is_some)
}

fn tag(tokens: &mut [Token<'_>]) {
    for run in tokens.chunks_mut(MAX_TAGGED_WORDS) {
        let words: Vec<String> = run.iter().map(|token| token.lower.clone()).collect();
        let tags = TAGGER.tag_sentence(&words);
        for (token, tag) in run.iter_mut().zip(tags) {
            token.known = tag.is_some();
            token.tag = tag.unwrap_or_else(|| guess(token));
        }
    }
}

fn guess(token: &Token<'_>) -> UPOS {
    match token.shape {
        Shape::Digit => UPOS::NUM,
        Shape::Capital | Shape::Upper | Shape::Mixed => UPOS::PROPN,
        Shape::Lower if token.lower.ends_with("ly") => UPOS::ADV,
        Shape::Lower if token.lower.ends_with("ed") => UPOS::VERB,
        Shape::Lower => UPOS::NOUN,
    }
}

fn shape(word: &str) -> Shape {
    let mut chars = word.chars();
    let Some(first) = chars.next() else { return Shape::Lower };
    if first.is_numeric() {
        return Shape::Digit;
    }
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    if first.is_uppercase() {
        return if letters().count() > 1 && letters().all(char::is_uppercase) {
            Shape::Upper
        } else {
            Shape::Capital
        };
    }
    if chars.any(char::is_uppercase) { Shape::Mixed } else { Shape::Lower }
}

fn without_possessive(word: &str) -> &str {
    ["'s", "’s", "'S", "’S"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
        .filter(|bare| !bare.is_empty())
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_are_distinguished_from_names_with_an_apostrophe() {
        let text =
            "we'll don't Don’t they’ve he'd I'm l'eau d'une qu'il l'Aquila O'Brien D'Angelo boy's bridge";
        let found = tokens(text, 0..text.len());
        let contracted: Vec<&str> =
            found.iter().filter(|token| token.is_contraction()).map(|token| token.text).collect();
        assert_eq!(
            contracted,
            ["we'll", "don't", "Don’t", "they’ve", "he'd", "I'm", "l'eau", "d'une", "qu'il"]
        );
    }

    #[test]
    fn capitals_at_the_start_of_sentences_and_speech_are_recognized() {
        let text =
            "Then Ada said: 'Good day,' and \"Humbug\" to Mr. Voss! But Bo's friend (\"Old Joe\") slept";
        let found = tokens(text, 0..text.len());
        let opening: Vec<&str> =
            (0..found.len()).filter(|&at| opens(&found, at)).map(|at| found[at].text).collect();
        assert_eq!(opening, ["Then", "Good", "Humbug", "But", "Old"]);
    }

    #[test]
    fn parts_of_addresses_are_not_words() {
        for (text, expected) in [
            (
                "Ada (see https://example.org/Guides/Setup?x=Bo#Top), www.Example.org/A and Bo.",
                "Ada see and Bo",
            ),
            ("Write to Ada.Byron@Example.org, Bo!", "Write to Bo"),
            ("请访问https://example.org/Wiki。再见", "请 访 问 再 见"),
            ("@ada has 5 @ 3 and a://", "ada has 5 3 and a"),
        ] {
            let found = tokens(text, 0..text.len());
            let words: Vec<&str> = found.iter().map(|token| token.text).collect();
            assert_eq!(words.join(" "), expected);
        }
    }

    #[test]
    fn passages_in_capitals_are_read_as_lower_case() {
        let text = "Ada of the BBC: YOU AGREE THAT THE BANK pays IBM and SAP";
        let found = tokens(text, 0..text.len());
        let capital: Vec<&str> =
            found.iter().filter(|token| token.is_capital()).map(|token| token.text).collect();
        assert_eq!(capital, ["Ada", "BBC", "IBM", "SAP"]);
    }
}
