//! The width of the terminal, and wrapping text to it.

use std::io::{self, IsTerminal};

use terminal_size::{Height, Width, terminal_size_of};
use textwrap::{Options, WordSplitter, WrapAlgorithm, wrap};

/// Minimum and maximum width to wrap text to; longer lines are hard to read.
const COLUMNS: std::ops::RangeInclusive<usize> = 20..=120;

/// Returns the width of stdout: the value of the variable `COLUMNS` in `variable`, otherwise that of the terminal; `None` if
/// unknown.
pub(crate) fn columns_of_stdout(variable: Option<&str>) -> Option<usize> {
    let variable = variable.and_then(|columns| columns.parse::<usize>().ok());
    let width = || {
        io::stdout()
            .is_terminal()
            .then(|| terminal_size_of(io::stdout()))
            .flatten()
            .map(|(Width(w), _)| usize::from(w))
    };
    variable.or_else(width).map(|columns| columns.clamp(*COLUMNS.start(), *COLUMNS.end()))
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

/// Returns the width of the terminal behind stderr.
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
    fn without_a_width_lines_are_not_wrapped() {
        assert_eq!(wrapped("a b\nc", None, " "), [" a b", " c"]);
    }
}
