//! How surely each line answers a question.

use std::collections::BTreeSet;

use super::super::languages::Language;
use super::super::lexicon::is_stop_word;
use super::Passage;
use super::asked::{Asked, Role, Term, Wants};
use super::kinds;
use super::lines::{Line, LineForm, Word, lines};
use super::roots::Roots;
use super::words::{TITLES, any_word};

/// Words that stand before a name at the beginning of a sentence and are no part of another one.
const TITLES_ONLY: &str = "mr mrs ms miss dr prof professor sir lady lord king queen captain herr frau";

/// Lines before a line that it may refer to.
const LOOK_BACK: usize = 3;
/// What a word counts that stands in a heading above the line.
const IN_HEADING: f32 = 0.85;
/// The same in the title of the document.
const IN_TITLE: f32 = 0.75;
/// The same in the head of the table.
const IN_TABLE_HEAD: f32 = 0.9;
/// The same in a line that this one refers to.
const REFERRED: f32 = 0.75;
/// The same where it begins with a pronoun and the line stands directly before.
const REFERRED_AT_ONCE: f32 = 0.9;
/// The same in the line before, which it does not refer to.
const BEFORE: f32 = 0.5;
/// What a word counts that was said before of the thing that the line is about.
const SAID_BEFORE: f32 = 0.8;
/// What a name counts that most passages hold, this one too.
const EVERYWHERE: f32 = 0.6;
/// Share of the passages that hold such a name.
const MOST_PASSAGES: f32 = 0.5;
/// Passages below which lines are counted in their place.
const FEW_PASSAGES: usize = 4;
/// Share of the lines that hold a name which few passages are about.
const MANY_LINES: f32 = 0.1;
/// The same as a number, at least.
const MIN_LINES: usize = 3;
/// What a word counts that tells the same in other words.
const OTHER_WORDS: f32 = 0.8;
/// From where on a word counts as there.
const IS_THERE: f32 = 0.55;
/// Longest line that is an answer, in bytes; longer ones are no sentences.
const MAX_ANSWER_BYTES: usize = 1200;
/// The level of a heading without a mark.
const UNMARKED: u8 = 7;
/// The same that must stand in the line itself where nothing but the passage names what is asked about.
const MIN_OWN: f32 = 0.6;
/// Share of what is asked that a line must hold to be an answer.
const MIN_HELD: f32 = 0.7;
/// The same where nothing but these words shows that it is one.
const MIN_HELD_UNTYPED: f32 = 0.78;
/// The same for yes or no.
const MIN_HELD_TRUTH: f32 = 0.85;

/// The passages of a question, read once.
pub(super) struct Reading<'a> {
    pub(super) passages: &'a [Passage<'a>],
    pub(super) lines: Vec<Line<'a>>,
    pub(super) roots: Roots,
    pub(super) language: Language,
    /// The words of each passage's title and of the headings above it.
    above: Vec<Vec<String>>,
}

/// What the lines hold of one question.
pub(super) struct Evidence<'r, 'a> {
    pub(super) reading: &'r Reading<'a>,
    pub(super) asked: &'r Asked,
    weights: Vec<f32>,
    /// Of each line, how far each term stands in it.
    pub(super) direct: Vec<Vec<f32>>,
    /// The same with headings and the lines before.
    strength: Vec<Vec<f32>>,
    /// Of each term, whether it stands anywhere.
    known: Vec<bool>,
    /// The line before that names what a line speaks of.
    pub(super) named_by: Vec<Option<usize>>,
}

/// A line that answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judged {
    pub(super) line: usize,
    pub(super) score: f32,
    /// Share of what is asked that it holds.
    pub(super) held: f32,
}

impl<'a> Reading<'a> {
    pub(super) fn read(question: &str, passages: &'a [Passage<'a>]) -> Self {
        let language = Language::of_question(question);
        let roots = Roots::of(language);
        let lines = lines(passages, &roots);
        let root_of = |text: &str| -> Vec<String> {
            text.split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .map(|word| roots.root(&word.to_lowercase()))
                .collect()
        };
        let above = |passage: &Passage<'_>| {
            let texts = passage.headings.iter().map(String::as_str).chain([passage.title]);
            texts.flat_map(&root_of).collect()
        };
        let above = passages.iter().map(above).collect();
        Self { passages, lines, roots, language, above }
    }

    fn is_known(&self, term: &Term, direct: &[Vec<f32>], at: usize) -> bool {
        let in_title = || self.above.iter().any(|above| above.contains(&term.root));
        direct.iter().any(|held| held[at] > 0.0) || in_title()
    }

    /// Whether a text stands in a passage.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.passages.iter().any(|passage| passage.text.contains(text))
    }

    pub(super) fn ask(&self, question: &str) -> Asked {
        Asked::read(question, &self.roots, &|text| self.holds(text))
    }
}

impl<'r, 'a> Evidence<'r, 'a> {
    pub(super) fn of(reading: &'r Reading<'a>, asked: &'r Asked) -> Self {
        let direct: Vec<Vec<f32>> = reading
            .lines
            .iter()
            .map(|line| asked.terms.iter().map(|term| held(reading, term, line)).collect())
            .collect();
        let mut evidence = Self {
            reading,
            asked,
            weights: weights(asked, &direct),
            strength: direct.clone(),
            known: (0..asked.terms.len())
                .map(|term| reading.is_known(&asked.terms[term], &direct, term))
                .collect(),
            named_by: vec![None; direct.len()],
            direct,
        };
        evidence.look_around();
        evidence
    }

    /// Adds what stands above and before each line.
    fn look_around(&mut self) {
        let reading = self.reading;
        let spread = self.spread();
        let mut table_head: Option<usize> = None;
        for at in 0..reading.lines.len() {
            let line = &reading.lines[at];
            let is_row = line.form == LineForm::Row;
            table_head = match table_head {
                Some(head)
                    if is_row
                        && reading.lines[head].passage == line.passage
                        && at > 0
                        && reading.lines[at - 1].form == LineForm::Row =>
                {
                    Some(head)
                }
                _ => is_row.then_some(at),
            };
            for (term, asked) in self.asked.terms.iter().enumerate() {
                let mut best = self.direct[at][term];
                for &heading in &line.headings {
                    best = best.max(IN_HEADING * self.direct[heading][term]);
                }
                let above = &reading.above[line.passage];
                let in_title = match asked.unspaced {
                    true => {
                        let passage = &reading.passages[line.passage];
                        passage.title.contains(&asked.word)
                            || passage.headings.iter().any(|heading| heading.contains(&asked.word))
                    }
                    false => above.contains(&asked.root),
                };
                if in_title {
                    best = best.max(IN_TITLE);
                }
                if let Some(head) = table_head.filter(|head| *head != at) {
                    best = best.max(IN_TABLE_HEAD * self.direct[head][term]);
                }
                if asked.role == Role::Name
                    && best < EVERYWHERE
                    && spread[term].get(line.passage).copied().unwrap_or(false)
                {
                    best = EVERYWHERE;
                }
                self.strength[at][term] = best;
            }
            self.look_back(at);
        }
        self.take_modifiers();
        self.take_addressees();
    }

    /// `Your desk is in room 3` is about whom the letter is for.
    fn take_addressees(&mut self) {
        let lines = &self.reading.lines;
        let is_address = |at: &usize| {
            ["Dear ", "Hi ", "Hello ", "Liebe ", "Lieber ", "Hallo ", "To: ", "From: "]
                .iter()
                .any(|start| lines[*at].text.starts_with(start))
        };
        let greetings: Vec<usize> = (0..lines.len()).filter(is_address).collect();
        for at in (0..lines.len()).filter(|at| lines[*at].addresses) {
            for &greeting in
                greetings.iter().filter(|greeting| lines[**greeting].passage == lines[at].passage)
            {
                for (term, asked) in self.asked.terms.iter().enumerate() {
                    if asked.role == Role::Name && self.direct[greeting][term] > 0.0 {
                        self.strength[at][term] = self.strength[at][term].max(REFERRED);
                    }
                }
            }
        }
    }

    /// What tells more about a thing needs to be said once: after `the mountain railway` it is `the railway`.
    fn take_modifiers(&mut self) {
        for &(modifier, head) in &self.asked.pairs {
            let mut said_in: Option<usize> = None;
            for at in 0..self.reading.lines.len() {
                let passage = self.reading.lines[at].passage;
                if self.direct[at][modifier] > 0.0 && self.direct[at][head] > 0.0 {
                    said_in = Some(passage);
                }
                let strength = SAID_BEFORE * self.strength[at][head];
                if said_in == Some(passage) && strength > self.strength[at][modifier] {
                    self.strength[at][modifier] = strength;
                }
            }
        }
    }

    /// Of each name that most passages hold, the passages that hold it.
    fn spread(&self) -> Vec<Vec<bool>> {
        let count = self.reading.passages.len();
        let of_term = |term: usize| {
            let mut held = vec![false; count];
            for (line, direct) in self.reading.lines.iter().zip(&self.direct) {
                held[line.passage] |= direct[term] > 0.0;
            }
            let lines = self.direct.iter().filter(|direct| direct[term] > 0.0).count();
            let (share, of) = match count >= FEW_PASSAGES {
                true => (held.iter().filter(|held| **held).count() as f32 / count as f32, MOST_PASSAGES),
                false => (lines as f32 / self.direct.len().max(1) as f32, MANY_LINES),
            };
            if share >= of && lines >= MIN_LINES { held } else { Vec::new() }
        };
        (0..self.asked.terms.len()).map(of_term).collect()
    }

    fn look_back(&mut self, at: usize) {
        let lines = &self.reading.lines;
        let line = &lines[at];
        if matches!(line.form, LineForm::Heading(_) | LineForm::Row) {
            return;
        }
        let drops_subjects =
            matches!(self.reading.language, Language::Chinese | Language::Japanese | Language::Korean);
        let mut connected = line.goes_on;
        for back in 1..=LOOK_BACK.min(at) {
            let before = &lines[at - back];
            let same_part = before.passage == line.passage && before.headings == line.headings;
            if !same_part || matches!(before.form, LineForm::Heading(_) | LineForm::Row) {
                break;
            }
            // A pronoun within a line stands for what its own paragraph names.
            let refers = line.begins_with_pronoun || (connected && (line.refers || drops_subjects));
            if !(refers || back == 1 && connected) {
                break;
            }
            for (term, asked) in self.asked.terms.iter().enumerate() {
                let factor = match (refers, back) {
                    (true, 1) if line.begins_with_pronoun => REFERRED_AT_ONCE,
                    (true, _) => REFERRED - 0.05 * (back - 1) as f32,
                    (false, _) => BEFORE,
                };
                let held = factor * self.direct[at - back][term];
                if held > self.strength[at][term] {
                    if asked.role == Role::Name && held >= IS_THERE && self.named_by[at].is_none() {
                        self.named_by[at] = Some(at - back);
                    }
                    self.strength[at][term] = held;
                }
            }
            connected = connected && before.goes_on;
        }
    }

    /// Share of what is asked that the line holds, names aside; 1 where nothing but names is asked.
    pub(super) fn held(&self, line: usize) -> f32 {
        let (mut all, mut held) = (0.0, 0.0);
        for (term, asked) in self.asked.terms.iter().enumerate() {
            let strength = self.strength[line][term];
            match asked.role {
                Role::Name => {}
                Role::Class if strength < IS_THERE => {}
                Role::Relation | Role::Class | Role::Common | Role::Number => {
                    all += self.weights[term];
                    held += self.weights[term] * strength;
                }
            }
        }
        if all == 0.0 { 1.0 } else { held / all }
    }

    /// Share of all words of the question that a line holds, names too.
    pub(super) fn share(&self, line: usize) -> f32 {
        let all: f32 = self.weights.iter().sum();
        let held: f32 =
            self.weights.iter().zip(&self.strength[line]).map(|(weight, strength)| weight * strength).sum();
        if all == 0.0 { 0.0 } else { held / all }
    }

    /// Whether a line speaks of everything that the question names.
    pub(super) fn has_names(&self, line: usize) -> bool {
        const MAX_SHORTENED: usize = 3;
        let is_there = |term: &usize| self.strength[line][*term] >= IS_THERE;
        self.asked.names.iter().all(|name| {
            let there = name.iter().filter(|term| is_there(term)).count();
            if there == name.len() {
                return true;
            }
            // What stands nowhere makes it another name.
            let is_known =
                |term: &usize| self.known[*term] || any_word(TITLES, &self.asked.terms[*term].word);
            if !name.iter().all(is_known) {
                return false;
            }
            // Beside a name that the line holds, another one may stand further above.
            let is_beside = self
                .asked
                .names
                .iter()
                .any(|other| other != name && other.iter().all(|term| self.direct[line][*term] > 0.0));
            if is_beside && self.is_named_above(line, name) {
                return true;
            }
            let last = name.iter().next_back().filter(|term| is_there(term));
            let is_short =
                last.is_some_and(|last| name.len() <= MAX_SHORTENED && !self.is_other_name(line, *last));
            (name.len() > 2 && there >= (2 * name.len()).div_ceil(3)) || is_short
        })
    }

    /// Whether one of the lines above holds a name.
    fn is_named_above(&self, line: usize, name: &BTreeSet<usize>) -> bool {
        const FAR: usize = 14;
        let lines = &self.reading.lines;
        let above = (line.saturating_sub(FAR)..line).filter(|at| lines[*at].passage == lines[line].passage);
        above.into_iter().any(|at| name.iter().all(|term| self.direct[at][*term] > 0.0))
    }

    /// Whether the last word of a name stands in a line behind a word of another name: `Old Heron` for `Little Heron`.
    fn is_other_name(&self, line: usize, last: usize) -> bool {
        let words = &self.reading.lines[line].words;
        let term = &self.asked.terms[last];
        let mut places = (0..words.len()).filter(|at| words[*at].root == term.root).peekable();
        if places.peek().is_none() {
            return false;
        }
        places.all(|at| {
            let before = at.checked_sub(1).map(|at| &words[at]);
            before.is_some_and(|before| {
                let adjacent = words[at].at == before.at + before.text.len() + 1;
                let is_asked = self.asked.terms.iter().any(|term| term.root == before.root);
                adjacent && before.is_capital() && at > 1 && !is_asked && !any_word(TITLES, &before.lower)
                    || (adjacent
                        && at == 1
                        && before.is_capital()
                        && !is_asked
                        && !is_stop_word(&before.lower)
                        && !any_word(TITLES_ONLY, &before.lower))
            })
        })
    }

    /// Whether a line holds every number, year and month of the question.
    pub(super) fn has_numbers(&self, line: usize) -> bool {
        let strength = &self.strength[line];
        self.asked.terms.iter().zip(strength).all(|(term, held)| {
            let least = if term.word.contains(|c: char| c.is_ascii_digit()) { IN_TITLE } else { IS_THERE };
            term.role != Role::Number || *held >= least
        })
    }

    /// Whether a line holds every number of the question itself.
    pub(super) fn holds_numbers_itself(&self, line: usize) -> bool {
        let numbers =
            self.asked.terms.iter().zip(&self.direct[line]).filter(|(term, _)| term.role == Role::Number);
        numbers.into_iter().all(|(_, held)| *held > 0.0)
    }

    /// Whether a line holds every name of the question itself.
    pub(super) fn holds_names_itself(&self, line: usize) -> bool {
        self.asked.names.iter().all(|name| name.iter().any(|term| self.direct[line][*term] > 0.0))
    }

    /// Whether the kind of thing that is asked for stands near to the word that tells what is asked.
    ///
    /// Long sentences hold many names and numbers that belong to something else.
    fn is_near_key(&self, at: usize) -> bool {
        const NEAR_NOUN: usize = 7;
        const NEAR_VERB: usize = 14;
        let line = &self.reading.lines[at];
        if let (None, Some(measure)) = (self.asked.key, &self.asked.measure) {
            return line.begins_with_pronoun || self.is_measured_near_name(line, measure);
        }
        let Some(key) = self.asked.key.map(|key| &self.asked.terms[key]) else { return true };
        if self.asked.wants != Wants::Person || line.form == LineForm::Row || key.unspaced {
            return true;
        }
        let is_key = |word: &Word<'_>| {
            self.reading.roots.likeness(&key.root, &word.root) > 0.0 || key.is_related(word)
        };
        let keys: Vec<usize> =
            line.words.iter().enumerate().filter(|(_, word)| is_key(word)).map(|(place, _)| place).collect();
        if keys.is_empty() {
            return true;
        }
        let names = kinds::names(self.asked, line);
        let most = if self.asked.by_noun { NEAR_NOUN } else { NEAR_VERB };
        let is_name = |word: &Word<'_>| {
            word.is_capital()
                && names
                    .iter()
                    .any(|name| name.split(|c: char| !c.is_alphanumeric()).any(|part| part == word.text))
        };
        line.words
            .iter()
            .enumerate()
            .filter(|(_, word)| is_name(word))
            .any(|(place, _)| keys.iter().any(|key| key.abs_diff(place) <= most))
    }

    /// Whether the number that is asked for stands near to a word of what is measured.
    fn is_measured_near_name(&self, line: &Line<'_>, measure: &str) -> bool {
        const NEAR: usize = 12;
        let is_thing = |word: &Word<'_>| {
            self.asked.terms.iter().any(|term| {
                term.role != Role::Common && self.reading.roots.likeness(&term.root, &word.root) > 0.0
            })
        };
        let things: Vec<usize> =
            line.words.iter().enumerate().filter(|(_, word)| is_thing(word)).map(|(at, _)| at).collect();
        let unspaced = self.asked.terms.iter().any(|term| term.unspaced);
        unspaced
            || kinds::measured_places(measure, line)
                .iter()
                .any(|at| things.iter().any(|thing| thing.abs_diff(*at) <= NEAR))
    }

    /// Whether the line, with what is above it, holds the word that tells most of what is asked.
    pub(super) fn has_key(&self, line: usize) -> bool {
        let relations =
            (0..self.asked.terms.len()).filter(|term| self.asked.terms[*term].role == Role::Relation);
        let key = relations.max_by(|one, other| self.weights[*one].total_cmp(&self.weights[*other]));
        let is_there = |term: usize| self.strength[line][term] >= IS_THERE;
        key.is_none_or(is_there) && self.asked.key.is_none_or(is_there)
    }

    /// Whether a line speaks of every name, itself or by what stands above and before it.
    pub(super) fn speaks_of_names(&self, line: usize) -> bool {
        let is_near = self.reading.lines[line].begins_with_pronoun || self.named_by[line].is_none();
        is_near
            && self
                .asked
                .names
                .iter()
                .all(|name| name.iter().any(|term| self.strength[line][*term] > EVERYWHERE))
    }

    /// Whether nothing but its place among passages that all hold it ties a name to a line that holds little of what is asked.
    fn is_far_from_names(&self, line: usize) -> bool {
        let far = |name: &BTreeSet<usize>| name.iter().all(|term| self.strength[line][*term] <= EVERYWHERE);
        if self.asked.possessive && self.asked.names.iter().any(far) {
            return true;
        }
        self.asked.names.iter().any(far) && self.own_share(line) < MIN_OWN
            || (self.asked.names.iter().any(far)
                && !self.asked.terms.iter().any(|term| term.role == Role::Relation))
    }

    /// How sure it is that the line answers; `None` where it does not hold what is asked for.
    pub(super) fn judge(&self, at: usize) -> Option<Judged> {
        let line = &self.reading.lines[at];
        // A short line without a mark may be a heading, or say something.
        let is_heading = matches!(line.form, LineForm::Heading(level) if level < UNMARKED);
        if is_heading
            || line.text.len() > MAX_ANSWER_BYTES
            || matches!(line.form, LineForm::Code | LineForm::Question)
            || self.asked.terms.is_empty()
        {
            return None;
        }
        let held = self.held(at);
        let classed = self.asked.terms.iter().any(|term| term.role == Role::Class)
            && kinds::marks(self.asked, line) > 0;
        let least = match self.asked.wants {
            Wants::Thing if classed => MIN_HELD,
            Wants::Truth => MIN_HELD_TRUTH,
            Wants::Thing | Wants::Manner => MIN_HELD_UNTYPED,
            Wants::Person
            | Wants::Time
            | Wants::Place
            | Wants::Amount { .. }
            | Wants::Reason
            | Wants::Meaning => MIN_HELD,
        };
        let own = self.direct[at]
            .iter()
            .zip(&self.asked.terms)
            .any(|(held, term)| *held > 0.0 && (term.role != Role::Common || line.begins_with_pronoun));
        let own = own || kinds::tells_measure(self.asked, line);
        let bare = !self
            .asked
            .terms
            .iter()
            .any(|term| matches!(term.role, Role::Relation | Role::Common | Role::Number));
        // Where nothing but a name is asked about, the line must begin with it.
        if bare && self.asked.wants == Wants::Place && !self.begins_with_name(at) {
            return None;
        }
        if !own
            || held < least
            || !self.has_key(at)
            || !self.has_names(at)
            || !self.has_numbers(at)
            || self.is_far_from_names(at)
        {
            return None;
        }
        let next = self.reading.lines.get(at + 1).filter(|next| next.passage == line.passage);
        let of_kind = match self.asked.wants {
            Wants::Meaning => kinds::means(self.asked, line),
            _ => kinds::holds(self.asked, line, next) && self.is_near_key(at),
        };
        of_kind.then(|| Judged { line: at, score: self.score(at, held), held })
    }

    /// Whether a name of the question is among the first words of a line.
    fn begins_with_name(&self, at: usize) -> bool {
        const FIRST: usize = 4;
        let line = &self.reading.lines[at];
        let names = || self.asked.terms.iter().filter(|term| matches!(term.role, Role::Name | Role::Class));
        let first = line.words.iter().take(FIRST);
        line.begins_with_pronoun
            || first.into_iter().any(|word| names().any(|term| term.root == word.root))
            || names().any(|term| term.unspaced && line.text.contains(&term.word))
    }

    fn score(&self, at: usize, held: f32) -> f32 {
        let line = &self.reading.lines[at];
        let measure = if kinds::tells_measure(self.asked, line) { 0.25 } else { 0.0 };
        let named = match self.asked.terms.iter().any(|term| term.role == Role::Class)
            && self.asked.wants == Wants::Thing
        {
            true if kinds::marks(self.asked, line) > 0 => 0.15,
            true | false => 0.0,
        };
        let rank = 1.0 - line.passage as f32 / self.reading.passages.len().max(1) as f32;
        let short = 1.0 / (1.0 + line.words.len() as f32 / 40.0);
        let manner = match self.asked.wants {
            Wants::Manner => {
                let lower = line.text.to_lowercase();
                let tells = ["to ", "you ", "use ", "um "].iter().any(|start| lower.starts_with(start));
                if tells { 0.1 } else { 0.0 }
            }
            Wants::Person if kinds::names_person(self.asked, line) => 0.08,
            Wants::Meaning if line.words.len() > 3 => {
                let lower = line.text.to_lowercase();
                let defines =
                    [" is a ", " is an ", " is the ", "refers to", " means ", "指", " ist ein", "bezeichnet"];
                if defines.iter().any(|mark| lower.contains(mark)) { 0.1 } else { 0.0 }
            }
            _ => 0.0,
        };
        let own = self.own_share(at);
        0.5 * held
            + 0.2 * self.share(at)
            + 0.05 * own
            + 0.1 * self.nearness(at)
            + 0.15 * self.sequence(at)
            + 0.05 * rank
            + 0.05 * short
            + manner
            + measure
            + named
    }

    /// Share of what is asked, names aside, that stands in the line itself.
    fn own_share(&self, at: usize) -> f32 {
        let terms = self
            .asked
            .terms
            .iter()
            .enumerate()
            .filter(|(_, term)| term.role != Role::Name && term.role != Role::Class);
        let (all, own) = terms.fold((0.0, 0.0), |(all, own), (term, _)| {
            (all + self.weights[term], own + self.weights[term] * self.direct[at][term])
        });
        if all == 0.0 { 1.0 } else { own / all }
    }

    /// How long a run of words of the question stands in a line as it is; 1 for a long one.
    pub(super) fn sequence(&self, at: usize) -> f32 {
        const LONG: f32 = 5.0;
        let (asked, words) = (&self.asked.roots, &self.reading.lines[at].words);
        let tells = |root: &str| self.asked.terms.iter().any(|term| term.root == root);
        let mut best = 0_usize;
        // Of each word of the question, the run that ends at it and how many of its words tell something.
        let mut runs = vec![(0_usize, 0_usize); asked.len() + 1];
        for word in words {
            let telling = usize::from(tells(&word.root));
            for place in (0..asked.len()).rev() {
                runs[place + 1] = match asked[place] == word.root {
                    true => (runs[place].0 + 1, runs[place].1 + telling),
                    false => (0, 0),
                };
                if runs[place + 1].1 >= 2 {
                    best = best.max(runs[place + 1].0);
                }
            }
        }
        (best.saturating_sub(1) as f32 / (LONG - 1.0)).min(1.0)
    }

    /// How near to each other the words of the question stand in a line.
    pub(super) fn nearness(&self, at: usize) -> f32 {
        let line = &self.reading.lines[at];
        let is_asked = |word: &Word<'_>| {
            self.asked
                .terms
                .iter()
                .any(|term| term.role != Role::Common && (term.root == word.root || term.is_related(word)))
        };
        let mut places =
            line.words.iter().enumerate().filter(|(_, word)| is_asked(word)).map(|(place, _)| place);
        let Some(first) = places.next() else { return 0.5 };
        let (last, count) = places.fold((first, 1), |(_, count), place| (place, count + 1));
        count as f32 / (last - first + 1) as f32
    }

    /// The lines that answer, surest first.
    pub(super) fn answers(&self) -> Vec<Judged> {
        let mut found: Vec<Judged> =
            (0..self.reading.lines.len()).filter_map(|line| self.judge(line)).collect();
        found.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.line.cmp(&other.line)));
        found
    }
}

/// How far a term stands in a line: 1 as it is, less in other words, 0 not at all.
fn held(reading: &Reading<'_>, term: &Term, line: &Line<'_>) -> f32 {
    if term.unspaced {
        if line.text.contains(&term.word) {
            return 1.0;
        }
        let related = reading.roots.relatives(&term.families);
        return if related.iter().any(|word| line.text.contains(word)) { OTHER_WORDS } else { 0.0 };
    }
    let mut best: f32 = 0.0;
    let is_of = |word: &str| shares(&term.families, &reading.roots.families(&reading.roots.root(word)));
    let is_life = (is_of("born") || is_of("geboren")) && kinds::gives_life(line, false);
    let is_death = (is_of("died") || is_of("gestorben")) && kinds::gives_life(line, true);
    if !term.families.is_empty() && (is_life || is_death || (is_of("wrote") && kinds::credits(line))) {
        best = OTHER_WORDS;
    }
    for word in &line.words {
        let like = match term.role {
            Role::Number => f32::from(u8::from(word.lower == term.word)),
            _ => reading.roots.likeness(&term.root, &word.root),
        };
        let like = match like > 0.0 || term.role == Role::Name {
            true => like,
            false if term.is_related(word) => OTHER_WORDS,
            false => 0.0,
        };
        best = best.max(like);
    }
    best
}

fn shares(families: &[u16], others: &[u16]) -> bool {
    families.iter().any(|family| others.contains(family))
}

/// What each term is worth: rare ones more, those that tell little less.
fn weights(asked: &Asked, direct: &[Vec<f32>]) -> Vec<f32> {
    let total = direct.len() as f32;
    let weight = |(at, term): (usize, &Term)| {
        let count = direct.iter().filter(|held| held[at] > 0.0).count() as f32;
        let rarity = (1.0 + (total - count + 0.5) / (count + 0.5)).ln().max(0.1).sqrt();
        let role = match term.role {
            Role::Name => 1.5,
            Role::Number => 1.2,
            Role::Relation => 1.0,
            Role::Class => 0.4,
            Role::Common => 0.2,
        };
        role * rarity
    };
    asked.terms.iter().enumerate().map(weight).collect()
}
