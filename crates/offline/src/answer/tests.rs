//! What the rules answer, and what they must not answer.

use proptest::prelude::*;

use super::test_support::{check_in, check_no_answer_in, check_of, check_reply_of, joined};
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
        Reply::Answer(quotes) | Reply::Likely(quotes) | Reply::Closest(quotes) => {
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
    assert_eq!(joined(&texts), joined(expected), "{question}");
}

#[track_caller]
fn check_no_answer(question: &str) {
    let (reply, texts) = check_reply(question);
    assert!(!matches!(reply, Reply::Answer(_)), "{question}: {texts:?}");
}

#[test]
fn an_answering_sentence_comes_with_the_one_that_resolves_its_pronoun() {
    check_answer(
        "Who designed the Velora Bridge?",
        &["The Velora Bridge crosses the river Tamsin.", "It was designed by Ines Okafor."],
    );
    check_answer("What is cheese made from?", &["Cheese is made from milk."]);
}

#[test]
fn a_list_comes_with_the_line_that_introduces_it() {
    check_answer(
        "What are the three rules of the harbour?",
        &["Keep these in mind:", "- Moor at the bow.", "- Pay at the office.", "- Leave before noon."],
    );
}

#[test]
fn sentences_that_follow_each_other_are_one_quote() {
    let (_, texts) = check_reply("What are the three rules of the harbour?");
    assert_eq!(
        texts,
        ["Keep these in mind:\n\n- Moor at the bow.\n- Pay at the office.\n- Leave before noon."]
    );
}

#[test]
fn a_two_step_question_gets_both_sentences() {
    let (reply, texts) = check_reply("Where was the designer of the Velora Bridge born?");
    assert!(matches!(reply, Reply::Answer(_)), "{reply:?}: {texts:?}");
    assert!(texts.iter().any(|text| text.ends_with("It was designed by Ines Okafor.")), "{texts:?}");
    assert!(texts.iter().any(|text| text.ends_with("She was born in Port Alden in 1931.")), "{texts:?}");
}

#[test]
fn a_verb_after_a_relative_clause_applies_to_what_the_clause_describes() {
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
fn statements_about_something_else_do_not_answer() {
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
fn a_definition_covers_the_whole_term_and_all_its_instances() {
    check_of(
        &["Generic lanes are the ones listed here.", "A lane is a queue of steps."],
        "What is a lane?",
        &["A lane is a queue of steps."],
    );
}

#[test]
fn a_sentence_that_only_names_a_thing_does_not_define_it() {
    let named = [
        "This setting is hidden unless Tessel is turned on.",
        "Once Tessel is found, there are two ways to go on.",
        "See the topics Looms, Lapses, Tessel and Yarn.",
        "Tessel is marked, as are all other programs.",
    ];
    for text in named {
        check_no_answer_in(text, "What is Tessel?");
        check_of(
            &[text, "Tessel is a program that keeps looms in step."],
            "What is Tessel?",
            &["Tessel is a program that keeps looms in step."],
        );
    }
    check_no_answer_in("Note: It is not possible to undo this.", "What is a note?");
}

#[test]
fn a_participle_before_the_noun_is_part_of_the_term_to_define() {
    check_of(
        &[
            "Our mended yarn system is based on an older one.",
            "Mended yarn is a yarn that was knotted again.",
        ],
        "What is mended yarn?",
        &["Mended yarn is a yarn that was knotted again."],
    );
}

#[test]
fn a_german_definition_can_begin_with_an_article() {
    check_of(
        &["Der Furtkuchen kostet vier Mark.", "Ein Furtkuchen ist ein flaches Gebäck mit Kümmel."],
        "Was ist ein Furtkuchen?",
        &["Ein Furtkuchen ist ein flaches Gebäck mit Kümmel."],
    );
}

#[test]
fn question_characters_stay_if_they_are_part_of_a_word() {
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
fn an_unknown_fact_about_a_known_name_is_not_answered() {
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

#[test]
fn direct_speech_in_a_story_does_not_answer_questions_about_others() {
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
fn a_question_about_something_absent_has_no_closest_passages() {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn quotes_of_any_text_are_on_character_boundaries(
        question in "([A-Za-z漢的]{1,6} |who |how many |of |[0-9]{4}|\\?){0,8}",
        passages in prop::collection::vec("([A-Za-z漢]{1,6}[ .:]|[0-9é] |\n|- |# |\\| ){0,30}", 0..4),
    ) {
        let read: Vec<Passage<'_>> =
            passages.iter().map(|text| Passage { text, title: "a b", headings: &[] }).collect();
        let found = match reply(&question, &read) {
            Reply::Answer(quotes) | Reply::Likely(quotes) | Reply::Closest(quotes) => quotes,
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

#[test]
fn a_definite_noun_stands_for_the_name_in_the_line_before() {
    let news = "Brannoch Lines ordered the ferry Aurelia. \"We cut our emissions,\" said Moira Brannoch, managing director of the company. \
        The first crossing is planned for May 2035.";
    check_in(
        "",
        news,
        "When is the first crossing of the Aurelia planned?",
        &["Brannoch Lines ordered the ferry Aurelia.", "The first crossing is planned for May 2035."],
    );
}

#[test]
fn another_measure_of_the_same_unit_answers_nothing() {
    let text = "Die Brücke ist 74 Meter lang und aus Holz.";
    let passage = Passage { text, title: "", headings: &[] };
    assert!(!matches!(reply("Wie breit ist die Brücke?", &[passage]), Reply::Answer(_)));
    check_in("", text, "Wie lang ist die Brücke?", &[text]);
}

#[test]
fn a_question_about_the_content_of_a_thing_needs_a_line_about_it() {
    let story = "Under a tree they dug up a chest. It held no gold, but forty letters.";
    check_in(
        "",
        story,
        "What was in the chest?",
        &["Under a tree they dug up a chest.", "It held no gold, but forty letters."],
    );
    let passage = Passage { text: "Under a tree they dug up a chest.", title: "", headings: &[] };
    assert!(!matches!(reply("What was in the chest?", &[passage]), Reply::Answer(_)));
}

#[test]
fn one_word_of_a_question_can_be_missing_in_the_answer() {
    let minutes = "Present: Bea, Colin. The gate is locked from dusk on again. Gus keeps the spare key.";
    check_in("", minutes, "Who keeps the spare key of the gate?", &["Gus keeps the spare key."]);
    let passage = Passage { text: minutes, title: "", headings: &[] };
    assert!(!matches!(reply("Who made the spare key of the gate?", &[passage]), Reply::Answer(_)));
    check_in("", "儿童证最多借六本。期刊只能在馆内阅读。", "儿童一次能借几本？", &["儿童证最多借六本。"]);
}

#[test]
fn a_first_name_comes_with_the_line_that_gives_the_whole_name() {
    let letter = "Piet Lansdorrow leads the house. Piet came in 2010, wrote \"Hearing\nThrough Glass\" and built the Glass Ear.";
    check_in(
        "",
        letter,
        "Who built the Glass Ear?",
        &[
            "Piet Lansdorrow leads the house.",
            "Piet came in 2010, wrote \"Hearing\nThrough Glass\" and built the Glass Ear.",
        ],
    );
}

#[test]
fn a_question_about_a_kind_that_the_text_never_names_is_not_answered() {
    let guide = "# Lastenrad Brummer\n\nZum Lieferumfang gehören das Rad, ein Ladegerät, zwei Schlüssel und ein Regenverdeck.\n\nEs gibt drei Stufen: Eco, Tour und Berg.";
    check_no_answer_in(guide, "Welche Farben hat das Lastenrad?");
    check_no_answer_in(guide, "Welche Zeitungen hat das Lastenrad?");
    check_of(&[guide], "Welche Stufen hat das Lastenrad?", &["Es gibt drei Stufen: Eco, Tour und Berg."]);
    let manual = "# Cargo bike Brummer\n\nThe cargo bike comes with a charger, two keys and a rain cover. It has three modes: Eco, Tour and Hill.";
    check_no_answer_in(manual, "Which colours does the cargo bike have?");
}

#[test]
fn a_first_name_is_answered_only_for_the_right_person() {
    let text =
        "Wendle laughed for the first time.\n\nThe name Orrin Wendle stood on the door. Old Wendle slept.";
    let name = "The name Orrin Wendle stood on the door.";
    check_reply_of(text, "What is Wendle's first name?", Some(&[name]));
    check_reply_of(text, "What is the first name of Mr. Wendle?", Some(&[name]));
    check_reply_of("Wendle laughed for the first time.", "What is Wendle's first name?", None);
}

#[test]
fn found_success_does_not_mean_founded() {
    let text = "Larkin Mills later found success in Halden with Ada Byron's looms. Larkin Mills was founded in 1911 as the Halden Wool Company.";
    check_reply_of(text, "Who founded Larkin Mills?", None);
    let text = "Larkin Mills was founded in 1911 by Ada Byron.";
    check_reply_of(text, "Who founded Larkin Mills?", Some(&[text]));
}

#[test]
fn a_value_of_another_kind_does_not_answer() {
    check_reply_of(
        "Booking dates: 3 May to 9 May\n\nBooking agency: Halden Travel\n",
        "Which movie was booked?",
        None,
    );
}

#[test]
fn a_family_is_not_a_single_member() {
    let text = "The Wendles laughed at what kind of work she had to do in the mill.";
    check_reply_of(text, "Where does Orrin Wendle work?", None);
}

#[test]
fn a_pronoun_refers_to_the_first_name_in_its_own_line() {
    check_no_answer_in(
        "Okafor praised her son and Marta. Marta, who was at the mill, told them how many hours she worked there.",
        "Where does Okafor work?",
    );
}

#[test]
fn two_lines_that_start_with_the_same_pronoun_are_about_the_same_person() {
    check_no_answer_in(
        "Ida wrote a letter. She sent the money to Okafor. She lived in Bellmoor.",
        "Where did Okafor live?",
    );
    check_of(
        &["Okafor wrote a letter. She sent the money to Ida. She lived in Bellmoor."],
        "Where did Okafor live?",
        &["Okafor wrote a letter.", "She lived in Bellmoor."],
    );
}

#[test]
fn a_relative_of_a_nearer_name_does_not_belong_to_another() {
    check_no_answer_in(
        "Back came Wendell Lund with his brother Orson, while Okafor closed the door.",
        "Who is Okafor's brother?",
    );
    check_no_answer_in("Orson married Okafor's daughter Hanna.", "Who is Okafor's husband?");
}

#[test]
fn actions_of_others_are_not_attributed_to_a_name() {
    check_no_answer_in(
        "The Okafors sang in May. The voices of Okafor's guests died away in June.",
        "When did Okafor die?",
    );
    check_no_answer_in("Okafor said that everybody had retired at midnight.", "When did Okafor retire?");
}

#[test]
fn a_killed_person_died_but_a_dead_person_was_not_killed() {
    check_of(&["Okafor was killed in 1931."], "When did Okafor die?", &["Okafor was killed in 1931."]);
    check_no_answer_in("Okafor died in the arms of Ida Lund.", "Who killed Okafor?");
}

#[test]
fn a_number_is_an_age_only_with_a_word_for_it() {
    check_no_answer_in(
        "An old man, who would have been two inches taller in boots, greeted Okafor.",
        "How old is Okafor?",
    );
    check_of(&["Okafor, aged 32, was hurt."], "How old is Okafor?", &["Okafor, aged 32, was hurt."]);
}

#[test]
fn a_time_is_not_a_place() {
    check_no_answer_in("Okafor worked in the late 19th century.", "Where did Okafor work?");
}

#[test]
fn a_location_needs_a_statement_that_it_is_there() {
    check_no_answer_in(
        "Velora grew with inventions made in small workshops.",
        "Where is Velora headquartered?",
    );
    check_of(
        &[
            "Velora grew with inventions made in small workshops. It is a firm of many trades, called the Old Firm by those who know Velora, and headquartered in Bellmoor.",
        ],
        "Where is Velora headquartered?",
        &[
            "It is a firm of many trades, called the Old Firm by those who know Velora, and headquartered in Bellmoor.",
        ],
    );
}

#[test]
fn a_word_in_a_proper_name_is_not_a_verb() {
    check_of(
        &["In Redwick, Okafor received the Lund Teaching Award. Okafor taught at Bellmoor College."],
        "Where did Okafor teach?",
        &["Okafor taught at Bellmoor College."],
    );
}

#[test]
fn a_name_requested_in_german_is_next_to_its_noun() {
    check_of(
        &["Am Fluss wohnte ein Müller, der hieß Veit Sander. Der Müller stieg mit Jost Brandt ins Boot."],
        "Wie heißt der Müller?",
        &["Am Fluss wohnte ein Müller, der hieß Veit Sander."],
    );
    check_no_answer_in("Ihr Baumeister war Jost Brandt. Der Hund schlief.", "Wie heißt der Hund?");
}

#[test]
fn years_before_christ_are_times() {
    check_of(
        &["Als Jahr der Gründung von Velora gilt 15 v. Chr., sagen die Chronisten."],
        "Wann wurde Velora gegründet?",
        &["Als Jahr der Gründung von Velora gilt 15 v. Chr., sagen die Chronisten."],
    );
}

#[test]
fn a_speaker_with_a_one_word_name_is_found_by_its_parts() {
    check_of(
        &["MaraLind: Hello!\nOrsonMoe: Hi Mara!\nMaraLind: I moved to Bellmoor last week."],
        "Where did Mara Lind move?",
        &["MaraLind: I moved to Bellmoor last week."],
    );
}

#[test]
fn a_verb_after_a_plural_is_not_part_of_the_requested_kind() {
    check_of(
        &[
            "Okafor left the house that she had visited before, and saw Mr. Lund and the children. Three ghosts visit Okafor: a child, a giant and a shade.",
        ],
        "Which ghosts visit Okafor?",
        &["Three ghosts visit Okafor: a child, a giant and a shade."],
    );
}

#[test]
fn a_verb_used_as_a_noun_does_not_say_where_it_happens() {
    check_no_answer_in("Okafor told Ida in the kitchen of their lives.", "Where did Okafor live?");
    check_no_answer_in("One old ghost greeted Okafor.", "How old is Okafor?");
}
