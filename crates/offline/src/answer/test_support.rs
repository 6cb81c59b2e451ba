//! Helpers for the tests of several modules.

use super::{Passage, Reply, reply};

/// Returns the reply to a question from texts without titles, and the texts that it quotes.
pub(super) fn reply_from<'a>(texts: &[&'a str], question: &str) -> (Reply, Vec<&'a str>) {
    let passages: Vec<Passage<'_>> =
        texts.iter().map(|text| Passage { text, title: "", headings: &[] }).collect();
    let reply = reply(question, &passages);
    let quotes = match &reply {
        Reply::Answer(quotes) | Reply::Likely(quotes) | Reply::Closest(quotes) => quotes.as_slice(),
        Reply::Nothing => &[],
    };
    let texts = quotes.iter().map(|quote| &texts[quote.passage][quote.range.clone()]).collect();
    (reply, texts)
}
