//! Relations that a text may tell from their other end: who is the son of Ada has her as mother.

use super::asked::{QuestionParts, Role};
use super::lines::{Line, Word};
use super::words::any_word;

/// What is asked for, and what the one that is asked about is to it.
const INVERSE: &[(&str, &str)] = &[
    ("father mother parent parents vater mutter eltern", "son daughter child children sohn tochter kind"),
    ("son daughter child children sons daughters sohn tochter kind kinder", "father mother vater mutter"),
    ("teacher tutor mentor lehrer lehrerin", "student pupil apprentice schüler schülerin lehrling"),
    ("student pupil students pupils apprentice schüler schülerin", "teacher tutor mentor lehrer lehrerin"),
];

/// The words of a line that tell what is asked of a name from its other end: `Ada was the daughter of` where Ada's father is asked
/// for.
pub(super) fn told_inversely(asked: &QuestionParts, line: &Line<'_>) -> Vec<usize> {
    const NEAR: usize = 3;
    const OF: &str = "of von des der to";
    let key = asked.key.map(|key| asked.terms[key].word.as_str()).unwrap_or_default();
    let Some((_, others)) = INVERSE.iter().find(|(words, _)| any_word(words, key)) else { return Vec::new() };
    let words = &line.words;
    let is_name = |word: &Word<'_>| {
        asked
            .terms
            .iter()
            .any(|term| term.role == Role::Name && (term.root == word.root || term.word == word.lower))
    };
    let is_told = |at: &usize| {
        // Robert Dray is not Hugo Dray.
        let behind = || words.iter().skip(at + 1).take(NEAR);
        let is_behind = |term: &usize| behind().any(|word| word.root == asked.terms[*term].root);
        let names_behind = || asked.names.iter().any(|name| name.iter().all(is_behind));
        let is_of = words.get(at + 1).is_some_and(|word| any_word(OF, &word.lower));
        let owner = line.text[..words[*at].at].trim_end();
        let is_owned = owner.ends_with("'s") || owner.ends_with("’s");
        any_word(others, &words[*at].lower)
            && match is_of {
                true => words[..*at].iter().any(is_name) && !names_behind(),
                false => is_owned && names_behind(),
            }
    };
    (0..words.len()).filter(is_told).collect()
}
