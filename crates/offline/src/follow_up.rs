//! Rewrites a follow-up question as a standalone question, by rules.

use std::collections::BTreeSet;

use graphloom_core::{ChatMessage, ChatRole, EntityKey};
use harper_brill::UPOS;

use super::lexicon::{is_generic, is_stop_word};
use super::phrase::{Phrase, PhraseKind, phrases};
use super::token::{Token, tokens};
use graphloom_text::{entity_key, sentences};

/// Maximum number of names that a question borrows.
const MAX_BORROWED_NAMES: usize = 4;

/// Number of earlier questions, with their answers, that are searched for names. The latest one with names lends them.
const MAX_TURNS_BACK: usize = 3;

/// Characters read from the beginning of a message, where the important words are.
const MAX_READ_CHARS: usize = 2000;

/// Start of the reference list of an answer. Titles in it are not subjects of the conversation.
const REFERENCES: &str = "### References";

/// Returns `question` as one would ask it without the conversation; `None` if it is complete or the conversation cannot
/// complete it.
///
/// - A pronoun without an antecedent in the question borrows the names of the latest turn that has any:
///   `When was she born? (Ada Lovelace)`.
/// - A question that only changes the name (`What about London?`) borrows the themes of the previous question.
/// - A question without content words (`Why?`) is appended to the previous question.
///
/// Questions in languages other than English count as complete. Names are borrowed only if one is clearly missing, but then
/// rather too many than too few: they are search words, not the answer.
pub fn standalone(question: &str, history: &[ChatMessage]) -> Option<String> {
    let question = question.trim();
    let own = Words::of(question);
    let missing = own.missing()?;
    let previous = history.iter().rev().find(|message| message.role == ChatRole::User).map(read)?;
    let previous = previous.trim();
    match missing {
        Missing::Referent => with_names(question, question, &own.names(), history),
        Missing::Theme => {
            let (themes, _) = super::keywords(previous);
            let names = Words::of(previous).keys();
            let themes: Vec<String> = themes
                .into_iter()
                .filter(|theme| key(theme).is_none_or(|key| !names.contains(&key)))
                .collect();
            (!themes.is_empty()).then(|| format!("{question} ({})", themes.join(", ")))
        }
        Missing::Everything if previous.is_empty() => None,
        Missing::Everything => {
            let both = format!("{previous} {question}");
            let before = Words::of(previous);
            match before.missing() {
                Some(_) => with_names(&both, previous, &before.names(), history).or(Some(both)),
                None => Some(both),
            }
        }
    }
}

/// Appends the names that the conversation lends to `text`, in brackets; `None` if it lends none.
fn with_names(text: &str, question: &str, own: &[String], history: &[ChatMessage]) -> Option<String> {
    let mut taken: BTreeSet<EntityKey> = own.iter().filter_map(|name| key(name)).collect();
    taken.extend(key(question));
    let names = borrowed(history, &mut taken);
    (!names.is_empty()).then(|| format!("{text} ({})", names.join(", ")))
}

/// What a question lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// The antecedent of a pronoun.
    Referent,
    /// What to ask about the names in it.
    Theme,
    /// Everything.
    Everything,
}

/// The words and names of a question.
struct Words<'a> {
    tokens: Vec<Token<'a>>,
    names: Vec<Phrase>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let tokens = sentences(text).into_iter().flat_map(|range| tokens(text, range)).collect();
        let mut names: Vec<Phrase> = phrases(text).into_iter().filter(is_name).collect();
        names.sort_by_key(|phrase| phrase.range.start);
        Self { tokens, names }
    }

    fn names(&self) -> Vec<String> {
        self.names.iter().map(|phrase| phrase.text.clone()).collect()
    }

    fn keys(&self) -> BTreeSet<EntityKey> {
        self.names.iter().filter_map(|phrase| key(&phrase.text)).collect()
    }

    fn missing(&self) -> Option<Missing> {
        let word = |at: usize| self.tokens.get(at).map_or("", |token| token.lower.as_str());
        let content = self.tokens.iter().filter(|token| !is_generic(&token.lower)).count();
        let swaps =
            (matches!(word(0), "what" | "how") && word(1) == "about") || matches!(word(0), "and" | "or");
        if (0..self.tokens.len()).any(|at| self.points_back(at)) {
            return Some(Missing::Referent);
        }
        if content == 0 && !self.tokens.is_empty() && self.names.is_empty() {
            return Some(Missing::Everything);
        }
        let named = self.names.iter().map(|phrase| phrase.text.split_whitespace().count()).sum::<usize>();
        (swaps && !self.names.is_empty() && content <= named).then_some(Missing::Theme)
    }

    /// True if the word at `at` is a pronoun without an antecedent before it in the question.
    fn points_back(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        if self.names.iter().any(|name| name.range.start < token.start) {
            return false;
        }
        let before = at.checked_sub(1).map_or("", |at| self.tokens[at].lower.as_str());
        let next = self.tokens.get(at + 1);
        let inverted = is_auxiliary(before);
        let has_noun = || self.tokens[..at].iter().any(may_be_antecedent);
        match token.lower.as_str() {
            "he" | "she" | "him" | "her" | "his" | "hers" | "himself" | "herself" => true,
            "it" => !self.is_expletive(at) && (inverted || !has_noun()),
            "they" => inverted || !has_noun(),
            "its" | "them" | "their" | "theirs" | "itself" | "themselves" => !has_noun(),
            "this" | "that" | "these" | "those" => {
                let stands_alone =
                    !self.opens_noun(at + 1) && !next.is_some_and(|next| is_pronoun(&next.lower));
                stands_alone && (inverted || is_preposition(before)) && self.names.is_empty()
            }
            "there" => next.is_none() && at > 0 && !inverted && self.names.is_empty(),
            _ => false,
        }
    }

    /// True if a noun phrase begins at `at`, possibly with adjectives and numbers.
    fn opens_noun(&self, at: usize) -> bool {
        let describes = |token: &&Token<'_>| matches!(token.tag, UPOS::ADJ | UPOS::NUM);
        let noun = self.tokens.iter().skip(at).find(|token| !describes(token));
        noun.is_some_and(|token| matches!(token.tag, UPOS::NOUN | UPOS::PROPN) && !is_stop_word(&token.lower))
    }

    /// True if an `it` refers to nothing, as in `is it true that`, or a later name explains it.
    fn is_expletive(&self, at: usize) -> bool {
        let adjective = self.tokens.get(at + 1).is_some_and(|token| token.tag == UPOS::ADJ);
        let opens =
            |token: &Token<'_>| matches!(token.lower.as_str(), "that" | "to" | "for" | "if" | "whether");
        (adjective && self.tokens.get(at + 2).is_some_and(opens)) || !self.names.is_empty()
    }
}

/// Returns the names of the latest turn that has any besides those in `taken`, the user's names first.
fn borrowed(history: &[ChatMessage], taken: &mut BTreeSet<EntityKey>) -> Vec<String> {
    let mut end = history.len();
    for _ in 0..MAX_TURNS_BACK {
        let Some(start) = history[..end].iter().rposition(|message| message.role == ChatRole::User) else {
            break;
        };
        let mut names = Vec::new();
        for message in &history[start..end] {
            let text = read(message);
            let mut found: Vec<Phrase> = phrases(&text).into_iter().filter(is_name).collect();
            // A question is short: keep its names in text order. For an answer, keep the order of likelihood.
            if message.role == ChatRole::User {
                found.sort_by_key(|phrase| phrase.range.start);
            }
            for phrase in found {
                let room = names.len() < MAX_BORROWED_NAMES;
                if let (true, Some(key)) = (room, key(&phrase.text))
                    && taken.insert(key)
                {
                    names.push(phrase.text);
                }
            }
        }
        if !names.is_empty() {
            return names;
        }
        end = start;
    }
    Vec::new()
}

/// Returns the beginning of a message without its reference list.
fn read(message: &ChatMessage) -> String {
    let text = message.content.split(REFERENCES).next().unwrap_or_default();
    text.chars().take(MAX_READ_CHARS).collect()
}

fn key(name: &str) -> Option<EntityKey> {
    entity_key(name)
}

fn is_name(phrase: &Phrase) -> bool {
    match phrase.kind {
        PhraseKind::Name | PhraseKind::Quoted => true,
        PhraseKind::Heading | PhraseKind::Date | PhraseKind::Quantity | PhraseKind::NounPhrase => false,
    }
}

/// True if a later word of the question may refer to this noun.
fn may_be_antecedent(token: &Token<'_>) -> bool {
    matches!(token.tag, UPOS::NOUN | UPOS::PROPN) && !is_generic(&token.lower)
}

fn is_pronoun(word: &str) -> bool {
    matches!(word, "he" | "she" | "it" | "they" | "we" | "you" | "i" | "one" | "ones")
}

fn is_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "is" | "are" | "was" | "were" | "do" | "does" | "did" | "can" | "could" | "will" | "would" | "should"
    )
}

fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "about" | "of" | "for" | "with" | "in" | "on" | "to" | "like" | "after" | "before" | "by" | "from"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOLD: [(ChatRole, &str); 2] = [
        (ChatRole::User, "Who taught Ada Lovelace mathematics?"),
        (ChatRole::Assistant, "Mary Somerville taught her [1].\n\n### References\n\n* [1] The Weir Papers"),
    ];

    fn history(turns: &[(ChatRole, &str)]) -> Vec<ChatMessage> {
        turns.iter().map(|(role, content)| ChatMessage::new(*role, *content)).collect()
    }

    #[track_caller]
    fn check_standalone(question: &str, expected: Option<&str>) {
        assert_eq!(standalone(question, &history(&TOLD)).as_deref(), expected, "{question}");
    }

    #[test]
    fn pronouns_get_the_names_of_the_latest_turn() {
        for question in [
            "When was she born?",
            "Did she meet anybody?",
            "What role did it play?",
            "Who was her teacher?",
            "How did they meet?",
            "Why was that important?",
            "Who else lives there?",
            "Tell me more about that",
        ] {
            let expected = format!("{question} (Ada Lovelace, Mary Somerville)");
            check_standalone(question, Some(&expected));
        }
        check_standalone(
            "Did she meet Charles Babbage?",
            Some("Did she meet Charles Babbage? (Ada Lovelace, Mary Somerville)"),
        );
    }

    #[test]
    fn a_standalone_question_is_unchanged() {
        for question in [
            "When was Ada Lovelace born?",
            "Did Ada Lovelace say what she wrote?",
            "Which companies published their results?",
            "Is it true that Babbage built the engine?",
            "Is it possible to grow wheat on acid soil?",
            "How does soil acidity change the yield of wheat?",
            "What is the capital of France?",
            "Which laboratories are there in Kellmere?",
            "What happened this year in the valley?",
            "And who designed the Analytical Engine?",
            "Wann wurde sie geboren?",
            "她什么时候出生？",
        ] {
            check_standalone(question, None);
        }
        assert_eq!(standalone("When was she born?", &[]), None);
        assert_eq!(standalone("When was she born?", &history(&[(ChatRole::User, "hello")])), None);
    }

    #[test]
    fn a_question_with_another_name_gets_the_theme_of_the_conversation() {
        check_standalone(
            "What about Charles Babbage?",
            Some("What about Charles Babbage? (taught, mathematics)"),
        );
    }

    #[test]
    fn a_question_without_content_words_gets_the_previous_question() {
        check_standalone("Why?", Some("Who taught Ada Lovelace mathematics? Why?"));
        let mut turns = TOLD.to_vec();
        turns.push((ChatRole::User, "When did she die?"));
        assert_eq!(
            standalone("Why?", &history(&turns)).as_deref(),
            Some("When did she die? Why? (Ada Lovelace, Mary Somerville)")
        );
    }

    #[test]
    fn a_turn_without_names_uses_the_names_of_the_turn_before() {
        let mut turns = TOLD.to_vec();
        turns.extend([(ChatRole::User, "thanks a lot"), (ChatRole::Assistant, "you are welcome")]);
        let found = standalone("When was she born?", &history(&turns));
        assert_eq!(found.as_deref(), Some("When was she born? (Ada Lovelace, Mary Somerville)"));
    }

    proptest! {
        #[test]
        fn any_conversation_is_accepted(question in any::<String>(), answer in any::<String>()) {
            standalone(&question, &history(&[(ChatRole::User, &answer), (ChatRole::Assistant, &answer)]));
        }
    }
}
