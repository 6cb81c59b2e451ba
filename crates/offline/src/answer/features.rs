//! What the rules know about a line, as numbers, from which [`trees`](super::trees) estimate whether it answers.

use super::definitions;
use super::evidence::Evidence;
use super::kinds;
use super::lines::{Line, LineForm};
use super::lists;
use super::measures;
use super::question::{AnswerType, Role};
use super::whole;
use crate::scripts::has_no_spaces;

/// The names of the features, in the order of [`Evidence::features`].
pub const LINE_FEATURES: &[&str] = &[
    "rules",
    "behind_best",
    "share",
    "share_behind",
    "own_share",
    "coverage",
    "ahead",
    "grams",
    "grams_around",
    "grams_ahead",
    "passage_ahead",
    "together",
    "relations",
    "relations_matched",
    "relations_close",
    "relations_exact",
    "exact_share",
    "close_share",
    "names",
    "names_matched",
    "has_names",
    "has_numbers",
    "has_key",
    "key",
    "holds_type",
    "near_key",
    "meets_conditions",
    "of_others",
    "type",
    "asks_person",
    "asks_time",
    "asks_place",
    "asks_amount",
    "asks_measure",
    "asks_reason",
    "asks_manner",
    "asks_meaning",
    "asks_thing",
    "many",
    "has_class",
    "class_matched",
    "names_instance",
    "new_names",
    "new_words",
    "new_numbers",
    "asks_name",
    "quoted_lines",
    "quoted_new_words",
    "quoted_share",
    "quoted_holds_type",
    "measure_mentioned",
    "label",
    "means",
    "below_heading",
    "heading_share",
    "pronoun",
    "named_before",
    "in_turn",
    "row",
    "item",
    "asks",
    "announces",
    "enumerates",
    "length",
    "terms",
    "unknown",
    "passage",
    "lines_of_passage",
    "place_in_passage",
    "two_steps",
    "unspaced",
    "next_holds_type",
    // Without a model that scores lines, these are 0.
    "score",
    "score_behind",
    "score_ahead",
    "score_around",
    "quoted_score",
];

/// Number of new words above which more do not matter.
const MANY_WORDS: usize = 20;

impl Evidence<'_, '_> {
    /// Returns the features of a line, see [`LINE_FEATURES`].
    pub(super) fn features(&self, at: usize) -> Vec<f32> {
        let (lines, terms, question) = (&self.reading.lines, &self.question.terms, self.question);
        let line = &lines[at];
        let number = |is: bool| f32::from(u8::from(is));
        let of_passage = |other: usize| lines.get(other).is_some_and(|other| other.passage == line.passage);
        let start = at.checked_sub(1).filter(|before| of_passage(*before)).unwrap_or(at);
        let end = if of_passage(at + 1) { at + 2 } else { at + 1 };
        let next = lines.get(at + 1).filter(|next| next.passage == line.passage);
        let is_relation =
            |term: &usize| matches!(terms[*term].role, Role::Relation | Role::Class | Role::Number);
        let relations: Vec<usize> = (0..terms.len()).filter(is_relation).collect();
        let matched =
            |least: f32| relations.iter().filter(|term| self.direct[at][**term] >= least).count() as f32;
        let of_at_least =
            |least: f32| self.weighed(self.direct[at].iter().map(|strength| number(*strength >= least)));
        let names_matched =
            question.names.iter().filter(|name| name.iter().any(|term| self.direct[at][*term] > 0.0)).count();
        let is_class = |term: &usize| terms[*term].is_class || terms[*term].role == Role::Class;
        let class = (0..terms.len())
            .filter(is_class)
            .map(|term| self.direct[at][term])
            .fold(None, |best: Option<f32>, strength| Some(best.unwrap_or(0.0).max(strength)));
        let rules = self.rule_odds_of_line(at);
        let (best, best_share) = self.best_candidate();
        let share = self.share(at);
        let headings = line
            .headings
            .iter()
            .map(|heading| self.weighed((0..terms.len()).map(|term| self.direct[*heading][term])));
        let heading_share = headings.fold(0.0, f32::max);
        let first_of_passage =
            (0..=at).rev().take_while(|other| lines[*other].passage == line.passage).count() - 1;
        let lines_of_passage =
            first_of_passage + lines[at..].iter().take_while(|other| other.passage == line.passage).count();
        let holds = |line: &Line<'_>, next: Option<&Line<'_>>| number(kinds::holds(question, line, next));
        let asks = |answer_type: AnswerType| number(question.answer_type == answer_type);
        let quoted = whole(self, at);
        let quoted_new_words: usize =
            quoted.iter().map(|line| kinds::new_words(question, &lines[*line])).sum();
        vec![
            rules,
            rules - best,
            share,
            share - best_share,
            self.own_share(at),
            self.coverage(at),
            self.ahead(at),
            self.grams().share([at]),
            self.grams().share(start..end),
            self.grams_ahead(at),
            self.passages_ahead()[line.passage],
            self.together(start..end, &self.direct),
            relations.len() as f32,
            matched(f32::MIN_POSITIVE) / relations.len().max(1) as f32,
            matched(0.79) / relations.len().max(1) as f32,
            matched(0.99) / relations.len().max(1) as f32,
            of_at_least(0.99),
            of_at_least(0.79),
            question.names.len() as f32,
            names_matched as f32 / question.names.len().max(1) as f32,
            number(self.has_names(at)),
            number(self.has_numbers(at)),
            number(self.has_key(at)),
            question.key.map_or(0.5, |key| self.direct[at][key]),
            holds(line, next),
            number(self.is_near_key(at)),
            number(self.judge(at).is_some()),
            number(self.is_of_others(at)),
            number(question.answer_type.is_typed()),
            asks(AnswerType::Person),
            asks(AnswerType::Time),
            asks(AnswerType::Place),
            asks(AnswerType::Amount { measured: false }),
            asks(AnswerType::Amount { measured: true }),
            asks(AnswerType::Reason),
            asks(AnswerType::Manner),
            asks(AnswerType::Meaning),
            asks(AnswerType::Thing),
            number(question.many),
            number(class.is_some()),
            class.unwrap_or(0.0),
            number(kinds::names_instance(question, line)),
            kinds::names(question, line).len().min(4) as f32,
            kinds::new_words(question, line).min(MANY_WORDS) as f32,
            kinds::new_numbers(question, line.text).count().min(4) as f32,
            number(question.naming),
            quoted.len() as f32,
            quoted_new_words.min(MANY_WORDS) as f32,
            self.together(quoted.iter().copied(), &self.direct),
            quoted.iter().map(|line| holds(&lines[*line], None)).fold(0.0, f32::max),
            number(measures::mentions_measure(question, line)),
            number(kinds::is_label(question, line)),
            number(question.answer_type == AnswerType::Meaning && definitions::means(question, line)),
            number(self.is_below_matching_heading(at)),
            heading_share,
            number(line.begins_with_pronoun),
            number(self.named_by[at].is_some()),
            number(self.turn_with(at).is_some()),
            number(line.form == LineForm::Row),
            number(line.form == LineForm::Item),
            number(line.form == LineForm::Question),
            number(line.text.ends_with([':', '：'])),
            lists::enumerates(line).min(6) as f32,
            line.text.chars().count().min(400) as f32,
            terms.len() as f32,
            self.known.iter().filter(|known| !**known).count() as f32 / terms.len().max(1) as f32,
            line.passage.min(20) as f32,
            lines_of_passage.min(40) as f32,
            first_of_passage as f32 / lines_of_passage.max(1) as f32,
            number(super::several::describes_by_another(&question.lower)),
            number(has_no_spaces(line.text)),
            next.map_or(0.0, |next| holds(next, None)),
            self.score_of([at]),
            self.score_of([at]) - self.score_of(0..lines.len()),
            self.score_of([at])
                - self.score_of((0..lines.len()).filter(|other| lines[*other].text != line.text)),
            self.score_of((start..end).filter(|other| *other != at)),
            self.score_of(quoted),
        ]
    }
}
