//! Reads Jupyter notebooks: prose as Markdown, code and its output between fences.

use serde::Deserialize;
use serde_json::Value;

use super::draft::Draft;
use super::{Body, ParseError, ParseLimits, markdown};

/// The language of code in a notebook that names none.
const NO_LANGUAGE: &str = "text";

/// A notebook of format 4, or of format 3, which has worksheets.
#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    metadata: Value,
    cells: Option<Vec<Cell>>,
    #[serde(default)]
    worksheets: Vec<Worksheet>,
}

#[derive(Deserialize)]
struct Worksheet {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(alias = "input", default)]
    source: Source,
    #[serde(default)]
    level: Option<u8>,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Source,
    #[serde(default)]
    data: Data,
}

#[derive(Deserialize, Default)]
struct Data {
    #[serde(rename = "text/plain", default)]
    plain: Source,
    #[serde(rename = "text/markdown", default)]
    markdown: Source,
}

/// A text as one string, or as its lines with their line ends.
#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Whole(String),
    Lines(Vec<String>),
    Other(serde::de::IgnoredAny),
}

impl Default for Source {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

impl Source {
    fn text(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Lines(lines) => lines.concat(),
            Self::Other(_) => String::new(),
        }
    }
}

/// True if the text is a notebook with cells.
pub(super) fn looks_like(text: &str) -> bool {
    cells_of(text).is_some()
}

/// Returns the cells in order. Errors, pictures and pages in the output are left out.
/// The title is the first heading of level 1.
pub(super) fn parse(source: &str, limits: &ParseLimits) -> Result<Body, ParseError> {
    let (cells, language) = cells_of(source).unwrap_or_default();
    let mut draft = Draft::new(limits.max_bytes);
    for cell in cells {
        let text = cell.source.text();
        match cell.cell_type.as_str() {
            "markdown" => draft.append(markdown::parse(&text), 0),
            "heading" => draft.heading(cell.level.unwrap_or(1), &text),
            "code" => draft.append(code(&language, &text), 0),
            _ => draft.paragraph(&text),
        }
        for output in cell.outputs {
            let markdown_text = output.data.markdown.text();
            if markdown_text.trim().is_empty() {
                draft.append(code(NO_LANGUAGE, &(output.text.text() + &output.data.plain.text())), 0);
            } else {
                draft.append(markdown::parse(&markdown_text), 0);
            }
        }
        if draft.is_full() {
            break;
        }
    }
    let mut body = draft.finish()?;
    body.title = body.headings.iter().find(|heading| heading.level == 1).map(|heading| heading.title.clone());
    Ok(body)
}

/// Returns the cells of a notebook, and the language of its code; `None` if the source is not a notebook.
fn cells_of(source: &str) -> Option<(Vec<Cell>, String)> {
    let notebook: Notebook = serde_json::from_str(source).ok()?;
    let older = notebook.worksheets.into_iter().flat_map(|sheet| sheet.cells);
    let cells: Vec<Cell> = notebook.cells.unwrap_or_else(|| older.collect());
    (!cells.is_empty()).then(|| (cells, language_of(&notebook.metadata)))
}

/// Returns the programming language of a notebook.
fn language_of(metadata: &Value) -> String {
    let named = [("language_info", "name"), ("kernelspec", "language")];
    let language = named.iter().find_map(|(group, name)| metadata[group][name].as_str());
    let is_word = |language: &&str| {
        !language.is_empty() && language.chars().all(|c| c.is_alphanumeric() || "+-#_.".contains(c))
    };
    language.filter(is_word).unwrap_or(NO_LANGUAGE).to_owned()
}

/// Returns code between fences; nothing if it is blank.
fn code(language: &str, code: &str) -> Body {
    let code = graphloom_text::sanitize(code);
    let code = code.trim_end().trim_start_matches('\n');
    if code.is_empty() {
        return Body::default();
    }
    // A fence inside the code does not end it.
    let fence = if code.contains("```") { "~~~" } else { "```" };
    Body::verbatim(format!("{fence}{language}\n{code}\n{fence}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Body {
        assert!(looks_like(source));
        parse(source, &ParseLimits::default()).expect("a short notebook")
    }

    #[test]
    fn cells_are_prose_and_code_with_its_output() {
        let body = read(
            r###"{"cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# Pipes\n", "\n", "They *leak*."]},
                {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": ["leak = 1\n", "print(leak)"],
                 "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                             {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": ["<Figure>"]}, "metadata": {}},
                             {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]}]},
                {"cell_type": "markdown", "source": "## Valves\nOld."},
                {"cell_type": "raw", "source": "Raw words."}],
              "metadata": {"kernelspec": {"language": "julia"}, "language_info": {"name": "python"}}, "nbformat": 4}"###,
        );
        assert_eq!(
            body.text,
            "# Pipes\n\nThey leak.\n\n```python\nleak = 1\nprint(leak)\n```\n\n```text\n1\n```\n\n```text\n<Figure>\n```\n\n\
             ## Valves\nOld.\n\nRaw words.\n"
        );
        assert_eq!(body.title.as_deref(), Some("Pipes"));
        let headings: Vec<&str> =
            body.headings.iter().map(|heading| &body.text[heading.offset..][..5]).collect();
        assert_eq!(headings, ["# Pip", "## Va"]);
    }

    #[test]
    fn an_older_notebook_has_worksheets() {
        let body = read(
            r#"{"metadata": {}, "nbformat": 3, "worksheets": [{"cells": [
                {"cell_type": "heading", "level": 2, "source": ["Pipes"]}, {"cell_type": "code", "input": ["a = '```'"]}]}]}"#,
        );
        assert_eq!(body.text, "## Pipes\n\n~~~text\na = '```'\n~~~\n");
    }

    #[test]
    fn other_json_is_not_a_notebook() {
        for source in ["{\"cells\": 3}", "{\"cells\": []}", "[1]", "{broken"] {
            assert!(!looks_like(source), "{source}");
        }
    }
}
