//! Offices and their names.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::Word;
use crate::lexicon::is_stop_word;

/// An office that a person holds in an organisation or place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Office {
    /// Its canonical name, such as `chief executive officer`.
    pub(super) name: String,
}

/// For each office: its canonical name, whether one person at a time holds it, and the names used in texts.
const OFFICES: &[(&str, bool, &str)] = &[
    (
        "chief executive officer",
        true,
        "chief executive officer|chief executive|ceo|c.e.o.|vorstandsvorsitzender|vorstandsvorsitzenden|vorstandsvorsitzende|\
         vorstandschef|vorstandschefin|konzernchef|konzernchefin|geschäftsführer|geschäftsführerin|hauptgeschäftsführer",
    ),
    ("chief financial officer", true, "chief financial officer|cfo|finanzvorstand|finanzchef|finanzchefin"),
    ("chief operating officer", true, "chief operating officer|coo"),
    ("chief technology officer", true, "chief technology officer|cto"),
    (
        "chairman",
        true,
        "chairman of the board of directors|chairwoman of the board of directors|chair of the board of directors|\
         chairman of the board|chairwoman of the board|chair of the board|executive chairman|non-executive chairman|chairman|\
         chairwoman|chairperson|chair|aufsichtsratsvorsitzender|aufsichtsratsvorsitzenden|aufsichtsratschef",
    ),
    ("vice president", false, "vice president|vice-president|vizepräsident|vizepräsidentin"),
    ("president", true, "president|präsident|präsidenten|präsidentin|bundespräsident|staatspräsident"),
    (
        "prime minister",
        true,
        "prime minister|premier|premierminister|premierministerin|ministerpräsident|ministerpräsidentin",
    ),
    ("chancellor", true, "chancellor|bundeskanzler|bundeskanzlerin|kanzler|kanzlerin"),
    ("finance minister", true, "finance minister|minister of finance|finanzminister|finanzministerin"),
    ("foreign minister", true, "foreign minister|minister of foreign affairs|außenminister|außenministerin"),
    (
        "defence minister",
        true,
        "defence minister|defense minister|minister of defence|minister of defense|verteidigungsminister",
    ),
    ("interior minister", true, "interior minister|minister of the interior|innenminister|innenministerin"),
    ("secretary of state", true, "secretary of state"),
    ("king", true, "king|könig"),
    ("queen", true, "queen|königin"),
    ("emperor", true, "emperor|kaiser"),
    ("pope", true, "pope|papst"),
    ("mayor", true, "mayor|lord mayor|bürgermeister|bürgermeisterin|oberbürgermeister|oberbürgermeisterin"),
    ("governor", true, "governor|gouverneur|gouverneurin"),
    ("managing director", true, "managing director"),
    (
        "director general",
        true,
        "director general|director-general|generaldirektor|generaldirektorin|intendant|intendantin",
    ),
    (
        "secretary general",
        true,
        "secretary general|secretary-general|general secretary|generalsekretär|generalsekretärin",
    ),
    ("general manager", true, "general manager"),
    ("executive director", true, "executive director"),
    ("artistic director", true, "artistic director"),
    ("head coach", true, "head coach|cheftrainer|cheftrainerin"),
    ("editor-in-chief", true, "editor-in-chief|editor in chief|chief editor|chefredakteur|chefredakteurin"),
    ("archbishop", true, "archbishop|erzbischof"),
    ("bishop", true, "bishop|bischof|bischöfin"),
    ("rector", true, "rector|rektor|rektorin"),
    ("dean", true, "dean|dekan|dekanin"),
    ("headmaster", true, "headmaster|headmistress|head teacher|schulleiter|schulleiterin"),
    ("speaker", true, "speaker"),
    ("abbot", true, "abbot|abt"),
    ("curator", false, "curator|kurator|kuratorin"),
    ("director", false, "director|direktor|direktorin"),
    ("professor", false, "professor|professorin"),
    ("member", false, "board member|member of the board|vorstandsmitglied|aufsichtsratsmitglied"),
    ("head", true, "head|leader|leiter|leiterin|chef|chefin|boss"),
];

/// A name of an office: its canonical name and its words.
type Variant = (&'static str, Vec<&'static str>);

/// Names of offices by their first word.
static BY_WORD: LazyLock<HashMap<&'static str, Vec<Variant>>> = LazyLock::new(|| {
    let mut by_word: HashMap<&'static str, Vec<Variant>> = HashMap::new();
    for (name, _, variants) in OFFICES {
        for variant in variants.split('|') {
            let words: Vec<&str> = variant.split(' ').collect();
            by_word.entry(words[0]).or_default().push((*name, words));
        }
    }
    by_word
});

/// Canonical office of those who lead or run something without a stated title.
pub const HEAD: &str = "head";
/// Words before an office that change neither its name nor its holder.
const QUALIFIERS: [&str; 24] = [
    "former",
    "erstwhile",
    "ehemaliger",
    "ehemalige",
    "ehemaligen",
    "früherer",
    "then",
    "new",
    "first",
    "next",
    "current",
    "group",
    "global",
    "longtime",
    "long-time",
    "incumbent",
    "permanent",
    "interim",
    "acting",
    "outgoing",
    "full-time",
    "neuen",
    "neuer",
    "neue",
];
/// One-word offices that, if capitalized, are also personal names or part of one.
const ALSO_NAMES: [&str; 17] = [
    "dean",
    "king",
    "queen",
    "pope",
    "bishop",
    "abbot",
    "speaker",
    "chair",
    "president",
    "governor",
    "mayor",
    "director",
    "rector",
    "chancellor",
    "professor",
    "premier",
    "boss",
];
/// One-word offices that are also family names: they are names after another capitalized word.
const ALSO_FAMILY_NAMES: [&str; 6] = ["könig", "kaiser", "papst", "bischof", "abt", "dekan"];
/// Words before an office that several people may hold at once.
const SHARED: [&str; 10] = [
    "deputy",
    "vice",
    "assistant",
    "associate",
    "joint",
    "stellvertretender",
    "stellvertretende",
    "stellvertretenden",
    "junior",
    "honorary",
];

/// Returns the office at `at`, with the words before its name, and the word after it.
pub(super) fn office_at(words: &[Word<'_>], at: usize) -> Option<(Office, usize)> {
    let lower = |i: usize| words.get(i).map_or("", |word| word.lower.as_str());
    let (mut next, mut shared) = (at, None);
    loop {
        match lower(next) {
            // In `Orange Group CEO`, the qualifier is part of a name.
            word if QUALIFIERS.contains(&word) && (next == 0 || !words[next].is_name_like()) => next += 1,
            word if SHARED.contains(&word) => {
                shared = Some(word);
                next += 1;
            }
            _ => break,
        }
    }
    let first = lower(next);
    let (first, together) = match first.strip_prefix("co-") {
        Some(rest) if !rest.is_empty() => (rest, true),
        _ => (first, false),
    };
    let mut best: Option<(&str, usize)> = None;
    let is_whole = first.trim_end_matches('.') == first || first == "c.e.o.";
    for (name, parts) in BY_WORD.get(first).into_iter().flatten().filter(|_| is_whole) {
        let rest = parts.iter().enumerate().skip(1).all(|(i, part)| lower(next + i) == *part);
        if rest && best.is_none_or(|(_, known)| parts.len() > known) {
            best = Some((name, parts.len()));
        }
    }
    let (name, length) = best?;
    // `Dean Finch` and `Tim King` are people.
    let word = words.get(next).map_or("", |word| word.text);
    let capital = word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase);
    let stands_alone = !matches!(lower(next + length), "of" | "at" | "for" | "and" | "&");
    if length == 1 && capital && stands_alone && ALSO_NAMES.contains(&first) {
        return None;
    }
    let behind_name = next
        .checked_sub(1)
        .and_then(|before| words.get(before))
        .is_some_and(|before| before.text.starts_with(char::is_uppercase) && !is_stop_word(&before.lower));
    let is_titled = matches!(lower(next + length), "von" | "der" | "des");
    if capital && behind_name && stands_alone && !is_titled && ALSO_FAMILY_NAMES.contains(&first) {
        return None;
    }
    // `head` and similar words are offices only next to what is headed.
    let follows = lower(next + length);
    if name == HEAD && !matches!(follows, "of" | "von" | "der" | "des" | "bei") {
        return None;
    }
    let name = match (shared, together) {
        (Some(word), _) => format!("{word} {name}"),
        (None, true) => format!("co-{name}"),
        (None, false) => name.to_owned(),
    };
    Some((Office { name }, next + length))
}

/// Returns the canonical name of the office that `kind` names; `None` if it is not an office.
pub fn office_named(kind: &str) -> Option<String> {
    let lower = kind.to_lowercase();
    let words: Vec<Word<'_>> = lower
        .split_whitespace()
        .map(|word| Word { range: 0..0, text: word, lower: word.to_owned() })
        .collect();
    office_at(&words, 0).filter(|(_, next)| *next == words.len()).map(|(office, _)| office.name)
}

/// True if only one person at a time holds the office with this canonical name, so that a successor ends it.
pub fn has_one_holder(office: &str) -> bool {
    OFFICES.iter().any(|(name, one, _)| *one && *name == office)
}
