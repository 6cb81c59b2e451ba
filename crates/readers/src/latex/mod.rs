//! Reads LaTeX into readable text. Every line stays on its line of the source.

mod commands;
mod macros;

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::rows::Rows;
use super::{Body, Heading};
use commands::{Effect, effect_of};
use macros::expanded;

/// Maximum bytes of a formula inside a line. A lone `$` is a sign.
const MAX_FORMULA_BYTES: usize = 1000;
/// Maximum bytes of an argument that is left out.
const MAX_ARGUMENT_BYTES: usize = 20_000;

/// The language of displayed formulas.
const MATH: &str = "math";
/// Environments whose content is code.
const CODE: [&str; 8] =
    ["Verbatim", "algorithmic", "alltt", "filecontents", "lstlisting", "minted", "tikzpicture", "verbatim"];
/// Environments whose rows have cells.
const TABLES: [&str; 5] = ["array", "longtable", "tabular", "tabularx", "tabulary"];

/// Returns the words of LaTeX, each on its line of the source, with headings as `## Title`. The title is that of the document.
///
/// - Commands that the document defines are replaced by their words; others give the words of their arguments. Comments,
///   definitions, references, citations and lengths are left out, and of what precedes the document only title, authors and
///   date are read.
/// - Formulas in lines stay; displayed formulas and listings become code between fences. Rows of tables name their columns.
pub(super) fn parse(source: &str) -> Body {
    let source = &*expanded(source);
    let mut reader = Reader {
        source,
        at: 0,
        out: String::with_capacity(source.len()),
        groups: Vec::new(),
        in_preamble: source.contains("\\begin{document}"),
        table: None,
        headings: Vec::new(),
        comments: Vec::new(),
        title: None,
    };
    reader.read(source.len());
    reader.finish()
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    /// The text so far. It has as many line ends as the source up to `at`.
    out: String,
    /// What ends each open group.
    groups: Vec<Close>,
    in_preamble: bool,
    /// The open table, and where its current row begins in the text.
    table: Option<(Rows, usize)>,
    /// Where headings begin in the text, with their levels and titles.
    headings: Vec<(usize, (u8, String))>,
    /// Where lines with only comments are in the text.
    comments: Vec<usize>,
    title: Option<String>,
}

/// Moves words of the line after `comments` into these lines, if a paragraph goes on over them: it does in LaTeX, but a blank line
/// would end it.
fn bridge(lines: &mut [String], comments: Range<usize>) {
    let is_text = |line: &String| !line.is_empty() && !line.starts_with(['#', '`', '-']);
    let before = comments.start.checked_sub(1).and_then(|at| lines.get(at));
    let next = lines.get(comments.end).filter(|next| is_text(next)).cloned().unwrap_or_default();
    let mut words = next.splitn(comments.len() + 1, ' ');
    let goes_on = before.is_some_and(is_text)
        && comments.clone().all(|at| lines[at].is_empty())
        && next.matches(' ').count() >= comments.len();
    for (at, word) in (comments.start..=comments.end).zip(&mut words).filter(|_| goes_on) {
        word.clone_into(&mut lines[at]);
    }
}

/// What the end of a group writes.
enum Close {
    Nothing,
    Text(&'static str),
    /// The end of a heading that begins at this byte, and whether it is the title of the document.
    Heading {
        offset: usize,
        level: u8,
        is_title: bool,
    },
}

impl Reader<'_> {
    /// Reads up to byte `end`.
    fn read(&mut self, end: usize) {
        while self.at < end
            && let Some(c) = self.source[self.at..].chars().next()
        {
            self.at += c.len_utf8();
            match c {
                '%' => self.skip_line(),
                '\\' => self.command(),
                '{' if self.is_silent() => {
                    self.at -= 1;
                    self.skip_group('{', '}');
                }
                '{' => self.groups.push(Close::Nothing),
                '}' => self.close_group(),
                '$' => self.formula(),
                '&' if self.table.is_some() => self.out.push('\t'),
                '&' => {}
                '~' => self.push(" "),
                '`' if self.take("`") => self.push("“"),
                '\'' if self.take("'") => self.push("”"),
                '-' if self.take("--") => self.push("—"),
                '-' if self.take("-") => self.push("–"),
                '\n' => self.out.push('\n'),
                c => self.push(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    fn finish(mut self) -> Body {
        while !self.groups.is_empty() {
            self.close_group();
        }
        let mut lines: Vec<String> = Vec::new();
        let mut line_starts = Vec::new();
        let (mut at, mut in_code) = (0, false);
        for line in self.out.split_inclusive('\n') {
            line_starts.push(at);
            at += line.len();
            let is_fence = line.starts_with("```");
            lines.push(if in_code && !is_fence { line.trim_end() } else { line.trim() }.to_owned());
            in_code ^= is_fence;
        }
        let line_of = |at: usize| line_starts.partition_point(|start| *start <= at).saturating_sub(1);
        for run in self.comments.chunk_by(|a, b| line_of(*a) + 1 == line_of(*b)) {
            bridge(&mut lines, line_of(run[0])..line_of(run[run.len() - 1]) + 1);
        }
        let mut body = Body { title: self.title.take(), lines_match_source: true, ..Body::default() };
        let mut headings = self.headings.iter().map(|(at, heading)| (line_of(*at), heading)).peekable();
        for (at, line) in lines.iter().enumerate() {
            while let Some((_, (level, title))) = headings.next_if(|(line, _)| *line <= at) {
                // A heading in the middle of a line is part of its text.
                let offset = body.text.len();
                let is_first = body.headings.last().is_none_or(|last| last.offset < offset);
                if line.starts_with('#') && !title.is_empty() && is_first {
                    body.push_heading(Heading { offset, level: *level, title: title.clone() });
                }
            }
            body.text.push_str(line);
            body.text.push('\n');
        }
        body
    }

    /// True before the document, outside of its title.
    fn is_silent(&self) -> bool {
        self.in_preamble && self.groups.is_empty()
    }

    /// Writes words without line ends.
    fn push(&mut self, words: &str) {
        if self.is_silent() {
            return;
        }
        let is_after_space = self.out.is_empty() || self.out.ends_with([' ', '\n', '\t']);
        if words == " " && is_after_space {
            return;
        }
        self.out.push_str(words);
    }

    /// Consumes `mark` if it comes next.
    fn take(&mut self, mark: &str) -> bool {
        let found = self.source[self.at..].starts_with(mark);
        self.at += if found { mark.len() } else { 0 };
        found
    }

    /// Moves to byte `to`, and keeps the line ends between.
    fn skip_to(&mut self, to: usize) {
        let lines = self.source[self.at..to].matches('\n').count();
        self.out.extend(std::iter::repeat_n('\n', lines));
        self.at = to;
    }

    /// Skips a comment.
    fn skip_line(&mut self) {
        if self.out.trim_end_matches(' ').ends_with('\n') {
            self.comments.push(self.out.len());
        }
        self.at = self.source[self.at..].find('\n').map_or(self.source.len(), |end| self.at + end);
    }

    /// Skips white space and comments in front of an argument, if an argument with this bracket follows.
    fn finds(&mut self, open: char) -> bool {
        let rest = &self.source[self.at..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let found = rest[blank..].starts_with(open);
        if found {
            self.at += blank;
        }
        found
    }

    /// Returns the end of the group in brackets that begins at the current byte, after its bracket.
    fn group_end(&self, open: char, close: char) -> Option<usize> {
        group_end(self.source, self.at, open, close)
    }

    /// Skips a group in brackets. A group that never ends is not one.
    fn skip_group(&mut self, open: char, close: char) {
        match self.group_end(open, close) {
            Some(end) => self.skip_to(end),
            None => self.at += open.len_utf8(),
        }
    }

    /// Skips all arguments that follow.
    fn skip_arguments(&mut self) {
        loop {
            if self.finds('[') {
                self.skip_group('[', ']');
            } else if self.finds('{') {
                self.skip_group('{', '}');
            } else {
                break;
            }
        }
    }

    /// Skips the arguments of a command, and the name that it defines: `\def\name{x}`.
    fn leave_out(&mut self, command: &str) {
        if matches!(command, "def" | "let") || command.ends_with("command") {
            let rest = self.source[self.at..].trim_start_matches('\\');
            let name = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '@');
            self.at = self.source.len() - name.len();
        }
        self.skip_arguments();
    }

    fn skip_options(&mut self) {
        while self.finds('[')
            && let Some(end) = self.group_end('[', ']')
        {
            self.skip_to(end);
        }
    }

    /// Reads a formula inside a line verbatim, with its dollar signs; a single dollar sign otherwise.
    fn formula(&mut self) {
        if self.is_silent() {
            return;
        }
        let start = self.at - 1;
        let mark = if self.take("$") { "$$" } else { "$" };
        let limit = self.source.floor_char_boundary(self.at + MAX_FORMULA_BYTES);
        let inside = &self.source[self.at..limit];
        let end = inside.match_indices(mark).map(|(end, _)| end).find(|&end| !inside[..end].ends_with('\\'));
        match end.filter(|&end| !inside[..end].contains("\n\n")) {
            Some(end) => {
                self.at += end + mark.len();
                self.out.push_str(&self.source[start..self.at]);
            }
            None => self.out.push_str(mark),
        }
    }

    fn close_group(&mut self) {
        match self.groups.pop() {
            Some(Close::Text(words)) => self.out.push_str(words),
            Some(Close::Heading { offset, level, is_title }) => {
                let title = self.out[offset..].trim_start_matches('#').replace('`', "");
                let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
                if is_title {
                    self.title = Some(title.clone()).filter(|title| !title.is_empty());
                }
                self.headings.push((offset, (level, title)));
            }
            Some(Close::Nothing) | None => {}
        }
    }

    /// Reads a command whose backslash has been read.
    fn command(&mut self) {
        let rest = &self.source[self.at..];
        let name: &str =
            &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len()];
        if name.is_empty() {
            return self.sign();
        }
        self.at += name.len();
        self.take("*");
        let is_title = matches!(name, "title" | "author" | "date" | "subtitle" | "institute");
        if self.is_silent() && !is_title && name != "begin" {
            return self.leave_out(name);
        }
        match effect_of(name) {
            Effect::LeaveOut => {
                self.leave_out(name);
                // `as shown in~\cite{x}.`
                if self.source[self.at..].starts_with(['.', ',', ';', ':', ')', '\n']) {
                    self.out.truncate(self.out.trim_end_matches(' ').len());
                }
            }
            Effect::Heading(level) => {
                self.skip_options();
                if self.finds('{') {
                    self.at += 1;
                    let offset = self.out.len();
                    self.groups.push(Close::Heading { offset, level, is_title: name == "title" });
                    self.push(&format!("{} ", "#".repeat(usize::from(level))));
                }
            }
            Effect::Group(before, after) => {
                self.skip_options();
                if self.finds('{') {
                    self.at += 1;
                    self.groups.push(Close::Text(after));
                    self.push(before);
                }
            }
            Effect::Skip(count) => {
                for _ in 0..count {
                    self.skip_options();
                    if self.finds('{') {
                        self.skip_group('{', '}');
                    }
                }
            }
            Effect::Accent(mark) => self.accented(mark),
            Effect::Words(words) => {
                if words.starts_with(',') {
                    self.out.truncate(self.out.trim_end_matches(' ').len());
                }
                self.push(words);
                self.take("{}");
            }
            Effect::Item => {
                self.push("- ");
                if self.finds('[')
                    && let Some(end) = self.group_end('[', ']')
                {
                    self.at += 1;
                    self.read(end - 1);
                    self.at = self.at.max(end);
                    self.push(":");
                }
            }
            Effect::Verbatim => self.verbatim(),
            Effect::Begin => self.begin(),
            Effect::End => self.end(),
            Effect::Nothing => {
                self.skip_options();
                if !self.source[self.at..].starts_with('{') {
                    self.at += usize::from(self.source[self.at..].starts_with(' '));
                }
            }
        }
    }

    /// Reads a command of one sign: an escaped sign, an accent, a space or a formula.
    fn sign(&mut self) {
        let Some(c) = self.source[self.at..].chars().next() else { return };
        self.at += c.len_utf8();
        match c {
            '\\' => {
                self.take("*");
                self.skip_options();
                if self.table.is_some() {
                    self.end_row();
                } else {
                    self.push(" ");
                }
            }
            '%' | '&' | '$' | '#' | '_' | '{' | '}' => self.push(c.encode_utf8(&mut [0; 4])),
            ',' | ';' | ':' | ' ' => self.push(" "),
            '\n' => self.out.push('\n'),
            '(' | ')' => self.push("$"),
            '[' | ']' => self.push("$$"),
            '\'' | '`' | '^' | '"' | '~' | '=' | '.' => self.accent(c),
            _ => {}
        }
    }

    /// Reads the letter under an accent: `\"a`, `\'{e}`, `\v{c}`.
    fn accent(&mut self, accent: char) {
        let mark = match accent {
            '\'' => '\u{301}',
            '`' => '\u{300}',
            '^' => '\u{302}',
            '"' => '\u{308}',
            '~' => '\u{303}',
            '=' => '\u{304}',
            _ => '\u{307}',
        };
        self.accented(mark);
    }

    fn accented(&mut self, mark: char) {
        let in_braces = self.finds('{');
        self.at += usize::from(in_braces);
        // `\'\i` has a dotless letter.
        self.take("\\");
        let Some(letter) = self.source[self.at..].chars().next().filter(|c| c.is_alphabetic()) else {
            return;
        };
        self.at += letter.len_utf8();
        if in_braces {
            self.take("}");
        }
        let composed: String = [letter, mark].into_iter().nfc().collect();
        self.push(&composed);
    }

    /// Reads `\verb|code|`, and code in braces.
    fn verbatim(&mut self) {
        self.skip_options();
        let Some(open) = self.source[self.at..].chars().next() else { return };
        let close = if open == '{' { '}' } else { open };
        let start = self.at + open.len_utf8();
        let line = self.source[start..].lines().next().unwrap_or_default();
        if let Some(end) = line.find(close) {
            self.push(&format!("`{}`", &line[..end]));
            self.at = start + end + close.len_utf8();
        }
    }

    /// Reads the beginning of an environment, and all of it if it is code or a displayed formula.
    fn begin(&mut self) {
        let Some(name) = self.environment() else { return };
        if name == "document" {
            self.in_preamble = false;
            return;
        }
        if self.is_silent() {
            return;
        }
        let language = match name.trim_end_matches('*') {
            "equation" | "align" | "gather" | "multline" | "eqnarray" | "displaymath" | "math"
            | "flalign" | "alignat" => MATH,
            code if CODE.contains(&code) => "text",
            "comment" => "",
            table if TABLES.contains(&table) => {
                self.skip_arguments();
                self.table = Some((Rows::default(), self.out.len()));
                return;
            }
            _ => {
                self.skip_options();
                if self.source[self.at..].starts_with('{') {
                    self.skip_arguments();
                }
                return;
            }
        };
        let close = format!("\\end{{{name}}}");
        let Some(end) = self.source[self.at..].find(&close).map(|end| self.at + end) else { return };
        if language.is_empty() {
            return self.skip_to(end + close.len());
        }
        self.code(language, end);
        self.at = end + close.len();
    }

    /// Writes the source up to `end` as code, with fences in place of the lines that begin and end its environment. Code that
    /// shares a line with them is written inside the line.
    fn code(&mut self, language: &str, end: usize) {
        let begins_line = self.out.is_empty() || self.out.ends_with('\n');
        let content = &self.source[self.at..end];
        let is_block = begins_line && content.trim_end_matches([' ', '\t']).ends_with('\n');
        let Some((options, code)) = content.split_once('\n').filter(|_| is_block) else {
            self.out.push_str(content.trim_matches([' ', '\t']));
            return;
        };
        // `\begin{minted}{rust}`, `\begin{lstlisting}[language=Rust]`
        let named = options
            .split_once("language=")
            .or_else(|| options.rsplit_once('{'))
            .map_or("", |(_, named)| named);
        let named = named.split([']', '}', ',']).next().unwrap_or_default().trim();
        let is_word = !named.is_empty() && named.chars().all(|c| c.is_alphanumeric() || "+-#_".contains(c));
        self.out.push_str("```");
        self.out.push_str(if is_word && language != MATH { named } else { language });
        self.out.push('\n');
        self.out.push_str(code.trim_end_matches([' ', '\t']));
        self.out.push_str("```");
    }

    fn end(&mut self) {
        let Some(name) = self.environment() else { return };
        if TABLES.contains(&name.trim_end_matches('*')) {
            self.end_row();
            self.table = None;
        }
    }

    /// Returns the name in `{name}` and moves after it.
    fn environment(&mut self) -> Option<String> {
        let name = self.source[self.at..].strip_prefix('{')?.split_once('}')?.0;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '*');
        let name = is_name.then(|| name.to_owned())?;
        self.at += name.len() + 2;
        Some(name)
    }

    /// Writes the open row of a table so that it names its columns.
    fn end_row(&mut self) {
        let Some((rows, start)) = &mut self.table else { return };
        let row = self.out.split_off((*start).min(self.out.len()));
        let lines = row.matches('\n').count();
        let before = row[..row.len() - row.trim_start_matches([' ', '\n']).len()].matches('\n').count();
        let cells: Vec<String> =
            row.split('\t').map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        self.out.extend(std::iter::repeat_n('\n', before.min(lines)));
        self.out.push_str(&rows.line(&cells));
        self.out.extend(std::iter::repeat_n('\n', lines - before.min(lines)));
        *start = self.out.len();
    }
}

/// Returns the end of the group in brackets that begins at byte `from`, after its bracket.
fn group_end(source: &str, from: usize, open: char, close: char) -> Option<usize> {
    let limit = source.floor_char_boundary(from + MAX_ARGUMENT_BYTES);
    let (mut depth, mut braces, mut escaped) = (0, 0, false);
    for (at, c) in source[from..limit].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == open => depth += 1,
            c if c == close && braces <= 0 => {
                depth -= 1;
                if depth == 0 {
                    return Some(from + at + 1);
                }
            }
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks that every line of a document is the expected one.
    #[track_caller]
    fn check_latex(source: &str, expected: &str) -> Body {
        let body = parse(source);
        assert_eq!(body.text.trim_end_matches('\n'), expected.trim_end_matches('\n'));
        body
    }

    #[test]
    fn commands_become_their_text_and_sections_become_headings() {
        let body = check_latex(
            "\\documentclass[a4paper]{article}\n\\usepackage{x}\n\\newcommand{\\mill}[1]{Old #1}\n\\title{The \\emph{Mill}}\n\\author{Ada \\and Bo}\\begin{document}\n\\maketitle\n\n\\section*{Pipes}\\label{a}\nThe \\textbf{old} pipes~\\cite[p.~3]{ada} leak; see Section~\\ref{b}.% why\n\n\\subsection[x]{Old \\& new}\nText {\\it here}.\n\\end{document}\n",
            "\n\n\n# The Mill\nAda, Bo\n\n\n## Pipes\nThe old pipes leak; see Section.\n\n### Old & new\nText here.\n",
        );
        assert_eq!(body.title.as_deref(), Some("The Mill"));
        let headings: Vec<_> = body.headings.iter().map(|h| (h.level, &body.text[h.offset..][..5])).collect();
        assert_eq!(headings, [(1, "# The"), (2, "## Pi"), (3, "### O")]);
    }

    #[test]
    fn special_signs_accents_and_quotes_become_characters() {
        check_latex(
            "``M\\\"uller'' pays 5\\,\\% --- \\'Etienne, \\v{C}apek, stra{\\ss}e, na\\\"{\\i}ve -- \\ldots{} a\\_b\\\\\nc",
            "“Müller” pays 5 % — Étienne, Čapek, straße, naïve – … a_b\nc",
        );
    }

    #[test]
    fn a_comment_does_not_end_a_paragraph() {
        check_latex(
            "The mill\n% an old one\n  % in Brno\nwas built there.\n",
            "The mill\nwas\nbuilt\nthere.\n",
        );
        check_latex("50\\% of it % or 60\n\n% alone\n\nEnd", "50% of it\n\n\n\nEnd");
    }

    #[test]
    fn lists_footnotes_and_links_keep_their_words() {
        check_latex(
            "\\begin{itemize}\n\\item Pipes\\footnote{Old ones.}\n\\item[Taps] \\href{https://a.example}{new} \\url{https://b.example/a_b}\n\\end{itemize}",
            "\n- Pipes (Old ones.)\n- Taps: new https://b.example/a_b\n",
        );
    }

    #[test]
    fn formulas_and_code_stay_verbatim() {
        check_latex(
            "Let $a_1 \\cdot b$ cost \\$5.\n\\begin{equation}\nE = mc^2 % x\n\\end{equation}\n\\begin{lstlisting}[language=Rust]\n  let a = \\b;\n\\end{lstlisting}\nCall \\verb|a_b| or \\texttt{c}.",
            "Let $a_1 \\cdot b$ cost $5.\n```math\nE = mc^2 % x\n```\n```Rust\n  let a = \\b;\n```\nCall `a_b` or `c`.",
        );
    }

    #[test]
    fn rows_of_tables_name_their_columns() {
        check_latex(
            "\\begin{tabular}{l|r}\n\\hline\nItem & Cost \\\\\n\\hline\nOld\npipes & 12 \\\\ Taps & 3\n\\end{tabular}\nEnd",
            "\n\nItem | Cost\n\nItem: Old pipes | Cost: 12\nItem: Taps | Cost: 3\n\nEnd",
        );
    }

    #[test]
    fn commands_that_the_document_defines_are_replaced_by_their_words() {
        check_latex(
            "\\newcommand{\\operator}{Statnett}\n\\def\\city{Oslo}\n\\begin{document}\nRun by \\operator{} and \\operator\\ in \\city. The \\gls{pump}, \\ac{nve}.\n\\end{document}",
            "\n\n\nRun by Statnett and Statnett in Oslo. The pump, nve.\n",
        );
    }

    proptest! {
        #[test]
        fn any_latex_keeps_its_lines(text in "(word|[ {}$%&~\\[\\]\n-]|\n\n|\\\\|\\\\(section|cite|item|begin|end|verb|def|\"|href)|\\{(tabular|equation|verbatim|document)\\}|é){0,40}") {
            let body = parse(&text);
            // The last line may hold nothing.
            let lost = text.lines().count().checked_sub(body.text.lines().count());
            prop_assert!(lost.is_some_and(|lost| lost <= 1), "{:?}", body.text);
            for heading in &body.headings {
                prop_assert!(body.text[heading.offset..].starts_with('#'));
            }
        }
    }
}
