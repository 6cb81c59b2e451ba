//! What each line holds of a question, with the headings above it and the lines before.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::Passage;
use super::asked::{QuestionParts, Role, Term};
use super::grams::Grams;
use super::lines::{Line, LineForm, Word, lines};
use super::matcher::Matcher;
use super::roots::Roots;
use super::rows::has_labels;
use super::turns::Turn;
use super::words::{BEFORE_PLACES, GENERIC_NOUNS, PERSONAL, PRONOUNS, TIMES, any_word};
use crate::languages::Language;
use crate::lexicon::is_stop_word;

/// Lines before a line that it may refer to.
const LOOK_BACK: usize = 3;
/// What a word counts that stands in a heading above the line.
const IN_HEADING: f32 = 0.85;
/// The same in the title of the document.
pub(super) const IN_TITLE: f32 = 0.75;
/// The same in a cell beside the line.
const BESIDE: f32 = 0.85;
/// The same in the head of the table.
const IN_TABLE_HEAD: f32 = 0.9;
/// The same in a line that this one refers to.
const REFERRED: f32 = 0.75;
/// The same where it begins with a pronoun and the line stands directly before.
const REFERRED_AT_ONCE: f32 = 0.9;
/// The same in the line before, which it does not refer to.
const BEFORE: f32 = 0.5;
/// What a name counts that a line before holds, where the line says `the company` or the like.
const DESCRIBED: f32 = 0.6;
/// What a word counts that was said before of the thing that the line is about.
const SAID_BEFORE: f32 = 0.8;
/// What a name counts that most passages hold, this one too.
pub(super) const EVERYWHERE: f32 = 0.6;
/// Share of the passages that hold such a name.
const MOST_PASSAGES: f32 = 0.5;
/// Share of the passages with the name that stands in most; what fewer hold is not what all of them are about.
const OF_MOST: f32 = 0.75;
/// Passages below which lines are counted in their place.
const FEW_PASSAGES: usize = 4;
/// Share of the lines that hold a name which few passages are about.
const MANY_LINES: f32 = 0.1;
/// The same as a number, at least.
const MIN_LINES: usize = 3;
/// From where on a word counts as there.
pub(super) const IS_THERE: f32 = 0.55;

/// The passages of a question, read once.
pub(super) struct Passages<'a> {
    pub(super) passages: &'a [Passage<'a>],
    pub(super) lines: Vec<Line<'a>>,
    pub(super) roots: Roots,
    pub(super) language: Language,
    /// The words of each passage's title and of the headings above it.
    above: Vec<Vec<String>>,
    /// Words that begin with a capital within a sentence.
    capitals: HashSet<String>,
}

/// What the lines hold of one question.
pub(super) struct Evidence<'r, 'a> {
    pub(super) reading: &'r Passages<'a>,
    pub(super) asked: &'r QuestionParts,
    pub(super) weights: Vec<f32>,
    /// Of each line, how far each term stands in it.
    pub(super) direct: Vec<Vec<f32>>,
    /// The same with headings and the lines before.
    pub(super) strength: Vec<Vec<f32>>,
    /// How far each term stands in a line by the lines before it alone.
    pub(super) before: Vec<Vec<f32>>,
    /// Of each term, whether it stands anywhere.
    pub(super) known: Vec<bool>,
    /// The line before that names what a line speaks of.
    pub(super) named_by: Vec<Option<usize>>,
    /// What the lines hold in parts of words, once it is needed.
    pub(super) grams: OnceCell<Grams>,
    /// The turns of the conversations among the passages, once they are needed.
    pub(super) turns: OnceCell<Vec<Turn>>,
}

impl<'a> Passages<'a> {
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
        let prose = lines.iter().filter(|line| line.form == LineForm::Prose);
        let within = prose.flat_map(|line| line.words.iter().skip(1)).filter(|word| word.is_capital());
        let capitals = within.map(|word| word.root.clone()).collect();
        Self { passages, lines, roots, language, above, capitals }
    }

    fn is_known(&self, term: &Term, direct: &[Vec<f32>], at: usize) -> bool {
        let in_title = || self.above.iter().any(|above| above.contains(&term.root));
        direct.iter().any(|held| held[at] > 0.0) || in_title()
    }

    /// Whether a word stands in the title of a passage, or in a heading above the passage.
    pub(super) fn is_in_title(&self, passage: usize, term: &Term) -> bool {
        let Passage { title, headings, .. } = self.passages[passage];
        match term.unspaced {
            true => title.contains(&term.word) || headings.iter().any(|heading| heading.contains(&term.word)),
            false => self.above[passage].iter().any(|root| self.roots.likeness(&term.root, root) > 0.0),
        }
    }

    /// Whether a word is part of the name of who says the turn that begins with a line.
    pub(super) fn is_speaker(&self, turn: usize, term: &Term) -> bool {
        let line = &self.lines[turn];
        line.words.iter().take(line.label_words).any(|word| {
            self.roots.likeness(&term.root, &word.root) > 0.0
                || parts_of_handle(word.text).any(|part| part.to_lowercase() == term.word)
        })
    }

    /// Whether a text stands in a passage.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.passages.iter().any(|passage| passage.text.contains(text))
    }

    pub(super) fn ask(&self, question: &str) -> QuestionParts {
        QuestionParts::read(question, &self.roots, &|text| self.holds(text))
    }
}

impl<'r, 'a> Evidence<'r, 'a> {
    pub(super) fn of(reading: &'r Passages<'a>, asked: &'r QuestionParts) -> Self {
        let matchers: Vec<Matcher<'_>> =
            (0..asked.terms.len()).map(|term| Matcher::of(reading, asked, term)).collect();
        let in_line = |line| matchers.iter().map(|matcher| matcher.held(line)).collect();
        let direct: Vec<Vec<f32>> = reading.lines.iter().map(in_line).collect();
        let mut evidence = Self {
            reading,
            asked,
            weights: weights(asked, &direct),
            strength: direct.clone(),
            before: vec![vec![0.0; asked.terms.len()]; direct.len()],
            known: (0..asked.terms.len())
                .map(|term| reading.is_known(&asked.terms[term], &direct, term))
                .collect(),
            named_by: vec![None; direct.len()],
            grams: OnceCell::new(),
            turns: OnceCell::new(),
            direct,
        };
        evidence.look_around();
        evidence
    }

    /// What the lines hold in parts of words.
    pub(super) fn grams(&self) -> &Grams {
        let Passages { lines, passages, .. } = self.reading;
        self.grams.get_or_init(|| Grams::of(&self.asked.lower, lines, passages.len()))
    }

    /// Adds what stands above and before each line.
    fn look_around(&mut self) {
        let reading = self.reading;
        let spread = self.spread();
        let mut table_head: Option<usize> = None;
        for at in 0..reading.lines.len() {
            let line = &reading.lines[at];
            let is_row = line.form == LineForm::Row;
            // A row with labels is no head.
            let may_be_head = is_row && !has_labels(line.text);
            table_head = match table_head {
                Some(head)
                    if is_row
                        && reading.lines[head].passage == line.passage
                        && at > 0
                        && reading.lines[at - 1].is_of_table() =>
                {
                    Some(head)
                }
                Some(head) if line.is_in_cell() => Some(head),
                _ => may_be_head.then_some(at),
            };
            for (term, asked) in self.asked.terms.iter().enumerate() {
                let mut best = self.direct[at][term];
                for &heading in &line.headings {
                    best = best.max(IN_HEADING * self.direct[heading][term]);
                }
                if reading.is_in_title(line.passage, asked) {
                    best = best.max(IN_TITLE);
                }
                if let Some(head) = table_head.filter(|head| *head != at && is_row) {
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
            self.take_cells(at);
            self.take_speaker(at);
        }
        self.take_modifiers();
        self.take_addressees();
    }

    /// A sentence in a cell is about what its row names, first of all in its first cell.
    fn take_cells(&mut self, at: usize) {
        let lines = &self.reading.lines;
        let Some(row) = lines[at].row.filter(|_| lines[at].is_in_cell()) else { return };
        let cells = lines[row].cells.clone();
        let own = cells.clone().rev().find(|cell| lines[*cell].range.start < lines[at].range.start);
        for (term, asked) in self.asked.terms.iter().enumerate() {
            let names = matches!(asked.role, Role::Name | Role::Number);
            let tells = |cell: &usize| names || *cell == cells.start || Some(*cell) == own;
            let told = cells.clone().find(|cell| tells(cell) && self.direct[*cell][term] > 0.0);
            let Some(cell) = told.filter(|_| self.strength[at][term] < BESIDE) else { continue };
            self.strength[at][term] = BESIDE * self.direct[cell][term];
            if asked.role == Role::Name {
                self.named_by[at] = Some(cell);
            }
        }
    }

    /// `I'm allergic to nuts` is about who says it.
    fn take_speaker(&mut self, at: usize) {
        let lines = &self.reading.lines;
        let Some(turn) = lines[at].turn.filter(|_| lines[at].of_speaker) else { return };
        for (term, asked) in self.asked.terms.iter().enumerate() {
            if self.reading.is_speaker(turn, asked) && self.strength[at][term] < REFERRED_AT_ONCE {
                self.strength[at][term] = REFERRED_AT_ONCE;
                self.named_by[at] = Some(turn).filter(|turn| *turn != at);
            }
        }
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
        let most = self.most_spread();
        let of_term = |term: usize| {
            let mut held = vec![false; count];
            for (line, direct) in self.reading.lines.iter().zip(&self.direct) {
                held[line.passage] |= direct[term] > 0.0;
            }
            let told = self.reading.lines.iter().zip(&self.direct);
            let lines =
                told.filter(|(line, direct)| line.form != LineForm::Cell && direct[term] > 0.0).count();
            let (share, of) = match count >= FEW_PASSAGES {
                true => {
                    let passages = held.iter().filter(|held| **held).count() as f32;
                    (passages / count as f32, MOST_PASSAGES.max(OF_MOST * most / count as f32))
                }
                false => (lines as f32 / self.direct.len().max(1) as f32, MANY_LINES),
            };
            if share >= of && lines >= MIN_LINES { held } else { Vec::new() }
        };
        (0..self.asked.terms.len()).map(of_term).collect()
    }

    /// In how many passages the name stands that stands in most; 0 where names look like other words.
    fn most_spread(&self) -> f32 {
        const FIRST: usize = 1;
        if self.reading.language != Language::English {
            return 0.0;
        }
        let mut passages: HashMap<&str, BTreeSet<usize>> = HashMap::new();
        for line in self.reading.lines.iter().filter(|line| matches!(line.form, LineForm::Prose)) {
            let is_name = |word: &&Word<'_>| {
                let lower = word.lower.as_str();
                word.is_capital()
                    && word.text.len() > FIRST
                    && !is_stop_word(lower)
                    && !any_word(TIMES, lower)
            };
            for word in line.words.iter().skip(FIRST).filter(is_name) {
                passages.entry(&word.root).or_default().insert(line.passage);
            }
        }
        passages.values().map(BTreeSet::len).max().unwrap_or_default() as f32
    }

    fn look_back(&mut self, at: usize) {
        let lines = &self.reading.lines;
        let line = &lines[at];
        if matches!(line.form, LineForm::Heading(_) | LineForm::Row | LineForm::Cell) {
            return;
        }
        let drops_subjects =
            matches!(self.reading.language, Language::Chinese | Language::Japanese | Language::Korean);
        let names_first = line.refers && self.names_before_pronoun(at);
        let mut connected = line.goes_on;
        for back in 1..=LOOK_BACK.min(at) {
            let before = &lines[at - back];
            let same_part = before.passage == line.passage && before.headings == line.headings;
            if !same_part || matches!(before.form, LineForm::Heading(_) | LineForm::Row) {
                break;
            }
            // A pronoun within a line stands for what its own paragraph names.
            let refers = line.begins_with_pronoun || (connected && (line.refers || drops_subjects));
            let describes = !refers && connected && self.describes(at);
            if !(refers || describes || back == 1 && connected) {
                break;
            }
            // In `Ida said that she would` Ida is she; in `She sent it to Ada. She was glad.` Ada is not.
            let is_other = refers && (names_first || go_on_with_pronoun(before, line));
            for (term, asked) in self.asked.terms.iter().enumerate() {
                let factor = match (refers, back) {
                    (true, 1) if line.begins_with_pronoun => REFERRED_AT_ONCE,
                    (true, _) => REFERRED - 0.05 * (back - 1) as f32,
                    (false, _) if describes && asked.role == Role::Name => DESCRIBED,
                    (false, 1) => BEFORE,
                    (false, _) => 0.0,
                };
                let held = match asked.role {
                    Role::Name if is_other => 0.0,
                    _ => factor * self.direct[at - back][term],
                };
                self.before[at][term] = self.before[at][term].max(held);
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

    /// Whether a name that the question does not hold is the subject of a line before its first pronoun: `Ada said that she would`.
    fn names_before_pronoun(&self, at: usize) -> bool {
        const BINDS: &str = "of with by for after before during since the a an";
        let words = &self.reading.lines[at].words;
        if self.reading.language != Language::English || self.reading.lines[at].begins_with_pronoun {
            return false;
        }
        let pronoun = words.iter().position(|word| any_word(PERSONAL, &word.lower)).unwrap_or(0);
        let is_name = |at: usize| {
            let word = &words[at];
            let may_be = word.is_capital() && word.text.len() > 1 && !any_word(TIMES, &word.lower);
            may_be && !is_stop_word(&word.lower) && (at > 0 || self.reading.capitals.contains(&word.root))
        };
        (0..pronoun).filter(|at| is_name(*at)).any(|at| {
            let first = (0..=at).rev().find(|at| !is_name(*at)).map_or(0, |before| before + 1);
            let is_bound = first.checked_sub(1).is_some_and(|before| {
                any_word(BEFORE_PLACES, &words[before].lower) || any_word(BINDS, &words[before].lower)
            });
            let is_asked =
                (first..=at).any(|at| self.asked.terms.iter().any(|term| term.root == words[at].root));
            !is_bound && !is_asked
        })
    }

    /// The line before that tells what the pronoun at the beginning of a line stands for, where the question asks about that.
    pub(super) fn described_by(&self, at: usize) -> Option<usize> {
        let line = &self.reading.lines[at];
        let before = at.checked_sub(1).filter(|_| line.begins_with_pronoun)?;
        let is_told = |term: &usize| {
            self.direct[at][*term] == 0.0
                && self.direct[before][*term] > 0.0
                && self.before[at][*term] >= IS_THERE
                && self.asked.terms[*term].role == Role::Relation
        };
        (0..self.asked.terms.len()).any(|term| is_told(&term)).then_some(before)
    }

    /// Whether a line speaks of something definite that it does not name: `The first crossing is`, `director of the company`.
    fn describes(&self, at: usize) -> bool {
        const BEGIN: &str =
            "the its his her their this these der die das dieser diese dieses sein seine ihr ihre";
        const FIRST: usize = 4;
        let words = &self.reading.lines[at].words;
        let is_asked = |word: &Word<'_>| {
            let mut told =
                self.asked.terms.iter().filter(|term| matches!(term.role, Role::Relation | Role::Class));
            told.any(|term| self.reading.roots.likeness(&term.root, &word.root) > 0.0)
        };
        let begins = words.first().is_some_and(|word| any_word(BEGIN, &word.lower))
            && words.iter().take(FIRST).skip(1).any(is_asked);
        let generic = words
            .windows(2)
            .any(|pair| any_word("the this", &pair[0].lower) && any_word(GENERIC_NOUNS, &pair[1].lower));
        begins || generic
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
        self.weighed(self.strength[line].iter().copied())
    }

    /// How much more of the question each passage holds, as a whole, than any other does.
    pub(super) fn passages_ahead(&self) -> Vec<f32> {
        let count = self.reading.passages.len();
        let mut held = vec![vec![0.0_f32; self.asked.terms.len()]; count];
        for (line, direct) in self.reading.lines.iter().zip(&self.direct) {
            let best = held[line.passage].iter_mut().zip(direct);
            best.for_each(|(best, held)| *best = best.max(*held));
        }
        let shares: Vec<f32> = held.into_iter().map(|held| self.weighed(held)).collect();
        let others = |own: usize| (0..count).filter(move |other| *other != own);
        let next = |own: usize| others(own).map(|other| shares[other]).fold(0.0, f32::max);
        (0..count).map(|own| shares[own] - next(own)).collect()
    }

    /// The mean of a value of each term, by what the terms are worth; 0 where they are worth nothing.
    pub(super) fn weighed(&self, values: impl IntoIterator<Item = f32>) -> f32 {
        let all: f32 = self.weights.iter().sum();
        let held: f32 = self.weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
        if all == 0.0 { 0.0 } else { held / all }
    }
}

/// The words of a name that is written as one: `AdaByron`.
fn parts_of_handle(name: &str) -> impl Iterator<Item = &str> {
    let borders = name.char_indices().skip(1).filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at);
    let borders: Vec<usize> = borders.chain([name.len()]).collect();
    let mut start = 0;
    borders.into_iter().map(move |end| &name[std::mem::replace(&mut start, end)..end])
}

/// Whether a line begins with a pronoun and the line before it with the same: both are about what stands further above.
fn go_on_with_pronoun(before: &Line<'_>, line: &Line<'_>) -> bool {
    const SAME: [&str; 5] =
        ["he his him", "she her hers", "it its", "er ihn ihm sein seine", "sie ihr ihre ihren ihrem"];
    let first = before.words.first().map_or("", |word| word.lower.as_str());
    let Some(same) = SAME.iter().find(|same| any_word(same, first)) else { return false };
    let pronoun = line.words.iter().find(|word| any_word(PRONOUNS, &word.lower));
    pronoun.is_some_and(|pronoun| any_word(same, &pronoun.lower))
}

/// What each term is worth: rare ones more, those that tell little less.
fn weights(asked: &QuestionParts, direct: &[Vec<f32>]) -> Vec<f32> {
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
