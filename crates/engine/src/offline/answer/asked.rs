//! What a question asks for: the kind of its answer, its words, and what each of them is worth.

use std::collections::BTreeSet;
use std::ops::Range;

use harper_brill::UPOS;

use super::super::languages::Language;
use super::super::lexicon::{is_generic, is_month, is_stop_word};
use super::super::phrase::{PhraseKind, phrases};
use super::super::scripts::has_no_spaces;
use super::super::token::{Token, tokens};
use super::lines::Word;
use super::roots::Roots;
use super::words::{self, any_word};
use crate::text::sentences;

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

/// A question, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Asked {
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
    /// Whether it is about what a name has: `Scrooge's nephew`.
    pub(super) possessive: bool,
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

impl Asked {
    /// - `is_held`: whether a text stands in the passages; it tells where words end that are written without spaces.
    pub(super) fn read(question: &str, roots: &Roots, is_held: &dyn Fn(&str) -> bool) -> Self {
        let language = Language::of_question(question);
        let lower = question.to_lowercase();
        let words: Vec<Token<'_>> =
            sentences(question).into_iter().flat_map(|range| tokens(question, range)).collect();
        let form = Form::read(&words, &lower, language);
        let named = named(question, &words, form.asking);
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
            possessive: words.iter().skip(1).any(|word| {
                word.gap.len() > 1 && word.gap.ends_with("s ") && word.gap.starts_with(['\'', '’'])
            }),
            is_common: false,
            pairs: Vec::new(),
            roots: words.iter().map(|word| roots.root(word.lower.trim_matches('_'))).collect(),
            lower: lower.clone(),
        };
        let mut before: Option<(usize, usize)> = None;
        for (at, word) in words.iter().enumerate() {
            let name = named.iter().position(|range| range.start <= word.start && word.end <= range.end);
            let bare = word.lower.trim_matches('_');
            let small = is_stop_word(bare) || language.is_function_word(bare);
            let is_acronym =
                name.is_some() && word.text.len() > 1 && word.text.chars().all(char::is_uppercase);
            if bare.is_empty() || has_no_spaces(bare) || (small && !is_acronym) || form.skipped.contains(&at)
            {
                continue;
            }
            let role = match name {
                _ if is_code(bare) => Role::Number,
                _ if form.class.contains(&at) => Role::Class,
                Some(_) => Role::Name,
                None if is_month(bare) && word.is_capital() => Role::Number,
                None if is_common(bare, language) && !form.telling.contains(&at) => Role::Common,
                None => Role::Relation,
            };
            let counts = form.counted == Some(at) && role == Role::Relation;
            let root = roots.root(bare);
            let families = roots.families(&root);
            let term = Term { word: bare.to_owned(), root, families, role, unspaced: false };
            let is_key = role == Role::Relation && form.key == Some(at);
            let place = at;
            let at = asked.add(term);
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
        asked.names.retain(|name| !name.is_empty());
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
        let asking = words::without_asking(question, self.language);
        let mut offset = 0;
        for run in asking.split(|c: char| !has_no_spaces(c.encode_utf8(&mut [0; 4]))) {
            let start = offset + asking[offset..].find(run).unwrap_or(0);
            offset = start + run.len();
            for range in segments(run, is_held) {
                let text = &run[range.clone()];
                let place = start + range.start..start + range.end;
                let name = named.iter().position(|name| name.start <= place.start && place.end <= name.end);
                let role = match name {
                    Some(_) => Role::Name,
                    None if words::is_common_unspaced(text) => Role::Common,
                    None => Role::Relation,
                };
                let families = roots.families(text);
                let at = self.add(Term {
                    word: text.to_owned(),
                    root: text.to_owned(),
                    families,
                    role,
                    unspaced: true,
                });
                if let Some(name) = name {
                    self.names[name].insert(at);
                }
            }
        }
    }
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

/// Whether a word holds a digit and is no small count.
fn is_code(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 3 || (digits > 0 && word.chars().any(char::is_alphabetic))
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

/// What the form of a question tells.
struct Form {
    wants: Wants,
    many: bool,
    /// The word that asks.
    asking: Option<usize>,
    /// Words that say what sort of thing is asked for.
    class: Vec<usize>,
    /// Words that only ask.
    skipped: Vec<usize>,
    /// What is counted.
    counted: Option<usize>,
    /// Common words that tell here what is asked.
    telling: Vec<usize>,
    key: Option<usize>,
    measure: Option<String>,
    acts: bool,
    by_noun: bool,
}

impl Form {
    fn read(words: &[Token<'_>], lower: &str, language: Language) -> Self {
        match language {
            Language::Chinese | Language::Japanese | Language::Korean => Self::unspaced(lower),
            Language::German => Self::german(words),
            _ => Self::english(words),
        }
    }

    fn unspaced(lower: &str) -> Self {
        let (wants, many) = words::wants_unspaced(lower);
        Self { many, ..Self::new(wants) }
    }

    fn new(wants: Wants) -> Self {
        Self {
            wants,
            many: false,
            asking: None,
            class: Vec::new(),
            skipped: Vec::new(),
            counted: None,
            telling: Vec::new(),
            key: None,
            measure: None,
            acts: false,
            by_noun: false,
        }
    }

    fn english(words: &[Token<'_>]) -> Self {
        let word = |at: usize| words.get(at).map_or("", |word: &Token<'_>| word.lower.as_str());
        let mut form = Self::new(Wants::Thing);
        const ASKING: &str = "who whom whose when where why how which what";
        let Some(at) = words.iter().position(|word| any_word(ASKING, &word.lower)) else {
            form.without_asking(words);
            return form;
        };
        form.asking = Some(at);
        let next = word(at + 1);
        match word(at) {
            "who" | "whom" | "whose" => {
                form.wants = Wants::Person;
                form.by_noun = any_word("is was are were", next);
                let is_key =
                    |at: &usize| !(is_stop_word(word(*at)) || form.by_noun && words[*at].is_capital());
                form.key = (at + 1..words.len()).find(is_key);
                form.many = any_word("are were", next)
                    && words.get(at + 2..).is_some_and(|rest| rest.iter().any(is_plural));
                // `Who is Ada?`: what she is; `Who is the head?`: a person.
                let rest = words.get(at + 2..).unwrap_or_default();
                let is_name = !rest.is_empty()
                    && rest.iter().all(|word| word.is_capital() || any_word("of the", &word.lower));
                if any_word("is was are were", next) && is_name && rest[0].is_capital() {
                    form.wants = Wants::Meaning;
                }
            }
            "when" => form.wants = Wants::Time,
            "where" => form.wants = Wants::Place,
            "why" => form.wants = Wants::Reason,
            "how" => form.how(at, words),
            _ => form.what(at, words),
        }
        // `When was it built?`
        let last = words.len() - 1;
        let is_verb = words[last].tag == UPOS::VERB && !is_stop_word(&words[last].lower);
        if form.key.is_none() && is_verb && last > at + 2 {
            form.key = Some(last);
        }
        form
    }

    fn how(&mut self, at: usize, words: &[Token<'_>]) {
        let next = words.get(at + 1).map_or("", |word| word.lower.as_str());
        if any_word("many much", next) {
            self.wants = Wants::Amount { measured: false };
            self.skipped.push(at + 1);
            if next == "many" {
                let nouns =
                    words.iter().enumerate().skip(at + 2).take_while(|(_, word)| !is_stop_word(&word.lower));
                self.counted = nouns.filter(|(_, word)| is_plural(word)).map(|(at, _)| at).last();
            }
        } else if any_word(words::MEASURES_ENGLISH, next) {
            self.wants = Wants::Amount { measured: true };
            self.measure = Some(next.to_owned());
            // `How long is it?` asks for a length, `How long did it take?` for a time.
            if next == "long"
                && words.iter().skip(at + 2).any(|word| word.tag == UPOS::VERB && !is_stop_word(&word.lower))
            {
                self.measure = Some("lasting".to_owned());
            }
            self.skipped.push(at + 1);
        } else if next == "come" {
            self.wants = Wants::Reason;
        } else {
            self.wants = Wants::Manner;
        }
    }

    fn what(&mut self, at: usize, words: &[Token<'_>]) {
        let word = |at: usize| words.get(at).map_or("", |word: &Token<'_>| word.lower.as_str());
        let next = word(at + 1);
        const BE: &str = "is are was were 's am be";
        const DO: &str =
            "do does did can could should would will may might must has have had happens happened";
        let naming =
            words.iter().enumerate().filter(|(_, word)| any_word("called named call name", &word.lower));
        let is_naming = |at: usize| word(at).ends_with('d') || any_word(DO, next);
        self.telling.extend(naming.map(|(at, _)| at).filter(|at| is_naming(*at) && word(at + 1) != "of"));
        if any_word(BE, next) {
            self.many |= any_word("are were", next);
            return self.attribute(at + 2, words);
        }
        if any_word(DO, next) {
            let last = words.last().map_or("", |word| word.lower.as_str());
            if words.iter().any(|word| any_word("cost costs weigh", &word.lower)) {
                self.wants = Wants::Amount { measured: false };
                return;
            }
            if last == "do" && words.len() > at + 3 {
                (self.wants, self.acts) = (Wants::Meaning, true);
                return;
            }
            if last == "mean" || (last == "for" && word(words.len().saturating_sub(2)) == "stand") {
                self.wants = Wants::Meaning;
            }
            return;
        }
        // `Which of the rivers`, `what kind of river`, `which small river`
        let mut noun = at + 1;
        while any_word("of the these those kind kinds type types sort sorts", word(noun)) {
            noun += 1;
        }
        let start = noun;
        while words.get(noun + 1).is_some_and(|next| {
            let joins = words[noun].tag != UPOS::VERB || words[noun].lower.ends_with("ing");
            next.gap == " " && matches!(next.tag, UPOS::NOUN) && !next.is_capital() && joins
        }) {
            noun += 1;
        }
        let Some(head) = words.get(noun) else { return };
        self.class.extend(start..=noun);
        // `Which river flooded the town?`
        self.key = Some(noun + 1).filter(|at| {
            words.get(*at).is_some_and(|verb| verb.tag == UPOS::VERB && !is_stop_word(&verb.lower))
        });
        self.many |= is_plural(head);
        self.wants = noun_wants(&head.lower);
        if self.wants == Wants::Person && self.many {
            self.wants = Wants::Thing;
        }
    }

    /// What is asked of a thing by a noun: `the height of the tower`.
    fn attribute(&mut self, from: usize, words: &[Token<'_>]) {
        let rest = words.get(from..).unwrap_or_default();
        let Some(first) = rest.first() else { return };
        // `What is the name of Ada's dog?`
        let names = rest.iter().position(|word| any_word("name names", &word.lower));
        if let Some(names) = names.filter(|at| rest.get(at + 1).is_some_and(|of| of.lower == "of")) {
            let is_key = |at: &usize| !is_stop_word(&rest[*at].lower) && !rest[*at].is_capital();
            (self.wants, self.by_noun) = (Wants::Person, true);
            self.key = (names + 2..rest.len()).find(is_key).map(|at| from + at);
            return;
        }
        // `What was decided?`, `What is in the case?`
        if first.tag == UPOS::VERB && first.lower.ends_with("ed") {
            return;
        }
        if any_word("in on at under behind inside above for from with", &first.lower) {
            return;
        }
        let binds = rest
            .iter()
            .position(|word| any_word("of in for at on by to from with that which who", &word.lower));
        let owned = rest.windows(2).any(|pair| pair[1].gap.len() > 1 && pair[1].gap.ends_with("s "));
        let heads = &rest[..binds.unwrap_or(rest.len())];
        // `last year` is no year that is asked for.
        let adverbial = heads
            .len()
            .checked_sub(2)
            .filter(|at| any_word("last this next each every per that", &heads[*at].lower));
        let heads = &heads[..adverbial.filter(|at| *at > 0).unwrap_or(heads.len())];
        let wants = heads
            .iter()
            .rev()
            .filter(|word| !word.is_capital())
            .map(|word| noun_wants(&word.lower))
            .find(|wants| *wants != Wants::Thing);
        if let Some(wants) = wants {
            self.wants = wants;
            self.many = self.many && heads.iter().any(is_plural);
            return;
        }
        let says = rest.last().is_some_and(|last| any_word("called named known", &last.lower));
        let content = heads.iter().filter(|word| !is_stop_word(&word.lower)).count();
        let binds_only_place = binds.is_none_or(|at| any_word("in at on", &rest[at].lower));
        let article = any_word("a an", &first.lower);
        if !says
            && !owned
            && (article || binds_only_place)
            && (1..=3).contains(&content)
            && !heads.iter().any(|word| {
                any_word("name names difference rule rules step steps part parts main", &word.lower)
            })
        {
            // `What are lanes?` is no list.
            self.many = self.many && heads.iter().any(|word| word.lower == "the");
            if !self.many {
                self.wants = Wants::Meaning;
            }
        }
    }

    fn without_asking(&mut self, words: &[Token<'_>]) {
        const LISTS: &str = "list name enumerate";
        const TELLS: &str = "explain describe define tell give show";
        const ASKS: &str = "is are was were do does did can could will would should has have had may must";
        let Some(first) = words.iter().position(|word| word.lower != "please") else { return };
        let lower = words[first].lower.as_str();
        if any_word(LISTS, lower) {
            self.many = true;
            self.skipped.push(first);
        } else if any_word(TELLS, lower) {
            self.skipped.push(first);
            self.wants = if lower == "define" { Wants::Meaning } else { Wants::Thing };
        } else if any_word(ASKS, lower) {
            self.wants = Wants::Truth;
        }
    }

    fn german(words: &[Token<'_>]) -> Self {
        let word = |at: usize| words.get(at).map_or("", |word: &Token<'_>| word.lower.as_str());
        let mut form = Self::new(Wants::Thing);
        let is_asking =
            |word: &Token<'_>| any_word(words::ASKING_GERMAN, &word.lower) || word.lower.starts_with("welch");
        let Some(at) = words.iter().position(is_asking) else {
            if any_word("nenne nennen liste zähle", word(0)) {
                form.many = true;
                form.skipped.push(0);
            } else if !words.is_empty()
                && words[0].is_capital()
                && any_word(words::VERBS_FIRST_GERMAN, word(0))
            {
                form.wants = Wants::Truth;
            }
            return form;
        };
        form.asking = Some(at);
        let next = word(at + 1);
        match word(at) {
            "wer" | "wen" | "wem" | "wessen" => {
                form.wants = Wants::Person;
                form.many = at > 0 && word(at - 1) == "aus";
            }
            "wann" => form.wants = Wants::Time,
            "wo" | "woher" | "wohin" => form.wants = Wants::Place,
            "warum" | "wieso" | "weshalb" | "weswegen" => form.wants = Wants::Reason,
            "wieviel" | "wieviele" => form.wants = Wants::Amount { measured: false },
            "wie" if any_word("viel viele vielen", next) => {
                form.wants = Wants::Amount { measured: false };
                form.skipped.push(at + 1);
                form.counted =
                    Some(at + 2).filter(|at| next != "viel" && words.get(*at).is_some_and(Token::is_capital));
            }
            "wie" if any_word(words::MEASURES_GERMAN, next) => {
                form.wants = Wants::Amount { measured: true };
                form.measure = Some(next.to_owned());
                form.skipped.push(at + 1);
            }
            "wie" if any_word("heißt heißen hieß hießen lautet lauten", next) => {
                form.skipped.push(at + 1);
            }
            "wie" => form.wants = Wants::Manner,
            "was" if any_word("kostet kosten kostete kosteten", next) => {
                form.wants = Wants::Amount { measured: false }
            }
            "was" if any_word("bedeutet bedeuten heißt", next) => form.wants = Wants::Meaning,
            "was" if any_word("ist sind war waren", next) => {
                let rest = words.get(at + 2..).unwrap_or_default();
                let nouns: Vec<&Token<'_>> = rest.iter().filter(|word| word.is_capital()).collect();
                let binds = rest
                    .iter()
                    .skip(1)
                    .any(|word| any_word("der des von vom eines einer in im am beim für", &word.lower));
                let wants = nouns.first().map_or(Wants::Thing, |noun| noun_wants_german(&noun.lower));
                form.wants = match wants {
                    Wants::Thing if !binds && (1..=2).contains(&nouns.len()) => Wants::Meaning,
                    wants => wants,
                };
                form.many = any_word("sind waren", next) && form.wants != Wants::Meaning;
            }
            start if start.starts_with("welch") => {
                let mut noun = at + 1;
                while words.get(noun).is_some_and(|word| !word.is_capital()) && noun < at + 3 {
                    noun += 1;
                }
                if let Some(head) = words.get(noun).filter(|word| word.is_capital()) {
                    form.class.push(noun);
                    form.wants = noun_wants_german(&head.lower);
                }
                let plural =
                    words.iter().skip(noun).any(|word| any_word(words::PLURAL_VERBS_GERMAN, &word.lower));
                let plural_noun = words
                    .get(noun)
                    .is_some_and(|head| head.lower.ends_with("en") || head.lower.ends_with("er"));
                form.many = start == "welche" && (plural || plural_noun);
                if form.many {
                    form.wants = Wants::Thing;
                }
            }
            _ => {}
        }
        form
    }
}

fn is_plural(word: &Token<'_>) -> bool {
    let lower = word.lower.as_str();
    let irregular = any_word("people men women children mice feet teeth criteria", lower);
    let ends = lower.len() > 3
        && lower.ends_with('s')
        && !lower.ends_with("ss")
        && !lower.ends_with("us")
        && !lower.ends_with("is");
    irregular || (ends && !word.is_capital() && matches!(word.tag, UPOS::NOUN | UPOS::PROPN))
}

/// What a noun that is asked for stands for.
fn noun_wants(noun: &str) -> Wants {
    if any_word(words::AMOUNTS_ENGLISH, noun) {
        Wants::Amount { measured: false }
    } else if any_word(words::TIMES_ENGLISH, noun) {
        Wants::Time
    } else if any_word(words::PLACES_ENGLISH, noun) {
        Wants::Place
    } else if any_word(words::PERSONS_ENGLISH, noun) {
        Wants::Person
    } else if any_word("reason reasons cause", noun) {
        Wants::Reason
    } else if any_word("definition meaning", noun) {
        Wants::Meaning
    } else {
        Wants::Thing
    }
}

fn noun_wants_german(noun: &str) -> Wants {
    if any_word(words::AMOUNTS_GERMAN, noun) {
        Wants::Amount { measured: false }
    } else if any_word(words::TIMES_GERMAN, noun) {
        Wants::Time
    } else if any_word(words::PLACES_GERMAN, noun) {
        Wants::Place
    } else if any_word("grund ursache", noun) {
        Wants::Reason
    } else {
        Wants::Thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_wants(question: &str, wants: Wants, many: bool) {
        let roots = Roots::of(Language::of_question(question));
        let asked = Asked::read(question, &roots, &|_| false);
        assert_eq!((asked.wants, asked.many), (wants, many), "{question}");
    }

    #[test]
    fn a_question_says_what_kind_of_thing_answers_it() {
        let amount = Wants::Amount { measured: false };
        for (question, wants, many) in [
            ("Who designed the bridge?", Wants::Person, false),
            ("Who is Ada Lovelace?", Wants::Meaning, false),
            ("Who were the founders of Larkfen?", Wants::Person, true),
            ("When was it built?", Wants::Time, false),
            ("In which year was it built?", Wants::Time, false),
            ("Where is the bridge?", Wants::Place, false),
            ("In which city is the bridge?", Wants::Place, false),
            ("How many arches does it have?", amount, false),
            ("How long is it?", Wants::Amount { measured: true }, false),
            ("What is the price of the ticket?", amount, false),
            ("What was the unemployment rate in April?", amount, false),
            ("Why did it fall?", Wants::Reason, false),
            ("How do I install it?", Wants::Manner, false),
            ("What is ownership?", Wants::Meaning, false),
            ("What is a list?", Wants::Meaning, false),
            ("What was in the leather case?", Wants::Thing, false),
            ("Which operating systems does it run on?", Wants::Thing, true),
            ("What are the three rules of steps?", Wants::Thing, true),
            ("Does it support lists?", Wants::Truth, false),
            ("Wer baute die Orgel?", Wants::Person, false),
            ("In welchem Jahr wurde sie gebaut?", Wants::Time, false),
            ("Wie viele Tore hatte die Mauer?", amount, false),
            ("Welche Ortsteile gehören zu Ahrenfels?", Wants::Thing, true),
            ("Was ist ein Furtkuchen?", Wants::Meaning, false),
            ("公司现任总经理是谁？", Wants::Person, false),
            ("什么是反渗透？", Wants::Meaning, false),
            ("公司有多少员工？", amount, false),
            ("公司的主要客户有哪些？", Wants::Thing, true),
            ("为什么不能使用热水？", Wants::Reason, false),
        ] {
            check_wants(question, wants, many);
        }
    }

    #[test]
    fn words_without_spaces_end_where_the_passages_say() {
        let text = "沈文澜是公司的创始人。公司成立于2008年。";
        let question = "公司创始人沈文澜的妻子是谁？";
        let asked = Asked::read(question, &Roots::of(Language::Chinese), &|piece| text.contains(piece));
        let words: Vec<&str> = asked.terms.iter().map(|term| term.word.as_str()).collect();
        assert_eq!(words, ["公司", "创始人", "沈文澜", "妻子"]);
    }
}
