//! Finds the phrases of a text that may name an entity, and ranks them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::common_nouns::noun_phrases;
use super::dates::dates_and_quantities;
use super::languages::Language;
use super::proper_names::names;
use super::scripts;
use super::text_statistics::{Sentence, TextStatistics, heading_range, quoted};
use graphloom_text::{clean_name, entity_key, one_line, sentences};

/// A part of a text that may name an entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrase {
    /// Range of its first occurrence, on character boundaries.
    pub range: Range<usize>,
    /// Its cleaned name.
    pub text: String,
    /// What it looks like.
    pub kind: PhraseKind,
    /// How likely it is an entity; comparable only within one text.
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
    /// A number, with or without a unit.
    Quantity,
    /// Common nouns with their adjectives.
    NounPhrase,
}

/// Returns the phrases of `text` that may name an entity, best first; ties in text order.
///
/// - Each name is returned once (compared by key), at its first occurrence.
/// - Names rank before dates, and dates before quantities and common nouns. Repetition and an early position improve the rank.
/// - Texts without capitals have only noun phrases. Texts in languages other than English have no lowercase common nouns.
///   Scripts without spaces are split at changes of script and at function words.
/// - Function words and contractions are not names and do not begin one. A capital at the start of a sentence or of direct
///   speech, or in an English heading, makes a word a name only if the word is capitalized elsewhere or unknown to the tagger.
pub fn phrases(text: &str) -> Vec<Phrase> {
    let language = Language::of(text);
    let sentences: Vec<Sentence<'_>> =
        sentences(text).into_iter().map(|range| Sentence::read(text, range, language)).collect();
    let statistics = TextStatistics::of(text, &sentences, language);
    let mut runs = scripts::runs(text, statistics.language, &statistics.known).into_iter().peekable();
    let mut found = PhraseTable { text, by_key: BTreeMap::new(), words: 0 };
    for sentence in &sentences {
        if sentence.caption {
            while runs.next_if(|run| run.range.start < sentence.range.end).is_some() {}
            continue;
        }
        let quoted = quoted(text, &sentence.range);
        let mut inside = statistics.inside(text, sentence, &quoted);
        inside.extend(labels(text, &sentence.range));
        let is_inside = |range: &Range<usize>| inside.iter().any(|known| holds(known, range));
        if sentence.topic {
            found.add(heading_range(text, &sentence.range), PhraseKind::Heading);
        }
        for (range, kind) in
            names(text, sentence, &statistics).into_iter().filter(|(range, _)| !is_inside(range))
        {
            found.add(range, kind);
        }
        for range in quoted {
            found.add(range, PhraseKind::Quoted);
        }
        for (range, kind) in dates_and_quantities(text, &sentence.tokens) {
            found.add(range, kind);
        }
        let nouns = noun_phrases(&sentence.tokens, &statistics);
        for range in nouns.into_iter().filter(|range| !is_inside(range)) {
            found.add(range, PhraseKind::NounPhrase);
        }
        while let Some(run) = runs.next_if(|run| run.range.start < sentence.range.end) {
            // Text before the sentence is code.
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

/// Returns the column names in a table row: `Operator: ! | Example: !expr`. They do not name things.
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

/// Phrases by key, with the data for their ranking.
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
            // Quantities shorter than three bytes are not names.
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

    /// Checks that every expected phrase is found with its kind, before any other phrase.
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
    fn names_continue_across_line_ends_of_wrapped_and_quoted_prose() {
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
    fn names_of_columns_and_folders_are_not_phrases() {
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
    fn headings_come_first_without_text_in_brackets() {
        check_phrases(
            "Velora (bridge)\nVelora crosses the Tamsin in AT&T style.",
            &[("Velora", PhraseKind::Heading), ("Tamsin", PhraseKind::Name), ("AT&T", PhraseKind::Name)],
        );
    }

    #[test]
    fn words_that_only_start_a_sentence_are_not_names() {
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
    fn contractions_are_not_phrases() {
        let text = "Today we'll meet Ada and it's fine. She said We'll go, and don't, you'll see.";
        check_names(text, &["Ada"]);
        assert!(phrases(text).iter().all(|phrase| !phrase.text.contains('\'')), "{:?}", phrases(text));
        check_names("Then O’Brien met Ada, and they’ll stay.", &["O'Brien", "Ada"]);
    }

    #[test]
    fn a_word_that_starts_a_sentence_is_a_name_only_if_capitalized_elsewhere() {
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
    fn a_single_letter_is_not_a_name() {
        check_names("They saw X and Ada with Vitamin C.", &["Ada", "Vitamin C"]);
    }

    #[test]
    fn direct_speech_is_not_a_title() {
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
    fn a_line_of_speech_or_a_path_is_not_a_heading() {
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
    fn a_capital_after_a_colon_a_cell_border_or_a_list_mark_makes_no_name() {
        check_names("Level: Never late | Task: Provides help | Place: Velora", &["Velora"]);
        check_names("1. Remove the lid. [x] Able to swim: Works well with Ada.", &["Ada"]);
        check_names("They remove it and never see Ada: Lead Mason of Oslo.", &["Ada", "Lead Mason of Oslo"]);
    }

    #[test]
    fn a_wide_colon_divides_names() {
        let found = phrases("24、Ditto：Windows 的剪贴板工具。它支持 Linux 和 Windows 系统。");
        let names: Vec<&str> = found.iter().map(|phrase| phrase.text.as_str()).collect();
        assert!(names.contains(&"Ditto") && names.contains(&"Windows"), "{names:?}");
        assert!(names.iter().all(|name| !name.contains('：')), "{names:?}");
    }

    #[test]
    fn only_the_possessive_of_a_name_divides_a_name() {
        check_names("They trust Let's Encrypt with it.", &["Let's Encrypt"]);
        check_names("They met Oslo's Ada Voss.", &["Oslo", "Oslo's Ada Voss", "Ada Voss"]);
    }

    #[test]
    fn articles_and_months_are_no_part_of_names_in_other_languages() {
        let text =
            "Le nom est dans l'ASN et dans le guide de l'ASN. Il vit à L'Aquila en Janvier avec des amis.";
        check_names(text, &["ASN", "L'Aquila"]);
        let text = "(1) Der Prüfling soll im Dezember bei der Kammer sein. Absatz 2: Das Bundesamt ist nicht da. Sie war mit dem Spiegel und La Strada bei ihm.";
        let found = phrases(text);
        let names: Vec<&str> = found.iter().map(|phrase| phrase.text.as_str()).collect();
        assert!(names.contains(&"La Strada") && names.contains(&"Bundesamt"), "{names:?}");
        assert!(
            ["Dezember", "Der Prüfling", "Das Bundesamt"].iter().all(|name| !names.contains(name)),
            "{names:?}"
        );
    }

    #[test]
    fn an_inch_mark_opens_no_quotation() {
        let found = phrases("The board is 5\" wide and the pipe is 3\" thick. They sang \"a song of rain\".");
        let quoted: Vec<&str> = found
            .iter()
            .filter(|phrase| phrase.kind == PhraseKind::Quoted)
            .map(|phrase| phrase.text.as_str())
            .collect();
        assert_eq!(quoted, ["a song of rain"]);
    }

    #[test]
    fn half_sentences_images_and_sentences_in_lists_are_not_topics() {
        for line in [
            "- Add a new option for the parser",
            "- @ada, keeper of the weir",
            "2. call Ada before noon",
            "which was built by masons",
            "The masons came from the",
            "[A weir in winter]",
            "XII",
        ] {
            let found = phrases(&format!("{line}\n\nThey met Ada."));
            assert!(found.iter().all(|phrase| phrase.kind != PhraseKind::Heading), "{line}: {found:?}");
        }
        for line in
            ["d) Wartungspläne umsetzen und", "(3) Der Prüfling hat", "- Pläne für die Wartung umsetzen"]
        {
            let found = phrases(&format!("{line}\n\nSie war mit der Wartung bei Ada und nicht bei Bo."));
            assert!(found.iter().all(|phrase| phrase.kind != PhraseKind::Heading), "{line}: {found:?}");
        }
    }

    #[test]
    fn names_and_short_noun_phrases_in_lists_are_topics() {
        for (line, topic) in [
            ("- Sourdough starter", "Sourdough starter"),
            ("2. Lead Mason", "Lead Mason"),
            ("- Bank of Oslo", "Bank of Oslo"),
            ("# Add a new option for the parser", "Add a new option for the parser"),
            ("The old weir", "The old weir"),
        ] {
            check_phrases(&format!("{line}\n\nIt was cold."), &[(topic, PhraseKind::Heading)]);
        }
        check_phrases("- 滤芯\n\n天气很冷。", &[("滤芯", PhraseKind::Heading)]);
    }

    #[test]
    fn a_lone_may_is_a_month_after_a_word_of_time() {
        let dates =
            |text: &str| phrases(text).iter().filter(|phrase| phrase.kind == PhraseKind::Date).count();
        assert_eq!(dates("May we come? They may. In the end May came."), 0);
        assert_eq!(dates("They came in May and left on 3 May 1920."), 2);
    }

    #[test]
    fn the_year_of_a_date_starts_no_name() {
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
        fn phrases_of_any_text_are_on_character_boundaries(text in any::<String>()) {
            for phrase in phrases(&text) {
                prop_assert!(text.get(phrase.range.clone()).is_some_and(|part| !part.is_empty()));
            }
        }

        #[test]
        fn phrases_are_ranked_and_each_key_appears_once(
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
