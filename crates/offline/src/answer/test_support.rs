//! Helpers for the tests of several modules.

use super::scored::windows;
use super::{Passage, Reply, Window, reply};

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

/// Returns texts in one line, so that sentences compare alike whether or not they are parts of one quote.
pub(super) fn joined(texts: &[&str]) -> String {
    texts.iter().flat_map(|text| text.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// Checks that the quoted sentences of several texts answer a question.
#[track_caller]
pub(super) fn check_of(texts: &[&str], question: &str, expected: &[&str]) {
    let passages: Vec<Passage<'_>> =
        texts.iter().map(|text| Passage { text, title: "", headings: &[] }).collect();
    let Reply::Answer(quotes) = reply(question, &passages) else { panic!("{question}: no answer") };
    let found: Vec<&str> = quotes.iter().map(|quote| &texts[quote.passage][quote.range.clone()]).collect();
    assert_eq!(joined(&found), joined(expected), "{question}");
}

/// Checks that a text does not answer a question.
#[track_caller]
pub(super) fn check_no_answer_in(text: &str, question: &str) {
    let passages = [Passage { text, title: "", headings: &[] }];
    if let Reply::Answer(quotes) = reply(question, &passages) {
        let texts: Vec<&str> = quotes.iter().map(|quote| &text[quote.range.clone()]).collect();
        panic!("{question}: {texts:?}");
    }
}

/// Checks that the quoted sentences of a text with a title answer a question.
#[track_caller]
pub(super) fn check_in(title: &str, text: &str, question: &str, expected: &[&str]) {
    let passage = Passage { text, title, headings: &[] };
    let reply = reply(question, &[passage]);
    let Reply::Answer(quotes) = &reply else { panic!("{question}: {reply:?}") };
    let texts: Vec<&str> = quotes.iter().map(|quote| &text[quote.range.clone()]).collect();
    assert_eq!(joined(&texts), joined(expected), "{question}");
}

/// Checks the quoted sentences that answer a question from a text, or that none do.
#[track_caller]
pub(super) fn check_reply_of(text: &str, question: &str, expected: Option<&[&str]>) {
    let passages = [Passage { text, title: "", headings: &[] }];
    let reply = reply(question, &passages);
    let found: Option<Vec<&str>> = match &reply {
        Reply::Answer(quotes) => Some(quotes.iter().map(|quote| &text[quote.range.clone()]).collect()),
        Reply::Likely(_) | Reply::Closest(_) | Reply::Nothing => None,
    };
    assert_eq!(found.as_deref().map(joined), expected.map(joined), "{question}: {reply:?}");
}

/// Returns the scores by a model that gives `score` to sentences with `word`, and -6 to all others.
pub(super) fn scores_of(
    question: &str,
    passages: &[Passage<'_>],
    word: &str,
    score: f32,
) -> Vec<(Window, Vec<f32>)> {
    let score_of = |sentence: &String| if sentence.contains(word) { score } else { -6.0 };
    let scored = |window: Window| {
        let scores = window.sentences.iter().map(score_of).collect();
        (window, scores)
    };
    windows(question, passages, false).into_iter().map(scored).collect()
}
