//! Finds the lines at the edges of pages that are not part of the text: running heads and feet, and page numbers.

use std::collections::HashSet;

use super::layout::{Line, Sizes, table_rows};

/// Maximum lines at the top of a page, and at its bottom, that may be its head or foot.
const MAX_EDGE_LINES: usize = 2;
/// Number of following pages that are searched for the head of a page, because left and right pages may have different heads.
const MAX_DISTANCE: usize = 2;
/// Words beside a page number, in lower case.
const PAGE_WORDS: [&str; 21] = [
    "page",
    "pages",
    "p",
    "pg",
    "of",
    "seite",
    "von",
    "s",
    "sur",
    "de",
    "página",
    "pág",
    "pagina",
    "di",
    "van",
    "strona",
    "z",
    "страница",
    "стр",
    "第",
    "页",
];

/// Removes page numbers, and heads and feet that an earlier page already had, and marks those that stay.
///
/// A line at the edge is a head or foot if a page nearby has the same line at the same height. Numbers in it may differ by the
/// distance of the pages. Lines in the size of headings, and rows of tables, are part of the text. No page loses all lines.
pub(super) fn mark_edges(pages: &mut [(u32, Vec<Line>)], sizes: &Sizes) {
    let edges: Vec<[Vec<Edge>; 2]> = pages.iter().map(|(_, lines)| edges_of(lines, sizes)).collect();
    let mut found: Vec<Vec<&Edge>> = vec![Vec::new(); pages.len()];
    for (at, sides) in edges.iter().enumerate() {
        for distance in 1..=MAX_DISTANCE {
            let Some(other_sides) = edges.get(at + distance) else { continue };
            let pages_between = u64::from(pages[at + distance].0.saturating_sub(pages[at].0));
            for (side, other_side) in sides.iter().zip(other_sides) {
                for edge in side {
                    for other in other_side.iter().filter(|other| edge.repeats_in(other, pages_between)) {
                        found[at].push(edge);
                        found[at + distance].push(other);
                    }
                }
            }
        }
    }
    let mut seen: HashSet<&str> = HashSet::new();
    for ((_, lines), mut found) in pages.iter_mut().zip(found) {
        found.sort_unstable_by_key(|edge| edge.line);
        found.dedup_by_key(|edge| edge.line);
        if found.len() == lines.len() {
            continue;
        }
        let mut dropped = HashSet::new();
        for edge in found {
            if edge.is_page_number() || !seen.insert(&edge.text) {
                dropped.insert(edge.line);
            } else {
                lines[edge.line].is_aside = true;
            }
        }
        let mut at = 0;
        lines.retain(|_| {
            at += 1;
            !dropped.contains(&(at - 1))
        });
    }
}

/// A line at the edge of a page.
struct Edge {
    /// Its place among the lines of the page.
    line: usize,
    y: f64,
    size: f64,
    text: String,
}

impl Edge {
    /// True if `other`, which is so many pages later, is the same line.
    fn repeats_in(&self, other: &Self, pages_between: u64) -> bool {
        let words = |edge: &'_ Self| edge.text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (own, others) = (words(self), words(other));
        let same = |(own, other): (&String, &String)| {
            let numbers = number(own).zip(number(other));
            own == other || numbers.is_some_and(|(own, other)| other.checked_sub(own) == Some(pages_between))
        };
        (self.y - other.y).abs() < self.size.max(1.0) / 2.0
            && own.len() == others.len()
            && own.iter().zip(&others).all(same)
    }

    fn is_page_number(&self) -> bool {
        let is_part = |word: &str| {
            number(word).is_some()
                || !word.contains(char::is_alphanumeric)
                || PAGE_WORDS.contains(&bare(&word.to_lowercase()))
        };
        self.text.split_whitespace().all(is_part)
    }
}

/// Returns the lines at the top and at the bottom of a page that may be its head and foot.
fn edges_of(lines: &[Line], sizes: &Sizes) -> [Vec<Edge>; 2] {
    let mut order: Vec<usize> = (0..lines.len()).filter(|&at| !lines[at].turned).collect();
    order.sort_by(|&a, &b| lines[b].y.total_cmp(&lines[a].y));
    let edge = |&line: &usize| {
        let Line { y, size, .. } = lines[line];
        let is_text = sizes.level(size).is_some() || table_rows(&lines[line..]) > 1;
        (!is_text).then(|| Edge { line, y, size, text: lines[line].text() })
    };
    [
        order.iter().take(MAX_EDGE_LINES).filter_map(edge).collect(),
        order.iter().rev().take(MAX_EDGE_LINES).filter_map(edge).collect(),
    ]
}

/// Returns the Arabic or small Roman number below 90 in a word, which may stand between dashes or brackets.
fn number(word: &str) -> Option<u64> {
    let bare = bare(word);
    bare.parse().ok().or_else(|| roman(bare))
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn roman(word: &str) -> Option<u64> {
    let value = |c: char| match c {
        'i' => Some(1),
        'v' => Some(5),
        'x' => Some(10),
        'l' => Some(50),
        _ => None,
    };
    let digits: Vec<u64> = word.chars().map(value).collect::<Option<_>>()?;
    let total = |at: usize| {
        let smaller = digits.get(at + 1).is_some_and(|next| *next > digits[at]);
        if smaller { -(digits[at] as i64) } else { digits[at] as i64 }
    };
    u64::try_from((0..digits.len()).map(total).sum::<i64>()).ok().filter(|number| *number > 0)
}
