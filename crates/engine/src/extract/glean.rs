//! Gleaning: asks about a chunk again, either always or if the first answer missed names.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use graphloom_core::{ChatMessage, ChatRole, Records};

use super::ExtractSpec;
use super::coverage::{COVERAGE_RULES, Coverage, coverage};
use crate::prompt::{EXTRACT_GLEAN, EXTRACT_MISSED, Prompts};

/// Maximum number of found names to list.
const MAX_FOUND: usize = 60;

/// How often a chunk is asked about again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gleaning {
    /// Once, if the first answer missed names that the passage seems to contain.
    #[default]
    Auto,
    /// This many times, or until nothing new comes, as LightRAG does.
    Passes(u32),
}

impl Gleaning {
    /// Returns the part of the extraction's key.
    pub(super) fn identity(self) -> String {
        match self {
            Self::Auto => format!("auto {COVERAGE_RULES}"),
            Self::Passes(passes) => passes.to_string(),
        }
    }
}

impl fmt::Display for Gleaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Passes(passes) => passes.fmt(f),
        }
    }
}

impl FromStr for Gleaning {
    type Err = std::num::ParseIntError;

    /// Reads `auto` or a number.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            number => number.parse().map(Self::Passes),
        }
    }
}

/// Returns the messages that ask about the chunk again; `None` if it needs no further question.
///
/// - `opening`: the messages of the first question. With [`Gleaning::Auto`], the chunk's message is repeated, followed by the
///   missed and the found names. The earlier answer is not sent again, and the provider's cache of the first question is used.
/// - `so_far`: the messages of the last question and its answer.
/// - `records`: the records of each answer so far, at least one.
pub(super) fn again(
    spec: &ExtractSpec,
    prompts: &Prompts,
    text: &str,
    opening: &[ChatMessage],
    so_far: &[ChatMessage],
    records: &[Records],
) -> Option<Vec<ChatMessage>> {
    let asked_again = records.len().saturating_sub(1);
    match spec.gleaning {
        Gleaning::Passes(most) => {
            let nothing_new = asked_again > 0 && records.last().is_some_and(is_silent);
            let more = u32::try_from(asked_again).is_ok_and(|asked| asked < most) && !nothing_new;
            more.then(|| conversation(spec, prompts, so_far))
        }
        Gleaning::Auto if asked_again > 0 => None,
        Gleaning::Auto => match coverage(text, &records.iter().collect::<Vec<_>>()) {
            Coverage::Enough => None,
            Coverage::Unknown => Some(conversation(spec, prompts, so_far)),
            Coverage::Missed(missed) => Some(naming(spec, prompts, opening, &missed, records)),
        },
    }
}

fn is_silent(records: &Records) -> bool {
    records.entities.is_empty() && records.relations.is_empty()
}

/// Returns the conversation so far, followed by the question for what is missing.
fn conversation(spec: &ExtractSpec, prompts: &Prompts, so_far: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut messages = so_far.to_vec();
    messages.push(ChatMessage::new(
        ChatRole::User,
        prompts.render(EXTRACT_GLEAN, &[("nothing", spec.form.nothing())]),
    ));
    messages
}

/// Returns the first question, followed by the names that it missed.
fn naming(
    spec: &ExtractSpec,
    prompts: &Prompts,
    opening: &[ChatMessage],
    missed: &[String],
    records: &[Records],
) -> Vec<ChatMessage> {
    let mut known = BTreeSet::new();
    let found: Vec<&str> = records
        .iter()
        .flat_map(|records| &records.entities)
        .map(|entity| entity.name.as_str())
        .filter(|name| known.insert(*name))
        .take(MAX_FOUND)
        .collect();
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join("; ") };
    let question = prompts.render(
        EXTRACT_MISSED,
        &[("missed", &missed.join("; ")), ("found", &found), ("nothing", spec.form.nothing())],
    );
    let mut messages = opening.to_vec();
    if let Some(chunk) = messages.last_mut() {
        chunk.content.push_str("\n\n");
        chunk.content.push_str(&question);
    }
    messages
}

#[cfg(test)]
mod tests {
    use graphloom_core::EntityRecord;

    use super::*;

    const TEXT: &str = "Maren Oskoldt led the Larkfen Laboratory in Kelm with Tobias Wren and Ilse Brandt.";

    fn check_again(gleaning: Gleaning, text: &str, answers: &[&[&str]]) -> Option<Vec<ChatMessage>> {
        let entity = |name: &&str| EntityRecord {
            name: (*name).to_owned(),
            kind: "Other".to_owned(),
            description: String::new(),
        };
        let records: Vec<Records> = answers
            .iter()
            .map(|names| Records { entities: names.iter().map(entity).collect(), ..Records::default() })
            .collect();
        let opening = [ChatMessage::new(ChatRole::System, "S"), ChatMessage::new(ChatRole::User, text)];
        let mut said = opening.to_vec();
        for (asked, names) in answers.iter().enumerate() {
            if asked > 0 {
                said.push(ChatMessage::new(ChatRole::User, EXTRACT_GLEAN.body()));
            }
            said.push(ChatMessage::new(ChatRole::Assistant, names.join("\n")));
        }
        let spec = ExtractSpec { gleaning, ..ExtractSpec::default() };
        again(&spec, &Prompts::default(), text, &opening, &said, &records)
    }

    fn messages_of(gleaning: Gleaning, answers: &[&[&str]]) -> Option<usize> {
        check_again(gleaning, TEXT, answers).map(|messages| messages.len())
    }

    #[test]
    fn a_number_sets_the_gleaning_passes_until_nothing_new_is_found() {
        let all: &[&str] = &["Maren Oskoldt", "Larkfen Laboratory", "Kelm", "Tobias Wren", "Ilse Brandt"];
        assert_eq!(messages_of(Gleaning::Passes(0), &[all]), None);
        assert_eq!(messages_of(Gleaning::Passes(2), &[all]), Some(4));
        assert_eq!(messages_of(Gleaning::Passes(2), &[all, &["Wren"]]), Some(6));
        assert_eq!(messages_of(Gleaning::Passes(2), &[all, &[]]), None);
        assert_eq!(messages_of(Gleaning::Passes(2), &[all, &["Wren"], &["x"]]), None);
    }

    #[test]
    fn by_coverage_a_chunk_is_gleaned_once_and_only_for_missed_names() {
        let all: &[&str] = &["Maren Oskoldt", "Larkfen Laboratory", "Kelm", "Tobias Wren", "Ilse Brandt"];
        assert_eq!(messages_of(Gleaning::Auto, &[all]), None);
        assert_eq!(messages_of(Gleaning::Auto, &[&["Kelm"]]), Some(2));
        assert_eq!(messages_of(Gleaning::Auto, &[&["Kelm"], &["Wren"]]), None);
        assert_eq!(check_again(Gleaning::Auto, "玛丽·居里", &[&["居里"]]).map(|m| m.len()), Some(4));
    }

    #[test]
    fn the_gleaning_prompt_starts_like_the_first_and_renders_as_reviewed() {
        let messages = check_again(Gleaning::Auto, TEXT, &[&["Kelm"]]).expect("names are missing");
        assert!(messages[1].content.starts_with(TEXT));
        insta::assert_snapshot!("extract_missed", messages[1].content);
    }

    #[test]
    fn a_gleaning_setting_survives_printing_and_parsing() {
        for (text, gleaning) in
            [("auto", Gleaning::Auto), ("0", Gleaning::Passes(0)), ("2", Gleaning::Passes(2))]
        {
            assert_eq!(text.parse(), Ok(gleaning));
            assert_eq!(gleaning.to_string(), text);
        }
        assert!("often".parse::<Gleaning>().is_err());
    }
}
