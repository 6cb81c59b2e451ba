//! Counts text in o200k_base tokens and cuts it by them.

use std::ops::Range;

/// Smallest window of [`TokenMap::windows`]. A character can take up to four tokens, so a smaller window might not hold
/// one.
pub const MIN_WINDOW_TOKENS: usize = 8;

/// The o200k_base tokenizer. Cheap to copy.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokenizer;

impl Tokenizer {
    /// Returns the number of tokens in `text`.
    pub fn count(self, text: &str) -> u32 {
        u32::try_from(graphloom_tokens::count(text)).unwrap_or(u32::MAX)
    }

    /// Returns the longest prefix of `text` that has at most `max_tokens` tokens and ends on a token and character
    /// boundary.
    ///
    /// It reads no further into `text` than necessary.
    pub fn truncate(self, text: &str, max_tokens: u32) -> &str {
        let max_tokens = max_tokens as usize;
        let mut borders = vec![0];
        for end in token_ends(text) {
            if borders.len() > max_tokens {
                // A prefix can be split into other tokens than the whole text, so it is counted again.
                while let Some(border) = borders.pop() {
                    let prefix = &text[..text.floor_char_boundary(border)];
                    if self.count(prefix) as usize <= max_tokens {
                        return prefix;
                    }
                }
                return "";
            }
            borders.push(end);
        }
        text
    }

    /// Returns the map of where each token of `text` ends.
    pub fn map(self, text: &str) -> TokenMap {
        TokenMap::new(text.len(), token_ends(text))
    }
}

/// Token positions in a text, which allow counting the tokens of any range without encoding it again.
///
/// It takes about 0.13 bytes of memory for each byte of text, whatever the tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenMap {
    /// Bit `i` is set if a token ends before byte `i`; that is not always a character boundary.
    ends: Vec<u64>,
    /// For each block of [`BLOCK_WORDS`] words of `ends`, the number of tokens that end before it.
    before: Vec<u32>,
    tokens: usize,
}

/// Words in a block whose tokens are counted in advance.
const BLOCK_WORDS: usize = 8;

impl TokenMap {
    /// Builds the map from the length of the text and `ends`, one past the last byte of each token, ascending.
    fn new(bytes: usize, ends: impl Iterator<Item = usize>) -> Self {
        let mut map = Self { ends: vec![0; bytes / 64 + 1], before: Vec::new(), tokens: 0 };
        for end in ends {
            map.ends[end / 64] |= 1 << (end % 64);
        }
        for block in map.ends.chunks(BLOCK_WORDS) {
            map.before.push(map.tokens as u32);
            map.tokens += block.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        }
        map
    }

    /// Returns the number of tokens in the whole text.
    pub fn len(&self) -> usize {
        self.tokens
    }

    /// True if the text was empty.
    pub fn is_empty(&self) -> bool {
        self.tokens == 0
    }

    /// Returns the number of tokens that end inside `bytes`. The text of the range alone can have slightly more or fewer.
    pub fn count(&self, bytes: &Range<usize>) -> usize {
        self.tokens_before(bytes.end).saturating_sub(self.tokens_before(bytes.start))
    }

    /// Returns the first byte of the last `tokens` tokens before byte `end`; it is not always a character boundary.
    pub fn back(&self, end: usize, tokens: usize) -> usize {
        self.end_of(self.tokens_before(end).saturating_sub(tokens))
    }

    /// Returns windows of `size` tokens over the bytes `range`. Each starts `overlap` tokens before the end of the previous
    /// one.
    ///
    /// - `text`: the text this map was made from; `range` lies on its character boundaries.
    /// - The windows are byte ranges on character boundaries, ascending, and cover `range` without a gap.
    /// - No window has more than `size` tokens when it is counted alone, without white space at its ends; a window can
    ///   therefore be shorter by a token or two.
    /// - `size` is at least [`MIN_WINDOW_TOKENS`] and `overlap` at most half of it; other values are clamped.
    /// - The last window never consists of overlap only.
    pub fn windows(&self, text: &str, range: Range<usize>, size: usize, overlap: usize) -> Vec<Range<usize>> {
        let size = size.max(MIN_WINDOW_TOKENS);
        let overlap = overlap.min(size / 2);
        let last = self.tokens_before(range.end);
        let border = |index: usize| text.floor_char_boundary(self.end_of(index));
        let mut windows: Vec<Range<usize>> = Vec::new();
        let mut first = self.tokens_before(range.start);
        loop {
            let start = border(first).max(range.start);
            let mut next = (first + size).min(last);
            let end = loop {
                let end = if next >= last { range.end } else { border(next) };
                let tokens = Tokenizer.count(text[start..end.max(start)].trim()) as usize;
                if tokens <= size || next <= first + 1 {
                    break end;
                }
                next = next.min(last).saturating_sub(tokens - size).max(first + 1);
            };
            if end > windows.last().map_or(start, |window| window.end) {
                windows.push(start..end);
            }
            if end >= range.end {
                return windows;
            }
            first = next.saturating_sub(overlap).max(first + 1);
        }
    }

    /// Returns the number of tokens that end at or before byte `offset`.
    fn tokens_before(&self, offset: usize) -> usize {
        let word = offset / 64;
        if word >= self.ends.len() {
            return self.tokens;
        }
        let block = word / BLOCK_WORDS;
        let whole = self.ends[block * BLOCK_WORDS..word].iter().map(|word| word.count_ones()).sum::<u32>();
        let upto = self.ends[word] & (u64::MAX >> (63 - offset % 64));
        (self.before[block] + whole + upto.count_ones()) as usize
    }

    /// Returns where token `number` ends, counted from 1; 0 if `number` is 0.
    fn end_of(&self, number: usize) -> usize {
        if number == 0 {
            return 0;
        }
        let block = self.before.partition_point(|&before| (before as usize) < number) - 1;
        let mut left = number - self.before[block] as usize;
        let words = self.ends.iter().enumerate().skip(block * BLOCK_WORDS);
        for (at, &word) in words {
            let ones = word.count_ones() as usize;
            if left > ones {
                left -= ones;
                continue;
            }
            let mut rest = word;
            for _ in 1..left {
                rest &= rest - 1;
            }
            return at * 64 + rest.trailing_zeros() as usize;
        }
        self.ends.len() * 64
    }
}

fn token_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut end = 0;
    graphloom_tokens::encode(text).map(move |token| {
        end += token.bytes;
        end
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_equal_those_of_o200k_base() {
        assert_eq!(Tokenizer.count(""), 0);
        assert_eq!(Tokenizer.count("hello world"), 2);
        assert_eq!(
            Tokenizer.count("Marie Curie discovered radium."),
            Tokenizer.map("Marie Curie discovered radium.").len() as u32
        );
    }

    #[test]
    fn truncation_keeps_whole_characters() {
        assert_eq!(Tokenizer.truncate("hello world", 1), "hello");
        assert_eq!(Tokenizer.truncate("hello world", 2), "hello world");
        assert_eq!(Tokenizer.truncate("hello", 0), "");
        assert_eq!(Tokenizer.truncate("🜁🜂🜃", 1), "");
    }

    #[test]
    fn windows_advance_by_size_minus_overlap() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        let windows = Tokenizer.map(text).windows(text, 0..text.len(), 8, 2);
        let words: Vec<&str> = windows.into_iter().map(|window| &text[window]).collect();
        assert_eq!(words, ["one two three four five six seven eight", " seven eight nine ten eleven twelve"]);
    }

    #[test]
    fn a_long_run_without_spaces_is_cut_in_linear_time() {
        let text = "a".repeat(300_000);
        let windows = Tokenizer.map(&text).windows(&text, 0..text.len(), 1200, 100);
        assert_eq!(windows.last().map(|window| window.end), Some(text.len()));
    }

    proptest! {
        #[test]
        fn a_token_map_equals_a_list_of_token_ends(text in "([a-z]{1,9}[ .\n]|[é漢🜁]|\n{1,99}){0,300}", at in 0usize..3000, tokens in 0usize..40) {
            let ends: Vec<usize> = token_ends(&text).collect();
            let map = Tokenizer.map(&text);
            let before = ends.iter().filter(|&&end| end <= at).count();
            prop_assert_eq!((map.len(), map.tokens_before(at)), (ends.len(), before));
            let number = before.saturating_sub(tokens);
            prop_assert_eq!(map.back(at, tokens), number.checked_sub(1).map_or(0, |last| ends[last]));
        }

        #[test]
        fn truncation_is_a_prefix_within_the_limit(text in any::<String>(), max in 0u32..12) {
            let cut = Tokenizer.truncate(&text, max);
            prop_assert!(text.starts_with(cut));
            prop_assert!(Tokenizer.count(cut) <= max);
        }

        #[test]
        fn windows_cover_the_text_within_the_limit(text in any::<String>(), size in 8usize..20, overlap in 0usize..20) {
            let mut covered = 0;
            for window in Tokenizer.map(&text).windows(&text, 0..text.len(), size, overlap) {
                prop_assert!(window.start <= covered && window.end > covered);
                prop_assert!(Tokenizer.count(text[window.clone()].trim()) as usize <= size);
                covered = window.end;
            }
            prop_assert_eq!(covered, text.len());
        }
    }
}
