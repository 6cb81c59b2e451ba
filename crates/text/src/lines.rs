//! Classifies the lines of a text: whether they end a sentence, and whether they are code.

use super::turns::{begins_turn, is_label};
use super::wrapped::{is_ideograph, without_quotation_marks};

/// A line of at most this many bytes that is followed by a capital counts as a heading or verse, unless its paragraph is
/// wrapped there.
const SHORT_LINE: usize = 40;
/// Minimum length of the longest line of a wrapped paragraph, in characters.
const MIN_WRAP_CHARS: usize = 30;
/// Maximum length of the name in a `name: value` line, in characters.
const MAX_LABEL_CHARS: usize = 30;

/// One line of a text.
#[derive(Debug)]
pub(super) struct Line {
    /// First byte.
    pub(super) start: usize,
    /// End, exclusive, without the line end.
    pub(super) end: usize,
    /// Start of the next line.
    pub(super) next: usize,
    /// True if its end also ends a sentence.
    pub(super) ends_sentence: bool,
    /// True if it is a fence or fenced code.
    pub(super) code: bool,
}

/// Returns the lines of `text`; `\r\n` and a lone `\r` end a line as `\n` does.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = text[start..].find(['\n', '\r']).map_or(text.len(), |at| start + at);
        let next = if text[end..].starts_with("\r\n") { end + 2 } else { (end + 1).min(text.len()) };
        lines.push(Line { start, end, next, ends_sentence: true, code: false });
        start = next;
    }
    mark_code(text, &mut lines);
    let bodies: Vec<(usize, &str)> =
        lines.iter().map(|line| without_quotation_marks(&text[line.start..line.end])).collect();
    let chars: Vec<usize> = bodies.iter().map(|(_, body)| body.chars().count()).collect();
    let mut from = 0;
    while from < lines.len() {
        let paragraph = bodies[from..].iter().take_while(|(_, body)| !body.is_empty()).count();
        let longest = Longest::of(&chars[from..from + paragraph]);
        for at in from..(from + paragraph).saturating_sub(1) {
            // `the usual format is / TIFF / today.`: a line that continues a long one is neither a heading nor verse.
            let continues = at > from
                && !lines[at - 1].ends_sentence
                && chars[at - 1] > SHORT_LINE
                && bodies[at].1.starts_with(char::is_lowercase);
            let others = longest.without(chars[at]);
            lines[at].ends_sentence = ends_sentence(bodies[at], bodies[at + 1], chars[at], others, continues)
                || (!continues && is_title(bodies[at].1, bodies[at + 1].1, chars[at], others, at == from));
        }
        from += paragraph + 1;
    }
    lines
}

/// Lengths of the two longest lines of a paragraph, in characters.
struct Longest(usize, usize);

impl Longest {
    fn of(chars: &[usize]) -> Self {
        chars.iter().fold(Self(0, 0), |Self(first, second), &chars| {
            Self(first.max(chars), second.max(chars.min(first)))
        })
    }

    /// Returns the length of the longest line other than one of `chars` characters.
    fn without(&self, chars: usize) -> usize {
        if chars == self.0 { self.1 } else { self.0 }
    }
}

/// True if the end of a line also ends a sentence. Each line is given as its quotation depth and its text; `others` is the
/// length of the longest other line of the paragraph, in characters; `continues` is true if the line continues a long one.
fn ends_sentence(
    (depth, this): (usize, &str),
    (next_depth, next): (usize, &str),
    chars: usize,
    others: usize,
    continues: bool,
) -> bool {
    if depth != next_depth {
        return true;
    }
    // `Ada 17:02`: the message is below.
    if is_label(this) && !is_named_value(next) {
        return begins_turn(next) || stands_alone(next);
    }
    // In a script without capitals, the beginning of a line shows nothing.
    let has_no_case = |c: char| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase();
    let starts = |c: char| c.is_uppercase() || c.is_ascii_digit() || has_no_case(c) || "《「『“".contains(c);
    let goes_on = this.ends_with(['，', '、', '；', '،', ',', ';']);
    let short =
        this.len() <= SHORT_LINE && next.starts_with(starts) && !(goes_on && next.starts_with(has_no_case));
    (short && !continues && !is_wrapped(chars, next, others) && !ends_with_joining_word(this))
        || begins_turn(next)
        || stands_alone(this)
        || stands_alone(next)
        || is_row(this)
        || is_row(next)
        || is_list_item(next)
        || is_clause(next)
        || (is_named_value(this) && is_named_value(next))
        || are_rows_of_columns(this, next)
}

/// True if a line without a mark at its end is a title above the line `next`: `next` begins with the same words, or with a capital
/// although more words would fit on a line as long as the `others`.
fn is_title(this: &str, next: &str, chars: usize, others: usize, begins_paragraph: bool) -> bool {
    let is_mark = |c: char| !(c.is_alphanumeric() || matches!(c, ')' | '"' | '”' | '»' | '’'));
    if is_label(this)
        || !next.starts_with(char::is_uppercase)
        || this.ends_with(is_mark)
        || ends_with_joining_word(this)
    {
        return false;
    }
    let alike =
        this.split_whitespace().zip(next.split_whitespace()).take(2).filter(|(this, next)| this == next);
    let is_much_shorter = others >= MIN_WRAP_CHARS && chars * 2 <= others;
    begins_paragraph && (alike.count() == 2 || is_much_shorter && !this.starts_with(char::is_lowercase))
}

/// True if a line ends with a word that never ends a sentence.
fn ends_with_joining_word(line: &str) -> bool {
    const JOINING: &str =
        "a an and as at by for from in of on or that the to who with und der die das von et de la le";
    let last = line.rsplit(' ').next().unwrap_or_default();
    JOINING.split(' ').any(|word| word == last)
}

/// True if the first word of `next` did not fit on a line of `chars` characters, when another line has `others`.
fn is_wrapped(chars: usize, next: &str, others: usize) -> bool {
    let word = next.split_whitespace().next().unwrap_or_default();
    others >= MIN_WRAP_CHARS.max(chars)
        && !word.chars().any(is_ideograph)
        && chars + 1 + word.chars().count() > others
}

/// True if a line starts like a heading, table row, fence or JSON record.
fn stands_alone(line: &str) -> bool {
    ["#", "|", "```", "~~~", "---", "===", "***", "{\""].iter().any(|mark| line.starts_with(mark))
}

/// True if a line is a row of named cells, as readers write tables of values.
fn is_row(line: &str) -> bool {
    line.contains(" | ")
}

/// True if two lines are rows of a table whose columns are separated by tabs or aligned by spaces: a cell begins at the same place
/// in both. Justified prose has gaps of two spaces, and those of two lines are rarely at the same place.
fn are_rows_of_columns(this: &str, next: &str) -> bool {
    const WIDE: usize = 3;
    let mut others = gaps(next).peekable();
    let is_aligned = |(start, gap): (usize, usize)| {
        while others.next_if(|&(other, _)| other < start).is_some() {}
        others.peek().is_some_and(|&(other, next_gap)| other == start && gap.max(next_gap) >= WIDE)
    };
    (this.contains('\t') && next.contains('\t')) || gaps(this).any(is_aligned)
}

/// Returns the gaps of more than one space in a line, in order, except those behind the end of a sentence, where some people type
/// two: where the text goes on, and the number of spaces, in characters.
fn gaps(line: &str) -> impl Iterator<Item = (usize, usize)> {
    let (mut gap, mut before) = (0, ' ');
    line.chars().enumerate().filter_map(move |(at, c)| {
        if c == ' ' {
            gap += 1;
            return None;
        }
        let found = (gap > 1 && !".!?:".contains(before)).then_some((at, gap));
        (gap, before) = (0, c);
        found
    })
}

/// True if a line is `name: value`, as in front matter and message headers.
fn is_named_value(line: &str) -> bool {
    let Some((name, value)) = line.split_once(": ").or_else(|| line.split_once('：')) else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    !value.trim().is_empty()
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(is_name)
        && name.chars().count() <= MAX_LABEL_CHARS
}

/// True if a line begins with the mark of a list item: a bullet, a dash, a number or a letter, also in brackets or a circle.
pub fn is_list_item(line: &str) -> bool {
    const MAX_DIGITS: usize = 3;
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = (1..=MAX_DIGITS).contains(&(line.len() - after_number.len()));
    let is_number = |inside: &str| {
        (1..=2).contains(&inside.chars().count())
            && inside.chars().all(|c| c.is_ascii_digit() || "一二三四五六七八九十".contains(c))
    };
    let is_letter = |inside: &str| inside.len() == 1 && inside.starts_with(|c: char| c.is_ascii_lowercase());
    let is_lettered = line.split_once(") ").is_some_and(|(inside, _)| {
        is_letter(inside)
            || inside.strip_prefix('(').is_some_and(|inside| is_number(inside) || is_letter(inside))
    });
    line.starts_with(|c| matches!(c, '•' | '◦' | '‣' | '①'..='⑳'))
        || ["- ", "* ", "+ ", "– "].iter().any(|mark| line.starts_with(mark))
        || (is_numbered && [". ", ") ", "、", "．", "）"].iter().any(|mark| after_number.starts_with(mark)))
        || is_lettered
        || line
            .strip_prefix('（')
            .and_then(|rest| rest.split_once('）'))
            .is_some_and(|(inside, _)| is_number(inside))
}

/// True if a line begins with the number of a clause, as contracts have them: `5.3 Gas bottles must be taken off.`
pub fn is_clause(line: &str) -> bool {
    const MAX_DIGITS: usize = 2;
    let Some((number, rest)) = line.split_once(' ') else { return false };
    let is_part =
        |part: &str| (1..=MAX_DIGITS).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.trim_end_matches('.');
    number.contains('.')
        && number.split('.').all(is_part)
        && rest.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase())
}

/// Marks fences and the lines between them as code. Readers write the language after every opening fence. A first fence
/// without a language therefore closes a block whose beginning was cut off, unless the fence after it has no language
/// either.
fn mark_code(text: &str, lines: &mut [Line]) {
    let marks = ['>', ' ', '\t', '-', '*', '+', '•'];
    let body = |line: &Line| text[line.start..line.end].trim_start_matches(marks).trim_end();
    let fences: Vec<(usize, char, bool)> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            let body = body(line);
            let mark = body.chars().next().filter(|&c| matches!(c, '`' | '~'))?;
            let info = body.trim_start_matches(mark);
            let is_fence = body.len() - info.len() >= 3 && !info.contains('`');
            is_fence.then_some((at, mark, !info.is_empty()))
        })
        .collect();
    let named = |fence: usize| fences.get(fence).is_none_or(|&(_, _, named)| named);
    let mut open: Option<(usize, char)> = None;
    for (nth, &(at, mark, is_named)) in fences.iter().enumerate() {
        match open {
            Some((from, opener)) if opener == mark && !is_named => {
                lines[from..=at].iter_mut().for_each(|line| line.code = true);
                open = None;
            }
            Some(_) => {}
            None if nth == 0 && !is_named && named(1) => {
                lines[..=at].iter_mut().for_each(|line| line.code = true);
            }
            None => open = Some((at, mark)),
        }
    }
    if let Some((from, _)) = open {
        lines[from..].iter_mut().for_each(|line| line.code = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_dashes_and_numbers_mark_list_items() {
        for line in [
            "• lid",
            "- lid",
            "* lid",
            "– lid",
            "12. lid",
            "3) lid",
            "3、盖子",
            "（2）盖子",
            "（十）盖子",
            "③盖子",
            "b) a lid",
            "(c) a lid",
            "(4) a lid",
        ] {
            assert!(is_list_item(line), "{line}");
        }
        for line in [
            "lid",
            "-lid",
            "1984. It was late.",
            "3.5 litres",
            "（见下文）盖子",
            "（123）盖子",
            "12 lids",
            "f(x) is it",
            "(or b) lid",
        ] {
            assert!(!is_list_item(line), "{line}");
        }
    }

    #[test]
    fn numbers_with_points_before_a_capital_mark_clauses() {
        for line in ["5.3 Gas bottles", "2.1. Der Mieter", "10.2.1 盖子"] {
            assert!(is_clause(line), "{line}");
        }
        for line in ["5.3 million", "5. Gas bottles", "5 Gas bottles", "1.9.2024 Ada", "v1.2 Ada"] {
            assert!(!is_clause(line), "{line}");
        }
    }
}
