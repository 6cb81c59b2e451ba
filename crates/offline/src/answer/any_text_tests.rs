//! Any question over any text has a reply.

use proptest::prelude::*;

use super::scored::windows;
use super::*;

/// Parts of questions and texts: words with a special meaning, letters whose case has another length, and marks.
const PARTS: &str = "what|who|which|when|where|why|how|how many|how long|What is the difference in|between|compare|and|or|of|the|that|\
    is|are|not|is a|than|larger|cheaper|compared with|old|new|changed|from 4 to|比|in 1931|1932|2.5 km|€|%|Ada|Ada's|İstanbul|Üsküdar|ẞtraße|ﬁn|é|a\u{301}|\u{1F1E9}|Der Unterschied zwischen|und|\
    Wer|der|die|, das|heißt|的|是|什么|有什么区别|和|多少|公司|年|。|？|か|の|?|.|,|:|;|'s|’s|\"|“|”|(|)|*|_|`|-|\u{3000}|\u{200B}";
/// Beginnings and ends of lines.
const BORDERS: &str = "\n|\n\n|\n- |\n1. |\n2) |\n# |\n## İ|\n| |\n|---|\n```\n|\n$ |\r\n|\t|\nFrom: |\n[09:14] Ada: |\n---\ntitle: | | |: | - ";

fn text() -> impl Strategy<Value = String> {
    let part =
        |parts: &'static str| prop::sample::select(parts.split('|').map(str::to_owned).collect::<Vec<_>>());
    let piece = prop_oneof![
        6 => part(PARTS),
        2 => part(BORDERS),
        1 => "[a-zA-Z]{1,6}",
        1 => "\\PC{1,3}",
        4 => Just(" ".to_owned()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_question_over_any_text_has_a_reply(question in text(), texts in prop::collection::vec(text(), 0..4), title in text()) {
        let headings = [title.clone()];
        let passages: Vec<Passage<'_>> =
            texts.iter().map(|text| Passage { text, title: &title, headings: &headings }).collect();
        let quotes = match reply(&question, &passages) {
            Reply::Answer(quotes) | Reply::Likely(quotes) | Reply::Closest(quotes) => quotes,
            Reply::Nothing => Vec::new(),
        };
        for Quote { passage, range, matches } in quotes {
            let is_within = |part: &Range<usize>| range.start <= part.start && part.end <= range.end;
            prop_assert!(texts[passage].get(range.clone()).is_some());
            prop_assert!(matches.iter().all(|part| is_within(part) && texts[passage].get(part.clone()).is_some()));
        }
        sentence_about(&question, &passages);
        looked_for(&question);
        windows(&question, &passages, true);
    }
}

#[test]
fn letters_that_are_longer_in_lowercase_do_not_stop_a_comparison() {
    let texts = ["Üsküdar is a district in Asia.", "Kadıköy is a district with a market."];
    let passages = texts.map(|text| Passage { text, title: "", headings: &[] });
    let question = "In İstanbul, what is the difference between Üsküdar and Kadıköy?";
    assert_ne!(reply(question, &passages), Reply::Nothing);
}
