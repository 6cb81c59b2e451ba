//! Finds names of the graph in a question.

use std::ops::Range;

use graphloom_core::EntityKey;

use super::languages::Language;
use super::lexicon::{is_generic, is_stop_word};
use super::phrase::{PhraseKind, phrases};
use super::scripts::has_no_spaces;
use graphloom_text::entity_key;

/// Maximum number of words in a name, or of characters in a script without spaces.
const MAX_NAME_WORDS: usize = 10;
/// Words of a question that are read; longer texts have their names early enough.
const MAX_WORDS: usize = 256;

/// A name in a question that is also in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownName {
    /// Its key.
    pub key: EntityKey,
    /// True if the question writes it as the name of one thing: with a capital that does not begin a sentence, in quotation marks,
    /// or in another form that the rules recognize as a name or date. `training schedule` may be in the graph, but is not proper.
    /// In a text without capitals, in a script that has them, every name counts as proper.
    pub is_proper: bool,
}

/// Returns the names in `text` that `is_known` accepts, in text order. Longer names take their words first, so that
/// `New York Times` is not also `New York`.
///
/// A name needs a word that is not a stop word. If it has only one, that word must begin with a capital or a digit; in a text
/// without capitals, it must not be too common. A single character of a script without spaces is not a name. Several such words
/// need no capital.
pub fn known_names(text: &str, mut is_known: impl FnMut(&EntityKey) -> bool) -> Vec<KnownName> {
    let words = words(text);
    let has_capitals = words.iter().any(|word| text[word.clone()].starts_with(char::is_uppercase));
    let mut taken = vec![false; words.len()];
    let mut found: Vec<(Range<usize>, EntityKey)> = Vec::new();
    for length in (1..=MAX_NAME_WORDS.min(words.len())).rev() {
        for first in 0..=words.len() - length {
            let last = first + length - 1;
            if taken[first..=last].contains(&true) || !may_be_name(text, &words[first..=last], has_capitals) {
                continue;
            }
            let Some(key) = entity_key(&text[words[first].start..words[last].end]) else { continue };
            if is_known(&key) {
                taken[first..=last].fill(true);
                found.push((first..last + 1, key));
            }
        }
    }
    found.sort_by_key(|(place, _)| place.start);
    if found.is_empty() {
        return Vec::new();
    }
    let proper = ProperWords::of(text, &words);
    found.into_iter().map(|(place, key)| KnownName { key, is_proper: proper.holds(place) }).collect()
}

/// Which words of a question belong to proper names.
struct ProperWords(Vec<bool>);

impl ProperWords {
    fn of(text: &str, words: &[Range<usize>]) -> Self {
        let is_capital = |word: &Range<usize>| text[word.clone()].starts_with(char::is_uppercase);
        let has_case = words.iter().any(|word| text[word.clone()].starts_with(|c: char| c.is_lowercase()));
        if has_case && !words.iter().any(is_capital) {
            return Self(vec![true; words.len()]);
        }
        let nouns_are_capital = Language::of(text).capitalises_nouns();
        let mut proper: Vec<bool> = words.iter().map(|word| !nouns_are_capital && is_capital(word)).collect();
        // Every question begins with a capital.
        if let Some(first) = proper.first_mut() {
            *first = false;
        }
        for phrase in phrases(text) {
            if matches!(phrase.kind, PhraseKind::Name | PhraseKind::Quoted | PhraseKind::Date) {
                let overlaps =
                    |word: &Range<usize>| word.start < phrase.range.end && phrase.range.start < word.end;
                proper.iter_mut().zip(words).for_each(|(proper, word)| *proper |= overlaps(word));
            }
        }
        Self(proper)
    }

    fn holds(&self, place: Range<usize>) -> bool {
        self.0[place].contains(&true)
    }
}

/// Function words that change the meaning of another word: `step down` is not `step`.
const PARTICLES: &str = "up down out off over under above below before after against through between";

/// Returns the words of a question that mean little by themselves, in lowercase, each once: articles, forms of `be`, question
/// words.
///
/// In a small collection they are as rare as informative words, so a search that weights words by rarity would match them.
pub fn faint_words(question: &str) -> Vec<String> {
    let language = Language::of_question(question);
    let is_faint = |word: &String| {
        language.is_function_word(word) && !PARTICLES.split(' ').any(|particle| particle == word)
    };
    let all = words(question).into_iter().map(|range| question[range].to_lowercase());
    let mut faint: Vec<String> = all.filter(is_faint).collect();
    faint.sort();
    faint.dedup();
    faint
}

/// Returns the ranges of the words of a text. In scripts without spaces, each character is a word.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let spaceless = has_no_spaces(c.encode_utf8(&mut [0; 4]));
        if let Some(from) = start.take_if(|_| spaceless || !c.is_alphanumeric()) {
            words.push(from..at);
        }
        if spaceless {
            words.push(at..at + c.len_utf8());
        } else if c.is_alphanumeric() && start.is_none() {
            start = Some(at);
        }
        if words.len() >= MAX_WORDS {
            return words;
        }
    }
    words.extend(start.map(|from| from..text.len()));
    words
}

fn may_be_name(text: &str, words: &[Range<usize>], has_capitals: bool) -> bool {
    let mut telling = words.iter().map(|word| &text[word.clone()]).filter(|word| is_informative(word));
    match (telling.next(), telling.next()) {
        (None, _) => false,
        (Some(_), Some(_)) => true,
        (Some(word), None) if has_no_spaces(word) => false,
        (Some(word), None) if has_capitals => word.starts_with(|c: char| c.is_uppercase() || c.is_numeric()),
        (Some(word), None) => !is_generic(&word.to_lowercase()),
    }
}

/// True if a word is not a stop word. `US` and `WHO` count as acronyms.
fn is_informative(word: &str) -> bool {
    let is_acronym = word.len() > 1 && word.chars().all(char::is_uppercase);
    is_acronym || !is_stop_word(&word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_names(question: &str, known: &[&str], expected: &[&str]) {
        let known: Vec<EntityKey> = known.iter().filter_map(|name| entity_key(name)).collect();
        let found: Vec<EntityKey> =
            known_names(question, |key| known.contains(key)).into_iter().map(|name| name.key).collect();
        let expected: Vec<EntityKey> = expected.iter().filter_map(|name| entity_key(name)).collect();
        assert_eq!(found, expected, "{question}");
    }

    fn check_proper(question: &str, known: &[&str], expected: &[&str]) {
        let known: Vec<EntityKey> = known.iter().filter_map(|name| entity_key(name)).collect();
        let found = known_names(question, |key| known.contains(key));
        let proper: Vec<EntityKey> =
            found.into_iter().filter(|name| name.is_proper).map(|name| name.key).collect();
        let expected: Vec<EntityKey> = expected.iter().filter_map(|name| entity_key(name)).collect();
        assert_eq!(proper, expected, "{question}");
    }

    #[test]
    fn words_with_little_meaning_are_faint_in_the_language_of_the_question() {
        assert_eq!(faint_words("When does the chief executive step down?"), ["does", "the", "when"]);
        assert_eq!(faint_words("Wie hoch darf der Wasserdruck sein?"), ["darf", "der", "sein", "wie"]);
        assert_eq!(faint_words("Wasserdruck"), Vec::<String>::new());
        assert_eq!(faint_words("水压是多少？"), Vec::<String>::new());
    }

    #[test]
    fn a_known_phrase_in_lower_case_is_not_a_proper_name() {
        let known = ["training schedule", "Jennifer", "Star Wars", "Reset"];
        check_proper("Did Jennifer change the training schedule?", &known, &["Jennifer"]);
        check_proper("Who saw \"Star Wars\" during the training schedule?", &known, &["Star Wars"]);
        check_proper("What does the training schedule say?", &known, &[]);
    }

    #[test]
    fn a_noun_is_not_a_proper_name_if_all_nouns_are_capitalized() {
        let known = ["Wartung", "Klara Voss"];
        check_proper("Wie oft braucht die Pumpe eine Wartung?", &known, &[]);
        check_proper("Wann hat Klara Voss die Wartung bestellt?", &known, &["Klara Voss"]);
    }

    #[test]
    fn without_capitals_every_known_name_can_be_a_proper_name() {
        check_proper("who runs acme since the flood?", &["Acme", "Flood"], &["Acme", "Flood"]);
    }

    #[test]
    fn the_longest_known_names_are_found_in_order() {
        let known = ["New York", "New York Times", "Ada Byron", "The Who"];
        check_names(
            "Did Ada Byron's aunt read the New York Times?",
            &known,
            &["Ada Byron", "New York Times"],
        );
        check_names("Is New York older than ada byron?", &known, &["New York", "Ada Byron"]);
    }

    #[test]
    fn punctuation_inside_a_name_does_not_hide_it() {
        check_names(
            "Who wrote \"A. Smith & Sons, Inc.\"?",
            &["A. Smith & Sons, Inc"],
            &["A. Smith & Sons, Inc"],
        );
    }

    #[test]
    fn a_common_word_is_not_a_name_unless_marked_as_one() {
        check_names("What film did Who record in 1999?", &["Film", "What", "1999"], &["1999"]);
        check_names("Which Film is it?", &["Film"], &["Film"]);
    }

    #[test]
    fn an_acronym_is_not_a_function_word() {
        check_names("Did it reach the US or the WHO first?", &["US", "WHO", "It"], &["US", "WHO"]);
    }

    #[test]
    fn a_lower_case_question_names_only_known_names_that_are_rare() {
        check_names(
            "who runs acme in the year of the flood?",
            &["Acme", "Year", "Flood"],
            &["Acme", "Flood"],
        );
    }

    #[test]
    fn names_are_found_in_text_without_spaces() {
        check_names("東京大学の学長は誰ですか", &["東京大学", "東京", "長"], &["東京大学"]);
    }
}
