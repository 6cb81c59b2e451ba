//! Reads subtitles, SubRip and WebVTT, as the spoken words, without numbers and times.

use super::Body;
use super::aligned::AlignedText;

/// Endings of a line after which the next one begins a sentence, apart from closing quotes.
const STOPS: [char; 10] = ['.', '!', '?', '…', ':', '。', '！', '？', '♪', ']'];

/// Returns the words of the cues. Each sentence is on the line where it begins, even if it continues in later cues.
///
/// - A line that repeats the one before it, as in automatic captions, is left out, and so are notes, styles and tags.
/// - The speaker of a WebVTT cue precedes the words: `Ada: Hello`.
pub(super) fn parse(source: &str) -> Body {
    let mut out = AlignedText::new(source);
    let mut last = String::new();
    let mut in_cue = false;
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        if is_timing(bare) {
            in_cue = true;
            continue;
        }
        in_cue &= !bare.is_empty();
        let words = if in_cue { words_of(bare) } else { String::new() };
        if words.is_empty() || words == last {
            continue;
        }
        let before = out.text().trim_end_matches(['"', '”', '’', '\'', '»', '“', ')', ' ']);
        if out.text().is_empty()
            || before.ends_with(STOPS)
            || words.starts_with(['-', '–', '[', '(', '♪'])
            || is_spoken(&words)
        {
            out.new_line(start);
        } else {
            out.push(" ");
        }
        out.push(&words);
        last = words;
    }
    let (text, lines_match_source) = out.finish();
    Body { lines_match_source, ..Body::verbatim(text) }
}

/// True if a text has the times of a cue in its first lines.
pub(super) fn looks_like(text: &str) -> bool {
    const MAX_HEAD_LINES: usize = 50;
    text.lines().take(MAX_HEAD_LINES).any(|line| is_timing(line.trim()))
}

/// True if a line gives the times of a cue: `00:01:02,500 --> 00:01:04,000`, with settings behind it in WebVTT.
fn is_timing(line: &str) -> bool {
    let is_time = |time: &str| {
        time.contains(':') && time.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | ',' | '.'))
    };
    line.split_once(" --> ").is_some_and(|(start, end)| {
        is_time(start.trim()) && end.split_whitespace().next().is_some_and(is_time)
    })
}

/// True if a line begins with the name of its speaker, which [`words_of`] writes before the words.
fn is_spoken(words: &str) -> bool {
    const MAX_NAME_CHARS: usize = 30;
    words.split_once(": ").is_some_and(|(name, _)| {
        name.starts_with(char::is_uppercase) && name.chars().count() <= MAX_NAME_CHARS
    })
}

/// Returns the words of a line of a cue: without tags (`<i>`, `{\an8}`), and with the name of a voice tag before them.
fn words_of(line: &str) -> String {
    let mut words = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find(['<', '{']) {
        let (before, tag) = rest.split_at(open);
        let close = if tag.starts_with('<') { '>' } else { '}' };
        let is_tag = tag[1..].starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '\\'));
        words.push_str(before);
        match tag.find(close).filter(|_| is_tag) {
            Some(end) => {
                let voice = tag[1..end].strip_prefix('v').filter(|voice| voice.starts_with([' ', '.']));
                if let Some((_, name)) = voice.and_then(|voice| voice.split_once(' ')) {
                    words.push_str(&format!("{}: ", name.trim()));
                }
                rest = &tag[end + 1..];
            }
            None => {
                words.push_str(&tag[..1]);
                rest = &tag[1..];
            }
        }
    }
    words.push_str(rest);
    graphloom_text::unescape(&words).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_subtitles(source: &str, expected: &str) {
        let body = parse(source);
        assert_eq!((body.text.as_str(), body.lines_match_source), (expected, true));
    }

    #[test]
    fn sentences_continue_across_cues_and_are_placed_where_they_start() {
        check_subtitles(
            "1\n00:00:01,000 --> 00:00:02,500\nThe mill was built\n<i>by Ada</i>\n\n2\n00:00:02,600 --> 00:00:04,000\n{\\an8}in Brno. It\nleaks.\n\n\
             3\n00:00:05,000 --> 00:00:06,000\n- Who says so?\n- Bo.\n",
            "\n\nThe mill was built by Ada in Brno. It leaks.\n\n\n\n\n\n\n\n\n\n- Who says so?\n- Bo.\n",
        );
    }

    #[test]
    fn speakers_are_named_and_notes_and_repeated_lines_are_dropped() {
        check_subtitles(
            "WEBVTT - Mill\n\nNOTE checked\nby Cy\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Ada>It leaks &amp;\n\n\
             00:02.000 --> 00:03.000\nAda: It leaks &amp;\n<00:02.500><c>drips</c>\n\n00:03.000 --> 00:04.000\n<v.loud Bo Mill>5 < 6\n",
            "\n\n\n\n\n\n\n\n\n\nAda: It leaks & drips\n\n\n\n\n\n\nBo Mill: 5 < 6\n",
        );
    }

    #[test]
    fn text_without_cues_has_no_words() {
        assert_eq!(parse("Words\n").text.trim(), "");
        assert!(!looks_like("Words --> more\n") && looks_like("WEBVTT\n\n00:01.000 --> 00:02.000\nHi"));
    }
}
