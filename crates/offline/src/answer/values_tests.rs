//! Which lines contain a value of the kind that a question asks for.

use super::*;

/// Checks whether the first line of a text has what the question asks for.
#[track_caller]
fn check(question: &str, text: &str, expected: bool) {
    let passages = [Passage { text, title: "", headings: &[] }];
    let reading = Passages::read(question, &passages);
    let parsed = reading.parse_question(question);
    assert_eq!(kinds::holds(&parsed, &reading.lines[0], None), expected, "{question} {text} {parsed:?}");
}

#[test]
fn a_greeting_is_no_time() {
    for (message, expected) in [
        ("Morning all. The kettle of the office is broken.", false),
        ("Good morning! The kettle of the office is broken.", false),
        ("The new kettle comes tomorrow morning.", true),
    ] {
        let chat = format!("[08:52] Ines: {message}\n[08:54] Olek: Thanks.\n[08:56] Ines: See you.");
        check("When will the new kettle arrive?", &chat, expected);
    }
}

#[test]
fn a_weekly_habit_and_the_clause_with_the_event_do_not_say_when_something_happened() {
    let question = "When did Ines move to Osten?";
    check(
        question,
        "Ines gave me the plant when she moved to Osten, with a note: \"Water on Fridays.\"",
        false,
    );
    check(question, "Ines moved to Osten on a Friday.", true);
    check("When does the library open?", "The library opens on Fridays.", true);
}

#[test]
fn a_noun_for_a_measure_asks_for_its_unit() {
    for (question, text, expected) in [
        (
            "What temperature is the pool heated to?",
            "Children under 14 swim in the pool from 7 to 8.30 am.",
            false,
        ),
        ("What temperature is the pool heated to?", "The pool is heated to 28 °C.", true),
        ("What is the weight of the outdoor unit?", "The outdoor unit draws 3 kW.", false),
        ("How much does the outdoor unit weigh?", "The outdoor unit draws 3 kW.", false),
        ("How much does the outdoor unit weigh?", "The outdoor unit weighs 41 kg.", true),
        ("How high will the ramp be?", "The ramp costs £68,000.", false),
        ("How high is the fee?", "The fee is £68.", true),
        ("What is the length of the course?", "The course takes six weeks.", true),
    ] {
        check(question, text, expected);
    }
}

#[test]
fn an_interval_before_an_event_is_no_duration() {
    let question = "How long does the repair take?";
    check(question, "The repair was announced six weeks later.", false);
    check(question, "The repair takes six weeks.", true);
}

#[test]
fn the_day_of_a_date_and_a_time_of_day_are_no_amount() {
    let question = "What is the population of Port Alden?";
    check(question, "She died on 28 December in Port Alden.", false);
    check(question, "Port Alden opens its gate at 10 am.", false);
    check(question, "Port Alden has 4,100 inhabitants.", true);
}

#[test]
fn a_question_for_a_name_needs_a_name() {
    for (question, text, expected) in [
        ("What is the name of the baker?", "The baker is a friend of the mayor.", false),
        ("What is the parrot called?", "The parrot sits in a cage.", false),
        ("What is the parrot called?", "The parrot, Olek, sits in a cage.", true),
        ("What is this rule called?", "This rule is called orphan rule.", true),
        ("What is the name of the studio?", "On the 2 TB cache of a studio, this takes four minutes.", false),
        ("三个徒弟叫什么？", "造船的是他的三个徒弟。", false),
        ("船叫什么名字？", "这条船取名“海燕”。", true),
    ] {
        check(question, text, expected);
    }
}

#[test]
fn a_chinese_number_needs_the_unit_of_the_question() {
    for (question, text, expected) in [
        ("医院有多少张床位？", "医院离镇上四十公里，有居民2.7万人。", false),
        ("医院有多少张床位？", "医院有床位120张。", true),
        ("要等几个月？", "一夜之间不可能。", false),
        ("要等几个月？", "大约要等三个月。", true),
        ("馆里有多少本书？", "馆里藏书三万册。", true),
        ("馆里有多少名员工？", "馆里有员工212人。", true),
    ] {
        check(question, text, expected);
    }
}

#[test]
fn the_value_of_a_row_is_not_that_of_a_thing_it_lists() {
    let table = "part: R1 | fits: G2; G3 | price: 9 euros\npart: R2 | fits: G4 | price: 7 euros";
    test_support::check_no_answer_in(table, "How much does the G3 cost?");
    test_support::check_in(
        "",
        table,
        "How much does the R1 cost?",
        &["part: R1 | fits: G2; G3 | price: 9 euros"],
    );
}

#[test]
fn an_amount_is_no_name_of_the_requested_class() {
    let text =
        "The lift was out of order in November. The repair cost £2,840, of which the insurance pays £1,900.";
    test_support::check_no_answer_in(text, "Which company repaired the lift?");
}
