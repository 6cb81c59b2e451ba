//! Reads reStructuredText into readable text. Every line stays on its line of the source.

mod inline;
mod table;

use std::collections::BTreeMap;

use super::{Body, Heading};
use inline::plain;

/// Characters that underline a heading.
const ADORNMENTS: &str = "=-~^\"'`#*+.:_<>!$%&(),/;?@[]{}|\\";
/// Minimum characters of an underline, unless the title is shorter.
const MIN_ADORNMENT: usize = 4;
/// The language of code that names none.
const NO_LANGUAGE: &str = "text";
/// The language of formulas.
const MATH: &str = "math";

/// Returns the words of reStructuredText, each on its line of the source, with headings as `## Title`.
///
/// - Literal blocks, and directives for code, become code between fences. Other directives keep their words, without options.
/// - Roles, references, emphasis and substitutions become their words; targets, comments and lists of contents are left out.
/// - Rows of tables name their columns.
pub(super) fn parse(source: &str) -> Body {
    let lines: Vec<&str> = source.lines().collect();
    let mut reader = Reader {
        out: vec![String::new(); lines.len()],
        substitutions: substitutions(&lines),
        levels: Vec::new(),
        headings: Vec::new(),
        lines,
    };
    reader.read();
    reader.finish()
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    /// The text so far, line by line.
    out: Vec<String>,
    /// The replacements of `|name|`.
    substitutions: BTreeMap<&'a str, &'a str>,
    /// The styles of headings, outermost first: the character, and whether a line above has it too.
    levels: Vec<(char, bool)>,
    /// Headings with their lines.
    headings: Vec<(usize, u8, String)>,
}

/// How a directive is read.
enum Kind {
    /// Its content is code in this language; `None` takes the argument as the language.
    Code(Option<&'static str>),
    /// Its argument and content are not text.
    LeftOut,
    /// Its argument is not text; the content is.
    Content,
    /// A picture: its `:alt:` says what it shows. The content, a caption, is text.
    Picture,
    /// Its argument is the title of a table, whose rows are a list or separated values.
    Table,
    /// Its argument is code, such as the signature of a function; the content is text.
    Signature,
    /// Its argument and content are text.
    Text,
}

fn kind_of(directive: &str) -> Kind {
    match directive {
        "code" | "code-block" | "sourcecode" | "highlight" => Kind::Code(None),
        "parsed-literal" | "literalinclude" | "prompt" | "productionlist" | "testcode" | "testoutput"
        | "testsetup" | "testcleanup" | "doctest" | "ipython" | "jupyter-execute" => {
            Kind::Code(Some(NO_LANGUAGE))
        }
        "math" => Kind::Code(Some(MATH)),
        "csv-table" | "list-table" => Kind::Table,
        "graphviz" | "digraph" | "graph" | "mermaid" | "uml" | "plantuml" | "plot" => {
            Kind::Code(Some("text"))
        }
        "image" | "figure" => Kind::Picture,
        "toctree"
        | "contents"
        | "sectnum"
        | "section-numbering"
        | "index"
        | "include"
        | "raw"
        | "meta"
        | "module"
        | "currentmodule"
        | "default-role"
        | "role"
        | "default-domain"
        | "tabularcolumns"
        | "target-notes"
        | "bibliography"
        | "highlightlang"
        | "inheritance-diagram" => Kind::LeftOut,
        "only" | "ifconfig" | "container" | "rst-class" | "cssclass" => Kind::Content,
        _ if directive.starts_with("auto") => Kind::LeftOut,
        "class" | "function" | "method" | "classmethod" | "staticmethod" | "attribute" | "data"
        | "exception" | "decorator" | "property" | "option" | "cmdoption" | "program" | "envvar"
        | "confval" | "describe" | "object" | "macro" | "struct" | "enum" | "enumerator" | "type"
        | "member" | "var" | "opcode" => Kind::Signature,
        _ => Kind::Text,
    }
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut at = 0;
        while at < self.lines.len() {
            at = if self.is_blank(at) {
                at + 1
            } else if let Some(next) = self.heading(at) {
                next
            } else if let Some(markup) = self.lines[at].trim_start().strip_prefix("..")
                && (markup.is_empty() || markup.starts_with(char::is_whitespace))
            {
                self.explicit_markup(at, markup.trim())
            } else if let Some(next) =
                table::read(&self.lines, at, &mut self.out, |cell| plain(cell, &self.substitutions))
            {
                next
            } else if self.lines[at].trim_start().starts_with(">>> ") {
                let end = self.paragraph_end(at);
                self.fence(at, end, "python");
                end
            } else {
                self.paragraph(at)
            };
        }
    }

    fn finish(self) -> Body {
        let mut body = Body { lines_match_source: true, ..Body::default() };
        let mut headings = self.headings.into_iter().peekable();
        for (at, line) in self.out.iter().enumerate() {
            if let Some((_, level, title)) = headings.next_if(|(line, ..)| *line == at) {
                if level == 1 && body.title.is_none() {
                    body.title = Some(title.clone());
                }
                body.push_heading(Heading { offset: body.text.len(), level, title });
            }
            body.text.push_str(line.trim_end());
            body.text.push('\n');
        }
        body
    }

    fn is_blank(&self, at: usize) -> bool {
        self.lines.get(at).is_none_or(|line| line.trim().is_empty())
    }

    fn indent(&self, at: usize) -> usize {
        self.lines[at].len() - self.lines[at].trim_start().len()
    }

    /// Reads a heading, with its line and the line above it if there is one, or a line that only divides. Returns the next line.
    fn heading(&mut self, at: usize) -> Option<usize> {
        let (over, title_at) = match adornment(self.lines[at]) {
            Some(_) if self.is_blank(at + 1) => {
                return (self.lines[at].len() >= MIN_ADORNMENT).then_some(at + 1);
            }
            Some(c) => (Some(c), at + 1),
            None => (None, at),
        };
        let under = self.lines.get(title_at + 1).and_then(|line| adornment(line))?;
        let title = self.lines[title_at].trim();
        let length = self.lines[title_at + 1].trim_end().chars().count();
        let is_long = length >= MIN_ADORNMENT.min(title.chars().count());
        // Only a title with a line above it may be indented.
        let is_heading = is_long
            && over.is_none_or(|over| over == under)
            && (over.is_some() || self.indent(title_at) == 0);
        if !is_heading || adornment(title).is_some() {
            return None;
        }
        let style = (under, over.is_some());
        let known = self.levels.iter().position(|level| *level == style);
        let level = known.unwrap_or_else(|| {
            self.levels.push(style);
            self.levels.len() - 1
        });
        let level = (level + 1).min(6) as u8;
        let title = plain(title, &self.substitutions).split_whitespace().collect::<Vec<_>>().join(" ");
        if !title.is_empty() {
            self.out[title_at] = format!("{} {title}", "#".repeat(usize::from(level)));
            self.headings.push((title_at, level, title.replace('`', "")));
        }
        Some(title_at + 2)
    }

    /// Reads a directive, target, note or comment, whose text after `..` is `markup`. Returns the next line to read.
    fn explicit_markup(&mut self, at: usize, markup: &str) -> usize {
        let indent = self.lines[at][..self.indent(at)].to_owned();
        let directive = markup.split_once("::").filter(|(name, _)| is_name(name));
        let Some((name, argument)) = directive else {
            if markup.starts_with('_') || markup.starts_with('|') {
                return at + 1;
            }
            if let Some((_, words)) = markup.strip_prefix('[').and_then(|note| note.split_once("] ")) {
                self.out[at] = indent + &plain(words, &self.substitutions);
                return at + 1;
            }
            return self.block_end(at);
        };
        let argument = argument.trim();
        let name = name.rsplit(':').next().unwrap_or(name);
        match kind_of(name) {
            Kind::LeftOut => return self.block_end(at),
            Kind::Code(Some(MATH)) if !argument.is_empty() => {
                self.out[at] = format!("{indent}$${argument}$$");
                let (options, end) = (self.options_end(at), self.block_end(at));
                if let Some(first) = (options..end).find(|&line| !self.is_blank(line)) {
                    self.fence(first, end, MATH);
                }
                return end;
            }
            Kind::Table => {
                let (options, end) = (self.options_end(at), self.block_end(at));
                let words = |cell: &str| plain(cell, &self.substitutions);
                self.out[at] = indent + &words(argument);
                if name == "list-table" {
                    table::read_list(&self.lines, options..end, &mut self.out, words);
                } else {
                    table::read_values(&self.lines, at + 1..options, options..end, &mut self.out, words);
                }
                return end.max(options);
            }
            Kind::Code(language) => {
                let language = language.unwrap_or(if is_name(argument) { argument } else { NO_LANGUAGE });
                let end = self.block_end(at);
                let options = self.options_end(at);
                if let Some(first) = (options..end).find(|&line| !self.is_blank(line)) {
                    let last = (first..end).rfind(|&line| !self.is_blank(line)).unwrap_or(first);
                    self.out[at] = format!("{indent}```{language}");
                    self.copy(first..last + 1);
                    self.close_fence(last + 1);
                }
                return end;
            }
            Kind::Content | Kind::Picture => {}
            Kind::Signature => self.out[at] = format!("{indent}`{argument}`"),
            Kind::Text => self.out[at] = indent + &plain(argument, &self.substitutions),
        }
        let end = self.options_end(at);
        for line in at + 1..end {
            if let Some(alt) =
                self.lines[line].trim().strip_prefix(":alt:").filter(|alt| alt.trim().contains(' '))
            {
                self.out[line] = format!("[{}]", alt.trim());
            }
        }
        end
    }

    /// Returns the line after the options of the directive at `at`.
    fn options_end(&self, at: usize) -> usize {
        let is_option = |line: usize| {
            !self.is_blank(line)
                && self.indent(line) > self.indent(at)
                && self.lines[line].trim().strip_prefix(':').is_some_and(|option| option.contains(':'))
        };
        (at + 1..).find(|&line| !is_option(line)).unwrap_or(at + 1)
    }

    /// Returns the line after the block that is indented below line `at`, without the blank lines that follow.
    fn block_end(&self, at: usize) -> usize {
        self.indented_end(at + 1, self.indent(at))
    }

    /// Returns the line after the lines from `first` on that are blank or indented by more than `indent`, without the blank lines
    /// that follow.
    fn indented_end(&self, first: usize, indent: usize) -> usize {
        let inside =
            (first..self.lines.len()).take_while(|&line| self.is_blank(line) || self.indent(line) > indent);
        inside.filter(|&line| !self.is_blank(line)).last().map_or(first, |last| last + 1)
    }

    fn paragraph_end(&self, at: usize) -> usize {
        (at..self.lines.len()).find(|&line| self.is_blank(line)).unwrap_or(self.lines.len())
    }

    /// Reads a paragraph, and the literal block that it announces with `::`. Returns the next line.
    fn paragraph(&mut self, at: usize) -> usize {
        let begins_other = |line: usize| {
            self.lines[line].trim_start().starts_with(".. ")
                || self.lines.get(line + 1).is_some_and(|next| {
                    adornment(next).is_some() && self.indent(line) == 0 && !self.is_blank(line)
                })
        };
        let end = self.paragraph_end(at);
        let end = (at + 1..end).find(|&line| begins_other(line)).unwrap_or(end);
        let text = self.lines[at..end].join("\n");
        let literal = text.trim_end().ends_with("::");
        let text = if literal {
            let text = text.trim_end().trim_end_matches(':');
            if text.is_empty() || text.ends_with(char::is_whitespace) {
                text.to_owned()
            } else {
                format!("{text}:")
            }
        } else {
            text
        };
        for (line, words) in (at..end).zip(plain(&text, &self.substitutions).split('\n')) {
            self.out[line] = field(words);
        }
        let block = (end..self.lines.len()).find(|&line| !self.is_blank(line));
        match block.filter(|&block| literal && self.indent(block) > self.indent(at) && block > end) {
            Some(first) => {
                let last = self.indented_end(first, self.indent(at));
                self.fence(first, last, NO_LANGUAGE);
                last
            }
            None => end,
        }
    }

    /// Writes lines as code, with fences on the lines before and after them; without fences if one of these has text.
    fn fence(&mut self, first: usize, end: usize, language: &str) {
        self.copy(first..end);
        if first > 0 && self.out[first - 1].is_empty() && self.is_blank(end) {
            self.out[first - 1] = format!("```{language}");
            self.close_fence(end);
        }
    }

    /// Closes a fence on line `at`, or at the end of the line before if it has text.
    fn close_fence(&mut self, at: usize) {
        match self.out.get_mut(at) {
            Some(line) => *line = "```".to_owned(),
            None => self.out.push("```".to_owned()),
        }
    }

    fn copy(&mut self, range: std::ops::Range<usize>) {
        for line in range {
            self.out[line] = self.lines[line].to_owned();
        }
    }
}

/// Returns the character of a line that consists of it alone: an underline or a division.
fn adornment(line: &str) -> Option<char> {
    let line = line.trim_end();
    let first = line.chars().next().filter(|c| ADORNMENTS.contains(*c))?;
    (line.len() > 1 && line != "::" && line != ".." && line.chars().all(|c| c == first)).then_some(first)
}

/// True for the name of a directive or language: `note`, `py:function`, `code-block`.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '+'))
}

/// Returns a line with the mark of a field in words: `Author: Ada` for `:Author: Ada`.
fn field(line: &str) -> String {
    let (indent, bare) = line.split_at(line.len() - line.trim_start().len());
    match bare.strip_prefix(':').and_then(|field| field.split_once(": ")) {
        Some((name, value)) if !name.is_empty() && !name.contains(['`', ':']) => {
            format!("{indent}{name}: {value}")
        }
        Some(_) | None => line.to_owned(),
    }
}

/// Returns the replacement that the source defines for `|name|`.
fn substitutions<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let defined = lines.iter().filter_map(|line| {
        let (name, directive) = line.trim().strip_prefix(".. |")?.split_once('|')?;
        let words = directive.trim().strip_prefix("replace::").unwrap_or_default();
        Some((name, words.trim()))
    });
    defined.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks that every line of a document is the expected one.
    #[track_caller]
    fn check_rst(source: &str, expected: &str) -> Body {
        let body = parse(source);
        assert_eq!(body.text.trim_end_matches('\n'), expected.trim_end_matches('\n'));
        body
    }

    #[test]
    fn underlined_titles_are_headings_by_the_order_of_their_styles() {
        let body = check_rst(
            "=====\nPipes\n=====\n\nOld ones\n--------\n\nThey leak.\n\n----\n\nNew\n^^^\n\nMore\n----\n",
            "\n# Pipes\n\n\n## Old ones\n\n\nThey leak.\n\n\n\n### New\n\n\n## More\n",
        );
        assert_eq!(body.title.as_deref(), Some("Pipes"));
        let headings: Vec<_> = body.headings.iter().map(|h| (h.level, &body.text[h.offset..][..4])).collect();
        assert_eq!(headings, [(1, "# Pi"), (2, "## O"), (3, "### "), (2, "## M")]);
    }

    #[test]
    fn notes_keep_their_text_and_options_targets_and_comments_are_removed() {
        check_rst(
            ".. _pipes:\n\n.. note:: Wash\n   your hands.\n\n.. A comment\n   goes on.\n\n.. figure:: a.png\n   :alt: A long pipe\n   :width: 3\n\n   The pipe.\n\n.. toctree::\n   :maxdepth: 2\n\n   a\n\nEnd.\n\n.. [1] A source.\n",
            "\n\nWash\n   your hands.\n\n\n\n\n\n[A long pipe]\n\n\n   The pipe.\n\n\n\n\n\n\nEnd.\n\nA source.\n",
        );
    }

    #[test]
    fn literal_blocks_and_code_are_put_between_fences() {
        check_rst(
            "Call\nit::\n\n    let a = *b*\n\n    go\n\nThen ::\n\n  x\n\n.. code-block:: python\n   :linenos:\n\n   a = b\n\nEnd.\n\n>>> a\n1\n",
            "Call\nit:\n```text\n    let a = *b*\n\n    go\n```\nThen\n```text\n  x\n```\n```python\n\n\n   a = b\n```\nEnd.\n```python\n>>> a\n1\n```\n",
        );
    }

    #[test]
    fn formulas_behind_their_directive_and_below_it_are_kept() {
        check_rst(
            ".. math:: F = m a\n\nso\n\n.. math:: a\n\n   b\n\n.. math::\n\n   c\n",
            "$$F = m a$$\n\nso\n\n$$a$$\n```math\n   b\n```\n```math\n\n   c\n```\n",
        );
    }

    #[test]
    fn signatures_are_code_and_their_descriptions_are_read() {
        check_rst(
            ".. py:function:: leak(rate)\n   :module: mill\n\n   Leaks at *rate*.\n\n   :param rate: how fast\n",
            "`leak(rate)`\n\n\n   Leaks at rate.\n\n   param rate: how fast\n",
        );
    }

    #[test]
    fn substitutions_replace_their_names() {
        check_rst(".. |mill| replace:: Old Mill\n\nThe |mill| leaks.\n", "\n\nThe Old Mill leaks.\n");
    }

    proptest! {
        #[test]
        fn any_markup_keeps_its_lines(text in "(word[a-z]|[ _*>`|:\n-]|\n\n|\\.\\. |::|----\n|====|   |:a:`|\\+-+|\\| ){0,40}") {
            let body = parse(&text);
            // Code at the end of the text gets an end fence.
            prop_assert!(body.text.lines().count() <= text.lines().count() + 1);
            for heading in &body.headings {
                prop_assert!(body.text[heading.offset..].starts_with('#'));
            }
        }
    }
}
