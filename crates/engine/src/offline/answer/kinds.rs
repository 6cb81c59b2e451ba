//! Whether a line holds the kind of thing that a question asks for.

use std::collections::HashSet;

use harper_brill::UPOS;

use super::super::han;
use super::super::languages::Language;
use super::super::lexicon::{is_month, is_stop_word};
use super::super::phrase::{PhraseKind, phrases};
use super::super::scripts::{has_no_spaces, is_ideograph, runs};
use super::super::token::tokens;
use super::asked::{QuestionParts, Role, Term, Wants};
use super::lines::{Line, LineForm, Word};
use super::roots::Roots;
use super::words::{self, any_word};

/// Words between a preposition and a place, at most.
const PLACE_WORDS: usize = 3;
/// Words of what is to be defined from which on some may stand elsewhere.
const MAX_SUBJECT: usize = 2;
/// Words between a number and what it counts, at most.
const COUNTED_WORDS: usize = 4;

/// Whether `line` holds what `asked` wants, besides what the question says itself.
///
/// - `next`: the line behind it, which may hold the reason of what it says.
pub(super) fn holds(asked: &QuestionParts, line: &Line<'_>, next: Option<&Line<'_>>) -> bool {
    match asked.wants {
        Wants::Person => {
            !names(asked, line).is_empty() || holds_surname(asked, line) || !roles(asked, line).is_empty()
        }
        Wants::Time => holds_time(asked, line),
        Wants::Place => holds_place(asked, line) || is_label(asked, line) || is_address(asked, line),
        Wants::Amount { measured } => holds_amount(asked, line, measured),
        Wants::Reason => gives_reason(line.text) || next.is_some_and(|next| begins_reason(next.text)),
        Wants::Manner | Wants::Thing | Wants::Truth | Wants::Meaning => new_words(asked, line) >= 1,
    }
}

/// Whether a line gives a value below a label that tells what a question measures: `Weight: 3 kg`.
pub(super) fn labels_measure(asked: &QuestionParts, line: &Line<'_>) -> bool {
    const MAX_CHARS: usize = 30;
    let Some((label, value)) = line.text.split_once([':', '：']) else { return false };
    let Some(measure) = &asked.measure else { return false };
    let told_by = words::MEASURES.iter().find(|(words, _, _)| any_word(words, measure));
    let is_told = |told_by: &str| match has_no_spaces(line.text) {
        true => told_by.split_whitespace().any(|word| label.contains(word)),
        false => line
            .words
            .iter()
            .take_while(|word| word.at < label.len())
            .any(|word| any_word(told_by, &word.lower)),
    };
    label.chars().count() <= MAX_CHARS
        && !value.trim().is_empty()
        && told_by.is_some_and(|(_, told_by, _)| is_told(told_by))
}

/// Whether a line is an address behind a name: `Halden Ltd., 4 Mill Lane, Ludlow`.
fn is_address(asked: &QuestionParts, line: &Line<'_>) -> bool {
    const MIN_PARTS: usize = 3;
    let parts: Vec<&str> = line.text.split(", ").collect();
    let begins = line.words.first().is_some_and(|word| !is_new(asked, word));
    let is_part = |part: &&&str| part.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    begins && parts.len() >= MIN_PARTS && parts.iter().filter(is_part).count() == parts.len()
}

/// Whether a line gives a value below a label that the question holds: `Number of employees: 212`.
pub(super) fn is_label(asked: &QuestionParts, line: &Line<'_>) -> bool {
    const MAX_WORDS: usize = 4;
    let Some((label, value)) = line.text.split_once([':', '：']) else { return false };
    let of_label = || line.words.iter().take_while(|word| word.at < label.len());
    let is_asked = |word: &Word<'_>| {
        asked
            .terms
            .iter()
            .any(|term| term.role != Role::Name && (term.root == word.root || term.is_related(word)))
    };
    let tells = |word: &&Word<'_>| !is_stop_word(&word.lower) && !any_word(words::QUANTITIES, &word.lower);
    (1..=MAX_WORDS).contains(&of_label().count())
        && !value.trim().is_empty()
        && of_label().any(is_asked)
        && of_label().filter(tells).all(is_asked)
}

/// The names in a line that the question does not hold.
pub(super) fn names(asked: &QuestionParts, line: &Line<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if has_no_spaces(line.text) {
        let all = runs(line.text, Language::of(line.text), &HashSet::new());
        let named = all.into_iter().filter(|run| run.is_name).map(|run| line.text[run.range].to_owned());
        found.extend(named.filter(|name| !asked.lower.contains(name.as_str())));
    }
    let of_line = phrases(line.text).into_iter();
    // At least one word of it is new and could be a name.
    let is_new = |name: &str| {
        let lower = name.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.any(|word| {
            let is_asked = asked.terms.iter().any(|term| term.word == word);
            let names =
                word.chars().all(char::is_alphabetic) && word.chars().count() > 1 && !is_stop_word(word);
            !is_asked
                && names
                && !is_month(word)
                && !any_word(words::TIMES, word)
                && !any_word(words::ADDRESSES, word)
        })
    };
    // `Cargo.toml` is a file.
    let is_file = |name: &str| {
        let mut parts = name.split('.').skip(1);
        parts.any(|part| part.starts_with(|c: char| c.is_lowercase()))
    };
    let named = of_line.filter(|phrase| {
        phrase.kind == PhraseKind::Name && !has_no_spaces(&phrase.text) && !is_file(&phrase.text)
    });
    found.extend(named.map(|phrase| phrase.text).filter(|name| is_new(name)));
    found
}

/// The words of a line that name a person or body by what it is: `my grandfather`.
pub(super) fn roles(asked: &QuestionParts, line: &Line<'_>) -> Vec<usize> {
    let is_role = |word: &Word<'_>| any_word(words::ROLES, &word.lower) && is_new(asked, word);
    (0..line.words.len()).filter(|at| is_role(&line.words[*at])).collect()
}

/// Whether what may be a Chinese name begins somewhere in a line: a surname behind a mark, a word that binds or calls, or a word of
/// the question.
fn holds_surname(asked: &QuestionParts, line: &Line<'_>) -> bool {
    const BEFORE: &str = "是由被为叫和与及向请让给对由名员长任理师生人家者授士裁总事";
    const NAMING: [char; 2] = ['是', '为'];
    let text = line.text;
    let is_named = asked.terms.iter().filter(|term| term.unspaced && term.role != Role::Common).any(|term| {
        text.match_indices(&term.word).any(|(at, word)| {
            let behind = text[at + word.len()..].strip_prefix(NAMING);
            behind.is_some_and(|name| name.chars().take(2).filter(|c| is_ideograph(*c)).count() == 2)
        })
    });
    // `由读者承担`: whoever it is, it is said who.
    let by = text.match_indices('由').any(|(at, by)| {
        let behind: String = text[at + by.len()..].chars().take(2).collect();
        behind.chars().filter(|c| is_ideograph(*c)).count() == 2 && !asked.lower.contains(&behind)
    });
    if is_named || by {
        return true;
    }
    text.char_indices().filter(|(_, c)| han::is_surname(*c)).any(|(at, surname)| {
        let (before, behind) = (&text[..at], &text[at + surname.len_utf8()..]);
        let begins = before.chars().next_back().is_none_or(|c| !is_ideograph(c) || BEFORE.contains(c))
            || asked.terms.iter().any(|term| term.unspaced && before.ends_with(&term.word));
        let given = behind.chars().next().filter(|c| is_ideograph(*c));
        begins && given.is_some_and(|given| !asked.lower.contains(&format!("{surname}{given}")))
    })
}

/// How many names, codes and quotations, roughly, a line has that the question does not hold.
pub(super) fn marks(asked: &QuestionParts, line: &Line<'_>) -> usize {
    let mixed = |word: &Word<'_>| word.text.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit());
    let capital = |word: &Word<'_>| word.is_capital() && asked.language == Language::English;
    let named =
        line.words.iter().skip(1).filter(|word| is_new(asked, word) && (mixed(word) || capital(word)));
    named.count() + usize::from(line.text.contains(['"', '“', '„', '«', '`']))
}

/// Whether a line names somebody by first and last name, and no body or place.
pub(super) fn names_person(asked: &QuestionParts, line: &Line<'_>) -> bool {
    const BODIES: &str = "university college institute company bank board council museum school society city county province state river lake street \
        park club press group party office committee laboratory universität gesellschaft verein stadt";
    names(asked, line).iter().any(|name| {
        let lower = name.to_lowercase();
        name.split(' ').count() >= 2 && !lower.split(' ').any(|word| any_word(BODIES, word))
    })
}

/// Whether a line gives the author of something that it quotes: `"Nine Rivers" by Ada Byron`.
pub(super) fn credits(line: &Line<'_>) -> bool {
    let marks =
        ["\" by ", "” by ", "' by ", "’ by ", "* by ", "_ by ", "“ von ", "\" von ", "« de ", "» de "];
    let text = spaced(line.text);
    marks.iter().any(|mark| text.contains(mark))
}

/// The text with a blank for each character of white space of one byte.
pub(super) fn spaced(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

/// How many words of a line tell something that the question does not say.
fn new_words(asked: &QuestionParts, line: &Line<'_>) -> usize {
    if has_no_spaces(line.text) {
        let left = line.text.chars().filter(|c| c.is_alphanumeric() && !asked.lower.contains(*c)).count();
        return left / 2;
    }
    line.words.iter().filter(|word| is_new(asked, word) && !is_stop_word(&word.lower)).count()
}

fn is_new(asked: &QuestionParts, word: &Word<'_>) -> bool {
    !asked.terms.iter().any(|term| term.root == word.root || term.word == word.lower)
}

fn digits(word: &str) -> Option<u32> {
    let plain: String = word.chars().filter(char::is_ascii_digit).collect();
    plain.parse().ok()
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && digits(word).is_some_and(|year| (1000..2200).contains(&year))
}

fn holds_time(asked: &QuestionParts, line: &Line<'_>) -> bool {
    if has_no_spaces(line.text) {
        let with_number = ["年", "月", "日", "时", "点", "周", "天", "号", "期", "月期"];
        // `周四`, `十八点`, `读书月`
        let in_words = line.text.char_indices().any(|(at, c)| {
            let next = line.text[at + c.len_utf8()..].chars().next();
            let unit = if c == '周' { "一二三四五六日天末" } else { "点月号日年" };
            (c == '周' || "一二三四五六七八九十".contains(c)) && next.is_some_and(|next| unit.contains(next))
        });
        return in_words
            || new_numbers(asked, line.text)
                .any(|behind| with_number.iter().any(|unit| behind.starts_with(unit)))
            || ["世纪", "年代", "去年", "今年", "次年"].iter().any(|word| line.text.contains(word));
    }
    const BEFORE: &str = "after before within until till by every nach vor bis alle binnen";
    line.words.iter().enumerate().skip(line.label_words).any(|(at, word)| {
        let capital_month = !is_month(&word.lower) || word.is_capital();
        let day = line
            .words
            .get(at + 1)
            .is_some_and(|next| is_month(&next.lower) || any_word(words::TIMES, &next.lower));
        let is_ordinal = word.has_digit() && word.lower.ends_with("th");
        let is_time = capital_month && word.lower != "uhr" && any_word(words::TIMES, &word.lower);
        let is_number = || word.has_digit() || any_word(words::NUMBERS, &word.lower);
        let is_since =
            at.checked_sub(1).is_some_and(|at| any_word(BEFORE, &line.words[at].lower)) && is_number();
        is_new(asked, word)
            && (is_year(&word.lower) || is_ordinal || (word.has_digit() && day) || is_time || is_since)
    })
}

fn holds_place(asked: &QuestionParts, line: &Line<'_>) -> bool {
    if has_no_spaces(line.text) {
        let marks = [
            "市", "省", "区", "县", "路", "镇", "村", "于", "在", "湾", "港", "号", "州", "国", "駅", "県",
            "で", "에서",
        ];
        return marks.iter().any(|mark| line.text.contains(mark) && !asked.lower.contains(mark))
            || names(asked, line).iter().any(|name| name.chars().count() >= 2);
    }
    // A row of a table says `city: Ghent`.
    !places(asked, line).is_empty() || line.text.contains(" | ")
}

/// The words of a line that may be places that the question does not hold: behind a preposition, up to the next mark.
pub(super) fn places(asked: &QuestionParts, line: &Line<'_>) -> Vec<usize> {
    const ARTICLES: &str = "the a an his her its their our my your this that";
    const BEFORE_OF: &str =
        "city town village county state province kingdom parish port island district borough shores";
    let word = |at: usize| line.words.get(at);
    let joined = |at: usize| {
        at.checked_sub(1).and_then(word).zip(word(at)).is_some_and(|(before, next)| {
            let gap = line.text.get(before.at + before.text.len()..next.at).unwrap_or_default();
            !gap.contains([',', ';', ':', '.', '(', ')', '!', '?'])
        })
    };
    let mut found = Vec::new();
    for at in 0..line.words.len() {
        let preposition = line.words[at].lower.as_str();
        if !any_word(words::BEFORE_PLACES, preposition) || !joined(at + 1) {
            continue;
        }
        let next = &line.words[at + 1];
        let is_place = match preposition {
            // `to live` is no place.
            "to" | "zu" => next.is_capital() || any_word(ARTICLES, &next.lower),
            "of" => at.checked_sub(1).is_some_and(|at| any_word(BEFORE_OF, &line.words[at].lower)),
            _ => true,
        };
        let behind = (at + 1..line.words.len().min(at + 1 + PLACE_WORDS)).take_while(|at| joined(*at));
        let place = behind.into_iter().find(|at| {
            let word = &line.words[*at];
            let may_be = asked.language != Language::German || word.is_capital() || word.text.contains('.');
            is_new(asked, word) && !is_stop_word(&word.lower) && may_be
        });
        let is_time = |word: &Word<'_>| is_year(&word.lower) || any_word(words::TIMES, &word.lower);
        found.extend(place.filter(|at| is_place && !is_time(&line.words[*at])));
    }
    found
}

/// What stands directly behind each number of a text that the question does not hold.
fn new_numbers<'t>(asked: &QuestionParts, text: &'t str) -> impl Iterator<Item = &'t str> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|start| at + start) {
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        let number = text[start..end].trim_end_matches(['.', ',']);
        if !asked.lower.contains(number) {
            found.push(&text[start + number.len()..]);
        }
        at = end;
    }
    found.into_iter()
}

/// What counts in a Chinese question: `岁` of `几岁`.
fn counter(question: &str) -> Option<char> {
    const COUNTERS: &str = "岁种天次名位层级米吨";
    let places = ["多少", "几"].into_iter().filter_map(|asking| question.split_once(asking));
    places.filter_map(|(_, behind)| behind.chars().next()).find(|c| COUNTERS.contains(*c))
}

/// Whether a number of a Chinese line has a unit of what a question measures.
fn measures_unspaced(asked: &QuestionParts, measure: &str, text: &str) -> bool {
    const DIGITS: &str = "一二两三四五六七八九十百千半";
    let Some((_, _, dimensions)) = words::MEASURES.iter().find(|(words, _, _)| any_word(words, measure))
    else {
        return true;
    };
    let dimensions =
        words::DIMENSIONS_CHINESE.iter().filter(|(dimension, _)| any_word(dimensions, dimension));
    let units: Vec<&str> = dimensions.flat_map(|(_, units)| units.iter().copied()).collect();
    let lower = text.to_lowercase();
    let is_unit = |behind: &str| units.iter().any(|unit| behind.trim_start().starts_with(unit));
    let in_words =
        lower.char_indices().any(|(at, c)| DIGITS.contains(c) && is_unit(&lower[at + c.len_utf8()..]));
    // `每周` tells how often.
    let often = lower.match_indices('每').any(|(at, every)| is_unit(&lower[at + every.len()..]));
    new_numbers(asked, &lower).any(is_unit) || in_words || often
}

fn holds_amount(asked: &QuestionParts, line: &Line<'_>, measured: bool) -> bool {
    let roots = Roots::of(asked.language);
    if let Some(measure) = asked.measure.as_deref().filter(|_| has_no_spaces(line.text)) {
        return measures_unspaced(asked, measure, line.text);
    }
    if has_no_spaces(line.text) {
        const COUNTS: &str = "个名位座家人年月天次级种条项倍吨米克元万亿周日分秒小層层套台部辆艘岁册本份公平";
        if let Some(counter) = counter(&asked.lower) {
            let counts = |before: &str| {
                before.ends_with(|c: char| {
                    c.is_ascii_digit() || "一二两三四五六七八九十百千万亿半余多".contains(c)
                })
            };
            return line.text.match_indices(counter).any(|(at, _)| counts(&line.text[..at]));
        }
        let in_words = line.text.char_indices().any(|(at, c)| {
            let next = line.text[at + c.len_utf8()..].chars().next();
            "一二两三四五六七八九十百千半".contains(c) && next.is_some_and(|next| COUNTS.contains(next))
        });
        let is_date = |behind: &&str| (behind.starts_with('年') && !measured) || behind.starts_with('月');
        return new_numbers(asked, line.text).any(|behind| !is_date(&behind)) || in_words;
    }
    // `3. The frame was closed` counts nothing.
    let numbered = line.text.starts_with(|c: char| c.is_ascii_digit())
        && [". ", ") "]
            .iter()
            .any(|mark| line.text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(mark));
    let first = line.label_words.max(usize::from(numbered));
    line.words.iter().enumerate().skip(first).any(|(at, word)| {
        if !is_new(asked, word) {
            return false;
        }
        let behind = || line.words.iter().skip(at + 1).take(COUNTED_WORDS);
        let has_unit = || {
            behind().take(2).any(|next| any_word(words::UNITS, &next.lower))
                || line.text[word.at + word.text.len()..].trim_start().starts_with(['%', '€', '$', '£', '°'])
        };
        // `Two young Cratchits` counts nothing that is asked about Bob Cratchit.
        let is_asked = |next: &Word<'_>| {
            asked
                .terms
                .iter()
                .any(|term| term.role != Role::Name && (term.root == next.root || term.is_related(next)))
        };
        let counts = || behind().any(is_asked);
        if let Some(counted) = asked.counted.and_then(|counted| asked.terms.get(counted)) {
            let is_counted = |next: &Word<'_>| counted.root == next.root || counted.is_related(next);
            let before = line.words[..at].iter().rev().take(2).any(is_counted);
            let is_number = word.has_digit() || any_word(words::NUMBERS, &word.lower);
            let is_counted =
                |next: &Word<'_>| is_counted(next) || roots.likeness(&counted.root, &next.root) > 0.0;
            return is_number
                && (behind().any(is_counted)
                    || before
                    || (line.form == LineForm::Row && !is_year(&word.lower)));
        }
        if let Some(measure) = &asked.measure {
            let is_number = word.has_digit() || any_word(words::NUMBERS, &word.lower);
            return is_number && measures(measure, line, at);
        }
        if word.has_digit() {
            // A bare year counts nothing.
            return !is_year(&word.lower) || has_unit() || counts();
        }
        any_word(words::NUMBERS, &word.lower) && (has_unit() || counts())
    })
}

/// Whether the number at a place of a line is what `measure` asks for: by its unit, or by a word that tells it.
fn measures(measure: &str, line: &Line<'_>, at: usize) -> bool {
    const NEAR: usize = 3;
    let Some((_, told_by, dimensions)) =
        words::MEASURES.iter().find(|(words, _, _)| any_word(words, measure))
    else {
        return true;
    };
    let units = || words::DIMENSIONS.iter().filter(|(dimension, _)| any_word(dimensions, dimension));
    let is_unit = |word: &Word<'_>| units().any(|(_, units)| any_word(units, &word.lower));
    let unit = (at + 1..line.words.len().min(at + 3)).find(|at| is_unit(&line.words[*at]));
    // `three feet of snow` measures the snow.
    let of_other = |unit: usize| {
        line.words.get(unit + 1).is_some_and(|of| any_word("of", &of.lower))
            && !tells_measure_by(told_by, line)
    };
    if unit.is_some_and(of_other) {
        return false;
    }
    // `74 metres long` tells nothing of a width.
    let is_other = |word: &Word<'_>| {
        words::MEASURES
            .iter()
            .any(|(_, told, of)| of == dimensions && *told != *told_by && any_word(told, &word.lower))
    };
    let near = line.words.iter().skip(at + 1).take(NEAR);
    if near.into_iter().any(is_other) && !tells_measure_by(told_by, line) {
        return false;
    }
    let has_unit = unit.is_some();
    let is_year = is_year(&line.words[at].lower) && !has_unit;
    has_unit || (!is_year && tells_measure_by(told_by, line))
}

/// The places of the numbers of a line that `measure` asks for.
pub(super) fn measured_places(measure: &str, line: &Line<'_>) -> Vec<usize> {
    let is_number = |word: &Word<'_>| word.has_digit() || any_word(words::NUMBERS, &word.lower);
    (0..line.words.len()).filter(|at| is_number(&line.words[*at]) && measures(measure, line, *at)).collect()
}

fn tells_measure_by(told_by: &str, line: &Line<'_>) -> bool {
    if has_no_spaces(line.text) {
        return told_by.split_whitespace().any(|word| line.text.contains(word));
    }
    line.words.iter().any(|word| any_word(told_by, &word.lower))
}

/// Whether a line has the word that a question measures by.
pub(super) fn tells_measure(asked: &QuestionParts, line: &Line<'_>) -> bool {
    let Some(measure) = &asked.measure else { return false };
    let told_by = words::MEASURES.iter().find(|(words, _, _)| any_word(words, measure));
    told_by.is_some_and(|(_, told_by, _)| tells_measure_by(told_by, line))
}

/// Whether a line gives the years of a life in brackets, or the first of them: `Ada Byron (1815 - 1852)`.
pub(super) fn gives_life(line: &Line<'_>, death: bool) -> bool {
    let Some((_, inside)) = line.text.split_once('(') else { return false };
    let inside = inside.split_once(')').map_or("", |(inside, _)| inside);
    let years = inside.split(|c: char| !c.is_ascii_digit()).filter(|number| is_year(number)).count();
    let marked = inside.contains(['*', '†']) || inside.contains("born") || inside.contains("geboren");
    (years == 2 && inside.contains(['-', '–', '—'])) || (years == 1 && marked && !death)
}

fn gives_reason(text: &str) -> bool {
    let lower = format!(" {} ", text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "));
    // `since the war` tells when, `since it was late` why.
    let since = lower.split(" since ").skip(1).any(|behind| {
        let first = behind.split(' ').next().unwrap_or_default();
        any_word("the a an it he she they we you i there this that these those its his her their", first)
            && !behind
                .split(' ')
                .take(4)
                .any(|word| any_word(words::TIMES, word) || is_year(word) || any_word("time times war", word))
    });
    since || words::REASONS.iter().any(|mark| lower.contains(mark))
}

fn begins_reason(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "that is because",
        "this is because",
        "the reason",
        "because",
        "it is because",
        "der grund",
        "das liegt",
        "denn",
        "因为",
        "这是因为",
        "原因",
    ]
    .iter()
    .any(|start| lower.starts_with(start))
}

/// Whether a line says what the terms of the question mean, or who or what they name.
pub(super) fn means(asked: &QuestionParts, line: &Line<'_>) -> bool {
    let lower = spaced(&line.text.to_lowercase());
    if has_no_spaces(line.text) {
        let is_meant = |term: &&Term| {
            term.role != Role::Common && (term.unspaced || term.role == Role::Name || asked.terms.len() == 1)
        };
        return asked.terms.iter().filter(is_meant).any(|term| {
            let bare = |rest: &str| rest.trim_start_matches(['”', '"', '」', '》', '*', '_', ' ']).to_owned();
            lower.match_indices(term.word.as_str()).any(|(at, word)| {
                let behind = bare(&lower[at + word.len()..]);
                let before = &lower[..at];
                ["是指", "指的是", "指", "是一", "即", "：", ":", "是", "，是", "（"]
                    .iter()
                    .any(|mark| behind.starts_with(mark))
                    && !["指定", "指向", "指出", "指令"].iter().any(|other| behind.starts_with(other))
                    && before.chars().count() <= 8
                    || ["称为", "叫做", "称作", "所谓", "就是"]
                        .iter()
                        .any(|mark| before.trim_end_matches(['“', '"', '「', '*']).ends_with(mark))
            })
        });
    }
    if line.form == LineForm::Row && explains(asked, line) {
        return true;
    }
    let subject: Vec<&str> = asked
        .terms
        .iter()
        .filter(|term| matches!(term.role, Role::Name | Role::Relation | Role::Number))
        .map(|term| term.root.as_str())
        .collect();
    let whole_subject: Vec<&str> = asked
        .terms
        .iter()
        .filter(|term| term.role == Role::Relation)
        .map(|term| term.root.as_str())
        .collect();
    let is_subject = |at: usize| line.words.get(at).is_some_and(|word| subject.contains(&word.root.as_str()));
    let starts =
        (0..line.words.len()).filter(|at| is_subject(*at) && !at.checked_sub(1).is_some_and(is_subject));
    starts.into_iter().any(|first| {
        let end = (first..line.words.len()).take_while(|at| is_subject(*at)).last().unwrap_or(first);
        let held: HashSet<&str> = line.words[first..=end].iter().map(|word| word.root.as_str()).collect();
        let is_whole = subject.len() > MAX_SUBJECT || whole_subject.iter().all(|root| held.contains(root));
        is_whole && means_at(asked, line, &lower, first, end)
    })
}

/// Whether one of the first cells of a row holds what is to be defined, so that the others say more of it.
fn explains(asked: &QuestionParts, row: &Line<'_>) -> bool {
    const FIRST: usize = 2;
    let mut end = 0;
    row.text.split(" | ").take(FIRST).any(|cell| {
        let start = end;
        end += cell.len() + " | ".len();
        let words = || row.words.iter().filter(|word| (start..end).contains(&word.at));
        let in_cell = |term: &Term| words().any(|word| word.root == term.root);
        let mut fixed = asked.terms.iter().filter(|term| matches!(term.role, Role::Name | Role::Number));
        let mut told = asked.terms.iter().filter(|term| term.role != Role::Common);
        row.text.contains(" | ") && told.any(in_cell) && fixed.all(in_cell)
    })
}

/// Whether a line says what is named by its words from `first` to `end`.
fn means_at(asked: &QuestionParts, line: &Line<'_>, lower: &str, first: usize, end: usize) -> bool {
    const MAX_WORDS_BEFORE: usize = 3;
    const MAX_INNER: usize = 4;
    let word = &line.words[end];
    let behind = lower.get(word.at + word.text.len()..).unwrap_or_default();
    let behind = behind.trim_start_matches(['_', '*', '`', '"', '”', '“', '’', '\'']);
    let before = lower.get(..line.words[first].at).unwrap_or_default();
    let before = before.trim_end_matches(['_', '*', '`', '"', '“', '„', '‘', ' ']);
    let near_start =
        line.words[..first].iter().filter(|word| !is_stop_word(&word.lower)).count() <= MAX_WORDS_BEFORE;
    let is_name = asked.terms.iter().any(|term| term.role == Role::Name);
    // `Generic traits are` says nothing of all traits.
    let is_narrowed = !is_name
        && first.checked_sub(1).map(|at| &line.words[at]).is_some_and(|word| {
            let gap = line.text.get(word.at + word.text.len()..line.words[first].at).unwrap_or_default();
            gap == " " && !is_stop_word(&word.lower) && word.lower.chars().all(char::is_alphabetic)
        });
    const COPULAS: &[&str] = &[
        " is a ",
        " is an ",
        " is the ",
        " is any ",
        " is one ",
        " is when ",
        " is where ",
        " are ",
        " was a ",
        " was an ",
        " was the ",
        " were ",
        " means ",
        " mean ",
        " refers to ",
        " denotes ",
        " stands for ",
        " describes ",
        ": ",
        " – ",
        " — ",
        " - ",
        " ist ein",
        " ist der ",
        " ist die ",
        " ist das ",
        " sind ",
        " war ein",
        " war der ",
        " war die ",
        " bezeichnet ",
        " bedeutet ",
        " heißt ",
        " nennt man ",
        " versteht man ",
        " est un",
        " est le ",
        " est la ",
        " es un",
        " es el ",
        " es la ",
        " è un",
        " is ",
        " ist ",
        " was ",
        " war ",
    ];
    const NAMED: &[&str] = &[
        "called",
        "called the",
        "called a",
        "called an",
        "known as",
        "known as the",
        "named",
        "termed",
        "genannt",
        "sogenannte",
        "sogenannter",
        "namens",
        "als",
    ];
    if asked.acts {
        let subject_first = line.words[..first].iter().all(|word| is_stop_word(&word.lower));
        let next = line.words.get(end + 1).filter(|_| subject_first);
        let all = tokens(line.text, 0..line.text.len());
        let is_verb = |at: usize| {
            all.iter().any(|token| token.start == at && matches!(token.tag, UPOS::VERB | UPOS::AUX))
        };
        if next.is_some_and(|next| is_verb(next.at)) {
            return true;
        }
    }
    let is_row = line.form == LineForm::Row && first <= 1;
    // `The name of the demon Ash is` says nothing of Ash.
    let is_inner = line.words[..first].iter().rev().take(MAX_INNER).any(|word| {
        let between = line.text.get(word.at..line.words[first].at).unwrap_or_default();
        any_word("of by from about von", &word.lower) && !between.contains([',', ';', ':', '('])
    });
    const NO_DEFINITION: &str = "not nicht außer for für in im at on auch also only nur very sehr still noch already schon now jetzt here hier there dort \
        used called to zu by von with mit often oft always immer never nie just even so too";
    let says_more = || {
        let copula = behind.split_whitespace().next().unwrap_or_default();
        let next = behind.split_whitespace().nth(1).unwrap_or_default();
        any_word("is ist was war are sind were waren", copula) && any_word(NO_DEFINITION, next)
    };
    let copula = near_start
        && !is_narrowed
        && !is_inner
        && COPULAS.iter().any(|mark| behind.starts_with(mark))
        && !says_more();
    let german = (lower.starts_with("als ") || lower.starts_with("unter "))
        && ["bezeichnet", "versteht", "nennt"].iter().any(|verb| lower.contains(verb));
    let named = NAMED.iter().any(|mark| before.ends_with(&format!(" {mark}")));
    let described = behind.starts_with(", a ")
        || behind.starts_with(", an ")
        || is_name
            && (behind.starts_with(", a")
                || behind.starts_with(", the ")
                || behind.starts_with(" (")
                || behind.starts_with(", who ")
                || behind.starts_with(", de")
                || behind.starts_with(", di")
                || before.ends_with(','));
    is_row || copula || german || named || described
}
