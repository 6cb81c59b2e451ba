//! Dated claims of a text by rules: who held which office and when, and when things were founded, acquired and so on.
//!
//! A sentence is read as words, dates and offices ([`words`]), cut into parts with one verb each ([`parts`]), and the verb
//! tells what the parts beside it are ([`read`]). What a part leaves out comes from the parts and sentences before it.

mod acts;
mod chinese;
mod draft;
mod events;
mod names;
mod office;
mod parts;
mod places;
mod read;
mod verbs;
mod when;
mod words;

use std::ops::Range;

use graphloom_core::{ClaimRecord, ClaimStatus, Period};

pub use office::HEAD;
pub use office::{has_one_holder, office_named};
use read::Memory;

use super::languages::Language;
use graphloom_text::{one_line, sentences};

/// Claims of one text, at most.
const MAX_CLAIMS: usize = 64;
/// Longest sentence that is read, in bytes; longer ones are tables and lists.
const MAX_SENTENCE_BYTES: usize = 1200;
/// Longest quote, in bytes, that takes in the sentence before.
const MAX_QUOTE_BYTES: usize = 600;

/// A claim with the bytes that state it.
struct Statement {
    subject: String,
    object: Option<String>,
    kind: String,
    status: ClaimStatus,
    period: Period,
    /// Whether the claim takes names or the office from the sentence before.
    leans_on_before: bool,
}

/// The dated claims of `text`, in order; the same for the same text.
///
/// - English, German and Chinese are read. A sentence without a year claims nothing.
/// - The quote is the sentence verbatim, with the one before it where names or the office come from there.
pub fn claims(text: &str) -> Vec<ClaimRecord> {
    let mut found: Vec<ClaimRecord> = Vec::new();
    if !has_year(text) {
        return found;
    }
    let language = Language::of(text);
    let mut memory = Memory::default();
    let mut before: Option<Range<usize>> = None;
    for range in sentences(text) {
        let sentence = &text[range.clone()];
        if sentence.len() > MAX_SENTENCE_BYTES {
            continue;
        }
        let stated = match language {
            Language::Chinese => chinese::read(sentence),
            Language::German => read::read(text, range.clone(), true, &mut memory),
            _ => read::read(text, range.clone(), false, &mut memory),
        };
        for Statement { subject, object, kind, status, period, leans_on_before } in stated {
            let start = (before.as_ref().filter(|_| leans_on_before))
                .map(|before| before.start)
                .filter(|start| range.end - start <= MAX_QUOTE_BYTES)
                .unwrap_or(range.start);
            let (subject, object) = (one_line(&subject), object.map(|object| one_line(&object)));
            if period.is_unknown() || subject.is_empty() || object.as_ref() == Some(&subject) {
                continue;
            }
            let claim = ClaimRecord {
                subject,
                object,
                kind,
                status,
                period,
                description: one_line(sentence),
                quote: text[start..range.end].to_owned(),
            };
            if !found.contains(&claim) && found.len() < MAX_CLAIMS {
                found.push(claim);
            }
        }
        before = Some(range);
    }
    found
}

/// The offices that a question or another short text names, each by its one name.
pub fn offices_of(text: &str) -> Vec<String> {
    let items = words::items(text, 0..text.len());
    let named = items.into_iter().filter_map(|item| match item {
        words::Item::Offices(offices) => Some(offices),
        words::Item::Word(_) | words::Item::When(_) | words::Item::Possessive => None,
    });
    let mut found: Vec<String> = named.flatten().map(|office| office.name).collect();
    found.extend(chinese::offices_of(text));
    found
}

/// The first date that a short text names, such as `March 2014`.
pub fn date_in(text: &str) -> Option<graphloom_core::IsoDate> {
    words::items(text, 0..text.len()).into_iter().find_map(|item| match item {
        words::Item::When(when) => when.date().cloned(),
        words::Item::Word(_) | words::Item::Offices(_) | words::Item::Possessive => None,
    })
}

fn has_year(text: &str) -> bool {
    text.as_bytes().windows(4).any(|bytes| bytes.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests;
