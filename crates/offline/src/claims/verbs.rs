//! The verbs that say who holds an office, and since or until when.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::Item;

/// What a verb says about the people next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// `P was appointed OFFICE of O`
    Begin,
    /// `P was OFFICE of O`: the verb means nothing without an office.
    Be,
    /// `P served as OFFICE of O`
    Hold,
    /// `P led O`
    Lead,
    /// `O was led by P`
    LedBy,
    /// `O appointed P OFFICE`
    Appoint,
    /// `P succeeded Q as OFFICE of O`
    Succeed,
    /// `Q was succeeded by P as OFFICE of O`
    SucceededBy,
    /// `Q stepped down as OFFICE of O`
    End,
    /// `The office of O passed from Q to P`
    Pass,
    /// `F founded O`
    Found,
    /// `O was founded by F`
    Founded,
    /// `A acquired B`
    Acquire,
    /// `B was acquired by A`
    AcquiredBy,
    /// `A merged with B`
    Merge,
    /// `P was born in L`
    Born,
    /// `P died in L`
    Die,
}

const ENGLISH: &[(Act, &str)] = &[
    (
        Act::Begin,
        "was appointed|was named|was made|was elected|was chosen|was selected|was promoted|was installed|was hired|was designated|\
         was announced|was brought in|was confirmed|were appointed|has been appointed|has been named|had been appointed|\
         had been named|is appointed|is named|became|becomes|to become|will become|would become|took over|takes over|\
         will take over|took office|took up|takes up|took charge of|took the helm|took on|took the position|took the job|\
         took the post|took the role|assumed|assumes|will assume|stepped in|stepped up|stepped into|rose to|moved up|moved into|\
         ascended|started|began|joined|came in|came to|arrived|being appointed|being named|becoming|entered",
    ),
    (Act::Be, "is|was|are|were|has been|had been|remained|remains|being|been|will be"),
    (
        Act::Hold,
        "served|serves|has served|had served|serving|acted|acts|worked|works|held|holds|has held|had held|occupied|filled|\
         stayed|continued|functioned|sat|spent|reigned|ruled",
    ),
    (
        Act::Lead,
        "led|leads|has led|had led|ran|runs|has run|had run|headed|heads|has headed|had headed|managed|manages|has managed|had managed|presided over|was in charge of|has been in charge of|had been in charge of|was at the helm of|has been at the helm of|had been at the helm of|was at the head of",
    ),
    (
        Act::LedBy,
        "was led by|is led by|has been led by|had been led by|was run by|is run by|has been run by|had been run by|was headed by|is headed by|has been headed by|had been headed by|was managed by|is managed by|has been managed by",
    ),
    (
        Act::Appoint,
        "appointed|appoints|named|names|elected|elects|hired|hires|chose|chooses|promoted|promotes|installed|picked|tapped|selected|brought in|announced|confirmed|made|recruited|welcomed",
    ),
    (
        Act::Succeed,
        "succeeded|succeeds|has succeeded|had succeeded|will succeed|to succeed|replaced|replaces|has replaced|had replaced|\
         will replace|to replace|followed|follows|took over from|takes over from|took the reins from|took the helm from|supplanted|supplants|\
         came after|inherited the job from|stepped into the shoes of|displaced",
    ),
    (
        Act::SucceededBy,
        "was succeeded|is succeeded|were succeeded|been succeeded|being succeeded|be succeeded|succeeded by|was replaced|is replaced|\
         been replaced|being replaced|be replaced|replaced by|was followed by|being followed by|was followed in office by|\
         gave way to|gives way to|giving way to|made way for|makes way for|making way for|handed over|hands over|handing over|handed|\
         hands|handing|passed the baton to|passed the reins to|passed the torch to|passed the helm to|passed the role to|yielded to|ceded to|\
         turned over|was supplanted by",
    ),
    (
        Act::End,
        "stepped down|steps down|stepping down|had stepped down|has stepped down|will step down|stood down|stands down|resigned|resigns|\
         resigning|had resigned|has resigned|retired|retires|retiring|had retired|has retired|will retire|quit|quits|left|leaves|leaving|had left|\
         has left|departed|departs|was dismissed|was ousted|was fired|was removed|was sacked|was deposed|was forced out|was let go|\
         relinquished|relinquishes|gave up|vacated|ceased|bowed out|exited|abdicated|concluded|finished|was relieved|was voted out",
    ),
    (
        Act::Pass,
        "passed from|went from|moved from|was handed from|was transferred from|changed hands from|transferred from|shifted from",
    ),
    (
        Act::Founded,
        "was founded|were founded|was established|was set up|was created|was started|was launched|was formed|was incorporated|was opened|was built|is founded|founded by|established by",
    ),
    (Act::Found, "founded|established|co-founded|cofounded|set up|launched"),
    (
        Act::AcquiredBy,
        "was acquired by|was bought by|was purchased by|was taken over by|has been acquired by|was sold to|acquired by|bought by",
    ),
    (Act::Acquire, "acquired|acquires|bought|buys|purchased|has acquired|had acquired"),
    (Act::Merge, "merged with|merges with|merged into"),
    (Act::Born, "was born|born"),
    (Act::Die, "died"),
];

const GERMAN: &[(Act, &str)] = &[
    (Act::Begin, "wurde|wird|übernahm|übernimmt|hat übernommen|trat|stieg|rückte|begann|kam"),
    (Act::Be, "ist|war|sind|waren|blieb"),
    (Act::Hold, "amtierte|amtiert|fungierte|fungiert|diente|arbeitete|bekleidete|bekleidet|wirkte|hatte"),
    (Act::Lead, "leitete|leitet|führte|führt|stand an der spitze von|steht an der spitze von"),
    (Act::LedBy, "wurde geleitet von|wird geleitet von|wird geführt von"),
    (Act::Appoint, "ernannte|ernennt|berief|beruft|bestellte|bestellt|wählte|machte|holte"),
    (Act::Succeed, "folgte|folgt|löste|löst|ersetzte|ersetzt|beerbte|beerbt"),
    (Act::SucceededBy, "übergab|übergibt"),
    (Act::End, "verließ|verlässt|legte|kündigte|schied|dankte|gab"),
    (Act::Found, "gründete|gründeten|gegründet"),
    (Act::Acquire, "kaufte|erwarb"),
    (Act::Die, "starb"),
];

/// Phrases by their first word.
type ByWord = HashMap<&'static str, Vec<(Act, &'static str)>>;

static ENGLISH_BY_WORD: LazyLock<ByWord> = LazyLock::new(|| by_word(ENGLISH));
static GERMAN_BY_WORD: LazyLock<ByWord> = LazyLock::new(|| by_word(GERMAN));

fn by_word(table: &'static [(Act, &'static str)]) -> ByWord {
    let mut by_word = ByWord::new();
    for (act, phrases) in table {
        for phrase in phrases.split('|') {
            let first = phrase.split(' ').next().unwrap_or(phrase);
            by_word.entry(first).or_default().push((*act, phrase));
        }
    }
    by_word
}

/// Words that may stand between the parts of a verb.
const ADVERBS: [&str; 30] = [
    "then",
    "later",
    "subsequently",
    "also",
    "first",
    "again",
    "eventually",
    "finally",
    "officially",
    "formally",
    "recently",
    "initially",
    "immediately",
    "once",
    "duly",
    "unanimously",
    "briefly",
    "himself",
    "herself",
    "in",
    "turn",
    "abruptly",
    "suddenly",
    "unexpectedly",
    "soon",
    "thereafter",
    "reportedly",
    "allegedly",
    "not",
    "never",
];
/// Words near a verb that make the statement uncertain.
const DOUBTS: [&str; 15] = [
    "reportedly",
    "allegedly",
    "rumoured",
    "rumored",
    "expected",
    "may",
    "might",
    "could",
    "possibly",
    "perhaps",
    "angeblich",
    "vermutlich",
    "mutmaßlich",
    "voraussichtlich",
    "supposedly",
];
const DENIALS: [&str; 8] = ["not", "never", "nie", "niemals", "nicht", "wasn't", "isn't", "didn't"];

/// A verb of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verb {
    pub(super) act: Act,
    /// Its first item, and the item after its last.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) denied: bool,
    pub(super) doubted: bool,
}

/// Returns the verbs among `items`, in order; the longest one at each position.
pub(super) fn verbs(items: &[Item<'_>], german: bool) -> Vec<Verb> {
    let table = if german { &*GERMAN_BY_WORD } else { &*ENGLISH_BY_WORD };
    let mut found: Vec<Verb> = Vec::new();
    let mut at = 0;
    while at < items.len() {
        let phrases = table.get(items[at].lower()).into_iter().flatten();
        let best = phrases
            .filter_map(|(act, phrase)| Some((phrase.len(), *act, matched(items, at, phrase)?)))
            .max_by_key(|(length, _, _)| *length);
        let Some((_, act, end)) = best else {
            at += 1;
            continue;
        };
        let words = || items[at.saturating_sub(3)..(end + 2).min(items.len())].iter().map(Item::lower);
        let inside = || items[at.saturating_sub(1)..(end + 2).min(items.len())].iter().map(Item::lower);
        found.push(Verb {
            act,
            start: at,
            end,
            denied: inside().any(|word| DENIALS.contains(&word)),
            doubted: words().any(|word| DOUBTS.contains(&word)),
        });
        at = end;
    }
    found
}

/// Returns the item after `phrase` if it begins at `at`. Dates and adverbs may stand between its words.
fn matched(items: &[Item<'_>], at: usize, phrase: &str) -> Option<usize> {
    let mut next = at;
    for (number, word) in phrase.split(' ').enumerate() {
        if number > 0 {
            let may_stand_between = |item: &&Item<'_>| match item {
                Item::Time(_) => true,
                Item::Word(found) => found.lower != word && ADVERBS.contains(&found.lower.as_str()),
                Item::Offices(..) | Item::Possessive => false,
            };
            next += items[next..].iter().take_while(may_stand_between).count();
        }
        let found = items.get(next)?.word()?;
        // A verb is lowercase, except at the start of a sentence.
        let small = found.text.starts_with(char::is_lowercase) || next == 0;
        if !(small && found.lower == word) {
            return None;
        }
        next += 1;
    }
    Some(next)
}
