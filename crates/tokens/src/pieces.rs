//! Splits a text into the pieces that are encoded separately.

use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

/// Longest piece that is encoded as a whole, in bytes; a longer one is cut into parts of this size, each encoded alone. No
/// word is that long, but runs of blank lines and data without spaces can be.
const MAX_PIECE_BYTES: usize = 64 * 1024;

/// Matches one piece in o200k_base, except white space before a word.
static PIECE: LazyLock<Regex> = LazyLock::new(|| {
    let first = r"[^\r\n\p{L}\p{N}]?";
    let (upper, lower) = (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]");
    let ending = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
    let kinds = [
        format!("{first}{upper}*{lower}+{ending}"),
        format!("{first}{upper}+{lower}*{ending}"),
        r"\p{N}{1,3}".to_owned(),
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*".to_owned(),
        r"\s*[\r\n]+".to_owned(),
    ];
    Regex::new(&kinds.join("|")).expect("the expression is written here")
});

/// Returns the pieces of a text, in order; together they cover it.
pub(crate) fn of(text: &str) -> impl Iterator<Item = &str> + '_ {
    let mut rest = text;
    let mut whole = "";
    std::iter::from_fn(move || {
        if whole.is_empty() {
            if rest.is_empty() {
                return None;
            }
            (whole, rest) = rest.split_at(end_of_first(rest));
        }
        let (part, after) = whole.split_at(whole.floor_char_boundary(MAX_PIECE_BYTES));
        whole = after;
        Some(part)
    })
}

/// Returns where the first piece of a text ends.
fn end_of_first(text: &str) -> usize {
    if let Some(found) = PIECE.find(Input::new(text).anchored(Anchored::Yes)) {
        return found.end();
    }
    // White space: its last character belongs to the next word, unless it is the only one.
    let run = text.len() - text.trim_start().len();
    let last = text[..run].chars().next_back().map_or(text.len(), char::len_utf8);
    if run == text.len() || run <= last { last.max(run) } else { run - last }
}
