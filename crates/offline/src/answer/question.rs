//! A parsed question: its answer type and its words with their roles.

use std::collections::BTreeSet;
use std::ops::Range;

use harper_brill::UPOS;

use super::families::share_close;
use super::form::Form;
use super::lines::Word;
use super::roots::Roots;
use super::unspaced;
use super::words::{self, any_word};
use crate::languages::Language;
use crate::lexicon::{is_generic, is_month, is_stop_word};
use crate::phrase::{PhraseKind, phrases};
use crate::scripts::has_no_spaces;
use crate::token::{Token, tokens};
use graphloom_text::sentences;

/// Longest word of a script without spaces that is searched for in the passages, in characters.
const MAX_SEGMENT: usize = 12;

/// The kind of thing that answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerType {
    Person,
    Time,
    Place,
    /// A number; `measured` is true if the question asks for a length, an age or another quantity with a unit.
    Amount {
        measured: bool,
    },
    Reason,
    Manner,
    /// What a word means, or who or what a name is.
    Meaning,
    Thing,
    /// Yes or no.
    Truth,
}

impl AnswerType {
    /// True if an answer of this type can be recognized in a sentence: a person, time, place or number.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, Self::Person | Self::Time | Self::Place | Self::Amount { .. })
    }
}

/// A parsed question.
#[derive(Debug, Clone)]
pub(super) struct ParsedQuestion {
    pub(super) language: Language,
    pub(super) answer_type: AnswerType,
    /// True if the question asks for several things.
    pub(super) many: bool,
    pub(super) terms: Vec<Term>,
    /// The terms of each name or quotation.
    pub(super) names: Vec<BTreeSet<usize>>,
    /// The key word, which says what is asked: the verb, or the noun in `who is the head of`.
    pub(super) key: Option<usize>,
    /// The counted term of `how many`.
    pub(super) counted: Option<usize>,
    /// The measuring word, such as `long` in `how long`.
    pub(super) measure: Option<String>,
    /// True if it asks what something does.
    pub(super) acts: bool,
    /// True if the key word is a noun: `the head of`, not `headed`.
    pub(super) by_noun: bool,
    /// True if it asks for the name of its key word: `Wie heißt der Hund?`
    pub(super) naming: bool,
    /// The preposition behind the key word that ends the question: `in` in `Which language is it written in?`.
    pub(super) stranded: Option<String>,
    /// True if it asks about an action of its name: `When did Ada resign?`
    pub(super) name_acts: bool,
    /// True if it asks about a possession or relative of a name: `Scrooge's nephew`.
    pub(super) possessive: bool,
    /// True if it does so with a preposition: `the nephew of Scrooge`.
    pub(super) of_name: bool,
    /// The terms of the speaker's name, if it asks what someone said.
    pub(super) speaker: Option<BTreeSet<usize>>,
    /// True if it asks about a birth or death.
    pub(super) of_life: bool,
    /// True if it contains a negation.
    pub(super) denies: bool,
    /// True if all its words are too common to be specific.
    pub(super) is_common: bool,
    /// Pairs of adjacent terms, a modifier and its head: `mountain railway`.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The roots of all its words, in order.
    pub(super) roots: Vec<String>,
    /// The question in lowercase, to recognize new words in a sentence.
    pub(super) lower: String,
}

/// A word of a question that is searched for in sentences.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) word: String,
    pub(super) root: String,
    pub(super) families: Vec<u16>,
    pub(super) role: Role,
    /// True if it belongs to a script without spaces and is searched for verbatim.
    pub(super) unspaced: bool,
    /// True if it is a class word, whatever its role became: `brakes` in `which brakes does it have`.
    pub(super) is_class: bool,
}

impl Term {
    /// True if a word of the documents is this term, in another form or as a synonym.
    pub(super) fn is_word(&self, word: &Word<'_>) -> bool {
        self.root == word.root || self.is_related(word)
    }

    /// True if a word of the documents is a close synonym or another form of this term.
    pub(super) fn is_related(&self, word: &Word<'_>) -> bool {
        share_close(&self.families, &word.families)
    }

    /// True if a word of the documents is a close or loose synonym of this term.
    pub(super) fn is_loosely_related(&self, word: &Word<'_>) -> bool {
        self.families.iter().any(|family| word.families.contains(family))
    }
}

/// The role of a word in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Names the subject of the question.
    Name,
    /// Says what is asked about the subject.
    Relation,
    /// Names the class of the answer, such as `river` in `which river`.
    Class,
    /// Too common to be specific.
    Common,
    /// A number, year, month or code, which must occur verbatim.
    Number,
}

impl ParsedQuestion {
    /// True if a word of the documents is a term of the question besides its names.
    pub(super) fn has_besides_names(&self, word: &Word<'_>) -> bool {
        self.terms.iter().any(|term| term.role != Role::Name && term.is_word(word))
    }

    /// - `occurs`: returns true if a text occurs in the passages; used to find the ends of words in scripts without spaces.
    pub(super) fn read(question: &str, roots: &Roots, occurs: &dyn Fn(&str) -> bool) -> Self {
        let language = Language::of_question(question);
        let lower = question.to_lowercase();
        let words: Vec<Token<'_>> =
            sentences(question).into_iter().flat_map(|range| tokens(question, range)).collect();
        let mut form = Form::read(&words, &lower, language);
        let mut named = named(question, &words, form.asking);
        let owned = owned_noun(&words, &mut named, &form, language);
        if let Some(noun) = owned {
            (form.key, form.by_noun) = (Some(noun), true);
        }
        let is_named =
            |word: &Token<'_>| named.iter().any(|range| range.start <= word.start && word.end <= range.end);
        let name_acts = form.asking.zip(form.key).is_some_and(|(asking, key)| {
            let subject = words.get(asking + 2..key).unwrap_or_default();
            any_word("do does did", &words[asking + 1].lower)
                && subject.iter().any(is_named)
                && subject.iter().all(|word| is_named(word) || is_stop_word(&word.lower))
        });
        let mut parsed = Self {
            language,
            answer_type: form.answer_type,
            many: form.many,
            terms: Vec::new(),
            names: vec![BTreeSet::new(); named.len()],
            key: None,
            counted: None,
            measure: form.measure.clone(),
            acts: form.acts,
            by_noun: form.by_noun,
            naming: form.naming,
            stranded: form.stranded,
            name_acts,
            possessive: owned.is_some()
                || words.iter().skip(1).any(|word| {
                    word.gap.len() > 1 && word.gap.ends_with("s ") && word.gap.starts_with(['\'', '’'])
                }),
            of_name: form.key.is_some_and(|key| {
                let is_named = |at: &usize| {
                    words.get(*at).is_some_and(|word| named.iter().any(|range| range.contains(&word.start)))
                };
                words.get(key + 1).is_some_and(|word| any_word("of von", &word.lower))
                    && (key + 2..key + 4).any(|at| is_named(&at))
            }),
            speaker: None,
            of_life: false,
            denies: words.iter().any(|word| words::is_denial(&word.lower)),
            is_common: false,
            pairs: Vec::new(),
            roots: words.iter().map(|word| roots.root(word.lower.trim_matches('_'))).collect(),
            lower: lower.clone(),
        };
        let expressions = expressions(&parsed.roots, roots);
        let mut before: Option<(usize, usize)> = None;
        for (at, word) in words.iter().enumerate() {
            let name = named.iter().position(|range| range.start <= word.start && word.end <= range.end);
            let bare = word.lower.trim_matches('_');
            // `in May`
            let is_named_month = at > 0 && is_month(bare) && word.is_capital();
            let small = (is_stop_word(bare) || language.is_function_word(bare)) && !is_named_month;
            let is_acronym =
                name.is_some() && word.text.len() > 1 && word.text.chars().all(char::is_uppercase);
            if bare.is_empty() || has_no_spaces(bare) || (small && !is_acronym) || form.skipped.contains(&at)
            {
                continue;
            }
            let role = match name {
                _ if is_code(bare) => Role::Number,
                // `Which things` names no class, and `the reasons why` repeats the question word.
                None if form.class.contains(&at) && any_word(words::GENERIC_CLASSES, bare) => Role::Common,
                None if form.answer_type == AnswerType::Reason && any_word(words::REASON_NOUNS, bare) => {
                    Role::Common
                }
                None if form.many && any_word(words::MEMBERSHIP, bare) => Role::Common,
                _ if form.class.contains(&at) => Role::Class,
                // `Braidline Two` is not `Braidline`.
                Some(range) if word.start > named[range].start && is_numeral(word, &named[range]) => {
                    Role::Number
                }
                Some(_) => Role::Name,
                None if is_month(bare) && word.is_capital() => Role::Number,
                None if is_common(bare, language)
                    && expressions[at].is_empty()
                    && !form.telling.contains(&at) =>
                {
                    Role::Common
                }
                None => Role::Relation,
            };
            let counts_people = any_word(words::COUNTED_PEOPLE, bare);
            let counts = form.counted == Some(at) && (role == Role::Relation || counts_people);
            let is_key = role == Role::Relation && form.key == Some(at);
            let place = at;
            // `delivery_days` is two words.
            let mut parts = bare.split('_').filter(|part| !part.is_empty()).peekable();
            let mut at = 0;
            while let Some(part) = parts.next() {
                at = parsed.add(term(part, role, roots));
                parsed.terms[at].families.extend(&expressions[place]);
                if let Some(name) = name.filter(|_| role != Role::Class && parts.peek().is_some()) {
                    parsed.names[name].insert(at);
                }
            }
            if let Some((_, other)) =
                before.filter(|(end, other)| *end + 1 == place && *other != at && word.gap == " ")
            {
                parsed.pairs.push((other, at));
            }
            // A key word, a verb or a name does not modify the next word.
            let tells_more =
                matches!(role, Role::Relation | Role::Class) && !is_key && word.tag != UPOS::VERB;
            before = tells_more.then_some((place, at));
            if counts {
                parsed.counted = Some(at);
            }
            if is_key {
                parsed.key = Some(at);
            }
            if let Some(name) = name.filter(|_| role != Role::Class) {
                parsed.names[name].insert(at);
            }
        }
        if has_no_spaces(question) {
            parsed.add_segments(question, roots, &named, occurs);
        }
        parsed.speaker = speaking(&words, form.asking).and_then(|span| {
            let is_in = |range: &Range<usize>| range.start >= span.start && range.end <= span.end;
            let at = named.iter().position(is_in)?;
            Some(parsed.names[at].clone()).filter(|name| !name.is_empty())
        });
        parsed.names.retain(|name| !name.is_empty());
        if let Some(word) = form.implied {
            let unspaced = has_no_spaces(word);
            parsed.key = Some(parsed.add(Term { unspaced, ..term(word, Role::Relation, roots) }));
        }
        if matches!(parsed.answer_type, AnswerType::Amount { .. }) {
            let is_other = parsed
                .terms
                .iter()
                .any(|term| term.role == Role::Relation && !any_word(words::QUANTITIES, &term.word));
            let weak =
                parsed.terms.iter_mut().filter(|term| is_other && any_word(words::QUANTITIES, &term.word));
            weak.filter(|term| term.role == Role::Relation).for_each(|term| term.role = Role::Common);
            parsed.key = parsed.key.filter(|key| parsed.terms[*key].role == Role::Relation);
        }
        // Without a relation word, the class is what the question asks for.
        if !parsed.terms.iter().any(|term| term.role == Role::Relation) {
            let promoted = parsed.terms.iter_mut().filter(|term| term.role == Role::Class);
            promoted.for_each(|term| term.role = Role::Relation);
        }
        if parsed.answer_type == AnswerType::Place && parsed.terms.len() > 1 {
            let weak = parsed.terms.iter_mut().filter(|term| any_word(words::LOCATES, &term.word));
            weak.for_each(|term| term.role = Role::Class);
            parsed.key = parsed.key.filter(|key| parsed.terms[*key].role == Role::Relation);
        }
        parsed.of_life = parsed.key.is_some_and(|key| {
            const LIFE: [&str; 6] = ["born", "died", "geboren", "gestorben", "出生", "去世"];
            let own = &parsed.terms[key].families;
            LIFE.iter().any(|word| share_close(own, &roots.families(&roots.root(word))))
        });
        // If all words are common, they are what the question asks for.
        parsed.is_common = parsed.terms.iter().all(|term| term.role == Role::Common);
        if parsed.terms.iter().all(|term| matches!(term.role, Role::Common | Role::Class)) {
            let promoted = parsed.terms.iter_mut().filter(|term| term.role == Role::Common);
            promoted.for_each(|term| term.role = Role::Relation);
        }
        parsed
    }

    fn add(&mut self, term: Term) -> usize {
        if let Some(at) = self.terms.iter().position(|known| known.root == term.root) {
            if term.role == Role::Name {
                self.terms[at].role = Role::Name;
            }
            return at;
        }
        self.terms.push(term);
        self.terms.len() - 1
    }

    /// Splits text without spaces into the longest pieces that occur in the passages. Two or more characters that do not occur
    /// form one piece.
    fn add_segments(
        &mut self,
        question: &str,
        roots: &Roots,
        named: &[Range<usize>],
        occurs: &dyn Fn(&str) -> bool,
    ) {
        let asking = unspaced::without_asking(question, self.language);
        // The key word is directly before or after the question word: `押金` in `需要交多少押金`.
        let asks = unspaced::asking_place(question);
        let class = unspaced::class_place(question);
        let mut nearest: Option<(usize, usize)> = None;
        let mut offset = 0;
        for run in asking.split(|c: char| !has_no_spaces(c.encode_utf8(&mut [0; 4]))) {
            let start = offset + asking[offset..].find(run).unwrap_or(0);
            offset = start + run.len();
            let mut pieces = segments(run, occurs);
            let verb = asks.as_ref().and_then(|asks| unspaced::verb_beside(&asking, asks));
            let verb = verb.filter(|verb| start <= verb.start && verb.end <= start + run.len());
            let verb = verb.map(|verb| verb.start - start..verb.end - start);
            let is_free = |verb: &Range<usize>| {
                pieces.iter().all(|piece| verb.end <= piece.start || piece.end <= verb.start)
            };
            let verb = verb.filter(is_free);
            pieces.extend(verb);
            for range in pieces {
                let text = &run[range.clone()];
                let place = start + range.start..start + range.end;
                let name = named.iter().position(|name| name.start <= place.start && place.end <= name.end);
                let role = match name {
                    Some(_) => Role::Name,
                    None if unspaced::is_common_unspaced(text) => Role::Common,
                    None if class == Some(place.start) => Role::Class,
                    None => Role::Relation,
                };
                let families = roots.families(text);
                let at = self.add(Term {
                    word: text.to_owned(),
                    root: text.to_owned(),
                    families,
                    role,
                    unspaced: true,
                    is_class: role == Role::Class,
                });
                if let Some(name) = name {
                    self.names[name].insert(at);
                }
                if let Some(asks) = asks.as_ref().filter(|_| role == Role::Relation) {
                    let far = match place.start >= asks.end {
                        true => place.start - asks.end,
                        // The key word follows the class word: `哪个机构掌管军队`.
                        false if class.is_some() => usize::MAX,
                        // In `价格是多少`, the key word is before the question word, but only if it is close.
                        false => asks.start.saturating_sub(place.end) * 2,
                    };
                    if nearest.is_none_or(|(known, _)| far < known) {
                        nearest = Some((far, at));
                    }
                }
            }
        }
        if self.language == Language::Chinese
            && !matches!(self.answer_type, AnswerType::Meaning | AnswerType::Truth)
        {
            self.key = nearest.map(|(_, at)| at);
        }
    }
}

/// Returns, for each word of a question, the families of the expressions that it is part of.
fn expressions(words: &[String], roots: &Roots) -> Vec<Vec<u16>> {
    let mut found = vec![Vec::new(); words.len()];
    for at in 0..words.len() {
        for (count, family) in roots.expressions(words[at..].iter().map(String::as_str)) {
            found[at..at + count].iter_mut().for_each(|families| families.push(family));
        }
    }
    found
}

fn term(word: &str, role: Role, roots: &Roots) -> Term {
    let root = roots.root(word);
    let families = roots.families(&root);
    Term { word: word.to_owned(), root, families, role, unspaced: false, is_class: role == Role::Class }
}

/// Returns the names and quotations of a question, without the question word.
fn named(question: &str, words: &[Token<'_>], asking: Option<usize>) -> Vec<Range<usize>> {
    let asks = asking.and_then(|at| words.get(at)).map_or(usize::MAX, |word| word.start);
    let found = phrases(question).into_iter();
    let named = found.filter(|phrase| matches!(phrase.kind, PhraseKind::Name | PhraseKind::Quoted));
    let mut named: Vec<Range<usize>> =
        named.map(|phrase| phrase.range).filter(|range| range.start != asks).collect();
    named.sort_by_key(|range| (range.start, usize::MAX - range.end));
    named.dedup_by(|next, before| next.start < before.end);
    named
}

/// Returns the noun of `Wer war Adas Frau?`, a German possessive question, and cuts it off the name.
fn owned_noun(
    words: &[Token<'_>],
    named: &mut [Range<usize>],
    form: &Form,
    language: Language,
) -> Option<usize> {
    let is_candidate =
        language == Language::German && form.answer_type == AnswerType::Person && form.key.is_none();
    let noun = words.len().checked_sub(1).filter(|_| is_candidate)?;
    let owner = noun.checked_sub(1)?;
    let owns = words[owner].is_capital() && words[owner].lower.ends_with(['s', 'x', 'z']);
    let range =
        named.iter_mut().find(|range| range.end == words[noun].end && range.start <= words[owner].start)?;
    if !owns || !any_word(words::ROLES, &words[noun].lower) {
        return None;
    }
    range.end = words[owner].end;
    Some(noun)
}

/// Returns the range of the speaker's name in `What did Ada say?`, in bytes.
fn speaking(words: &[Token<'_>], asking: Option<usize>) -> Option<Range<usize>> {
    const MAX_WORDS: usize = 6;
    let asking = asking.filter(|at| any_word("what was", &words[*at].lower))?;
    let says = |at: &usize| any_word(words::SPEECH, &words[*at].lower);
    let verb = (asking + 1..words.len().min(asking + 2 + MAX_WORDS)).find(says)?;
    // In `Was sagte Ada?` the speaker's name follows the verb.
    let end = if verb == asking + 1 { words.len().min(verb + 4) } else { verb };
    Some(words[asking].end..words[end - 1].end)
}

/// True if a word contains a digit and is not a small number.
fn is_code(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 3 || (digits > 0 && word.chars().any(char::is_alphabetic))
}

/// True if a word only distinguishes several things with the same name: a number, or a final Roman numeral or letter.
fn is_numeral(word: &Token<'_>, name: &Range<usize>) -> bool {
    const MAX_ROMAN: usize = 5;
    let ends = word.end >= name.end;
    let is_roman = word.text.len() <= MAX_ROMAN && word.text.chars().all(|c| "IVXLC".contains(c));
    let is_letter = word.text.len() == 1 && word.text.starts_with(|c: char| c.is_ascii_uppercase());
    word.text.chars().all(|c| c.is_ascii_digit())
        || any_word(words::NUMBERS, &word.lower)
        || (ends && (is_roman || is_letter))
}

fn is_common(word: &str, language: Language) -> bool {
    match language {
        Language::German => is_generic(word) || any_word(words::COMMON_GERMAN, word),
        Language::English => any_word(words::COMMON_ENGLISH, word),
        _ => is_generic(word),
    }
}

/// Returns the pieces of a run without spaces, in order.
fn segments(run: &str, occurs: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    let borders: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let count = borders.len() - 1;
    // For each end: the number of characters before it outside any piece, the number of pieces, and the start of the last one.
    let mut best: Vec<(usize, usize, usize)> = vec![(0, 0, 0); count + 1];
    for end in 1..=count {
        best[end] = (best[end - 1].0 + 1, best[end - 1].1, end - 1);
        for length in 2..=MAX_SEGMENT.min(end) {
            let start = end - length;
            let piece = &run[borders[start]..borders[end]];
            let (left, pieces, _) = best[start];
            if (left, pieces + 1) < (best[end].0, best[end].1) && occurs(piece) {
                best[end] = (left, pieces + 1, start);
            }
        }
    }
    let mut found = Vec::new();
    let mut end = count;
    let mut unknown_end = count;
    while end > 0 {
        let start = best[end].2;
        if end - start > 1 {
            push_unknown(&borders, end..unknown_end, &mut found);
            found.push(borders[start]..borders[end]);
            unknown_end = start;
        }
        end = start;
    }
    push_unknown(&borders, 0..unknown_end, &mut found);
    found.reverse();
    found
}

fn push_unknown(borders: &[usize], chars: Range<usize>, found: &mut Vec<Range<usize>>) {
    if chars.len() >= 2 {
        found.push(borders[chars.start]..borders[chars.end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_decide_where_words_without_spaces_end() {
        let text = "沈文澜是公司的创始人。公司成立于2008年。";
        let question = "公司创始人沈文澜的妻子是谁？";
        let parsed =
            ParsedQuestion::read(question, &Roots::of(Language::Chinese), &|piece| text.contains(piece));
        let words: Vec<&str> = parsed.terms.iter().map(|term| term.word.as_str()).collect();
        assert_eq!(words, ["公司", "创始人", "沈文澜", "妻子"]);
    }
}
