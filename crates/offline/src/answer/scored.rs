//! Windows of consecutive lines, for a model that scores how well each line answers.
//!
//! Rules find the lines with most of the question. The model reads windows around them together with the question, so that it
//! also recognizes an answer in other words. Its scores are features of the [trees](super::trees), which give the odds of a line.

use super::evidence::{Evidence, Passages};
use super::likely::probability;
use super::lines::{LineForm, window_around};
use super::{BOTH_STEPS, MAX_PASSAGES, Passage};
use crate::languages::Language;
use graphloom_core::{ModelError, SentenceScorer};

/// Maximum number of windows.
const MAX_WINDOWS: usize = 16;
/// Maximum number of bytes of a window, about 160 tokens. A longer line is a window of its own.
const MAX_BYTES: usize = 640;

/// Maximum of a score and of its negative, which is also the score of a line in no window.
const MAX_SCORE: f32 = 8.0;
/// Score below which a line is no answer, whatever the rules find.
const REFUTED: f32 = -3.0;

/// Maximum number of lines around which excerpts are made.
const MAX_ANCHORS: usize = 16;
/// Minimum lead, in expected answering lines, of the likeliest excerpt over lines that answer by the rules, to replace them.
const MIN_AHEAD: f32 = 0.2;

/// Consecutive lines of a passage, which a model scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The heading above the lines, if there is one, and the lines.
    pub sentences: Vec<String>,
    /// The index of each line among all lines; `None` for the heading.
    lines: Vec<Option<usize>>,
}

/// Returns the windows of `passages` that may answer `question`, each with the log odds of its sentences by a model, for
/// [`reply_with_scores`](super::reply_with_scores); empty if the model has not learned the language of the question.
///
/// - `passages`: best first; only the first [`MAX_PASSAGES`] are read.
pub async fn scores(
    scorer: &dyn SentenceScorer,
    question: &str,
    passages: &[Passage<'_>],
) -> Result<Vec<(Window, Vec<f32>)>, ModelError> {
    let windows = windows(question, passages, scorer.is_multilingual());
    let sentences: Vec<Vec<String>> = windows.iter().map(|window| window.sentences.clone()).collect();
    if sentences.is_empty() {
        return Ok(Vec::new());
    }
    let scores = scorer.score(question, &sentences).await?;
    Ok(windows.into_iter().zip(scores).collect())
}

/// Returns the windows of `passages` that may answer `question`.
///
/// - `is_multilingual`: whether the model has learned other languages than English. If not, a question in another language has no
///   windows.
pub(super) fn windows(question: &str, passages: &[Passage<'_>], is_multilingual: bool) -> Vec<Window> {
    let passages = &passages[..passages.len().min(MAX_PASSAGES)];
    let reading = Passages::read(question, passages);
    if reading.language != Language::English && !is_multilingual {
        return Vec::new();
    }
    let parsed = reading.parse_question(question);
    let evidence = Evidence::of(&reading, &parsed);
    let mut found: Vec<Window> = Vec::new();
    let mut is_taken: Vec<bool> =
        reading.lines.iter().map(|line| matches!(line.form, LineForm::Cell | LineForm::Heading(_))).collect();
    for at in by_value(0..reading.lines.len(), |at| evidence.share(at)) {
        if found.len() == MAX_WINDOWS {
            break;
        }
        if !is_taken[at] {
            found.push(window(&reading, at, &mut is_taken));
        }
    }
    found
}

/// Returns the window around a line, from lines of its passage that are in no other window.
fn window(reading: &Passages<'_>, at: usize, is_taken: &mut [bool]) -> Window {
    let lines = &reading.lines;
    let is_free = |other: usize| !is_taken[other];
    let taken = window_around(lines, at, MAX_BYTES, &is_free, &is_free, true);
    is_taken[taken.clone()].fill(true);
    let heading = lines[at].headings.last().copied();
    Window {
        sentences: heading.into_iter().chain(taken.clone()).map(|line| lines[line].text.to_owned()).collect(),
        lines: heading.map(|_| None).into_iter().chain(taken.map(Some)).collect(),
    }
}

/// Returns lines in order of a value, highest first.
fn by_value(lines: impl Iterator<Item = usize>, value: impl Fn(usize) -> f32) -> impl Iterator<Item = usize> {
    let mut valued: Vec<(f32, usize)> = lines.map(|at| (value(at), at)).collect();
    valued.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    valued.into_iter().map(|(_, at)| at)
}

/// Returns the score of each line; `None` for a line in no window.
///
/// - `scores`: windows with the scores of their sentences.
pub(super) fn of_lines(count: usize, scores: &[(Window, Vec<f32>)]) -> Vec<Option<f32>> {
    let mut found = vec![None; count];
    for (line, score) in scores.iter().flat_map(|(window, scores)| window.lines.iter().zip(scores)) {
        if let Some(place) = line.and_then(|line| found.get_mut(line)) {
            *place = Some(*score);
        }
    }
    found
}

impl Evidence<'_, '_> {
    /// True if a model scored lines.
    pub(super) fn is_scored(&self) -> bool {
        self.scores.iter().any(Option::is_some)
    }

    /// Returns the highest score of lines; 0 if no model scored lines.
    pub(super) fn score_of(&self, lines: impl IntoIterator<Item = usize>) -> f32 {
        if !self.is_scored() {
            return 0.0;
        }
        lines.into_iter().filter_map(|at| self.scores[at]).fold(-MAX_SCORE, f32::max).min(MAX_SCORE)
    }

    /// True if a model scored some of the lines, and none of them as a possible answer.
    pub(super) fn is_refuted(&self, lines: &[usize]) -> bool {
        let mut scores = lines.iter().filter_map(|at| self.scores[*at]).peekable();
        scores.peek().is_some() && scores.all(|score| score < REFUTED)
    }

    /// Returns the lines with the highest scores, highest first; none if no model scored lines.
    ///
    /// - `limit`: maximum number of lines.
    pub(super) fn best_scored(&self, limit: usize) -> impl Iterator<Item = usize> {
        let scored = (0..self.scores.len()).filter(|at| self.scores[*at].is_some());
        by_value(scored, |at| self.score_of([at])).take(limit)
    }

    /// Returns the lines that may answer by their scores, likeliest first.
    ///
    /// - `two_steps`: true for a two-step question; a line must then contain nearly all of it.
    pub(super) fn scored_anchors(&self, two_steps: bool) -> Vec<usize> {
        let fits = |at: &usize| {
            self.scores[*at].is_some()
                && !self.holds_other_date(*at)
                && (!two_steps || self.share(*at) >= BOTH_STEPS)
        };
        by_value((0..self.scores.len()).filter(fits), |at| self.odds(at)).take(MAX_ANCHORS).collect()
    }

    /// Returns the excerpt that most likely contains the answer. `None` if no model scored lines, or if it is not likely enough, or
    /// hardly likelier than the lines that answer by the rules.
    ///
    /// - `answer`: the lines that answer by the rules.
    /// - `two_steps`, `compares`: as in [`likeliest`](Self::likeliest).
    pub(super) fn scored_instead_of(
        &self,
        answer: &[usize],
        two_steps: bool,
        compares: bool,
    ) -> Option<Vec<usize>> {
        if !self.is_scored() {
            return None;
        }
        let excerpt = self.likeliest_excerpt(&self.anchors(two_steps, compares))?;
        let by_rules: f32 = answer.iter().map(|at| probability(self.odds(*at))).sum();
        (excerpt.expected >= by_rules + MIN_AHEAD).then(|| excerpt.whole(self))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::test_support::scores_of;
    use super::super::{Reply, reply_with_scores};
    use super::*;

    const DEPOT: &str = "# Parcels\n\nThe depot of Arnbury opens at seven. Whatever nobody fetches stays on the shelf for nine days. \
        Then the clerk sends it back. A parcel must not weigh more than twenty kilograms.";
    const QUESTION: &str = "How long does the depot keep uncollected parcels?";

    fn passages<'a>(texts: &[&'a str]) -> Vec<Passage<'a>> {
        texts.iter().map(|text| Passage { text, title: "", headings: &[] }).collect()
    }

    /// Returns the reply if a model gives this score to sentences with `word`, and -6 to all others.
    fn reply_if(word: &str, score: f32) -> (Reply, String) {
        let passages = passages(&[DEPOT]);
        let reply = reply_with_scores(QUESTION, &passages, &scores_of(QUESTION, &passages, word, score));
        let quotes = match &reply {
            Reply::Answer(quotes) | Reply::Likely(quotes) | Reply::Closest(quotes) => quotes.as_slice(),
            Reply::Nothing => &[],
        };
        let text = quotes.iter().map(|quote| &DEPOT[quote.range.clone()]).collect();
        (reply, text)
    }

    #[test]
    fn a_sentence_that_a_model_recognizes_answers_in_other_words() {
        let (reply, text) = reply_if("nine days", 5.0);
        assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{reply:?}");
        assert!(text.contains("nine days"), "{text}");
    }

    #[test]
    fn no_sentence_answers_if_a_model_recognizes_none() {
        let (reply, _) = reply_if("no such word", 5.0);
        assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{reply:?}");
    }

    #[test]
    fn each_line_is_in_one_window_and_comes_with_its_heading() {
        let sentences: Vec<String> = (0..60)
            .map(|at| format!("The depot of Arnbury keeps parcel number {at} on shelf {at}."))
            .collect();
        let text = format!("# Shelves\n\n{}", sentences.join(" "));
        let found = windows("Which shelf has parcel 7 of the depot?", &passages(&[&text]), false);
        let lines = found.iter().flat_map(|window| &window.sentences).filter(|line| !line.contains('#'));
        let lines: Vec<&String> = lines.collect();
        assert_eq!(lines.len(), sentences.len());
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), sentences.len());
        for window in &found {
            assert_eq!(window.sentences[0], "# Shelves");
            assert!(window.sentences[1..].iter().map(String::len).sum::<usize>() <= MAX_BYTES);
        }
    }

    #[test]
    fn questions_in_other_languages_have_windows_if_the_model_has_learned_them() {
        for (question, text) in [
            (
                "Wie lange bleiben Pakete im Regal?",
                "Das Lager öffnet um sieben. Pakete bleiben neun Tage im Regal.",
            ),
            ("包裹在货架上放多久？", "包裹在货架上放九天。"),
        ] {
            assert_eq!(windows(question, &passages(&[text]), false), []);
            assert_eq!(windows(question, &passages(&[text]), true).len(), 1);
        }
    }
}
