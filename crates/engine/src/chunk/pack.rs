//! Fills chunks with whole paragraphs, sentences or lines.

use std::ops::Range;

use super::borders::{Border, block_end};
use super::trim;
use graphloom_readers::Heading;
use graphloom_text::{TokenMap, Tokenizer, sentences_and_code};

/// Maximum number of consecutive headings that are kept with the text after them; more are a list of headings.
const MAX_LEVELS: usize = 6;

/// Bytes of text whose units are in memory at once; longer texts are processed block by block.
const BLOCK_BYTES: usize = 4 * 1024 * 1024;

/// Packs a text's units into ranges of bounded size.
pub(super) struct Packer<'a> {
    pub(super) text: &'a str,
    pub(super) map: &'a TokenMap,
    pub(super) max: usize,
    pub(super) overlap: usize,
    /// The kinds of borders to cut at, best first.
    pub(super) borders: &'a [Border],
    /// Headings in order. No range ends with a heading whose text is in the next range.
    pub(super) headings: &'a [Heading],
}

impl Packer<'_> {
    /// Returns ranges of at most `max` tokens that cover `range`, each filled with as many whole units as fit.
    pub(super) fn pack(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut units = Vec::new();
        let is_long = self.map.count(&range) > self.max;
        let mut rest = range;
        self.split_block(&mut rest, is_long, &mut units);
        let mut packed: Vec<Range<usize>> = Vec::new();
        let mut first = 0;
        while first < units.len() {
            let unit = &units[first];
            let start = packed.last().map_or(unit.start, |last| self.overlap_start(last, unit));
            let mut next = first + 1;
            loop {
                while units.get(next).is_some_and(|unit| self.map.count(&(start..unit.end)) <= self.max) {
                    next += 1;
                }
                if next < units.len() || rest.is_empty() {
                    break;
                }
                units.drain(..first);
                (next, first) = (next - first, 0);
                self.split_block(&mut rest, is_long, &mut units);
            }
            let unit = &units[first];
            if next < units.len() {
                let kept = &units[first + 1..next];
                let headings =
                    kept.iter().rev().take(MAX_LEVELS + 1).take_while(|unit| self.is_heading(unit)).count();
                next -= if headings > MAX_LEVELS { 0 } else { headings };
            }
            // Counted alone, a range can have a token or two more than in the map.
            while next > first + 1 && !self.fits(start..units[next - 1].end) {
                next -= 1;
            }
            let end = units[next - 1].end;
            if self.fits(start..end) {
                packed.push(start..end);
            } else if self.fits(unit.start..end) {
                packed.push(unit.start..end);
            } else {
                packed.extend(self.map.windows(self.text, unit.clone(), self.max, 0));
            }
            first = next;
        }
        packed
    }

    /// Moves the units of the next block from `rest` to `units`; `is_long`: whether the whole text has more than `max` tokens.
    fn split_block(&self, rest: &mut Range<usize>, is_long: bool, units: &mut Vec<Range<usize>>) {
        let end = block_end(self.text, rest, self.borders, BLOCK_BYTES);
        let block = rest.start..end;
        rest.start = end;
        match self.borders.split_first() {
            // Even a short last block is cut like the rest of the text.
            Some((border, finer)) if is_long => {
                for part in border.parts(self.text, block) {
                    self.split(part, finer, units);
                }
            }
            Some(_) | None => self.split(block, self.borders, units),
        }
    }

    /// Cuts `range` at the best border that leaves parts of at most `max` tokens.
    fn split(&self, range: Range<usize>, borders: &[Border], units: &mut Vec<Range<usize>>) {
        if self.map.count(&range) <= self.max {
            units.push(range);
            return;
        }
        match borders.split_first() {
            Some((border, finer)) => {
                for part in border.parts(self.text, range) {
                    self.split(part, finer, units);
                }
            }
            None => units.extend(self.map.windows(self.text, range, self.max, 0)),
        }
    }

    fn fits(&self, range: Range<usize>) -> bool {
        Tokenizer.count(&self.text[trim(self.text, range)]) as usize <= self.max
    }

    /// Returns where the range after `last` starts: at its last whole sentences or lines, if they fit together with `unit`.
    fn overlap_start(&self, last: &Range<usize>, unit: &Range<usize>) -> usize {
        let rows = self.borders.first() != Some(&Border::Paragraph);
        if self.overlap == 0 || rows {
            return unit.start;
        }
        let last = trim(self.text, last.clone());
        let room = self.max.saturating_sub(self.map.count(unit)).min(self.overlap);
        let tail = self.text.ceil_char_boundary(self.map.back(last.end, room)).clamp(last.start, last.end);
        let mut starts =
            sentences_and_code(&self.text[tail..last.end]).into_iter().map(|sentence| tail + sentence.start);
        // The tail may begin inside a sentence.
        let before = self.text[last.start..tail].trim_end_matches([' ', '\t']);
        let whole = before.ends_with(['.', '!', '?', '。', '！', '？', '\n', '\r']);
        starts.find(|&start| start > last.start && (whole || start > tail)).unwrap_or(unit.start)
    }

    /// True if a unit is only a heading.
    fn is_heading(&self, unit: &Range<usize>) -> bool {
        let unit = trim(self.text, unit.clone());
        let starts_as_heading =
            self.headings.binary_search_by_key(&unit.start, |heading| heading.offset).is_ok();
        starts_as_heading && !self.text[unit].contains('\n')
    }
}
