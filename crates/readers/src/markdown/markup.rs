//! Removes HTML tags and comments from Markdown.

use graphloom_text::unescape;

/// Passes the words between the tags of an HTML block to `write`, line by line with their positions in the source.
///
/// `pieces` are the lines of the block with their positions. Comments, scripts and styles are removed with their content. A
/// comment without an end is not a comment. Words of different cells, items and paragraphs on one line are separated.
pub(super) fn without_tags(pieces: &[(usize, String)], mut write: impl FnMut(usize, &str)) {
    let html: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
    let mut at = 0;
    let mut kept = vec![true; html.len()];
    let mut ends = Ends { html: html.to_ascii_lowercase(), missing: Vec::new() };
    // What separates the words before each tag from those behind it.
    let mut separators = Vec::new();
    while let Some(open) = html[at..].find('<').map(|open| at + open) {
        let end = ends.of_markup(open);
        kept[open..end].fill(false);
        separators.extend(separator_of(&ends.html[open..end]).map(|separator| (open, separator)));
        at = end.max(open + 1);
    }
    let mut separators = separators.into_iter().peekable();
    let mut from = 0;
    for (start, piece) in pieces {
        let mut run = 0;
        let (mut has_words, mut separator) = (false, "");
        while run < piece.len() {
            let is_kept = |at: usize| kept[from + at];
            let length = (run..piece.len()).take_while(|&at| is_kept(at) == is_kept(run)).count();
            let words = piece[run..run + length].trim_end_matches(['\n', '\r']);
            while let Some((_, next)) = separators.next_if(|(open, _)| *open < from + run) {
                // The end of a row is also the end of a cell: `" " < " | " < "; "`.
                separator = separator.max(next);
            }
            if is_kept(run) && !words.trim().is_empty() {
                let plain = unescape(words).replace(['\n', '\r'], " ");
                if has_words && !separator.is_empty() {
                    write(start + run, &format!("{separator}{}", plain.trim()));
                } else {
                    write(start + run, plain.trim_end());
                }
                (has_words, separator) = (true, if plain.ends_with(' ') { " " } else { "" });
            }
            run += length;
        }
        from += piece.len();
    }
}

/// Returns what separates the words around a tag on one line; `None` for tags inside words, such as `<b>`.
pub(super) fn separator_of(tag: &str) -> Option<&'static str> {
    let name = tag.trim_start_matches(['<', '/']).split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    match name.to_ascii_lowercase().as_str() {
        "tr" | "li" => Some("; "),
        "td" | "th" | "dt" | "dd" => Some(" | "),
        "address" | "article" | "aside" | "blockquote" | "br" | "caption" | "center" | "details" | "div"
        | "dl" | "figcaption" | "figure" | "footer" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "header"
        | "hr" | "ol" | "p" | "pre" | "section" | "summary" | "table" | "ul" => Some(" "),
        _ => None,
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
        check_words(&["<script>a < b</script>c < d <!-- e"], &[(22, "c < d"), (32, " e")]);
        check_words(&["a<!-- b\n", "c -->d"], &[(0, "a"), (13, "d")]);
    }

    #[test]
    fn words_of_different_cells_items_and_paragraphs_are_separated() {
        check_words(
            &["<tr><td>Captain</td> <td>Bo</td></tr><tr><td>Cook </td></tr>\n", "<tr><td>Ada</td></tr>"],
            &[(8, "Captain"), (25, " | Bo"), (45, "; Cook"), (69, "Ada")],
        );
        check_words(
            &["<li>Anchor</li><li>W<b>in</b>ch</li>"],
            &[(4, "Anchor"), (19, "; W"), (23, "in"), (29, "ch")],
        );
        check_words(&["<p>One.</p><p>Two.<br>Three."], &[(3, "One."), (14, " Two."), (22, " Three.")]);
    }
}
