//! Finds proper names: runs of capitalized words with the function words between them.

use std::ops::Range;

use harper_brill::UPOS;

use super::dates::is_year;
use super::languages::Language;
use super::lexicon::{is_connector, is_demonym, is_month, is_name_abbreviation, is_opener};
use super::phrase::PhraseKind;
use super::text_statistics::{Sentence, TextStatistics};
use super::token::{Shape, Token, is_elided_article, is_verb, opens};

/// Maximum number of words in a name.
const MAX_NAME_WORDS: usize = 12;

/// Returns the runs of capitalized words with the function words between them.
pub(super) fn names(
    text: &str,
    sentence: &Sentence<'_>,
    statistics: &TextStatistics<'_>,
) -> Vec<(Range<usize>, PhraseKind)> {
    let tokens = &sentence.tokens;
    let is_english = statistics.language == Language::English;
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !starts_name(text, sentence, at, statistics) {
            at += 1;
            continue;
        }
        let counted = is_counted(tokens, at, statistics.language);
        let mut end = at + 1;
        while end < tokens.len() && end - at < MAX_NAME_WORDS {
            // In languages that capitalize nouns, `the teacher of Klara Voss` is not a name.
            let bound = counted && end == at + 1;
            match name_goes_on(tokens, end, statistics) {
                0 => break,
                2.. if bound => break,
                more => end += more,
            }
        }
        let end = end.min(tokens.len());
        if is_english && end == at + 1 && qualifies(tokens, at) {
            at = end;
            continue;
        }
        match kind_of_name(tokens, at..end, counted, sentence.topic, statistics) {
            Some(PhraseKind::Name) => push_name(text, &tokens[at..end], statistics, &mut found),
            Some(kind) => found.push((without_article(&tokens[at], statistics)..tokens[end - 1].end, kind)),
            None => {}
        }
        at = end;
    }
    found
}

/// True if a word is the adjective of a people or country before a common noun: `English poet`.
fn qualifies(tokens: &[Token<'_>], at: usize) -> bool {
    let is_common = |next: &Token<'_>| {
        matches!(next.gap, " " | "-")
            && next.shape == Shape::Lower
            && next.is_content()
            && !is_verb(&next.lower)
    };
    is_demonym(&tokens[at].lower) && tokens.get(at + 1).is_some_and(is_common)
}

/// Classifies a run of capitalized words; `None` if it is not a name.
fn kind_of_name(
    tokens: &[Token<'_>],
    run: Range<usize>,
    counted: bool,
    topic: bool,
    statistics: &TextStatistics<'_>,
) -> Option<PhraseKind> {
    let first = &tokens[run.start];
    if statistics.language == Language::English || topic || run.len() > 1 || first.shape != Shape::Capital {
        return Some(PhraseKind::Name);
    }
    let opens = opens(tokens, run.start);
    let may_be_common = opens || statistics.language.capitalises_nouns();
    if may_be_common && statistics.small.contains(first.lower.as_str()) {
        return None;
    }
    let is_weak = (opens && !statistics.capitals.contains(first.lower.as_str())) || counted;
    Some(if is_weak { PhraseKind::NounPhrase } else { PhraseKind::Name })
}

/// True if an article or number precedes a word of a language that capitalizes all nouns.
fn is_counted(tokens: &[Token<'_>], at: usize, language: Language) -> bool {
    const DETERMINERS: [&str; 46] = [
        "der", "die", "das", "dem", "den", "des", "ein", "eine", "einen", "einem", "einer", "eines", "kein",
        "keine", "keinen", "keinem", "keiner", "im", "am", "zum", "zur", "vom", "beim", "ins", "ans",
        "dieser", "diese", "dieses", "diesem", "diesen", "sein", "seine", "seinen", "seinem", "seiner",
        "ihr", "ihre", "ihren", "ihrem", "ihrer", "mehrere", "viele", "einige", "alle", "welche", "welcher",
    ];
    let determines = |at: usize| {
        let token = &tokens[at];
        token.shape == Shape::Digit || DETERMINERS.contains(&token.lower.as_str())
    };
    let follows = |at: usize| at > 0 && tokens[at].gap == " ";
    // `in späteren Jahren`
    let after = |at: usize| {
        ["in", "mit", "von", "bei", "nach", "aus", "auf", "seit"].contains(&tokens[at].lower.as_str())
    };
    let adjective =
        |at: usize| tokens[at].shape == Shape::Lower && !language.is_function_word(&tokens[at].lower);
    language.capitalises_nouns()
        && follows(at)
        && (determines(at - 1)
            || (adjective(at - 1) && follows(at - 1) && (determines(at - 2) || after(at - 2))))
}

fn starts_name(text: &str, sentence: &Sentence<'_>, at: usize, statistics: &TextStatistics<'_>) -> bool {
    let tokens = &sentence.tokens;
    let token = &tokens[at];
    let is_english = statistics.language == Language::English;
    if token.shape == Shape::Digit {
        // `2018 Winter Olympics`, `29th Berlin Festival`; not `a 2018 American film`, nor days before months.
        let counted = at > 0 && matches!(tokens[at - 1].lower.as_str(), "a" | "an" | "in");
        // The year of `27 January 2018` when another line follows.
        let dated = at > 0 && tokens[at - 1].is_capital() && is_month(&tokens[at - 1].lower);
        let next = tokens.get(at + 1).filter(|next| next.is_capital() && next.gap == " ");
        return is_english
            && token.text.len() >= 2
            && !dated
            && !(counted && is_year(token.text))
            && next.is_some_and(|next| !is_month(&next.lower) && !is_opener(&next.lower));
    }
    let next =
        tokens.get(at + 1).filter(|next| next.is_capital() && joins(next.gap) && !next.is_contraction());
    let opener = (statistics.is_opener(&token.lower) && !is_acronym(tokens, at, is_english))
        || (at == 0 && statistics.language.is_verb_of_story(&token.lower));
    // `die Regie von La Strada`, but not `Absatz 2: Der Prüfling`.
    let titled = !is_english && !opens(tokens, at) && next.is_some() && is_connector(&token.lower);
    // `Stellen Sie die Uhr.`
    let is_request = is_polite(token, statistics)
        || opens(tokens, at)
            && tokens.get(at + 1).is_some_and(|next| next.text == "Sie" && is_polite(next, statistics));
    if !token.is_capital()
        || token.is_contraction()
        || is_request
        || (opener && !titled)
        || is_part_of_date(tokens, at, statistics.language)
    {
        return false;
    }
    // `REPRINTED 1923`, `Headquartered in Kelm`, `Girded round its middle`
    let is_participle = !token.known && (token.lower.ends_with("ed") || token.lower.ends_with("ing"))
        || token.tag == UPOS::VERB && token.lower.ends_with("ed");
    let goes_on_small = tokens
        .get(at + 1)
        .is_some_and(|next| matches!(next.shape, Shape::Lower | Shape::Digit) && next.gap == " ");
    if is_english
        && is_participle
        && opens(tokens, at)
        && goes_on_small
        && !statistics.capitals.contains(token.lower.as_str())
    {
        return false;
    }
    if !is_english || token.shape != Shape::Capital || statistics.capitals.contains(token.lower.as_str()) {
        return true;
    }
    // `Provides Velora Pipes` in a table cell is no name, `Lead Programmer` is.
    let head = matches!(token.tag, UPOS::NOUN | UPOS::ADJ | UPOS::PROPN)
        || (at > 0 && token.tag == UPOS::VERB && !token.lower.ends_with('s'));
    let compound = next.is_some_and(|_| head && !is_part_of_date(tokens, at + 1, statistics.language));
    if sentence.heading {
        // `How to Build a Bridge` capitalizes every word; `Notes on velora and Ada Byron` only names.
        let has_small = tokens.iter().any(|token| token.shape == Shape::Lower && token.is_content());
        return has_small && (at > 0 || compound);
    }
    if !opens(tokens, at) {
        return true;
    }
    // The tagger does not know `Hallo` either.
    let exclaimed = text[token.end..].starts_with('!');
    let proper = if token.known { token.tag == UPOS::PROPN } else { !exclaimed };
    (proper && !statistics.small.contains(token.lower.as_str())) || compound
}

/// True if a word is the capitalized pronoun with which German addresses a reader.
fn is_polite(token: &Token<'_>, statistics: &TextStatistics<'_>) -> bool {
    statistics.language == Language::German
        && matches!(token.text, "Sie" | "Ihnen" | "Ihr" | "Ihre" | "Ihren" | "Ihrem" | "Ihrer")
}

/// True if an uppercase function word is an acronym rather than emphasis: `the US`, `WHO guidelines`.
fn is_acronym(tokens: &[Token<'_>], at: usize, is_english: bool) -> bool {
    let token = &tokens[at];
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let next = tokens.get(at + 1);
    let shouted = |token: &Token<'_>| token.shape == Shape::Upper;
    let follows = before
        .is_some_and(|word| token.gap == " " && matches!(word.lower.as_str(), "the" | "in" | "of" | "from"));
    let modifies = next.is_some_and(|next| {
        let noun = matches!(next.tag, UPOS::NOUN | UPOS::PROPN | UPOS::ADJ) && next.is_content();
        next.gap == "-" || (next.gap == " " && noun) || next.gap.ends_with("s ")
    });
    // `AT&T`
    let bound = token.shape == Shape::Upper && next.is_some_and(|next| next.gap == "&");
    bound
        || matches!(token.text, "US" | "WHO" | "IT")
            && !before.is_some_and(shouted)
            && !next.is_some_and(shouted)
            && (!is_english || follows || modifies)
}

/// True if a capitalized word is a month; `Jan Hus` and `April March` are names.
fn is_part_of_date(tokens: &[Token<'_>], at: usize, language: Language) -> bool {
    let token = &tokens[at];
    if token.shape != Shape::Capital || !language.is_month(&token.lower) {
        return false;
    }
    let before = at > 0 && tokens[at - 1].shape == Shape::Digit;
    let next = tokens.get(at + 1).filter(|next| matches!(next.gap, " " | ", " | ". "));
    let after = next.is_some_and(|next| next.shape == Shape::Digit);
    let named = next.is_some_and(|next| next.is_capital() && next.gap == " ");
    before || after || !named
}

/// Returns the number of words at `at` that continue the name before them.
fn name_goes_on(tokens: &[Token<'_>], at: usize, statistics: &TextStatistics<'_>) -> usize {
    let token = &tokens[at];
    let previous = &tokens[at - 1];
    let initial = previous.text.chars().count() == 1 || previous.text.contains('.');
    let joined =
        joins(token.gap) || (token.gap == ". " && (initial || is_name_abbreviation(&previous.lower)));
    if !joined && token.gap != " & " {
        return 0;
    }
    if token.is_capital() {
        let joins = !is_part_of_date(tokens, at, statistics.language)
            && !token.is_contraction()
            && !is_polite(token, statistics);
        return usize::from(joins);
    }
    if token.shape == Shape::Digit {
        let dated = statistics.language != Language::English && is_year(token.text);
        return usize::from(token.text.len() <= 4 && matches!(token.gap, " " | "-") && !dated);
    }
    if token.gap == "-" && !token.known && token.text.chars().count() <= 4 {
        // Second half of a Korean given name, as in `Kim Man-il`.
        return 1;
    }
    if !statistics.joins(tokens, at) || token.gap != " " {
        return 0;
    }
    // Up to two function words between two capitalized words: `Bank of the West`, `Leonardo da Vinci`.
    for small in 1..=2 {
        let Some(next) = tokens.get(at + small).filter(|next| next.gap == " ") else { return 0 };
        let year = next.shape == Shape::Digit && next.text.len() == 4 && token.lower == "of";
        if year || (next.is_capital() && !is_part_of_date(tokens, at + small, statistics.language)) {
            return small + 1;
        }
        if next.lower != "the" && !statistics.joins(tokens, at + small) {
            return 0;
        }
    }
    0
}

/// True if the text between two words may be inside a name. `Yum! Brands` continues with a capital after its mark.
fn joins(gap: &str) -> bool {
    matches!(gap, " " | "! " | "&" | "-" | "–" | " - " | "'" | "’" | "." | "/" | "'s " | "’s ")
}

fn push_name(
    text: &str,
    tokens: &[Token<'_>],
    statistics: &TextStatistics<'_>,
    found: &mut Vec<(Range<usize>, PhraseKind)>,
) {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return };
    if tokens.len() == 1 && first.text.chars().count() == 1 {
        return;
    }
    let begin = without_article(first, statistics);
    found.push((begin..with_stop(text, last), PhraseKind::Name));
    // Names joined by a possessive are also two names: `Germany's Angela Merkel`, but not `Let's Encrypt`.
    let mut start = 0;
    for at in 1..tokens.len() {
        let owner = &tokens[at - 1];
        let owns = tokens[at].gap.len() > 1 && tokens[at].gap.ends_with("s ");
        if owns && !statistics.is_opener(&format!("{}'s", owner.lower)) {
            found.push((tokens[start].start..owner.end, PhraseKind::Name));
            start = at;
        }
    }
    if start > 0 {
        found.push((tokens[start].start..last.end, PhraseKind::Name));
    }
}

/// Returns the start of a name without an elided article: `l'ASN` is `ASN`, `L'Aquila` stays.
fn without_article(token: &Token<'_>, statistics: &TextStatistics<'_>) -> usize {
    let Some((article, name)) = token.text.split_once(['\'', '’']) else { return token.start };
    let is_elided = is_elided_article(&article.to_lowercase()) && name.starts_with(char::is_uppercase);
    let is_small =
        article.starts_with(char::is_lowercase) || statistics.capitals.contains(name.to_lowercase().as_str());
    if is_elided && is_small { token.end - name.len() } else { token.start }
}

/// Returns the end of a word, including the full stop of an abbreviation.
fn with_stop(text: &str, token: &Token<'_>) -> usize {
    let shortened = token.text.contains('.') || is_name_abbreviation(&token.lower);
    if shortened && text[token.end..].starts_with('.') { token.end + 1 } else { token.end }
}
