//! The `.env` file of a folder.

use std::collections::BTreeMap;
use std::path::Path;

use super::keys::KEYS;
use crate::error::{Fault, Result};

/// The name of the file.
pub(super) const FILE: &str = ".env";

/// The variables of a `.env` file.
#[derive(Debug, Default)]
pub(super) struct DotEnv {
    pub(super) variables: BTreeMap<String, String>,
}

impl DotEnv {
    /// Reads the file of a folder; without the file there are no variables. Other programs read this file too, so a malformed
    /// line is ignored unless it sets a variable that Graphloom reads.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Ok(Self::default());
        }
        let bytes = std::fs::read(&path)
            .map_err(|error| Fault::usage(format!("reading {}: {error}", path.display())))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
        let mut well_formed: Vec<&str> = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let count = assignment_lines(&lines[at..]);
            if let (None, Some(name)) = (count, variable_of_ours(lines[at])) {
                // Without the line, which may contain an API key.
                let what =
                    format!("reading {}: line {}: {name} has a malformed value", path.display(), at + 1);
                return Err(Fault::usage(what)
                    .help(format!("put the value in quotes: {name}=\"...\""))
                    .into());
            }
            well_formed.extend(&lines[at..at + count.unwrap_or_default()]);
            at += count.unwrap_or(1);
        }
        Ok(Self { variables: parsed(&well_formed).filter_map(std::result::Result::ok).collect() })
    }

    /// Makes relative paths relative to the file's folder.
    pub(super) fn read_paths_from(&mut self, folder: &Path) {
        for key in KEYS {
            if let Some(value) = self.variables.get_mut(&key.variable()) {
                key.read_path_from(folder, value);
            }
        }
    }
}

/// Returns how many lines the assignment at the start of `lines` has; `None` if its first line is malformed.
fn assignment_lines(lines: &[&str]) -> Option<usize> {
    let is_well_formed = |count: usize| parsed(&lines[..count]).all(|variable| variable.is_ok());
    if is_well_formed(1) {
        return Some(1);
    }
    // Only a value that begins with a quote can have several lines: the apostrophe in `it's` opens no quote.
    let quote = lines[0].split_once('=')?.1.trim_start().chars().next().filter(|c| "\"'".contains(*c))?;
    let escaped = format!("\\{quote}");
    let closing = lines[1..].iter().position(|line| line.replace(&escaped, "").contains(quote))?;
    let count = closing + 2;
    is_well_formed(count).then_some(count)
}

fn parsed(lines: &[&str]) -> impl Iterator<Item = dotenvy::Result<(String, String)>> {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    dotenvy::from_read_iter(std::io::Cursor::new(text))
}

/// Returns the variable that a line of a `.env` file names, if Graphloom reads it.
fn variable_of_ours(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let name = line.split(|c: char| c == '=' || c.is_whitespace()).find(|word| !word.is_empty())?;
    KEYS.iter().any(|key| key.variable() == name || key.foreign.contains(&name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(text: &str) -> Result<DotEnv> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE), text).expect("written");
        DotEnv::read(folder.path())
    }

    #[test]
    fn lines_of_other_programs_may_be_malformed() {
        let text = "APP_NAME=My App\nDB_PASSWORD=it's\nGRAPHLOOM_LLM=ollama:one\nPATH_WIN=C:\\Users\\x\nFOO-BAR=1\nFOO\n\
                    KEY=\"first\nGRAPHLOOM_LLM=ollama:quoted\nlast\"\nOPEN='no end\n# it's\nexport GRAPHLOOM_EMBEDDER=\"ollama:two\"";
        let DotEnv { variables } = check_read(text).expect("readable");
        assert_eq!(variables["GRAPHLOOM_LLM"], "ollama:one");
        assert_eq!(variables["GRAPHLOOM_EMBEDDER"], "ollama:two");
    }

    #[test]
    fn a_malformed_variable_of_ours_is_reported_with_its_line_and_without_its_value() {
        for line in ["OPENAI_API_KEY=very secret", "export OPENAI_API_KEY=very's", "OPENAI_API_KEY"] {
            let error = check_read(&format!("FOO\n{line}\n")).expect_err("malformed");
            let text = error.to_string();
            assert!(text.ends_with("line 2: OPENAI_API_KEY has a malformed value"), "{text}");
            assert_eq!(error.remedy().as_deref(), Some("put the value in quotes: OPENAI_API_KEY=\"...\""));
        }
    }
}
