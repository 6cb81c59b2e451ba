//! Finds the phrases of a text that may name an entity, and ranks them.

use std::collections::BTreeMap;
use std::ops::Range;

use harper_brill::UPOS;

use super::lexicon::{is_connector, is_magnitude, is_month, is_name_abbreviation, is_opener};
use super::scripts;
use super::token::{Shape, Token, is_foreign, tokens};
use crate::text::{clean_name, entity_key, sentences};

/// Most words of one name.
const MAX_NAME_WORDS: usize = 12;
/// Most words of one noun phrase; longer ones keep their last words.
const MAX_NOUN_PHRASE_WORDS: usize = 4;
/// Most words of a heading that is taken for a name as a whole.
const MAX_HEADING_WORDS: usize = 12;
/// Longest quotation, in bytes, that is taken for a title or term.
const MAX_QUOTED_BYTES: usize = 80;

/// A part of a text that may name an entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrase {
    /// Where it first stands; on character borders.
    pub range: Range<usize>,
    /// Its name, cleaned.
    pub text: String,
    /// What it looks like.
    pub kind: PhraseKind,
    /// How likely it is an entity of the text; comparable within one text only.
    pub score: f32,
}

/// What a phrase looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PhraseKind {
    /// A heading as a whole.
    Heading,
    /// A proper name.
    Name,
    /// Something in quotation marks.
    Quoted,
    /// A year, day or period.
    Date,
    /// A number with its unit, or alone.
    Quantity,
    /// Common nouns with their adjectives.
    NounPhrase,
}

/// The phrases of `text` that may name an entity, best first; ties by place.
///
/// - Every name once (compared by key), where it first stands.
/// - Names come before dates, dates before quantities and common nouns; repetition and an early place count.
/// - Texts without capitals have noun phrases only; texts in other languages than English no common nouns of several
///   words; scripts without spaces are cut where the script changes or at function words.
pub fn phrases(text: &str) -> Vec<Phrase> {
    let sentences: Vec<Sentence<'_>> =
        sentences(text).into_iter().map(|range| Sentence::read(text, range)).collect();
    let words: Vec<&[Token<'_>]> = sentences.iter().map(|sentence| sentence.tokens.as_slice()).collect();
    let foreign = is_foreign(&words);
    let capitals = capitals_inside(&sentences);
    let mut found = Found { text, by_key: BTreeMap::new(), words: 0 };
    for sentence in &sentences {
        if sentence.heading {
            found.add(heading_range(text, &sentence.range), PhraseKind::Heading);
        }
        names(sentence, &capitals, &mut found);
        quoted(text, &sentence.range, &mut found);
        dates_and_quantities(&sentence.tokens, &mut found);
        noun_phrases(&sentence.tokens, foreign, &mut found);
        for range in scripts::runs(&text[sentence.range.clone()]) {
            found.add(
                sentence.range.start + range.start..sentence.range.start + range.end,
                PhraseKind::NounPhrase,
            );
        }
        found.words += sentence.tokens.len();
    }
    found.ranked()
}

struct Sentence<'a> {
    range: Range<usize>,
    tokens: Vec<Token<'a>>,
    heading: bool,
}

impl<'a> Sentence<'a> {
    fn read(text: &'a str, range: Range<usize>) -> Self {
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
fn heading_range(text: &str, range: &Range<usize>) -> Range<usize> {
    let line = &text[range.clone()];
    let bare =
        line.trim_start_matches(|c: char| c == '#' || c == '*' || c == '-' || c == '>' || c.is_whitespace());
    let start = range.start + line.len() - bare.len();
    let end = bare.rfind(" (").filter(|_| bare.ends_with(')')).unwrap_or(bare.len());
    start..start + bare[..end].trim_end_matches(['*', '#', ' ']).len()
}

/// Words that are capital somewhere other than at the start of a sentence.
fn capitals_inside(sentences: &[Sentence<'_>]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for sentence in sentences.iter().filter(|sentence| !sentence.heading) {
        for token in sentence.tokens.iter().skip(1).filter(|token| token.is_capital()) {
            *counts.entry(token.lower.clone()).or_insert(0) += 1;
        }
    }
    counts
}

/// Runs of capital words with the small words between them.
fn names(sentence: &Sentence<'_>, capitals: &BTreeMap<String, u32>, found: &mut Found<'_>) {
    let tokens = &sentence.tokens;
    let mut at = 0;
    while at < tokens.len() {
        if !starts_name(tokens, at, sentence.heading, capitals) {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < tokens.len() && end - at < MAX_NAME_WORDS {
            match name_goes_on(tokens, end) {
                0 => break,
                more => end += more,
            }
        }
        let end = end.min(tokens.len());
        emit_name(&tokens[at..end], found);
        at = end;
    }
}

fn starts_name(tokens: &[Token<'_>], at: usize, heading: bool, capitals: &BTreeMap<String, u32>) -> bool {
    let token = &tokens[at];
    if token.shape == Shape::Digit {
        // `2018 Winter Olympics`, `29th Berlin Festival`; but `a 2018 American film`, and days before months.
        let counted = at > 0 && matches!(tokens[at - 1].lower.as_str(), "a" | "an" | "in");
        let next = tokens.get(at + 1).filter(|next| next.is_capital() && next.gap == " ");
        return token.text.len() >= 2
            && !(counted && is_year(token.text))
            && next.is_some_and(|next| !is_month(&next.lower) && !is_opener(&next.lower));
    }
    // Acronyms such as `IT` and `WHO` are no small words.
    let opener = token.shape == Shape::Capital && is_opener(&token.lower);
    if !token.is_capital() || opener || is_part_of_date(tokens, at) {
        return false;
    }
    if at > 0 || heading || token.shape != Shape::Capital {
        return true;
    }
    // At the start of a sentence a capital proves nothing about a word the tagger knows.
    let common = token.known && token.tag != UPOS::PROPN;
    let next = tokens.get(at + 1).filter(|next| next.is_capital() && joins(next.gap));
    !common
        || capitals.contains_key(&token.lower)
        || next.is_some_and(|_| token.tag != UPOS::VERB && !is_part_of_date(tokens, at + 1))
}

/// Whether a capital word is a month: the names of `Jan Hus` and `April March` are not.
fn is_part_of_date(tokens: &[Token<'_>], at: usize) -> bool {
    let token = &tokens[at];
    if token.shape != Shape::Capital || !is_month(&token.lower) {
        return false;
    }
    let before = at > 0 && tokens[at - 1].shape == Shape::Digit;
    let next = tokens.get(at + 1).filter(|next| matches!(next.gap, " " | ", " | ". "));
    let after = next.is_some_and(|next| next.shape == Shape::Digit);
    let named = next.is_some_and(|next| next.is_capital() && next.gap == " ");
    before || after || !named
}

/// How many words from `at` belong to the name before it.
fn name_goes_on(tokens: &[Token<'_>], at: usize) -> usize {
    let token = &tokens[at];
    let previous = &tokens[at - 1];
    let initial = previous.text.chars().count() == 1 || previous.text.contains('.');
    let joined =
        joins(token.gap) || (token.gap == ". " && (initial || is_name_abbreviation(&previous.lower)));
    if !joined && token.gap != " & " {
        return 0;
    }
    if token.is_capital() {
        return usize::from(!is_part_of_date(tokens, at));
    }
    if token.shape == Shape::Digit {
        return usize::from(token.text.len() <= 4 && matches!(token.gap, " " | "-"));
    }
    if token.gap == "-" && !token.known && token.text.chars().count() <= 4 {
        // The second half of a Korean given name, as in `Kim Man-il`.
        return 1;
    }
    if !is_connector(&token.lower) || token.gap != " " {
        return 0;
    }
    // Up to two small words between two capitals: `Bank of the West`, `Leonardo da Vinci`.
    for small in 1..=2 {
        let Some(next) = tokens.get(at + small).filter(|next| next.gap == " ") else { return 0 };
        let year = next.shape == Shape::Digit && next.text.len() == 4 && token.lower == "of";
        if year || (next.is_capital() && !is_part_of_date(tokens, at + small)) {
            return small + 1;
        }
        if next.lower != "the" && !is_connector(&next.lower) {
            return 0;
        }
    }
    0
}

fn joins(gap: &str) -> bool {
    matches!(gap, " " | "&" | "-" | "–" | " - " | "'" | "’" | "." | "/" | "'s " | "’s ")
}

fn emit_name(tokens: &[Token<'_>], found: &mut Found<'_>) {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return };
    found.add(first.start..with_stop(found.text, last), PhraseKind::Name);
    // What possessives join is also two names: `Germany's Angela Merkel`.
    let mut start = 0;
    for at in 1..tokens.len() {
        if tokens[at].gap.len() > 1 && tokens[at].gap.ends_with("s ") {
            found.add(tokens[start].start..tokens[at - 1].end, PhraseKind::Name);
            start = at;
        }
    }
    if start > 0 {
        found.add(tokens[start].start..last.end, PhraseKind::Name);
    }
}

/// The end of a word, with the full stop that shortens it.
fn with_stop(text: &str, token: &Token<'_>) -> usize {
    let shortened = token.text.contains('.') || is_name_abbreviation(&token.lower);
    if shortened && text[token.end..].starts_with('.') { token.end + 1 } else { token.end }
}

/// What stands in quotation marks, where it is short.
fn quoted(text: &str, sentence: &Range<usize>, found: &mut Found<'_>) {
    const PAIRS: [(&str, &str); 8] = [
        ("\"", "\""),
        ("“", "”"),
        ("``", "''"),
        ("«", "»"),
        ("„", "“"),
        ("「", "」"),
        ("『", "』"),
        ("《", "》"),
    ];
    let slice = &text[sentence.clone()];
    for (open, close) in PAIRS {
        let mut from = 0;
        while let Some(start) = slice[from..].find(open).map(|at| from + at + open.len()) {
            let Some(length) = slice[start..].find(close) else { break };
            let inner = &slice[start..start + length];
            let bare = inner.trim_matches(|c: char| c.is_whitespace() || c == ',' || c == '.');
            if !bare.is_empty() && bare.len() <= MAX_QUOTED_BYTES {
                let lead = inner.len()
                    - inner.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == '.').len();
                let start = sentence.start + start + lead;
                found.add(start..start + bare.len(), PhraseKind::Quoted);
            }
            from = start + length + close.len();
        }
    }
}

fn dates_and_quantities(tokens: &[Token<'_>], found: &mut Found<'_>) {
    let mut at = 0;
    while at < tokens.len() {
        let (length, kind) = date(&tokens[at..]).map_or_else(
            || (quantity(&tokens[at..]), PhraseKind::Quantity),
            |length| (length, PhraseKind::Date),
        );
        if length == 0 {
            at += 1;
            continue;
        }
        let last = &tokens[at + length - 1];
        let mut start = tokens[at].start;
        let mut end = last.end;
        if kind == PhraseKind::Quantity {
            let before = &found.text[..start];
            start -= ["$", "€", "£", "¥"]
                .iter()
                .find(|sign| before.ends_with(**sign))
                .map_or(0, |sign| sign.len());
            end += usize::from(found.text[end..].starts_with('%'));
        }
        found.add(start..end, kind);
        at += length;
    }
}

/// Words of the date that begins here.
fn date(tokens: &[Token<'_>]) -> Option<usize> {
    let word = |i: usize| tokens.get(i).filter(|token| i == 0 || matches!(token.gap, " " | ", " | " of "));
    let month = |i: usize| {
        word(i).is_some_and(|token| is_month(&token.lower) && (token.lower != "may" || token.is_capital()))
    };
    let day = |i: usize| word(i).is_some_and(|token| is_day(&token.lower));
    let year = |i: usize| word(i).is_some_and(|token| is_year(&token.lower));
    if month(0) {
        let length = match (day(1), year(1)) {
            (true, _) if year(2) => 3,
            (true, _) | (_, true) => 2,
            _ => 1,
        };
        // `march` and `may` are words of their own, and `Jan` is a name.
        let named = tokens.get(1).is_some_and(|next| next.is_capital() && next.gap == " ");
        let bare = length == 1 && (named || !tokens[0].is_capital());
        return (!bare).then_some(length);
    }
    if day(0) && month(1) {
        return Some(if year(2) { 3 } else { 2 });
    }
    if tokens.first().is_some_and(|token| {
        token.lower.ends_with("th") || token.lower.ends_with("st") || token.lower.ends_with("nd")
    }) && word(1).is_some_and(|token| token.lower == "century")
    {
        return Some(2);
    }
    let first = tokens.first()?;
    let era = word(1).is_some_and(|token| matches!(token.text, "BC" | "AD" | "CE" | "BCE"));
    if era && first.shape == Shape::Digit {
        return Some(2);
    }
    let decade = first.lower.strip_suffix('s').is_some_and(is_year);
    (is_year(&first.lower) || decade).then_some(1)
}

fn is_day(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse::<u32>().is_ok_and(|day| (1..=31).contains(&day)) && word.len() - digits.len() <= 2
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.parse::<u32>().is_ok_and(|year| (1000..2100).contains(&year))
}

/// Words of the quantity that begins here: the number, a magnitude, and the unit or what is counted.
fn quantity(tokens: &[Token<'_>]) -> usize {
    let Some(first) = tokens.first().filter(|token| token.shape == Shape::Digit) else { return 0 };
    let follows = |i: usize| tokens.get(i).filter(|token| matches!(token.gap, " " | "-" | " - "));
    let mut length = 1;
    if follows(length).is_some_and(|token| is_magnitude(&token.lower)) {
        length += 1;
    }
    if follows(length)
        .is_some_and(|token| token.tag == UPOS::NOUN && token.shape == Shape::Lower && token.is_content())
    {
        return length + 1;
    }
    let large = first.text.len() >= 3 || length > 1 || first.text.contains('.');
    if large { length } else { 0 }
}

/// Common nouns with the adjectives and names before them.
fn noun_phrases(tokens: &[Token<'_>], foreign: bool, found: &mut Found<'_>) {
    let mut at = 0;
    while at < tokens.len() {
        let mut end = at;
        while end < tokens.len()
            && belongs_to_noun_phrase(&tokens[end])
            && (end == at || (matches!(tokens[end].gap, " " | "-" | " - ") && !foreign))
        {
            end += 1;
        }
        let nouns = tokens[at..end].iter().rposition(|token| matches!(token.tag, UPOS::NOUN | UPOS::PROPN));
        if let Some(last) = nouns {
            let stop = at + last + 1;
            let start = at.max(stop.saturating_sub(MAX_NOUN_PHRASE_WORDS));
            let small = tokens[stop - 1].shape == Shape::Lower;
            let long_enough = tokens[stop - 1].text.chars().count() >= 3;
            if small && long_enough {
                found.add(tokens[start].start..tokens[stop - 1].end, PhraseKind::NounPhrase);
            }
        }
        at = end.max(at + 1);
    }
}

fn belongs_to_noun_phrase(token: &Token<'_>) -> bool {
    matches!(token.tag, UPOS::NOUN | UPOS::PROPN | UPOS::ADJ)
        && token.is_content()
        && token.shape != Shape::Digit
        && !scripts::has_no_spaces(token.text)
}

/// Phrases by key, with what their rank is made of.
struct Found<'a> {
    text: &'a str,
    by_key: BTreeMap<String, Candidate>,
    words: usize,
}

struct Candidate {
    range: Range<usize>,
    name: String,
    kind: PhraseKind,
    count: u32,
    word: usize,
}

impl Found<'_> {
    fn add(&mut self, range: Range<usize>, kind: PhraseKind) {
        let Some(raw) = self.text.get(range.clone()) else { return };
        let name = match kind {
            // Small numbers are no names for readers of models, but they are what a text may be asked for.
            PhraseKind::Quantity if raw.len() < 3 => return,
            _ => clean_name(raw),
        };
        let Some(name) = name else { return };
        let Some(key) = entity_key(&name) else { return };
        let word = self.words;
        let candidate = self.by_key.entry(key.as_str().to_owned()).or_insert_with(|| Candidate {
            range: range.clone(),
            name,
            kind,
            count: 0,
            word,
        });
        candidate.count += 1;
        candidate.kind = candidate.kind.min(kind);
        if range.start < candidate.range.start {
            candidate.range = range;
        }
    }

    fn ranked(self) -> Vec<Phrase> {
        let total = self.words.max(1) as f32;
        let mut ranked: Vec<Phrase> = self
            .by_key
            .into_values()
            .map(|candidate| {
                let words = candidate.name.split(' ').count() as f32;
                let base = match candidate.kind {
                    PhraseKind::Heading => 12.0,
                    PhraseKind::Name => 8.0,
                    PhraseKind::Date => 6.5,
                    PhraseKind::Quoted => 6.0,
                    PhraseKind::Quantity => 2.0,
                    PhraseKind::NounPhrase => 0.5 * words.min(3.0),
                };
                let repeated = (candidate.count as f32).ln();
                let early = 1.0 - candidate.word as f32 / total;
                Phrase {
                    range: candidate.range,
                    text: candidate.name,
                    kind: candidate.kind,
                    score: base + repeated + early,
                }
            })
            .collect();
        ranked.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| (a.range.start, a.range.end).cmp(&(b.range.start, b.range.end)))
        });
        ranked
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every expected phrase is found with its kind, all before anything that is not expected.
    #[track_caller]
    fn check_phrases(text: &str, expected: &[(&str, PhraseKind)]) {
        let found = phrases(text);
        let mut best: Vec<(&str, PhraseKind)> =
            found.iter().take(expected.len()).map(|phrase| (phrase.text.as_str(), phrase.kind)).collect();
        best.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(best, expected, "{found:?}");
    }

    #[test]
    fn names_keep_their_small_words_and_dates_are_found() {
        check_phrases(
            "In January 1960 the Bank of the Lower Tamsin was founded by Leo da Costa and J. R. Okafor.",
            &[
                ("January 1960", PhraseKind::Date),
                ("Bank of the Lower Tamsin", PhraseKind::Name),
                ("Leo da Costa", PhraseKind::Name),
                ("J. R. Okafor", PhraseKind::Name),
            ],
        );
    }

    #[test]
    fn headings_come_first_and_lose_what_stands_in_brackets() {
        check_phrases(
            "Velora (bridge)\nVelora crosses the Tamsin in AT&T style.",
            &[("Velora", PhraseKind::Heading), ("Tamsin", PhraseKind::Name), ("AT&T", PhraseKind::Name)],
        );
    }

    #[test]
    fn words_that_only_open_a_sentence_are_no_names() {
        let found = phrases("However, they left. Tea was served. Later the guests met Ada.");
        let names: Vec<&str> = found
            .iter()
            .filter(|phrase| phrase.kind == PhraseKind::Name)
            .map(|phrase| phrase.text.as_str())
            .collect();
        assert_eq!(names, ["Ada"]);
    }

    #[test]
    fn short_months_are_also_given_names() {
        check_phrases(
            "He met Jan Novak on Jan 5, 1931.",
            &[("Jan Novak", PhraseKind::Name), ("Jan 5, 1931", PhraseKind::Date)],
        );
    }

    #[test]
    fn quotations_and_quantities_are_phrases() {
        check_phrases(
            "They sang \"a song of rain\" for 2,400 people.",
            &[("a song of rain", PhraseKind::Quoted), ("2,400 people", PhraseKind::Quantity)],
        );
    }

    #[test]
    fn texts_without_capitals_have_noun_phrases() {
        let found = phrases("the old stone bridge crosses a quiet river near the paper factory.");
        let names: Vec<&str> = found.iter().map(|phrase| phrase.text.as_str()).collect();
        assert!(names.contains(&"old stone bridge") && names.contains(&"paper factory"), "{names:?}");
    }

    #[test]
    fn every_script_has_phrases() {
        for (text, expected) in [
            ("山田太郎はトヨタで働いています。", "トヨタ"),
            ("北京大学在海淀区。", "北京大学"),
            ("서울은 한국의 수도이다.", "서울"),
            ("Москва стоит на реке Москве. Там живёт Анна Петрова.", "Анна Петрова"),
            ("กรุงเทพเป็นเมืองหลวง", "กรุงเทพเป็นเมืองหลวง"),
        ] {
            let found = phrases(text);
            assert!(found.iter().any(|phrase| phrase.text == expected), "{text}: {found:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn phrases_of_any_text_stand_on_character_borders(text in any::<String>()) {
            for phrase in phrases(&text) {
                prop_assert!(text.get(phrase.range.clone()).is_some_and(|part| !part.is_empty()));
            }
        }

        #[test]
        fn phrases_are_ranked_and_each_key_comes_once(
            text in "([A-Z]?[a-z]{1,8}[ ,.\n-]|[0-9]{1,4} |\"| of |May |'s |漢字|カナ|é|U\\.S\\. ){0,40}",
        ) {
            let found = phrases(&text);
            prop_assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
            let keys: std::collections::BTreeSet<_> = found.iter().map(|phrase| entity_key(&phrase.text)).collect();
            prop_assert_eq!(keys.len(), found.len());
            for phrase in &found {
                prop_assert!(text.get(phrase.range.clone()).is_some());
            }
        }
    }
}
