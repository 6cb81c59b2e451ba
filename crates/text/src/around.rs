//! Finds the lines around an article that are not part of it: bylines, dates of publication, credits of pictures, links to share
//! it.

use std::ops::Range;

/// Longest such line, in characters.
const MAX_LINE_CHARS: usize = 120;
/// Most words of a byline after its first.
const MAX_BYLINE_WORDS: usize = 8;
/// Minimum words of a line that consists of links such as `Share Tweet Print`.
const MIN_LINKS: usize = 3;

/// Words before the colon of such a line, in lower case.
const LABELS: [&str; 33] = [
    "photo",
    "photos",
    "photo credit",
    "photograph",
    "image credit",
    "picture credit",
    "filed under",
    "tags",
    "categories",
    "read more",
    "read also",
    "related",
    "related articles",
    "published",
    "published on",
    "posted",
    "posted on",
    "updated",
    "last updated",
    "foto",
    "fotos",
    "bildquelle",
    "schlagwörter",
    "mehr zum thema",
    "lesen sie auch",
    "veröffentlicht",
    "aktualisiert",
    "lesezeit",
    "图片来源",
    "标签",
    "原标题",
    "原文链接",
    "更新时间",
];
/// Labels that appear together in such a line: `作者：王小明 来源：科技日报`.
const BYLINE_LABELS: [&str; 23] = [
    "author",
    "source",
    "editor",
    "date",
    "by",
    "autor",
    "quelle",
    "redaktion",
    "datum",
    "作者",
    "来源",
    "來源",
    "编辑",
    "編輯",
    "责任编辑",
    "責任編輯",
    "记者",
    "記者",
    "发布时间",
    "发布日期",
    "發佈時間",
    "时间",
    "日期",
];
/// Beginnings of such a line before a date.
const BEFORE_DATES: [&str; 12] = [
    "published",
    "posted",
    "updated",
    "last updated",
    "last modified",
    "first published",
    "veröffentlicht",
    "aktualisiert",
    "zuletzt aktualisiert",
    "publié le",
    "mis à jour",
    "发布于",
];
/// Words of links beside an article.
const LINKS: [&str; 30] = [
    "share",
    "tweet",
    "email",
    "e-mail",
    "print",
    "like",
    "comment",
    "comments",
    "facebook",
    "twitter",
    "linkedin",
    "whatsapp",
    "pinterest",
    "reddit",
    "instagram",
    "youtube",
    "telegram",
    "xing",
    "teilen",
    "drucken",
    "on",
    "via",
    "auf",
    "分享",
    "点赞",
    "收藏",
    "评论",
    "转发",
    "关注",
    "阅读原文",
];
/// Texts that mark such a line wherever they occur in it.
const PARTS: [&str; 10] = [
    "all rights reserved",
    "alle rechte vorbehalten",
    "tous droits réservés",
    "our newsletter",
    "unseren newsletter",
    "newsletter abonnieren",
    "min read",
    "minute read",
    "版权所有",
    "转载请注明",
];

/// Returns the ranges of the lines around articles, ascending. Such a line stands apart from the text: between blank lines,
/// headings and other such lines.
pub(super) fn around(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let lines: Vec<(Range<usize>, Line)> = text
        .split_inclusive('\n')
        .map(|line| {
            at += line.len();
            (at - line.len()..at, Line::of(line))
        })
        .collect();
    let is_apart = |line: Option<usize>| {
        line.and_then(|line| lines.get(line)).is_none_or(|(_, line)| *line != Line::Text)
    };
    let found = lines.iter().enumerate().filter(|(at, (_, line))| {
        *line == Line::Around && is_apart(at.checked_sub(1)) && is_apart(Some(at + 1))
    });
    found.map(|(_, (range, _))| range.clone()).collect()
}

#[derive(PartialEq, Eq)]
enum Line {
    Blank,
    Heading,
    /// The line may be around an article.
    Around,
    Text,
}

impl Line {
    fn of(line: &str) -> Self {
        let line = line.trim().trim_matches(['*', '_']);
        if line.is_empty() {
            Self::Blank
        } else if line.starts_with('#') {
            Self::Heading
        } else if is_around(line) {
            Self::Around
        } else {
            Self::Text
        }
    }
}

fn is_around(line: &str) -> bool {
    if line.chars().count() > MAX_LINE_CHARS {
        return false;
    }
    let lower = line.to_lowercase();
    let is_label = |labels: &[&str]| {
        lower.split_once([':', '：']).is_some_and(|(label, _)| labels.contains(&label.trim()))
    };
    let is_dated = || {
        BEFORE_DATES.iter().any(|start| lower.starts_with(start))
            && lower.contains(|c: char| c.is_ascii_digit())
    };
    let is_claim = || {
        (lower.starts_with("copyright") || line.starts_with('©'))
            && lower.contains(|c: char| c.is_ascii_digit())
    };
    let is_sentence = line.ends_with(['.', '!', '?', '。', '！', '？']);
    let holds = |part: &str| lower.contains(part);
    (!is_sentence
        && (is_label(&LABELS)
            || is_dated()
            || is_byline(line)
            || are_links(&lower)
            || has_byline_labels(&lower)))
        || is_claim()
        || (PARTS.iter().any(|part| holds(part)) && lower.split_whitespace().count() <= MAX_BYLINE_WORDS + 2)
}

/// True for `By Ada Holm, Staff Writer` and `Von Ada Holm und Bo Lund`.
fn is_byline(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let begins = matches!(words.next(), Some("By" | "BY" | "Von" | "VON" | "Par"));
    let words: Vec<&str> = words.collect();
    let is_name = |word: &&str| {
        word.starts_with(char::is_uppercase)
            || matches!(*word, "and" | "und" | "et" | "&" | "for" | "de" | "van" | "von" | "|")
    };
    begins
        && (2..=MAX_BYLINE_WORDS).contains(&words.len())
        && words.iter().all(is_name)
        && !line.contains(|c: char| c.is_ascii_digit())
}

/// True if a line consists of links: `Share on Facebook Share on Twitter`.
fn are_links(lower: &str) -> bool {
    let words: Vec<&str> = lower.split([' ', '|', '·', '•', ',']).filter(|word| !word.is_empty()).collect();
    let least = if lower.is_ascii() { MIN_LINKS } else { 2 };
    words.len() >= least && words.iter().all(|word| LINKS.contains(word))
}

/// True if a line has two labels of a byline, with what they name.
fn has_byline_labels(lower: &str) -> bool {
    let pieces: Vec<&str> = lower.split([':', '：']).collect();
    let before = pieces.split_last().map_or(&[][..], |(_, before)| before);
    let named = before.iter().filter(|piece| {
        let label = piece.rsplit([' ', '\u{3000}', '|', '\t', '/']).next().unwrap_or_default();
        BYLINE_LABELS.contains(&label)
    });
    named.count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_around(text: &str, expected: &[&str]) {
        let found: Vec<&str> = around(text).into_iter().map(|range| text[range].trim()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn bylines_dates_credits_and_links_are_outside_an_article() {
        for line in [
            "By Jane Doe, Staff Writer",
            "*Von Ada Holm und Bo Lund*",
            "Published 12 March 2024, 10:15 AM",
            "5 min read",
            "Share on Facebook Share on Twitter",
            "Photo: Karl Moor / Reuters",
            "Subscribe to our Newsletter",
            "Copyright 2024 Halden Times. All Rights Reserved.",
            "Filed under: News, Energy",
            "作者：王小明  发布时间：2024-03-12  来源：科技日报",
            "阅读原文 点赞 分享 收藏",
        ] {
            check_around(&format!("# Weir\n{line}\n\nThe weir was opened.\n"), &[line]);
        }
    }

    #[test]
    fn sentences_and_lines_inside_a_text_are_part_of_it() {
        for line in [
            "By Monday the weir was open.",
            "By Monday the weir was open",
            "Von Berlin nach Paris",
            "Subscribe to a topic",
            "Author: Ada Holm",
            "Published works of Ada Holm",
            "Search Print",
            "Time: 5 Place: Halden",
            "作者：王小明",
        ] {
            check_around(&format!("{line}\n\nThe weir was opened.\n"), &[]);
        }
        check_around("title: The weir\ntags: water\ndraft: true\n", &[]);
    }
}
