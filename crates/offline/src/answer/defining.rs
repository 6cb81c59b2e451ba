//! Finds texts that define what a question asks for, among many that only name it.

use super::evidence::Passages;
use super::question::{AnswerType, ParsedQuestion, Role};
use super::{Passage, definitions};

/// Maximum number of texts that are read as sentences.
const MAX_READ: usize = 12;

/// Returns the words to define if `question` asks for a definition: `anki` for *What is Anki?*. `None` if it asks for something
/// else.
pub fn asked_definition(question: &str) -> Option<String> {
    let words = subject(&parsed(question))?;
    Some(words.join(" "))
}

/// Returns the indices of the texts with a line that defines what `question` asks for, likely ones first.
///
/// - `texts`: best first; of those that may define it, 12 are read.
pub fn defining(question: &str, texts: &[&str]) -> Vec<usize> {
    let Some(last) = subject(&parsed(question)).and_then(|mut words| words.pop()) else { return Vec::new() };
    let mut likely: Vec<(usize, usize)> =
        (0..texts.len()).filter_map(|at| Some((definitions::first_mark(texts[at], &last)?, at))).collect();
    likely.sort_unstable();
    likely.truncate(MAX_READ);
    let passages: Vec<Passage<'_>> =
        likely.iter().map(|(_, at)| Passage { text: texts[*at], title: "", headings: &[] }).collect();
    let reading = Passages::read(question, &passages);
    let question = reading.parse_question(question);
    let defines = |passage: &usize| {
        reading.lines.iter().any(|line| line.passage == *passage && definitions::means(&question, line))
    };
    (0..passages.len()).filter(defines).map(|passage| likely[passage].1).collect()
}

/// Parses a question without passages. Text without spaces is split into words that occur; here, all of the question does.
fn parsed(question: &str) -> ParsedQuestion {
    let itself = [Passage { text: question, title: "", headings: &[] }];
    Passages::read(question, &itself).parse_question(question)
}

/// Returns the words to define, in lowercase.
fn subject(question: &ParsedQuestion) -> Option<Vec<String>> {
    let is_asked = question.answer_type == AnswerType::Meaning && !question.acts && !question.possessive;
    let terms = question.terms.iter().filter(|term| term.role != Role::Common);
    let words: Vec<String> = terms.map(|term| term.word.clone()).collect();
    (is_asked && !words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_for_a_definition_names_what_to_define() {
        for (question, words) in [
            ("What is Tessel?", Some("tessel")),
            ("Who is Ada Lovelace?", Some("ada lovelace")),
            ("What is a pack file?", Some("pack file")),
            ("Was ist ein Furtkuchen?", Some("furtkuchen")),
            ("什么是反渗透？", Some("反渗透")),
            ("When was Tessel written?", None),
            ("What is Tessel used for?", None),
            ("How many pack files are there?", None),
        ] {
            assert_eq!(asked_definition(question).as_deref(), words, "{question}");
        }
    }

    #[test]
    fn texts_that_define_are_told_from_texts_that_only_name() {
        let named =
            "Start Tessel from the menu. If Tessel is running, close it. Tessel is able to read pack files.";
        let defined = "Many people use it. Tessel is a program that keeps looms in step.";
        let question = "What is Tessel?";
        assert_eq!(defining(question, &[named, named, defined, named]), [2]);
        assert_eq!(defining(question, &[named]), [0usize; 0]);
        assert_eq!(defining("When was Tessel written?", &[defined]), [0usize; 0]);
    }

    #[test]
    fn a_definition_in_another_language_is_found() {
        let text = "反渗透是一种净水技术。";
        assert_eq!(defining("什么是反渗透？", &["我们使用反渗透。", text]), [1]);
        let text = "Ein Furtkuchen ist ein flaches Gebäck mit Kümmel.";
        assert_eq!(defining("Was ist ein Furtkuchen?", &["Der Furtkuchen kostet vier Mark.", text]), [1]);
    }
}
