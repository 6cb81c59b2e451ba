//! The prompts of querying: one file each under `prompts/`, filled by a strict template.

use graphloom_core::{ChatMessage, ChatRole};

const KEYWORDS: &str = include_str!("../../prompts/keywords.md");
const ANSWER: &str = include_str!("../../prompts/answer.md");
const ANSWER_NAIVE: &str = include_str!("../../prompts/answer_naive.md");

/// Divides the system message from the user message where a file holds both.
const USER_MARK: &str = "\n=== user ===\n";

/// Asks for the keywords of `question`.
pub(super) fn keywords(question: &str) -> Vec<ChatMessage> {
    let (system, user) = body(KEYWORDS).split_once(USER_MARK).unwrap_or((body(KEYWORDS), ""));
    vec![
        ChatMessage::new(ChatRole::System, fill(system, &[])),
        ChatMessage::new(ChatRole::User, fill(user, &[("question", question)])),
    ]
}

/// The instructions for an answer from entities, relations and passages; ends with `context`.
pub(super) fn answer(response_type: &str, context: &str) -> String {
    fill(body(ANSWER), &[("response_type", response_type), ("context", context)])
}

/// The instructions for an answer from passages alone; ends with `context`.
pub(super) fn answer_naive(response_type: &str, context: &str) -> String {
    fill(body(ANSWER_NAIVE), &[("response_type", response_type), ("context", context)])
}

/// A prompt file without its header and final line break.
fn body(file: &'static str) -> &'static str {
    let body =
        file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map_or(file, |(_, body)| body);
    body.trim_end()
}

fn fill(template: &str, variables: &[(&str, &str)]) -> String {
    render(template, variables).expect("every prompt file is rendered by a test")
}

/// Why a template and its variables do not fit each other.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
enum TemplateError {
    #[error("the template names {0:?}, which was not given")]
    Unknown(String),
    #[error("the template does not name {0:?}")]
    Unused(String),
    #[error("a variable is opened and not closed")]
    Open,
}

/// Puts each variable where the template says `{{name}}`, in one pass: values are never read as templates.
fn render(template: &str, variables: &[(&str, &str)]) -> Result<String, TemplateError> {
    let mut text =
        String::with_capacity(template.len() + variables.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut unused: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or(TemplateError::Open)?;
        let (_, value) = variables
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| TemplateError::Unknown(name.to_owned()))?;
        text.push_str(before);
        text.push_str(value);
        unused.retain(|known| *known != name);
        rest = after;
    }
    text.push_str(rest);
    match unused.first() {
        Some(name) => Err(TemplateError::Unused((*name).to_owned())),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_takes_exactly_its_variables_and_reads_no_value_as_template() {
        assert_eq!(render("a {{x}} b", &[("x", "{{y}}")]), Ok("a {{y}} b".to_owned()));
        assert_eq!(render("{{y}}", &[("x", "")]), Err(TemplateError::Unknown("y".to_owned())));
        assert_eq!(render("a", &[("x", "")]), Err(TemplateError::Unused("x".to_owned())));
        assert_eq!(render("a {{x", &[("x", "")]), Err(TemplateError::Open));
    }

    #[test]
    fn headers_name_the_variables_of_their_prompts() {
        for file in [KEYWORDS, ANSWER, ANSWER_NAIVE] {
            let header =
                file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("a header").0;
            let line = |key: &str| header.lines().find_map(|line| line.strip_prefix(key)).expect(key).trim();
            assert!(!line("purpose:").is_empty() && !line("source:").is_empty());
            let variables: Vec<_> = line("variables:").split(", ").map(|name| (name, "x")).collect();
            assert!(render(body(file), &variables).is_ok(), "{variables:?}");
        }
    }
}
