//! The form of an English question, which questions in other languages with spaces are read by, too.

use harper_brill::UPOS;

use super::super::question::AnswerType;
use super::super::words::{self, any_word};
use super::{Form, answer_type_of_noun};
use crate::lexicon::is_stop_word;
use crate::token::Token;

/// Nouns that name the kind of answer.
const NOUNS: &[(&str, AnswerType)] = &[
    (words::AMOUNTS_ENGLISH, AnswerType::Amount { measured: false }),
    (words::TIMES_ENGLISH, AnswerType::Time),
    (words::PLACES_ENGLISH, AnswerType::Place),
    (words::PERSONS_ENGLISH, AnswerType::Person),
    (words::REASON_NOUNS, AnswerType::Reason),
    ("definition meaning", AnswerType::Meaning),
];

impl Form {
    pub(super) fn english(words: &[Token<'_>]) -> Self {
        let word = |at: usize| words.get(at).map_or("", |word: &Token<'_>| word.lower.as_str());
        let mut form = Self::new(AnswerType::Thing);
        const ASKING: &str = "who whom whose when where why how which what";
        let Some(at) = words.iter().position(|word| any_word(ASKING, &word.lower)) else {
            form.without_asking(words);
            return form;
        };
        form.asking = Some(at);
        match word(at) {
            "who" | "whom" | "whose" => form.who(at, words),
            "when" => form.answer_type = AnswerType::Time,
            "where" => form.answer_type = AnswerType::Place,
            "why" => form.answer_type = AnswerType::Reason,
            "how" => form.how(at, words),
            _ => form.what(at, words),
        }
        if form.key.is_none() && form.measure.is_none() && form.counted.is_none() && !form.acts {
            form.key = main_verb(at, words);
            form.telling.extend(form.key);
        }
        // `When was it built?`
        let last = words.len() - 1;
        let is_verb = words[last].tag == UPOS::VERB && !is_stop_word(&words[last].lower);
        if form.key.is_none() && is_verb && last > at + 2 {
            form.key = Some(last);
        }
        let is_stranded = any_word("about at by for from in into on to under with", word(last));
        form.stranded = form.key.filter(|key| is_stranded && key + 1 == last).map(|_| word(last).to_owned());
        form
    }

    /// Reads which person a question asks for, and by what.
    fn who(&mut self, at: usize, words: &[Token<'_>]) {
        let word = |at: usize| words.get(at).map_or("", |word: &Token<'_>| word.lower.as_str());
        let next = word(at + 1);
        self.answer_type = AnswerType::Person;
        self.by_noun = any_word("is was are were", next);
        let is_key = |at: &usize| {
            !(is_stop_word(word(*at))
                || self.by_noun && (words[*at].is_capital() || words::is_light_progress(word(*at))))
        };
        self.key = (at + 1..words.len()).find(is_key).map(|key| match self.by_noun {
            true => head_noun(key, words),
            false => key,
        });
        // `After whom is the reading room named?`, `Whom did the old smith marry?`
        let last = words.len() - 1;
        let is_participle = any_word("named called", word(last))
            || words[last].tag == UPOS::VERB && word(last).ends_with(['d', 'n']);
        if self.by_noun && self.key.is_some_and(|key| key < last) && is_participle {
            self.by_noun = false;
            self.key = Some(last);
            self.telling.push(last);
        } else if any_word("do does did", next) {
            self.key = main_verb(at, words);
        }
        self.many =
            any_word("are were", next) && words.get(at + 2..).is_some_and(|rest| rest.iter().any(is_plural));
        // `Who is Ada?` asks for a definition, `Who is the head?` for a person.
        let rest = words.get(at + 2..).unwrap_or_default();
        let is_name =
            !rest.is_empty() && rest.iter().all(|word| word.is_capital() || any_word("of the", &word.lower));
        if any_word("is was are were", next) && is_name && rest[0].is_capital() {
            self.answer_type = AnswerType::Meaning;
        }
    }

    fn how(&mut self, at: usize, words: &[Token<'_>]) {
        let next = words.get(at + 1).map_or("", |word| word.lower.as_str());
        if any_word("many much", next) {
            self.answer_type = AnswerType::Amount { measured: false };
            self.skipped.push(at + 1);
            // `How much is a ticket?` asks for a price.
            let money = at + 2;
            let is_money = words.get(money).is_some_and(|word| word.lower == "money");
            if next == "much"
                && (is_money
                    || words.get(at + 2).is_some_and(|word| any_word("is are was were", &word.lower))
                    || words.iter().any(|word| any_word(words::COSTS, &word.lower)))
            {
                self.answer_type = AnswerType::Amount { measured: true };
                self.measure = Some("expensive".to_owned());
                self.skipped.extend(Some(money).filter(|_| is_money));
            }
            if next == "much" && words.iter().any(|word| any_word(words::WEIGHS, &word.lower)) {
                self.answer_type = AnswerType::Amount { measured: true };
                self.measure = Some("heavy".to_owned());
            }
            if next == "many" {
                let nouns =
                    words.iter().enumerate().skip(at + 2).take_while(|(_, word)| !is_stop_word(&word.lower));
                self.counted = nouns.filter(|(_, word)| is_plural(word)).map(|(at, _)| at).last();
            }
            // `How much memory does it need?`
            if next == "much" && self.measure.is_none() {
                self.counted =
                    Some(at + 2).filter(|at| words.get(*at).is_some_and(|word| word.tag == UPOS::NOUN));
            }
            let counts_things = |at: &usize| !any_word(words::COUNTED_PEOPLE, &words[*at].lower);
            self.telling.extend(self.counted.filter(counts_things));
        } else if any_word(words::MEASURES_ENGLISH, next) {
            self.answer_type = AnswerType::Amount { measured: true };
            self.measure = Some(next.to_owned());
            // `How long is it?` asks for a length, `How long did it take?` for a duration.
            let helps =
                words.get(at + 2).is_some_and(|word| any_word("do does did has have had will", &word.lower));
            let lasts = words.iter().enumerate().skip(at + 2).any(|(at, word)| {
                // `the swimming pool`
                let modifies = word.lower.ends_with("ing")
                    && words.get(at + 1).is_some_and(|next| next.tag == UPOS::NOUN);
                word.tag == UPOS::VERB && !is_stop_word(&word.lower) && !modifies
                    || any_word(words::LASTING, &word.lower)
            });
            if next == "long" && (helps || lasts) {
                self.measure = Some("lasting".to_owned());
            }
            // `How long ago was it built?`
            if next == "long" && words.get(at + 2).is_some_and(|word| word.lower == "ago") {
                (self.answer_type, self.measure) = (AnswerType::Time, None);
            }
            // `How high is the fee?`
            let is_of = |nouns: &str| words.iter().any(|word| any_word(nouns, &word.lower));
            if next == "high" && ![words::MONEY_NOUNS, words::SHARES, words::LEVELS].into_iter().any(is_of) {
                self.measure = Some("tall".to_owned());
            }
            self.skipped.push(at + 1);
        } else if next == "come" {
            self.answer_type = AnswerType::Reason;
        } else {
            self.answer_type = AnswerType::Manner;
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
            let weighs = words.iter().any(|word| any_word(words::WEIGHS, &word.lower));
            if weighs || words.iter().any(|word| any_word("cost costs", &word.lower)) {
                self.answer_type = AnswerType::Amount { measured: true };
                self.measure = Some(if weighs { "heavy" } else { "expensive" }.to_owned());
                return;
            }
            // `What should I do if it rings?`
            if any_word("i we you one", word(at + 2)) && word(at + 3) == "do" {
                (self.answer_type, self.key) = (AnswerType::Manner, None);
                return;
            }
            if last == "do" && words.len() > at + 3 {
                (self.answer_type, self.acts) = (AnswerType::Meaning, true);
                return;
            }
            let means = words.iter().skip(at + 2).any(|word| word.lower == "mean");
            if means || (last == "for" && word(words.len().saturating_sub(2)) == "stand") {
                self.answer_type = AnswerType::Meaning;
            }
            return;
        }
        // `What comes in the box?`
        if any_word("comes come", next) && any_word("in with", word(at + 2)) {
            self.implied = Some("contain");
            self.skipped.push(at + 1);
            return;
        }
        // `What counts as a delay?`
        if any_word("counts qualifies passes", next) && word(at + 2) == "as" {
            self.answer_type = AnswerType::Meaning;
            self.skipped.push(at + 1);
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
            // `Which ship replaces the ferry?`
            let is_verb = next.lower.ends_with('s')
                && words
                    .get(noun + 2)
                    .is_some_and(|behind| any_word("the a an its his her their", &behind.lower));
            // `Which actors star in it?`
            let joins = joins && !is_plural(&words[noun]);
            next.gap == " " && matches!(next.tag, UPOS::NOUN) && !next.is_capital() && joins && !is_verb
        }) {
            noun += 1;
        }
        let Some(head) = words.get(noun) else { return };
        // `After what time is it deleted?`
        if any_word("time period", &head.lower) && at.checked_sub(1).is_some_and(|at| word(at) == "after") {
            self.answer_type = AnswerType::Amount { measured: true };
            self.measure = Some("lasting".to_owned());
            self.skipped.push(noun);
            return;
        }
        self.class.extend(start..=noun);
        // `Which river flooded the town?`
        self.key = Some(noun + 1).filter(|at| {
            words.get(*at).is_some_and(|verb| {
                (verb.tag == UPOS::VERB
                    || verb.tag == UPOS::NOUN && verb.gap == " " && is_plural(head) && at + 1 < words.len()
                    || verb.lower.ends_with('s')
                        && words.get(at + 1).is_some_and(|next| is_stop_word(&next.lower)))
                    && !is_stop_word(&verb.lower)
            })
        });
        self.telling.extend(self.key);
        // The word before the verb is a noun, whatever its tag.
        let is_noun =
            words.get(noun + 1).is_some_and(|next| any_word(DO, &next.lower) || any_word(BE, &next.lower));
        self.many |= is_plural(head) || is_noun && ends_as_plural(head);
        self.answer_type = answer_type_of_noun(&head.lower, NOUNS);
        // `Which days is it open?`
        if self.answer_type == AnswerType::Time {
            self.many = false;
        }
        if self.answer_type == AnswerType::Person && self.many {
            self.answer_type = AnswerType::Thing;
        }
    }

    /// Reads the property that a question asks for by a noun: `the height of the tower`.
    fn attribute(&mut self, from: usize, words: &[Token<'_>]) {
        let rest = words.get(from..).unwrap_or_default();
        let Some(first) = rest.first() else { return };
        // `What is the name of Ada's dog?`
        let names = rest.iter().position(|word| any_word("name names", &word.lower));
        if let Some(names) = names.filter(|at| rest.get(at + 1).is_some_and(|of| of.lower == "of")) {
            let is_key = |at: &usize| !is_stop_word(&rest[*at].lower) && !rest[*at].is_capital();
            (self.answer_type, self.by_noun, self.naming) = (AnswerType::Person, true, true);
            self.key = (names + 2..rest.len()).find(is_key).map(|at| from + at);
            return;
        }
        // `What was the ferry called?`
        if let [.., noun, last] = rest
            && any_word("called named", &last.lower)
            && noun.tag == UPOS::NOUN
        {
            (self.answer_type, self.by_noun, self.naming) = (AnswerType::Person, true, true);
            self.key = Some(from + rest.len() - 2);
            return;
        }
        // `What is meant by the host?`, `What is the host for?`, `What is the host used for?`
        if first.lower == "meant" {
            self.answer_type = AnswerType::Meaning;
            self.skipped.push(from);
            return;
        }
        if let [.., before, last] = rest
            && last.lower == "for"
        {
            let is_use = any_word("used good", &before.lower);
            // `What is Ada famous for?` does not ask what she is.
            if is_use || before.is_capital() || matches!(before.tag, UPOS::NOUN | UPOS::PROPN) {
                (self.answer_type, self.acts) = (AnswerType::Meaning, true);
                self.skipped.extend(Some(from + rest.len() - 2).filter(|_| is_use));
                return;
            }
        }
        // `What was decided?`, `What is in the case?`, but `What is spaced repetition?`
        let is_modifier = rest.get(1).is_some_and(|next| rest.len() == 2 && next.tag == UPOS::NOUN);
        if first.tag == UPOS::VERB && first.lower.ends_with("ed") && !is_modifier {
            return;
        }
        if any_word("in inside", &first.lower) {
            self.implied = Some("contain");
            return;
        }
        if any_word("on at under behind above for from with", &first.lower) {
            return;
        }
        // `What is Ada's profession?` asks what she is.
        if rest.last().is_some_and(|last| any_word("job profession occupation trade", &last.lower))
            && rest.len() > 1
        {
            self.answer_type = AnswerType::Meaning;
            self.skipped.push(from + rest.len() - 1);
            return;
        }
        let binds = rest
            .iter()
            .position(|word| any_word("of in for at on by to from with that which who", &word.lower));
        let owned = rest.windows(2).any(|pair| pair[1].gap.len() > 1 && pair[1].gap.ends_with("s "));
        let heads = &rest[..binds.unwrap_or(rest.len())];
        // `last year` does not ask for a year.
        let adverbial = heads
            .len()
            .checked_sub(2)
            .filter(|at| any_word("last this next each every per that", &heads[*at].lower));
        let heads = &heads[..adverbial.filter(|at| *at > 0).unwrap_or(heads.len())];
        let answer_type = heads
            .iter()
            .rev()
            .filter(|word| !word.is_capital())
            .map(|word| answer_type_of_noun(&word.lower, NOUNS))
            .find(|answer_type| *answer_type != AnswerType::Thing);
        if let Some(answer_type) = answer_type {
            self.answer_type = answer_type;
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
            // `What are lanes?` does not ask for a list.
            self.many = self.many && heads.iter().any(|word| word.lower == "the");
            if !self.many {
                self.answer_type = AnswerType::Meaning;
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
            self.answer_type = if lower == "define" { AnswerType::Meaning } else { AnswerType::Thing };
        } else if any_word(ASKS, lower) {
            self.answer_type = AnswerType::Truth;
        }
    }
}

/// Returns the verb after the question word: `earn` in `How much does she earn a week?`, `made` in `What was it made of?`.
/// Verbs that mean little by themselves are ignored.
fn main_verb(asking: usize, words: &[Token<'_>]) -> Option<usize> {
    const HELPS: &str = "do does did is are was were";
    let helps = (asking + 1..words.len()).find(|at| any_word(HELPS, &words[*at].lower))?;
    // A participle follows its subject. A verb after `did` is in its base form, and any word directly after the name counts.
    let passive = any_word("is are was were", &words[helps].lower);
    let may_be = |at: &usize| {
        let word = &words[*at];
        !word.is_capital() && !is_stop_word(&word.lower) && !any_word(words::LIGHT_VERBS, &word.lower)
    };
    let first_lower =
        (helps + 1..words.len()).find(|at| !words[*at].is_capital() && words[*at].lower != "the");
    let behind_name = first_lower
        .filter(|at| !passive && words[at - 1].is_capital() && words[*at].gap == " " && may_be(at));
    behind_name.or_else(|| {
        (helps + 2..words.len()).filter(may_be).find(|at| {
            let word = &words[*at];
            let ends = words.get(at + 1).is_none_or(|next| is_stop_word(&next.lower));
            // `the silver watch belong` contains one verb.
            let is_noun = words.get(at + 1).is_some_and(|next| next.tag == UPOS::VERB && next.gap == " ");
            let participle =
                ["ed", "en"].iter().any(|ending| word.lower.ends_with(ending)) || word.lower == "made";
            word.tag == UPOS::VERB && if passive { ends && participle } else { !is_noun }
        })
    })
}

/// Returns the last noun of a run that begins at `first`: `trainer` in `personal trainer`.
fn head_noun(first: usize, words: &[Token<'_>]) -> usize {
    let goes_on = |at: &usize| {
        let word = &words[*at];
        word.gap == " "
            && !word.is_capital()
            && matches!(word.tag, UPOS::NOUN | UPOS::ADJ)
            && !is_stop_word(&word.lower)
    };
    let run = (first + 1..words.len()).take_while(goes_on);
    run.filter(|at| words[*at].tag == UPOS::NOUN).last().unwrap_or(first)
}

fn is_plural(word: &Token<'_>) -> bool {
    let lower = word.lower.as_str();
    let irregular = any_word("people men women children mice feet teeth criteria", lower);
    irregular || ends_as_plural(word) && matches!(word.tag, UPOS::NOUN | UPOS::PROPN)
}

fn ends_as_plural(word: &Token<'_>) -> bool {
    let lower = word.lower.as_str();
    let is_other = ["ss", "us", "is"].iter().any(|ending| lower.ends_with(ending));
    lower.len() > 3 && lower.ends_with('s') && !is_other && !word.is_capital()
}
