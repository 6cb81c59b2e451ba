//! Finds the excerpt that most likely contains the answer.
//!
//! Texts often name their subject in one sentence and answer in the next. If it is uncertain which line answers, several
//! consecutive lines are quoted: as few as are likely to contain the answer.

use std::collections::HashMap;
use std::ops::Range;

use super::evidence::Evidence;
use super::kinds;
use super::likely::probability;
use super::lines::LineForm;
use super::whole;
use graphloom_text::is_prose;

/// Maximum number of lines of an excerpt.
pub(super) const MAX_LINES: usize = 4;
/// Maximum length of an excerpt of several lines, in bytes.
pub(super) const MAX_BYTES: usize = 600;
/// Expected number of answering lines from which an excerpt is not extended.
const SURE: f32 = 0.9;
/// Minimum of the expected number that each further line must add.
const MIN_GAIN: f32 = 0.02;
/// Minimum expected number of answering lines, and minimum probability of the likeliest line: several lines that are all unlikely
/// are no answer.
const MIN_EXPECTED: f32 = 0.7;
const MIN_LIKELIEST: f32 = 0.45;
/// Probability from which a line that meets all conditions for an answer is quoted alone.
const MIN_OF_ANSWER: f32 = 0.5;

/// Consecutive lines of a passage.
pub(super) struct Excerpt {
    lines: Range<usize>,
    /// The line that most likely answers.
    likeliest: usize,
    /// Expected number of lines that answer: the sum of their probabilities.
    pub(super) expected: f32,
}

impl Excerpt {
    /// Returns its lines, in order, with those needed to understand the likeliest.
    pub(super) fn whole(&self, evidence: &Evidence<'_, '_>) -> Vec<usize> {
        let mut found = whole(evidence, self.likeliest);
        found.extend(self.lines.clone());
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Evidence<'_, '_> {
    /// Returns the excerpt that most likely contains the answer; `None` if none is likely enough.
    ///
    /// - `anchors`: the lines that may answer; an excerpt contains at least one of them.
    pub(super) fn likeliest_excerpt(&self, anchors: &[usize]) -> Option<Excerpt> {
        self.best_excerpt(anchors).filter(|best| {
            best.expected >= MIN_EXPECTED && probability(self.odds(best.likeliest)) >= MIN_LIKELIEST
        })
    }

    /// Returns the shortest excerpt that is sure to contain the answer or, if there is none, the likeliest.
    pub(super) fn best_excerpt(&self, anchors: &[usize]) -> Option<Excerpt> {
        // A text without a person does not answer who, and one without a time does not answer when. The line with it must be
        // about the names of the question.
        let must_be_of_kind =
            !self.is_scored() && (self.question.answer_type.is_typed() || self.question.naming);
        let lines = &self.reading.lines;
        let is_of_kind = |at: usize| {
            kinds::holds(self.question, &lines[at], lines.get(at + 1))
                && (!self.question.naming || self.is_near_key(at))
        };
        let quotes_kind =
            |at: usize| self.has_names(at) && (is_of_kind(at) || whole(self, at).into_iter().any(is_of_kind));
        let mut known_kinds: HashMap<usize, bool> = HashMap::new();
        let mut holds_kind = |at: usize| *known_kinds.entry(at).or_insert_with(|| quotes_kind(at));
        let mut known: HashMap<usize, f32> = HashMap::new();
        let mut best: Option<Excerpt> = None;
        for count in 1..=MAX_LINES {
            for anchor in anchors {
                for start in (anchor + 1).saturating_sub(count)..=*anchor {
                    let range = start..start + count;
                    if !self.is_excerpt(&range) || (must_be_of_kind && !range.clone().any(&mut holds_kind)) {
                        continue;
                    }
                    let mut of_line =
                        |at: usize| *known.entry(at).or_insert_with(|| probability(self.odds(at)));
                    let (mut likeliest, mut expected) = (start, 0.0);
                    for at in range.clone() {
                        expected += of_line(at);
                        if of_line(at) > of_line(likeliest) {
                            likeliest = at;
                        }
                    }
                    let gain = |best: &Excerpt| (count - best.lines.len()) as f32 * MIN_GAIN;
                    if best.as_ref().is_none_or(|best| expected > best.expected + gain(best)) {
                        best = Some(Excerpt { lines: range, likeliest, expected });
                    }
                }
            }
            if best.as_ref().is_some_and(|best| best.expected >= SURE) {
                break;
            }
        }
        best
    }

    /// Returns the excerpt around a line that meets all conditions for an answer, if it is uncertain whether that line answers.
    pub(super) fn excerpt_around(&self, at: usize) -> Option<Excerpt> {
        let is_certain =
            self.turn_with(at).is_some() || self.is_clear(at) || probability(self.odds(at)) >= MIN_OF_ANSWER;
        if is_certain { None } else { self.best_excerpt(&[at]) }
    }

    /// True if lines can be quoted as one excerpt: prose and list items of one section. A table row is complete.
    fn is_excerpt(&self, range: &Range<usize>) -> bool {
        let Some(lines) = self.reading.lines.get(range.clone()) else { return false };
        let (first, last) = (&lines[0], &lines[lines.len() - 1]);
        let belongs = |at: usize| {
            let line = &self.reading.lines[at];
            matches!(line.form, LineForm::Prose | LineForm::Item)
                && !line.is_in_cell()
                && line.headings == first.headings
                && (at == range.start || !self.is_title(at))
        };
        // The paragraph after a list is about something else.
        let goes_on = |at: usize| {
            let line = &self.reading.lines[at];
            let is_after_list = self.reading.lines[at - 1].form == LineForm::Item && !self.is_title(at - 1);
            line.form == LineForm::Item || line.goes_on || !is_after_list
        };
        lines.len() == 1
            || (first.passage == last.passage
                && range.clone().all(belongs)
                && range.clone().skip(1).all(goes_on)
                && last.range.end - first.range.start <= MAX_BYTES)
    }

    /// True if a list item is the title of the paragraph after it: `3. Installation`.
    fn is_title(&self, at: usize) -> bool {
        let line = &self.reading.lines[at];
        let next = self.reading.lines.get(at + 1).filter(|next| next.passage == line.passage);
        line.form == LineForm::Item
            && !is_prose(line.text)
            && next.is_some_and(|next| next.form == LineForm::Prose && !next.goes_on)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::super::test_support::reply_from;

    const BAKERY: &str = "The bakery on Gull Street opens at six. Its rye loaf has won two prizes.";

    #[track_caller]
    fn check_excerpt(text: &str, question: &str, expected: &[&str]) {
        let (reply, texts) = reply_from(&[text, BAKERY], question);
        assert!(matches!(reply, Reply::Likely(_)), "{reply:?}");
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_line_that_only_names_the_subject_comes_with_the_lines_that_say_more() {
        let text = "The night ferry of Osten was damaged in the storm. The council then hired a bus with two decks for its passengers. \
            The harbour has three piers.";
        let both = text.split(" The harbour").next().unwrap_or_default();
        check_excerpt(text, "What happened to the passengers of the Osten ferry?", &[both]);
    }

    #[test]
    fn several_lines_that_are_all_unlikely_are_no_answer() {
        let text = "The museum of print has used its halls since 1991. It is led by Ines Okafor and has 38,000 visitors a year. \
            The new bridge was designed by Selma Aydin. The old one carried trams.";
        for question in ["When was Selma Aydin born?", "What is the name of the dog of Ines Okafor?"] {
            let (reply, _) = reply_from(&[text, BAKERY], question);
            assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{question}: {reply:?}");
        }
    }

    #[test]
    fn a_value_of_another_name_is_no_answer() {
        let prize = "The novelist Ingrid Vellacott has won the Aldermoor Prize for her third book. The jury praised its language. \
            The prize is worth 50,000 leks.";
        let entry = "Der Eintritt kostet für Erwachsene 9 Euro und für Kinder 4 Euro.";
        for (text, question) in
            [(prize, "Who won the Nobel Prize in chemistry?"), (entry, "Was kostet der Eintritt für Hunde?")]
        {
            let (reply, texts) = reply_from(&[text, BAKERY], question);
            assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{question}: {texts:?}");
        }
    }

    #[test]
    fn the_paragraph_after_a_list_is_not_part_of_its_excerpt() {
        let text = "# Visitors\n\n- Pay at the office.\n- Leave the ferry of Osten before noon.\n\nThe harbour was dredged.";
        let (_, texts) = reply_from(&[text, BAKERY], "When must visitors leave the Osten ferry?");
        assert!(texts.iter().any(|text| text.contains("before noon")), "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("dredged")), "{texts:?}");
    }

    #[test]
    fn a_numbered_title_is_part_of_the_excerpt_about_it() {
        let text = "7、奥斯滕的夜航渡轮\n\n市议会为乘客租了一辆双层巴士，把他们送到了港口。\n\n8、面包店\n\n面包店六点开门。";
        let (reply, texts) = reply_from(&[text, BAKERY], "奥斯滕的夜航渡轮停驶后，乘客是怎么到港口的？");
        assert!(matches!(reply, Reply::Likely(_) | Reply::Answer(_)), "{reply:?}");
        assert!(texts.iter().any(|text| text.contains("双层巴士")), "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("六点")), "{texts:?}");
    }
}
