//! The width of the terminal, and wrapping text to it.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use terminal_size::{Height, Width, terminal_size_of};
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter, WrapAlgorithm, wrap};

/// Minimum and maximum width to wrap text to; longer lines are hard to read.
const COLUMNS: std::ops::RangeInclusive<usize> = 20..=120;

/// Maximum width of the first column in a list.
const MAX_FIRST_COLUMN: usize = 28;

/// Returns the width of stdout: the value of the variable `COLUMNS` in `variable`, otherwise that of the terminal; `None` if
/// unknown.
pub(crate) fn columns_of_stdout(variable: Option<&str>) -> Option<usize> {
    let variable = variable.and_then(|columns| columns.parse::<usize>().ok());
    variable
        .or_else(terminal_columns_of_stdout)
        .map(|columns| columns.clamp(*COLUMNS.start(), *COLUMNS.end()))
}

/// Returns the height of stdout: the value of the variable `LINES` in `variable`, otherwise that of the terminal; `None` if unknown.
pub(crate) fn lines_of_stdout(variable: Option<&str>) -> Option<usize> {
    let variable = variable.and_then(|lines| lines.parse::<usize>().ok());
    let height = || {
        io::stdout()
            .is_terminal()
            .then(|| terminal_size_of(io::stdout()))
            .flatten()
            .map(|(_, Height(h))| usize::from(h))
    };
    variable.or_else(height)
}

/// Returns the width of the terminal behind stdout; `None` if stdout is no terminal.
pub(crate) fn terminal_columns_of_stdout() -> Option<usize> {
    terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns))
}

/// Returns the width of the terminal behind stderr; `None` if stderr is no terminal.
pub(crate) fn columns_of_stderr() -> Option<usize> {
    terminal_size_of(io::stderr()).map(|(Width(columns), _)| usize::from(columns))
}

/// Wraps `text` to lines of at most `columns`, each after `indent`. Words that fit a line are not broken. Colors
/// and links take no space. Without `columns`, returns the lines of `text`.
pub(crate) fn wrapped(text: &str, columns: Option<usize>, indent: &str) -> Vec<String> {
    let Some(columns) = columns else {
        return text.split('\n').map(|line| format!("{indent}{line}")).collect();
    };
    let options = Options::new(columns)
        .initial_indent(indent)
        .subsequent_indent(indent)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    wrap(text, options).into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Wraps each line of `text` that does not fit into `columns`. The other parts of a line begin where its text does: after its
/// indentation, or after its first column in a list such as `file        /home/a`.
pub(crate) fn wrapped_lines(text: &str, columns: usize) -> String {
    let lines = text.split('\n').map(|line| {
        if display_width(line) <= columns {
            return Cow::Borrowed(line);
        }
        let (before, rest) = line.split_at(start_of_text(line, columns));
        let indent = " ".repeat(display_width(before));
        let parts = wrapped(rest, Some(columns), &indent).join("\n");
        Cow::Owned(format!("{before}{}", parts.strip_prefix(&indent).unwrap_or(&parts)))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns where the text of a line starts, in bytes.
fn start_of_text(line: &str, columns: usize) -> usize {
    let indentation = line.len() - line.trim_start().len();
    let after_gap = line[indentation..].find("  ").map(|gap| {
        let gap = indentation + gap;
        line.len() - line[gap..].trim_start().len()
    });
    let first_column = after_gap.filter(|start| display_width(&line[..*start]) <= MAX_FIRST_COLUMN);
    // Half of each line is left to the text.
    let leaves_room = |start: &usize| display_width(&line[..*start]) * 2 <= columns;
    first_column.into_iter().chain([indentation]).find(leaves_room).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_lines_fit() {
        let text = "The lab's first paper is well-known far and wide.";
        let expected = ["  The lab's first", "  paper is well-known", "  far and wide."];
        assert_eq!(wrapped(text, Some(22), "  "), expected);
    }

    #[test]
    fn colours_and_links_have_no_width() {
        let text =
            "\u{1b}[1mone\u{1b}[0m \u{1b}]8;;file:///a/very/long/path\u{1b}\\two\u{1b}]8;;\u{1b}\\ three";
        assert_eq!(wrapped(text, Some(20), "").len(), 1);
    }

    #[test]
    fn scripts_without_spaces_are_wrapped_too() {
        let lines = wrapped("水库在雨季之前必须检查所有的闸门和泵站", Some(20), "");
        assert_eq!(lines, ["水库在雨季之前必须检", "查所有的闸门和泵站"]);
    }

    #[test]
    fn a_line_continues_where_its_text_begins() {
        let text = "short\n  refused: a.bin: not a document\nholds       3 documents, 5 chunks, 7 entities";
        let expected = "short\n  refused: a.bin: not a\n  document\nholds       3 documents, 5\n            chunks, 7\n            entities";
        assert_eq!(wrapped_lines(text, 26), expected);
        assert_eq!(wrapped_lines("  0.9311  one two", 13), "  0.9311  one\n  two");
        assert_eq!(wrapped_lines("  0.9311  one two three", 20), "  0.9311  one two\n          three");
    }

    #[test]
    fn a_gap_within_a_sentence_is_no_column() {
        let text = "one two three four five six  seven eight";
        assert_eq!(wrapped_lines(text, 30), "one two three four five six\nseven eight");
    }

    #[test]
    fn without_a_width_lines_are_not_wrapped() {
        assert_eq!(wrapped("a b\nc", None, " "), [" a b", " c"]);
    }
}
