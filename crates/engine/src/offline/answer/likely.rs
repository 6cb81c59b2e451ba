//! The line that most likely answers a question where none holds all that an answer must.
//!
//! Texts often answer in other words than a question asks in. How much of the question a line holds, and how far it stands out from
//! the other lines, then tells how likely it is that it answers. The weights are those of a logistic regression on 231 questions in
//! English, German and Chinese that no sentence answers by the rules; 128 of them ask for things that the documents do not say.

use super::asked::{Role, Wants};
use super::evidence::{Evidence, IS_THERE};
use super::judge::MAX_ANSWER_BYTES;
use super::kinds;
use super::lines::LineForm;

/// Lines that may answer, at most; those that hold most of the question.
const MAX_LINES: usize = 12;
/// Share of the question that a line must hold.
const MIN_SHARE: f32 = 0.2;
/// The least sum for a line to be given: a chance of about 35%.
const MIN_SUM: f32 = -0.62;
/// The sum where all else is 0.
const BASE: f32 = -8.23;

impl Evidence<'_, '_> {
    /// The line that most likely answers; `None` where none is likely enough.
    pub(super) fn likeliest(&self) -> Option<usize> {
        let lines = &self.reading.lines;
        let may_answer = |at: &usize| {
            matches!(lines[*at].form, LineForm::Prose | LineForm::Item | LineForm::Row)
                && lines[*at].text.len() <= MAX_ANSWER_BYTES
                && self.share(*at) >= MIN_SHARE
        };
        // A person, time, place or number must be there.
        let is_typed =
            matches!(self.asked.wants, Wants::Person | Wants::Time | Wants::Place | Wants::Amount { .. });
        let fits = |at: &usize| {
            let of_kind = kinds::holds(self.asked, &lines[*at], lines.get(at + 1));
            (of_kind || !is_typed)
                && !self.is_silent_about_sort(*at)
                && !self.is_owned_by_others(*at)
                && !self.is_done_by_others(*at)
        };
        let mut found: Vec<usize> = (0..lines.len()).filter(may_answer).collect();
        found.sort_by(|one, other| self.share(*other).total_cmp(&self.share(*one)).then(one.cmp(other)));
        found.truncate(MAX_LINES);
        let others = |at: usize| {
            let others = found.iter().filter(|other| lines[**other].text != lines[at].text);
            others.map(|other| self.share(*other)).fold(0.0, f32::max)
        };
        let likely = found
            .iter()
            .filter(|at| fits(at))
            .map(|at| (self.likelihood(*at, self.share(*at) - others(*at)), *at));
        let (sum, best) = likely.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
        (sum >= MIN_SUM).then_some(best)
    }

    /// How likely a line answers, as the logarithm of the odds.
    ///
    /// - `ahead`: how much more of the question it holds than any other line.
    fn likelihood(&self, at: usize, ahead: f32) -> f32 {
        let line = &self.reading.lines[at];
        let number = |is: bool| f32::from(u8::from(is));
        let relations =
            || (0..self.asked.terms.len()).filter(|term| self.asked.terms[*term].role == Role::Relation);
        let missing = relations().filter(|term| self.strength[at][*term] < IS_THERE).count();
        let own = relations().filter(|term| self.direct[at][*term] > 0.0).count();
        let key = self.asked.key.map_or(1.0, |key| self.strength[at][key]);
        BASE + 1.87 * self.held(at) + 3.45 * self.share(at) + 2.47 * ahead - 0.62 * self.own_share(at)
            + 0.67 * key
            + 1.06 * number(self.is_near_key(at))
            - 0.48 * number(self.has_names(at))
            + 0.91 * missing as f32
            + 0.48 * own as f32
            + 1.85 * number(line.passage == 0)
            - 1.79 * number(self.asked.many)
    }
}
