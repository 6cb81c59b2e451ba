//! Decides whether a line contains something of the answer type.

use std::collections::HashSet;

use super::lines::{Line, Word};
use super::measures::{self, holds_amount};
use super::question::{AnswerType, ParsedQuestion, Role};
use super::unspaced;
use super::words::{self, any_word};
use crate::languages::Language;
use crate::lexicon::{is_month, is_stop_word};
use crate::phrase::{Phrase, PhraseKind, phrases};
use crate::scripts::{has_no_spaces, is_ideograph, runs};
use crate::{dates, han};

/// Maximum number of words between a preposition and a place.
const PLACE_WORDS: usize = 3;
/// Number of words after a preposition in which a time rules out a place.
const PHRASE_WORDS: usize = 5;
/// True if `line` contains something of the question's answer type that is not in the question.
///
/// - `next`: the following line, which may give the reason.
pub(super) fn holds(question: &ParsedQuestion, line: &Line<'_>, next: Option<&Line<'_>>) -> bool {
    match question.answer_type {
        AnswerType::Person => {
            !names(question, line).is_empty()
                || holds_surname(question, line)
                || !if question.naming { naming_words(line) } else { roles(question, line) }.is_empty()
        }
        AnswerType::Time => holds_time(question, line),
        AnswerType::Place => {
            holds_place(question, line) || is_label(question, line) || is_address(question, line)
        }
        AnswerType::Amount { measured } => holds_amount(question, line, measured),
        AnswerType::Reason => gives_reason(line.text) || next.is_some_and(|next| begins_reason(next.text)),
        AnswerType::Thing if question.naming => {
            const NAMING: [&str; 7] = ["叫", "名为", "取名", "起名", "命名", "称为", "称作"];
            const QUOTES: [char; 3] = ['“', '「', '《'];
            let quotes = |mark: &char| line.text.contains(*mark) && !question.lower.contains(*mark);
            !names(question, line).is_empty()
                || holds_surname(question, line)
                || NAMING.iter().any(|naming| line.text.contains(naming))
                || QUOTES.iter().any(quotes)
        }
        AnswerType::Manner | AnswerType::Thing | AnswerType::Truth | AnswerType::Meaning => {
            new_words(question, line) >= 1
        }
    }
}

/// True if a line is a name with its address: `Halden Ltd., 4 Mill Lane, Ludlow`.
pub(super) fn is_address(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    const MIN_PARTS: usize = 3;
    let parts: Vec<&str> = line.text.split(", ").collect();
    let begins = line.words.first().is_some_and(|word| !is_new(question, word));
    let is_part = |part: &&&str| part.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    begins && parts.len() >= MIN_PARTS && parts.iter().filter(is_part).count() == parts.len()
}

/// True if a line gives a value after a label with words of the question: `Number of employees: 212`.
pub(super) fn is_label(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    const MAX_WORDS: usize = 4;
    let Some((label, value)) = line.text.split_once([':', '：']) else { return false };
    let of_label = || line.words.iter().take_while(|word| word.at < label.len());
    let is_in_question = |word: &Word<'_>| question.has_besides_names(word);
    let tells = |word: &&Word<'_>| !is_stop_word(&word.lower) && !any_word(words::QUANTITIES, &word.lower);
    (1..=MAX_WORDS).contains(&of_label().count())
        && !value.trim().is_empty()
        && of_label().any(is_in_question)
        && of_label().filter(tells).all(is_in_question)
}

/// Returns the names in a line that are not in the question.
pub(super) fn names(question: &ParsedQuestion, line: &Line<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if has_no_spaces(line.text) {
        let all = runs(line.text, Language::of(line.text), &HashSet::new());
        let named = all.into_iter().filter(|run| run.is_name).map(|run| line.text[run.range].to_owned());
        found.extend(named.filter(|name| !question.lower.contains(name.as_str())));
    }
    let of_line = phrases(line.text).into_iter();
    // At least one word is not in the question and could be a name.
    let is_new = |name: &str| {
        let lower = name.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.any(|word| {
            let is_in_question = question.terms.iter().any(|term| term.word == word);
            let names =
                word.chars().all(char::is_alphabetic) && word.chars().count() > 1 && !is_stop_word(word);
            !is_in_question
                && names
                && !is_month(word)
                && !words::is_time(word)
                && !any_word(words::ADDRESSES, word)
        })
    };
    // `Cargo.toml` is a file.
    let is_file = |name: &str| {
        let mut parts = name.split('.').skip(1);
        parts.any(|part| part.starts_with(|c: char| c.is_lowercase()))
    };
    // `2 TB`
    let is_unit = |phrase: &Phrase| {
        let is_counted = line.text[..phrase.range.start].trim_end().ends_with(|c: char| c.is_ascii_digit());
        is_counted && measures::is_unit(&phrase.text.to_lowercase())
    };
    let named = of_line.filter(|phrase| {
        let is_address = phrase.text.contains(['/', '_']);
        phrase.kind == PhraseKind::Name
            && !has_no_spaces(&phrase.text)
            && !is_file(&phrase.text)
            && !is_unit(phrase)
            && !is_address
    });
    found.extend(named.map(|phrase| phrase.text).filter(|name| is_new(name)));
    found
}

/// Returns the words of a line that name a person or organization by relationship or occupation: `my grandfather`.
pub(super) fn roles(question: &ParsedQuestion, line: &Line<'_>) -> Vec<usize> {
    let is_role = |word: &Word<'_>| any_word(words::ROLES, &word.lower) && is_new(question, word);
    (0..line.words.len()).filter(|at| is_role(&line.words[*at])).collect()
}

/// Returns the words of a line that introduce a name: `called` in `a dog called Bess`.
pub(super) fn naming_words(line: &Line<'_>) -> Vec<usize> {
    const NAMING: &str = "called named titled nicknamed christened heißt hieß heißen hießen namens genannt";
    (0..line.words.len()).filter(|at| any_word(NAMING, &line.words[*at].lower)).collect()
}

/// True if a possible Chinese name begins in a line: a surname after a mark, after a function word or a word that introduces a
/// name, or after a word of the question.
fn holds_surname(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    const BEFORE: &str = "是由被为叫和与及向请让给对由名员长任理师生人家者授士裁总事";
    const NAMING: [char; 2] = ['是', '为'];
    let text = line.text;
    let is_named =
        question.terms.iter().filter(|term| term.unspaced && term.role != Role::Common).any(|term| {
            text.match_indices(&term.word).any(|(at, word)| {
                let behind = text[at + word.len()..].strip_prefix(NAMING);
                behind.is_some_and(|name| name.chars().take(2).filter(|c| is_ideograph(*c)).count() == 2)
            })
        });
    // `由读者承担` says who it is, even without a name.
    let by = text.match_indices('由').any(|(at, by)| {
        let behind: String = text[at + by.len()..].chars().take(2).collect();
        behind.chars().filter(|c| is_ideograph(*c)).count() == 2 && !question.lower.contains(&behind)
    });
    if is_named || by {
        return true;
    }
    text.char_indices().filter(|(_, c)| han::is_surname(*c)).any(|(at, surname)| {
        let (before, behind) = (&text[..at], &text[at + surname.len_utf8()..]);
        let begins = before.chars().next_back().is_none_or(|c| !is_ideograph(c) || BEFORE.contains(c))
            || question.terms.iter().any(|term| term.unspaced && before.ends_with(&term.word));
        let given = behind.chars().next().filter(|c| is_ideograph(*c));
        begins && given.is_some_and(|given| !question.lower.contains(&format!("{surname}{given}")))
    })
}

/// Returns the approximate number of names, codes and quotations in a line that are not in the question.
pub(super) fn marks(question: &ParsedQuestion, line: &Line<'_>) -> usize {
    let mixed = |word: &Word<'_>| word.text.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit());
    let capital = |word: &Word<'_>| word.is_capital() && question.language == Language::English;
    let named =
        line.words.iter().skip(1).filter(|word| is_new(question, word) && (mixed(word) || capital(word)));
    named.count() + usize::from(line.text.contains(['"', '“', '„', '«', '`']))
}

/// True if a name or code that is not in the question stands beside a class word: `the Severn river`, `the package zlib-dev`.
pub(super) fn names_instance(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    const NAMING: &str = "called named namens is ist";
    let words = &line.words;
    let is_class = |word: &Word<'_>| {
        let mut classes = question.terms.iter().filter(|term| term.role == Role::Class);
        classes.any(|term| term.is_word(word))
    };
    let gap = |at: usize| {
        let end = words[at].at + words[at].text.len();
        words.get(at + 1).and_then(|next| line.text.get(end..next.at)).unwrap_or_default()
    };
    let is_joined = |gap: &str| matches!(gap, "-" | "_" | "." | "/");
    let is_code = |at: usize| {
        is_joined(gap(at))
            || at.checked_sub(1).is_some_and(|before| is_joined(gap(before)))
            || words[at].text.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit())
    };
    let is_name = |at: usize, capital: bool| {
        words.get(at).is_some_and(|word| {
            is_new(question, word)
                && !is_stop_word(&word.lower)
                && (is_code(at) || capital && at > 0 && word.is_capital())
        })
    };
    // All nouns of German begin with a capital.
    let may_precede = question.language != Language::German;
    let is_beside = |gap: &str| gap.trim_matches(['"', '“', '„', '`', '\'', '‘']) == " ";
    (0..words.len()).filter(|at| is_class(&words[*at])).any(|at| {
        let before = at.checked_sub(1).filter(|before| is_beside(gap(*before)));
        let naming = words[at + 1..].iter().take_while(|word| any_word(NAMING, &word.lower)).count();
        let behind = at + 1 + naming;
        before.is_some_and(|before| is_name(before, may_precede))
            || is_beside(gap(behind - 1)) && is_name(behind, true)
    })
}

/// True if a line contains the full name of a person, not of an organization or place.
pub(super) fn names_person(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    const BODIES: &str = "university college institute company bank board council museum school society city county province state river lake street \
        park club press group party office committee laboratory universität gesellschaft verein stadt";
    let text = spaced(line.text);
    // `"Hearing Through Glass"` is a title.
    let is_quoted = |name: &str| {
        let before = text.find(name).and_then(|at| text[..at].chars().next_back());
        before.is_some_and(|c| matches!(c, '"' | '“' | '„' | '«' | '*' | '_'))
    };
    names(question, line).iter().any(|name| {
        let lower = name.to_lowercase();
        let is_body = lower.split(' ').any(|word| any_word(BODIES, word));
        name.split(' ').count() >= 2 && !is_body && !is_quoted(name)
    })
}

/// True if a line gives the author of a title: `"Nine Rivers" by Ada Byron`.
pub(super) fn credits(line: &Line<'_>) -> bool {
    let marks =
        ["\" by ", "” by ", "' by ", "’ by ", "* by ", "_ by ", "“ von ", "\" von ", "« de ", "» de "];
    let text = spaced(line.text);
    marks.iter().any(|mark| text.contains(mark))
}

/// Replaces line breaks and tabs by spaces.
pub(super) fn spaced(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

/// Returns the number of words in a line that are not in the question and not stop words.
pub(super) fn new_words(question: &ParsedQuestion, line: &Line<'_>) -> usize {
    if has_no_spaces(line.text) {
        let left = line.text.chars().filter(|c| c.is_alphanumeric() && !question.lower.contains(*c)).count();
        return left / 2;
    }
    line.words.iter().filter(|word| is_new(question, word) && !is_stop_word(&word.lower)).count()
}

pub(super) fn is_new(question: &ParsedQuestion, word: &Word<'_>) -> bool {
    !question.terms.iter().any(|term| term.root == word.root || term.word == word.lower)
}

/// True if a word is a year or decade: `1931`, `1990s`.
pub(super) fn is_year(word: &str) -> bool {
    dates::is_year(word.strip_suffix('s').unwrap_or(word))
}

fn holds_time(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    if has_no_spaces(line.text) {
        let with_number = ["年", "月", "日", "时", "点", "周", "天", "号", "期", "月期"];
        // `周四`, `十八点`, `读书月`
        let in_words = line.text.char_indices().any(|(at, c)| {
            let next = line.text[at + c.len_utf8()..].chars().next();
            let unit = if c == '周' { "一二三四五六日天末" } else { "点月号日年" };
            (c == '周' || "一二三四五六七八九十".contains(c)) && next.is_some_and(|next| unit.contains(next))
        });
        return in_words
            || new_numbers(question, line.text)
                .any(|(_, behind)| with_number.iter().any(|unit| behind.starts_with(unit)))
            || ["世纪", "年代", "去年", "今年", "次年"].iter().any(|word| line.text.contains(word));
    }
    const BEFORE: &str = "after before within until till by every nach vor bis alle binnen";
    const NEXT: &str = "next last this nächste nächsten nächstes letzte letzten letztes diese dieses";
    const PERIODS: &str = "day week weekend month year night tag woche wochenende monat jahr";
    const ORDINALS: &str = "first second third fourth fifth sixth seventh eighth ninth tenth ersten zweiten dritten vierten \
        fünften sechsten siebten achten neunten zehnten";
    const COUNTING: &str = "all couple every few following last many next previous several some within einige einigen letzten \
        mehrere mehreren nächsten paar wenige wenigen";
    const BEHIND: &str = "after ago before earlier later früher nach später vor";
    line.words.iter().enumerate().skip(line.label_words).any(|(at, word)| {
        let capital_month = !is_month(&word.lower) || word.is_capital();
        let day =
            line.words.get(at + 1).is_some_and(|next| is_month(&next.lower) || words::is_time(&next.lower));
        let is_ordinal = word.has_digit() && word.lower.ends_with("th");
        // `from the eighth day`
        let is_counted_day = any_word(ORDINALS, &word.lower)
            && line.words.get(at + 1).is_some_and(|next| any_word(PERIODS, &next.lower));
        let is_weekdays = word.lower.strip_suffix("days").is_some_and(|day| !day.is_empty());
        // `They count days and weeks` tells no time, `two days later` does.
        let is_bare_unit = any_word(words::TIME_UNITS, &word.lower)
            && !line.words[at.saturating_sub(2)..at]
                .iter()
                .any(|before| before.is_number() || any_word(COUNTING, &before.lower))
            && !line.words.get(at + 1).is_some_and(|next| any_word(BEHIND, &next.lower));
        let is_time = capital_month
            && word.lower != "uhr"
            && !is_bare_unit
            && !is_greeting(line, at)
            && !is_habit(question, word)
            && !begins_clause_of_question(question, line, at)
            && (is_weekdays || words::is_time(&word.lower));
        // `next week`
        let is_next = any_word(PERIODS, &word.lower)
            && at.checked_sub(1).is_some_and(|at| any_word(NEXT, &line.words[at].lower));
        // `15 v. Chr.`
        let is_era = word.has_digit()
            && line
                .words
                .iter()
                .skip(at + 1)
                .take(2)
                .any(|next| any_word("chr bc ad bce ce bp", &next.lower));
        let is_since =
            at.checked_sub(1).is_some_and(|at| any_word(BEFORE, &line.words[at].lower)) && word.is_number();
        is_new(question, word)
            && (is_year(&word.lower)
                || is_clock(line, at, question.language)
                || is_ordinal
                || is_counted_day
                || is_era
                || (word.has_digit() && day)
                || is_time
                || is_next
                || is_since)
    })
}

/// True if a word greets: `Morning all`, `Good evening`, `Guten Abend`.
fn is_greeting(line: &Line<'_>, at: usize) -> bool {
    let word = &line.words[at];
    let is_wished = at.checked_sub(1).is_some_and(|at| any_word("good guten", &line.words[at].lower));
    let greets = || {
        let to_all =
            line.words.get(at + 1).is_some_and(|next| any_word("all everyone everybody team", &next.lower));
        to_all || line.text[word.at + word.text.len()..].starts_with([',', '!', '.'])
    };
    any_word("morning afternoon evening abend morgen mittag", &word.lower)
        && (is_wished || at == line.label_words && greets())
}

/// True if a word tells when something happens regularly, and the question asks when it happened: `on Fridays`.
fn is_habit(question: &ParsedQuestion, word: &Word<'_>) -> bool {
    let is_past = question.lower.split_whitespace().any(|word| word == "did");
    is_past && word.lower.strip_suffix('s').is_some_and(|day| day.ends_with("day") && words::is_time(day))
}

/// True if a word begins a clause about what the question asks: `when she moved to Lisbon` for the question when Ada moved there.
fn begins_clause_of_question(question: &ParsedQuestion, line: &Line<'_>, at: usize) -> bool {
    const NEAR: usize = 4;
    let Some(key) = question.key.map(|key| &question.terms[key]) else { return false };
    line.words[at].lower == "when" && line.words.iter().skip(at + 1).take(NEAR).any(|word| key.is_word(word))
}

/// True if a word is a time of day: `4 PM`, `4pm`, `18:30`.
fn is_clock(line: &Line<'_>, at: usize, language: Language) -> bool {
    const HALVES: [&str; 2] = ["am", "pm"];
    let word = &line.words[at];
    let behind = word.at + word.text.len();
    let next = line.words.get(at + 1);
    // In German, `am` is a preposition.
    let has_half = language == Language::English
        && (next.is_some_and(|next| any_word("am pm a.m p.m", &next.lower))
            || HALVES.iter().any(|half| word.lower.ends_with(half)));
    let has_minutes = || {
        line.text[behind..].starts_with(':')
            && next.is_some_and(|next| next.at == behind + 1 && next.has_digit())
    };
    word.has_digit() && (has_half || has_minutes())
}

fn holds_place(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    if has_no_spaces(line.text) {
        let marks = [
            "市", "省", "区", "县", "路", "镇", "村", "于", "在", "湾", "港", "号", "州", "国", "駅", "県",
            "で", "에서",
        ];
        let plain = unspaced::without_asking(&question.lower, question.language);
        return marks.iter().any(|mark| line.text.contains(mark) && !plain.contains(mark))
            || names(question, line).iter().any(|name| name.chars().count() >= 2);
    }
    // A table row may say `city: Ghent`.
    !places(question, line).is_empty() || line.text.contains(" | ")
}

/// Returns the words of a line that may be places outside the question: after a preposition, up to the next mark.
pub(super) fn places(question: &ParsedQuestion, line: &Line<'_>) -> Vec<usize> {
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
        // The English article `an` is a German preposition.
        let is_article = preposition == "an" && question.language == Language::English;
        if is_article || !any_word(words::BEFORE_PLACES, preposition) || !joined(at + 1) {
            continue;
        }
        let next = &line.words[at + 1];
        let is_place = match preposition {
            // `to live` is not a place.
            "to" | "zu" => {
                (next.is_capital() && !any_word(words::TITLES, &next.lower))
                    || any_word(ARTICLES, &next.lower)
            }
            "of" => at.checked_sub(1).is_some_and(|at| any_word(BEFORE_OF, &line.words[at].lower)),
            _ => true,
        };
        let behind = (at + 1..line.words.len().min(at + 1 + PLACE_WORDS)).take_while(|at| joined(*at));
        let place = behind.into_iter().find(|at| {
            let word = &line.words[*at];
            let may_be =
                question.language != Language::German || word.is_capital() || word.text.contains('.');
            // `to his death` is not the place where a king died.
            let is_in_question = question.terms.iter().any(|term| term.is_related(word));
            is_new(question, word) && !is_in_question && !is_stop_word(&word.lower) && may_be
        });
        // `in the late 19th century`
        let phrase = (at + 1..line.words.len().min(at + 1 + PHRASE_WORDS)).take_while(|at| joined(*at));
        let mut phrase = phrase.take_while(|at| !any_word(words::BEFORE_PLACES, &line.words[*at].lower));
        let is_time = |word: &Word<'_>| is_year(&word.lower) || words::is_time(&word.lower);
        let is_time = phrase.any(|at| is_time(&line.words[at]));
        found.extend(place.filter(|_| is_place && !is_time));
    }
    found
}

/// Returns each number that is not in the question, and the text after it.
pub(super) fn new_numbers<'t>(
    question: &ParsedQuestion,
    text: &'t str,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|start| at + start) {
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        let number = text[start..end].trim_end_matches(['.', ',']);
        if !question.lower.contains(number) {
            // `2015 年`
            found.push((number, text[start + number.len()..].trim_start()));
        }
        at = end;
    }
    found.into_iter()
}

/// True if a line gives the years of a life, or the year of birth, in brackets: `Ada Byron (1815 - 1852)`.
pub(super) fn gives_life_years(line: &Line<'_>, death: bool) -> bool {
    let Some((_, inside)) = line.text.split_once('(') else { return false };
    let inside = inside.split_once(')').map_or("", |(inside, _)| inside);
    let years = inside.split(|c: char| !c.is_ascii_digit()).filter(|number| is_year(number)).count();
    let marked = inside.contains(['*', '†']) || inside.contains("born") || inside.contains("geboren");
    (years == 2 && inside.contains(['-', '–', '—'])) || (years == 1 && marked && !death)
}

/// True if a text contains an expression that gives a reason.
pub(super) fn gives_reason(text: &str) -> bool {
    let lower = format!(" {} ", text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "));
    // `since the war` gives a time, `since it was late` a reason.
    let since = lower.split(" since ").skip(1).any(|behind| {
        let first = behind.split(' ').next().unwrap_or_default();
        any_word("the a an it he she they we you i there this that these those its his her their", first)
            && !behind
                .split(' ')
                .take(4)
                .any(|word| words::is_time(word) || is_year(word) || any_word("time times war", word))
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
