//! Guesses the type of an entity from its words and the text around it.

use std::ops::Range;

use super::languages::Language;
use super::phrase::{Phrase, PhraseKind};

/// Bytes before and after a phrase that are searched for cues.
const CUE_BYTES: usize = 60;
/// Maximum number of occurrences of a phrase that are searched for cues.
const MAX_PLACES: usize = 4;

/// Returns the type of `phrase`, one of the engine's default entity types; `Other` if there is no evidence.
pub(super) fn entity_type(text: &str, phrase: &Phrase, language: Language) -> &'static str {
    match phrase.kind {
        PhraseKind::Date | PhraseKind::Quantity => return "Data",
        PhraseKind::NounPhrase => return noun_type(&phrase.text),
        PhraseKind::Heading | PhraseKind::Name | PhraseKind::Quoted => {}
    }
    let words: Vec<String> = phrase.text.split([' ', '-']).map(str::to_lowercase).collect();
    by_words(&words)
        .or_else(|| by_surroundings(text, phrase, language))
        .or(match phrase.kind {
            PhraseKind::Quoted => Some("Content"),
            _ => None,
        })
        .unwrap_or("Other")
}

fn by_words(words: &[String]) -> Option<&'static str> {
    let first = words.first()?.as_str();
    let last = words.last()?.trim_end_matches('.');
    let first = first.trim_end_matches('.');
    if words.len() > 1 && PERSON_TITLES.contains(&first) {
        return Some("Person");
    }
    if words.len() > 1 && matches!(last, "jr" | "sr") {
        return Some("Person");
    }
    // The head of `University of Oslo` and `Battle of Hastings` is the word before `of`.
    let head = words
        .iter()
        .position(|word| matches!(word.as_str(), "of" | "for"))
        .and_then(|at| words.get(at.checked_sub(1)?));
    for word in head.map(String::as_str).into_iter().chain([last]) {
        for (kind, heads) in HEADS {
            if heads.contains(&word) {
                return Some(kind);
            }
        }
    }
    if words.len() > 1 && matches!(first, "lake" | "mount" | "cape" | "fort" | "port" | "saint") {
        return Some("Location");
    }
    let place = words.len() == 1 && last.len() > 5 && (last.ends_with("land") || last.ends_with("stan"));
    place.then_some("Location")
}

/// Returns the type suggested by the text around the first occurrences of the phrase.
fn by_surroundings(text: &str, phrase: &Phrase, language: Language) -> Option<&'static str> {
    let written = &text[phrase.range.clone()];
    let places = text[phrase.range.start..].match_indices(written).take(MAX_PLACES);
    let may_be_place = language == Language::English && phrase.kind == PhraseKind::Name;
    places.map(|(at, _)| phrase.range.start + at).find_map(|at| {
        let is_place = || may_be_place && is_located(&text[..at]);
        by_place(text, at..at + written.len()).or_else(|| is_place().then_some("Location"))
    })
}

/// True if a text ends with words that locate what follows: `was born in`. `In` alone also precedes products and languages.
fn is_located(before: &str) -> bool {
    const LOCATED: &str = "born died lived lives live living located situated based settled arrived raised buried stationed stayed \
        resides headquartered";
    const MOVED: &str = "moved emigrated travelled traveled sailed migrated fled";
    const REGIONS: &str = "city town village capital streets north south east west coast outskirts suburb";
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(CUE_BYTES))..];
    let lower = before.to_lowercase();
    let mut words = lower.split_whitespace().rev();
    let (preposition, cue) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let cues = match preposition {
        "in" | "at" | "near" => LOCATED,
        "to" => MOVED,
        "of" => REGIONS,
        _ => return false,
    };
    cues.split_whitespace().any(|word| word == cue)
}

fn by_place(text: &str, range: Range<usize>) -> Option<&'static str> {
    let from = text.floor_char_boundary(range.start.saturating_sub(CUE_BYTES));
    let to = text.ceil_char_boundary((range.end + CUE_BYTES).min(text.len()));
    let before = text[from..range.start].trim_end().to_lowercase();
    let after = text[range.end..to].to_lowercase();
    let next = after.trim_start();
    let previous = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let starts = |cues: &[&str]| cues.iter().any(|cue| next.starts_with(cue));
    if starts(&[
        "(born", "( born", "was born", "is born", ", who", "who ", "himself", "herself", "said", "wrote ",
        "married", "died",
    ]) || PERSON_ROLES.contains(&previous)
        || contains_word(&before_copula(next), PERSON_ROLES)
    {
        return Some("Person");
    }
    let predicate = before_copula(next);
    for (kind, heads) in HEADS {
        if contains_word(&predicate, heads) {
            return Some(kind);
        }
    }
    None
}

/// Returns the predicate after a copula: `is an old city` gives `an old city`; empty if there is no copula.
fn before_copula(after: &str) -> String {
    let mut rest = after;
    if rest.starts_with('(') {
        rest = rest.split_once(')').map_or("", |(_, rest)| rest).trim_start();
    }
    let is = ["is ", "was ", "are ", "were "].iter().find_map(|verb| rest.strip_prefix(verb));
    is.map(|rest| rest.split(['.', ',', ';']).next().unwrap_or_default().to_owned()).unwrap_or_default()
}

fn contains_word(text: &str, words: &[&str]) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
}

fn noun_type(name: &str) -> &'static str {
    let lower = name.to_lowercase();
    let head = lower.rsplit([' ', '-']).next().unwrap_or_default();
    match head {
        "method" | "algorithm" | "technique" | "procedure" | "process" | "approach" | "system" => "Method",
        "percent" | "number" | "rate" | "amount" | "population" | "score" => "Data",
        _ => "Concept",
    }
}

const PERSON_TITLES: &[&str] = &[
    "mr",
    "mrs",
    "ms",
    "miss",
    "dr",
    "prof",
    "professor",
    "sir",
    "lady",
    "lord",
    "king",
    "queen",
    "prince",
    "princess",
    "president",
    "pope",
    "saint",
    "emperor",
    "empress",
    "captain",
    "general",
    "colonel",
    "senator",
    "governor",
    "judge",
    "duke",
    "duchess",
    "count",
    "countess",
    "baron",
];

const PERSON_ROLES: &[&str] = &[
    "actor",
    "actress",
    "singer",
    "songwriter",
    "author",
    "writer",
    "poet",
    "novelist",
    "director",
    "producer",
    "player",
    "footballer",
    "politician",
    "president",
    "minister",
    "scientist",
    "physicist",
    "chemist",
    "mathematician",
    "engineer",
    "architect",
    "painter",
    "artist",
    "composer",
    "musician",
    "king",
    "queen",
    "emperor",
    "bishop",
    "lawyer",
    "judge",
    "journalist",
    "philosopher",
    "historian",
    "founder",
    "leader",
    "captain",
    "coach",
    "manager",
    "son",
    "daughter",
    "brother",
    "sister",
    "wife",
    "husband",
    "father",
    "mother",
    "professor",
    "designer",
    "drummer",
    "guitarist",
    "comedian",
    "screenwriter",
    "filmmaker",
    "businessman",
    "businesswoman",
    "general",
    "officer",
    "wrestler",
    "boxer",
    "swimmer",
    "cricketer",
    "psychologist",
    "economist",
    "biologist",
    "explorer",
];

/// Head words of names and of predicates, by entity type.
const HEADS: [(&str, &[&str]); 8] = [
    (
        "Organization",
        &[
            "university",
            "college",
            "school",
            "institute",
            "academy",
            "company",
            "inc",
            "corp",
            "corporation",
            "ltd",
            "llc",
            "gmbh",
            "plc",
            "group",
            "party",
            "club",
            "association",
            "society",
            "union",
            "federation",
            "league",
            "committee",
            "commission",
            "council",
            "agency",
            "ministry",
            "department",
            "bank",
            "foundation",
            "church",
            "orchestra",
            "army",
            "navy",
            "government",
            "parliament",
            "senate",
            "congress",
            "court",
            "team",
            "band",
            "records",
            "studios",
            "airlines",
            "network",
            "brothers",
            "organization",
            "organisation",
            "museum",
            "press",
        ],
    ),
    (
        "Location",
        &[
            "river",
            "lake",
            "mountain",
            "mountains",
            "sea",
            "ocean",
            "island",
            "islands",
            "city",
            "town",
            "village",
            "county",
            "district",
            "province",
            "state",
            "states",
            "country",
            "kingdom",
            "republic",
            "street",
            "road",
            "avenue",
            "highway",
            "route",
            "valley",
            "bay",
            "peninsula",
            "desert",
            "forest",
            "park",
            "airport",
            "station",
            "bridge",
            "castle",
            "palace",
            "tower",
            "building",
            "hospital",
            "theatre",
            "theater",
            "stadium",
            "square",
            "municipality",
            "region",
            "territory",
            "township",
            "capital",
            "municipalities",
            "borough",
            "suburb",
            "canyon",
            "beach",
            "coast",
            "creek",
            "falls",
            "harbour",
            "harbor",
            "courthouse",
            "cemetery",
        ],
    ),
    (
        "Event",
        &[
            "war",
            "battle",
            "olympics",
            "games",
            "festival",
            "cup",
            "championship",
            "championships",
            "tournament",
            "revolution",
            "election",
            "elections",
            "ceremony",
            "conference",
            "congress",
            "awards",
            "siege",
            "treaty",
            "crisis",
            "earthquake",
            "season",
            "expedition",
            "race",
            "exhibition",
            "summit",
            "massacre",
            "uprising",
        ],
    ),
    (
        "Content",
        &[
            "film",
            "movie",
            "album",
            "song",
            "single",
            "novel",
            "book",
            "series",
            "episode",
            "journal",
            "magazine",
            "newspaper",
            "poem",
            "play",
            "opera",
            "symphony",
            "soundtrack",
            "act",
            "report",
            "article",
            "manual",
            "sitcom",
            "documentary",
            "constitution",
            "code",
            "law",
            "game",
            "show",
            "anthem",
            "dictionary",
        ],
    ),
    (
        "Method",
        &[
            "method",
            "algorithm",
            "technique",
            "therapy",
            "procedure",
            "protocol",
            "process",
            "language",
            "framework",
        ],
    ),
    ("Creature", &["species", "genus", "dog", "horse", "bird", "fish", "breed", "dragon", "dinosaur"]),
    (
        "Artifact",
        &[
            "engine",
            "aircraft",
            "ship",
            "car",
            "software",
            "device",
            "missile",
            "locomotive",
            "telescope",
            "rifle",
            "camera",
        ],
    ),
    (
        "NaturalObject",
        &["mineral", "planet", "star", "asteroid", "comet", "element", "plant", "tree", "flower", "volcano"],
    ),
];

#[cfg(test)]
mod tests {
    use super::super::extract::extract;

    #[track_caller]
    fn check_type(text: &str, name: &str, expected: &str) {
        let entities = extract(text).entities;
        let found = entities.iter().find(|entity| entity.name == name).map(|entity| entity.kind.as_str());
        assert_eq!(found, Some(expected), "{text}: {entities:?}");
    }

    #[test]
    fn a_preposition_makes_a_place_only_of_a_name_where_someone_or_something_is() {
        check_type("Ada Voss was born in Kelm.", "Kelm", "Location");
        check_type("Ada Voss moved to Kelm.", "Kelm", "Location");
        check_type("Ada Voss wrote it in Velora with Bo Lind.", "Velora", "Other");
        check_type("Ada Voss heard it from Bo Lind.", "Bo Lind", "Other");
        check_type(
            "Die Regeln von Ada Voss treten in Kraft, wenn der Rat sie in Kelm liest.",
            "Kraft",
            "Other",
        );
    }
}
