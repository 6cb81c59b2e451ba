//! Answers from texts that paraphrase the question.

use super::*;

fn reply_from(text: &str, title: &str, question: &str) -> Reply {
    reply(question, &[Passage { text, title, headings: &[] }])
}

#[track_caller]
fn check(text: &str, question: &str, answers: bool) {
    let reply = reply_from(text, "", question);
    assert_eq!(matches!(reply, Reply::Answer(_)), answers, "{question}: {reply:?}");
}

#[test]
fn a_verb_can_be_paraphrased_if_all_other_words_match() {
    let text = "The Osten Society shelved the plan of the Velora Bridge in 1931.";
    check(text, "When did the Osten Society wreck the plan of the Velora Bridge?", true);
    check(text, "When was the Osten Society praised?", false);
    let text = "The survey of Port Alden was made by Ines Okafor in the spring.";
    check(text, "Who illustrated the survey of Port Alden in the spring?", true);
    check(text, "Who illustrated the survey?", false);
}

#[test]
fn only_a_word_for_birth_answers_a_question_about_a_birth() {
    let text = "Ines Okafor taught the children of the mill in Bellmoor.";
    check(text, "Where were the children of Ines Okafor born?", false);
}

#[test]
fn synonyms_answer_a_question() {
    check("Okafor emigrated to Halden in 1931.", "When did Okafor move to Halden?", true);
    check("Okafor heiratete im Mai Jost Brandt.", "Wann war die Hochzeit von Okafor?", true);
    check("枢密院掌管军队。", "哪个机构负责军队？", true);
}

#[test]
fn a_sum_of_money_answers_a_question_about_cost() {
    let text = "The Hollin mansion, a $4.2 million project, has 12 rooms.";
    check(text, "How much did the Hollin mansion cost?", true);
    check("The Hollin mansion has 12 rooms.", "How much did the Hollin mansion cost?", false);
    check("Der Schaden beträgt etwa 10.500 EUR.", "Wie hoch ist der Schaden?", true);
    check("Sales of Braidline rose to 8,300,000 crowns.", "What does a set of Braidline cost?", false);
    let row = "Property: Posts in a set | Value: 4\n";
    let reply = reply_from(row, "Braidline", "What does a set of Braidline cost?");
    assert!(matches!(reply, Reply::Closest(_)), "{reply:?}");
}

#[test]
fn the_years_of_a_life_are_not_a_place() {
    let text =
        "Ines Okafor (1931 – 1999) was queen by marriage to King Orson from 1955 to his death in 1960.";
    check(text, "Where did Ines Okafor die?", false);
    check("Ines Okafor (born 3 May 1931) is an engineer.", "Where was Ines Okafor born?", false);
    check("Ines Okafor (born 3 May 1931) is an engineer.", "When was Ines Okafor born?", true);
}

#[test]
fn a_child_of_one_person_has_that_person_as_parent() {
    let text = "Robert Dray, Lord of Halden, was the son of Hugo Dray.";
    check(text, "Who was the father of Robert Dray?", true);
    check(text, "Who was the father of Hugo Dray?", false);
    check("Ida Lund's daughter Marta kept the mill.", "Who is Marta's mother?", true);
}

#[test]
fn a_german_genitive_owns_the_noun_after_it() {
    check("Teslas Werkstatt brannte. Brandts Frau sang im Chor.", "Wer war Teslas Frau?", false);
}

#[test]
fn german_participles_count_as_verbs() {
    check(
        "Eine 1872 beim Rat eingereichte Skizze sah zwei Brunnen vor.",
        "Wann wurde die Skizze eingereicht?",
        true,
    );
    check("Der 75-jährige Fahrer blieb unverletzt.", "Wie alt war der Fahrer?", true);
    check("Die meisten Häuser sind alt.", "Wer ist der Bürgermeister?", false);
}

#[test]
fn a_short_chat_message_can_answer_about_its_speaker() {
    let text = "IdaLund: Who has the balls?\nOrsonMoe: I'll bring the cones, friends.\nIdaLund: Good, our team needs them!";
    let (_, texts) = test_support::reply_from(&[text], "Who is going to bring the cones to practice?");
    assert_eq!(texts, ["OrsonMoe: I'll bring the cones, friends."]);
}

#[test]
fn a_chinese_question_can_state_the_number_of_items() {
    check("文件有三种状态：\n\n* 已提交\n* 已修改\n* 已暂存\n", "文件有哪三种状态？", true);
}

#[test]
fn a_likely_answer_is_marked_as_likely() {
    let text = "Fixed: the cursor jumped to the end after undo. The export keeps bookmarks.";
    let Reply::Likely(quotes) = reply_from(text, "", "What was wrong with the cursor after undo?") else {
        panic!("nothing likely");
    };
    assert!(text[quotes[0].range.clone()].starts_with("Fixed: the cursor jumped to the end after undo."));
    let unlikely = reply_from(text, "", "How old is the cursor?");
    assert!(matches!(unlikely, Reply::Closest(_)), "{unlikely:?}");
}

#[test]
fn people_are_counted_by_any_word_for_them() {
    let (reply, texts) = test_support::reply_from(
        &["The mill has 140 employees and no debts."],
        "How many people work in the mill?",
    );
    assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)) && texts.len() == 1, "{reply:?}");
    check("Working temperature of the mill: minus 8 degrees.", "How many people work in the mill?", false);
}

#[test]
fn a_denied_statement_is_not_an_answer() {
    check("Halden Metering has never owned a patent.", "Who owns the patent?", false);
    check("Halden Metering owns the patent.", "Who owns the patent?", true);
}

#[test]
fn a_sound_that_is_born_does_not_answer_about_a_person() {
    let text = "The order of the echoes depends on where the sound is born in the pipe.";
    let reply = reply_from(text, "Echoes, by Ines Okafor", "Where was Ines Okafor born?");
    assert!(!matches!(reply, Reply::Answer(_)), "{reply:?}");
}

#[test]
fn a_line_with_one_of_two_steps_is_not_an_answer() {
    let text = "Ines Okafor is a soccer player currently playing for Halden United in the Osten League.";
    let check = |question: &str, likely: bool| {
        let reply = reply_from(text, "", question);
        assert_eq!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), likely, "{question}: {reply:?}");
    };
    check("In which league does Ines Okafor play soccer?", true);
    check("Which city hosts the league that Ines Okafor plays soccer in?", false);
    check("What is the colour of the shirt of the club of Ines Okafor?", false);
    check("Who plays soccer in a larger league, Ines Okafor or Jost Brandt?", false);
}

#[test]
fn a_decade_is_matched_by_its_years() {
    let text =
        "The boat race was held until 1914. A teacher, Dilys Orr, revived it in 1973. The club has 40 boats.";
    for question in ["Who revived the boat race in the seventies?", "Who revived the boat race in the 1970s?"]
    {
        let (_, texts) = test_support::reply_from(&[text], question);
        assert!(test_support::joined(&texts).contains("Dilys Orr"), "{question}: {texts:?}");
    }
}
