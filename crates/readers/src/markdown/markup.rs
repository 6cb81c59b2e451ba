//! Removes HTML tags and comments from Markdown.

use graphloom_text::unescape;

/// Passes the words between the tags of an HTML block to `write`, line by line with their positions in the source.
///
/// `pieces` are the lines of the block with their positions. Comments, scripts and styles are removed with their content. A
/// comment without an end is not a comment.
pub(super) fn without_tags(pieces: &[(usize, String)], mut write: impl FnMut(usize, &str)) {
    let html: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
    let mut at = 0;
    let mut kept = vec![true; html.len()];
    let mut ends = Ends { html: html.to_ascii_lowercase(), missing: Vec::new() };
    while let Some(open) = html[at..].find('<').map(|open| at + open) {
        let end = ends.of_markup(open);
        kept[open..end].fill(false);
        at = end.max(open + 1);
    }
    let mut from = 0;
    for (start, piece) in pieces {
        let mut run = 0;
        while run < piece.len() {
            let is_kept = |at: usize| kept[from + at];
            let length = (run..piece.len()).take_while(|&at| is_kept(at) == is_kept(run)).count();
            let words = piece[run..run + length].trim_end_matches(['\n', '\r']);
            if is_kept(run) && !words.trim().is_empty() {
                write(start + run, &unescape(words).replace(['\n', '\r'], " "));
            }
            run += length;
        }
        from += piece.len();
    }
}

/// Finds where markup ends. An end marker that was not found once is not searched for again.
struct Ends {
    /// The HTML in lower case.
    html: String,
    missing: Vec<&'static str>,
}

impl Ends {
    /// Returns where the tag, comment, script or style that begins at `open` ends; `open` if there is none.
    fn of_markup(&mut self, open: usize) -> usize {
        let rest = &self.html[open + 1..];
        if rest.starts_with("!--") {
            return self.after(open + 4, "-->").unwrap_or(open + 4);
        }
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            return open;
        }
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let close = match name {
            "script" => Some("</script>"),
            "style" => Some("</style>"),
            // The reading of ruby text.
            "rt" => Some("</rt>"),
            "rp" => Some("</rp>"),
            _ => None,
        };
        let Some(end) = self.after(open, ">") else { return open };
        close.and_then(|close| self.after(end, close)).unwrap_or(end)
    }

    /// Returns the position after the next `mark` from `at` on.
    fn after(&mut self, at: usize, mark: &'static str) -> Option<usize> {
        if self.missing.contains(&mark) {
            return None;
        }
        let found = self.html[at..].find(mark);
        if found.is_none() {
            self.missing.push(mark);
        }
        found.map(|found| at + found + mark.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_words(pieces: &[&str], expected: &[(usize, &str)]) {
        let mut at = 0;
        let pieces: Vec<(usize, String)> = pieces
            .iter()
            .map(|piece| {
                at += piece.len();
                (at - piece.len(), (*piece).to_owned())
            })
            .collect();
        let mut found = Vec::new();
        without_tags(&pieces, |start, words| found.push((start, words.to_owned())));
        let found: Vec<(usize, &str)> = found.iter().map(|(start, words)| (*start, words.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn words_between_tags_keep_their_offsets() {
        check_words(&["<p\n", "class=x>One &lt;\n", "two</p>\n"], &[(11, "One <"), (20, "two")]);
        check_words(&["<script>a < b</script>c < d <!-- e"], &[(22, "c < d "), (32, " e")]);
        check_words(&["a<!-- b\n", "c -->d"], &[(0, "a"), (13, "d")]);
    }
}
