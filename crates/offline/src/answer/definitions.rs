//! Decides whether a line says what something means, or who or what a name is.

use std::collections::HashSet;

use harper_brill::UPOS;

use super::kinds::spaced;
use super::lines::{Line, LineForm, Word};
use super::question::{ParsedQuestion, Role, Term};
use super::words::any_word;
use crate::kind::is_person_title;
use crate::lexicon::is_stop_word;
use crate::scripts::has_no_spaces;
use crate::token::tokens;

/// Up to this number of subject words, all relation words must be part of the defined phrase.
const MAX_SUBJECT: usize = 2;

/// What follows a subject if a sentence says what it is for.
const USES: &[&str] = &[
    " is used ",
    " are used ",
    " can be used ",
    " is designed ",
    " are designed ",
    " is intended ",
    " serves ",
    " allows ",
    " lets ",
    " enables ",
    " helps ",
];

/// What follows a word if a sentence clearly says what the word means.
const CLEAR_COPULAS: &[&str] =
    &[" is a ", " is an ", " is the ", " means ", " refers to ", " ist ein", " bezeichnet "];

/// The same if it says so less clearly, clearest first.
const COPULAS: &[&str] = &[
    " is any ",
    " is one ",
    " is when ",
    " is where ",
    " are ",
    " was a ",
    " was an ",
    " was the ",
    " were ",
    " mean ",
    " denotes ",
    " stands for ",
    " occurs when ",
    " occurs if ",
    " happens when ",
    " happens if ",
    " describes ",
    ": ",
    " – ",
    " — ",
    " - ",
    " ist der ",
    " ist die ",
    " ist das ",
    " sind ",
    " war ein",
    " war der ",
    " war die ",
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

/// The same in a text without spaces.
const UNSPACED_COPULAS: &[&str] = &["是指", "指的是", "是一", "即", "指", "：", ":", "是", "，是", "（"];

/// Returns what follows a word if a sentence says what the word means, clearest first.
fn copulas() -> impl Iterator<Item = &'static str> {
    CLEAR_COPULAS.iter().chain(COPULAS).copied()
}

/// True if a text in lowercase clearly says what something means.
pub(super) fn defines_clearly(lower: &str) -> bool {
    lower.contains('指') || CLEAR_COPULAS.iter().any(|mark| lower.contains(mark))
}

/// True if a line says what a word of the question is for.
pub(super) fn says_use(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    let is_subject = |word: &&Word<'_>| question.terms.iter().any(|term| term.root == word.root);
    line.words.iter().filter(is_subject).any(|word| {
        let behind = line.text.get(word.at + word.text.len()..).unwrap_or_default();
        USES.iter().any(|mark| behind.starts_with(mark))
    })
}

/// Returns how clearly `text` seems to say what `word` means, 0 for most clearly, by what follows the word. `None` if nothing in the
/// text seems to.
///
/// - `word`: in lowercase.
pub(super) fn first_mark(text: &str, word: &str) -> Option<usize> {
    let lower = text.to_lowercase();
    let marks = if has_no_spaces(word) { UNSPACED_COPULAS.to_vec() } else { copulas().collect() };
    let mark_behind = |(at, found): (usize, &str)| {
        let behind = lower[at + found.len()..].trim_start_matches(['_', '*', '`', '"', '”', '’']);
        // `Bob Cratchit, clerk to Ebenezer Scrooge.`
        let described = || behind.starts_with([',', '，']).then_some(marks.len());
        marks.iter().position(|mark| behind.starts_with(mark)).or_else(described)
    };
    lower.match_indices(word).filter_map(mark_behind).min()
}

/// True if a line says what the terms of the question mean, or who or what they name.
pub(super) fn means(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    let lower = spaced(&line.text.to_lowercase());
    if has_no_spaces(line.text) {
        let is_meant = |term: &&Term| {
            term.role != Role::Common
                && (term.unspaced || term.role == Role::Name || question.terms.len() == 1)
        };
        return question.terms.iter().filter(is_meant).any(|term| {
            let bare = |rest: &str| rest.trim_start_matches(['”', '"', '」', '》', '*', '_', ' ']).to_owned();
            lower.match_indices(term.word.as_str()).any(|(at, word)| {
                let behind = bare(&lower[at + word.len()..]);
                let before = &lower[..at];
                UNSPACED_COPULAS.iter().any(|mark| behind.starts_with(mark))
                    && !["指定", "指向", "指出", "指令"].iter().any(|other| behind.starts_with(other))
                    && before.chars().count() <= 8
                    || ["称为", "叫做", "称作", "所谓", "就是"]
                        .iter()
                        .any(|mark| before.trim_end_matches(['“', '"', '「', '*']).ends_with(mark))
            })
        });
    }
    if line.form == LineForm::Row && explains(question, line) {
        return true;
    }
    let subject: Vec<&str> = question
        .terms
        .iter()
        .filter(|term| matches!(term.role, Role::Name | Role::Relation | Role::Number))
        .map(|term| term.root.as_str())
        .collect();
    let whole_subject: Vec<&str> = question
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
        let roots: HashSet<&str> = line.words[first..=end].iter().map(|word| word.root.as_str()).collect();
        let is_whole = subject.len() > MAX_SUBJECT || whole_subject.iter().all(|root| roots.contains(root));
        is_whole
            && !is_part_of_other_name(question, line, first, end)
            && means_at(question, line, &lower, first, end)
    })
}

/// True if the words from `first` to `end` are some of the question's name and, with a capitalized word beside them, another
/// name: `Tim Cratchit` if the question asks for `Bob Cratchit`.
fn is_part_of_other_name(question: &ParsedQuestion, line: &Line<'_>, first: usize, end: usize) -> bool {
    let run = &line.words[first..=end];
    let mut names = question.terms.iter().filter(|term| term.role == Role::Name);
    let is_partial =
        run.iter().any(Word::is_capital) && names.any(|term| run.iter().all(|word| word.root != term.root));
    let beside = |left: usize, right: usize| {
        let (Some(left), Some(right)) = (line.words.get(left), line.words.get(right)) else { return false };
        let gap = line.text.get(left.at + left.text.len()..right.at);
        let is_title = is_stop_word(&left.lower) || is_person_title(&left.lower);
        left.is_capital() && right.is_capital() && gap == Some(" ") && !is_title
    };
    is_partial && (first.checked_sub(1).is_some_and(|before| beside(before, first)) || beside(end, end + 1))
}

/// True if a line speaks to the one that it names between the bytes `start` and `end`: `Make haste, Bob Cratchit!'`. Such a name
/// ends a sentence or begins direct speech.
fn addresses(line: &Line<'_>, start: usize, end: usize) -> bool {
    const OPENERS: [char; 6] = ['"', '“', '„', '\'', '‘', '«'];
    const CLOSERS: [char; 6] = ['"', '”', '“', '\'', '’', '»'];
    let (before, behind) = (&line.text[..start], &line.text[end..]);
    let is_last = before.trim_end().ends_with(',')
        && (behind.starts_with(['!', '?']) || behind.trim_start_matches(['.', ',']).starts_with(CLOSERS));
    let is_first = before.ends_with(OPENERS) && behind.starts_with([',', '!', '?']);
    is_last || is_first
}

/// True if what follows a name at the start of a line is a phrase without a verb: `Bob Cratchit, clerk to Ebenezer Scrooge.`
fn is_described_by_phrase(line: &Line<'_>, end: usize) -> bool {
    let word = &line.words[end];
    let behind = &line.text[word.at + word.text.len()..];
    let is_phrase = behind.strip_prefix(", ").is_some_and(|rest| rest.starts_with(char::is_lowercase));
    let verbs = [UPOS::VERB, UPOS::AUX];
    let mut rest = line.words[end + 1..].iter();
    is_phrase
        && behind.ends_with('.')
        && rest.next().is_some_and(|next| is_tagged(line, next, &[UPOS::NOUN, UPOS::ADJ]))
        && !rest.any(|word| is_tagged(line, word, &verbs))
}

/// True if one of the first cells of a row contains the subject, so that the other cells describe it.
fn explains(question: &ParsedQuestion, row: &Line<'_>) -> bool {
    const FIRST: usize = 2;
    let mut end = 0;
    row.text.split(" | ").take(FIRST).any(|cell| {
        let start = end;
        end += cell.len() + " | ".len();
        let words = || row.words.iter().filter(|word| (start..end).contains(&word.at));
        // `flap_threshold` says nothing about flaps.
        let is_code_part = |word: &Word<'_>| {
            let (before, behind) = (&row.text[..word.at], &row.text[word.at + word.text.len()..]);
            before.ends_with('_') || behind.starts_with('_')
        };
        let in_cell = |term: &Term| words().any(|word| word.root == term.root && !is_code_part(word));
        let mut fixed = question.terms.iter().filter(|term| matches!(term.role, Role::Name | Role::Number));
        let mut content_terms = question.terms.iter().filter(|term| term.role != Role::Common);
        row.text.contains(" | ") && content_terms.any(in_cell) && fixed.all(in_cell)
    })
}

/// True if a line defines its words from `first` to `end`.
fn means_at(question: &ParsedQuestion, line: &Line<'_>, lower: &str, first: usize, end: usize) -> bool {
    const MAX_WORDS_BEFORE: usize = 3;
    const MAX_INNER: usize = 4;
    const MAX_INSERTION: usize = 40;
    let word = &line.words[end];
    let behind = lower.get(word.at + word.text.len()..).unwrap_or_default();
    let behind = behind.trim_start_matches(['_', '*', '`', '"', '”', '“', '’', '\'']);
    let before = lower.get(..line.words[first].at).unwrap_or_default();
    let before = before.trim_end_matches(['_', '*', '`', '"', '“', '„', '‘', ' ']);
    let near_start =
        line.words[..first].iter().filter(|word| !is_stop_word(&word.lower)).count() <= MAX_WORDS_BEFORE;
    let is_of_name = |term: &Term| {
        term.role == Role::Name && line.words[first..=end].iter().any(|word| word.root == term.root)
    };
    let is_name = question.terms.iter().any(is_of_name);
    const ARTICLES: &str = "a an the ein eine der die das un une le la les el il";
    // `If a trait is`, `Note: It is`
    const CONDITIONS: &str =
        "if unless once when whenever until while because since whether wenn falls sobald weil ob";
    const LABELS: &str =
        "note notes tip hint warning caution important example hinweis achtung wichtig beispiel tipp";
    let is_condition = before
        .rsplit(|c: char| !c.is_alphabetic())
        .filter(|word| !any_word(ARTICLES, word))
        .find(|word| !word.is_empty())
        .is_some_and(|word| any_word(CONDITIONS, word));
    let is_label = behind.starts_with(": ") && first == 0 && any_word(LABELS, &word.lower);
    if is_condition || is_label {
        return false;
    }
    // `Generic traits are` says nothing about all traits.
    let is_narrowed = !is_name
        && first.checked_sub(1).map(|at| &line.words[at]).is_some_and(|word| {
            let gap = line.text.get(word.at + word.text.len()..line.words[first].at).unwrap_or_default();
            matches!(gap, " " | ") ")
                && !is_stop_word(&word.lower)
                && !any_word(ARTICLES, &word.lower)
                && word.lower.chars().all(char::is_alphabetic)
        });
    const NAMED: &[&str] = &[
        "called",
        "called the",
        "called a",
        "called an",
        "known as",
        "known as the",
        "named",
        "termed",
        "so-called",
        "genannt",
        "sogenannte",
        "sogenannter",
        "namens",
        "als",
    ];
    if question.acts && USES.iter().any(|mark| behind.starts_with(mark)) {
        return true;
    }
    if question.acts {
        let subject_first = line.words[..first].iter().all(|word| is_stop_word(&word.lower));
        let next = line.words.get(end + 1).filter(|_| subject_first);
        if next.is_some_and(|next| is_tagged(line, next, &[UPOS::VERB, UPOS::AUX])) {
            return true;
        }
    }
    let is_row = line.form == LineForm::Row && first <= 1;
    // `The name of the demon Ash is` says nothing about Ash.
    let is_inner = line.words[..first].iter().rev().take(MAX_INNER).any(|word| {
        let between = line.text.get(word.at..line.words[first].at).unwrap_or_default();
        any_word("of by from about von", &word.lower) && !between.contains([',', ';', ':', '('])
    });
    const NO_DEFINITION: &str = "not nicht außer for für in im at on auch also only nur very sehr still noch already schon now jetzt here hier there dort \
        used called able likely unlikely available possible ready to zu by von with mit often oft always immer never nie just even so too";
    let says_more = || {
        let [copula, next] = [1, 2].map(|ahead| line.words.get(end + ahead));
        let (Some(copula), Some(next)) = (copula, next) else { return false };
        // The tags are those of English.
        let is_english = any_word("is was are were", &copula.lower);
        (is_english || any_word("ist war sind waren", &copula.lower))
            && (any_word(NO_DEFINITION, &next.lower) || is_english && is_tagged(line, next, &[UPOS::VERB]))
    };
    let defines = |behind: &str| copulas().any(|mark| behind.starts_with(mark));
    // `A fork, in the field of software, means`
    let behind_insertion = || {
        let (inserted, rest) = behind.strip_prefix(", ")?.split_once(',')?;
        (inserted.len() <= MAX_INSERTION).then_some(rest)
    };
    let copula = near_start
        && !is_narrowed
        && !is_inner
        && (defines(behind) && !says_more() || behind_insertion().is_some_and(defines));
    let german = (lower.starts_with("als ") || lower.starts_with("unter "))
        && ["bezeichnet", "versteht", "nennt"].iter().any(|verb| lower.contains(verb));
    let named = NAMED.iter().any(|mark| before.ends_with(&format!(" {mark}")));
    let is_addressed = is_name && addresses(line, line.words[first].at, word.at + word.text.len());
    let described = behind.starts_with(", a ")
        || behind.starts_with(", an ")
        || behind.starts_with(", which is ")
        || behind.starts_with(", which are ")
        || is_name
            && (behind.starts_with(", a")
                || behind.starts_with(", the ")
                || behind.starts_with(" (")
                || behind.starts_with(", who ")
                || behind.starts_with(", de")
                || behind.starts_with(", di")
                || first == 0 && is_described_by_phrase(line, end)
                || before.ends_with(',') && !behind.starts_with(' '));
    is_row || copula || german || named || (described && !is_addressed)
}

/// True if a word has one of these parts of speech.
fn is_tagged(line: &Line<'_>, word: &Word<'_>, tags: &[UPOS]) -> bool {
    tokens(line.text, 0..line.text.len())
        .iter()
        .any(|token| token.start == word.at && tags.contains(&token.tag))
}
