//! Ends answers at the question's limits: at a stop text, or after a number of tokens.

use super::Question;
use graphloom_text::Tokenizer;

/// The text of an answer under output limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CutText {
    /// The text.
    pub(super) text: String,
    /// True if an output limit cut the text.
    pub(super) cut: bool,
}

/// Applies the question's limits to a text that no model wrote.
pub(super) fn cut(question: &Question, tokenizer: Tokenizer, text: &str) -> CutText {
    let ended = StopFilter::new(&question.stop).cut(text);
    let kept = question.max_output_tokens.map_or(ended, |most| tokenizer.truncate(ended, most));
    CutText { text: kept.to_owned(), cut: kept.len() < ended.len() }
}

/// Ends a streamed text before the first stop text, even if that arrives in pieces.
#[derive(Debug)]
pub(super) struct StopFilter<'a> {
    /// The stop texts; none is empty.
    stops: Vec<&'a str>,
    /// The end of the text so far, if it may be the beginning of a stop text.
    held: String,
    ended: bool,
}

impl<'a> StopFilter<'a> {
    pub(super) fn new(stops: &'a [String]) -> Self {
        let stops = stops.iter().map(String::as_str).filter(|stop| !stop.is_empty()).collect();
        Self { stops, held: String::new(), ended: false }
    }

    /// Adds a piece and returns the text that can be shown; may be empty.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.ended {
            return String::new();
        }
        self.held.push_str(piece);
        let at = self.first_in(&self.held);
        if let Some(at) = at {
            self.ended = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        // Hold back the longest end that may begin a stop text.
        let begins = |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]));
        let borders = self.held.char_indices().map(|(at, _)| at);
        let longest = self.stops.iter().map(|stop| stop.len()).max().unwrap_or(0);
        let from = self.held.len().saturating_sub(longest);
        let keep = borders.filter(|at| *at >= from).find(begins).unwrap_or(self.held.len());
        let rest = self.held.split_off(keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns the text held back at the end.
    pub(super) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Returns a whole text up to the first stop text.
    pub(super) fn cut<'t>(&self, text: &'t str) -> &'t str {
        &text[..self.first_in(text).unwrap_or(text.len())]
    }

    /// Returns the start of the stop text that is complete first, as it would be noticed while streaming; of several that end
    /// together, the longest.
    fn first_in(&self, text: &str) -> Option<usize> {
        let found = self.stops.iter().filter_map(|stop| text.find(stop).map(|at| (at + stop.len(), at)));
        found.min().map(|(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_stream(stops: &[String], pieces: &[String]) -> String {
        let mut filter = StopFilter::new(stops);
        let mut shown: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        shown.push_str(&filter.finish());
        shown
    }

    #[test]
    fn an_answer_ends_before_a_stop_that_arrives_in_pieces() {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let stops = owned(&["", "END", "\n\n"]);
        assert_eq!(check_stream(&stops, &owned(&["Ra", "dium. E", "N", "D and more", "END"])), "Radium. ");
        assert_eq!(check_stream(&stops, &owned(&["EN", "TIRE\n", "line"])), "ENTIRE\nline");
        assert_eq!(check_stream(&stops, &owned(&["whole E"])), "whole E");
        let nested = owned(&["end", "the end of it"]);
        assert_eq!(check_stream(&nested, &owned(&["at the end", " of it all"])), "at the ");
        assert_eq!(StopFilter::new(&nested).cut("at the end of it all"), "at the ");
    }

    proptest! {
        #[test]
        fn a_stream_ends_where_the_whole_text_does(
            stops in prop::collection::vec("[abé]{0,3}", 0..3),
            pieces in prop::collection::vec("[abcé]{0,4}", 0..8),
        ) {
            let whole = pieces.concat();
            prop_assert_eq!(check_stream(&stops, &pieces), StopFilter::new(&stops).cut(&whole));
        }
    }

    #[test]
    fn a_limit_cuts_verbatim_answers_and_says_so() {
        let asked = |most, stop: &[&str]| Question {
            max_output_tokens: most,
            stop: stop.iter().map(|stop| (*stop).to_owned()).collect(),
            ..Question::default()
        };
        let text = "Tobias Renn succeeded Maren Oskoldt. [1]";
        let check = |question: &Question| cut(question, Tokenizer, text);
        assert_eq!(check(&asked(None, &[])), CutText { text: text.to_owned(), cut: false });
        assert_eq!(check(&asked(Some(1000), &[])), CutText { text: text.to_owned(), cut: false });
        let short = check(&asked(Some(3), &[]));
        assert!(short.cut && text.starts_with(&short.text) && Tokenizer.count(&short.text) <= 3, "{short:?}");
        assert_eq!(
            check(&asked(None, &[" Maren"])),
            CutText { text: "Tobias Renn succeeded".to_owned(), cut: false }
        );
    }
}
