//! Finds texts that define what a question asks for, among many that only name it.

use super::evidence::Passages;
use super::question::{AnswerType, Role};
use super::{Passage, definitions};

/// Maximum number of texts that are read as sentences.
const MAX_READ: usize = 12;

/// A question that asks what something means, or who or what a name is.
#[derive(Debug)]
pub struct DefinitionQuestion<'a> {
    question: &'a str,
    /// What to define, in lowercase; at least one word.
    words: Vec<String>,
}

impl<'a> DefinitionQuestion<'a> {
    /// Returns `None` if `question` asks for something else.
    pub fn of(question: &'a str) -> Option<Self> {
        // Text without spaces is split into words that occur in the passages. In the question itself, all of it does.
        let itself = [Passage { text: question, title: "", headings: &[] }];
        let parsed = Passages::read(question, &itself).parse_question(question);
        let is_asked = parsed.answer_type == AnswerType::Meaning && !parsed.acts && !parsed.possessive;
        let terms = parsed.terms.into_iter().filter(|term| term.role != Role::Common);
        let words: Vec<String> = terms.map(|term| term.word).collect();
        (is_asked && !words.is_empty()).then_some(Self { question, words })
    }

    /// Returns the words to define: `anki` for *What is Anki?*
    pub fn words(&self) -> String {
        self.words.join(" ")
    }

    /// Returns the indices of the texts with a line that defines the words, likely ones first.
    ///
    /// - `texts`: best first; of those that may define them, 12 are read.
    pub fn defined_in(&self, texts: &[&str]) -> Vec<usize> {
        let Some(last) = self.words.last() else { return Vec::new() };
        let mut likely: Vec<(usize, usize)> =
            (0..texts.len()).filter_map(|at| Some((definitions::first_mark(texts[at], last)?, at))).collect();
        likely.sort_unstable();
        likely.truncate(MAX_READ);
        let passages: Vec<Passage<'_>> =
            likely.iter().map(|(_, at)| Passage { text: texts[*at], title: "", headings: &[] }).collect();
        let reading = Passages::read(self.question, &passages);
        let parsed = reading.parse_question(self.question);
        let defines = |passage: &usize| {
            reading.lines.iter().any(|line| line.passage == *passage && definitions::means(&parsed, line))
        };
        (0..passages.len()).filter(defines).map(|passage| likely[passage].1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_defined(question: &str, texts: &[&str], expected: &[usize]) {
        let asked = DefinitionQuestion::of(question).expect("a question for a definition");
        assert_eq!(asked.defined_in(texts), expected, "{question}");
    }

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
            ("", None),
        ] {
            let asked = DefinitionQuestion::of(question).map(|asked| asked.words());
            assert_eq!(asked.as_deref(), words, "{question}");
        }
    }

    #[test]
    fn texts_that_define_are_told_from_texts_that_only_name() {
        let named =
            "Start Tessel from the menu. If Tessel is running, close it. Tessel is able to read pack files.";
        let defined = "Many people use it. Tessel is a program that keeps looms in step.";
        check_defined("What is Tessel?", &[named, named, defined, named], &[2]);
        check_defined("What is Tessel?", &[named], &[]);
    }

    #[test]
    fn a_name_is_defined_by_the_words_behind_it_and_not_by_a_line_spoken_to_it() {
        let shouts = [
            "'Make up the fires, and buy another coal-scuttle before you dot another i, Bob Cratchit!'",
            "\"It is late, Bob Cratchit.\"",
            "Where have you been, Bob Cratchit?",
            "\"Bob Cratchit, a merry Christmas to you!\"",
        ];
        for shout in shouts {
            let defined = "Bob Cratchit, clerk to Ebenezer Scrooge.";
            check_defined("Who is Bob Cratchit?", &[shout, defined], &[1]);
        }
    }

    #[test]
    fn another_bearer_of_a_part_of_the_name_does_not_define_it() {
        let other = "Tim Cratchit (\"Tiny Tim\"), a cripple, youngest son of Bob Cratchit.";
        check_defined("Who is Bob Cratchit?", &[other, "Mr Cratchit is a clerk."], &[1]);
        check_defined("Who is Bob Cratchit?", &[other, "Cratchit was a clerk."], &[1]);
    }

    #[test]
    fn a_definition_in_another_language_is_found() {
        let text = "反渗透是一种净水技术。";
        check_defined("什么是反渗透？", &["我们使用反渗透。", text], &[1]);
        let text = "Ein Furtkuchen ist ein flaches Gebäck mit Kümmel.";
        check_defined("Was ist ein Furtkuchen?", &["Der Furtkuchen kostet vier Mark.", text], &[1]);
    }
}
