//! Questions that need more than one answer: comparisons, and two-step questions.

use super::compared_measures::is_comparative;
use super::evidence::{Evidence, Passages};
use super::kinds;
use super::lines::LineForm;
use super::question::{AnswerType, ParsedQuestion, Role, Term};
use super::whole;
use super::words::any_word;
use crate::dates::is_year;
use crate::languages::Language;
use crate::parts::{MAX_PARTS, MAX_QUESTION_BYTES, Parts, parts};

/// Maximum number of readings of one question as two steps; the first ones are tried.
const MAX_READINGS: usize = 16;
/// Maximum number of lines that may answer the first step.
const MAX_FIRST: usize = 4;
/// Maximum number of names taken from one of them.
const MAX_NAMES: usize = 6;
/// Minimum coverage of the first step.
const MIN_FIRST: f32 = 0.7;
/// Minimum coverage of the second step.
const MIN_SECOND: f32 = 0.8;
/// Other words that tell nothing about a single thing.
const ONLY_COMPARING: &str = "both same beide 哪个大 哪个更大 更大 更长 更高 更多 大 高";

/// Returns the lines about each compared thing; `None` if the question compares nothing or one thing is not found.
pub(super) fn compared(reading: &Passages<'_>, question: &str) -> Option<Vec<usize>> {
    if let Some(pair) = differing(question, reading.language) {
        return difference(reading, &pair);
    }
    if let Some(found) = by_year(reading, question) {
        return Some(found);
    }
    let Parts::Compared(parts) = parts(question) else { return None };
    let mut found = Vec::new();
    for part in &parts {
        let mut parsed = reading.parse_question(part);
        let mut measured = false;
        for term in &mut parsed.terms {
            if is_comparative(&term.word) || any_word(ONLY_COMPARING, &term.word) {
                term.role = Role::Common;
                measured = true;
            }
        }
        if matches!(parsed.answer_type, AnswerType::Person | AnswerType::Truth) && measured {
            parsed.answer_type = AnswerType::Thing;
        }
        let evidence = Evidence::of(reading, &parsed);
        let best = evidence.answers().first().copied()?;
        found.extend(whole(&evidence, best.line));
    }
    Some(found)
}

/// Returns the lines about each year in a question; `None` if it contains fewer than two years or more than [`MAX_PARTS`], or if one
/// is not found.
fn by_year(reading: &Passages<'_>, question: &str) -> Option<Vec<usize>> {
    let parsed = reading.parse_question(question);
    let is_year = |term: &&Term| term.role == Role::Number && is_year(&term.word);
    let years: Vec<&Term> = parsed.terms.iter().filter(is_year).collect();
    if !(2..=MAX_PARTS).contains(&years.len()) {
        return None;
    }
    let mut found = Vec::new();
    for year in &years {
        let mut of_year = parsed.clone();
        // Keep the indexes of the terms, because names refer to them.
        for term in of_year.terms.iter_mut().filter(|term| is_year(&&**term) && term.word != year.word) {
            term.role = Role::Class;
        }
        let evidence = Evidence::of(reading, &of_year);
        let best =
            evidence.answers().into_iter().find(|scored| evidence.holds_numbers_itself(scored.line))?;
        found.extend(whole(&evidence, best.line));
    }
    Some(found)
}

/// True if a question compares things or asks for their difference.
pub(super) fn compares(reading: &Passages<'_>, question: &str) -> bool {
    differing(question, reading.language).is_some() || matches!(parts(question), Parts::Compared(_))
}

/// Returns the two things whose difference is asked for; `None` if the question names what differs: `the difference in price between`.
fn differing(question: &str, language: Language) -> Option<[String; 2]> {
    let bare = question.trim().trim_end_matches(['?', '？', '.', ' ']);
    let pair = |rest: &str, and: &str| {
        let (one, other) = rest.split_once(and)?;
        let tidy = |text: &str| text.trim().trim_start_matches("the ").to_owned();
        Some([tidy(one), tidy(other)])
    };
    match language {
        Language::Chinese => {
            let at = ["的区别", "的不同", "的差异", "有什么区别", "有什么不同", "有何区别"]
                .iter()
                .find_map(|mark| bare.find(mark))?;
            let rest = &bare[..at];
            ["和", "与", "跟"].iter().find_map(|and| pair(rest, and))
        }
        Language::German => pair(bare.split_once("nterschied zwischen ")?.1, " und "),
        _ => {
            // Only ASCII letters keep their length, and offsets in `lower` are used in `bare`.
            let lower = bare.to_ascii_lowercase();
            let asks = |at: &usize| {
                let before = lower[..*at].trim_end();
                before.ends_with("difference")
                    || before.ends_with("differences")
                    || before.contains("compare")
            };
            if let Some(at) = lower.find("between ").filter(asks) {
                return pair(&bare[at + "between ".len()..], " and ");
            }
            let rest = lower.strip_prefix("compare ")?;
            pair(rest, " and ").or_else(|| pair(rest, " with "))
        }
    }
}

/// Returns the difference of two things: lines about each below a heading that names both, or else what each of them is.
fn difference(reading: &Passages<'_>, pair: &[String; 2]) -> Option<Vec<usize>> {
    let parsed: Vec<ParsedQuestion> = pair
        .iter()
        .map(|thing| ParsedQuestion {
            answer_type: AnswerType::Meaning,
            many: false,
            ..reading.parse_question(thing)
        })
        .collect();
    if parsed.iter().any(|parsed| parsed.terms.is_empty()) {
        return None;
    }
    let evidence: Vec<Evidence<'_, '_>> = parsed.iter().map(|parsed| Evidence::of(reading, parsed)).collect();
    let all_there =
        |which: usize, at: usize| evidence[which].direct[at].iter().all(|strength| *strength >= 0.8);
    let both_above = |at: &usize| {
        let headings = &reading.lines[*at].headings;
        headings.iter().any(|heading| all_there(0, *heading) && all_there(1, *heading))
    };
    let is_text = |at: &usize| matches!(reading.lines[*at].form, LineForm::Prose | LineForm::Item);
    let below: Vec<usize> = (0..reading.lines.len())
        .filter(|at| is_text(at) && both_above(at) && (all_there(0, *at) || all_there(1, *at)))
        .collect();
    if below.iter().any(|at| all_there(0, *at)) && below.iter().any(|at| all_there(1, *at)) {
        return Some(below);
    }
    let mut found = Vec::new();
    for evidence in &evidence {
        found.extend(whole(evidence, evidence.answers().first()?.line));
    }
    Some(found)
}

/// A two-step question: what must be answered first, and what is asked about that answer.
struct TwoSteps {
    first: String,
    second: String,
}

/// Returns the lines that answer a two-step question.
pub(super) fn steps(reading: &Passages<'_>, question: &str) -> Option<Vec<usize>> {
    let whole_question = reading.parse_question(question);
    let mut best: Option<(f32, Vec<usize>)> = None;
    for TwoSteps { first, second } in two_steps(reading, question) {
        let mut first = reading.parse_question(&first);
        first.answer_type = AnswerType::Thing;
        first.many = false;
        let second = reading.parse_question(&second);
        if first.terms.len() < 2 || second.is_common {
            continue;
        }
        let evidence = Evidence::of(reading, &first);
        for scored in
            evidence.answers().into_iter().filter(|scored| scored.coverage >= MIN_FIRST).take(MAX_FIRST)
        {
            let line = &reading.lines[scored.line];
            for name in kinds::names(&whole_question, line).into_iter().take(MAX_NAMES) {
                let parsed = about(reading, &second, &name);
                let of_name = Evidence::of(reading, &parsed);
                let mut asked = parsed.terms.iter().zip(&of_name.known);
                if !asked.all(|(term, known)| *known || term.role == Role::Common) {
                    continue;
                }
                let next = of_name.answers().into_iter().find(|next| {
                    next.line != scored.line
                        && next.coverage >= MIN_SECOND
                        && of_name.is_about_names(next.line)
                });
                let Some(next) = next else { continue };
                let score = scored.score + next.score;
                if best.as_ref().is_none_or(|(known, _)| score > *known) {
                    let mut found = whole(&evidence, scored.line);
                    found.extend(whole(&of_name, next.line));
                    best = Some((score, found));
                }
            }
        }
    }
    best.map(|(_, found)| found)
}

/// True if a question describes one thing by another, as in `the league that Ada played in` or `the colour of the shirt of Ada`.
/// A single line rarely contains both steps. Only English and German are supported.
pub(super) fn describes_by_another(question: &str) -> bool {
    const ASKING: usize = 2;
    const NEAR: usize = 4;
    const RELATIVES: &str = "that who whom which whose where dessen deren";
    const RELATIVES_GERMAN: &str = "der die das den dem";
    const DEFINITE: &str = "the der die das den dem des";
    let lower = question.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let binds = |word: &&str| *word == "of" || word.ends_with("'s") || word.ends_with("’s");
    // `volunteers who use their own car` are not described one by one.
    let is_definite =
        |at: usize| words[at.saturating_sub(NEAR)..at].iter().any(|word| any_word(DEFINITE, word));
    let is_relative = |at: usize| {
        any_word(RELATIVES, words[at])
            || any_word(RELATIVES_GERMAN, words[at]) && words[at - 1].ends_with(',')
    };
    (ASKING..words.len()).any(|at| is_relative(at) && is_definite(at))
        || words.iter().filter(|word| binds(word)).count() > 1
}

/// Returns the second question, asked about a name.
fn about(reading: &Passages<'_>, second: &ParsedQuestion, name: &str) -> ParsedQuestion {
    let mut parsed = second.clone();
    let of_name = reading.parse_question(name);
    let mut terms = std::collections::BTreeSet::new();
    for term in of_name.terms {
        terms.insert(parsed.terms.len());
        parsed.terms.push(Term { role: Role::Name, ..term });
    }
    parsed.names.push(terms);
    parsed.lower.push(' ');
    parsed.lower.push_str(&name.to_lowercase());
    parsed
}

/// Returns the possible readings of a question as two steps, at most [`MAX_READINGS`]; none if it is too long to be split.
fn two_steps(reading: &Passages<'_>, question: &str) -> Vec<TwoSteps> {
    let bare = question.trim().trim_end_matches(['?', '？', '.', ' ']);
    if bare.len() > MAX_QUESTION_BYTES {
        return Vec::new();
    }
    let mut found = match reading.language {
        Language::Chinese | Language::Japanese => unspaced_steps(bare),
        Language::German => steps_at(
            bare,
            &["der", "des", "von", "vom", "einer", "eines"],
            &["die", "der", "das", "den", "dem"],
        ),
        _ => steps_at(bare, &["of", "behind"], &["that", "which", "who", "whom", "where"]),
    };
    found.truncate(MAX_READINGS);
    found
}

/// Splits at each linking word: the words directly before and after it are the first step.
fn steps_at(question: &str, binds: &[&str], relatives: &[&str]) -> Vec<TwoSteps> {
    let words: Vec<(usize, &str)> = question
        .split(' ')
        .scan(0, |at, word| {
            let start = *at;
            *at += word.len() + 1;
            Some((start, word))
        })
        .collect();
    let mut found = Vec::new();
    for at in 2..words.len().saturating_sub(1) {
        let (_, word) = words[at];
        let bare = word.trim_matches(',');
        let is_bind = binds.contains(&bare);
        let is_relative =
            relatives.contains(&bare) && (words[at - 1].1.ends_with(',') || !binds.contains(&bare));
        if !is_bind && !is_relative {
            continue;
        }
        // The noun before the linking word, with its article and adjectives.
        let mut start = at - 1;
        const BEFORE: &str = "the a an der die das dem den des ein eine einer eines";
        while start > 1 && !any_word(BEFORE, &words[start].1.to_lowercase()) && start + 3 > at {
            start -= 1;
        }
        if !any_word(BEFORE, &words[start].1.to_lowercase()) {
            start = at - 1;
        }
        let inner_start = words[start].0;
        // A final verb belongs to the second step: `Where was the author of X born`.
        let last = words.len() - 1;
        let may_end_with_verb = last > at + 1 && words[last].1.chars().all(char::is_lowercase);
        // After a relative clause it may belong to either: `the firm that made the lamp founded`, `the lamp that was sold`.
        let ends: &[usize] = match (may_end_with_verb, is_relative) {
            (true, true) => &[words[last].0, question.len()],
            (true, false) => &[words[last].0],
            (false, _) => &[question.len()],
        };
        for &inner_end in ends {
            let first = question[inner_start..inner_end].trim().to_owned();
            let second = format!("{} {}", question[..inner_start].trim(), question[inner_end..].trim());
            found.push(TwoSteps { first, second });
        }
    }
    // `John's father's birthplace`
    let owners = question.matches("'s ").count() + question.matches("’s ").count();
    if let Some(mark) = question.find("'s ").or_else(|| question.find("’s ")).filter(|_| owners > 1) {
        let start = question[..mark]
            .rfind(" the ")
            .map_or_else(|| question[..mark].rfind(' ').map_or(0, |at| at + 1), |at| at + 1);
        let behind = mark + question[mark..].find(' ').unwrap_or(0) + 1;
        let end = question[behind..].find(' ').map_or(question.len(), |length| behind + length);
        let first = question[start..end].to_owned();
        let second = format!("{} {}", question[..start].trim(), question[end..].trim());
        found.push(TwoSteps { first, second });
    }
    found
}

/// The same for scripts without spaces: the text before a possessive and the word after it are the first step.
fn unspaced_steps(question: &str) -> Vec<TwoSteps> {
    const ROLE_CHARS: std::ops::RangeInclusive<usize> = 2..=5;
    let mut found = Vec::new();
    for (at, possessive) in question.char_indices().filter(|(_, c)| matches!(c, '的' | 'の')) {
        let behind = &question[at + possessive.len_utf8()..];
        for (length, _) in behind.char_indices().skip(*ROLE_CHARS.start()).take(ROLE_CHARS.count()) {
            let first = question[..at + possessive.len_utf8() + length].to_owned();
            let second = behind[length..].to_owned();
            if second.chars().count() >= 2 {
                found.push(TwoSteps { first, second });
            }
        }
    }
    found
}
