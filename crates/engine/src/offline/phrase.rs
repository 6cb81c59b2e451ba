//! Finds the phrases of a text that may name an entity, and ranks them.

use std::collections::BTreeMap;
use std::ops::Range;

use harper_brill::UPOS;

use super::dates::{dates_and_quantities, is_year};
use super::languages::Language;
use super::lexicon::{is_connector, is_month, is_name_abbreviation, is_opener};
use super::reading::{Common, Sentence, TextStatistics, heading_range, quoted};
use super::scripts;
use super::token::{Shape, Token, opens};
use crate::text::{clean_name, entity_key, one_line, sentences};

/// Most words of one name.
const MAX_NAME_WORDS: usize = 12;
/// Most words of one noun phrase; longer ones keep their last words.
const MAX_NOUN_PHRASE_WORDS: usize = 4;

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
/// - Texts without capitals have noun phrases only; texts in other languages than English no common nouns in small
///   letters; scripts without spaces are cut where the script changes or at function words.
/// - Small words of the text's language neither are names nor begin one, nor do contractions. A capital at the start of a
///   sentence, or of what is said in it, makes a name only of a word that is capital elsewhere or that the tagger does not
///   know; so does one in an English heading.
pub fn phrases(text: &str) -> Vec<Phrase> {
    let sentences: Vec<Sentence<'_>> =
        sentences(text).into_iter().map(|range| Sentence::read(text, range)).collect();
    let reading = TextStatistics::of(text, &sentences);
    let mut runs = scripts::runs(text, reading.language, &reading.known).into_iter().peekable();
    let mut found = PhraseTable { text, by_key: BTreeMap::new(), words: 0 };
    for sentence in &sentences {
        if sentence.caption {
            while runs.next_if(|run| run.range.start < sentence.range.end).is_some() {}
            continue;
        }
        let quoted = quoted(text, &sentence.range);
        let mut inside = reading.inside(text, sentence, &quoted);
        inside.extend(labels(text, &sentence.range));
        let is_inside = |range: &Range<usize>| inside.iter().any(|known| holds(known, range));
        if sentence.heading {
            found.add(heading_range(text, &sentence.range), PhraseKind::Heading);
        }
        for (range, kind) in
            names(text, sentence, &reading).into_iter().filter(|(range, _)| !is_inside(range))
        {
            found.add(range, kind);
        }
        for range in quoted {
            found.add(range, PhraseKind::Quoted);
        }
        for (range, kind) in dates_and_quantities(text, &sentence.tokens) {
            found.add(range, kind);
        }
        let nouns = noun_phrases(&sentence.tokens, &reading);
        for range in nouns.into_iter().filter(|range| !is_inside(range)) {
            found.add(range, PhraseKind::NounPhrase);
        }
        while let Some(run) = runs.next_if(|run| run.range.start < sentence.range.end) {
            // What stands before the sentence is code.
            if run.range.start >= sentence.range.start && !is_inside(&run.range) {
                let kind = if run.is_name { PhraseKind::Name } else { PhraseKind::NounPhrase };
                found.add(run.range, kind);
            }
        }
        found.words += sentence.tokens.len();
    }
    found.ranked()
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The names of columns in a row of a table: `Operator: ! | Example: !expr`. They name no thing of the text.
fn labels(text: &str, sentence: &Range<usize>) -> Vec<Range<usize>> {
    const MAX_LABEL_BYTES: usize = 40;
    let mut found = Vec::new();
    let mut at = sentence.start;
    let row = &text[sentence.clone()];
    for cell in row.split(" | ").filter(|cell| cell.len() < row.len()) {
        found.extend(
            cell.find(": ").filter(|length| *length <= MAX_LABEL_BYTES).map(|length| at..at + length),
        );
        at += cell.len() + " | ".len();
    }
    found
}

/// Runs of capital words with the small words between them.
fn names(
    text: &str,
    sentence: &Sentence<'_>,
    reading: &TextStatistics<'_>,
) -> Vec<(Range<usize>, PhraseKind)> {
    let tokens = &sentence.tokens;
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !starts_name(text, sentence, at, reading) {
            at += 1;
            continue;
        }
        let counted = is_counted(tokens, at, reading.language);
        let mut end = at + 1;
        while end < tokens.len() && end - at < MAX_NAME_WORDS {
            // `the teacher of Klara Voss` is no name where nouns have capitals.
            let bound = counted && end == at + 1;
            match name_goes_on(tokens, end, reading) {
                0 => break,
                2.. if bound => break,
                more => end += more,
            }
        }
        let end = end.min(tokens.len());
        match kind_of_name(tokens, at..end, counted, sentence.heading, reading) {
            Some(PhraseKind::Name) => push_name(text, &tokens[at..end], &mut found),
            Some(kind) => found.push((tokens[at].start..tokens[end - 1].end, kind)),
            None => {}
        }
        at = end;
    }
    found
}

/// What a run of capital words is; `None` where it is no name.
fn kind_of_name(
    tokens: &[Token<'_>],
    run: Range<usize>,
    counted: bool,
    heading: bool,
    reading: &TextStatistics<'_>,
) -> Option<PhraseKind> {
    let first = &tokens[run.start];
    if reading.language == Language::English || heading || run.len() > 1 || first.shape != Shape::Capital {
        return Some(PhraseKind::Name);
    }
    let opens = opens(tokens, run.start) || first.gap.contains(':');
    let may_be_common = opens || reading.language.capitalises_nouns();
    if may_be_common && reading.small.contains(first.lower.as_str()) {
        return None;
    }
    let is_weak = (opens && !reading.capitals.contains(first.lower.as_str())) || counted;
    Some(if is_weak { PhraseKind::NounPhrase } else { PhraseKind::Name })
}

/// Whether an article or a number stands before a word of a language in which all nouns are capital.
fn is_counted(tokens: &[Token<'_>], at: usize, language: Language) -> bool {
    const DETERMINERS: [&str; 46] = [
        "der", "die", "das", "dem", "den", "des", "ein", "eine", "einen", "einem", "einer", "eines", "kein",
        "keine", "keinen", "keinem", "keiner", "im", "am", "zum", "zur", "vom", "beim", "ins", "ans",
        "dieser", "diese", "dieses", "diesem", "diesen", "sein", "seine", "seinen", "seinem", "seiner",
        "ihr", "ihre", "ihren", "ihrem", "ihrer", "mehrere", "viele", "einige", "alle", "welche", "welcher",
    ];
    let determines = |at: usize| {
        let token = &tokens[at];
        token.shape == Shape::Digit || DETERMINERS.contains(&token.lower.as_str())
    };
    let follows = |at: usize| at > 0 && tokens[at].gap == " ";
    // `in späteren Jahren`
    let after = |at: usize| {
        ["in", "mit", "von", "bei", "nach", "aus", "auf", "seit"].contains(&tokens[at].lower.as_str())
    };
    let adjective =
        |at: usize| tokens[at].shape == Shape::Lower && !language.is_function_word(&tokens[at].lower);
    language.capitalises_nouns()
        && follows(at)
        && (determines(at - 1)
            || (adjective(at - 1) && follows(at - 1) && (determines(at - 2) || after(at - 2))))
}

fn starts_name(text: &str, sentence: &Sentence<'_>, at: usize, reading: &TextStatistics<'_>) -> bool {
    let tokens = &sentence.tokens;
    let token = &tokens[at];
    let is_english = reading.language == Language::English;
    if token.shape == Shape::Digit {
        // `2018 Winter Olympics`, `29th Berlin Festival`; but `a 2018 American film`, and days before months.
        let counted = at > 0 && matches!(tokens[at - 1].lower.as_str(), "a" | "an" | "in");
        // `27 January 2018`, and behind it another line.
        let dated = at > 0 && tokens[at - 1].is_capital() && is_month(&tokens[at - 1].lower);
        let next = tokens.get(at + 1).filter(|next| next.is_capital() && next.gap == " ");
        return is_english
            && token.text.len() >= 2
            && !dated
            && !(counted && is_year(token.text))
            && next.is_some_and(|next| !is_month(&next.lower) && !is_opener(&next.lower));
    }
    let next =
        tokens.get(at + 1).filter(|next| next.is_capital() && joins(next.gap) && !next.is_contraction());
    let opener = reading.is_opener(&token.lower) && !is_acronym(tokens, at, is_english);
    // `die Regie von La Strada`
    let titled = !is_english && at > 0 && next.is_some() && is_connector(&token.lower);
    if !token.is_capital() || token.is_contraction() || (opener && !titled) || is_part_of_date(tokens, at) {
        return false;
    }
    if !is_english || token.shape != Shape::Capital || reading.capitals.contains(token.lower.as_str()) {
        return true;
    }
    let head = matches!(token.tag, UPOS::NOUN | UPOS::ADJ | UPOS::PROPN);
    let compound = next.is_some_and(|_| head && !is_part_of_date(tokens, at + 1));
    if sentence.heading {
        // In `How to Build a Bridge` every word is capital; in `Notes on velora and Ada Byron` names alone.
        let has_small = tokens.iter().any(|token| token.shape == Shape::Lower && token.is_content());
        return has_small && (at > 0 || compound);
    }
    if !opens(tokens, at) {
        return true;
    }
    // The tagger does not know `Hallo` either.
    let exclaimed = text[token.end..].starts_with('!');
    let proper = if token.known { token.tag == UPOS::PROPN } else { !exclaimed };
    (proper && !reading.small.contains(token.lower.as_str())) || compound
}

/// Whether a small word in capitals is the name of a country, body or trade, and no emphasis: `the US`, `WHO guidelines`.
fn is_acronym(tokens: &[Token<'_>], at: usize, is_english: bool) -> bool {
    let token = &tokens[at];
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let next = tokens.get(at + 1);
    let shouted = |token: &Token<'_>| token.shape == Shape::Upper;
    let follows = before
        .is_some_and(|word| token.gap == " " && matches!(word.lower.as_str(), "the" | "in" | "of" | "from"));
    let modifies = next.is_some_and(|next| {
        let noun = matches!(next.tag, UPOS::NOUN | UPOS::PROPN | UPOS::ADJ) && next.is_content();
        next.gap == "-" || (next.gap == " " && noun) || next.gap.ends_with("s ")
    });
    // `AT&T`
    let bound = token.shape == Shape::Upper && next.is_some_and(|next| next.gap == "&");
    bound
        || matches!(token.text, "US" | "WHO" | "IT")
            && !before.is_some_and(shouted)
            && !next.is_some_and(shouted)
            && (!is_english || follows || modifies)
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
fn name_goes_on(tokens: &[Token<'_>], at: usize, reading: &TextStatistics<'_>) -> usize {
    let token = &tokens[at];
    let previous = &tokens[at - 1];
    let initial = previous.text.chars().count() == 1 || previous.text.contains('.');
    let joined =
        joins(token.gap) || (token.gap == ". " && (initial || is_name_abbreviation(&previous.lower)));
    if !joined && token.gap != " & " {
        return 0;
    }
    if token.is_capital() {
        return usize::from(!is_part_of_date(tokens, at) && !token.is_contraction());
    }
    if token.shape == Shape::Digit {
        let dated = reading.language != Language::English && is_year(token.text);
        return usize::from(token.text.len() <= 4 && matches!(token.gap, " " | "-") && !dated);
    }
    if token.gap == "-" && !token.known && token.text.chars().count() <= 4 {
        // The second half of a Korean given name, as in `Kim Man-il`.
        return 1;
    }
    if !reading.joins(tokens, at) || token.gap != " " {
        return 0;
    }
    // Up to two small words between two capitals: `Bank of the West`, `Leonardo da Vinci`.
    for small in 1..=2 {
        let Some(next) = tokens.get(at + small).filter(|next| next.gap == " ") else { return 0 };
        let year = next.shape == Shape::Digit && next.text.len() == 4 && token.lower == "of";
        if year || (next.is_capital() && !is_part_of_date(tokens, at + small)) {
            return small + 1;
        }
        if next.lower != "the" && !reading.joins(tokens, at + small) {
            return 0;
        }
    }
    0
}

fn joins(gap: &str) -> bool {
    matches!(gap, " " | "&" | "-" | "–" | " - " | "'" | "’" | "." | "/" | "'s " | "’s ")
}

fn push_name(text: &str, tokens: &[Token<'_>], found: &mut Vec<(Range<usize>, PhraseKind)>) {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return };
    if tokens.len() == 1 && first.text.chars().count() == 1 {
        return;
    }
    found.push((first.start..with_stop(text, last), PhraseKind::Name));
    // What possessives join is also two names: `Germany's Angela Merkel`.
    let mut start = 0;
    for at in 1..tokens.len() {
        if tokens[at].gap.len() > 1 && tokens[at].gap.ends_with("s ") {
            found.push((tokens[start].start..tokens[at - 1].end, PhraseKind::Name));
            start = at;
        }
    }
    if start > 0 {
        found.push((tokens[start].start..last.end, PhraseKind::Name));
    }
}

/// The end of a word, with the full stop that shortens it.
fn with_stop(text: &str, token: &Token<'_>) -> usize {
    let shortened = token.text.contains('.') || is_name_abbreviation(&token.lower);
    if shortened && text[token.end..].starts_with('.') { token.end + 1 } else { token.end }
}

/// Common nouns with the adjectives and names before them.
fn noun_phrases(tokens: &[Token<'_>], reading: &TextStatistics<'_>) -> Vec<Range<usize>> {
    let joins = matches!(reading.common, Common::Phrases | Common::HeadFirst);
    let belongs = |token: &Token<'_>| {
        let is_small = token.is_content() && !reading.language.is_function_word(&token.lower);
        matches!(token.tag, UPOS::NOUN | UPOS::PROPN | UPOS::ADJ)
            && is_small
            && token.shape != Shape::Digit
            && !token.is_contraction()
            && !scripts::has_no_spaces(token.text)
    };
    let mut found = Vec::new();
    let mut at = if reading.common == Common::Nothing { tokens.len() } else { 0 };
    while at < tokens.len() {
        let mut end = at;
        while end < tokens.len()
            && belongs(&tokens[end])
            && !is_part_of_path(tokens, end)
            && (end == at || (matches!(tokens[end].gap, " " | "-" | " - ") && joins))
        {
            end += 1;
        }
        let nouns = tokens[at..end].iter().rposition(|token| matches!(token.tag, UPOS::NOUN | UPOS::PROPN));
        if let Some(last) = nouns {
            let mut stop = at + last + 1;
            let mut start = at.max(stop.saturating_sub(MAX_NOUN_PHRASE_WORDS));
            if reading.common == Common::HeadFirst {
                (start, stop) = (at, stop.min(at + MAX_NOUN_PHRASE_WORDS));
            }
            // `Ownership is a set of rules`
            let defined = at == 0
                && stop == 1
                && tokens.get(1).is_some_and(|next| matches!(next.lower.as_str(), "is" | "are" | "means"));
            let small = tokens[stop - 1].shape == Shape::Lower || (defined && joins);
            let long_enough = tokens[stop - 1].text.chars().count() >= 3;
            if small && long_enough {
                found.push(tokens[start].start..tokens[stop - 1].end);
            }
        }
        at = end.max(at + 1);
    }
    found
}

/// Whether a word is a folder or file of a path: `src/main.rs`. `input/output` is none.
fn is_part_of_path(tokens: &[Token<'_>], at: usize) -> bool {
    let joined = |at: usize| tokens[at].gap == "/";
    let first = (0..at).rev().find(|&before| !joined(before + 1)).map_or(0, |before| before + 1);
    let last = (at + 1..tokens.len()).find(|&next| !joined(next)).unwrap_or(tokens.len());
    last - first > 1 && tokens[first..last].iter().any(|token| token.text.contains('.'))
}

/// Phrases by key, with what their rank is made of.
struct PhraseTable<'a> {
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

impl PhraseTable<'_> {
    fn add(&mut self, range: Range<usize>, kind: PhraseKind) {
        let Some(raw) = self.text.get(range.clone()) else { return };
        let name = match kind {
            // Small numbers are no names for readers of models, but they are what a text may be asked for.
            PhraseKind::Quantity if raw.len() < 3 => return,
            _ => clean_name(&one_line(raw)),
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
    fn names_go_on_over_line_ends_of_wrapped_and_quoted_prose() {
        for end in ["\n", "\r\n", "\r", "\n> "] {
            let text = format!(
                "> The old bridge at Ostrava was built by Hana{end}Dvorakova in Brno, who was known."
            );
            check_phrases(
                text.trim_start_matches(if end == "\n> " { "" } else { "> " }),
                &[
                    ("Ostrava", PhraseKind::Name),
                    ("Hana Dvorakova", PhraseKind::Name),
                    ("Brno", PhraseKind::Name),
                ],
            );
        }
    }

    #[test]
    fn names_of_columns_and_folders_are_no_phrases() {
        let found = phrases(
            "Operator: add | Example: a bridge of Ada | Explanation: Bo adds stones\n\nThey found that the file src/main.rs of the old program needs an input/output stream, and so they wrote one.",
        );
        let names: Vec<&str> = found.iter().map(|phrase| phrase.text.as_str()).collect();
        for name in ["Operator", "Example", "Explanation", "src"] {
            assert!(!names.contains(&name), "{name}: {names:?}");
        }
        assert!(names.contains(&"Ada") && names.iter().any(|name| name.contains("stream")), "{names:?}");
    }

    #[test]
    fn code_has_no_phrases() {
        let found =
            phrases("We met Ada.\n```rust\nlet Config = \"A Quotation\"; // 北京大学\n```\nThen we met Bo.");
        let names: Vec<&str> = found
            .iter()
            .filter(|found| found.kind != PhraseKind::NounPhrase)
            .map(|found| found.text.as_str())
            .collect();
        assert_eq!(names, ["Ada", "Bo"]);
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

    #[track_caller]
    fn check_names(text: &str, expected: &[&str]) {
        let found = phrases(text);
        let names: Vec<&str> = found
            .iter()
            .filter(|phrase| phrase.kind == PhraseKind::Name)
            .map(|phrase| phrase.text.as_str())
            .collect();
        assert_eq!(names, expected, "{found:?}");
    }

    #[test]
    fn contractions_are_no_phrases() {
        let text = "Today we'll meet Ada and it's fine. She said We'll go, and don't, you'll see.";
        check_names(text, &["Ada"]);
        assert!(phrases(text).iter().all(|phrase| !phrase.text.contains('\'')), "{:?}", phrases(text));
        check_names("Then O’Brien met Ada, and they’ll stay.", &["O'Brien", "Ada"]);
    }

    #[test]
    fn a_capital_at_a_start_needs_another_inside_a_sentence() {
        check_names("Using it is easy. Guests met Ada.", &["Ada"]);
        check_names("'Business is slow,' she told Ada. Then 'Humbug! Nephew, go.'", &["Ada"]);
        check_names(
            "Business, he wrote, is the capital of Ada. They went to Business.",
            &["Business", "Ada"],
        );
        check_names("Will you see Ada? May I see Bo? Ada and I met.", &["Ada", "Bo"]);
    }

    #[test]
    fn a_heading_in_title_case_names_only_what_the_text_names() {
        check_names("Building Better Bridges for Ada\n\nThey were built by a friend of Ada.", &["Ada"]);
    }

    #[test]
    fn small_words_in_capitals_are_emphasis_or_acronyms() {
        check_names("He said that YOU must tell US, and WHO knows.", &[]);
        check_names("They moved to the US and asked the WHO.", &["US", "WHO"]);
        check_names("ALL of it IS in the AGREEMENT THAT YOU HAVE MADE with Ada.", &["Ada"]);
    }

    #[test]
    fn a_single_letter_is_no_name() {
        check_names("They saw X and Ada with Vitamin C.", &["Ada", "Vitamin C"]);
    }

    #[test]
    fn what_somebody_says_is_no_title() {
        let quotations = |text: &str| -> Vec<String> {
            let found = phrases(text).into_iter().filter(|phrase| phrase.kind == PhraseKind::Quoted);
            found.map(|phrase| phrase.text).collect()
        };
        assert_eq!(
            quotations("\"Nobody comes,\" said Ada. \"Go away!\" They sang \"a song of rain\"."),
            ["a song of rain"]
        );
        assert_eq!(
            quotations("„Niemand kommt“, sagte Ada. Sie sangen „das Lied vom Regen“."),
            ["das Lied vom Regen"]
        );
        assert_eq!(quotations("他说：“没有人来”。她写了《雨歌》。"), ["雨歌"]);
        assert_eq!(quotations("「誰も来ない」と言った。「雨の歌」を歌った。"), ["雨の歌"]);
    }

    #[test]
    fn a_line_of_speech_or_a_path_is_no_heading() {
        for line in [
            "'Yes, my friend.'",
            "Filename: src/main.rs",
            "文件名：src/main.rs",
            "Filename: Cargo.toml",
            "文件名：`poem.txt`",
        ] {
            let found = phrases(&format!("{line}\n\nThey met Ada."));
            assert!(found.iter().all(|phrase| phrase.kind != PhraseKind::Heading), "{found:?}");
        }
    }

    #[test]
    fn a_lone_may_is_a_month_behind_a_word_of_time() {
        let dates =
            |text: &str| phrases(text).iter().filter(|phrase| phrase.kind == PhraseKind::Date).count();
        assert_eq!(dates("May we come? They may. In the end May came."), 0);
        assert_eq!(dates("They came in May and left on 3 May 1920."), 2);
    }

    #[test]
    fn the_year_of_a_date_begins_no_name() {
        let found = phrases("The flood of the night of 27 January 2018\nWritten by Ada Byron, who saw it.");
        assert!(found.iter().all(|phrase| !phrase.text.starts_with("2018")), "{found:?}");
        check_names("They saw the 2018 Winter Olympics with Ada.", &["2018 Winter Olympics", "Ada"]);
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
