//! Prompt files: a header for people, a body with `{{variables}}` for models.

/// A prompt from `engine/prompts/*.md`.
///
/// The file starts with a header between two `---` lines that states purpose, variables and source; the body follows.
/// The constant part comes first in every body, so that providers can cache it.
#[derive(Debug, Clone, Copy)]
pub struct Prompt {
    file: &'static str,
}

impl Prompt {
    /// The prompt in this file's text.
    pub const fn new(file: &'static str) -> Self {
        Self { file }
    }

    /// The body, its variables unfilled. It is part of every key that the prompt's answers are kept under.
    pub fn body(self) -> &'static str {
        let body = self.file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        body.map_or(self.file, |(_, body)| body).trim()
    }

    /// The body with every variable replaced; values are put in verbatim and never read as templates.
    pub(crate) fn render(self, variables: &[(&str, &str)]) -> String {
        fill(self.body(), variables)
    }
}

/// `template` with every variable replaced.
pub(crate) fn fill(template: &str, variables: &[(&str, &str)]) -> String {
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
    fn every_prompt_file_has_a_header_that_names_its_variables() {
        let files = [
            include_str!("../prompts/answer.md"),
            include_str!("../prompts/answer_naive.md"),
            include_str!("../prompts/answer_user_prompt.md"),
            include_str!("../prompts/extract_continue.md"),
            include_str!("../prompts/extract_glean.md"),
            include_str!("../prompts/extract_missed.md"),
            include_str!("../prompts/extract_system.md"),
            include_str!("../prompts/extract_user.md"),
            include_str!("../prompts/keywords.md"),
            include_str!("../prompts/keywords_follow_up.md"),
            include_str!("../prompts/summarize.md"),
        ];
        for file in files {
            let header =
                file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("a header").0;
            let line = |key: &str| header.lines().find_map(|line| line.strip_prefix(key)).expect(key).trim();
            assert!(!line("purpose:").is_empty() && !line("source:").is_empty());
            let names = line("variables:").split(", ").filter(|name| *name != "none");
            let variables: Vec<_> = names.map(|name| (name, "x")).collect();
            assert!(render(Prompt::new(file).body(), &variables).is_ok(), "{variables:?}");
        }
    }
}
