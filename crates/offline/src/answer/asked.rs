//! What a question asks for: the kind of its answer, its words, and what each of them is worth.

use std::collections::BTreeSet;
use std::ops::Range;

use harper_brill::UPOS;

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

/// Longest word of a script without spaces that is looked for in the passages, in characters.
const MAX_SEGMENT: usize = 12;

/// What kind of thing answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Person,
    Time,
    Place,
    /// A number, with a unit where the flag says that a length, an age or the like is asked for.
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

impl Wants {
    /// Whether the answer is of a kind that can be seen in a sentence: a person, time, place or number.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, Self::Person | Self::Time | Self::Place | Self::Amount { .. })
    }
}

/// A question, taken apart.
#[derive(Debug, Clone)]
pub(super) struct QuestionParts {
    pub(super) language: Language,
    pub(super) wants: Wants,
    /// Whether several things are asked for.
    pub(super) many: bool,
    pub(super) terms: Vec<Term>,
    /// The terms of each name or quotation.
    pub(super) names: Vec<BTreeSet<usize>>,
    /// The word that tells what is asked: the verb, or the noun of `who is the head of`.
    pub(super) key: Option<usize>,
    /// What is counted in `how many`, a term.
    pub(super) counted: Option<usize>,
    /// The word that measures, as `long` in `how long`.
    pub(super) measure: Option<String>,
    /// Whether it asks what something does.
    pub(super) acts: bool,
    /// Whether the key is a noun that somebody is asked by: `the head of`, not `headed`.
    pub(super) by_noun: bool,
    /// Whether the name is asked for that stands beside the key: `Wie heißt der Hund?`
    pub(super) naming: bool,
    /// Whether it asks what its name does: `When did Ada resign?`
    pub(super) name_acts: bool,
    /// Whether it is about what a name has: `Scrooge's nephew`.
    pub(super) possessive: bool,
    /// Whether it is about what belongs to a name in other words: `the nephew of Scrooge`.
    pub(super) of_name: bool,
    /// The terms of the name of who says what is asked for.
    pub(super) speaker: Option<BTreeSet<usize>>,
    /// Whether it asks for a birth or a death.
    pub(super) of_life: bool,
    /// Whether it asks for what is not.
    pub(super) denies: bool,
    /// Whether all its words are too common to tell much.
    pub(super) is_common: bool,
    /// Pairs of terms that stand side by side, the first telling more about the second: `mountain railway`.
    pub(super) pairs: Vec<(usize, usize)>,
    /// All its words by their roots, in their order.
    pub(super) roots: Vec<String>,
    /// The words of the question in small letters, to know what is new in a sentence.
    pub(super) lower: String,
}

/// A word of a question that a sentence must hold.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) word: String,
    pub(super) root: String,
    pub(super) families: Vec<u16>,
    pub(super) role: Role,
    /// Whether it is part of a script without spaces and is looked for as it is.
    pub(super) unspaced: bool,
    /// Whether it says what sort of thing is asked for, whatever its role became: `brakes` of `which brakes does it have`.
    pub(super) is_sort: bool,
}

impl Term {
    /// Whether a word of the documents tells the same in another way.
    pub(super) fn is_related(&self, word: &Word<'_>) -> bool {
        self.families.iter().any(|family| word.families.contains(family))
    }
}

/// What a word does in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It names what the question is about.
    Name,
    /// It tells what is asked of it.
    Relation,
    /// It says what sort of thing is asked for, as `river` in `which river`.
    Class,
    /// It is too common to tell much.
    Common,
    /// A number, a year, a month or a code, which must be there as it is.
    Number,
}

impl QuestionParts {
    /// - `is_held`: whether a text stands in the passages; it tells where words end that are written without spaces.
    pub(super) fn read(question: &str, roots: &Roots, is_held: &dyn Fn(&str) -> bool) -> Self {
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
        let mut asked = Self {
            language,
            wants: form.wants,
            many: form.many,
            terms: Vec::new(),
            names: vec![BTreeSet::new(); named.len()],
            key: None,
            counted: None,
            measure: form.measure.clone(),
            acts: form.acts,
            by_noun: form.by_noun,
            naming: form.naming,
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
                // `Which things` asks for no sort, `the reasons why` for what the question asks anyway.
                None if form.class.contains(&at) && any_word(words::GENERIC_CLASSES, bare) => Role::Common,
                None if form.wants == Wants::Reason && any_word(words::REASON_NOUNS, bare) => Role::Common,
                None if form.many && any_word(words::MEMBERSHIP, bare) => Role::Common,
                _ if form.class.contains(&at) => Role::Class,
                // `Braidline Two` is not `Braidline`.
                Some(range) if word.start > named[range].start && is_numeral(word, &named[range]) => {
                    Role::Number
                }
                Some(_) => Role::Name,
                None if is_month(bare) && word.is_capital() => Role::Number,
                None if is_common(bare, language) && !form.telling.contains(&at) => Role::Common,
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
                at = asked.add(term(part, role, roots));
                if let Some(name) = name.filter(|_| role != Role::Class && parts.peek().is_some()) {
                    asked.names[name].insert(at);
                }
            }
            if let Some((_, other)) =
                before.filter(|(end, other)| *end + 1 == place && *other != at && word.gap == " ")
            {
                asked.pairs.push((other, at));
            }
            // What is done or named tells nothing more about the word behind it.
            let tells_more =
                matches!(role, Role::Relation | Role::Class) && !is_key && word.tag != UPOS::VERB;
            before = tells_more.then_some((place, at));
            if counts {
                asked.counted = Some(at);
            }
            if is_key {
                asked.key = Some(at);
            }
            if let Some(name) = name.filter(|_| role != Role::Class) {
                asked.names[name].insert(at);
            }
        }
        if has_no_spaces(question) {
            asked.add_segments(question, roots, &named, is_held);
        }
        asked.speaker = speaking(&words, form.asking).and_then(|span| {
            let is_in = |range: &Range<usize>| range.start >= span.start && range.end <= span.end;
            let at = named.iter().position(is_in)?;
            Some(asked.names[at].clone()).filter(|name| !name.is_empty())
        });
        asked.names.retain(|name| !name.is_empty());
        if let Some(word) = form.implied {
            let unspaced = has_no_spaces(word);
            asked.key = Some(asked.add(Term { unspaced, ..term(word, Role::Relation, roots) }));
        }
        if matches!(asked.wants, Wants::Amount { .. }) {
            let is_other = asked
                .terms
                .iter()
                .any(|term| term.role == Role::Relation && !any_word(words::QUANTITIES, &term.word));
            let weak =
                asked.terms.iter_mut().filter(|term| is_other && any_word(words::QUANTITIES, &term.word));
            weak.filter(|term| term.role == Role::Relation).for_each(|term| term.role = Role::Common);
            asked.key = asked.key.filter(|key| asked.terms[*key].role == Role::Relation);
        }
        // Where nothing is asked of a thing but its sort, the sort is what is asked.
        if !asked.terms.iter().any(|term| term.role == Role::Relation) {
            let promoted = asked.terms.iter_mut().filter(|term| term.role == Role::Class);
            promoted.for_each(|term| term.role = Role::Relation);
        }
        if asked.wants == Wants::Place && asked.terms.len() > 1 {
            let weak = asked.terms.iter_mut().filter(|term| any_word(words::LOCATES, &term.word));
            weak.for_each(|term| term.role = Role::Class);
            asked.key = asked.key.filter(|key| asked.terms[*key].role == Role::Relation);
        }
        asked.of_life = asked.key.is_some_and(|key| {
            const LIFE: [&str; 6] = ["born", "died", "geboren", "gestorben", "出生", "去世"];
            let own = &asked.terms[key].families;
            LIFE.iter().flat_map(|word| roots.families(&roots.root(word))).any(|family| own.contains(&family))
        });
        // Where all words are common, they are what is asked about.
        asked.is_common = asked.terms.iter().all(|term| term.role == Role::Common);
        if asked.terms.iter().all(|term| matches!(term.role, Role::Common | Role::Class)) {
            let promoted = asked.terms.iter_mut().filter(|term| term.role == Role::Common);
            promoted.for_each(|term| term.role = Role::Relation);
        }
        asked
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

    /// Cuts what is written without spaces into the longest pieces that the passages hold; two characters or more that stand
    /// nowhere are a word of their own.
    fn add_segments(
        &mut self,
        question: &str,
        roots: &Roots,
        named: &[Range<usize>],
        is_held: &dyn Fn(&str) -> bool,
    ) {
        let asking = unspaced::without_asking(question, self.language);
        // What is asked of something stands directly before or behind the words that ask: `押金` of `需要交多少押金`.
        let asks = unspaced::asking_place(question);
        let sort = unspaced::sort_place(question);
        let mut nearest: Option<(usize, usize)> = None;
        let mut offset = 0;
        for run in asking.split(|c: char| !has_no_spaces(c.encode_utf8(&mut [0; 4]))) {
            let start = offset + asking[offset..].find(run).unwrap_or(0);
            offset = start + run.len();
            let mut pieces = segments(run, is_held);
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
                    None if sort == Some(place.start) => Role::Class,
                    None => Role::Relation,
                };
                let families = roots.families(text);
                let at = self.add(Term {
                    word: text.to_owned(),
                    root: text.to_owned(),
                    families,
                    role,
                    unspaced: true,
                    is_sort: role == Role::Class,
                });
                if let Some(name) = name {
                    self.names[name].insert(at);
                }
                if let Some(asks) = asks.as_ref().filter(|_| role == Role::Relation) {
                    let far = match place.start >= asks.end {
                        true => place.start - asks.end,
                        // What is asked of a sort of thing stands behind it: `哪个机构掌管军队`.
                        false if sort.is_some() => usize::MAX,
                        // `价格是多少` asks more of what is before, but only directly.
                        false => asks.start.saturating_sub(place.end) * 2,
                    };
                    if nearest.is_none_or(|(known, _)| far < known) {
                        nearest = Some((far, at));
                    }
                }
            }
        }
        if self.language == Language::Chinese && !matches!(self.wants, Wants::Meaning | Wants::Truth) {
            self.key = nearest.map(|(_, at)| at);
        }
    }
}

fn term(word: &str, role: Role, roots: &Roots) -> Term {
    let root = roots.root(word);
    let families = roots.families(&root);
    Term { word: word.to_owned(), root, families, role, unspaced: false, is_sort: role == Role::Class }
}

/// Names and quotations of a question; the word that asks is none.
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

/// The noun of `Wer war Adas Frau?`, a German question for what a name has; it is cut off the name.
fn owned_noun(
    words: &[Token<'_>],
    named: &mut [Range<usize>],
    form: &Form,
    language: Language,
) -> Option<usize> {
    let is_asked = language == Language::German && form.wants == Wants::Person && form.key.is_none();
    let noun = words.len().checked_sub(1).filter(|_| is_asked)?;
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

/// The bytes of `What did Ada say?` in which the name of who says it stands.
fn speaking(words: &[Token<'_>], asking: Option<usize>) -> Option<Range<usize>> {
    const MAX_WORDS: usize = 6;
    let asking = asking.filter(|at| any_word("what was", &words[*at].lower))?;
    let says = |at: &usize| any_word(words::SPEECH, &words[*at].lower);
    let verb = (asking + 1..words.len().min(asking + 2 + MAX_WORDS)).find(says)?;
    // `Was sagte Ada?` names who says it behind the verb.
    let end = if verb == asking + 1 { words.len().min(verb + 4) } else { verb };
    Some(words[asking].end..words[end - 1].end)
}

/// Whether a word holds a digit and is no small count.
fn is_code(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 3 || (digits > 0 && word.chars().any(char::is_alphabetic))
}

/// Whether a word of a name only tells one of several of the same name: a number, or at the end one in Roman numerals or a letter.
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

/// The pieces of a run of characters without spaces, in order.
fn segments(run: &str, is_held: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    let borders: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let count = borders.len() - 1;
    // For every character: how many characters up to it are in no piece, the number of pieces, and where the last began.
    let mut best: Vec<(usize, usize, usize)> = vec![(0, 0, 0); count + 1];
    for end in 1..=count {
        best[end] = (best[end - 1].0 + 1, best[end - 1].1, end - 1);
        for length in 2..=MAX_SEGMENT.min(end) {
            let start = end - length;
            let piece = &run[borders[start]..borders[end]];
            let (left, pieces, _) = best[start];
            if (left, pieces + 1) < (best[end].0, best[end].1) && is_held(piece) {
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
    fn words_without_spaces_end_where_the_passages_say() {
        let text = "沈文澜是公司的创始人。公司成立于2008年。";
        let question = "公司创始人沈文澜的妻子是谁？";
        let asked =
            QuestionParts::read(question, &Roots::of(Language::Chinese), &|piece| text.contains(piece));
        let words: Vec<&str> = asked.terms.iter().map(|term| term.word.as_str()).collect();
        assert_eq!(words, ["公司", "创始人", "沈文澜", "妻子"]);
    }
}
