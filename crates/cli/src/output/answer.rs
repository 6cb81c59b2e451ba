//! Prints an answer for people: wrapped to the terminal, with citations numbered in order of appearance.

use std::collections::BTreeMap;
use std::ops::Range;

use graphloom_core::{DocumentId, Span};
use graphloom_engine::query::{
    Answer, Citation, CitedSpan, Mark, Retrieval, marks, marks_of, without_references,
};
use textwrap::core::{Word, display_width};

use super::Output;
use super::render::plain;

/// Writes an answer as it arrives, sentence by sentence, and numbers its citations.
///
/// A number stands for one place in one document. Citations that point to nothing are omitted, and so is the
/// model's own closing list of references.
pub(crate) struct AnswerWriter<'a> {
    output: &'a Output,
    retrieval: &'a Retrieval,
    /// URLs of documents in the context that can be opened.
    addresses: &'a BTreeMap<DocumentId, String>,
    text: String,
    written: usize,
    numbered: Vec<CitedSpan>,
    /// Where words of the question occur in the text.
    matches: Vec<Range<usize>>,
    /// The marks of the text, if it arrived as a whole.
    marks: Option<Vec<Mark>>,
    flow: Flow,
}

impl<'a> AnswerWriter<'a> {
    /// - `addresses`: URLs of documents that can be opened, for links.
    pub(crate) fn new(
        output: &'a Output,
        retrieval: &'a Retrieval,
        addresses: &'a BTreeMap<DocumentId, String>,
    ) -> Self {
        let (text, numbered, flow) = (String::new(), Vec::new(), Flow::new(output.columns));
        let (matches, marks) = (Vec::new(), None);
        Self { output, retrieval, addresses, text, written: 0, numbered, matches, marks, flow }
    }

    /// Adds the next piece of the answer; returns the text to print now.
    pub(crate) fn push(&mut self, delta: &str) -> String {
        self.text.push_str(delta);
        let end = whole_sentences(&self.text);
        self.write(end)
    }

    /// Returns the rest of the answer to print, with a line end. If no piece was pushed, this is the whole answer with the
    /// words of the question highlighted.
    pub(crate) fn finish(&mut self, answer: &Answer) -> String {
        if self.text.is_empty() {
            self.text.clone_from(&answer.text);
            self.marks = Some(marks_of(answer, self.retrieval));
            self.matches = answer.matches.iter().map(|span| span.start as usize..span.end as usize).collect();
        }
        let mut rest = self.write(self.text.len());
        self.flow.push("\n", &mut rest);
        rest
    }

    /// Returns the citations behind the printed numbers, in order; `None` if a citation could not be verified.
    pub(crate) fn numbered<'c>(&self, citations: &'c [Citation]) -> Vec<Option<&'c Citation>> {
        let is_numbered = |citation: &Citation| self.numbered.iter().any(|cited| is_of(citation, cited));
        let find = |cited: &CitedSpan| {
            let exact = citations.iter().find(|citation| is_of(citation, cited));
            // Identical sentences may be cited instead of each other.
            exact.or_else(|| {
                let alike = |it: &&Citation| it.document == cited.document && !is_numbered(it);
                citations.iter().find(alike)
            })
        };
        self.numbered.iter().map(find).collect()
    }

    fn write(&mut self, end: usize) -> String {
        let end = end.min(without_references(&self.text).len());
        if end <= self.written {
            return String::new();
        }
        let mut out = String::new();
        let text = std::mem::take(&mut self.text);
        let marked = self.marks.take().unwrap_or_else(|| marks(&text, self.retrieval));
        for Mark { range, cited } in marked {
            if range.start < self.written || range.end > end {
                continue;
            }
            let numbers = self.numbers(cited);
            let before = self.written..range.start;
            // If there is no number, omit the blank before it.
            let before = match numbers.is_empty() {
                true => before.start..before.start + text[before.clone()].trim_end_matches(' ').len(),
                false => before,
            };
            self.words(&text, before, &mut out);
            self.flow.push(&numbers.concat(), &mut out);
            self.written = range.end;
        }
        self.words(&text, self.written..end, &mut out);
        self.written = end;
        self.text = text;
        out
    }

    /// Returns the markers `[1]`, `[2]` for the places a citation points to, each once.
    fn numbers(&mut self, cited: Vec<Option<CitedSpan>>) -> Vec<String> {
        let mut numbers: Vec<usize> = Vec::new();
        for cited in cited.into_iter().flatten() {
            let same = |known: &CitedSpan| known.document == cited.document && known.span == cited.span;
            let known = self.numbered.iter().position(same);
            let at = known.unwrap_or_else(|| {
                self.numbered.push(cited);
                self.numbered.len() - 1
            });
            if !numbers.contains(&at) {
                numbers.push(at);
            }
        }
        let number = |at: usize| {
            let address = self.addresses.get(&self.numbered[at].document).map(String::as_str);
            self.output.link(address, &self.output.mark(&format!("[{}]", at + 1)))
        };
        numbers.into_iter().map(number).collect()
    }

    fn words(&mut self, text: &str, range: Range<usize>, out: &mut String) {
        let mut at = range.start;
        for found in &self.matches {
            let (start, end) = (found.start.max(at), found.end.min(range.end));
            if start >= end {
                continue;
            }
            self.flow.push(&plain(text.get(at..start).unwrap_or_default()), out);
            // Word by word, because a line may end between two words.
            for piece in text.get(start..end).unwrap_or_default().split_inclusive(' ') {
                let word = piece.trim_end_matches(' ');
                if !word.is_empty() {
                    self.flow.push(&self.output.found(&plain(word)), out);
                }
                self.flow.push(&piece[word.len()..], out);
            }
            at = end;
        }
        self.flow.push(&plain(text.get(at..range.end).unwrap_or_default()), out);
    }
}

fn is_of(citation: &Citation, cited: &CitedSpan) -> bool {
    let Span { start, end } = citation.span;
    citation.document == cited.document && start <= cited.span.start && cited.span.end <= end
}

/// Returns the end of the last complete sentence or line of `text`, including citation numbers after it.
fn whole_sentences(text: &str) -> usize {
    let mut end = 0;
    let mut after_end = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => end = at + 1,
            '.' | '!' | '?' | ']' | '。' | '！' | '？' => after_end = true,
            '[' => after_end = false,
            ' ' | '*' | '"' | '”' | ')' => {}
            _ => {
                if after_end && text[..at].ends_with([' ', '。', '！', '？']) {
                    end = at;
                }
                after_end = false;
            }
        }
    }
    end
}

/// Wraps text that may arrive in pieces.
struct Flow {
    columns: Option<usize>,
    column: usize,
    /// A word that the next piece may continue.
    word: String,
    /// The blanks before it.
    blanks: String,
    in_code: bool,
}

impl Flow {
    fn new(columns: Option<usize>) -> Self {
        Self { columns, column: 0, word: String::new(), blanks: String::new(), in_code: false }
    }

    fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            match c {
                '\n' => {
                    self.end_word(out);
                    self.blanks.clear();
                    out.push('\n');
                    self.column = 0;
                }
                ' ' | '\t' => {
                    self.end_word(out);
                    self.blanks.push(c);
                }
                _ => self.word.push(c),
            }
        }
    }

    fn end_word(&mut self, out: &mut String) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        if word.starts_with("```") {
            self.in_code = !self.in_code;
        }
        let blanks = std::mem::take(&mut self.blanks);
        let width = display_width(&word);
        let Some(columns) = self.columns.filter(|_| !self.in_code) else {
            self.column += blanks.len() + width;
            out.push_str(&blanks);
            out.push_str(&word);
            return;
        };
        if self.column > 0 && self.column + blanks.len() + width > columns {
            out.push('\n');
            self.column = 0;
        } else {
            out.push_str(&blanks);
            self.column += blanks.len();
        }
        for (at, part) in Word::from(word.as_str()).break_apart(columns).enumerate() {
            if at > 0 {
                out.push('\n');
                self.column = 0;
            }
            out.push_str(part.word);
            self.column += display_width(part.word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_flow(columns: usize, pieces: &[&str]) -> String {
        let mut flow = Flow::new(Some(columns));
        let mut out = String::new();
        pieces.iter().for_each(|piece| flow.push(piece, &mut out));
        flow.push("\n", &mut out);
        out
    }

    #[test]
    fn text_is_wrapped_at_words_regardless_of_how_it_arrives() {
        let expected = "The first paper of\nthe laboratory\n";
        assert_eq!(check_flow(18, &["The first paper of the laboratory"]), expected);
        assert_eq!(check_flow(18, &["The fir", "st pap", "er of the labor", "atory"]), expected);
    }

    #[test]
    fn lists_keep_their_lines_and_code_its_width() {
        assert_eq!(check_flow(10, &["- one\n  - two\n\nthree"]), "- one\n  - two\n\nthree\n");
        let code = "```\nlet a_long_name = 1;\n```\n";
        assert_eq!(check_flow(10, &[code.trim_end()]), code);
    }

    #[test]
    fn a_sentence_ends_after_its_citation_numbers() {
        let whole = |text: &str| text[..whole_sentences(text)].to_owned();
        assert_eq!(whole("Ada wrote. [1] Bob"), "Ada wrote. [1] ");
        assert_eq!(whole("Ada wrote. [1"), "");
        assert_eq!(whole("Ada wrote [1]. Bob read"), "Ada wrote [1]. ");
        assert_eq!(whole("Version 1.5 is"), "");
        assert_eq!(whole("一。二"), "一。");
        assert_eq!(whole("# Title\nText"), "# Title\n");
    }
}
