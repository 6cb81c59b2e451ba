//! Estimates how likely a line answers a question.
//!
//! Texts often answer in other words than the question. The log odds by the rules use the share of the question, in words and in
//! parts of words, in a line and its surroundings, the lead of the line and its passage over others, the length of the line and the
//! rank of the passage. Their weights come from a logistic regression on 5,500 questions in eleven languages about manuals,
//! handbooks, laws, recipes, minutes, chats and novels, and from `bench/honesty/development`. One in six has no answer in its texts.
//! They are one of the features of the [trees](super::trees), which estimate the probability.

use std::collections::HashSet;

use super::evidence::Evidence;
use super::judge::MAX_ANSWER_BYTES;
use super::kinds;
use super::lines::LineForm;
use super::measures;
use super::question::Role;

/// Maximum number of candidate lines, those that contain most of the question.
const MAX_LINES: usize = 16;
/// Minimum share of the question in a candidate line.
const MIN_SHARE: f32 = 0.15;
/// Minimum log odds of a line, or of its turn in a conversation, that meets all conditions for an answer.
const MIN_OF_ANSWER: f32 = -0.5;
/// The same of a line outside of conversations that is clear, and of the best of several sentences that answer together.
const MIN_OF_CLEAR: f32 = -2.0;
/// Share of the question from which a line that is an answer by the rules is clear.
const NEARLY_ALL: f32 = 0.95;
/// For a two-step question: the minimum share, without names, that a line must contain itself, and the minimum lead of its
/// passage over all others.
const MIN_OF_STEPS: f32 = 0.7;
const MIN_AHEAD_OF_STEPS: f32 = 0.2;
/// Penalties for a line that contains nothing but a name of the question, and for words of the question that no passage contains.
/// They are set by hand: users ask for facts about a name that a text does not contain more often than the questions of the
/// regression do.
const NAME_ALONE: f32 = 2.0;
const UNKNOWN: f32 = 2.0;
/// Number of terms above which the length of a question no longer matters.
const MANY: usize = 10;
/// Log odds if all features are 0.
const BASE: f32 = -3.84;

/// Returns the probability of log odds.
pub(super) fn probability(odds: f32) -> f32 {
    1.0 / (1.0 + (-odds).exp())
}

impl Evidence<'_, '_> {
    /// Returns the lines that most likely answer: an excerpt with the lines needed to understand it, or a conversation turn; `None`
    /// if none is likely enough.
    ///
    /// - `two_steps`: true for a two-step question, which a single line rarely answers.
    /// - `compares`: true for a comparison; a line must then contain all compared things.
    pub(super) fn likeliest(&self, two_steps: bool, compares: bool) -> Option<Vec<usize>> {
        match (self.likeliest_excerpt(&self.anchors(two_steps, compares)), self.likeliest_turn()) {
            (Some(excerpt), turn)
                if turn.as_ref().is_none_or(|turn| probability(turn.0) < excerpt.expected) =>
            {
                Some(excerpt.whole(self))
            }
            (_, turn) => turn.map(|(_, lines)| lines.collect()),
        }
    }

    /// True if a line that meets all conditions for an answer is likely enough.
    pub(super) fn may_answer(&self, at: usize) -> bool {
        let is_clear = self.turn_with(at).is_none() && self.is_clear(at);
        self.odds_of_line(at) >= if is_clear { MIN_OF_CLEAR } else { MIN_OF_ANSWER }
    }

    /// True if several sentences may answer: at least one of them must not be quite unlikely to. Lists and rows always may, and a
    /// single line was judged by [`may_answer`](Self::may_answer).
    pub(super) fn may_answer_together(&self, lines: &[usize]) -> bool {
        let is_likely_enough = |at: &usize| {
            self.reading.lines[*at].form != LineForm::Prose || self.odds_of_line(*at) >= MIN_OF_CLEAR
        };
        lines.len() == 1 || lines.iter().any(is_likely_enough)
    }

    /// True if a line that meets all conditions for an answer is one unless that is very unlikely: a value after a label or below
    /// a heading, a line that is not prose, or one that contains nearly all of the question.
    pub(super) fn is_clear(&self, at: usize) -> bool {
        let line = &self.reading.lines[at];
        line.form != LineForm::Prose
            || kinds::is_label(self.question, line)
            || measures::mentions_measure(self.question, line)
            || self.is_below_matching_heading(at)
            || self.together(at..at + 1, &self.direct) >= NEARLY_ALL
    }

    /// Returns the log odds that a line answers or, in a conversation, its turn.
    pub(super) fn odds_of_line(&self, at: usize) -> f32 {
        self.turn_with(at).map_or_else(|| self.odds(at), |turn| self.odds_of_turn(turn))
    }

    /// Returns the lines that may answer: by their scores if a model scored lines, otherwise by the rules.
    ///
    /// - `two_steps`, `compares`: as in [`likeliest`](Self::likeliest).
    pub(super) fn anchors(&self, two_steps: bool, compares: bool) -> Vec<usize> {
        let mut found =
            if self.is_scored() { self.scored_anchors(two_steps) } else { self.anchors_by_rules(two_steps) };
        found.retain(|at| !self.is_denied(*at) && (!compares || self.holds_names_itself(*at)));
        found
    }

    /// Returns the lines outside of conversations that may answer by the rules: none if no passage contains a name of the question.
    ///
    /// - `two_steps`: true for a two-step question; a line must then contain both steps, and its passage must stand out.
    fn anchors_by_rules(&self, two_steps: bool) -> Vec<usize> {
        if self.question.names.iter().any(|name| name.iter().all(|term| !self.known[*term])) {
            return Vec::new();
        }
        let eligible = self.candidates().iter().take(MAX_LINES).filter(|(share, _)| *share >= MIN_SHARE);
        let lines = &self.reading.lines;
        let passages_ahead = self.passages_ahead();
        let holds_steps = |at: usize| {
            self.own_share(at) >= MIN_OF_STEPS && passages_ahead[lines[at].passage] >= MIN_AHEAD_OF_STEPS
        };
        // A name may belong to the class. A row contains only the values of its columns.
        let may_be_of_class = |at: usize| {
            lines[at].form != LineForm::Row && !kinds::names(self.question, &lines[at]).is_empty()
        };
        // `Which telescope does Dunmere use?` asked of texts without telescopes.
        let is_unknown = |term: usize| self.question.terms[term].is_class && !self.known[term];
        let has_unknown_class = (0..self.known.len()).any(is_unknown) && !self.question.names.is_empty();
        let is_silent = |at: usize| {
            self.lacks_class_in_passage(at) && !may_be_of_class(at)
                || has_unknown_class && self.coverage(at) == 0.0
        };
        // One row does not answer for several.
        let is_one_of_several = |at: usize| self.question.many && lines[at].form == LineForm::Row;
        let fits = |at: usize| {
            !is_silent(at)
                && !is_one_of_several(at)
                && !self.holds_other_date(at)
                && (!two_steps || holds_steps(at))
        };
        eligible.map(|(_, at)| *at).filter(|at| fits(*at)).collect()
    }

    /// Returns the lines outside of conversations with their share of the question, highest share first.
    fn candidates(&self) -> &[(f32, usize)] {
        self.candidates.get_or_init(|| self.ranked_candidates())
    }

    fn ranked_candidates(&self) -> Vec<(f32, usize)> {
        let lines = &self.reading.lines;
        let conversations: HashSet<usize> =
            self.turns().iter().map(|turn| lines[turn.lines.start].passage).collect();
        let may_answer = |at: &usize| {
            let is_text = matches!(lines[*at].form, LineForm::Prose | LineForm::Item | LineForm::Row);
            !conversations.contains(&lines[*at].passage)
                && lines[*at].text.len() <= MAX_ANSWER_BYTES
                && (is_text || lines[*at].form == LineForm::Question && self.reply_to(*at).is_some())
        };
        let mut found: Vec<(f32, usize)> =
            (0..lines.len()).filter(may_answer).map(|at| (self.share(at), at)).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        found
    }

    /// Returns how much more of the question a line contains than the best other candidate. Copies of the line in overlapping
    /// passages do not count.
    pub(super) fn ahead(&self, at: usize) -> f32 {
        let lines = &self.reading.lines;
        let other = self.candidates().iter().find(|(_, other)| lines[*other].text != lines[at].text);
        self.share(at) - other.map_or(0.0, |(share, _)| *share)
    }

    /// Returns the same lead by parts of words, over the other lines among the first [`MAX_LINES`] candidates.
    pub(super) fn grams_ahead(&self, at: usize) -> f32 {
        let lines = &self.reading.lines;
        let others = self.candidates().iter().take(MAX_LINES).map(|(_, other)| *other);
        let others = others.filter(|other| lines[*other].text != lines[at].text);
        let share = |line: usize| self.grams().share([line]);
        share(at) - others.map(share).fold(0.0, f32::max)
    }

    /// Returns the log odds that a line outside of conversations answers, by the rules alone.
    pub(super) fn odds_by_rules(&self, at: usize) -> f32 {
        let (lines, terms) = (&self.reading.lines, &self.question.terms);
        let line = &lines[at];
        let of_passage = |other: &usize| lines.get(*other).is_some_and(|other| other.passage == line.passage);
        let start = at.checked_sub(1).filter(of_passage).unwrap_or(at);
        let end = if of_passage(&(at + 1)) { at + 2 } else { at + 1 };
        let kind = match self.question.answer_type.is_typed() {
            true if kinds::holds(self.question, line, lines.get(at + 1)) => 0.67,
            true => -1.43,
            false => 0.0,
        };
        let is_of_sort =
            (0..terms.len()).any(|term| terms[term].role == Role::Class && self.direct[at][term] > 0.0);
        let unknown = (0..terms.len()).map(|term| if self.known[term] { 0.0 } else { 1.0 });
        let number = |is: bool| f32::from(u8::from(is));
        BASE + 3.8 * self.ahead(at)
            + 3.08 * self.grams_ahead(at)
            + 1.26 * self.passages_ahead()[line.passage]
            + 0.72 / (1.0 + line.passage as f32)
            + 2.33 * self.grams().share(start..end)
            + 1.54 * self.together(start..end, &self.direct)
            + kind
            + 0.53 * number(self.has_numbers(at))
            + 0.54 * number(is_of_sort)
            + 0.63 * number(kinds::names_instance(self.question, line))
            - 0.4 * (line.text.len() as f32).ln_1p()
            + 0.13 * terms.len().min(MANY) as f32
            - UNKNOWN * self.weighed(unknown)
            - NAME_ALONE * number(self.coverage(at) == 0.0 && !self.question.names.is_empty())
    }

    /// Returns the weighted share of the question that several lines contain together.
    ///
    /// - `strengths`: the strength of each term in each line.
    pub(super) fn together(
        &self,
        lines: impl IntoIterator<Item = usize> + Clone,
        strengths: &[Vec<f32>],
    ) -> f32 {
        let best =
            |term: usize| lines.clone().into_iter().map(|line| strengths[line][term]).fold(0.0, f32::max);
        self.weighed((0..self.question.terms.len()).map(best))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::super::test_support::reply_from;

    const OBSERVATORY: &str = "The Dunmere observatory stands on a hill above the bay. Its dome was cast in one piece and hauled up the slope \
        by forty oxen. A grant by Ines Okafor covered the wages of the night staff until the war.";
    const BAKERY: &str = "The bakery on Gull Street opens at six. Its rye loaf has won two prizes.";

    #[test]
    fn a_paraphrase_is_likely_if_its_passage_ranks_first_and_it_has_most_of_the_question() {
        let question = "Who paid the wages of the night staff of the observatory?";
        let (reply, texts) = reply_from(&[OBSERVATORY, BAKERY], question);
        assert!(matches!(reply, Reply::Likely(_) | Reply::Answer(_)), "{reply:?}");
        assert!(texts.iter().any(|text| text.contains("Ines Okafor")), "{texts:?}");
    }

    #[test]
    fn a_line_with_only_the_name_is_not_likely() {
        for question in ["What colour is the Dunmere observatory?", "Which telescope does Dunmere use?"] {
            let (reply, _) = reply_from(&[OBSERVATORY, BAKERY], question);
            assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{question}: {reply:?}");
        }
    }

    #[test]
    fn a_line_with_another_month_is_not_likely() {
        let text =
            "Unemployment in Leska Province fell to 5.4 percent in April, the statistics office reported.";
        let (reply, _) =
            reply_from(&[text, BAKERY], "What was the unemployment rate in Leska Province in January?");
        assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{reply:?}");
    }

    #[test]
    fn a_line_with_both_steps_of_a_question_is_likely() {
        let question = "What covered the wages of the night staff that watched until the war?";
        let (reply, texts) = reply_from(&[OBSERVATORY, BAKERY], question);
        assert!(matches!(reply, Reply::Likely(_) | Reply::Answer(_)), "{reply:?}");
        assert!(texts.iter().any(|text| text.contains("Ines Okafor")), "{texts:?}");
    }
}
