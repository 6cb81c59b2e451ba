//! Answers from manuals.

use super::test_support::reply_from;
use super::*;

#[track_caller]
fn check(texts: &[&str], question: &str, expected: &str) {
    let (reply, quotes) = reply_from(texts, question);
    assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{question}: {reply:?}");
    assert!(quotes.iter().any(|quote| quote.contains(expected)), "{question}: {quotes:?}");
}

#[test]
fn of_two_answering_lines_the_more_likely_one_is_given() {
    let first = "Looms need a list of thread sources: the file /etc/loom/threads.list lists the shops that sell thread.";
    let other = "This file lists all sources of threads that belong to the third version.";
    let texts = [first, "Looms are large.", "A shuttle carries the weft.", other];
    check(&texts, "Which file lists the thread sources?", "threads.list");
}

#[test]
fn the_use_of_a_thing_can_be_stated_in_any_clause() {
    let text = "Tessel reads a folder. Unlike Ondo, and in most offices, Tessel is used to check the lamps of a pier. Tessel has a large window.";
    for question in ["What is Tessel used for?", "What is Tessel for?"] {
        check(&[text], question, "is used to check the lamps");
    }
}

#[test]
fn a_definition_can_contain_a_parenthetical_phrase() {
    let text = "A “berth”, in the language of sailors, means a place to lie. Every berth has a number.";
    for question in ["What is a berth?", "What is meant by a berth?"] {
        check(&[text], question, "means a place to lie");
    }
}

#[test]
fn a_number_before_a_comma_is_not_a_count() {
    let question = "How many packages does Tessel have?";
    let (reply, _) = reply_from(&["Chapter 15, Building a Tessel Package, has examples."], question);
    assert!(!matches!(reply, Reply::Answer(_)), "{reply:?}");
    check(&["Tessel has 15 official packages."], question, "15 official");
}

#[test]
fn an_adverb_says_how_often() {
    check(&["The members annually elect a chair."], "How often do the members elect a chair?", "annually");
    check(&["Der Rat tagt vierteljährlich in Osten."], "Wie oft tagt der Rat in Osten?", "vierteljährlich");
}

#[test]
fn a_name_next_to_the_class_word_is_an_instance() {
    let is_instance = |text: &str, question: &str| {
        let passages = [Passage { text, title: "", headings: &[] }];
        let reading = Passages::read(question, &passages);
        kinds::names_instance(&reading.parse_question(question), &reading.lines[0])
    };
    let question = "Which package contains the lamp server?";
    for text in [
        "You should install the lampd-hpa package.",
        "The fitting package is called lampd-hpa.",
        "Most people install package Pharos first.",
    ] {
        assert!(is_instance(text, question), "{text}");
    }
    for text in
        ["The package contains a lamp.", "The lamp server is a package.", "Lampd-hpa contains a lamp."]
    {
        assert!(!is_instance(text, question), "{text}");
    }
    assert!(is_instance("Der Fluss Alden fließt im Tal.", "Welcher Fluss fließt im Tal?"));
}

#[test]
fn dates_can_have_spaces_between_digits_and_chinese_characters() {
    check(&["Ines Okafor 于 1931 年 12 月 28 日在灯塔去世。"], "Ines Okafor 是哪一天去世的？", "1931 年");
}

#[test]
fn a_chinese_question_can_end_with_what_is() {
    check(&["前端：lamp、tessel", "tessel 是灯塔的控制程序。"], "tessel 是什么？", "控制程序");
}

#[test]
fn a_digit_inside_a_word_is_no_amount() {
    let table = "| field | meaning | type |\n|---|---|---|\n| used | Size of a ferry crate | uint64 |";
    let (reply, quotes) = reply_from(&[table, "Ferries are painted."], "How large is a ferry crate?");
    assert!(matches!(reply, Reply::Closest(_) | Reply::Nothing), "{reply:?}: {quotes:?}");
    let measured = "| field | meaning | value |\n|---|---|---|\n| used | Size of a ferry crate | 16 MB |";
    check(&[measured, "Ferries are painted."], "How large is a ferry crate?", "16 MB");
}

#[test]
fn units_of_time_without_a_number_are_no_time() {
    let question = "Which day does the count of ferries begin with?";
    let (reply, quotes) = reply_from(&["The count of ferries begins with days or weeks."], question);
    assert!(!matches!(reply, Reply::Answer(_)), "{reply:?}: {quotes:?}");
    check(&["The count of ferries begins with Monday."], question, "Monday");
    check(
        &["The ferry of Osten sank two days later."],
        "When did the ferry of Osten sink?",
        "two days later",
    );
}

#[test]
fn a_line_with_only_a_part_of_the_class_is_no_answer() {
    let question = "Which WXR network carries the ferry channel?";
    let text = "If you are unsure, then ask in the ferry channel on WXR.";
    let (reply, quotes) = reply_from(&[text, "Ferries are painted."], question);
    assert!(!matches!(reply, Reply::Answer(_)), "{reply:?}: {quotes:?}");
    check(&["The WXR network Lantern carries the ferry channel."], question, "Lantern");
}

#[test]
fn a_unit_rules_out_other_measures_in_every_spelling() {
    for unit in ["litres", "l", "kw", "gallons"] {
        let text = format!("The ferry tank holds a weight of 40 {unit}.");
        let (reply, _) = reply_from(&[&text, "Ferries are painted."], "How heavy is the ferry tank?");
        assert!(!matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{unit}: {reply:?}");
    }
}

#[test]
fn a_share_in_per_cent_is_no_price() {
    let is_money = |text: &str| {
        let passages = [Passage { text, title: "", headings: &[] }];
        measures::holds_money(&Passages::read("What does it cost?", &passages).lines[0])
    };
    assert!(!is_money("The ferry is full on 94 per cent of all days."));
    assert!(is_money("The ferry takes 94 cents."));
}
