//! How much of a question each line contains, with the headings above it and the lines before it.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};

use super::Passage;
use super::grams::Grams;
use super::lines::{Line, LineForm, Word, lines};
use super::matcher::Matcher;
use super::question::{ParsedQuestion, Role, Term};
use super::roots::Roots;
use super::rows::has_labels;
use super::scored::{self, Window};
use super::turns::Turn;
use super::words::{BEFORE_PLACES, GENERIC_NOUNS, PERSONAL, PRONOUNS, any_word, is_time};
use crate::languages::Language;
use crate::lexicon::is_stop_word;

/// Number of earlier lines that a line may refer to.
const LOOK_BACK: usize = 3;
/// Strength of a word in a heading above the line.
const IN_HEADING: f32 = 0.85;
/// The same for the title of the document.
pub(super) const IN_TITLE: f32 = 0.75;
/// The same for a cell next to the line.
const BESIDE: f32 = 0.85;
/// The same for the head of the table.
const IN_TABLE_HEAD: f32 = 0.9;
/// The same for a line that this one refers to.
const REFERRED: f32 = 0.75;
/// The same if this line begins with a pronoun and directly follows that line.
const REFERRED_AT_ONCE: f32 = 0.9;
/// The same for the previous line, if this one does not refer to it.
const BEFORE: f32 = 0.5;
/// Strength of a name in an earlier line if this line says `the company` or similar.
const DESCRIBED: f32 = 0.6;
/// Strength of a modifier that was mentioned earlier with the subject of the line.
const MENTIONED_BEFORE: f32 = 0.8;
/// Strength of a name in a passage that contains it, if most passages do.
pub(super) const EVERYWHERE: f32 = 0.6;
/// Share of the passages that must contain such a name.
const MOST_PASSAGES: f32 = 0.5;
/// The same as a share of the passages with the most widespread name; a rarer name is not their common topic.
const OF_MOST: f32 = 0.75;
/// Number of passages below which lines are counted instead.
const FEW_PASSAGES: usize = 4;
/// Share of the lines of few passages that must contain such a name.
const MANY_LINES: f32 = 0.1;
/// Minimum number of lines that must contain it.
const MIN_LINES: usize = 3;
/// Minimum strength of a word that counts as present.
pub(super) const IS_THERE: f32 = 0.55;

/// The passages of a question, read once.
pub(super) struct Passages<'a> {
    pub(super) passages: &'a [Passage<'a>],
    pub(super) lines: Vec<Line<'a>>,
    pub(super) roots: Roots,
    pub(super) language: Language,
    /// Roots of the words in each passage's title and headings.
    above: Vec<Vec<String>>,
    /// Roots of words that are capitalized inside a sentence.
    capitals: HashSet<String>,
}

/// How much of one question the lines contain.
pub(super) struct Evidence<'r, 'a> {
    pub(super) reading: &'r Passages<'a>,
    pub(super) question: &'r ParsedQuestion,
    pub(super) weights: Vec<f32>,
    /// For each line, the strength of each term in it.
    pub(super) direct: Vec<Vec<f32>>,
    /// The same including headings and earlier lines.
    pub(super) strength: Vec<Vec<f32>>,
    /// The strength of each term from earlier lines alone.
    pub(super) before: Vec<Vec<f32>>,
    /// For each term, true if it occurs anywhere.
    pub(super) known: Vec<bool>,
    /// For each line, the earlier line that names its subject.
    pub(super) named_by: Vec<Option<usize>>,
    /// For each line, its score by a model.
    pub(super) scores: Vec<Option<f32>>,
    /// Matches by parts of words, computed on first use.
    pub(super) grams: OnceCell<Grams>,
    /// The conversation turns in the passages, computed on first use.
    pub(super) turns: OnceCell<Vec<Turn>>,
    /// The lead of each passage, computed on first use.
    pub(super) passages_ahead: OnceCell<Vec<f32>>,
    /// The lines outside of conversations with their share of the question, computed on first use.
    pub(super) candidates: OnceCell<Vec<(f32, usize)>>,
    /// The highest log odds by the rules and the highest share of the question, computed on first use.
    pub(super) best_candidate: OnceCell<(f32, f32)>,
    /// The log odds by the trees, of the lines that were estimated.
    pub(super) estimates: RefCell<HashMap<usize, f32>>,
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
        direct.iter().any(|strengths| strengths[at] > 0.0) || in_title()
    }

    /// True if a term occurs in the title of a passage or in a heading above it.
    pub(super) fn is_in_title(&self, passage: usize, term: &Term) -> bool {
        let Passage { title, headings, .. } = self.passages[passage];
        match term.unspaced {
            true => title.contains(&term.word) || headings.iter().any(|heading| heading.contains(&term.word)),
            false => self.above[passage].iter().any(|root| self.roots.likeness(&term.root, root) > 0.0),
        }
    }

    /// True if a term is part of the name of the speaker whose turn begins with this line.
    pub(super) fn is_speaker(&self, turn: usize, term: &Term) -> bool {
        let line = &self.lines[turn];
        line.words.iter().take(line.label_words).any(|word| {
            self.roots.likeness(&term.root, &word.root) > 0.0
                || parts_of_handle(word.text).any(|part| part.to_lowercase() == term.word)
        })
    }

    /// True if a text occurs in a passage.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.passages.iter().any(|passage| passage.text.contains(text))
    }

    pub(super) fn parse_question(&self, question: &str) -> ParsedQuestion {
        ParsedQuestion::read(question, &self.roots, &|text| self.holds(text) || self.roots.has_family(text))
    }
}

impl<'r, 'a> Evidence<'r, 'a> {
    pub(super) fn of(reading: &'r Passages<'a>, question: &'r ParsedQuestion) -> Self {
        let matchers: Vec<Matcher<'_>> =
            (0..question.terms.len()).map(|term| Matcher::of(reading, question, term)).collect();
        let in_line = |line| matchers.iter().map(|matcher| matcher.strength(line)).collect();
        let direct: Vec<Vec<f32>> = reading.lines.iter().map(in_line).collect();
        let mut evidence = Self {
            reading,
            question,
            weights: weights(question, &direct),
            strength: direct.clone(),
            before: vec![vec![0.0; question.terms.len()]; direct.len()],
            known: (0..question.terms.len())
                .map(|term| reading.is_known(&question.terms[term], &direct, term))
                .collect(),
            named_by: vec![None; direct.len()],
            scores: vec![None; direct.len()],
            grams: OnceCell::new(),
            turns: OnceCell::new(),
            passages_ahead: OnceCell::new(),
            candidates: OnceCell::new(),
            best_candidate: OnceCell::new(),
            estimates: RefCell::default(),
            direct,
        };
        evidence.look_around();
        evidence
    }

    /// Like [`of`](Self::of), with the scores of a model.
    ///
    /// - `scores`: windows with the scores of their sentences; empty without a model.
    pub(super) fn scored(
        reading: &'r Passages<'a>,
        question: &'r ParsedQuestion,
        scores: &[(Window, Vec<f32>)],
    ) -> Self {
        Self { scores: scored::of_lines(reading.lines.len(), scores), ..Self::of(reading, question) }
    }

    /// Returns the matches by parts of words.
    pub(super) fn grams(&self) -> &Grams {
        let Passages { lines, passages, .. } = self.reading;
        self.grams.get_or_init(|| Grams::of(&self.question.lower, lines, passages.len()))
    }

    /// Adds the text above and before each line.
    fn look_around(&mut self) {
        let reading = self.reading;
        let spread = self.spread();
        let mut table_head: Option<usize> = None;
        for at in 0..reading.lines.len() {
            let line = &reading.lines[at];
            let is_row = line.form == LineForm::Row;
            // A row with labels is not a table head.
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
            for (term, query_term) in self.question.terms.iter().enumerate() {
                let mut best = self.direct[at][term];
                for &heading in &line.headings {
                    best = best.max(IN_HEADING * self.direct[heading][term]);
                }
                if reading.is_in_title(line.passage, query_term) {
                    best = best.max(IN_TITLE);
                }
                if let Some(head) = table_head.filter(|head| *head != at && is_row) {
                    best = best.max(IN_TABLE_HEAD * self.direct[head][term]);
                }
                if query_term.role == Role::Name
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

    /// A sentence in a cell is about the things in its row, above all the one in the first cell.
    fn take_cells(&mut self, at: usize) {
        let lines = &self.reading.lines;
        let Some(row) = lines[at].row.filter(|_| lines[at].is_in_cell()) else { return };
        let cells = lines[row].cells.clone();
        let own = cells.clone().rev().find(|cell| lines[*cell].range.start < lines[at].range.start);
        for (term, query_term) in self.question.terms.iter().enumerate() {
            let names = matches!(query_term.role, Role::Name | Role::Number);
            let tells = |cell: &usize| names || *cell == cells.start || Some(*cell) == own;
            let matching = cells.clone().find(|cell| tells(cell) && self.direct[*cell][term] > 0.0);
            let Some(cell) = matching.filter(|_| self.strength[at][term] < BESIDE) else { continue };
            self.strength[at][term] = BESIDE * self.direct[cell][term];
            if query_term.role == Role::Name {
                self.named_by[at] = Some(cell);
            }
        }
    }

    /// `I'm allergic to nuts` is about the speaker.
    fn take_speaker(&mut self, at: usize) {
        let lines = &self.reading.lines;
        let Some(turn) = lines[at].turn.filter(|_| lines[at].of_speaker) else { return };
        for (term, query_term) in self.question.terms.iter().enumerate() {
            if self.reading.is_speaker(turn, query_term) && self.strength[at][term] < REFERRED_AT_ONCE {
                self.strength[at][term] = REFERRED_AT_ONCE;
                self.named_by[at] = Some(turn).filter(|turn| *turn != at);
            }
        }
    }

    /// `Your desk is in room 3` is about the recipient of the letter.
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
                for (term, query_term) in self.question.terms.iter().enumerate() {
                    if query_term.role == Role::Name && self.direct[greeting][term] > 0.0 {
                        self.strength[at][term] = self.strength[at][term].max(REFERRED);
                    }
                }
            }
        }
    }

    /// A modifier needs to be mentioned only once: after `the mountain railway`, `the railway` means the same.
    fn take_modifiers(&mut self) {
        for &(modifier, head) in &self.question.pairs {
            let mut said_in: Option<usize> = None;
            for at in 0..self.reading.lines.len() {
                let passage = self.reading.lines[at].passage;
                if self.direct[at][modifier] > 0.0 && self.direct[at][head] > 0.0 {
                    said_in = Some(passage);
                }
                let strength = MENTIONED_BEFORE * self.strength[at][head];
                if said_in == Some(passage) && strength > self.strength[at][modifier] {
                    self.strength[at][modifier] = strength;
                }
            }
        }
    }

    /// Returns, for each name in most passages, the passages that contain it.
    fn spread(&self) -> Vec<Vec<bool>> {
        let count = self.reading.passages.len();
        let most = self.most_widespread();
        let of_term = |term: usize| {
            let mut found = vec![false; count];
            for (line, direct) in self.reading.lines.iter().zip(&self.direct) {
                found[line.passage] |= direct[term] > 0.0;
            }
            let pairs = self.reading.lines.iter().zip(&self.direct);
            let lines =
                pairs.filter(|(line, direct)| line.form != LineForm::Cell && direct[term] > 0.0).count();
            let (share, of) = match count >= FEW_PASSAGES {
                true => {
                    let passages = found.iter().filter(|found| **found).count() as f32;
                    (passages / count as f32, MOST_PASSAGES.max(OF_MOST * most / count as f32))
                }
                false => (lines as f32 / self.direct.len().max(1) as f32, MANY_LINES),
            };
            if share >= of && lines >= MIN_LINES { found } else { Vec::new() }
        };
        (0..self.question.terms.len()).map(of_term).collect()
    }

    /// Returns the number of passages with the most widespread name; 0 for languages other than English.
    fn most_widespread(&self) -> f32 {
        const FIRST: usize = 1;
        if self.reading.language != Language::English {
            return 0.0;
        }
        let mut passages: HashMap<&str, BTreeSet<usize>> = HashMap::new();
        for line in self.reading.lines.iter().filter(|line| matches!(line.form, LineForm::Prose)) {
            let is_name = |word: &&Word<'_>| {
                let lower = word.lower.as_str();
                word.is_capital() && word.text.len() > FIRST && !is_stop_word(lower) && !is_time(lower)
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
            // A pronoun within a line refers to something in its own paragraph.
            let refers = line.begins_with_pronoun || (connected && (line.refers || drops_subjects));
            let describes = !refers && connected && self.describes(at);
            if !(refers || describes || back == 1 && connected) {
                break;
            }
            // In `Ida said that she would`, Ida is she; in `She sent it to Ada. She was glad.`, Ada is not.
            let is_other = refers && (names_first || continue_with_pronoun(before, line));
            for (term, query_term) in self.question.terms.iter().enumerate() {
                let factor = match (refers, back) {
                    (true, 1) if line.begins_with_pronoun => REFERRED_AT_ONCE,
                    (true, _) => REFERRED - 0.05 * (back - 1) as f32,
                    (false, _) if describes && query_term.role == Role::Name => DESCRIBED,
                    (false, 1) => BEFORE,
                    (false, _) => 0.0,
                };
                let strength = match query_term.role {
                    Role::Name if is_other => 0.0,
                    _ => factor * self.direct[at - back][term],
                };
                self.before[at][term] = self.before[at][term].max(strength);
                if strength > self.strength[at][term] {
                    if query_term.role == Role::Name && strength >= IS_THERE && self.named_by[at].is_none() {
                        self.named_by[at] = Some(at - back);
                    }
                    self.strength[at][term] = strength;
                }
            }
            connected = connected && before.goes_on;
        }
    }

    /// True if another name is the subject of a line before its first pronoun: `Ada said that she would`.
    fn names_before_pronoun(&self, at: usize) -> bool {
        const BINDS: &str = "of with by for after before during since the a an";
        let words = &self.reading.lines[at].words;
        if self.reading.language != Language::English || self.reading.lines[at].begins_with_pronoun {
            return false;
        }
        let pronoun = words.iter().position(|word| any_word(PERSONAL, &word.lower)).unwrap_or(0);
        let is_name = |at: usize| {
            let word = &words[at];
            let may_be = word.is_capital() && word.text.len() > 1 && !is_time(&word.lower);
            may_be && !is_stop_word(&word.lower) && (at > 0 || self.reading.capitals.contains(&word.root))
        };
        (0..pronoun).filter(|at| is_name(*at)).any(|at| {
            let first = (0..=at).rev().find(|at| !is_name(*at)).map_or(0, |before| before + 1);
            let is_bound = first.checked_sub(1).is_some_and(|before| {
                any_word(BEFORE_PLACES, &words[before].lower) || any_word(BINDS, &words[before].lower)
            });
            let is_in_question =
                (first..=at).any(|at| self.question.terms.iter().any(|term| term.root == words[at].root));
            !is_bound && !is_in_question
        })
    }

    /// Returns the previous line if this line begins with a pronoun that refers to a relation word there.
    pub(super) fn described_by(&self, at: usize) -> Option<usize> {
        let line = &self.reading.lines[at];
        let before = at.checked_sub(1).filter(|_| line.begins_with_pronoun)?;
        let is_introduced = |term: &usize| {
            self.direct[at][*term] == 0.0
                && self.direct[before][*term] > 0.0
                && self.before[at][*term] >= IS_THERE
                && self.question.terms[*term].role == Role::Relation
        };
        (0..self.question.terms.len()).any(|term| is_introduced(&term)).then_some(before)
    }

    /// True if a line refers to a definite thing without naming it: `The first crossing is`, `director of the company`.
    fn describes(&self, at: usize) -> bool {
        const BEGIN: &str =
            "the its his her their this these der die das dieser diese dieses sein seine ihr ihre";
        const FIRST: usize = 4;
        let words = &self.reading.lines[at].words;
        let is_in_question = |word: &Word<'_>| {
            let mut content_terms =
                self.question.terms.iter().filter(|term| matches!(term.role, Role::Relation | Role::Class));
            content_terms.any(|term| self.reading.roots.likeness(&term.root, &word.root) > 0.0)
        };
        let begins = words.first().is_some_and(|word| any_word(BEGIN, &word.lower))
            && words.iter().take(FIRST).skip(1).any(is_in_question);
        let generic = words
            .windows(2)
            .any(|pair| any_word("the this", &pair[0].lower) && any_word(GENERIC_NOUNS, &pair[1].lower));
        begins || generic
    }

    /// Returns the weighted share of the question that a line contains, without names; 1 if the question contains only names.
    pub(super) fn coverage(&self, line: usize) -> f32 {
        let (mut all, mut covered) = (0.0, 0.0);
        for (term, query_term) in self.question.terms.iter().enumerate() {
            let strength = self.strength[line][term];
            match query_term.role {
                Role::Name => {}
                Role::Class if strength < IS_THERE => {}
                Role::Relation | Role::Class | Role::Common | Role::Number => {
                    all += self.weights[term];
                    covered += self.weights[term] * strength;
                }
            }
        }
        if all == 0.0 { 1.0 } else { covered / all }
    }

    /// Returns the weighted share of the whole question that a line contains.
    pub(super) fn share(&self, line: usize) -> f32 {
        self.weighed(self.strength[line].iter().copied())
    }

    /// Returns how much more of the question each passage contains than the best other passage.
    pub(super) fn passages_ahead(&self) -> &[f32] {
        self.passages_ahead.get_or_init(|| self.measure_passages())
    }

    fn measure_passages(&self) -> Vec<f32> {
        let count = self.reading.passages.len();
        let mut strongest = vec![vec![0.0_f32; self.question.terms.len()]; count];
        for (line, direct) in self.reading.lines.iter().zip(&self.direct) {
            let best = strongest[line.passage].iter_mut().zip(direct);
            best.for_each(|(best, strength)| *best = best.max(*strength));
        }
        let shares: Vec<f32> = strongest.into_iter().map(|strengths| self.weighed(strengths)).collect();
        let others = |own: usize| (0..count).filter(move |other| *other != own);
        let next = |own: usize| others(own).map(|other| shares[other]).fold(0.0, f32::max);
        (0..count).map(|own| shares[own] - next(own)).collect()
    }

    /// Returns the mean of one value per term, weighted by the terms; 0 if all weights are 0.
    pub(super) fn weighed(&self, values: impl IntoIterator<Item = f32>) -> f32 {
        let all: f32 = self.weights.iter().sum();
        let sum: f32 = self.weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
        if all == 0.0 { 0.0 } else { sum / all }
    }
}

/// Returns the words of a name that is written as one word: `AdaByron`.
fn parts_of_handle(name: &str) -> impl Iterator<Item = &str> {
    let borders = name.char_indices().skip(1).filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at);
    let borders: Vec<usize> = borders.chain([name.len()]).collect();
    let mut start = 0;
    borders.into_iter().map(move |end| &name[std::mem::replace(&mut start, end)..end])
}

/// True if a line and the previous line begin with the same pronoun: both are about something further above.
fn continue_with_pronoun(before: &Line<'_>, line: &Line<'_>) -> bool {
    const SAME: [&str; 5] =
        ["he his him", "she her hers", "it its", "er ihn ihm sein seine", "sie ihr ihre ihren ihrem"];
    let first = before.words.first().map_or("", |word| word.lower.as_str());
    let Some(same) = SAME.iter().find(|same| any_word(same, first)) else { return false };
    let pronoun = line.words.iter().find(|word| any_word(PRONOUNS, &word.lower));
    pronoun.is_some_and(|pronoun| any_word(same, &pronoun.lower))
}

/// Returns the weight of each term: rare terms weigh more, unspecific ones less.
fn weights(question: &ParsedQuestion, direct: &[Vec<f32>]) -> Vec<f32> {
    let total = direct.len() as f32;
    let weight = |(at, term): (usize, &Term)| {
        let count = direct.iter().filter(|strengths| strengths[at] > 0.0).count() as f32;
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
    question.terms.iter().enumerate().map(weight).collect()
}
