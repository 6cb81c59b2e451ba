//! Makes entity and relation records from a text by rules.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use graphloom_core::{EntityRecord, Records, RelationRecord};
use harper_brill::UPOS;
use unicode_segmentation::UnicodeSegmentation;

use super::claims::claims;
use super::han;
use super::kind::entity_type;
use super::languages::Language;
use super::lexicon::{is_generic, is_opener, is_plain_heading, is_unnamed};
use super::phrase::{Phrase, PhraseKind, phrases};
use super::scripts::{has_no_spaces, is_ideograph};
use super::text_statistics::Sentence;
use super::token::Token;
use graphloom_text::{
    Tokenizer, entity_key, front_matter, is_list_item, one_line, sentences, without_boilerplate,
};

/// Version of these rules, stored with their records. It must change when the rules change.
pub const RULES: &str = "rules-v11";
/// Maximum number of sentences in an entity's description.
pub const MAX_DESCRIPTION_SENTENCES: usize = 4;
/// Maximum number of relations from one sentence; those between names come first.
pub const MAX_RELATIONS_PER_SENTENCE: usize = 8;

/// Maximum length of a description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 1200;
/// Maximum number of entities in a very short text.
const MIN_ENTITIES: usize = 12;
/// Tokens of text that allow one more entity.
const TOKENS_PER_ENTITY: usize = 9;
/// Maximum number of words between two names that count as their connection.
const MAX_CONNECTING_WORDS: usize = 6;
/// Length in tokens from which a common noun must occur twice to be an entity.
const MIN_LONG_TOKENS: usize = 200;
/// Maximum number of keywords of a relation.
const MAX_KEYWORDS: usize = 4;
/// Maximum number of common nouns related to the subject of a sentence without another name or date.
const MAX_COMMON_OBJECTS: usize = 2;

/// Returns the records of `text`: its best phrases as entities, and what sentences say about their subjects as relations.
///
/// - Copyright and licence paragraphs are ignored, and so are front matter and lines around an article, such as its byline.
/// - Entities are in order of rank. Their number is limited by the length of the text.
/// - The description of an entity is the first four sentences that name it, verbatim. That of a relation is its sentence.
/// - The keywords of a relation are the verbs and nouns between the two names if few words are between them, and otherwise the
///   content words of the sentence. The weight is 1. A pair is related once per text, by its first sentence.
/// - The subject of a sentence is its first name. Within a paragraph, a sentence that begins with a pronoun keeps the subject of
///   the previous sentence. In languages that drop subjects, so does a sentence that begins with the verb of a life story.
pub fn extract(text: &str) -> Records {
    let plain = without_boilerplate(text);
    let text = &*without_properties(&plain);
    let tokens = Tokenizer.count(text) as usize;
    let language = Language::of(text);
    let mut kept = phrases(text);
    let words = counts(text, tokens, language);
    kept.retain(|phrase| is_entity(text, &words, phrase, language));
    kept.truncate(MIN_ENTITIES + tokens / TOKENS_PER_ENTITY);
    let sentences: Vec<Range<usize>> = sentences(text);
    let folded: Vec<String> = sentences.iter().map(|range| fold(&one_line(&text[range.clone()]))).collect();
    let cased: Vec<String> =
        sentences.iter().map(|range| spaced(&one_line(&text[range.clone()]), |c| c)).collect();
    let names: Vec<String> = kept.iter().map(|phrase| fold(&phrase.text)).collect();
    let mentions: Vec<Vec<Mention>> =
        folded.iter().zip(&cased).map(|(folded, cased)| mentions(folded, cased, &names, &kept)).collect();
    let relations = relations(text, language, &sentences, &mentions, &kept);
    let related: BTreeSet<&str> =
        relations.iter().flat_map(|relation| [relation.source.as_str(), relation.target.as_str()]).collect();
    let entities = kept
        .iter()
        .enumerate()
        .filter(|(_, phrase)| phrase.kind <= PhraseKind::Quoted || related.contains(phrase.text.as_str()))
        .map(|(i, phrase)| EntityRecord {
            name: phrase.text.clone(),
            kind: entity_type(text, phrase, language).to_owned(),
            description: description(text, &sentences, &mentions, i, phrase),
        })
        .collect();
    Records { entities, relations, claims: claims(text), themes: Vec::new() }
}

/// Removes the front matter. A title stays if the text does not contain it.
fn without_properties(text: &str) -> Cow<'_, str> {
    let (properties, body) = text.split_at(front_matter(text));
    let title =
        properties.lines().find_map(|line| line.strip_prefix("title:").or(line.strip_prefix("Title:")));
    let title = title.map(|title| title.trim().trim_matches(['"', '\'']));
    match title.filter(|title| !body.contains(title)) {
        Some(title) => format!("{title}\n\n{}", body.trim_start()).into(),
        None => body.into(),
    }
}

/// True if someone would look up this phrase. Excludes common nouns such as `time` and, in a long text, nouns that occur once.
/// Chinese is split without a dictionary: a phrase must occur twice and not only as part of a longer word.
fn is_entity(text: &str, words: &BTreeMap<String, u32>, phrase: &Phrase, language: Language) -> bool {
    let lower = phrase.text.to_lowercase();
    if han::is_generic(&phrase.text) {
        return false;
    }
    match phrase.kind {
        PhraseKind::Heading => {
            !is_unnamed(&lower) && !is_plain_heading(&lower) && !han::begins_bound(&phrase.text)
        }
        // Chinese words in the text of another language are cut by the same rules.
        PhraseKind::NounPhrase if language == Language::Chinese || is_han(&phrase.text, language) => {
            han::is_word(text, &phrase.text)
        }
        PhraseKind::NounPhrase => {
            let once = words.get(&lower).is_some_and(|&count| count == 1);
            !(once || lower.split(' ').all(is_unnamed))
        }
        PhraseKind::Name => !is_plain_heading(&lower),
        PhraseKind::Quoted | PhraseKind::Date | PhraseKind::Quantity => true,
    }
}

/// True if a phrase is Chinese; Japanese is cut by its own rules.
fn is_han(phrase: &str, language: Language) -> bool {
    language != Language::Japanese && phrase.starts_with(is_ideograph)
}

/// Counts each lowercased word of a long English text; empty for other texts.
fn counts(text: &str, tokens: usize, language: Language) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    if tokens >= MIN_LONG_TOKENS && language == Language::English {
        for word in text.unicode_words() {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    counts
}

/// An entity named in a sentence.
struct Mention {
    entity: usize,
    /// Range in the folded sentence.
    range: Range<usize>,
}

/// Converts to lowercase, except letters whose lowercase has another length, and normalizes like [`spaced`].
fn fold(text: &str) -> String {
    spaced(text, |c| {
        let mut letters = c.to_lowercase();
        letters
            .next()
            .filter(|small| small.len_utf8() == c.len_utf8() && letters.next().is_none())
            .unwrap_or(c)
    })
}

/// Uses single spaces, also at both ends, and one kind of apostrophe.
fn spaced(text: &str, letter: impl Fn(char) -> char) -> String {
    let mut spaced = String::with_capacity(text.len() + 2);
    spaced.push(' ');
    for word in text.split_whitespace() {
        spaced.extend(word.chars().map(|c| if c == '’' { '\'' } else { letter(c) }));
        spaced.push(' ');
    }
    spaced
}

/// Returns the names in a sentence, each at its first whole-word match, in text order. Names that are also function words, such
/// as `US`, match only with the same case.
fn mentions(folded: &str, cased: &str, names: &[String], kept: &[Phrase]) -> Vec<Mention> {
    let mut found: Vec<Mention> = names
        .iter()
        .enumerate()
        .filter_map(|(entity, name)| {
            let name = name.trim();
            let at =
                if is_opener(name) { find_word(cased, &kept[entity].text) } else { find_word(folded, name) }?;
            Some(Mention { entity, range: at..at + name.len() })
        })
        .collect();
    found.sort_by_key(|mention| (mention.range.start, std::cmp::Reverse(mention.range.end)));
    found
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    let joins = |c: Option<char>, edge: Option<char>| {
        c.zip(edge).is_some_and(|(c, edge)| {
            let spaced = |c: char| !has_no_spaces(c.encode_utf8(&mut [0; 4]));
            c.is_alphanumeric() && edge.is_alphanumeric() && spaced(c) && spaced(edge)
        })
    };
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !joins(before, word.chars().next()) && !joins(after, word.chars().next_back())
    })
}

fn description(
    text: &str,
    sentences: &[Range<usize>],
    mentions: &[Vec<Mention>],
    entity: usize,
    phrase: &Phrase,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut length = 0;
    // Sentences that contain more than the name itself.
    let telling = sentences.iter().zip(mentions).filter(|(range, named)| {
        named.iter().any(|mention| mention.entity == entity) && range.len() > phrase.range.len() + 4
    });
    for (range, _) in telling {
        let sentence = without_marks(&text[range.clone()]);
        if parts.len() == MAX_DESCRIPTION_SENTENCES
            || (length > 0 && length + sentence.len() > MAX_DESCRIPTION_BYTES)
        {
            break;
        }
        let end = sentence.floor_char_boundary(sentence.len().min(MAX_DESCRIPTION_BYTES));
        parts.push(sentence[..end].to_owned());
        length += end;
    }
    if parts.is_empty() { phrase.text.clone() } else { parts.join(" ") }
}

/// Returns a sentence verbatim, or on one line if it contains quote marks (`>`).
fn without_marks(sentence: &str) -> Cow<'_, str> {
    let quoted = sentence.lines().skip(1).any(|line| line.trim_start().starts_with('>'));
    if quoted { one_line(sentence).into() } else { sentence.into() }
}

fn relations(
    text: &str,
    language: Language,
    sentences: &[Range<usize>],
    mentions: &[Vec<Mention>],
    kept: &[Phrase],
) -> Vec<RelationRecord> {
    let keys: Vec<Option<graphloom_core::EntityKey>> =
        kept.iter().map(|phrase| entity_key(&phrase.text)).collect();
    let mut related = BTreeSet::new();
    let mut records = Vec::new();
    let mut subject = None;
    let mut before: Option<Sentence<'_>> = None;
    for (range, named) in sentences.iter().zip(mentions) {
        let named = outermost(named);
        let this = Sentence::read(text, range.clone(), language);
        let is_name = |mention: &&&Mention| kept[mention.entity].kind <= PhraseKind::Quoted;
        let own = named.iter().find(is_name).or(named.first()).map(|mention| mention.entity);
        let continues = before.as_ref().is_some_and(|before| continues_paragraph(text, before, &this));
        let goes_on = continues && language.refers_back(&text[range.clone()]);
        let words = &before.insert(this).tokens;
        subject = subject.filter(|_| goes_on).or(own);
        let Some(subject) = subject else { continue };
        let sentence = without_marks(&text[range.clone()]);
        let end = sentence.floor_char_boundary(sentence.len().min(MAX_DESCRIPTION_BYTES));
        for object in objects(subject, &named, kept) {
            let pair = (subject.min(object), subject.max(object));
            if keys[subject] == keys[object] || !related.insert(pair) {
                continue;
            }
            let (source, target) = (&kept[subject].text, &kept[object].text);
            records.push(RelationRecord {
                source: source.clone(),
                target: target.clone(),
                keywords: keywords(words, source, target),
                description: sentence[..end].to_owned(),
                weight: 1.0,
            });
        }
    }
    records
}

/// True if a sentence continues the paragraph of the sentence before it. Headings, list items and table rows stand alone.
fn continues_paragraph(text: &str, before: &Sentence<'_>, sentence: &Sentence<'_>) -> bool {
    let line = &text[sentence.range.clone()];
    let is_apart = text[before.range.end..sentence.range.start].matches('\n').count() > 1;
    !is_apart && !before.heading && !sentence.heading && !is_list_item(line) && !line.contains(" | ")
}

/// Returns the mentions that are not inside another one, in text order.
fn outermost(named: &[Mention]) -> Vec<&Mention> {
    let mut end = 0;
    // Among mentions with the same start, the longest comes first.
    named
        .iter()
        .filter(|mention| {
            mention.range.start >= end && {
                end = mention.range.end;
                true
            }
        })
        .collect()
}

/// Returns the objects of a sentence: names and dates in text order, or the first common nouns if there are none.
fn objects(subject: usize, named: &[&Mention], kept: &[Phrase]) -> Vec<usize> {
    let others = || named.iter().map(|mention| mention.entity).filter(|&entity| entity != subject);
    let mut objects: Vec<usize> = others().filter(|&entity| kept[entity].kind <= PhraseKind::Date).collect();
    if objects.is_empty() {
        objects.extend(others().take(MAX_COMMON_OBJECTS));
    }
    objects.truncate(MAX_RELATIONS_PER_SENTENCE);
    objects
}

/// Returns the words of the sentence that connect two names.
fn keywords(words: &[Token<'_>], source: &str, target: &str) -> Vec<String> {
    let names: BTreeSet<String> =
        [source, target].iter().flat_map(|name| name.split([' ', '-'])).map(str::to_lowercase).collect();
    let last = |name: &str| name.split([' ', '-']).next_back().unwrap_or_default().to_lowercase();
    let first = |name: &str| name.split([' ', '-']).next().unwrap_or_default().to_lowercase();
    let start = words.iter().position(|word| word.lower == last(source)).map(|at| at + 1);
    let between = start.and_then(|start| {
        let length = words[start..].iter().position(|word| word.lower == first(target))?;
        (length <= MAX_CONNECTING_WORDS).then(|| &words[start..start + length])
    });
    let phrase = between.and_then(connecting_phrase);
    if let Some(phrase) = phrase {
        return vec![phrase];
    }
    let mut seen = BTreeSet::new();
    words
        .iter()
        .filter(|word| matches!(word.tag, UPOS::VERB | UPOS::NOUN) && !word.is_capital())
        .filter(|word| {
            !is_generic(&word.lower) && !names.contains(&word.lower) && word.lower.chars().count() > 2
        })
        .filter(|word| seen.insert(word.lower.clone()))
        .map(|word| word.lower.clone())
        .take(MAX_KEYWORDS)
        .collect()
}

/// Joins verbs, nouns and the prepositions after them; `None` if there is neither a verb nor a noun.
fn connecting_phrase(between: &[Token<'_>]) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for word in between {
        let content = matches!(word.tag, UPOS::VERB | UPOS::NOUN | UPOS::ADJ) && word.is_content();
        let after_content = word.tag == UPOS::ADP && !words.is_empty();
        if content || after_content {
            words.push(&word.lower);
        }
    }
    let content = between.iter().any(|word| matches!(word.tag, UPOS::VERB | UPOS::NOUN) && word.is_content());
    content.then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "Ada Lovelace\nAda Lovelace was an English mathematician. She worked with Charles Babbage in London. \
                        Charles Babbage designed the Analytical Engine in 1837.";

    #[test]
    fn common_words_of_chinese_manuals_are_not_entities() {
        let is_name = |text: &str| {
            let phrase =
                Phrase { range: 0..text.len(), text: text.to_owned(), kind: PhraseKind::Name, score: 1.0 };
            is_entity(text, &BTreeMap::new(), &phrase, Language::Chinese)
        };
        assert!(!is_name("示例") && !is_name("调用") && !is_name("运行"));
        assert!(!is_name("上面代码中") && !is_name("下列函数"));
        assert!(is_name("所有权"));
    }

    #[track_caller]
    fn check_names(text: &str, expected: &[&str]) {
        let names: BTreeSet<String> = extract(text).entities.into_iter().map(|entity| entity.name).collect();
        assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn pieces_of_chinese_words_are_not_entities_in_any_language() {
        let english = "Ada met Bo. The models of Ada 不断演进, and the tools of Bo 不断演进 as well.";
        check_names(english, &["Ada", "Bo"]);
    }

    #[test]
    fn lines_around_an_article_contain_no_entities() {
        check_names(
            "# Old Weir\n\nBy Jane Doe, Staff Writer\nPublished 12 March 2024\n\nOlga Finn opened it in Halden.\n\nPhoto: Karl Moor\n",
            &["Halden", "Old Weir", "Olga Finn"],
        );
    }

    #[test]
    fn words_of_chats_and_title_pages_that_name_nothing_are_no_entities() {
        let chat = extract(
            "Ada: What do you all think about the garden?\nBo: It's gonna be a blast, guys! Bo has many ideas.\n",
        );
        for word in ["think", "gonna", "blast", "guys", "ideas"] {
            assert!(chat.entities.iter().all(|entity| entity.name != word), "{word}: {chat:?}");
        }
        check_names(
            "Tailpiece\n\nREPRINTED 1923\n\nCredits: Ada Voss made it with Bo Lind.\n",
            &["Ada Voss", "Bo Lind"],
        );
        check_names(
            "Headquartered in Kelm, Halden Press printed the work of the English poet Ada Voss.",
            &["Ada Voss", "Halden Press", "Kelm"],
        );
    }

    #[test]
    fn verbs_and_pronouns_of_german_requests_are_no_entities() {
        let text = "Leeren Sie die Tropfschale jeden Tag. Stellen Sie den Mahlgrad am Regler ein. Verwenden Sie kein Salz. \
            Stellen Sie eine Schale unter den Auslauf. Fragen Sie Ihren Lieferanten Otto Brandt.";
        let names: Vec<String> = extract(text).entities.into_iter().map(|entity| entity.name).collect();
        let is_wrong = |name: &String| {
            ["Sie", "Ihren", "Leeren", "Stellen", "Verwenden"].iter().any(|word| name.contains(word))
        };
        assert!(!names.iter().any(is_wrong), "{names:?}");
        assert!(names.iter().any(|name| name.contains("Otto Brandt")), "{names:?}");
    }

    #[test]
    fn front_matter_contains_no_entity_but_the_title() {
        let matter = "title: Old Weir\nlayout: page\nclass: Guide\ntags:\n  - Water\n\n";
        check_names(
            &format!("{matter}Olga Finn opened it in Halden.\n"),
            &["Halden", "Old Weir", "Olga Finn"],
        );
        check_names(&format!("{matter}# The Old Weir\n\nIt is wet.\n"), &["The Old Weir"]);
    }

    #[test]
    fn entities_are_described_by_the_sentences_that_name_them() {
        let records = extract(TEXT);
        let babbage =
            records.entities.iter().find(|entity| entity.name == "Charles Babbage").expect("is named");
        assert_eq!(
            babbage.description,
            "She worked with Charles Babbage in London. Charles Babbage designed the Analytical Engine in 1837."
        );
        let ada = records.entities.iter().find(|entity| entity.name == "Ada Lovelace").expect("is named");
        assert_eq!(ada.kind, "Person");
        assert_eq!(ada.description, "Ada Lovelace was an English mathematician.");
    }

    #[test]
    fn names_in_one_sentence_are_related_by_the_words_between_them() {
        let records = extract(TEXT);
        let relation = records
            .relations
            .iter()
            .find(|relation| relation.source == "Charles Babbage" && relation.target == "Analytical Engine")
            .expect("stand in one sentence");
        assert_eq!(relation.keywords, ["designed"]);
        assert_eq!(relation.description, "Charles Babbage designed the Analytical Engine in 1837.");
        assert_eq!(relation.weight, 1.0);
    }

    fn related(text: &str) -> Vec<(String, String)> {
        let records = extract(text).relations.into_iter();
        records.map(|relation| (relation.source, relation.target)).collect()
    }

    fn check_related(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
        assert_eq!(related(text), expected, "{text}");
    }

    #[test]
    fn relations_of_a_sentence_start_at_its_subject() {
        check_related(
            "Clara Voss taught Otto Brandt and Lise Amann.",
            &[("Clara Voss", "Otto Brandt"), ("Clara Voss", "Lise Amann")],
        );
    }

    #[test]
    fn a_pronoun_stands_for_the_subject_before_it() {
        check_related(
            "Clara Voss met Otto Brandt. She taught Lise Amann. Her school stood in Basel.",
            &[("Clara Voss", "Otto Brandt"), ("Clara Voss", "Lise Amann"), ("Clara Voss", "Basel")],
        );
    }

    #[test]
    fn a_sentence_with_its_own_subject_is_not_about_the_subject_before_it() {
        for text in [
            "Klara Voss gründete die Brauerei in Lindau. Der Bürgermeister schloss die Brücke. Die Polizei verhaftete Otto Brandt.",
            "Klara Voss fonda la brasserie de Lindau. Le maire ferma le pont. La police arrêta Otto Brandt dans la rue.",
            "Klara Voss fundó la cervecería de Lindau. El alcalde cerró el puente. La policía arrestó a Otto Brandt.",
            "Klara Voss创办了酒厂。警察逮捕了Otto Brandt。",
        ] {
            let related = related(text);
            let is_false =
                |(subject, object): &(String, String)| subject == "Klara Voss" && object == "Otto Brandt";
            assert!(!related.iter().any(is_false), "{related:?}");
        }
    }

    #[test]
    fn a_pronoun_or_a_dropped_subject_stands_for_the_subject_before_it_in_other_languages() {
        for text in [
            "Klara Voss lehrte in Lindau. Sie traf Otto Brandt.",
            "Klara Voss enseigna à Lindau. Elle rencontra Otto Brandt dans la ville.",
            "Klara Voss enseñó en Lindau con los maestros. Conoció a Otto Brandt en el puente.",
            "Klara Voss insegnò a Lindau. Incontrò poi Otto Brandt nella scuola.",
        ] {
            check_related(text, &[("Klara Voss", "Lindau"), ("Klara Voss", "Otto Brandt")]);
        }
        let chinese = "刘晓梅执导了《夜航》。1975年毕业于东华理工大学。她来自深圳。";
        check_related(
            chinese,
            &[("刘晓梅", "夜航"), ("刘晓梅", "1975"), ("刘晓梅", "东华理工大学"), ("刘晓梅", "深圳")],
        );
    }

    #[test]
    fn a_subject_ends_with_its_paragraph_or_list_item() {
        let first = "Klara Voss lehrte in Lindau.";
        for apart in ["\n\n", "\n\n## Anhang\n\n", "\n- "] {
            check_related(&format!("{first}{apart}Sie traf Otto Brandt."), &[("Klara Voss", "Lindau")]);
        }
    }

    #[test]
    fn a_name_inside_another_is_not_an_entity_of_the_sentence() {
        let related = related("Clara Voss of Basel directed \"The Otto Brandt Story\" alone.");
        assert!(related.iter().all(|(_, target)| target != "Otto Brandt"), "{related:?}");
    }

    #[test]
    fn a_list_of_names_gives_a_bounded_number_of_relations() {
        let name = |c: u8| format!("{}lfa{}", char::from(c), char::from(c.to_ascii_lowercase()));
        let names: Vec<String> = (b'A'..=b'Z').map(name).collect();
        let records = extract(&format!("They met {}.", names.join(", ")));
        assert_eq!(records.relations.len(), MAX_RELATIONS_PER_SENTENCE);
    }

    fn named(text: &str) -> Vec<String> {
        extract(text).entities.into_iter().map(|entity| entity.name).collect()
    }

    #[test]
    fn common_nouns_dates_and_numbers_without_relations_are_not_entities() {
        let names = named("Clara Voss taught Otto Brandt in 1990 on a stone bridge with 300 lamps.");
        assert_eq!(names, ["Clara Voss", "Otto Brandt", "1990"]);
        let names = named("Clara Voss knew the time. She was a kind woman.");
        assert_eq!(names, ["Clara Voss"]);
        let names = named("Klara Voss lehrte in Brünn. Es war eine lange Zeit.");
        assert!(!names.contains(&"Zeit".to_owned()), "{names:?}");
    }

    #[test]
    fn a_common_noun_must_occur_twice_in_a_long_text() {
        let text = "Clara Voss mended the pump. Clara Voss sold the wagon and the pump. ";
        assert!(named(text).contains(&"wagon".to_owned()));
        let long = format!("{text}{}", "They went on and on. ".repeat(MIN_LONG_TOKENS / 4));
        let names = named(&long);
        assert!(names.contains(&"pump".to_owned()) && !names.contains(&"wagon".to_owned()), "{names:?}");
    }

    #[test]
    fn a_name_like_a_function_word_is_found_only_in_its_own_spelling() {
        let related = related("Clara Voss joined the WHO in Basel. Otto Brandt knew the man who sang.");
        assert!(!related.contains(&("Otto Brandt".to_owned(), "WHO".to_owned())), "{related:?}");
        assert!(related.contains(&("Clara Voss".to_owned(), "WHO".to_owned())), "{related:?}");
    }

    #[test]
    fn pieces_of_chinese_text_are_entities_only_if_they_are_words() {
        let names = named("系统不断演进。架构不断演进。缓存保存结果。缓存可以清空。");
        assert!(!names.iter().any(|name| name == "断演进"), "{names:?}");
        let once = named("缓存保存结果，队列等待。缓存可以清空。");
        assert!(!once.iter().any(|name| name == "队列等待"), "{once:?}");
    }

    #[test]
    fn descriptions_from_a_quoted_block_have_no_quote_marks() {
        let records =
            extract("> The old bridge at Ostrava was built by Hana\n> Dvorakova in Brno, who was known.");
        let said = "bridge at Ostrava was built by Hana Dvorakova in Brno, who was known.";
        assert!(records.relations.iter().all(|relation| relation.description.ends_with(said)), "{records:?}");
        assert!(!records.relations.is_empty());
    }

    #[test]
    fn an_empty_text_has_no_records() {
        assert_eq!(extract(""), Records::default());
        assert_eq!(extract(" \n\n "), Records::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_gives_records_without_duplicates_or_self_relations(text in "([A-Za-z]{1,8}[ .,\n\"]|[0-9]{1,4} |漢字|カタカナ|é){0,40}") {
            let records = extract(&text);
            prop_assert_eq!(&records, &extract(&text));
            let keys: BTreeSet<_> = records.entities.iter().map(|entity| entity_key(&entity.name)).collect();
            prop_assert_eq!(keys.len(), records.entities.len());
            let mut pairs = BTreeSet::new();
            for relation in &records.relations {
                let (a, b) = (entity_key(&relation.source), entity_key(&relation.target));
                prop_assert_ne!(&a, &b);
                prop_assert!(keys.contains(&a) && keys.contains(&b));
                let pair = if a < b { (a, b) } else { (b, a) };
                prop_assert!(pairs.insert(pair));
                prop_assert!(text.contains(&relation.description));
            }
        }
    }
}
