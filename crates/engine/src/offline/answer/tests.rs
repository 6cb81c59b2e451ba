//! What the rules answer, and what they do not pretend to answer.

use proptest::prelude::*;

use super::*;

const PASSAGES: [&str; 6] = [
    "Velora Bridge\n\nThe Velora Bridge crosses the river Tamsin. It was designed by Ines Okafor. It has four lanes.",
    "Ines Okafor\n\nInes Okafor was an engineer. She was born in Port Alden in 1931. She liked tea.",
    "Port Alden\n\nPort Alden is a town with a small harbour. Many people visit it every year.",
    "Cheese\n\nCheese is made from milk. The curd is pressed at a low temperature, below the boiling point of water.",
    "# Harbour rules\n\n## Three rules of the harbour\n\nKeep these in mind:\n\n- Moor at the bow.\n- Pay at the office.\n- Leave before noon.\n\nThe harbour was closed in 1982 because the channel had silted up. In 1990 it had 40 berths, in 1995 it had 75 berths.",
    "The old pier is 120 metres long. The new pier is 310 metres long.",
];

fn check_reply(question: &str) -> (Reply, Vec<&'static str>) {
    let passages = PASSAGES.map(|text| Passage { text, title: "", headings: &[] });
    let reply = reply(question, &passages);
    let texts = match &reply {
        Reply::Answer(quotes) | Reply::Closest(quotes) => {
            quotes.iter().map(|quote| &PASSAGES[quote.passage][quote.range.clone()]).collect()
        }
        Reply::Nothing => Vec::new(),
    };
    (reply, texts)
}

#[track_caller]
fn check_answer(question: &str, expected: &[&str]) {
    let (reply, texts) = check_reply(question);
    assert!(matches!(reply, Reply::Answer(_)), "{question}: {reply:?}: {texts:?}");
    assert_eq!(texts, expected, "{question}");
}

#[track_caller]
fn check_no_answer(question: &str) {
    let (reply, texts) = check_reply(question);
    assert!(!matches!(reply, Reply::Answer(_)), "{question}: {texts:?}");
}

#[test]
fn a_sentence_that_answers_comes_with_the_one_that_names_its_pronoun() {
    check_answer(
        "Who designed the Velora Bridge?",
        &["The Velora Bridge crosses the river Tamsin.", "It was designed by Ines Okafor."],
    );
    check_answer("What is cheese made from?", &["Cheese is made from milk."]);
}

#[test]
fn a_list_comes_with_what_announces_it() {
    check_answer(
        "What are the three rules of the harbour?",
        &["Keep these in mind:", "- Moor at the bow.", "- Pay at the office.", "- Leave before noon."],
    );
}

#[test]
fn a_question_in_two_steps_gets_both() {
    let (reply, texts) = check_reply("Where was the designer of the Velora Bridge born?");
    assert!(matches!(reply, Reply::Answer(_)), "{reply:?}: {texts:?}");
    assert!(texts.contains(&"It was designed by Ines Okafor."), "{texts:?}");
    assert!(texts.contains(&"She was born in Port Alden in 1931."), "{texts:?}");
}

#[test]
fn a_verb_behind_a_relative_clause_is_asked_of_what_the_clause_describes() {
    let passages = [
        "Nordlicht was introduced by Halden Optics in 2019. It is a lamp for workshops.",
        "Mara Lind is chief executive of Halden Optics. Halden Optics was founded in Tromso by Erik Moe.",
    ];
    check_of(
        &passages,
        "Who is chief executive of the company that introduced Nordlicht?",
        &[
            "Nordlicht was introduced by Halden Optics in 2019.",
            "Mara Lind is chief executive of Halden Optics.",
        ],
    );
    check_of(
        &passages,
        "Where was the company that introduced Nordlicht founded?",
        &[
            "Nordlicht was introduced by Halden Optics in 2019.",
            "Halden Optics was founded in Tromso by Erik Moe.",
        ],
    );
}

#[test]
fn what_is_said_of_something_else_answers_nothing() {
    let story = [
        "Old Wendell was a clerk. His household was poor. In came little Wendell with at least three feet of rope hanging down before him.",
        "The Marsh family sat at the table. The Marsh twins laughed. He had no further talk with neighbours, but lived upon bread ever afterwards.",
        "Ada's niece's sister blushed. And Valentine, said Ada, and his wild brother, Orson, there they go!",
        "It was a sufficient dinner; indeed, as Mrs. Marsh said with great delight, they had not eaten it all at last! Little Tom beat on the table.",
        "Over time, advancements such as carbon paper and the lamp introduced by Halden in 1935 improved the speed of offices, and developments followed.",
        "The sister of the mayor was carried away. Ida saw her thoughts carried out, and was borne to the centre of a group with new-born hope.",
        "Ducks are found in Norway and Chile. Humans have hunted ducks since prehistoric times.",
    ];
    for question in [
        "How tall was Wendell?",
        "Where did the Marsh twins live?",
        "Who is the sister of Ada?",
        "What did Little Tom say at the dinner?",
        "Who invented carbon paper?",
        "Where was Ida born?",
        "In which country are there no ducks?",
        "Why are ducks hunted?",
    ] {
        let passages = story.map(|text| Passage { text, title: "", headings: &[] });
        let reply = reply(question, &passages);
        assert!(!matches!(reply, Reply::Answer(_)), "{question}: {reply:?}");
    }
}

#[test]
fn a_definition_is_of_the_whole_thing_and_of_every_one() {
    check_of(
        &["Generic lanes are the ones listed here.", "A lane is a queue of steps."],
        "What is a lane?",
        &["A lane is a queue of steps."],
    );
}

#[test]
fn a_value_below_its_label_answers() {
    check_of(
        &[
            "Additional offices are in Bellmoor (900 employees).",
            "Number of employees: 2,210 (2023)\nHeadquarters: Mill Lane, Redwick",
        ],
        "Where is the headquarters?",
        &["Headquarters: Mill Lane, Redwick"],
    );
}

#[test]
fn characters_that_ask_stay_where_they_are_part_of_a_word() {
    check_of(&["所有权是一组规则，用于管理内存。"], "什么是所有权？", &["所有权是一组规则，用于管理内存。"]);
    let reply = reply(
        "程序的作者是谁？",
        &[Passage {
            text: "新建程序时增加的作者信息和描述可能看起来像这样。", title: "", headings: &[]
        }],
    );
    assert!(!matches!(reply, Reply::Answer(_)), "{reply:?}");
}

#[test]
fn a_reason_answers_why() {
    check_answer(
        "Why was the harbour closed?",
        &["The harbour was closed in 1982 because the channel had silted up."],
    );
}

#[test]
fn a_year_of_the_question_must_be_the_year_of_the_answer() {
    check_answer(
        "How many berths did the harbour have in 1995?",
        &["In 1990 it had 40 berths, in 1995 it had 75 berths."],
    );
    check_no_answer("How many berths did the harbour have in 1971?");
}

#[test]
fn an_unknown_thing_about_a_known_name_is_not_answered() {
    for question in [
        "What was the name of Ines Okafor's dog?",
        "How tall is Ines Okafor?",
        "When was the Velora Bridge opened?",
        "How many base stations does Port Alden have on Mars?",
        "Who painted the Velora Bridge?",
    ] {
        check_no_answer(question);
    }
}

#[test]
fn the_second_of_two_things_is_not_answered_by_the_first() {
    for question in [
        "Who designed the Velora Bridge Two?",
        "Who designed Velora Bridge II?",
        "Where was the designer of the Velora Bridge Two born?",
    ] {
        check_no_answer(question);
    }
}

#[track_caller]
fn check_of(texts: &[&str], question: &str, expected: &[&str]) {
    let passages: Vec<Passage<'_>> =
        texts.iter().map(|text| Passage { text, title: "", headings: &[] }).collect();
    let Reply::Answer(quotes) = reply(question, &passages) else { panic!("{question}: no answer") };
    let found: Vec<&str> = quotes.iter().map(|quote| &texts[quote.passage][quote.range.clone()]).collect();
    assert_eq!(found, expected, "{question}");
}

#[track_caller]
fn check_no_answer_in(text: &str, question: &str) {
    let passages = [Passage { text, title: "", headings: &[] }];
    if let Reply::Answer(quotes) = reply(question, &passages) {
        let texts: Vec<&str> = quotes.iter().map(|quote| &text[quote.range.clone()]).collect();
        panic!("{question}: {texts:?}");
    }
}

#[test]
fn what_somebody_says_in_a_story_does_not_answer_about_another() {
    const STORY: &str = "Okafor came home. Okafor was tired. Okafor sat down. Okafor said nothing.\n\n\
        'That is where I live,' said the guest. 'Why, where is our Martha?' cried Okafor, looking round. 'Not coming,' said the guest.\n\n\
        He will send it to the baker, said Okafor. The niece's sister blushed at Okafor. Ada would bring in five crowns a week, Okafor said.";
    for question in [
        "Where did Okafor live?",
        "How tall was Okafor?",
        "What did Okafor send to the baker?",
        "What is the name of Okafor's sister?",
        "How much does Okafor earn a week?",
    ] {
        check_no_answer_in(STORY, question);
    }
}

#[test]
fn nothing_is_near_to_a_question_about_something_absent() {
    for question in [
        "Who won the Grand Prix of Monaco?",
        "how do i configure kubernetes ingress",
        "",
        "???",
        "What was it that they had with the other one?",
    ] {
        assert_eq!(check_reply(question).0, Reply::Nothing, "{question}");
    }
}

#[test]
fn matching_words_are_marked() {
    let (reply, _) = check_reply("How tall is Ines Okafor?");
    let Reply::Closest(quotes) = reply else { panic!("{reply:?}") };
    let marked: Vec<&str> =
        quotes[0].matches.iter().map(|range| &PASSAGES[quotes[0].passage][range.clone()]).collect();
    assert_eq!(&marked[..2], ["Ines", "Okafor"]);
}

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
            Reply::Closest(_) | Reply::Nothing => None,
        };
        assert_eq!(found, expected, "{question}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn quotes_of_any_text_stand_on_character_borders(
        question in "([A-Za-z漢的]{1,6} |who |how many |of |[0-9]{4}|\\?){0,8}",
        passages in prop::collection::vec("([A-Za-z漢]{1,6}[ .:]|[0-9é] |\n|- |# |\\| ){0,30}", 0..4),
    ) {
        let read: Vec<Passage<'_>> =
            passages.iter().map(|text| Passage { text, title: "a b", headings: &[] }).collect();
        let found = match reply(&question, &read) {
            Reply::Answer(quotes) | Reply::Closest(quotes) => quotes,
            Reply::Nothing => Vec::new(),
        };
        for quote in found {
            let text = &passages[quote.passage];
            prop_assert!(text.get(quote.range.clone()).is_some_and(|part| !part.is_empty()));
            for range in quote.matches {
                prop_assert!(text.get(range.clone()).is_some() && quote.range.start <= range.start && range.end <= quote.range.end);
            }
        }
    }
}
