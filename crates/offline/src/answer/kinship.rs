//! Relationships that a text may express in the other direction: if Bo is the son of Ada, Ada is Bo's mother.

use super::lines::{Line, Word};
use super::question::{ParsedQuestion, Role};
use super::words::any_word;

/// Requested relationships and their inverses.
const INVERSE: &[(&str, &str)] = &[
    ("father mother parent parents vater mutter eltern", "son daughter child children sohn tochter kind"),
    ("son daughter child children sons daughters sohn tochter kind kinder", "father mother vater mutter"),
    ("teacher tutor mentor lehrer lehrerin", "student pupil apprentice schüler schülerin lehrling"),
    ("student pupil students pupils apprentice schüler schülerin", "teacher tutor mentor lehrer lehrerin"),
];

/// Returns the words of a line that express the requested relationship in the other direction: `Ada was the daughter of` for a
/// question about Ada's father.
pub(super) fn inverse_words(question: &ParsedQuestion, line: &Line<'_>) -> Vec<usize> {
    const NEAR: usize = 3;
    const OF: &str = "of von des der to";
    let key = question.key.map(|key| question.terms[key].word.as_str()).unwrap_or_default();
    let Some((_, others)) = INVERSE.iter().find(|(words, _)| any_word(words, key)) else { return Vec::new() };
    let words = &line.words;
    let is_name = |word: &Word<'_>| {
        question
            .terms
            .iter()
            .any(|term| term.role == Role::Name && (term.root == word.root || term.word == word.lower))
    };
    let is_inverse = |at: &usize| {
        // Robert Dray is not Hugo Dray.
        let behind = || words.iter().skip(at + 1).take(NEAR);
        let is_behind = |term: &usize| behind().any(|word| word.root == question.terms[*term].root);
        let names_behind = || question.names.iter().any(|name| name.iter().all(is_behind));
        let is_of = words.get(at + 1).is_some_and(|word| any_word(OF, &word.lower));
        let owner = line.text[..words[*at].at].trim_end();
        let is_owned = owner.ends_with("'s") || owner.ends_with("’s");
        any_word(others, &words[*at].lower)
            && match is_of {
                true => words[..*at].iter().any(is_name) && !names_behind(),
                false => is_owned && names_behind(),
            }
    };
    (0..words.len()).filter(is_inverse).collect()
}
