//! Guesses the type of an entity from its words and the text around it.

use std::ops::Range;

use super::languages::Language;
use super::phrase::{Phrase, PhraseKind};

/// Bytes before and after a phrase that are searched for cues.
const CUE_BYTES: usize = 60;
/// Bytes after a name that are searched for its definition.
const DEFINITION_BYTES: usize = 200;
/// Articles before what defines a name.
const ARTICLES: [&str; 3] = ["a ", "an ", "the "];
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
    let places: Vec<Range<usize>> = places(text, phrase);
    let by = |kind: &dyn Fn(Range<usize>) -> Option<&'static str>| places.iter().cloned().find_map(kind);
    let may_be_place = language == Language::English && phrase.kind == PhraseKind::Name;
    let is_place = |place: Range<usize>| may_be_place && is_located(&text[..place.start]);
    by(&|place| by_definition(text, place))
        .or_else(|| by_words(&words))
        .or_else(|| by(&|place| by_cue(text, place)))
        .or_else(|| by(&|place| is_place(place).then_some("Location")))
        .or(match phrase.kind {
            PhraseKind::Quoted => Some("Content"),
            _ => None,
        })
        .unwrap_or("Other")
}

/// Returns the first occurrences of a phrase.
fn places(text: &str, phrase: &Phrase) -> Vec<Range<usize>> {
    let written = &text[phrase.range.clone()];
    let from = phrase.range.start;
    let found = text[from..].match_indices(written).take(MAX_PLACES);
    found.map(|(at, _)| from + at..from + at + written.len()).collect()
}

fn by_words(words: &[String]) -> Option<&'static str> {
    let first = words.first()?.as_str();
    let last = words.last()?.trim_end_matches('.');
    let first = first.trim_end_matches('.');
    if words.len() > 1 && is_person_title(first) {
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

/// True if a text ends with words that locate what follows: `was born in`, `moved from Paris to`. `In` alone also precedes products
/// and languages.
fn is_located(before: &str) -> bool {
    const LOCATED: &str = "born died lived lives live living located situated based settled arrived raised buried stationed stayed \
        resides resided headquartered stands stood lies sits";
    const MOVED: &str = "move moves moved moving emigrated immigrated travelled traveled travels sailed migrated fled relocated returned";
    const REGIONS: &str = "city town village capital streets north south east west coast outskirts suburb";
    const MAX_WORDS_BETWEEN: usize = 5;
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(CUE_BYTES))..];
    let clause = before.rsplit(['.', ',', ';', ':', '\n']).next().unwrap_or_default().to_lowercase();
    let mut words = clause.split_whitespace().rev();
    let preposition = words.next().unwrap_or_default();
    let is_one_of = |cues: &str, word: &str| cues.split_whitespace().any(|cue| cue == word);
    let mut next_is = |cues: &str| words.next().is_some_and(|word| is_one_of(cues, word));
    match preposition {
        "in" | "at" | "near" => next_is(LOCATED),
        "of" => next_is(REGIONS),
        "from" => next_is(MOVED),
        // `moved from Paris to`
        "to" => words.take(MAX_WORDS_BETWEEN).any(|word| is_one_of(MOVED, word)),
        _ => false,
    }
}

/// Returns the type of what the text defines: `is an old city in Poland`, `, a singer,`.
fn by_definition(text: &str, place: Range<usize>) -> Option<&'static str> {
    // `The mother of Ada is a singer.`
    const INNER: [&str; 12] =
        ["of", "in", "by", "from", "with", "for", "at", "on", "to", "near", "and", "than"];
    let before =
        text[text.floor_char_boundary(place.start.saturating_sub(CUE_BYTES))..place.start].trim_end();
    let previous = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let rest = &text[place.end..text.ceil_char_boundary((place.end + DEFINITION_BYTES).min(text.len()))];
    let rest = rest.split("\n\n").next().unwrap_or_default().to_lowercase();
    let apposition = || ARTICLES.iter().find_map(|article| rest.strip_prefix(", ")?.strip_prefix(article));
    let is_subject = !INNER.contains(&previous) || before.ends_with(['.', '!', '?']);
    let defined = predicate(&rest).filter(|_| is_subject).or_else(apposition)?;
    kind_of_head(defined)
}

/// Returns what follows the copula behind a name: `an old city` of ` (Latin: Velora), also Velor, was an old city`.
fn predicate(behind: &str) -> Option<&str> {
    const MAX_INSERTION_BYTES: usize = 60;
    let mut rest = behind.trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')')?.1.trim_start();
    }
    if let Some((_, after)) = rest
        .strip_prefix(", ")
        .and_then(|inner| inner.split_once(", "))
        .filter(|(inserted, _)| inserted.len() <= MAX_INSERTION_BYTES && !inserted.contains(['.', ';']))
    {
        rest = after;
    }
    let rest = ["is ", "was ", "are ", "were "].iter().find_map(|copula| rest.strip_prefix(copula))?;
    Some(ARTICLES.iter().find_map(|article| rest.strip_prefix(article)).unwrap_or(rest))
}

/// Returns the type that the head noun of a phrase gives: `soap opera` in `soap opera on the network NBC`.
fn kind_of_head(phrase: &str) -> Option<&'static str> {
    // Words that end a noun phrase, besides participles.
    const ENDS: &str = "of in on at for from by to with who whom that which where whose when and or but as near between within under \
        during about against into is was are were has had not known best north south east west located situated";
    let is_end = |word: &str| ENDS.split_whitespace().any(|end| end == word);
    let is_participle = |word: &str| word.ends_with("ed") || word.ends_with("ing");
    let phrase = phrase.strip_prefix("one of the ").unwrap_or(phrase);
    let clause = phrase.split(['.', ',', ';', ':', '(', '"', '“']).next().unwrap_or_default();
    let mut head = None;
    for word in clause.split(|c: char| !(c.is_alphanumeric() || c == '\'')) {
        // `a 1990 film starring`, but not `an animated film`.
        let ends = is_end(word) || (is_participle(word) && head.is_some_and(|head| kind_of(head).is_some()));
        if ends {
            break;
        }
        head = Some(word).filter(|word| !word.is_empty()).or(head);
    }
    kind_of(head?)
}

/// Returns the type of what a noun names.
fn kind_of(noun: &str) -> Option<&'static str> {
    let of_heads = |noun: &str| HEADS.iter().find(|(_, heads)| heads.contains(&noun)).map(|(kind, _)| *kind);
    let is_person = |noun: &str| PERSON_ROLES.contains(&noun) || noun.ends_with("ologist");
    let kind = |noun: &str| if is_person(noun) { Some("Person") } else { of_heads(noun) };
    let singular = || match noun.strip_suffix("ies") {
        Some(stem) => kind(&format!("{stem}y")),
        None => kind(noun.strip_suffix('s')?),
    };
    kind(noun).or_else(singular)
}

/// Returns the type of a name by the words beside it that tell a person.
fn by_cue(text: &str, range: Range<usize>) -> Option<&'static str> {
    let from = text.floor_char_boundary(range.start.saturating_sub(CUE_BYTES));
    let to = text.ceil_char_boundary((range.end + CUE_BYTES).min(text.len()));
    let before = text[from..range.start].trim_end().to_lowercase();
    let after = text[range.end..to].to_lowercase();
    let next = after.trim_start();
    let previous = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let starts = |cues: &[&str]| cues.iter().any(|cue| next.starts_with(cue));
    let is_person = starts(&[
        "(born", "( born", "was born", "is born", ", who", "who ", "himself", "herself", "said", "wrote ",
        "married", "died",
    ]) || PERSON_ROLES.contains(&previous);
    is_person.then_some("Person")
}

/// True if a lowercase word is a title before the name of a person.
pub(super) fn is_person_title(word: &str) -> bool {
    PERSON_TITLES.contains(&word)
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
    "ruler",
    "mayor",
    "chief",
    "knight",
    "nobleman",
    "teacher",
    "doctor",
    "soldier",
    "pilot",
    "dancer",
    "model",
    "activist",
    "pianist",
    "linguist",
    "clerk",
    "character",
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
            "borough",
            "community",
            "commune",
            "place",
            "hamlet",
            "neighbourhood",
            "neighborhood",
            "locality",
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
    fn the_head_noun_of_what_defines_a_name_gives_its_type() {
        for (text, name, expected) in [
            ("Umar Shaikh Mirza was the ruler of the Fergana Valley.", "Umar Shaikh Mirza", "Person"),
            (
                "Brandon Walker is a fictional character on the NBC soap opera Passions.",
                "Brandon Walker",
                "Person",
            ),
            ("Velora (born 1990) is an American film director.", "Velora", "Person"),
            ("Velora is a 1990 animated film directed by Bo Lind.", "Velora", "Content"),
            ("Velora, officially the City of Velora, is a town of singers.", "Velora", "Location"),
            ("They met in Velora, a village near the sea.", "Velora", "Location"),
            ("Halden River is a rock band.", "Halden River", "Organization"),
            ("The mother of Velora is a singer.", "Velora", "Other"),
            ("Velora is not a city.", "Velora", "Other"),
        ] {
            check_type(text, name, expected);
        }
    }

    #[test]
    fn a_verb_of_moving_or_standing_makes_places_of_the_names_behind_its_prepositions() {
        let text = "The house stands in Texas. She moved from Paris to Berlin.";
        ["Texas", "Paris", "Berlin"].into_iter().for_each(|name| check_type(text, name, "Location"));
        check_type("Ada Voss moved to the right, and wrote to Bo Lind.", "Bo Lind", "Other");
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
