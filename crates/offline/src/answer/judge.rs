//! Whether a line answers a question.

use super::asked::{Role, Term, Wants};
use super::definitions;
use super::evidence::{Evidence, IS_THERE};
use super::lines::{Line, LineForm, Word};
use super::lists::{MIN_ENUMERATED, enumerates};
use super::measures;
use super::words::{GENERAL_NOUNS, LOCATES, any_word};
use super::{kinds, kinship};
use crate::lexicon::is_stop_word;
use crate::scripts::has_no_spaces;

/// Longest line that is an answer, in bytes; longer ones are no sentences.
pub(super) const MAX_ANSWER_BYTES: usize = 1200;
/// The level of a heading without a mark.
const UNMARKED: u8 = 7;
/// Share of what is asked that a line must hold to be an answer.
const MIN_HELD: f32 = 0.7;
/// The same where it holds all but one word of what is asked.
const MIN_HELD_BUT_ONE: f32 = 0.5;
/// The same where nothing but these words shows that it is one.
const MIN_HELD_UNTYPED: f32 = 0.78;
/// The same for yes or no.
const MIN_HELD_TRUTH: f32 = 0.85;

/// A line that answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LineScore {
    pub(super) line: usize,
    pub(super) score: f32,
    /// Share of what is asked that it holds.
    pub(super) held: f32,
}

/// Whether a line is set in columns, as tables of contents are.
fn has_columns(text: &str) -> bool {
    const GAP: &str = "    ";
    const MIN_GAPS: usize = 2;
    let gaps = text.lines().filter(|line| line.trim().contains(GAP)).count();
    gaps >= MIN_GAPS
}

/// Whether a line is a note or the caption of a picture: `3. ^ Title`, `[a brown duck]`.
fn is_note(text: &str) -> bool {
    let bare = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' '));
    let is_caption = text.starts_with('[') && text.ends_with(']') && text.matches('[').count() == 1;
    bare.starts_with('^') || is_caption || has_columns(text)
}

impl Evidence<'_, '_> {
    /// Whether the kind of thing that is asked for stands near to the word that tells what is asked.
    ///
    /// Long sentences hold many names and numbers that belong to something else.
    pub(super) fn is_near_key(&self, at: usize) -> bool {
        const BESIDE: usize = 1;
        const NEAR_NOUN: usize = 7;
        const NEAR_VERB: usize = 14;
        const NEAR_PLACE: usize = 10;
        let line = &self.reading.lines[at];
        if self.is_own_speaker(at) {
            return true;
        }
        if let (None, Some(measure)) = (self.asked.key, &self.asked.measure) {
            return line.begins_with_pronoun
                || measures::labels_measure(self.asked, line)
                || self.is_below_asked(at)
                || self.is_measured_near_name(line, measure);
        }
        let Some(key) = self.asked.key.map(|key| &self.asked.terms[key]) else { return true };
        if line.form == LineForm::Row || key.unspaced {
            return true;
        }
        let is_key = |word: &Word<'_>| {
            self.reading.roots.likeness(&key.root, &word.root) > 0.0 || key.is_related(word)
        };
        let inverse = kinship::told_inversely(self.asked, line);
        let is_key = |(place, word): &(usize, &Word<'_>)| is_key(word) || inverse.contains(place);
        let keys: Vec<usize> = line.words.iter().enumerate().filter(is_key).map(|(place, _)| place).collect();
        if keys.is_empty() && self.asked.naming {
            return false;
        }
        if keys.is_empty() && self.lacks_only_the_verb(at) {
            return true;
        }
        if keys.is_empty() {
            let is_part =
                matches!(line.form, LineForm::Item) || line.begins_with_pronoun || self.is_below_asked(at);
            return self.asked.wants != Wants::Person || is_part || kinds::is_label(self.asked, line);
        }
        let near_verb = if self.asked.wants == Wants::Place { NEAR_PLACE } else { NEAR_VERB };
        let says_name =
            line.words.iter().any(|word| any_word("heißt hieß heißen hießen namens", &word.lower));
        let most = match self.asked.naming {
            true if says_name => NEAR_NOUN,
            true => BESIDE,
            false if self.asked.by_noun => NEAR_NOUN,
            false => near_verb,
        };
        let found = match self.asked.wants {
            Wants::Person => {
                const NEAR_ROLE: usize = 4;
                let near = |place: &usize| keys.iter().any(|key| key.abs_diff(*place) <= NEAR_ROLE);
                let is_done = !(self.asked.by_noun || self.asked.possessive || self.asked.of_name);
                let roles = kinds::roles(self.asked, line).into_iter().filter(|at| is_done && near(at));
                self.places_of_names(line).into_iter().chain(roles).collect()
            }
            Wants::Place if line.text.contains(" | ") || kinds::is_label(self.asked, line) => return true,
            Wants::Place => kinds::places(self.asked, line),
            _ => return true,
        };
        // A mark that parts clauses parts what they say.
        const CLAUSES: &str = "when while because as until although but if";
        let is_parted = |one: usize, other: usize| {
            let between = one.min(other)..one.max(other);
            let (first, last) = (&line.words[between.start], &line.words[between.end]);
            let begins_clause = line.words[between].iter().any(|word| any_word(CLAUSES, &word.lower));
            line.text.get(first.at..last.at).is_some_and(|between| between.contains([';', '；']))
                || (self.asked.wants == Wants::Place && begins_clause)
        };
        let mut found = found.into_iter();
        found.any(|place| keys.iter().any(|key| key.abs_diff(place) <= most && !is_parted(*key, place)))
    }

    /// Whether a line is one of the first below a heading that holds a word of what is asked.
    pub(super) fn is_below_asked(&self, at: usize) -> bool {
        const FIRST: usize = 2;
        let lines = &self.reading.lines;
        let Some(&heading) = lines[at].headings.last() else { return false };
        let tells =
            |(held, term): (&f32, &Term)| *held > 0.0 && matches!(term.role, Role::Relation | Role::Class);
        at - heading <= FIRST && self.direct[heading].iter().zip(&self.asked.terms).any(tells)
    }

    /// Whether a line says what is asked of who says it, who is not named in the question: `I cleared the logs`.
    fn is_own_speaker(&self, at: usize) -> bool {
        const NEAR: usize = 3;
        let line = &self.reading.lines[at];
        let Some(turn) = line.turn.filter(|_| self.asked.wants == Wants::Person && line.of_speaker) else {
            return false;
        };
        let speaker = &self.reading.lines[turn];
        let is_asked = |word: &Word<'_>| self.asked.terms.iter().any(|term| term.root == word.root);
        if speaker.words.iter().take(speaker.label_words).any(is_asked) {
            return false;
        }
        let is_self = |word: &Word<'_>| any_word("i i'm i'll i've i'd ich", &word.lower);
        let selves = || (0..line.words.len()).filter(|at| is_self(&line.words[*at]));
        let Some(key) = self.asked.key.map(|key| &self.asked.terms[key]) else {
            return selves().next().is_some();
        };
        let is_key = |word: &Word<'_>| {
            self.reading.roots.likeness(&key.root, &word.root) > 0.0 || key.is_related(word)
        };
        selves().any(|own| line.words.iter().skip(own + 1).take(NEAR).any(is_key))
    }

    /// The words of a line that are part of a name that the question does not hold.
    pub(super) fn places_of_names(&self, line: &Line<'_>) -> Vec<usize> {
        let names = kinds::names(self.asked, line);
        let is_name = |word: &Word<'_>| {
            word.is_capital()
                && kinds::is_new(self.asked, word)
                && !is_stop_word(&word.lower)
                && !self.asked.language.is_function_word(&word.lower)
                && names
                    .iter()
                    .any(|name| name.split(|c: char| !c.is_alphanumeric()).any(|part| part == word.text))
        };
        // `written in Rust` names no person.
        let is_inside = |at: usize| {
            self.asked.wants == Wants::Person
                && at.checked_sub(1).is_some_and(|at| any_word("in at near", &line.words[at].lower))
        };
        // `founded as the Halden Company` says what was founded, not by whom.
        let is_title = |at: usize| {
            let begins = (0..=at).rev().find(|at| !is_name(&line.words[*at])).map_or(0, |before| before + 1);
            let mut before = line.words[..begins].iter().rev().map(|word| word.lower.as_str());
            let first = before.next().filter(|word| !any_word("the a an", word)).or_else(|| before.next());
            self.asked.wants == Wants::Person && first == Some("as")
        };
        let places = (0..line.words.len()).filter(|at| is_name(&line.words[*at]));
        places.filter(|at| !is_inside(*at) && !is_title(*at)).collect()
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
            || measures::measured_places(measure, line)
                .iter()
                .any(|at| things.iter().any(|thing| thing.abs_diff(*at) <= NEAR))
    }

    /// Whether the line, with what is above it, holds the word that tells most of what is asked.
    pub(super) fn has_key(&self, line: usize) -> bool {
        let relations =
            (0..self.asked.terms.len()).filter(|term| self.asked.terms[*term].role == Role::Relation);
        let key = relations.max_by(|one, other| self.weights[*one].total_cmp(&self.weights[*other]));
        let is_there = |term: usize| self.strength[line][term] >= IS_THERE;
        // A verb that only a line before holds is said of something else.
        let is_own = |term: usize| {
            is_there(term)
                && (self.direct[line][term] > 0.0 || self.before[line][term] < self.strength[line][term])
        };
        (key.is_none_or(is_there) || self.holds_all_but_one(line)) && self.asked.key.is_none_or(is_own)
            || self.lacks_only_the_verb(line)
    }

    /// Whether a line, with what is above it, holds all that is asked, but one word of many, where no verb tells what is asked.
    fn has_relations(&self, line: usize) -> bool {
        const MANY: usize = 4;
        if self.asked.key.is_some()
            || !matches!(self.asked.wants, Wants::Thing | Wants::Person | Wants::Manner)
        {
            return true;
        }
        let terms = self.asked.terms.iter().zip(&self.strength[line]);
        let relations: Vec<f32> =
            terms.filter(|(term, _)| term.role == Role::Relation).map(|(_, held)| *held).collect();
        let missing = relations.iter().filter(|held| **held < IS_THERE).count();
        missing <= relations.len() / MANY
    }

    /// Whether a line has a pronoun where the thing stands that is asked for: `I'll send it to Ada`.
    fn hides_the_thing(&self, at: usize) -> bool {
        let Some(key) = self.asked.key.map(|key| &self.asked.terms[key]) else { return false };
        let line = &self.reading.lines[at];
        self.asked.wants == Wants::Thing
            && !self.asked.by_noun
            && line.words.windows(2).any(|pair| {
                (pair[0].root == key.root || key.is_related(&pair[0]))
                    && any_word("it them this that these those", &pair[1].lower)
            })
    }

    /// Whether a line says how something else is done than what is asked: `To check that it is installed, ...`.
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
        let is_asked = |word: &Word<'_>| self.asked.terms.iter().any(|term| self.is_of(term, word));
        self.asked.wants == Wants::Manner && purpose.is_some_and(|purpose| !is_asked(purpose))
    }

    /// Whether a line holds neither the sort of thing that is asked for nor a name that could be one.
    fn lacks_the_class(&self, at: usize) -> bool {
        let terms = self.asked.terms.iter().zip(&self.strength[at]);
        let mut classes = terms.filter(|(term, _)| term.role == Role::Class).peekable();
        let line = &self.reading.lines[at];
        self.asked.wants == Wants::Thing
            && classes.peek().is_some()
            && !has_no_spaces(line.text)
            && !classes.any(|(_, held)| *held >= IS_THERE)
            && !(line.form != LineForm::Row
                && !self.asked.many
                && self.holds_names_itself(at)
                && self.names_near_relation(line))
            && !(self.asked.many
                && enumerates(line) >= MIN_ENUMERATED
                && self.holds_names_itself(at)
                && self.says_all_itself(at))
    }

    /// Whether a line gives a value of another sort than is asked for: `Booking dates: 3 May` of which film was booked.
    fn is_value_of_other_sort(&self, at: usize) -> bool {
        const MAX_LABEL: usize = 4;
        let line = &self.reading.lines[at];
        let split = match line.form {
            LineForm::Row => line.text.split_once(": | "),
            _ => line.text.split_once(": "),
        };
        let Some((label, _)) = split else { return false };
        let of_label = || line.words.iter().take_while(|word| word.at < label.len());
        let is_short = (1..=MAX_LABEL).contains(&of_label().count());
        let is_asked = |term: &&Term| of_label().any(|word| self.is_of(term, word));
        let has_sort = self.asked.terms.iter().any(|term| term.is_sort);
        self.asked.wants == Wants::Thing
            && is_short
            && has_sort
            && self.asked.terms.iter().filter(|term| term.role == Role::Relation).any(|term| is_asked(&term))
            && !line.words.iter().any(|word| self.is_sort(word))
    }

    /// Whether a word of a line is a word of the question, in another form or by its meaning.
    pub(super) fn is_of(&self, term: &Term, word: &Word<'_>) -> bool {
        self.reading.roots.likeness(&term.root, &word.root) > 0.0 || term.is_related(word)
    }

    /// Whether a word of a line is the sort of thing that is asked for.
    fn is_sort(&self, word: &Word<'_>) -> bool {
        self.asked.terms.iter().filter(|term| term.is_sort).any(|term| self.is_of(term, word))
    }

    /// Whether a line names the sort of thing that is asked for in a cell only, beside other words: `Meaning: motor too hot` of which
    /// motors there are.
    fn tells_of_sort_in_a_cell(&self, at: usize) -> bool {
        let line = &self.reading.lines[at];
        if !self.asked.many || self.asked.wants != Wants::Thing || line.form != LineForm::Row {
            return false;
        }
        let mut start = 0;
        let mut told_in_value = false;
        for cell in line.text.split(" | ") {
            let value = start + cell.find(": ").map_or(0, |label| label + 2);
            let end = start + cell.len();
            let mut of_label = line.words.iter().filter(|word| (start..value).contains(&word.at));
            if of_label.any(|word| self.is_sort(word)) {
                return false;
            }
            let of_value: Vec<&Word<'_>> =
                line.words.iter().filter(|word| (value..end).contains(&word.at)).collect();
            told_in_value |= of_value.len() > 1 && of_value.into_iter().any(|word| self.is_sort(word));
            start = end + 3;
        }
        let headings = &line.headings;
        let above = |term: usize| {
            headings.iter().any(|heading| self.direct[*heading][term] > 0.0)
                || self.reading.is_in_title(line.passage, &self.asked.terms[term])
        };
        told_in_value
            && !(0..self.asked.terms.len()).any(|term| self.asked.terms[term].is_sort && above(term))
    }

    /// Whether nothing but a sort of thing tells what is asked, and no line of the passage holds it: `Which colours does the bike have?`
    /// asked of a passage that speaks of no colour.
    pub(super) fn is_silent_about_sort(&self, at: usize) -> bool {
        let lines = &self.reading.lines;
        let passage = lines[at].passage;
        let is_said = |term: usize| {
            let mut held = lines.iter().zip(&self.direct).filter(|(line, _)| line.passage == passage);
            held.any(|(_, direct)| direct[term] > 0.0)
                || self.reading.is_in_title(passage, &self.asked.terms[term])
        };
        let terms = &self.asked.terms;
        let is_sort = |term: &Term| term.role == Role::Class && !any_word(GENERAL_NOUNS, &term.word);
        let mut sorts = (0..terms.len()).filter(|term| is_sort(&terms[*term])).peekable();
        self.asked.wants == Wants::Thing
            && self.asked.key.is_none()
            && sorts.peek().is_some()
            && !sorts.any(is_said)
    }

    /// Whether a line holds the verb and every other word itself that tells what is asked.
    fn says_all_itself(&self, at: usize) -> bool {
        if self.asked.key.is_none() {
            return false;
        }
        let mut told = self.asked.terms.iter().zip(&self.direct[at]);
        told.all(|(term, held)| term.role != Role::Relation || *held > 0.0)
    }

    /// Whether a name that shares no word with one of the question, a code or a quotation stands near to what is asked of it.
    fn names_near_relation(&self, line: &Line<'_>) -> bool {
        const NEAR: usize = 5;
        let is_asked = |name: &String| {
            let mut parts = name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
            parts.any(|part| self.asked.terms.iter().any(|term| term.word == part))
        };
        let names: Vec<String> =
            kinds::names(self.asked, line).into_iter().filter(|name| !is_asked(name)).collect();
        let is_code = |word: &Word<'_>| {
            let before = line.text[..word.at].chars().next_back();
            before.is_some_and(|c| matches!(c, '`' | '"' | '“' | '„' | '«' | '-'))
                || word.text.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit())
        };
        let is_name = |word: &Word<'_>| {
            names.iter().any(|name| name.split(|c: char| !c.is_alphanumeric()).any(|part| part == word.text))
        };
        let is_relation = |word: &Word<'_>| {
            self.asked.terms.iter().any(|term| term.role == Role::Relation && self.is_of(term, word))
        };
        let relations: Vec<usize> =
            (0..line.words.len()).filter(|at| is_relation(&line.words[*at])).collect();
        let marked =
            (0..line.words.len()).filter(|at| is_name(&line.words[*at]) || is_code(&line.words[*at]));
        relations.is_empty()
            || marked.into_iter().any(|at| relations.iter().any(|relation| relation.abs_diff(at) <= NEAR))
    }

    /// Whether a line holds the word by which a question asks for a place: `headquartered`.
    fn locates(&self, at: usize) -> bool {
        let mut terms = self.asked.terms.iter().zip(&self.direct[at]);
        terms.any(|(term, held)| any_word(LOCATES, &term.word) && *held > 0.0)
    }

    /// Whether a line says what or where something is that it begins with.
    fn is_said_of_name(&self, at: usize) -> bool {
        const IS: &str = "is are was were lies lie lay stands stand stood ist sind war waren liegt liegen lag lagen steht \
            stehen stand befindet befinden";
        let line = &self.reading.lines[at];
        let says = line.form != LineForm::Prose
            || kinds::is_address(self.asked, line)
            || has_no_spaces(line.text)
            || line.words.iter().any(|word| any_word(IS, &word.lower));
        says && self.begins_with_name(at)
    }

    /// How sure it is that the line answers; `None` where it does not hold what is asked for.
    pub(super) fn judge(&self, at: usize) -> Option<LineScore> {
        let line = &self.reading.lines[at];
        // A short line without a mark may be a heading, or say something.
        let is_heading = matches!(line.form, LineForm::Heading(level) if level < UNMARKED);
        if is_heading
            || line.text.len() > MAX_ANSWER_BYTES
            || matches!(line.form, LineForm::Code | LineForm::Question | LineForm::Cell)
            || is_note(line.text)
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
            Wants::Thing | Wants::Manner | Wants::Reason => MIN_HELD_UNTYPED,
            Wants::Person | Wants::Time | Wants::Place | Wants::Amount { .. } | Wants::Meaning => MIN_HELD,
        };
        let least = if self.lacks_only_the_verb(at) {
            0.0
        // What a conversation is about stands in other lines.
        } else if self.holds_all_but_one(at) || self.is_own_speaker(at) {
            MIN_HELD_BUT_ONE
        } else {
            least
        };
        let own = self.direct[at]
            .iter()
            .zip(&self.asked.terms)
            .any(|(held, term)| *held > 0.0 && (term.role != Role::Common || line.begins_with_pronoun));
        let own = own
            || measures::tells_measure(self.asked, line)
            || self.is_below_asked(at)
            || line.begins_with_pronoun && self.asked.wants.is_typed();
        let bare = !self
            .asked
            .terms
            .iter()
            .any(|term| matches!(term.role, Role::Relation | Role::Common | Role::Number));
        // Where nothing but a name is asked about, the line must be about its place.
        if bare && self.asked.wants == Wants::Place && !(self.locates(at) || self.is_said_of_name(at)) {
            return None;
        }
        if !own
            || held < least
            || !self.has_key(at)
            || !self.has_relations(at)
            || !self.has_names(at)
            || !self.has_numbers(at)
            || self.is_of_others(at)
            || self.hides_the_thing(at)
            || self.has_other_purpose(at)
            || self.lacks_the_class(at)
            || self.is_value_of_other_sort(at)
            || self.tells_of_sort_in_a_cell(at)
            || self.is_silent_about_sort(at)
        {
            return None;
        }
        let next = self.reading.lines.get(at + 1).filter(|next| next.passage == line.passage);
        let of_kind = match self.asked.wants {
            Wants::Meaning => definitions::means(self.asked, line),
            Wants::Person if self.is_own_speaker(at) => true,
            // Several reasons stand side by side.
            Wants::Reason if self.asked.many && enumerates(line) >= MIN_ENUMERATED => true,
            _ => kinds::holds(self.asked, line, next) && self.is_near_key(at),
        };
        of_kind.then(|| LineScore { line: at, score: self.score(at, held), held })
    }

    /// The lines that answer, surest first.
    ///
    /// A row gives way to a sentence in one of its cells that holds as much of what is asked, unless several things are asked for.
    pub(super) fn answers(&self) -> Vec<LineScore> {
        let lines = &self.reading.lines;
        let mut found: Vec<LineScore> = (0..lines.len()).filter_map(|line| self.judge(line)).collect();
        let in_cells: Vec<(usize, f32)> = found
            .iter()
            .filter(|judged| lines[judged.line].is_in_cell())
            .filter_map(|judged| Some((lines[judged.line].row?, self.own_share(judged.line))))
            .collect();
        let gives_way = |row: usize| {
            let own = self.own_share(row);
            in_cells.iter().any(|(of, held)| *of == row && *held >= own)
        };
        found.retain(|judged| self.asked.many || !gives_way(judged.line));
        found.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.line.cmp(&other.line)));
        found
    }
}
