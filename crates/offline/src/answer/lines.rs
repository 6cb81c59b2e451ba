//! Splits passages into lines: sentences with the headings above them.

use std::collections::BTreeSet;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::Passage;
use super::roots::Roots;
use super::words::{NUMBERS, PERSONAL, PRONOUNS, any_word, is_first_person};
use crate::scripts::has_no_spaces;
use graphloom_text::{front_matter, is_list_item, sentences, turn_label};

/// Maximum number of sentences read from one passage.
const MAX_LINES: usize = 400;
/// Longest line without a mark that counts as a heading, in characters.
const MAX_HEADING_CHARS: usize = 70;
/// Longest line that counts as a question if it quotes one, in characters.
const MAX_QUESTION_CHARS: usize = 120;
/// Number of first words in which a pronoun refers to the previous line.
const PRONOUN_WORDS: usize = 5;

/// One sentence of a passage.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) passage: usize,
    pub(super) range: Range<usize>,
    pub(super) text: &'a str,
    pub(super) words: Vec<Word<'a>>,
    pub(super) form: LineForm,
    /// Line indexes of the headings above it, outermost first.
    pub(super) headings: Vec<usize>,
    /// True if it is in the same paragraph as the previous line.
    pub(super) goes_on: bool,
    /// True if it refers to something that an earlier line names.
    pub(super) refers: bool,
    /// True if one of its first words is a pronoun.
    pub(super) begins_with_pronoun: bool,
    /// True if it addresses its reader, as letters do.
    pub(super) addresses: bool,
    /// True if it is about its speaker.
    pub(super) of_speaker: bool,
    /// The line that begins its turn in a conversation: `[09:14] Ada: I have it.`
    pub(super) turn: Option<usize>,
    /// Number of first words that only give the time and the speaker; 0 if no turn begins here.
    pub(super) label_words: usize,
    /// The table row that contains it.
    pub(super) row: Option<usize>,
    /// For a row with sentences, the lines of its cells.
    pub(super) cells: Range<usize>,
}

impl Line<'_> {
    /// True if it is a sentence in a table cell.
    pub(super) fn is_in_cell(&self) -> bool {
        self.row.is_some() && self.form != LineForm::Row
    }

    /// True if it is a table row or a sentence in a cell.
    pub(super) fn is_of_table(&self) -> bool {
        self.row.is_some() || self.form == LineForm::Row
    }
}

/// The form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineForm {
    /// A heading with its level.
    Heading(u8),
    Item,
    Row,
    /// A cell of a row with sentences, or the label of such a sentence; after all other lines.
    Cell,
    Code,
    /// A question, as in a dialogue.
    Question,
    /// A property of the document, above its text: `date: 2031-05-02`.
    Property,
    Prose,
}

#[derive(Debug)]
pub(super) struct Word<'a> {
    /// Its offset in the line.
    pub(super) at: usize,
    pub(super) text: &'a str,
    pub(super) lower: String,
    pub(super) root: String,
    /// The families of synonyms that it belongs to.
    pub(super) families: Vec<u16>,
    /// True if a hyphen joins it to the previous word.
    pub(super) is_joined: bool,
    /// True if a hyphen joins it to the next word.
    pub(super) joins: bool,
}

impl Word<'_> {
    pub(super) fn is_capital(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    pub(super) fn has_digit(&self) -> bool {
        self.text.contains(|c: char| c.is_ascii_digit())
    }

    /// True if it is a number in digits or in words: `16`, `5th`, `3kg` or `twelve`, but not `uint64`.
    pub(super) fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit()) || any_word(NUMBERS, &self.lower)
    }
}

/// Returns the lines of the passages, in order, without empty lines and table rules.
///
/// Sentences in table cells are separate lines after their row, which also contains the first of them. The cells of these rows
/// come after all other lines.
pub(super) fn lines<'a>(passages: &[Passage<'a>], roots: &Roots) -> Vec<Line<'a>> {
    let mut found = Vec::new();
    for (passage, Passage { text, .. }) in passages.iter().enumerate() {
        read(passage, text, roots, &mut found);
    }
    take_turns(&mut found);
    add_cells(passages, roots, &mut found);
    found
}

/// Adds the cells of rows that contain sentences.
fn add_cells<'a>(passages: &[Passage<'a>], roots: &Roots, found: &mut Vec<Line<'a>>) {
    let rows: BTreeSet<usize> =
        found.iter().filter(|line| line.is_in_cell()).filter_map(|line| line.row).collect();
    let count = found.len();
    for row in rows {
        let start = found.len();
        for at in row..count {
            let of_row = at == row || found[at].row == Some(row);
            if !of_row {
                break;
            }
            if found[at].form != LineForm::Row {
                continue;
            }
            let Line { passage, range, .. } = &found[at];
            let (passage, text) = (*passage, passages[*passage].text);
            for cell in cells(text, range.clone()) {
                let cell = match sentence_in(text, &cell) {
                    Some(sentence) => cell.start..sentence.start,
                    None => cell,
                };
                if !cell.is_empty() {
                    found.push(Line::new(passage, text, cell, LineForm::Cell, roots));
                }
            }
        }
        found[row].cells = start..found.len();
    }
}

/// Returns the byte ranges of the cells of a row.
fn cells(text: &str, row: Range<usize>) -> Vec<Range<usize>> {
    let mut start = row.start;
    let parts = text[row].split('|').map(|part| {
        let bare = part.trim();
        let at = start + part.len() - part.trim_start().len();
        start += part.len() + 1;
        at..at + bare.len()
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns the value of a cell if it is a sentence.
fn sentence_in(text: &str, cell: &Range<usize>) -> Option<Range<usize>> {
    const MIN_WORDS: usize = 4;
    const MIN_UNSPACED_CHARS: usize = 8;
    const LABEL: &str = ": ";
    let value = &text[cell.clone()];
    let label = value.find(LABEL).map_or(0, |label| label + LABEL.len());
    let value = &value[label..];
    let bare = value.trim_end_matches(['"', '”', '’', '\'', '」', '』', ')', '）']);
    let is_long = match has_no_spaces(value) {
        true => value.chars().count() >= MIN_UNSPACED_CHARS,
        false => {
            value.split_whitespace().count() >= MIN_WORDS && value.starts_with(|c: char| !c.is_lowercase())
        }
    };
    let is_sentence = is_long && bare.ends_with(['.', '!', '?', '…', '。', '！', '？']);
    is_sentence.then(|| cell.start + label..cell.end)
}

/// Finds the conversation turns in each passage.
///
/// Labels that never repeat may label values, so they do not count as speakers. In a passage with too few turns to decide, only
/// speakers of other passages begin turns.
fn take_turns<'a>(lines: &mut [Line<'a>]) {
    const MIN_TURNS: usize = 3;
    let mut known: BTreeSet<&'a str> = BTreeSet::new();
    let mut short: Vec<(Range<usize>, Vec<Label<'a>>)> = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let passage = lines[start].passage;
        let count = lines[start..].iter().take_while(|line| line.passage == passage).count();
        let range = start..start + count;
        start = range.end;
        if take_senders(&mut lines[range.clone()], range.start) {
            continue;
        }
        let labels: Vec<Label<'a>> = range
            .clone()
            .filter_map(|at| speaker(&lines[at]).map(|(name, words)| Label { at, name, words }))
            .collect();
        let names: BTreeSet<&str> = labels.iter().map(|label| label.name).collect();
        if labels.len() < MIN_TURNS || names.len() < 2 || names.len() == labels.len() {
            short.push((range, labels));
            continue;
        }
        known.extend(names);
        set_turns(lines, range, labels);
    }
    for (range, mut labels) in short {
        labels.retain(|label| known.contains(label.name));
        set_turns(lines, range, labels);
    }
}

/// The label of a line that begins a turn.
struct Label<'a> {
    at: usize,
    name: &'a str,
    /// Its number of words.
    words: usize,
}

/// Sets the turns that begin at the labels of a passage; each continues up to the next label.
fn set_turns(lines: &mut [Line<'_>], passage: Range<usize>, labels: Vec<Label<'_>>) {
    for Label { at, words, .. } in labels {
        lines[at].turn = Some(at);
        lines[at].label_words = words;
    }
    for at in passage.skip(1) {
        let before = lines[at - 1].turn;
        if lines[at].turn.is_none() && !matches!(lines[at].form, LineForm::Heading(_)) {
            lines[at].turn = before;
        }
    }
}

/// Treats the text below `From: ` as the words of the sender of a letter. Returns true if there is a sender.
///
/// - `first`: index of the first of these lines.
fn take_senders(lines: &mut [Line<'_>], first: usize) -> bool {
    let mut sender = None;
    for (at, line) in lines.iter_mut().enumerate() {
        if let Some(rest) = line.text.strip_prefix("From: ") {
            let name = line.text.len() - rest.len() + rest.find(['<', '\n', '\r']).unwrap_or(rest.len());
            line.label_words = line.words.iter().take_while(|word| word.at < name).count();
            sender = Some(first + at);
        }
        if !matches!(line.form, LineForm::Heading(_)) {
            line.turn = sender;
        }
    }
    sender.is_some()
}

/// Returns the speaker of a line and the number of words before the speech: `[2031-05-02 09:14] Ada Byron: Hello`.
fn speaker<'a>(line: &Line<'a>) -> Option<(&'a str, usize)> {
    let label = turn_label(line.text)?;
    Some((label.name, line.words.iter().take_while(|word| word.at < label.text.len()).count()))
}

fn read<'a>(passage: usize, text: &'a str, roots: &Roots, found: &mut Vec<Line<'a>>) {
    let mut trail: Vec<(u8, usize)> = Vec::new();
    let mut fenced = false;
    let mut end_before = 0;
    let front_matter = front_matter(text);
    for range in sentences(text).into_iter().take(MAX_LINES) {
        let line = &text[range.clone()];
        let gap = &text[end_before..range.start];
        end_before = range.end;
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let is_rule = !line.chars().any(char::is_alphanumeric);
        if is_rule {
            continue;
        }
        let starts_line = range.start == 0 || gap.contains(['\n', '\r']);
        let ends_line = text[range.end..].starts_with(['\n', '\r']) || range.end == text.len();
        let form = match fenced || line.starts_with("$ ") {
            true => LineForm::Code,
            false if range.start < front_matter => LineForm::Property,
            false => {
                let below_title = found.last().is_some_and(|before: &Line<'_>| {
                    before.passage == passage && matches!(before.form, LineForm::Heading(_))
                });
                let opens = range.start == 0 || is_blank_line(gap) || below_title;
                form(line, starts_line && ends_line, &text[range.end..], range.start == 0, opens)
            }
        };
        if let LineForm::Heading(level) = form {
            trail.retain(|(above, _)| *above < level);
        }
        let starts_in_row = !starts_line && form != LineForm::Code;
        let row = found.last().filter(|before| starts_in_row && before.passage == passage);
        let row =
            row.and_then(|before| before.row.or((before.form == LineForm::Row).then(|| found.len() - 1)));
        let headings = trail.iter().map(|(_, at)| *at).collect();
        if let LineForm::Heading(level) = form {
            trail.push((level, found.len()));
        }
        let goes_on = range.start > 0 && !is_blank_line(gap) && !matches!(form, LineForm::Heading(_));
        let entry = Line { headings, goes_on, row, ..Line::new(passage, text, range.clone(), form, roots) };
        let last_cell = cells(text, range).pop().filter(|_| form == LineForm::Row);
        let inside = last_cell.and_then(|cell| sentence_in(text, &cell)).map(|sentence| Line {
            headings: entry.headings.clone(),
            goes_on: true,
            row: row.or(Some(found.len())),
            ..Line::new(passage, text, sentence, LineForm::Prose, roots)
        });
        found.push(entry);
        found.extend(inside);
    }
}

impl<'a> Line<'a> {
    /// Makes a line from its text alone, without its surroundings.
    fn new(passage: usize, text: &'a str, range: Range<usize>, form: LineForm, roots: &Roots) -> Self {
        let line = &text[range.clone()];
        let words = words(line, roots);
        let first = words.iter().take(PRONOUN_WORDS);
        let personal = |word: &Word<'_>| any_word(PERSONAL, &word.lower);
        let refers = first.into_iter().any(|word| any_word(PRONOUNS, &word.lower))
            || words.iter().any(personal)
            || words.last().is_some_and(|last| last.lower == "it")
            || begins_with_one(&words)
            || ["他", "她", "它", "该", "其", "此后", "之后", "毕业后"]
                .iter()
                .any(|word| line.contains(word));
        let begins_with_pronoun =
            words.iter().take(2).any(|word| any_word(PRONOUNS, &word.lower)) || begins_with_one(&words);
        let addresses = words
            .iter()
            .any(|word| any_word("you your yours dein deine deinen ihr ihre ihren sie", &word.lower));
        let of_speaker = words.iter().any(|word| is_first_person(&word.lower))
            || (has_no_spaces(line) && line.contains('我'));
        Self {
            passage,
            range,
            text: line,
            words,
            form,
            headings: Vec::new(),
            goes_on: false,
            refers,
            begins_with_pronoun,
            addresses,
            of_speaker,
            turn: None,
            label_words: 0,
            row: None,
            cells: 0..0,
        }
    }
}

/// Returns the lines around a line, of its passage and below the same headings: one line after the other is added while all fit.
///
/// - `precedes`, `follows`: whether a line may be added before or after the others.
/// - `is_centred`: whether lines are added on both sides in turn; otherwise, those after the line come first.
pub(super) fn window_around(
    lines: &[Line<'_>],
    at: usize,
    max_bytes: usize,
    precedes: &dyn Fn(usize) -> bool,
    follows: &dyn Fn(usize) -> bool,
    is_centred: bool,
) -> Range<usize> {
    let (mut start, mut end) = (at, at + 1);
    let belongs = |other: usize| {
        lines
            .get(other)
            .is_some_and(|line| line.passage == lines[at].passage && line.headings == lines[at].headings)
    };
    let fits = |start: usize, end: usize| lines[end - 1].range.end - lines[start].range.start <= max_bytes;
    loop {
        let before = start > 0 && belongs(start - 1) && precedes(start - 1) && fits(start - 1, end);
        let after = belongs(end) && follows(end) && fits(start, end + 1);
        match (before, after) {
            (true, true) if is_centred && at - start < end - at => start -= 1,
            (true, false) => start -= 1,
            (_, true) => end += 1,
            (false, false) => return start..end,
        }
    }
}

/// True if one of the first words refers to a thing named before, as in `A new one costs more`.
fn begins_with_one(words: &[Word<'_>]) -> bool {
    const FIRST: usize = 4;
    const BEFORE: &str = "a the this that another each every";
    let begins = words.first().is_some_and(|word| any_word(BEFORE, &word.lower));
    begins && words.iter().take(FIRST).skip(1).any(|word| any_word("one ones", &word.lower))
}

fn is_blank_line(gap: &str) -> bool {
    gap.replace('\r', "").matches('\n').count() >= 2
}

/// True if a line only says who wrote the article: `By Ada Byron, Science Writer`.
fn is_byline(line: &str) -> bool {
    const MAX_CHARS: usize = 70;
    let names_author = ["By ", "Von "].iter().filter_map(|by| line.strip_prefix(by)).any(|author| {
        let mut words = author.split_whitespace();
        words.by_ref().take(2).filter(|word| word.starts_with(char::is_uppercase)).count() == 2
    });
    names_author && line.chars().count() <= MAX_CHARS && !line.ends_with(['.', '!', '?', ':', ';', ','])
}

/// True if a message asks the group without a question mark: `Ada: does anyone know where the key is`.
fn asks_anyone(line: &str) -> bool {
    const STARTS: [&str; 12] = [
        "does anyone",
        "does anybody",
        "has anyone",
        "has anybody",
        "anyone know",
        "anybody know",
        "weiß jemand",
        "hat jemand",
        "kann jemand",
        "有没有人",
        "有谁",
        "谁知道",
    ];
    let label = turn_label(line).map_or(0, |label| label.text.len());
    let text = line[label..].trim_start().to_lowercase();
    STARTS.iter().any(|start| text.starts_with(start)) && !text.ends_with(['.', '!', '。', '！'])
}

fn form(line: &str, alone: bool, behind: &str, is_first: bool, opens: bool) -> LineForm {
    if line.starts_with('#') {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        return LineForm::Heading(u8::try_from(level).unwrap_or(u8::MAX));
    }
    if line.starts_with('|') || line.contains(" | ") {
        return LineForm::Row;
    }
    if is_list_item(line) {
        return LineForm::Item;
    }
    let bare = line.trim_end_matches(['"', '”', '’', '\'', '」', '』', '*', '_']);
    let asks_inside = ["?\"", "?”", "?'", "?’", "？”", "？」"].iter().any(|mark| line.contains(mark))
        && line.chars().count() <= MAX_QUESTION_CHARS;
    if bare.ends_with(['?', '？']) || asks_inside || asks_anyone(line) {
        return LineForm::Question;
    }
    let open = !bare.ends_with(['.', '!', ':', '。', '！', '：', ';', '；', ',', '，', '…']);
    let is_short = line.chars().count() <= MAX_HEADING_CHARS;
    if alone && is_byline(line) {
        return LineForm::Property;
    }
    let next = behind.trim_start().lines().next().unwrap_or_default();
    let before_blank = is_blank_line(&behind[..behind.len() - behind.trim_start().len()]) || is_byline(next);
    if alone && opens && open && is_short && (before_blank || is_first) && !behind.trim().is_empty() {
        return LineForm::Heading(if is_first { 1 } else { 7 });
    }
    LineForm::Prose
}

fn words<'a>(line: &'a str, roots: &Roots) -> Vec<Word<'a>> {
    // `delivery_days` is two words.
    let parts = line.unicode_word_indices().flat_map(|(at, word)| {
        word.split('_').map(move |part| (at + (part.as_ptr() as usize - word.as_ptr() as usize), part))
    });
    let found = parts.filter_map(|(at, word)| {
        let text = word;
        let text = ["'s", "’s"].iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text);
        let at = at + word.find(text)?;
        let lower = text.to_lowercase();
        let (root, families) = roots.root_and_families(&lower);
        let is_joined = line[..at].ends_with('-') && line[..at - 1].ends_with(char::is_alphabetic);
        let behind = &line[at + text.len()..];
        let joins = behind.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
        (!text.is_empty()).then_some(Word { at, text, lower, root, families, is_joined, joins })
    });
    let mut found: Vec<Word<'_>> = found.collect();
    for at in 0..found.len() {
        let expressions = roots.expressions(found[at..].iter().map(|word| word.root.as_str()));
        for (count, family) in expressions {
            // In `in the box`, the box has the meaning.
            let tells = |at: &usize| !roots.is_small(&found[*at].lower);
            let telling = (at..at + count).find(tells).unwrap_or(at);
            found[telling].families.push(family);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::test_support::check_in;
    use crate::languages::Language;

    #[test]
    fn lines_have_their_form_and_the_headings_above() {
        let text = "# Tools\n\nIntro text is here.\n\n## Parts\n\nIt has:\n\n- a lid\n- a base\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## End\n\nWhy? It was late.\n";
        let passage = Passage { text, title: "", headings: &[] };
        let found = lines(&[passage], &Roots::of(Language::English));
        let forms: Vec<(&str, LineForm, usize)> =
            found.iter().map(|line| (line.text, line.form, line.headings.len())).collect();
        assert_eq!(
            forms,
            [
                ("# Tools", LineForm::Heading(1), 0),
                ("Intro text is here.", LineForm::Prose, 1),
                ("## Parts", LineForm::Heading(2), 1),
                ("It has:", LineForm::Prose, 2),
                ("- a lid", LineForm::Item, 2),
                ("- a base", LineForm::Item, 2),
                ("| a | b |", LineForm::Row, 2),
                ("| 1 | 2 |", LineForm::Row, 2),
                ("## End", LineForm::Heading(2), 1),
                ("Why?", LineForm::Question, 2),
                ("It was late.", LineForm::Prose, 2),
            ]
        );
    }

    #[test]
    fn a_message_without_a_full_stop_answers_alone() {
        let at = |mira: &str, tobias: &str, eleni: &str| {
            format!(
                "{mira}staging is down\n{tobias}the certificate expired\n{mira}send that to Rafael, he decides on discounts\n\
                 {tobias}the coffee is empty\n{eleni}I will buy some"
            )
        };
        for (mira, tobias, eleni) in [
            ("[09:02] Mira: ", "[09:11] Tobias: ", "[16:07] Eleni: "),
            ("12.03.24, 18:22 - Mira: ", "12.03.24, 18:22 - Tobias: ", "12.03.24, 18:40 - Eleni: "),
            ("Mira [09:02]: ", "Tobias [09:11]: ", "Eleni [16:07]: "),
            ("Mira 09:02\n", "Tobias 09:11\n", "Eleni 16:07\n"),
        ] {
            let answer = format!("{mira}send that to Rafael, he decides on discounts");
            check_in("", &at(mira, tobias, eleni), "Who decides on discounts?", &[&answer]);
        }
    }
}
