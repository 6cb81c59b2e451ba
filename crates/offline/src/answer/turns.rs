//! Finds the conversation turn that most likely answers a question, if no line meets all conditions for an answer.
//!
//! In a conversation, the topic is often in one turn and the answer in the next, and sentences do not name their speaker. So each
//! turn is judged as a whole, with the turns before it. The weights come from a logistic regression on 810 questions about a year
//! of chats and about scenes of a comedy; 105 of them ask for things that the texts do not say.

use std::ops::Range;

use super::evidence::Evidence;
use super::kinds;
use super::lines::{Line, LineForm};
use super::question::{AnswerType, Role};
use super::words::is_report;

/// Strength of a word in the previous turn, which this one answers.
const IN_TURN_BEFORE: f32 = 0.7;
/// The same two turns earlier.
const TWO_TURNS_BEFORE: f32 = 0.5;
/// The same in the first line of the passage, in its title or in a heading.
const ABOVE: f32 = 0.75;
/// Strength of the name of another participant.
const TAKES_PART: f32 = 0.75;
/// Maximum number of candidate turns, those that contain most of the question.
const MAX_TURNS: usize = 12;
/// Minimum log odds of a returned turn.
const MIN_OF_LIKELY: f32 = 0.0;
/// Maximum length of a turn, in bytes; a longer one, such as a letter, is read as prose.
const MAX_BYTES: usize = 600;
/// Maximum number of bytes of the reply to a question outside of conversations; its first sentence is always quoted.
const MAX_REPLY_BYTES: usize = 300;
/// Length of a turn, in bytes, above which it no longer matters.
const LONG: usize = 400;
/// Minimum share of the question in a candidate turn.
const MIN_SHARE: f32 = 0.3;
/// Log odds if all features are 0.
const BASE: f32 = -2.99;

/// One person's turn, and how much of the question it contains.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) lines: Range<usize>,
    /// The strength of each term in the turn, the turns before it and the text above.
    strength: Vec<f32>,
    /// Share of the question that it contains.
    share: f32,
    /// Lead of its passage over the best other passage, in share of the question.
    passage_ahead: f32,
}

impl Evidence<'_, '_> {
    /// Returns the turn that most likely answers, and its log odds; `None` if none is likely enough.
    pub(super) fn likeliest_turn(&self) -> Option<(f32, Range<usize>)> {
        let mut turns: Vec<&Turn> = self.turns().iter().collect();
        turns.sort_by(|one, other| other.share.total_cmp(&one.share));
        let odds = |turn| (self.odds_of_turn(turn), turn);
        let likely = turns.iter().copied().take(MAX_TURNS).take_while(|turn| turn.share >= MIN_SHARE);
        let (odds, best) = likely.map(odds).max_by(|one, other| {
            one.0.total_cmp(&other.0).then(other.1.lines.start.cmp(&one.1.lines.start))
        })?;
        (odds >= MIN_OF_LIKELY).then(|| (odds, self.with_reply(best.lines.clone())))
    }

    /// Returns the reply to a line that asks: the following sentences of a paragraph or, in a conversation, the next turn. If a
    /// person in the question takes part, it is that person's next turn. `None` if there is no reply.
    pub(super) fn reply_to(&self, asking: usize) -> Option<Range<usize>> {
        const MAX_BEHIND: usize = 6;
        let lines = &self.reading.lines;
        let passage = lines[asking].passage;
        let of_passage = |turn: &&Turn| lines[turn.lines.start].passage == passage;
        let turns: Vec<&Turn> = self.turns().iter().filter(of_passage).collect();
        let Some(own) = turns.iter().position(|turn| turn.lines.contains(&asking)) else {
            let replies = |next: &Line<'_>| {
                next.passage == passage && !matches!(next.form, LineForm::Heading(_) | LineForm::Question)
            };
            let first = lines.get(asking + 1).filter(|next| replies(next))?;
            let is_part = |next: &&Line<'_>| {
                replies(next) && next.goes_on && next.range.end <= first.range.start + MAX_REPLY_BYTES
            };
            let more = lines[asking + 2..].iter().take_while(is_part).count();
            return Some(asking + 1..asking + 2 + more);
        };
        let is_named = |turn: &&Turn| self.speaking(turn.lines.start).contains(&true);
        let takes_part = turns.iter().any(is_named);
        let mut behind = turns.iter().skip(own + 1).take(MAX_BEHIND);
        behind.find(|turn| !takes_part || is_named(turn)).map(|turn| turn.lines.clone())
    }

    /// Returns a turn, with the following one if it ends with a question.
    fn with_reply(&self, turn: Range<usize>) -> Range<usize> {
        const LAST: usize = 2;
        let lines = &self.reading.lines;
        let asks = turn.clone().rev().take(LAST).any(|at| lines[at].form == LineForm::Question);
        let passage = lines[turn.start].passage;
        let is_reply = |line: &&Line<'_>| line.passage == passage && line.turn == Some(turn.end);
        let behind = lines.iter().skip(turn.end).take_while(is_reply).count();
        let both = turn.start..turn.end + behind;
        if asks && behind > 0 && self.is_short(&both) { both } else { turn }
    }

    /// Returns the conversation turns in the passages, in order, without letters and other long turns.
    pub(super) fn turns(&self) -> &[Turn] {
        self.turns.get_or_init(|| self.read_turns())
    }

    fn read_turns(&self) -> Vec<Turn> {
        let lines = &self.reading.lines;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.form != LineForm::Cell) {
            match (line.turn, ranges.last_mut()) {
                (Some(turn), Some(last)) if last.start == turn => last.end = at + 1,
                (Some(turn), _) if turn == at => ranges.push(at..at + 1),
                _ => {}
            }
        }
        ranges.retain(|range| self.is_short(range));
        let passage = |range: &Range<usize>| lines[range.start].passage;
        let conversations = ranges.chunk_by(|one, other| passage(one) == passage(other));
        let ahead = self.passages_ahead();
        let of_conversation = |turns: &[Range<usize>]| -> Vec<Turn> {
            let speaks: Vec<Vec<bool>> = turns.iter().map(|turn| self.speaking(turn.start)).collect();
            let ahead = ahead[passage(&turns[0])];
            (0..turns.len())
                .map(|at| Turn { passage_ahead: ahead, ..self.turn(turns, &speaks, at) })
                .collect()
        };
        conversations.filter(|turns| self.is_conversation(turns)).flat_map(of_conversation).collect()
    }

    /// True if turns address each other. Other labels than speakers do not: `Present: all.`
    fn is_conversation(&self, turns: &[Range<usize>]) -> bool {
        const SHARE: usize = 3;
        let speaks = |line: &Line<'_>| line.of_speaker || line.addresses || line.form == LineForm::Question;
        let spoken = turns.iter().filter(|turn| self.reading.lines[turn.start..turn.end].iter().any(speaks));
        spoken.count() * SHARE >= turns.len()
    }

    /// True if a turn is short enough to be an answer.
    fn is_short(&self, turn: &Range<usize>) -> bool {
        let lines = &self.reading.lines;
        lines[turn.end - 1].range.end - lines[turn.start].range.start <= MAX_BYTES
    }

    /// True if a term is part of the name of the speaker whose turn begins with this line.
    pub(super) fn names_speaker(&self, turn: usize, term: usize) -> bool {
        let term = &self.question.terms[term];
        term.role == Role::Name && self.reading.is_speaker(turn, term)
    }

    /// The same for each term.
    fn speaking(&self, turn: usize) -> Vec<bool> {
        (0..self.question.terms.len()).map(|term| self.names_speaker(turn, term)).collect()
    }

    /// Makes one turn of a conversation.
    ///
    /// - `turns`: the turns of its passage.
    /// - `speaks`: for each turn, the terms that name its speaker.
    fn turn(&self, turns: &[Range<usize>], speaks: &[Vec<bool>], at: usize) -> Turn {
        let own = &turns[at];
        let passage = self.reading.lines[own.start].passage;
        let strength_in = |turn: &Range<usize>, term: usize| {
            turn.clone().map(|line| self.direct[line][term]).fold(0.0, f32::max)
        };
        let takes_part = |term: usize| speaks.iter().any(|names| names[term]);
        let is_reported = speaks[at].contains(&true) || self.question.answer_type == AnswerType::Person;
        let mut first = turns[0].start;
        while first > 0 && self.reading.lines[first - 1].passage == passage {
            first -= 1;
        }
        let strength = |term: usize| {
            let query_term = &self.question.terms[term];
            if speaks[at][term] || is_reported && query_term.role != Role::Name && is_report(&query_term.word)
            {
                return 1.0;
            }
            let before =
                |back: usize| at.checked_sub(back).map_or(0.0, |before| strength_in(&turns[before], term));
            let is_above = || self.direct[first][term] > 0.0 || self.reading.is_in_title(passage, query_term);
            strength_in(own, term)
                .max(IN_TURN_BEFORE * before(1))
                .max(TWO_TURNS_BEFORE * before(2))
                .max(if takes_part(term) { TAKES_PART } else { 0.0 })
                .max(if is_above() { ABOVE } else { 0.0 })
        };
        let strength: Vec<f32> = (0..self.question.terms.len()).map(strength).collect();
        let share = self.weighed(strength.iter().copied());
        Turn { lines: own.clone(), share, passage_ahead: 0.0, strength }
    }

    /// Returns the conversation turn that contains a line.
    pub(super) fn turn_with(&self, line: usize) -> Option<&Turn> {
        self.turns().iter().find(|turn| turn.lines.contains(&line))
    }

    /// Returns how much more of the question a turn contains than any other. Copies in overlapping passages do not count.
    fn turn_ahead(&self, turn: &Turn) -> f32 {
        let texts = |turn: &Turn| turn.lines.clone().map(|at| self.reading.lines[at].text);
        let others = self.turns().iter().filter(|other| texts(other).ne(texts(turn)));
        turn.share - others.map(|other| other.share).fold(0.0, f32::max)
    }

    /// Returns the log odds that a turn answers, by the rules alone.
    pub(super) fn turn_odds_by_rules(&self, turn: &Turn) -> f32 {
        let (lines, terms) = (&self.reading.lines, &self.question.terms);
        // The topic of the question, without names and verbs of saying.
        let is_topic = |term: &usize| {
            !matches!(terms[*term].role, Role::Name | Role::Common) && !is_report(&terms[*term].word)
        };
        let topics = (0..terms.len()).filter(is_topic);
        let (all, covered) = topics.fold((0.0, 0.0), |(all, covered), term| {
            (all + self.weights[term], covered + self.weights[term] * turn.strength[term])
        });
        let share = if all == 0.0 { 1.0 } else { covered / all };
        let of_kind = |line: usize| kinds::holds(self.question, &lines[line], lines.get(line + 1));
        let kind = match self.question.answer_type.is_typed() {
            true if turn.lines.clone().any(of_kind) => 0.55,
            true => -1.22,
            false => 0.0,
        };
        let passage = lines[turn.lines.start].passage;
        let bytes = lines[turn.lines.end - 1].range.end - lines[turn.lines.start].range.start;
        BASE + 4.19 * self.turn_ahead(turn)
            + 1.86 * turn.passage_ahead
            + 0.69 * share
            + kind
            + 1.67 * bytes.min(LONG) as f32 / LONG as f32
            - 0.19 * passage as f32
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::super::test_support::reply_from;

    const CHAT: &str = "Time: 2031-05-02 09:14\n\
        Ines: Good morning! I start baking around 4 AM, so everything is fresh by seven.\n\
        Olek: That is early. The square gets very hot at noon. What could we put up for sunny days?\n\
        Magda: We could hang big umbrellas over the tables, they fold up quickly.\n\
        Olek: Lovely. Which hero do you like most in the new film?\n\
        Ines: Definitely the lamplighter!\n";

    #[test]
    fn a_suggestion_is_in_the_turn_that_answers_the_one_before() {
        let (reply, texts) = reply_from(&[CHAT], "What does Magda suggest for sunny days?");
        assert!(matches!(reply, Reply::Likely(_)), "{reply:?}");
        assert_eq!(texts, ["Magda: We could hang big umbrellas over the tables, they fold up quickly."]);
    }

    #[test]
    fn a_turn_that_asks_comes_with_the_turn_that_replies() {
        let (reply, texts) = reply_from(&[CHAT], "Which hero of the new film does Olek ask about?");
        assert!(matches!(reply, Reply::Likely(_)), "{reply:?}");
        assert_eq!(texts.last(), Some(&"Ines: Definitely the lamplighter!"));
    }

    #[test]
    fn the_first_turn_of_the_next_passage_is_no_reply() {
        let cut = CHAT.split("Ines: Definitely").next().unwrap_or_default();
        let other = "Ines: The oven is broken.\nOlek: Again?\nInes: Yes.\nMagda: I call the smith.\n";
        let (_, texts) = reply_from(&[cut, other], "Which hero of the new film does Olek ask about?");
        assert!(!texts.iter().any(|text| text.contains("oven")), "{texts:?}");
    }

    #[test]
    fn a_question_about_a_person_is_answered_by_that_person() {
        let chat = "Olek: What do you think about clay ovens?\nInes: Clay ovens crack. I had two.\n\
            Magda: I think the smell is wonderful. They also save wood.\nOlek: I might build one.\n";
        let (reply, texts) = reply_from(&[chat], "What does Magda think about clay ovens?");
        assert!(matches!(reply, Reply::Answer(_)), "{reply:?}");
        assert_eq!(texts[1..], ["Magda: I think the smell is wonderful. They also save wood."]);
    }

    #[test]
    fn speakers_known_from_one_passage_are_recognized_in_a_short_one() {
        let short =
            "and that was all.\nMagda: I keep the spare key of the mill under the blue barrel, so take it.\n";
        let (reply, texts) =
            reply_from(&[CHAT, short], "What does Magda say about the spare key of the mill?");
        assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{reply:?}");
        assert_eq!(texts, ["Magda: I keep the spare key of the mill under the blue barrel, so take it."]);
    }

    #[test]
    fn a_question_about_something_nobody_says_is_not_answered() {
        for question in
            ["What flavour of cake does Magda order?", "Which brand of flour does Ines recommend?"]
        {
            let (reply, _) = reply_from(&[CHAT], question);
            assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{question}: {reply:?}");
        }
    }

    #[test]
    fn a_time_of_the_day_answers_when() {
        let (reply, texts) = reply_from(&[CHAT], "What time does Ines start baking?");
        assert!(matches!(reply, Reply::Answer(_)), "{reply:?}");
        assert!(texts.iter().any(|text| text.contains("around 4 AM")), "{texts:?}");
    }
}
