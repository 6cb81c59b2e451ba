//! Takes a question apart, by its form: the things it compares, the steps that lead to its answer.

use std::ops::Range;

use super::known_names::words;
use super::lexicon::{is_linking, is_stop_word};
use super::phrase::{PhraseKind, phrases};
use super::scripts::has_no_spaces;

/// Parts of one question, at most.
pub const MAX_PARTS: usize = 4;
/// Longest question that is taken apart, in bytes; longer ones tell a story.
const MAX_QUESTION_BYTES: usize = 2000;
/// Words between the things that a question compares.
const COORDINATORS: [&str; 2] = ["or", "and"];
/// What binds what it is about to what is asked of it, where words are written without spaces.
const POSSESSIVES: [char; 2] = ['的', 'の'];

/// What a question asks for that can be looked for on its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Parts {
    /// It cannot be taken apart.
    #[default]
    Whole,
    /// It compares things: the question about each of them.
    Compared(Vec<String>),
    /// It goes from one thing to another: what is to be known first comes last.
    Steps(Vec<String>),
}

impl Parts {
    /// The words of each.
    pub fn texts(&self) -> &[String] {
        match self {
            Self::Whole => &[],
            Self::Compared(texts) | Self::Steps(texts) => texts,
        }
    }
}

/// The parts of a question, at most [`MAX_PARTS`].
///
/// - Two names with *or* or *and* between them are compared: *Is A or B older?* asks *Is A older?* and *Is B older?*
/// - What stands behind a linking word, such as *of*, *by*, *that* or *whose*, is a step: *Where was the director of Z
///   born?* needs *Z born*. Where words are written without spaces, a step is what stands before a possessive.
/// - Names are not taken apart.
pub fn parts(question: &str) -> Parts {
    let question =
        question.trim().trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '"' | '”' | ')'));
    if question.len() > MAX_QUESTION_BYTES {
        return Parts::Whole;
    }
    let names = names(question);
    let compared = chosen_from(question).unwrap_or_else(|| compared(question, &names));
    if !compared.is_empty() {
        return Parts::Compared(compared);
    }
    let steps = steps(question, &names);
    if steps.is_empty() { Parts::Whole } else { Parts::Steps(steps) }
}

/// Where the names and quotations of the question stand.
fn names(question: &str) -> Vec<Range<usize>> {
    let found = phrases(question).into_iter();
    let named = found.filter(|phrase| matches!(phrase.kind, PhraseKind::Name | PhraseKind::Quoted));
    named.map(|phrase| phrase.range).collect()
}

/// The question about each of two things that it gives to choose from at its end: *Who is older, A or B?*
fn chosen_from(question: &str) -> Option<Vec<String>> {
    let (asked, choice) = question.split_once([',', ':'])?;
    let (one, other) = choice.rsplit_once(" or ")?;
    let one = one.trim_end_matches([',', ' ']);
    let is_there = |thing: &str| thing.chars().any(char::is_alphanumeric);
    (is_there(one) && is_there(other)).then(|| vec![format!("{asked},{one}"), format!("{asked}, {other}")])
}

/// The question about each of the first two names that a coordinator stands between.
fn compared(question: &str, names: &[Range<usize>]) -> Vec<String> {
    let is_coordinator =
        |word: &Range<usize>| COORDINATORS.contains(&question[word.clone()].to_lowercase().as_str());
    for word in words(question).into_iter().filter(is_coordinator) {
        let is_joined = |gap: &str| gap.split_whitespace().all(|word| is_stop_word(&word.to_lowercase()));
        let before =
            names.iter().filter(|name| name.end <= word.start && is_joined(&question[name.end..word.start]));
        let after =
            names.iter().filter(|name| name.start >= word.end && is_joined(&question[word.end..name.start]));
        let one = before.max_by_key(|name| (name.end, name.len()));
        let other = after.min_by_key(|name| (name.start, usize::MAX - name.len()));
        if let (Some(one), Some(other)) = (one, other) {
            let without = |left_out: Range<usize>| {
                format!("{}{}", &question[..left_out.start], &question[left_out.end..])
            };
            return vec![without(one.end..other.end), without(one.start..other.start)];
        }
    }
    Vec::new()
}

/// What the question needs to know first.
fn steps(question: &str, names: &[Range<usize>]) -> Vec<String> {
    let in_name = |at: usize| names.iter().any(|name| name.start < at && at < name.end);
    let tells =
        |text: &str| text.split_whitespace().filter(|word| !is_stop_word(&word.to_lowercase())).count();
    let mut steps: Vec<String> = Vec::new();
    let mut push = |step: &str| {
        if steps.len() < MAX_PARTS && !steps.iter().any(|known| known == step) {
            steps.push(step.to_owned());
        }
    };
    for word in words(question) {
        let is_step = is_linking(&question[word.clone()].to_lowercase()) && !in_name(word.start);
        // Not where nothing was asked before it: *Who*, *In which*.
        if is_step && tells(&question[..word.start]) >= 1 && tells(&question[word.end..]) >= 2 {
            push(question[word.end..].trim());
        }
    }
    for (at, possessive) in question.char_indices().filter(|(_, c)| POSSESSIVES.contains(c)) {
        let rest = &question[at + possessive.len_utf8()..];
        if question[..at].chars().rev().take_while(|c| has_no_spaces(c.encode_utf8(&mut [0; 4]))).count() > 1
            && !rest.is_empty()
        {
            push(&question[..at]);
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_parts(question: &str, expected: Parts) {
        assert_eq!(parts(question), expected, "{question}");
    }

    fn compared(one: &str, other: &str) -> Parts {
        Parts::Compared(vec![one.to_owned(), other.to_owned()])
    }

    fn steps(texts: &[&str]) -> Parts {
        Parts::Steps(texts.iter().map(|&text| text.to_owned()).collect())
    }

    #[test]
    fn things_to_choose_from_are_asked_about_one_by_one() {
        check_parts(
            "Which tunnel is longer, the Simplon or the Gotthard?",
            compared("Which tunnel is longer, the Simplon", "Which tunnel is longer, the Gotthard"),
        );
        check_parts("Who is older, Ada, or Bo?", compared("Who is older, Ada", "Who is older, Bo"));
    }

    #[test]
    fn names_with_a_coordinator_between_them_are_asked_about_one_by_one() {
        check_parts(
            "Are Lake Constance and Lake Geneva both in Switzerland?",
            compared("Are Lake Constance both in Switzerland", "Are Lake Geneva both in Switzerland"),
        );
    }

    #[test]
    fn what_stands_behind_a_linking_word_is_a_step() {
        check_parts(
            "In which town was the engineer of the bridge that Clara Voss opened born?",
            steps(&["the bridge that Clara Voss opened born", "Clara Voss opened born"]),
        );
        check_parts("Qui a peint le portrait de Clara Voss ?", steps(&["Clara Voss"]));
        check_parts("克拉拉的导演的出生地是哪里？", steps(&["克拉拉", "克拉拉的导演"]));
    }

    #[test]
    fn a_name_is_not_taken_apart() {
        check_parts("How old is the University of Basel?", Parts::Whole);
        check_parts("Who wrote \"The Ship that Sailed by Night\"?", Parts::Whole);
    }

    #[test]
    fn what_asks_for_one_thing_has_no_parts() {
        for question in ["", "?", "How high is it?", "Who is who?", "or", "a, or b", " and "] {
            check_parts(question, Parts::Whole);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_bounded_number_of_parts(text in "([A-Za-z]{1,6}|of|that|or|and|,|\"|的|İ|é|\u{3000}| ){0,40}") {
            prop_assert!(parts(&text).texts().len() <= MAX_PARTS);
            prop_assert!(parts(&text).texts().iter().all(|part| !part.trim().is_empty()));
        }
    }
}
