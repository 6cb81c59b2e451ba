//! The word lists of the rules.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::token::is_known;

/// Words that say nothing about the topic of a text.
static STOP_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "a an the and or but nor so yet if then else than that this these those there here it its itself he him his \
     himself she her hers herself they them their theirs themselves we us our ours you your yours i me my mine who \
     whom whose which what when where why how is are was were be been being am isn't aren't wasn't weren't do does \
     did done doing don't doesn't didn't have has had having haven't hasn't hadn't will would shall should can could \
     may might must ought won't can't of in on at by for from to into onto with within without about above below \
     under over between among through during before after against toward towards upon up down out off as not no \
     only also too very just same such own other another any some each every all both either neither one ones s t \
     d ll m re ve etc eg ie via per because while although though until unless since however therefore thus hence \
     whether whereas yes let's i'm it's that's there's cannot"
        .split_whitespace()
        .collect()
});

/// Words so common in questions and prose that a match on them alone does not make a sentence relevant.
static GENERIC_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "name names named call called tell give given show find list describe explain mean means meaning say said know \
     known thing things way ways kind kinds type types sort point points part parts place places time times year \
     years date day days number numbers many much more most less least first last new old good great big large \
     small long high low early late people person man woman main different important use used using make made \
     makes get got go went come came take took see seen become became include includes including please document \
     documents text passage question answer exactly actually really often usually well still even now today \
     group state based several various two three result example case level work"
        .split_whitespace()
        .collect()
});

/// English and German common nouns, besides those common in questions, that nobody would look up.
static UNNAMED_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "hand hands head heads face faces eye eyes arm arms foot feet heart voice voices side sides end ends back front top \
     bottom boy boys girl girls child children fellow fellows gentleman gentlemen lady someone everyone nobody everybody \
     something nothing anything moment moments minute minutes hour hours morning evening afternoon night nights week \
     weeks month months today yesterday door doors room rooms bed chair table light word words lot bit deal matter fact \
     course chance reason idea turn rest sort sense others anyone line lines step steps list item items note look use \
     mind life world home money body want doubt surprise length glance page section chapter figure everything while half pair set piece pieces \
     tomorrow tonight weekend guy difference thought opinion suggestion reminder update luck fun fan effort blast excitement change option \
     choice help plan tip gonna wanna gotta kinda sorta gimme lemme dunno yeah yep nope hey wow haha lol ok okay thanks hither thither \
     zeit mal weise art ding dinge mann frau leute menschen mensch kind kinder teil teile seite ende anfang tag tage jahr \
     jahre woche monat stunde uhr hände kopf auge augen gesicht fall frage antwort grund beispiel stelle wort \
     worte zahl anzahl menge"
        .split_whitespace()
        .collect()
});

/// True if a lowercase common noun is too general to be an entity.
pub(super) fn is_unnamed(word: &str) -> bool {
    let is_listed = |word: &str| is_generic(word) || UNNAMED_WORDS.contains(word);
    is_listed(word) || word.strip_suffix('s').is_some_and(is_listed)
}

/// Headings that any text could have.
static PLAIN_HEADINGS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "introduction|summary|contents|table of contents|overview|references|further reading|see also|notes|external links|installation|\
     install|usage|example|examples|getting started|quick start|faq|troubleshooting|conclusion|appendix|license|licence|preface|\
     foreword|acknowledgements|acknowledgments|index|abstract|background|description|features|requirements|configuration|options|\
     limitations|contributing|changelog|credits|title|author|illustrator|illustration|illustrations|frontispiece|headpiece|tailpiece|\
    transcriber's note|einleitung|einführung|zusammenfassung|inhalt|inhaltsverzeichnis|übersicht|vorwort|\
     anhang|hinweise|beispiel|beispiele|literatur|weblinks|einzelnachweise|fazit|概述|简介|介绍|总结|目录|示例|例子|用法|安装|附录|前言|参考文献|注意事项|说明"
        .split('|')
        .map(str::trim)
        .collect()
});

/// True if any text could have this lowercase heading.
pub(super) fn is_plain_heading(heading: &str) -> bool {
    PLAIN_HEADINGS.contains(heading)
}

/// True if a word, in any case, says little or nothing about the topic of a text.
pub fn is_small_word(word: &str) -> bool {
    is_generic(&word.to_lowercase())
}

/// True if a phrase looks like the name of one thing rather than a common noun: `Tower Bridge` and `Velora`, not `bridge` or
/// `Water`. In scripts without case, every phrase counts as a name.
pub fn is_proper(phrase: &str) -> bool {
    if phrase.chars().any(|c| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase()) {
        return true;
    }
    let words = phrase.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let capital = words.filter(|word| word.starts_with(char::is_uppercase));
    let capital: Vec<String> = capital.map(str::to_lowercase).filter(|word| !is_stop_word(word)).collect();
    match &capital[..] {
        [] => false,
        [one] => !is_known(one),
        _ => true,
    }
}

/// True if a lowercase word says nothing about the topic of a text.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

/// True if a lowercase word of English or another Western European language links the text before it to the text after it.
pub(super) fn is_linking(word: &str) -> bool {
    const LINKING: [&str; 35] = [
        "of", "by", "that", "who", "whom", "whose", "which", "where", "when", "for", // English
        "de", "du", "des", "qui", "que", "dont", "où", // French
        "del", "quien", "cuyo", "cuya", "donde", // Spanish
        "von", "vom", "dessen", "deren", "welche", "welcher", "welches", // German
        "di", "della", "che", "cui", // Italian
        "do", "da", // Portuguese
    ];
    LINKING.contains(&word)
}

/// True if a lowercase word is too common to make a sentence relevant by itself.
pub(super) fn is_generic(word: &str) -> bool {
    is_stop_word(word) || GENERIC_WORDS.contains(word)
}

/// True if a lowercase word is a month or its abbreviation.
pub(super) fn is_month(word: &str) -> bool {
    const SHORT: [&str; 12] =
        ["jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"];
    is_whole_month(word) || SHORT.contains(&word)
}

/// True if a lowercase word is the whole name of a month.
pub(super) fn is_whole_month(word: &str) -> bool {
    matches!(
        word,
        "january"
            | "february"
            | "march"
            | "april"
            | "may"
            | "june"
            | "july"
            | "august"
            | "september"
            | "october"
            | "november"
            | "december"
    )
}

/// True for function words that join parts of one name if capitalized words are on both sides.
pub(super) fn is_connector(word: &str) -> bool {
    matches!(
        word,
        "of" | "for"
            | "de"
            | "del"
            | "della"
            | "di"
            | "da"
            | "das"
            | "do"
            | "dos"
            | "du"
            | "des"
            | "la"
            | "le"
            | "les"
            | "van"
            | "von"
            | "der"
            | "den"
            | "ter"
            | "ten"
            | "zu"
            | "zum"
            | "zur"
            | "al"
            | "el"
            | "bin"
            | "ibn"
            | "y"
            | "e"
            | "und"
            | "et"
    )
}

/// True for a lowercase word that says from which people or country something is, when a common noun follows: `an English poet`.
pub(super) fn is_demonym(word: &str) -> bool {
    const DEMONYMS: &str = "african american arab argentine argentinian asian australian austrian belgian brazilian british bulgarian \
        canadian chilean chinese colombian croatian cuban czech danish dutch egyptian english estonian european finnish french german \
        greek hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese jewish kenyan korean latvian \
        lithuanian malaysian mexican nigerian norwegian pakistani persian peruvian philippine polish portuguese romanian russian \
        scottish serbian slovak slovenian spanish swedish swiss thai tibetan turkish ukrainian vietnamese welsh albanian hawaiian";
    DEMONYMS.split_whitespace().any(|demonym| demonym == word)
}

/// True for words that are often capitalized at the start of a sentence but do not begin a name.
pub(super) fn is_opener(word: &str) -> bool {
    is_stop_word(word)
        || matches!(
            word,
            "despite"
                | "according"
                | "following"
                | "originally"
                | "later"
                | "today"
                | "currently"
                | "eventually"
                | "initially"
                | "finally"
                | "additionally"
                | "moreover"
                | "furthermore"
                | "meanwhile"
                | "instead"
                | "many"
                | "most"
                | "several"
                | "few"
                | "now"
                | "once"
                | "still"
                | "even"
                | "like"
                | "unlike"
                | "under"
                | "throughout"
                | "along"
                | "around"
                | "including"
                | "prior"
                | "due"
                | "together"
        )
}

/// True for abbreviations whose full stop is part of a name.
pub(super) fn is_name_abbreviation(word: &str) -> bool {
    matches!(
        word,
        "st" | "dr"
            | "mr"
            | "mrs"
            | "ms"
            | "prof"
            | "rev"
            | "sr"
            | "jr"
            | "mt"
            | "ft"
            | "gen"
            | "col"
            | "capt"
            | "lt"
            | "sgt"
            | "gov"
            | "sen"
            | "rep"
            | "no"
            | "vs"
            | "inc"
            | "co"
            | "ltd"
            | "cpl"
            | "maj"
    )
}

/// True for words that multiply or measure the number before them.
pub(super) fn is_magnitude(word: &str) -> bool {
    matches!(
        word,
        "hundred" | "thousand" | "million" | "billion" | "trillion" | "percent" | "century" | "centuries"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinguished_from_common_nouns() {
        for name in ["Velora", "Tower Bridge", "Ada Lovelace", "the Analytical Engine", "北京"] {
            assert!(is_proper(name), "{name}");
        }
        for noun in ["street", "Water", "braiding", "The water", "stone bridge", ""] {
            assert!(!is_proper(noun), "{noun}");
        }
    }
}
