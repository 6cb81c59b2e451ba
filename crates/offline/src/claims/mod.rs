//! Extracts dated claims from a text by rules: who held which office and when, and when things were founded, acquired and so on.
//!
//! A sentence is read as words, dates and offices ([`words`]) and split into parts with one verb each ([`parts`]). The verb
//! determines the roles of the words next to it ([`read`]). What a part omits comes from the parts and sentences before it.

mod acts;
mod chinese;
mod draft;
mod events;
mod names;
mod office;
mod parts;
mod places;
mod read;
mod time;
mod verbs;
mod words;

use std::ops::Range;

use graphloom_core::{ClaimRecord, ClaimStatus, Period};

pub use office::HEAD;
pub use office::{has_one_holder, office_named};
use read::Memory;

use super::languages::Language;
use graphloom_text::{one_line, sentences};

/// Maximum number of claims of one text.
const MAX_CLAIMS: usize = 64;
/// Longest sentence that is read, in bytes; longer ones are tables and lists.
const MAX_SENTENCE_BYTES: usize = 1200;
/// Longest quote that includes the previous sentence, in bytes.
const MAX_QUOTE_BYTES: usize = 600;

/// A claim before its description and quote are added.
struct Statement {
    subject: String,
    object: Option<String>,
    kind: String,
    status: ClaimStatus,
    period: Period,
    /// True if the claim takes names or the office from the previous sentence.
    uses_previous_sentence: bool,
}

/// Returns the dated claims of `text`, in text order. The same text always gives the same claims.
///
/// - Only English, German and Chinese are read. A sentence without a year has no claims.
/// - The quote is the verbatim sentence, preceded by the previous one if names or the office come from there.
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
        let statements = match language {
            Language::Chinese => chinese::read(sentence),
            Language::German => read::read(text, range.clone(), true, &mut memory),
            _ => read::read(text, range.clone(), false, &mut memory),
        };
        for Statement { subject, object, kind, status, period, uses_previous_sentence } in statements {
            let start = (before.as_ref().filter(|_| uses_previous_sentence))
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

/// Returns the offices that a question or another short text names, by their canonical names.
pub fn offices_of(text: &str) -> Vec<String> {
    let items = words::items(text, 0..text.len());
    let named = items.into_iter().filter_map(|item| match item {
        words::Item::Offices(offices) => Some(offices),
        words::Item::Word(_) | words::Item::Time(_) | words::Item::Possessive => None,
    });
    let mut found: Vec<String> = named.flatten().map(|office| office.name).collect();
    found.extend(chinese::offices_of(text));
    found
}

/// Returns the first date in a short text, such as `March 2014`.
pub fn date_in(text: &str) -> Option<graphloom_core::IsoDate> {
    words::items(text, 0..text.len()).into_iter().find_map(|item| match item {
        words::Item::Time(time) => time.date().cloned(),
        words::Item::Word(_) | words::Item::Offices(_) | words::Item::Possessive => None,
    })
}

fn has_year(text: &str) -> bool {
    text.as_bytes().windows(4).any(|bytes| bytes.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests;
