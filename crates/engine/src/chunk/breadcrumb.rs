//! Finds the headings above a piece of text.

use std::collections::BTreeMap;
use std::ops::Range;

use graphloom_readers::Heading;
use graphloom_text::Tokenizer;

/// Maximum characters of one heading.
const MAX_LEVEL_CHARS: usize = 80;
/// Maximum tokens of all headings joined.
const MAX_TOKENS: u32 = 256;
/// Replaces omitted headings.
const ELLIPSIS: &str = "…";

/// The headings of a document as paths.
pub(super) struct Breadcrumbs<'a> {
    headings: &'a [Heading],
    /// For each heading, the heading above it.
    parents: Vec<Option<usize>>,
    tokens: Tokenizer,
    /// Cached paths, by their innermost heading.
    known: BTreeMap<usize, Vec<String>>,
}

impl<'a> Breadcrumbs<'a> {
    pub(super) fn new(headings: &'a [Heading], tokens: Tokenizer) -> Self {
        let mut open: Vec<usize> = Vec::new();
        let mut parents = Vec::with_capacity(headings.len());
        for (i, heading) in headings.iter().enumerate() {
            while open.last().is_some_and(|&outer| headings[outer].level >= heading.level) {
                open.pop();
            }
            parents.push(open.last().copied());
            open.push(i);
        }
        Self { headings, parents, tokens, known: BTreeMap::new() }
    }

    /// Returns the headings above all of `range`, outermost first: those of its section, or those that its sections
    /// share.
    ///
    /// Each heading is cut to 80 characters. Above 256 tokens in total, middle ones are replaced by `…`.
    pub(super) fn over(&mut self, range: &Range<usize>) -> Vec<String> {
        let first = self.headings.partition_point(|heading| heading.offset <= range.start);
        let after = self.headings.partition_point(|heading| heading.offset < range.end);
        let Some(mut common) = first.checked_sub(1) else { return Vec::new() };
        for section in first..after {
            // A heading that is not above this section is not above the range. Parents come earlier in the text.
            let mut above = Some(section);
            while let Some(heading) = above.filter(|&heading| heading > common) {
                above = self.parents[heading];
            }
            while above != Some(common) {
                let (Some(heading), Some(outer)) = (above, self.parents[common]) else { return Vec::new() };
                common = outer;
                above = Some(heading);
                while let Some(heading) = above.filter(|&heading| heading > common) {
                    above = self.parents[heading];
                }
            }
        }
        if let Some(path) = self.known.get(&common) {
            return path.clone();
        }
        let path = self.path(common);
        self.known.insert(common, path.clone());
        path
    }

    fn path(&self, heading: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = Some(heading);
        while let Some(heading) = next {
            path.push(self.headings[heading].title.chars().take(MAX_LEVEL_CHARS).collect::<String>());
            next = self.parents[heading];
        }
        path.reverse();
        let is_long = |path: &[String]| self.tokens.count(&path.join(" → ")) > MAX_TOKENS;
        if path.len() > 2 && is_long(&path) {
            path[1] = ELLIPSIS.to_owned();
            while path.len() > 3 && is_long(&path) {
                path.remove(2);
            }
        }
        if is_long(&path) {
            for level in &mut path {
                *level = self.tokens.truncate(level, MAX_TOKENS / 2 - 8).to_owned();
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_path(headings: &[(usize, u8, &str)], range: Range<usize>) -> String {
        let headings: Vec<Heading> = headings
            .iter()
            .map(|&(offset, level, title)| Heading { offset, level, title: title.to_owned() })
            .collect();
        Breadcrumbs::new(&headings, Tokenizer).over(&range).join(" > ")
    }

    #[test]
    fn a_range_has_the_headings_that_its_sections_share() {
        let headings = [(5, 1, "A"), (10, 2, "B"), (20, 3, "C"), (30, 2, "D"), (40, 1, "E")];
        assert_eq!(check_path(&headings, 0..3), "");
        assert_eq!(check_path(&headings, 0..30), "");
        assert_eq!(check_path(&headings, 22..30), "A > B > C");
        assert_eq!(check_path(&headings, 10..30), "A > B");
        assert_eq!(check_path(&headings, 20..40), "A");
        assert_eq!(check_path(&headings, 32..45), "");
    }

    #[test]
    fn long_paths_are_cut() {
        let long = "漢".repeat(300);
        let headings: Vec<(usize, u8, &str)> = (0..6).map(|i| (i, i as u8 + 1, long.as_str())).collect();
        let path = check_path(&headings, 5..6);
        assert!(path.contains(ELLIPSIS) && Tokenizer.count(&path) <= MAX_TOKENS);
    }
}
