//! What the whole text reveals about its words: language, headings, quotations and capitalized words.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use harper_brill::UPOS;

use super::han::MAX_KNOWN_CHARS;
use super::languages::Language;
use super::lexicon::{is_connector, is_opener};
use super::scripts::{has_no_spaces, is_hiragana};
use super::token::{Shape, Token, is_foreign, opens, tokens};
use graphloom_text::is_list_item;

/// Maximum number of headings, and of quotations, whose words are not separate names.
const MAX_KNOWN: usize = 16;
/// Maximum number of words of a heading that counts as one name.
const MAX_HEADING_WORDS: usize = 12;
/// Longest quotation that counts as a title or term, in bytes.
const MAX_QUOTED_BYTES: usize = 80;
/// Pairs of quotation marks.
pub(super) const QUOTES: [(&str, &str); 8] = [
    ("\"", "\""),
    ("“", "”"),
    ("``", "''"),
    ("«", "»"),
    ("„", "“"),
    ("「", "」"),
    ("『", "』"),
    ("《", "》"),
];

/// What the whole text reveals about its words.
pub(super) struct TextStatistics<'a> {
    pub(super) language: Language,
    pub(super) common: Common,
    /// Words that are capitalized somewhere inside a sentence, ignoring headings.
    pub(super) capitals: BTreeSet<&'a str>,
    /// Words that are written in lowercase somewhere.
    pub(super) small: BTreeSet<&'a str>,
    /// The first headings and quotations; empty for English texts.
    pub(super) known: HashSet<&'a str>,
}

/// How lowercase words form noun phrases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Common {
    Phrases,
    /// Phrases that begin with their head.
    HeadFirst,
    Words,
    Nothing,
}

impl<'a> TextStatistics<'a> {
    pub(super) fn of(text: &'a str, sentences: &'a [Sentence<'a>], language: Language) -> Self {
        let words: Vec<&[Token<'_>]> = sentences.iter().map(|sentence| sentence.tokens.as_slice()).collect();
        let has_capitals = words.iter().copied().flatten().any(Token::is_capital);
        let common = match language {
            Language::English if !is_foreign(&words) => Common::Phrases,
            Language::Chinese | Language::Japanese | Language::Korean => Common::Words,
            Language::Arabic | Language::Persian => Common::HeadFirst,
            _ if has_capitals => Common::Nothing,
            _ => Common::Words,
        };
        let (mut capitals, mut small) = (BTreeSet::new(), BTreeSet::new());
        for sentence in sentences.iter().filter(|sentence| !sentence.heading) {
            let tokens = &sentence.tokens;
            let inside = (0..tokens.len()).filter(|&at| !opens(tokens, at)).map(|at| &tokens[at]);
            capitals.extend(inside.filter(|token| token.is_capital()).map(|token| token.lower.as_str()));
            let lower = sentence.tokens.iter().filter(|token| token.shape == Shape::Lower);
            small.extend(lower.map(|token| token.lower.as_str()));
        }
        let mut known = HashSet::new();
        if language != Language::English {
            let headings = sentences.iter().filter(|sentence| sentence.topic);
            let headings = headings.map(|sentence| heading_range(text, &sentence.range));
            let quotations = sentences.iter().flat_map(|sentence| quoted(text, &sentence.range));
            let fits = |name: &&str| (2..=MAX_KNOWN_CHARS).contains(&name.chars().count());
            let names = headings.take(MAX_KNOWN).chain(quotations.take(MAX_KNOWN)).map(|range| &text[range]);
            known.extend(names.filter(fits));
        }
        Self { language, common, capitals, small, known }
    }

    /// Returns the ranges of known names and quotations in a sentence. Text inside them is not a separate name.
    pub(super) fn inside(
        &self,
        text: &str,
        sentence: &Sentence<'_>,
        quoted: &[Range<usize>],
    ) -> Vec<Range<usize>> {
        if self.language == Language::English {
            return Vec::new();
        }
        let slice = &text[sentence.range.clone()];
        let places = self.known.iter().flat_map(|name| {
            slice.match_indices(name).map(|(at, name)| {
                let start = sentence.range.start + at;
                start..start + name.len()
            })
        });
        places.chain(quoted.iter().cloned()).collect()
    }

    pub(super) fn is_opener(&self, word: &str) -> bool {
        is_opener(word) || self.language.is_function_word(word)
    }

    /// True if a lowercase word joins the parts of a name before and after it.
    pub(super) fn joins(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let word = tokens[at].lower.as_str();
        if self.language == Language::English {
            return is_connector(word);
        }
        let binds = matches!(word, "und" | "et" | "y" | "e" | "of" | "for")
            || (self.language == Language::German && matches!(word, "das" | "den" | "des" | "do"));
        is_connector(word) && !binds
    }
}

/// A sentence with its words.
pub(super) struct Sentence<'a> {
    pub(super) range: Range<usize>,
    pub(super) tokens: Vec<Token<'a>>,
    /// True if it is a short line without a full stop. Its capitals may be those of a title.
    pub(super) heading: bool,
    /// True if it is such a line and may name a topic.
    pub(super) topic: bool,
    /// True if the line gives the path of a file or page, as above a listing.
    pub(super) caption: bool,
}

impl<'a> Sentence<'a> {
    pub(super) fn read(text: &'a str, range: Range<usize>, language: Language) -> Self {
        let tokens = tokens(text, range.clone());
        let alone =
            text[range.end..].starts_with(['\n', '\r']) || text[..range.start].ends_with(['\n', '\r']);
        let closers = ['"', '”', '’', '\'', '»', '“', '」', '』', '_', '*'];
        let bare = text[range.clone()].trim_end_matches(closers);
        let stopped = bare.ends_with(['.', '!', '?', ':', ';', ',', '。', '！', '？', '：', '，']);
        let starts_line = text[..range.start].trim_end_matches([' ', '\t']).is_empty()
            || text[..range.start].trim_end_matches([' ', '\t']).ends_with(['\n', '\r']);
        let short = alone
            && starts_line
            && !text[range.clone()].contains(['\n', '\r', '|'])
            && (1..=MAX_HEADING_WORDS).contains(&tokens.len());
        let caption = short && holds_path(bare);
        let heading = short && !stopped && !caption;
        let topic = heading && names_topic(text, &range, &tokens, language);
        Self { range, tokens, heading, topic, caption }
    }
}

/// True if a short line without a full stop may name a topic: it is marked as a heading, or it is neither half a sentence nor the
/// description of an image. A list item must be a name or a short noun phrase.
fn names_topic(text: &str, range: &Range<usize>, tokens: &[Token<'_>], language: Language) -> bool {
    let line = &text[range.clone()];
    let is_number = |token: &Token<'_>| {
        token.shape == Shape::Digit || token.text.chars().all(|c| matches!(c, 'I' | 'V' | 'X'))
    };
    let name = heading_range(text, range);
    let words = &tokens[tokens.partition_point(|token| token.start < name.start)
        ..tokens.partition_point(|token| token.start < name.end)];
    let is_item = is_list_item(line);
    let words = match words {
        [mark, words @ ..] if is_item && is_number(mark) => words,
        words => words,
    };
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
    // `REPRINTED 1923, 1927`
    if words[1..].iter().all(is_number)
        && (is_number(first) || words.len() > 1 && first.lower.ends_with("ed"))
    {
        return false;
    }
    let is_image = line.starts_with('[') && line.ends_with(']');
    let begins_small = first.shape == Shape::Lower && first.text.starts_with(char::is_lowercase);
    let is_whole = !is_image && !begins_small && !is_small(last, language);
    line.starts_with('#') || (is_whole && (!is_item || is_noun_phrase(&text[name], words, language)))
}

/// True if a word is a lowercase function word.
fn is_small(token: &Token<'_>, language: Language) -> bool {
    token.shape == Shape::Lower && (language.is_function_word(&token.lower) || !token.is_content())
}

/// True if a list item looks like a name or a short noun phrase.
fn is_noun_phrase(item: &str, tokens: &[Token<'_>], language: Language) -> bool {
    const MAX_WORDS: usize = 5;
    const MAX_UNSPACED_CHARS: usize = 10;
    if item.contains([',', ';', ':', '，', '：', '、']) {
        return false;
    }
    if has_no_spaces(item) && language != Language::Korean {
        let is_particle = |c: char| (is_hiragana(c) && c != 'の') || "的了是在把被".contains(c);
        return item.chars().count() <= MAX_UNSPACED_CHARS && !item.contains(is_particle);
    }
    if tokens.len() > MAX_WORDS || tokens.first().is_none_or(|first| is_small(first, language)) {
        return false;
    }
    if language != Language::English {
        let ends_small = tokens.last().is_some_and(|last| last.shape == Shape::Lower);
        return !language.capitalises_nouns() || !ends_small;
    }
    let is_title = tokens.iter().all(|token| token.shape != Shape::Lower || !token.is_content());
    let is_nominal = |token: &Token<'_>| {
        matches!(token.tag, UPOS::NOUN | UPOS::PROPN | UPOS::ADJ | UPOS::NUM)
            || token.lower.ends_with("ing")
            || is_connector(&token.lower)
    };
    (is_title && tokens.len() > 1) || tokens.iter().all(is_nominal)
}

/// True if a line contains a path or URL, or only a file name after a colon: `Filename: Cargo.toml`.
fn holds_path(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, ':' | '：'));
    let behind = line.rsplit_once([':', '：']).map_or("", |(_, behind)| behind.trim());
    words.any(|word| word.contains('/') && (word.contains('.') || word.starts_with("//")))
        || is_file_name(behind.trim_matches(['`', '"']))
}

/// True if a text is a file name with a short extension.
fn is_file_name(text: &str) -> bool {
    const MAX_ENDING: usize = 5;
    let is_part = |part: &str, more: &[char]| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(&c))
    };
    text.rsplit_once('.').is_some_and(|(name, ending)| {
        ending.len() <= MAX_ENDING
            && ending.starts_with(|c: char| c.is_ascii_lowercase())
            && is_part(ending, &[])
            && is_part(name, &['-', '_', '.'])
    })
}

/// Returns the range of a heading without leading marks, its number and trailing brackets.
pub(super) fn heading_range(text: &str, range: &Range<usize>) -> Range<usize> {
    let line = &text[range.clone()];
    let bare =
        line.trim_start_matches(|c: char| matches!(c, '#' | '*' | '-' | '•' | '>') || c.is_whitespace());
    // `1. FC Köln` is a name if the text has it elsewhere.
    let numbered = number_length(bare);
    let is_repeated = || text.matches(bare.trim_end()).nth(1).is_some();
    let bare = if numbered > 0 && !is_repeated() { &bare[numbered..] } else { bare };
    let start = range.start + line.len() - bare.len();
    let end = bare.rfind(" (").filter(|_| bare.ends_with(')')).unwrap_or(bare.len());
    start..start + bare[..end].trim_end_matches(['*', '#', ' ']).len()
}

/// Returns the length of the number or letter that begins a heading, with the space behind it: `1. `, `5.9.4 `, `a) `, `三、`,
/// `（二）`, `第一章 `. 0 if there is none, or nothing else.
fn number_length(heading: &str) -> usize {
    const MAX_DIGITS: usize = 2;
    const HAN: &str = "一二三四五六七八九十百〇零";
    let is_digit = |c: char| c.is_ascii_digit();
    let is_numeral = |c: char| is_digit(c) || HAN.contains(c);
    let numerals = |text: &'_ str| text.len() - text.trim_start_matches(is_numeral).len();
    let levels = heading.len() - heading.trim_start_matches(|c: char| is_digit(c) || c == '.').len();
    let parts = heading[..levels].trim_end_matches('.').split('.');
    let is_level = |part: &str| (1..=MAX_DIGITS).contains(&part.len());
    let in_brackets = heading.strip_prefix('（').and_then(|rest| {
        let end = numerals(rest);
        (end > 0 && rest[end..].starts_with('）')).then_some("（".len() + end + "）".len())
    });
    let chapter = heading.strip_prefix('第').and_then(|rest| {
        let end = numerals(rest);
        let unit = rest[end..].chars().next().filter(|c| end > 0 && "章节節条條部篇回卷".contains(*c))?;
        let end = end + unit.len_utf8();
        rest[end..]
            .starts_with(|c: char| c.is_whitespace() || matches!(c, '：' | '、'))
            .then_some("第".len() + end)
    });
    let mark = |length: usize, marks: &[char]| {
        heading[length..].strip_prefix(marks).map(|rest| heading.len() - rest.len())
    };
    let letter = heading.strip_prefix(|c: char| c.is_ascii_lowercase()).filter(|rest| rest.starts_with(") "));
    let length = if let Some(length) = in_brackets.or(chapter).or(letter.map(|_| "a)".len())) {
        length
    } else if levels > 0 && parts.clone().all(is_level) {
        let is_marked = parts.count() > 1 || heading[..levels].ends_with('.');
        let begins_title = |rest: &str| {
            rest.starts_with(char::is_whitespace) && !rest.trim_start().starts_with(char::is_lowercase)
        };
        match mark(levels, &[')', '）', '、', '．']) {
            Some(length) => length,
            // `3.5 litres` is an amount.
            None if is_marked && begins_title(&heading[levels..]) => levels,
            None => 0,
        }
    } else {
        mark(numerals(heading), &['、', '．']).filter(|_| numerals(heading) > 0).unwrap_or(0)
    };
    let rest = heading[length..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '：' | '、'));
    if rest.contains(char::is_alphabetic) { heading.len() - rest.len() } else { 0 }
}

/// Verbs that introduce direct speech.
const SPEECH: &str = "said says say saying asked asks replied replies answered answers cried cries exclaimed shouted whispered muttered \
    murmured returned added continued repeated remarked observed inquired demanded growled pursued told tells \
    thought wondered explained insisted laughed sighed yelled screamed begged interrupted \
    sagte sagt sagten fragte fragt antwortete rief schrie meinte erklärte flüsterte murmelte erwiderte entgegnete \
    dit demanda répondit cria déclara dijo preguntó respondió disse chiese rispose zei vroeg";
/// The same for scripts without spaces: verbs before a quotation, and after it.
const SPEECH_BEFORE: [&str; 10] = ["说", "說", "道", "问", "問", "喊", "答", "讲", "叫", "表示"];
const SPEECH_BEHIND: [&str; 16] = [
    "と言",
    "といっ",
    "という声",
    "と話",
    "と述べ",
    "と語",
    "と答",
    "と叫",
    "と聞",
    "と尋ね",
    "说",
    "說",
    "道",
    "问",
    "問",
    "喊",
];

/// True if a quotation is speech rather than a title or term, judged by a verb of speech next to it or by its last mark.
fn is_spoken(before: &str, inner: &str, behind: &str) -> bool {
    const WORDS_BEHIND: usize = 3;
    let is_verb = |word: &str| SPEECH.split_whitespace().any(|verb| verb.eq_ignore_ascii_case(word));
    let last = before.trim_end().trim_end_matches([',', ':', '：', '，']);
    let verb_before = (last.len() < before.trim_end().len()
        && last.rsplit(|c: char| !c.is_alphanumeric()).take(2).any(is_verb))
        || SPEECH_BEFORE.iter().any(|verb| last.ends_with(verb) && last.len() < before.len());
    let clause = behind.trim_start_matches([',', ' ']);
    let clause = clause.split(['.', ',', ';', '"', '“']).next().unwrap_or_default();
    let verb_behind = clause
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(WORDS_BEHIND)
        .any(is_verb)
        || SPEECH_BEHIND.iter().any(|verb| behind.trim_start_matches(['，', '、']).starts_with(verb));
    let inner = inner.trim();
    let capitals =
        inner.split_whitespace().all(|word| !word.starts_with(char::is_lowercase) || word.len() <= 4);
    let exclaims = inner.ends_with(['!', '?', '…']) && !(capitals && inner.contains(' '));
    let goes_on = inner.ends_with(',') && !capitals;
    exclaims || goes_on || inner.ends_with(['。', '！', '？', '，', '、']) || verb_before || verb_behind
}

/// Returns the ranges of short quotations that are titles or terms rather than speech.
pub(super) fn quoted(text: &str, sentence: &Range<usize>) -> Vec<Range<usize>> {
    let slice = &text[sentence.clone()];
    let mut found = Vec::new();
    for (open, close) in QUOTES {
        let mut from = 0;
        while let Some(start) = slice[from..].find(open).map(|at| from + at + open.len()) {
            // `5" wide`
            let is_inch =
                open == close && slice[..start - open.len()].ends_with(|c: char| c.is_ascii_digit());
            if is_inch {
                from = start;
                continue;
            }
            let Some(length) = slice[start..].find(close) else { break };
            let inner = &slice[start..start + length];
            let bare = inner.trim_matches(|c: char| c.is_whitespace() || c == ',' || c == '.');
            let end = start + length + close.len();
            let is_title = !is_spoken(&slice[..start - open.len()], inner, &slice[end..]);
            if !bare.is_empty() && bare.len() <= MAX_QUOTED_BYTES && is_title {
                let lead = inner.len()
                    - inner.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == '.').len();
                let start = sentence.start + start + lead;
                found.push(start..start + bare.len());
            }
            from = end;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_loses_its_number_unless_it_is_part_of_a_name() {
        for (heading, expected) in [
            ("## 1. Washing", "Washing"),
            ("5.9.4 Old pipes (cold)", "Old pipes"),
            ("2) Taps", "Taps"),
            ("b) Taps", "Taps"),
            ("# 三、滤芯与更换", "滤芯与更换"),
            ("（二）安装", "安装"),
            ("第一章 总则", "总则"),
            ("3、型号", "型号"),
            ("2024 Report", "2024 Report"),
            ("1984", "1984"),
            ("3.5 litres", "3.5 litres"),
            ("7-Zip", "7-Zip"),
            ("第一", "第一"),
            ("一个人", "一个人"),
        ] {
            assert_eq!(&heading[heading_range(heading, &(0..heading.len()))], expected);
        }
        let text = "# 1. FC Oslo\nThe 1. FC Oslo won.";
        assert_eq!(&text[heading_range(text, &(0..12))], "1. FC Oslo");
    }
}
