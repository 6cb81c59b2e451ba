//! Decides whether a line answers a question.

use super::definitions;
use super::evidence::{Evidence, IS_THERE};
use super::lines::{Line, LineForm, Word};
use super::lists::{MIN_ENUMERATED, enumerates};
use super::measures;
use super::question::{AnswerType, Role, Term};
use super::words::{GENERAL_NOUNS, LOCATES, SPEAKING, any_word};
use super::{kinds, kinship};
use crate::languages::Language;
use crate::lexicon::is_stop_word;
use crate::scripts::has_no_spaces;

/// Longest line that can be an answer, in bytes; longer ones are not sentences.
pub(super) const MAX_ANSWER_BYTES: usize = 1200;
/// Level of a heading without a mark.
const UNMARKED: u8 = 7;
/// Minimum coverage of an answer.
const MIN_COVERAGE: f32 = 0.7;
/// The same for a line that lacks only one of the words.
const MIN_COVERAGE_BUT_ONE: f32 = 0.5;
/// The same if only its words show that a line is an answer.
const MIN_COVERAGE_UNTYPED: f32 = 0.78;
/// The same for yes-or-no questions.
const MIN_COVERAGE_TRUTH: f32 = 0.85;

/// Weight of the log odds in the rank of a line.
const ODDS_SHARE: f32 = 0.15;

/// A line that answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LineScore {
    pub(super) line: usize,
    pub(super) score: f32,
    /// The score with the log odds that the line answers; lines are ordered by it.
    pub(super) rank: f32,
    /// Share of the question that it contains, without names; see [`Evidence::coverage`].
    pub(super) coverage: f32,
}

/// True if a text is set in columns, like a table of contents.
fn has_columns(text: &str) -> bool {
    const GAP: &str = "    ";
    const MIN_GAPS: usize = 2;
    let gaps = text.lines().filter(|line| line.trim().contains(GAP)).count();
    gaps >= MIN_GAPS
}

/// True if a line is a note or a caption: `3. ^ Title`, `[a brown duck]`.
fn is_note(text: &str) -> bool {
    let bare = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' '));
    let is_caption = text.starts_with('[') && text.ends_with(']') && text.matches('[').count() == 1;
    bare.starts_with('^') || is_caption || has_columns(text)
}

impl Evidence<'_, '_> {
    /// True if something of the answer type is near the key word.
    ///
    /// Long sentences contain many names and numbers that belong to something else.
    pub(super) fn is_near_key(&self, at: usize) -> bool {
        const BESIDE: usize = 1;
        const NEAR_NOUN: usize = 7;
        const NEAR_VERB: usize = 14;
        const NEAR_PLACE: usize = 10;
        let line = &self.reading.lines[at];
        if self.is_own_speaker(at) {
            return true;
        }
        if let (None, Some(measure)) = (self.question.key, &self.question.measure) {
            return line.begins_with_pronoun
                || measures::labels_measure(self.question, line)
                || self.is_below_matching_heading(at)
                || self.is_measured_near_name(line, measure);
        }
        let Some(key) = self.question.key.map(|key| &self.question.terms[key]) else { return true };
        if line.form == LineForm::Row || key.unspaced {
            return true;
        }
        let inverse = kinship::inverse_words(self.question, line);
        let is_key = |(place, word): &(usize, &Word<'_>)| self.is_of(key, word) || inverse.contains(place);
        let keys: Vec<usize> = line.words.iter().enumerate().filter(is_key).map(|(place, _)| place).collect();
        if keys.is_empty() && self.question.naming {
            // `The oldest, the "Heron", leaks.`
            let quotes = line.text.contains(['„', '“', '"', '«']);
            return quotes || line.begins_with_pronoun || kinds::is_label(self.question, line);
        }
        if keys.is_empty() && self.lacks_only_the_verb(at) {
            return true;
        }
        if keys.is_empty() {
            let is_part = matches!(line.form, LineForm::Item)
                || line.begins_with_pronoun
                || self.is_below_matching_heading(at);
            return self.question.answer_type != AnswerType::Person
                || is_part
                || kinds::is_label(self.question, line);
        }
        let near_verb = if self.question.answer_type == AnswerType::Place { NEAR_PLACE } else { NEAR_VERB };
        let naming = if self.question.naming { kinds::naming_words(line) } else { Vec::new() };
        // All nouns of German begin with a capital.
        let may_be_noun =
            self.question.naming && naming.is_empty() && self.question.language == Language::German;
        let most = match self.question.by_noun || self.question.naming {
            true if may_be_noun => BESIDE,
            true => NEAR_NOUN,
            false => near_verb,
        };
        let found = match self.question.answer_type {
            AnswerType::Person => {
                const NEAR_ROLE: usize = 4;
                let near = |place: &usize| keys.iter().any(|key| key.abs_diff(*place) <= NEAR_ROLE);
                let is_done = !(self.question.by_noun || self.question.possessive || self.question.of_name);
                let roles = kinds::roles(self.question, line).into_iter().filter(|at| is_done && near(at));
                let roles = roles.filter(|_| !self.question.naming);
                self.places_of_names(line).into_iter().chain(roles).chain(naming).collect()
            }
            AnswerType::Place if line.text.contains(" | ") || kinds::is_label(self.question, line) => {
                return true;
            }
            AnswerType::Place => kinds::places(self.question, line),
            _ => return true,
        };
        // Words in different clauses do not belong together.
        const CLAUSES: &str = "when while because as until although but if";
        let is_parted = |one: usize, other: usize| {
            let between = one.min(other)..one.max(other);
            let (first, last) = (&line.words[between.start], &line.words[between.end]);
            let begins_clause = line.words[between].iter().any(|word| any_word(CLAUSES, &word.lower));
            line.text.get(first.at..last.at).is_some_and(|between| between.contains([';', '；']))
                || (self.question.answer_type == AnswerType::Place && begins_clause)
        };
        let mut found = found.into_iter();
        found.any(|place| keys.iter().any(|key| key.abs_diff(place) <= most && !is_parted(*key, place)))
    }

    /// True if a speaker whom the question does not name says the line about themselves: `I cleared the logs`.
    fn is_own_speaker(&self, at: usize) -> bool {
        const NEAR: usize = 3;
        let line = &self.reading.lines[at];
        let Some(turn) =
            line.turn.filter(|_| self.question.answer_type == AnswerType::Person && line.of_speaker)
        else {
            return false;
        };
        let speaker = &self.reading.lines[turn];
        let is_in_question = |word: &Word<'_>| self.question.terms.iter().any(|term| term.root == word.root);
        if speaker.words.iter().take(speaker.label_words).any(is_in_question) {
            return false;
        }
        let is_self = |word: &Word<'_>| any_word(SPEAKING, &word.lower);
        let selves = || (0..line.words.len()).filter(|at| is_self(&line.words[*at]));
        let Some(key) = self.question.key.map(|key| &self.question.terms[key]) else {
            return selves().next().is_some();
        };
        selves().any(|own| line.words.iter().skip(own + 1).take(NEAR).any(|word| self.is_of(key, word)))
    }

    /// Returns the words of a line that belong to names outside the question.
    pub(super) fn places_of_names(&self, line: &Line<'_>) -> Vec<usize> {
        let names = kinds::names(self.question, line);
        let is_name = |word: &Word<'_>| {
            word.is_capital()
                && kinds::is_new(self.question, word)
                && !is_stop_word(&word.lower)
                && !self.question.language.is_function_word(&word.lower)
                && names
                    .iter()
                    .any(|name| name.split(|c: char| !c.is_alphanumeric()).any(|part| part == word.text))
        };
        // `written in Rust` does not name a person.
        let is_inside = |at: usize| {
            self.question.answer_type == AnswerType::Person
                && at.checked_sub(1).is_some_and(|at| any_word("in at near", &line.words[at].lower))
        };
        // `founded as the Halden Company` says what was founded, not by whom.
        let is_title = |at: usize| {
            let begins = (0..=at).rev().find(|at| !is_name(&line.words[*at])).map_or(0, |before| before + 1);
            let mut before = line.words[..begins].iter().rev().map(|word| word.lower.as_str());
            let first = before.next().filter(|word| !any_word("the a an", word)).or_else(|| before.next());
            self.question.answer_type == AnswerType::Person && first == Some("as")
        };
        let places = (0..line.words.len()).filter(|at| is_name(&line.words[*at]));
        places.filter(|at| !is_inside(*at) && !is_title(*at)).collect()
    }

    /// True if the requested number is near a word for the measured thing.
    fn is_measured_near_name(&self, line: &Line<'_>, measure: &str) -> bool {
        const NEAR: usize = 12;
        let is_thing = |word: &Word<'_>| {
            self.question.terms.iter().any(|term| {
                term.role != Role::Common && self.reading.roots.likeness(&term.root, &word.root) > 0.0
            })
        };
        let things: Vec<usize> =
            line.words.iter().enumerate().filter(|(_, word)| is_thing(word)).map(|(at, _)| at).collect();
        let unspaced = self.question.terms.iter().any(|term| term.unspaced);
        unspaced
            || measures::measured_places(measure, line)
                .iter()
                .any(|at| things.iter().any(|thing| thing.abs_diff(*at) <= NEAR))
    }

    /// True if a line, with the text above it, contains the most specific relation word and the key word of the question.
    pub(super) fn has_key(&self, line: usize) -> bool {
        let relations =
            (0..self.question.terms.len()).filter(|term| self.question.terms[*term].role == Role::Relation);
        let key = relations.max_by(|one, other| self.weights[*one].total_cmp(&self.weights[*other]));
        let is_there = |term: usize| self.strength[line][term] >= IS_THERE;
        // A verb that occurs only in an earlier line is about something else.
        let is_own = |term: usize| {
            is_there(term)
                && (self.direct[line][term] > 0.0 || self.before[line][term] < self.strength[line][term])
        };
        (key.is_none_or(is_there) || self.holds_all_but_one(line)) && self.question.key.is_none_or(is_own)
            || self.lacks_only_the_verb(line)
    }

    /// True if a line, with the text above it, contains the relation words of a question without a key word, except one in four.
    fn has_relations(&self, line: usize) -> bool {
        const MANY: usize = 4;
        if self.question.key.is_some()
            || !matches!(
                self.question.answer_type,
                AnswerType::Thing | AnswerType::Person | AnswerType::Manner
            )
        {
            return true;
        }
        let terms = self.question.terms.iter().zip(&self.strength[line]);
        let relations: Vec<f32> =
            terms.filter(|(term, _)| term.role == Role::Relation).map(|(_, strength)| *strength).collect();
        let missing = relations.iter().filter(|strength| **strength < IS_THERE).count();
        missing <= relations.len() / MANY
    }

    /// True if a line has a pronoun where the answer should be: `I'll send it to Ada`.
    fn has_pronoun_as_answer(&self, at: usize) -> bool {
        let Some(key) = self.question.key.map(|key| &self.question.terms[key]) else { return false };
        let line = &self.reading.lines[at];
        self.question.answer_type == AnswerType::Thing
            && !self.question.by_noun
            && line.words.windows(2).any(|pair| {
                key.is_word(&pair[0]) && any_word("it them this that these those", &pair[1].lower)
            })
    }

    /// True if an instruction has another purpose than the question: `To check that it is installed, ...`.
    fn has_other_purpose(&self, at: usize) -> bool {
        const NEAR: usize = 8;
        let words = &self.reading.lines[at].words;
        let purpose = match words.first().map(|word| word.lower.as_str()) {
            Some("to") => words.get(1),
            Some("um") => {
                let to = words.iter().take(NEAR).position(|word| word.lower == "zu");
                to.and_then(|to| words.get(to + 1))
            }
            _ => None,
        };
        self.question.answer_type == AnswerType::Manner
            && purpose.is_some_and(|purpose| !self.is_in_question(purpose))
    }

    /// True if a line contains neither the class of the answer nor a name that could belong to it.
    fn lacks_the_class(&self, at: usize) -> bool {
        let terms = self.question.terms.iter().zip(&self.strength[at]);
        // In `which IRC network`, a network is the class.
        let class = terms.rev().find(|(term, _)| term.role == Role::Class);
        let line = &self.reading.lines[at];
        self.question.answer_type == AnswerType::Thing
            && !has_no_spaces(line.text)
            && class.is_some_and(|(_, strength)| *strength < IS_THERE)
            && !(line.form != LineForm::Row
                && !self.question.many
                && self.holds_names_itself(at)
                && self.names_near_relation(line)
                && self.has_stranded(line))
            && !(self.question.many
                && enumerates(line) >= MIN_ENUMERATED
                && self.holds_names_itself(at)
                && self.contains_all_itself(at))
    }

    /// True if a line gives a value of another class: `Booking dates: 3 May` for the question which film was booked.
    fn gives_value_of_other_class(&self, at: usize) -> bool {
        const MAX_LABEL: usize = 4;
        let line = &self.reading.lines[at];
        let split = match line.form {
            LineForm::Row => line.text.split_once(": | "),
            _ => line.text.split_once(": "),
        };
        let Some((label, _)) = split else { return false };
        let of_label = || line.words.iter().take_while(|word| word.at < label.len());
        let is_short = (1..=MAX_LABEL).contains(&of_label().count());
        let is_in_question = |term: &&Term| of_label().any(|word| self.is_of(term, word));
        let has_class = self.question.terms.iter().any(|term| term.is_class);
        self.question.answer_type == AnswerType::Thing
            && is_short
            && has_class
            && self
                .question
                .terms
                .iter()
                .filter(|term| term.role == Role::Relation)
                .any(|term| is_in_question(&term))
            && !line.words.iter().any(|word| self.matches_class(word))
    }

    /// True if a word of a line matches a term, in another form or as a synonym.
    pub(super) fn is_of(&self, term: &Term, word: &Word<'_>) -> bool {
        self.reading.roots.likeness(&term.root, &word.root) > 0.0 || term.is_related(word)
    }

    /// True if a word of a line matches any term of the question.
    pub(super) fn is_in_question(&self, word: &Word<'_>) -> bool {
        self.question.terms.iter().any(|term| self.is_of(term, word))
    }

    /// True if a word of a line matches a class word.
    fn matches_class(&self, word: &Word<'_>) -> bool {
        self.question.terms.iter().filter(|term| term.is_class).any(|term| self.is_of(term, word))
    }

    /// True if a table row contains the class word only inside a longer value: `Meaning: motor too hot` for the question which
    /// motors exist.
    fn has_class_inside_value(&self, at: usize) -> bool {
        let line = &self.reading.lines[at];
        if !self.question.many || self.question.answer_type != AnswerType::Thing || line.form != LineForm::Row
        {
            return false;
        }
        let mut start = 0;
        let mut found_in_value = false;
        for cell in line.text.split(" | ") {
            let value = start + cell.find(": ").map_or(0, |label| label + 2);
            let end = start + cell.len();
            let mut of_label = line.words.iter().filter(|word| (start..value).contains(&word.at));
            if of_label.any(|word| self.matches_class(word)) {
                return false;
            }
            let of_value: Vec<&Word<'_>> =
                line.words.iter().filter(|word| (value..end).contains(&word.at)).collect();
            found_in_value |= of_value.len() > 1 && of_value.into_iter().any(|word| self.matches_class(word));
            start = end + 3;
        }
        let headings = &line.headings;
        let above = |term: usize| {
            headings.iter().any(|heading| self.direct[*heading][term] > 0.0)
                || self.reading.is_in_title(line.passage, &self.question.terms[term])
        };
        found_in_value
            && !(0..self.question.terms.len()).any(|term| self.question.terms[term].is_class && above(term))
    }

    /// True if the question names only a class, and no line of the passage contains it: `Which colours does the bike have?`
    /// asked of a passage without colours.
    pub(super) fn lacks_class_in_passage(&self, at: usize) -> bool {
        let lines = &self.reading.lines;
        let passage = lines[at].passage;
        let is_mentioned = |term: usize| {
            let mut of_passage = lines.iter().zip(&self.direct).filter(|(line, _)| line.passage == passage);
            of_passage.any(|(_, direct)| direct[term] > 0.0)
                || self.reading.is_in_title(passage, &self.question.terms[term])
        };
        let terms = &self.question.terms;
        let is_class = |term: &Term| term.role == Role::Class && !any_word(GENERAL_NOUNS, &term.word);
        let mut classes = (0..terms.len()).filter(|term| is_class(&terms[*term])).peekable();
        self.question.answer_type == AnswerType::Thing
            && self.question.key.is_none()
            && classes.peek().is_some()
            && !classes.any(is_mentioned)
    }

    /// True if a line itself contains the key word and every other relation word.
    fn contains_all_itself(&self, at: usize) -> bool {
        let pairs = self.question.terms.iter().zip(&self.direct[at]);
        let mut relations = pairs.filter(|(term, _)| term.role == Role::Relation).peekable();
        relations.peek().is_some() && relations.all(|(_, strength)| *strength > 0.0)
    }

    /// True if a name without words of the question, a code or a quotation is near a relation word.
    fn names_near_relation(&self, line: &Line<'_>) -> bool {
        const NEAR: usize = 5;
        let is_in_question = |name: &String| {
            let mut parts = name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
            parts.any(|part| self.question.terms.iter().any(|term| term.word == part))
        };
        let names: Vec<String> =
            kinds::names(self.question, line).into_iter().filter(|name| !is_in_question(name)).collect();
        let is_code = |at: usize| {
            let word = &line.words[at];
            let before = line.text[..word.at].chars().next_back();
            kinds::is_new(self.question, word)
                && !measures::has_unit(line, at)
                && (before.is_some_and(|c| matches!(c, '`' | '"' | '“' | '„' | '«' | '-'))
                    || word.text.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit()))
        };
        let is_name = |word: &Word<'_>| {
            names.iter().any(|name| name.split(|c: char| !c.is_alphanumeric()).any(|part| part == word.text))
        };
        let is_relation = |word: &Word<'_>| {
            self.question.terms.iter().any(|term| term.role == Role::Relation && self.is_of(term, word))
        };
        let relations: Vec<usize> =
            (0..line.words.len()).filter(|at| is_relation(&line.words[*at])).collect();
        let marked = (0..line.words.len()).filter(|at| is_name(&line.words[*at]) || is_code(*at));
        relations.is_empty()
            || marked.into_iter().any(|at| relations.iter().any(|relation| relation.abs_diff(at) <= NEAR))
    }

    /// True if a line has the preposition that ends the question behind its verb: `is written in C` for `written in`.
    fn has_stranded(&self, line: &Line<'_>) -> bool {
        let (Some(key), Some(preposition)) = (self.question.key, &self.question.stranded) else {
            return true;
        };
        let key = &self.question.terms[key];
        line.words.windows(2).any(|pair| self.is_of(key, &pair[0]) && pair[1].lower == *preposition)
    }

    /// True if a line contains the word by which a question asks for a place: `headquartered`.
    fn locates(&self, at: usize) -> bool {
        let mut terms = self.question.terms.iter().zip(&self.direct[at]);
        terms.any(|(term, strength)| any_word(LOCATES, &term.word) && *strength > 0.0)
    }

    /// True if a line begins with a name of the question and says what or where it is.
    fn is_said_of_name(&self, at: usize) -> bool {
        const IS: &str = "is are was were lies lie lay stands stand stood ist sind war waren liegt liegen lag lagen steht \
            stehen befindet befinden";
        let line = &self.reading.lines[at];
        let says = line.form != LineForm::Prose
            || kinds::is_address(self.question, line)
            || has_no_spaces(line.text)
            || line.words.iter().any(|word| any_word(IS, &word.lower));
        says && self.begins_with_name(at)
    }

    /// Returns how well a line answers the question; `None` if it is not an answer.
    pub(super) fn judge(&self, at: usize) -> Option<LineScore> {
        let line = &self.reading.lines[at];
        // A short line without a mark may be a heading or a statement.
        let is_heading = matches!(line.form, LineForm::Heading(level) if level < UNMARKED);
        if is_heading
            || line.text.len() > MAX_ANSWER_BYTES
            || matches!(line.form, LineForm::Code | LineForm::Question | LineForm::Cell)
            || (line.form == LineForm::Property && !kinds::is_label(self.question, line))
            || is_note(line.text)
            || self.question.terms.is_empty()
        {
            return None;
        }
        let coverage = self.coverage(at);
        let classed = self.question.terms.iter().any(|term| term.role == Role::Class)
            && kinds::marks(self.question, line) > 0;
        let least = match self.question.answer_type {
            AnswerType::Thing if classed => MIN_COVERAGE,
            AnswerType::Truth => MIN_COVERAGE_TRUTH,
            AnswerType::Thing | AnswerType::Manner | AnswerType::Reason => MIN_COVERAGE_UNTYPED,
            AnswerType::Person
            | AnswerType::Time
            | AnswerType::Place
            | AnswerType::Amount { .. }
            | AnswerType::Meaning => MIN_COVERAGE,
        };
        let least = if self.lacks_only_the_verb(at) {
            0.0
        // The topic of a conversation may be in other lines.
        } else if self.holds_all_but_one(at) || self.is_own_speaker(at) {
            MIN_COVERAGE_BUT_ONE
        } else {
            least
        };
        let own = self.direct[at].iter().zip(&self.question.terms).any(|(strength, term)| {
            *strength > 0.0 && (term.role != Role::Common || line.begins_with_pronoun)
        });
        let own = own
            || measures::mentions_measure(self.question, line)
            || self.is_below_matching_heading(at)
            || line.begins_with_pronoun && self.question.answer_type.is_typed();
        let bare = !self
            .question
            .terms
            .iter()
            .any(|term| matches!(term.role, Role::Relation | Role::Common | Role::Number));
        // If the question contains only a name, the line must be about the place of that name.
        if bare
            && self.question.answer_type == AnswerType::Place
            && !(self.locates(at) || self.is_said_of_name(at))
        {
            return None;
        }
        if !own
            || coverage < least
            || !self.has_key(at)
            || !self.has_relations(at)
            || !self.has_names(at)
            || !self.has_numbers(at)
            || self.is_of_others(at)
            || self.has_pronoun_as_answer(at)
            || self.has_other_purpose(at)
            || self.lacks_the_class(at)
            || self.gives_value_of_other_class(at)
            || self.has_class_inside_value(at)
            || self.lacks_class_in_passage(at)
        {
            return None;
        }
        let next = self.reading.lines.get(at + 1).filter(|next| next.passage == line.passage);
        let of_kind = match self.question.answer_type {
            AnswerType::Meaning => definitions::means(self.question, line),
            AnswerType::Person if self.is_own_speaker(at) => true,
            // Several reasons appear side by side.
            AnswerType::Reason if self.question.many && enumerates(line) >= MIN_ENUMERATED => true,
            _ => kinds::holds(self.question, line, next) && self.is_near_key(at),
        };
        let score = of_kind.then(|| self.score(at, coverage))?;
        Some(LineScore { line: at, score, rank: score, coverage })
    }

    /// Returns the lines that answer, highest rank first.
    ///
    /// If a row has a sentence in a cell that contains as much of the question, the sentence replaces the row, unless the question
    /// asks for several things.
    pub(super) fn answers(&self) -> Vec<LineScore> {
        let lines = &self.reading.lines;
        let mut found: Vec<LineScore> = (0..lines.len()).filter_map(|line| self.judge(line)).collect();
        let in_cells: Vec<(usize, f32)> = found
            .iter()
            .filter(|scored| lines[scored.line].is_in_cell())
            .filter_map(|scored| Some((lines[scored.line].row?, self.own_share(scored.line))))
            .collect();
        let gives_way = |row: usize| {
            let own = self.own_share(row);
            in_cells.iter().any(|(of, share)| *of == row && *share >= own)
        };
        found.retain(|scored| self.question.many || !gives_way(scored.line));
        found.iter_mut().for_each(|scored| scored.rank += ODDS_SHARE * self.odds_of_line(scored.line));
        found.sort_by(|one, other| other.rank.total_cmp(&one.rank).then(one.line.cmp(&other.line)));
        found
    }
}
