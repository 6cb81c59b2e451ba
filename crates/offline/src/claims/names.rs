//! The names in a sentence: where they begin and end, and whom a part of the sentence refers to.

use std::ops::Range;

use super::read::Memory;
use super::time::Time;
use super::words::Item;
use crate::lexicon::is_stop_word;
use crate::token::is_known;

/// Maximum number of words in a name.
const MAX_NAME_WORDS: usize = 12;

/// Reads the items of a sentence.
pub(super) struct Reader<'t, 'i> {
    pub(super) text: &'t str,
    pub(super) items: &'i [Item<'t>],
    pub(super) german: bool,
}

/// Words that end a name and do not belong to it.
pub(super) const STOPS: [&str; 61] = [
    "as",
    "on",
    "by",
    "with",
    "after",
    "following",
    "when",
    "from",
    "until",
    "till",
    "since",
    "succeeding",
    "replacing",
    "taking",
    "where",
    "who",
    "which",
    "whom",
    "before",
    "while",
    "he",
    "she",
    "they",
    "it",
    "but",
    "having",
    "to",
    "over",
    "during",
    "effective",
    "at",
    "that",
    "amid",
    "despite",
    "because",
    "under",
    "upon",
    "joining",
    "becoming",
    "serving",
    "als",
    "zum",
    "zur",
    "bei",
    "nach",
    "bis",
    "seit",
    "ernannt",
    "berufen",
    "bestellt",
    "gewählt",
    "ab",
    "an",
    "zurück",
    "abgelöst",
    "ersetzt",
    "befördert",
    "in",
    "stepping",
    "handing",
    "leaving",
];

/// Function words inside names, before a capitalized word.
const INSIDE: [&str; 30] = [
    "na", "of", "the", "and", "for", "de", "da", "do", "dos", "del", "du", "di", "la", "le", "van", "von",
    "der", "den", "des", "die", "y", "i", "al", "e", "und", "für", "&", "+", "bin", "zu",
];

/// Words between such a function word and the capitalized word: `van de Rakt`, `of the Lind`.
const ARTICLES: [&str; 9] = ["the", "la", "der", "den", "de", "het", "el", "los", "les"];

/// Words before a name that do not belong to it.
const LEADS: [&str; 41] = [
    "the",
    "a",
    "an",
    "then",
    "later",
    "but",
    "and",
    "when",
    "after",
    "that",
    "also",
    "mr",
    "mrs",
    "ms",
    "dr",
    "herr",
    "frau",
    "former",
    "current",
    "longtime",
    "new",
    "incumbent",
    "outgoing",
    "its",
    "their",
    "his",
    "her",
    "fellow",
    "long-serving",
    "der",
    "die",
    "das",
    "den",
    "dem",
    "und",
    "because",
    "while",
    "whereas",
    "before",
    "until",
    "once",
];

const PRONOUNS: [&str; 14] = [
    "he", "she", "they", "who", "er", "sie", "him", "her", "ihn", "ihm", "ihr", "whom", "himself", "herself",
];

const COMPANIES: [&str; 14] = [
    "company",
    "firm",
    "group",
    "bank",
    "organisation",
    "organization",
    "corporation",
    "business",
    "agency",
    "club",
    "board",
    "airline",
    "unternehmen",
    "konzern",
];

/// Words between an office and its organisation or place.
pub(super) const OF: [&str; 11] =
    ["of", "at", "for", "bei", "von", "der", "des", "beim", "vom", "with", "in"];

/// Words that introduce the previous holder of an office.
const PREDECESSOR: [&str; 9] = [
    "succeeding",
    "replacing",
    "in place of",
    "taking over from",
    "as successor to",
    "as the successor to",
    "as successor of",
    "als nachfolger von",
    "als nachfolgerin von",
];

impl<'t> Reader<'t, '_> {
    /// True if an item is a common noun such as `company` that refers to the organisation named before.
    pub(super) fn is_company(&self, at: usize) -> bool {
        let word = self.items.get(at).and_then(Item::word);
        word.is_some_and(|word| {
            COMPANIES.contains(&word.lower.as_str()) && (self.german || !word.is_name_like())
        })
    }

    /// Returns the first item at or after `at` that is not a date.
    pub(super) fn behind_dates(&self, at: usize) -> usize {
        at + self.items[at..].iter().take_while(|item| matches!(item, Item::Time(_))).count()
    }

    pub(super) fn begins_with_pronoun(&self) -> bool {
        self.items.iter().take(6).any(|item| PRONOUNS.contains(&item.lower()))
    }

    pub(super) fn first_name(&self) -> Option<String> {
        let first = (0..self.items.len()).find(|at| {
            self.items[*at]
                .word()
                .is_some_and(|word| !word.is_sign() && word.text.starts_with(char::is_uppercase))
        })?;
        let opens = self.items[first].word().is_some_and(|word| is_stop_word(&word.lower));
        if opens {
            None
        } else {
            self.name(first, self.items.len()).map(|(name, _)| name).filter(|name| name.contains(' '))
        }
    }

    /// Returns the name at `from`, or after introductory words there, and the item after it.
    pub(super) fn name(&self, from: usize, to: usize) -> Option<(String, usize)> {
        let mut at = from;
        while at < to && (LEADS.contains(&self.items[at].lower()) || matches!(self.items[at], Item::Time(_)))
        {
            at += 1;
        }
        let start = at;
        let mut end = None;
        while at < to && at - start < MAX_NAME_WORDS {
            let Some(word) = self.items[at].word() else { break };
            let next_is_name = || {
                let next = self.items.get(at + 1).filter(|_| at + 1 < to).and_then(Item::word);
                let behind_article = self.items.get(at + 2).filter(|_| at + 2 < to).and_then(Item::word);
                let article = next.is_some_and(|next| ARTICLES.contains(&next.lower.as_str()));
                next.is_some_and(|next| next.is_name_like())
                    || (article && behind_article.is_some_and(|word| word.is_name_like()))
            };
            if INSIDE.contains(&word.lower.as_str()) && at > start && next_is_name() {
                at += 1;
                continue;
            }
            if self.is_nickname(at, start, to) {
                at += 3;
                continue;
            }
            if word.is_sign() || STOPS.contains(&word.lower.as_str()) && !word.is_name_like() {
                break;
            }
            if !word.is_name_like() {
                // Names such as `metaphacts`, or function words of names in other languages.
                let other = !is_stop_word(&word.lower)
                    && if self.german { next_is_name() && at > start } else { !is_known(&word.lower) };
                let is_adverb = word.lower.ends_with("ly") && word.lower.chars().all(char::is_alphabetic);
                if !other || is_adverb {
                    break;
                }
            }
            at += 1;
            end = Some(at);
        }
        let end = end?;
        let (first, last) = (self.items[start].word()?, self.items[end - 1].word()?);
        let name = self.text[first.range.start..last.range.end].trim_matches(['"', '“', '”', '„', '\'']);
        (!is_stop_word(&name.to_lowercase()) && name.chars().any(char::is_alphanumeric))
            .then(|| (name.to_owned(), end))
    }

    /// True if quotation marks at `at` enclose one word of a name: `Ada "Ace" Kern`.
    fn is_nickname(&self, at: usize, start: usize, to: usize) -> bool {
        let word = |at: usize| self.items.get(at).filter(|_| at < to).and_then(Item::word);
        let is_mark = |at: usize| word(at).is_some_and(|word| matches!(word.text, "\"" | "“" | "”" | "„"));
        let is_name = |at: usize| word(at).is_some_and(|word| word.is_name_like() && !word.is_sign());
        at > start && is_mark(at) && is_name(at + 1) && is_mark(at + 2) && is_name(at + 3)
    }

    /// Returns the person that a range names, or that a pronoun in it refers to.
    pub(super) fn person(&self, range: Range<usize>, memory: &Memory) -> Option<String> {
        let range = self.behind_office(range);
        // `P, a former banker,` and `In 2012, P`: the first part between commas that is a name.
        let mut start = range.start;
        while start < range.end {
            let end = (start..range.end)
                .find(|at| matches!(self.items[*at].lower(), "," | "(" | ")" | ";" | ":"))
                .unwrap_or(range.end);
            let first = (start..end).find(|at| {
                !matches!(self.items[*at], Item::Time(_)) && !LEADS.contains(&self.items[*at].lower())
            });
            if let Some(first) = first {
                if PRONOUNS.contains(&self.items[first].lower()) {
                    let near = self.items[first].lower() == "who" || self.items[first].lower() == "whom";
                    return if near { self.name_before(first) } else { memory.person.clone() };
                }
                let leads_in =
                    OF.contains(&self.items[first].lower()) || STOPS.contains(&self.items[first].lower());
                if !leads_in && let Some((name, after)) = self.name(first, end) {
                    // `O's P`, `the board of O`
                    if matches!(self.items.get(after), Some(Item::Possessive)) && after < end {
                        start = after + 1;
                        continue;
                    }
                    return Some(name);
                }
            }
            start = end + 1;
        }
        None
    }

    /// Returns the name directly before a word such as `who`.
    pub(super) fn name_before(&self, at: usize) -> Option<String> {
        let end = (0..at).rev().find(|at| {
            !matches!(self.items[*at].lower(), "," | "and" | "but")
                && !matches!(self.items[*at], Item::Time(_))
        })? + 1;
        let border = (0..end).rev().find(|at| {
            let item = &self.items[*at];
            item.word().is_none_or(|word| {
                word.is_sign()
                    || STOPS.contains(&word.lower.as_str())
                    || (!word.is_name_like()
                        && !INSIDE.contains(&word.lower.as_str())
                        && is_known(&word.lower))
            })
        });
        self.name(border.map_or(0, |border| border + 1), end).map(|(name, _)| name)
    }

    /// Returns the part of a range after an office that precedes a name, as in `Microsoft CEO Satya Nadella`.
    pub(super) fn behind_office(&self, range: Range<usize>) -> Range<usize> {
        let office = range.clone().rev().find(|at| {
            let named = self.items.get(at + 1).filter(|_| at + 1 < range.end).and_then(Item::word);
            matches!(self.items[*at], Item::Offices(..))
                && named.is_some_and(|word| word.is_name_like() && !word.is_sign())
        });
        office.map_or(range.clone(), |office| office + 1..range.end)
    }

    /// Returns the name that ends directly before `end`.
    pub(super) fn name_ending(&self, end: usize, from: usize) -> Option<String> {
        let mut start = end;
        while start > from {
            let Some(word) = self.items[start - 1].word() else { break };
            let is_name =
                |at: usize| self.items[at].word().is_some_and(|word| word.is_name_like() && !word.is_sign());
            let behind_particle = start > from + 2
                && ARTICLES.contains(&word.lower.as_str())
                && INSIDE.contains(&self.items[start - 2].lower())
                && is_name(start - 3);
            let inside = INSIDE.contains(&word.lower.as_str())
                && start - 1 > from
                && (is_name(start - 2) || behind_particle);
            let unknown =
                !word.is_name_like() && !self.german && !is_known(&word.lower) && !is_stop_word(&word.lower);
            if word.is_sign() && word.text != "&"
                || !(word.is_name_like() || inside || unknown || word.text == "&")
            {
                break;
            }
            start -= 1;
        }
        if start == end { None } else { self.name(start, end).map(|(name, _)| name) }
    }

    /// Returns the previous holder of the office, introduced by words such as `succeeding`.
    pub(super) fn predecessor(&self, range: Range<usize>, memory: &Memory) -> Option<String> {
        for at in range.clone() {
            for phrase in PREDECESSOR {
                let words: Vec<&str> = phrase.split(' ').collect();
                let stands = words
                    .iter()
                    .enumerate()
                    .all(|(i, word)| at + i < range.end && self.items[at + i].lower() == *word);
                if stands {
                    return self.person(at + words.len()..range.end, memory);
                }
            }
            // `from Q` after `took over as CEO of O`
            if self.items[at].lower() == "from"
                || self.german && self.items[at].lower() == "von" && at > range.start
            {
                let of_office = at > 0 && matches!(self.items[at - 1], Item::Offices(..));
                if !of_office || self.items[at].lower() == "from" {
                    let found = self.person(at + 1..range.end, memory);
                    if found.as_ref().is_some_and(|name| name.contains(' ') || name.contains('.'))
                        || self.items[at].lower() == "from"
                    {
                        return found;
                    }
                }
            }
        }
        // `as Q's successor`
        let successor = range
            .clone()
            .find(|at| matches!(self.items[*at].lower(), "successor" | "nachfolger" | "nachfolgerin"))?;
        let owned = (range.start..successor).rev().find(|at| matches!(self.items[*at], Item::Possessive))?;
        self.name_ending(owned, range.start)
    }

    pub(super) fn times(&self, range: Range<usize>) -> Vec<Time> {
        let of_item = |item: &Item<'_>| match item {
            Item::Time(time) => Some(time.clone()),
            Item::Word(_) | Item::Offices(..) | Item::Possessive => None,
        };
        self.items[range].iter().filter_map(of_item).collect()
    }

    pub(super) fn holds(&self, range: Range<usize>, words: &[&str]) -> bool {
        self.items[range].iter().any(|item| words.contains(&item.lower()))
    }
}
