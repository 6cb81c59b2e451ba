//! Cuts scripts that write no spaces into runs that may be words.

use std::ops::Range;

/// Longest run of ideographs taken for one word.
const MAX_RUN_CHARS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Ideograph,
    Katakana,
    Hangul,
    /// Thai, Lao, Khmer, Burmese.
    SouthEastAsian,
    Other,
}

/// Whether a word is of a script that writes no spaces, or of Korean, whose words carry particles.
pub(super) fn has_no_spaces(word: &str) -> bool {
    word.chars().any(|c| script(c) != Script::Other || is_hiragana(c))
}

/// Byte ranges of `text` that may be words: ideographs between function characters, katakana, Korean words without
/// their particle, stretches of the scripts of South-East Asia.
pub(super) fn runs(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut run: Option<(Script, usize)> = None;
    for (at, c) in text.char_indices().chain(std::iter::once((text.len(), ' '))) {
        let kind = if is_function_char(c) { Script::Other } else { script(c) };
        match run {
            Some((current, _)) if current == kind => {}
            Some((current, start)) => {
                push_run(text, current, start..at, &mut found);
                run = (kind != Script::Other).then_some((kind, at));
            }
            None => run = (kind != Script::Other).then_some((kind, at)),
        }
    }
    found
}

fn push_run(text: &str, script: Script, mut range: Range<usize>, found: &mut Vec<Range<usize>>) {
    if script == Script::Hangul {
        const PARTICLES: [&str; 18] = [
            "에서는",
            "으로는",
            "에서",
            "에게",
            "으로",
            "까지",
            "부터",
            "은",
            "는",
            "이",
            "가",
            "을",
            "를",
            "의",
            "에",
            "와",
            "과",
            "로",
        ];
        let word = &text[range.clone()];
        let bare = PARTICLES.iter().find_map(|particle| word.strip_suffix(particle)).unwrap_or(word);
        if bare.chars().count() >= 2 {
            range.end = range.start + bare.len();
        }
    }
    let count = text[range.clone()].chars().count();
    let fits = match script {
        Script::Ideograph => (2..=MAX_RUN_CHARS).contains(&count),
        Script::Katakana | Script::Hangul => count >= 2,
        Script::SouthEastAsian => count >= 3,
        Script::Other => false,
    };
    if fits {
        found.push(range);
    } else if script == Script::Ideograph && count > MAX_RUN_CHARS {
        // No dictionary tells where the words are; the ends of a long run are the likeliest.
        let at = |n: usize| {
            text[range.clone()].char_indices().nth(n).map_or(range.end, |(at, _)| range.start + at)
        };
        found.push(range.start..at(4));
        found.push(at(count - 4)..range.end);
    }
}

fn script(c: char) -> Script {
    match c {
        '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}'
        | '々' => Script::Ideograph,
        '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9f}' => Script::Katakana,
        '\u{ac00}'..='\u{d7a3}' => Script::Hangul,
        '\u{e00}'..='\u{e7f}' | '\u{e80}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => {
            Script::SouthEastAsian
        }
        _ => Script::Other,
    }
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

/// Ideographs that join and modify words more often than they are part of a name.
fn is_function_char(c: char) -> bool {
    "的了在是和与及也有为為以于於等不这這那我你他她它们們之其而或但就都被把从從到对對将將并並與、".contains(c)
}
