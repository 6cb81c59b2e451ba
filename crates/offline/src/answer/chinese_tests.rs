//! Answers from Chinese texts.

use super::test_support::{check_in, check_no_answer_in, check_of, reply_from};
use super::*;

#[test]
fn scripts_without_spaces_are_answered_too() {
    const TEXTS: [&str; 3] = [
        "云岭大桥\n\n云岭大桥位于澜江之上，由工程师林书豪设计，于1998年建成通车。大桥连接了南州市与北泉县。",
        "林书豪\n\n林书豪是一位桥梁工程师，1955年出生于海宁市。他毕业于东华理工大学。",
        "吉田翔太\n\n吉田翔太は映画監督で、1920年に鎌倉市で生まれた。晩年は木曽林業の顧問を務めた。",
    ];
    let passages = TEXTS.map(|text| Passage { text, title: "", headings: &[] });
    for (question, expected) in [
        ("谁设计了云岭大桥？", Some("云岭大桥位于澜江之上，由工程师林书豪设计，于1998年建成通车。")),
        ("林书豪出生在哪里？", Some("林书豪是一位桥梁工程师，1955年出生于海宁市。")),
        ("林书豪的妻子是谁？", None),
        ("云岭大桥有多少车道？", None),
    ] {
        let found = match reply(question, &passages) {
            Reply::Answer(quotes) => quotes.last().map(|quote| &TEXTS[quote.passage][quote.range.clone()]),
            Reply::Likely(_) | Reply::Closest(_) | Reply::Nothing => None,
        };
        assert_eq!(found, expected, "{question}");
    }
}

#[test]
fn entries_in_chinese_brackets_and_circles_are_a_list() {
    const TEXT: &str = "研究者把游客分成三种类型。\n\n（1）赶路型：只看门票上的景点。\n\n（2）闲逛型：没有计划。\n\n（3）研究型：带着书来。\n\n景区因此调整了路线。";
    check_in(
        "游客研究",
        TEXT,
        "研究者把游客分成哪三种类型？",
        &[
            "研究者把游客分成三种类型。",
            "（1）赶路型：只看门票上的景点。",
            "（2）闲逛型：没有计划。",
            "（3）研究型：带着书来。",
        ],
    );
    let circled = TEXT.replace("（1）", "①").replace("（2）", "②").replace("（3）", "③");
    let (reply, texts) = reply_from(&[&circled], "研究者把游客分成哪三种类型？");
    assert!(matches!(reply, Reply::Answer(_)), "{reply:?}");
    assert!(["①", "②", "③"].iter().all(|entry| texts.concat().contains(entry)), "{texts:?}");
}

#[test]
fn a_year_is_not_a_duration() {
    const TEXT: &str = "1951年，林书豪参加了环湖自行车赛。他一共骑了六天十四个小时。";
    let (_, texts) = reply_from(&[TEXT], "林书豪骑完环湖自行车赛用了多久？");
    assert!(texts.iter().any(|text| text.contains("六天")), "{texts:?}");
}

#[test]
fn single_character_chinese_verbs_must_occur_in_the_answer() {
    check_of(&["邱明是工程师。邱明住在小学校里。"], "邱明住在哪里？", &["邱明住在小学校里。"]);
    check_no_answer_in("邱明在柳湾修桥，师从马林教授。", "谁杀了邱明？");
    check_no_answer_in("邱明1963年出生。邱明在柳湾修桥。", "邱明住在哪里？");
}

#[test]
fn a_chinese_number_with_a_measure_word_is_not_a_price() {
    check_no_answer_in("县里在柳湾修了一座石桥。", "石桥花了多少钱？");
    check_of(&["石桥一共花了八万元。"], "石桥花了多少钱？", &["石桥一共花了八万元。"]);
}

#[test]
fn the_content_of_a_thing_in_chinese_needs_a_word_for_inside() {
    check_no_answer_in("河上漂来一只木箱。", "木箱里有什么？");
    check_of(&["木箱里面是一把胡琴。"], "木箱里有什么？", &["木箱里面是一把胡琴。"]);
}
