//! Prompts: files with a header for people and a body with `{{variables}}` for models. A user can replace each built-in prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{ChatMessage, ChatRole};

/// Separates the system message from the user message in a file that has both.
const USER_MARK: &str = "\n=== user ===\n";

/// A prompt from `engine/prompts/*.md`.
///
/// The file starts with a header between two `---` lines: purpose, variables, what a custom version must contain, and source. The
/// body follows. Every body starts with its constant part, so that providers can cache it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    name: &'static str,
    file: &'static str,
}

macro_rules! prompts {
    ($($(#[$about:meta])* $constant:ident = $name:literal,)*) => {
        $($(#[$about])* pub const $constant: Prompt =
            Prompt { name: $name, file: include_str!(concat!("../prompts/", $name, ".md")) };)*

        /// All prompts, by name.
        pub const ALL: &[Prompt] = &[$($constant),*];
    };
}

prompts! {
    /// Answers from entities, relations and passages.
    ANSWER = "answer",
    /// Answers from passages alone.
    ANSWER_NAIVE = "answer_naive",
    /// Answers from points extracted from reports and passages.
    ANSWER_POINTS = "answer_points",
    /// Adds the user's own instructions to an answer.
    ANSWER_USER_PROMPT = "answer_user_prompt",
    /// Writes the report of a community.
    COMMUNITY_REPORT = "community_report",
    /// Holds the document in which passages are contextualized.
    CONTEXT_DOCUMENT = "context_document",
    /// Asks where in its document a passage stands.
    CONTEXT_PASSAGE = "context_passage",
    /// Splits a question into parts.
    DECOMPOSE = "decompose",
    /// Extracts points from reports or passages, and asks what to look for next.
    DRIFT_POINTS = "drift_points",
    /// Asks for the claims of a chunk.
    EXTRACT_CLAIMS = "extract_claims",
    /// Continues an extraction that was cut off.
    EXTRACT_CONTINUE = "extract_continue",
    /// Asks for what an extraction missed.
    EXTRACT_GLEAN = "extract_glean",
    /// Asks for the records of a chunk as JSON.
    EXTRACT_JSON_SYSTEM = "extract_json_system",
    /// Asks for names that an extraction missed.
    EXTRACT_MISSED = "extract_missed",
    /// Asks for the records of a chunk.
    EXTRACT_SYSTEM = "extract_system",
    /// Holds the chunk.
    EXTRACT_USER = "extract_user",
    /// Selects the facts that help to answer a question.
    FILTER_FACTS = "filter_facts",
    /// Checks claims against a text.
    JUDGE_CHECK = "judge_check",
    /// Splits a text into claims.
    JUDGE_CLAIMS = "judge_claims",
    /// Compares two answers.
    JUDGE_PAIRWISE = "judge_pairwise",
    /// Finds the keywords of a question.
    KEYWORDS = "keywords",
    /// Finds the keywords of a follow-up question.
    KEYWORDS_FOLLOW_UP = "keywords_follow_up",
    /// Extracts points from reports.
    MAP_POINTS = "map_points",
    /// Rates the relevance of reports.
    RATE_REPORTS = "rate_reports",
    /// Suggests questions.
    SUGGEST_QUESTIONS = "suggest_questions",
    /// Writes one description from many.
    SUMMARIZE = "summarize",
    /// Summarizes similar passages.
    TREE_SUMMARY = "tree_summary",
}

impl Prompt {
    /// Returns the prompt with this name.
    pub fn find(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|prompt| prompt.name == name)
    }

    /// Returns its name: the file name without `.md`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns the whole file, as a starting point for a custom version.
    pub fn file(self) -> &'static str {
        self.file
    }

    /// Returns what it is used for.
    pub fn purpose(self) -> &'static str {
        self.header_line("purpose")
    }

    /// Returns the variables that a custom version may use.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        self.header_line("variables").split(", ").filter(|name| *name != "none")
    }

    /// Returns the strings that every custom version must contain verbatim.
    pub fn needs(self) -> impl Iterator<Item = &'static str> {
        self.header_line("needs").split(", ").filter(|needed| *needed != "nothing")
    }

    /// Returns the built-in body, with its variables unfilled.
    pub fn body(self) -> &'static str {
        self.split().1
    }

    fn header_line(self, key: &str) -> &'static str {
        let mut lines = self.split().0.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap_or_default().trim()
    }

    fn split(self) -> (&'static str, &'static str) {
        let parts = self.file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        parts.map_or(("", self.file.trim()), |(header, body)| (header, body.trim()))
    }
}

/// Size limit of a custom prompt, in bytes.
pub const MAX_PROMPT_BYTES: usize = 64 << 10;

/// The prompts in use: the built-in ones, some replaced by the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    own: Arc<BTreeMap<&'static str, String>>,
    language: Option<Arc<str>>,
}

impl Prompts {
    /// Replaces `prompt` with the custom version in `file`. A header like that of the built-in prompts is optional.
    pub fn replace(&mut self, prompt: Prompt, file: &str) -> Result<(), PromptError> {
        let body = checked(prompt, file)?;
        Arc::make_mut(&mut self.own).insert(prompt.name, body);
        Ok(())
    }

    /// Requests descriptions, summaries and answers in this language, such as `French`, instead of the language of the text or
    /// question. Names stay as they are in the documents.
    pub fn set_language(&mut self, language: &str) {
        self.language = Some(language.into());
    }

    /// Returns the requested language; `None` if output follows the language of the text or question.
    pub fn chosen_language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// Returns the requested language, or `otherwise` without one. `names` says where names are taken from.
    pub(crate) fn language(&self, otherwise: &str, names: &str) -> String {
        self.language.as_ref().map_or(otherwise.to_owned(), |language| format!("{language}{names}"))
    }

    /// True if the user replaced `prompt`.
    pub fn is_own(&self, prompt: Prompt) -> bool {
        self.own.contains_key(prompt.name)
    }

    /// True if the version of `prompt` in use contains the variable.
    pub fn uses(&self, prompt: Prompt, variable: &str) -> bool {
        variables_in(self.body(prompt)).is_ok_and(|used| used.iter().any(|(name, _)| *name == variable))
    }

    /// Returns the body in use, with its variables unfilled. It is part of the cache key of every answer to the prompt.
    pub fn body(&self, prompt: Prompt) -> &str {
        self.own.get(prompt.name).map_or(prompt.body(), String::as_str)
    }

    /// Returns the prompt with all variables replaced: the constant part as system message, the varying part as user message.
    pub fn messages(&self, prompt: Prompt, variables: &[(&str, &str)]) -> Vec<ChatMessage> {
        let body = self.body(prompt);
        let (system, user) = body.split_once(USER_MARK).unwrap_or((body, ""));
        vec![
            ChatMessage::new(ChatRole::System, fill(system, variables)),
            ChatMessage::new(ChatRole::User, fill(user, variables)),
        ]
    }

    /// Returns the body in use with all variables replaced. Values are inserted verbatim, never read as templates.
    pub(crate) fn render(&self, prompt: Prompt, variables: &[(&str, &str)]) -> String {
        fill(self.body(prompt), variables)
    }
}

/// Why a text is not a valid version of a prompt.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub struct PromptError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong, as shown to users.
    pub what: String,
    /// How to fix it.
    pub remedy: String,
}

/// Keys of a header.
const HEADER_KEYS: [&str; 4] = ["purpose", "variables", "needs", "source"];

/// Returns the body of a custom version of `prompt`, or why it is invalid.
fn checked(prompt: Prompt, file: &str) -> Result<String, PromptError> {
    let fault = |line: usize, what: String, remedy: String| PromptError { line, what, remedy };
    if file.len() > MAX_PROMPT_BYTES {
        let what = format!("the prompt has {} bytes, more than {MAX_PROMPT_BYTES}", file.len());
        return Err(fault(1, what, "shorten it; it is sent with every question".to_owned()));
    }
    let text = file.strip_prefix('\u{feff}').unwrap_or(file).replace("\r\n", "\n");
    let lines: Vec<&str> = text.lines().collect();
    let is_border = |line: &&str| line.trim_end() == "---";
    let mut body_at = 0;
    if lines.first().is_some_and(is_border) {
        let Some(end) = lines.iter().skip(1).position(is_border) else {
            let remedy = "end the header with a line ---, or leave it out".to_owned();
            return Err(fault(1, "the header that begins here is never closed".to_owned(), remedy));
        };
        body_at = end + 2;
        for (at, line) in lines[1..=end].iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let key = line.split_once(':').map(|(key, _)| key.trim());
            if !key.is_some_and(|key| HEADER_KEYS.contains(&key)) {
                let what = format!("{:?} is not a header line", clip(line));
                let remedy =
                    format!("header lines look like purpose: ...; the keys are {}", HEADER_KEYS.join(", "));
                return Err(fault(at + 2, what, remedy));
            }
        }
    }
    let body = lines[body_at..].join("\n");
    let line_of = |at: usize| body_at + 1 + body[..at].matches('\n').count();
    if body.trim().is_empty() {
        let remedy = "write the prompt, or remove the file to use ours".to_owned();
        return Err(fault(body_at + 1, "the prompt is empty".to_owned(), remedy));
    }
    let used = variables_in(&body).map_err(|at| {
        let remedy = "close it with }}".to_owned();
        fault(line_of(at), "a variable is opened with {{ and not closed".to_owned(), remedy)
    })?;
    let known: BTreeSet<&str> = prompt.variables().collect();
    if let Some((name, at)) = used.iter().find(|(name, _)| !known.contains(name)) {
        let remedy = match known.is_empty() {
            true => "this prompt has no variables".to_owned(),
            false => format!("the variables are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
        };
        return Err(fault(line_of(*at), format!("unknown variable {{{{{}}}}}", clip(name)), remedy));
    }
    for needed in prompt.needs() {
        if !body.contains(needed) {
            let remedy = format!("insert {needed} as in the built-in prompt {}", prompt.name);
            return Err(fault(body_at + 1, format!("{needed} is missing"), remedy));
        }
    }
    Ok(body.trim().to_owned())
}

/// Returns the start of a text from a user's file, short enough for a message.
fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Returns `template` with all variables replaced.
pub(crate) fn fill(template: &str, variables: &[(&str, &str)]) -> String {
    let mut text =
        String::with_capacity(template.len() + variables.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, name, after)) = next_variable(rest) {
        let value = variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        text.push_str(before);
        // Unknown variables do not occur: custom prompts are checked when they are set, and the built-in ones by a test.
        text.push_str(value.unwrap_or_default());
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Returns the text before the first variable, its name, and the text after it.
fn next_variable(template: &str) -> Option<(&str, &str, &str)> {
    let (before, after) = template.split_once("{{")?;
    let (name, after) = after.split_once("}}")?;
    Some((before, name.trim(), after))
}

/// Returns the variables of a template with their byte positions, or the position of one that is not closed.
fn variables_in(template: &str) -> Result<Vec<(&str, usize)>, usize> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((before, name, after)) = next_variable(rest) {
        found.push((name, template.len() - rest.len() + before.len()));
        rest = after;
    }
    match rest.find("{{") {
        Some(at) => Err(template.len() - rest.len() + at),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_in_values_are_not_replaced() {
        assert_eq!(fill("a {{x}} b {{ y }}", &[("x", "{{y}}"), ("y", "z")]), "a {{y}} b z");
    }

    #[test]
    fn every_prompt_file_has_a_header_that_names_its_variables_and_needs() {
        for prompt in ALL {
            for key in HEADER_KEYS {
                assert!(!prompt.header_line(key).is_empty(), "{} says no {key}", prompt.name);
            }
            let used: BTreeSet<&str> =
                variables_in(prompt.body()).expect("closed").into_iter().map(|(name, _)| name).collect();
            assert_eq!(used, prompt.variables().collect(), "{}", prompt.name);
            for needed in prompt.needs() {
                assert!(prompt.body().contains(needed), "{} needs {needed}", prompt.name);
            }
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts")).expect("the folder");
        assert_eq!(files.count(), ALL.len(), "every file is known");
    }

    fn check_own(prompt: Prompt, file: &str) -> Result<String, (usize, String, String)> {
        let mut prompts = Prompts::default();
        match prompts.replace(prompt, file) {
            Ok(()) => Ok(prompts.body(prompt).to_owned()),
            Err(PromptError { line, what, remedy }) => {
                assert_eq!(prompts.body(prompt), prompt.body(), "our prompt is unchanged");
                Err((line, what, remedy))
            }
        }
    }

    #[test]
    fn a_custom_prompt_replaces_ours_with_or_without_a_header() {
        for prompt in ALL {
            assert_eq!(check_own(*prompt, prompt.file()).as_deref(), Ok(prompt.body()));
        }
        assert_eq!(
            check_own(EXTRACT_USER, "Read:\r\n{{ text }} {{text}}\r\n").as_deref(),
            Ok("Read:\n{{ text }} {{text}}")
        );
        let mut prompts = Prompts::default();
        prompts.replace(EXTRACT_USER, "---\npurpose: ours\n---\nRead {{text}}").expect("a version");
        assert_eq!(prompts.render(EXTRACT_USER, &[("text", "x"), ("section", "y")]), "Read x");
        assert!(prompts.is_own(EXTRACT_USER) && !prompts.uses(EXTRACT_USER, "section"));
    }

    #[test]
    fn errors_in_a_custom_prompt_name_the_line_and_a_remedy() {
        let fault = |line: usize, what: &str, remedy: &str| Err((line, what.to_owned(), remedy.to_owned()));
        let user = |file: &str| check_own(EXTRACT_USER, file);
        assert_eq!(
            user("---\npurpose: x\nRead {{text}}"),
            fault(
                1,
                "the header that begins here is never closed",
                "end the header with a line ---, or leave it out"
            )
        );
        assert_eq!(
            user("---\nabout x\n---\n{{text}}"),
            fault(
                2,
                "\"about x\" is not a header line",
                "header lines look like purpose: ...; the keys are purpose, variables, needs, source"
            )
        );
        assert_eq!(
            user("---\nsource: x\n---\n"),
            fault(4, "the prompt is empty", "write the prompt, or remove the file to use ours")
        );
        assert_eq!(
            user("\nRead {{text}}\n{{chunk}}"),
            fault(3, "unknown variable {{chunk}}", "the variables are section, text")
        );
        assert_eq!(
            user("{{text}}\nand {{section"),
            fault(2, "a variable is opened with {{ and not closed", "close it with }}")
        );
        assert_eq!(
            user("---\nsource: x\n---\nRead."),
            fault(4, "{{text}} is missing", "insert {{text}} as in the built-in prompt extract_user")
        );
        assert_eq!(
            check_own(EXTRACT_SYSTEM, "More?"),
            fault(
                1,
                "<|COMPLETE|> is missing",
                "insert <|COMPLETE|> as in the built-in prompt extract_system"
            )
        );
        assert!(user(&"{{text}}".repeat(MAX_PROMPT_BYTES)).is_err());
    }
}
