//! The line that most likely answers a question where none holds all that an answer must.
//!
//! Texts often answer in other words than a question asks in. How much of the question a line holds, and how far it stands out from
//! the other lines, then tells how likely it is that it answers. The weights are those of a logistic regression on 231 questions in
//! English, German and Chinese that no sentence answers by the rules; 128 of them ask for things that the documents do not say.

use std::collections::HashSet;

use super::evidence::{Evidence, IS_THERE};
use super::judge::MAX_ANSWER_BYTES;
use super::kinds;
use super::lines::LineForm;
use super::whole;

/// Lines that may answer, at most; those that hold most of the question.
const MAX_LINES: usize = 12;
/// Share of the question that a line must hold.
const MIN_SHARE: f32 = 0.2;
/// The least sum for a line to be given: a chance of about 35%.
const MIN_SUM: f32 = -0.62;
/// The sum where all else is 0.
const BASE: f32 = -8.23;

impl Evidence<'_, '_> {
    /// The lines that most likely answer: one with what it needs to be understood, or a turn of a conversation; `None` where none are
    /// likely enough.
    ///
    /// - `two_steps`: whether the question goes over another thing, so that no one line answers.
    /// - `compares`: whether things are compared, so that one line must hold them all.
    pub(super) fn likeliest(&self, two_steps: bool, compares: bool) -> Option<Vec<usize>> {
        let line = if two_steps { None } else { self.likeliest_line() };
        let line = line.filter(|(_, line)| !compares || self.holds_names_itself(*line));
        match (line, self.likeliest_turn()) {
            (Some((sum, line)), turn) if turn.as_ref().is_none_or(|turn| turn.0 < sum) => {
                Some(whole(self, line))
            }
            (_, turn) => turn.map(|(_, lines)| lines.collect()),
        }
    }

    /// The line outside of conversations that most likely answers, and how likely that is; `None` where none is likely enough.
    fn likeliest_line(&self) -> Option<(f32, usize)> {
        let lines = &self.reading.lines;
        let conversations: HashSet<usize> =
            self.turns().iter().map(|turn| lines[turn.lines.start].passage).collect();
        let may_answer = |at: &usize| {
            matches!(lines[*at].form, LineForm::Prose | LineForm::Item | LineForm::Row)
                && lines[*at].text.len() <= MAX_ANSWER_BYTES
                && !conversations.contains(&lines[*at].passage)
        };
        // A person, time, place or number must be there.
        let is_typed = self.asked.wants.is_typed();
        let fits = |at: usize| {
            (!is_typed || kinds::holds(self.asked, &lines[at], lines.get(at + 1)))
                && !self.is_silent_about_sort(at)
                && !self.is_owned_by_others(at)
                && !self.is_done_by_others(at)
        };
        let shares = (0..lines.len()).filter(may_answer).map(|at| (self.share(at), at));
        let mut found: Vec<(f32, usize)> = shares.filter(|(share, _)| *share >= MIN_SHARE).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        found.truncate(MAX_LINES);
        // Overlapping passages hold the same line.
        let next = |at: usize| {
            let other = found.iter().find(|(_, other)| lines[*other].text != lines[at].text);
            other.map_or(0.0, |(share, _)| *share)
        };
        let fitting = found.iter().filter(|(_, at)| fits(*at));
        let likely = fitting.map(|&(share, at)| (self.likelihood(at, share, share - next(at)), at));
        let (sum, best) = likely.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
        (sum >= MIN_SUM).then_some((sum, best))
    }

    /// How likely a line answers, as the logarithm of the odds.
    ///
    /// - `share`: how much of the question it holds.
    /// - `ahead`: how much more that is than any other line holds.
    fn likelihood(&self, at: usize, share: f32, ahead: f32) -> f32 {
        let line = &self.reading.lines[at];
        let number = |is: bool| f32::from(u8::from(is));
        let missing = self.relations().filter(|term| self.strength[at][*term] < IS_THERE).count();
        let own = self.relations().filter(|term| self.direct[at][*term] > 0.0).count();
        let key = self.asked.key.map_or(1.0, |key| self.strength[at][key]);
        BASE + 1.87 * self.held(at) + 3.45 * share + 2.47 * ahead - 0.62 * self.own_share(at)
            + 0.67 * key
            + 1.06 * number(self.is_near_key(at))
            - 0.48 * number(self.has_names(at))
            + 0.91 * missing as f32
            + 0.48 * own as f32
            + 1.85 * number(line.passage == 0)
            - 1.79 * number(self.asked.many)
    }
}
