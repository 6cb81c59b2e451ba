//! Answers from lists, tables, sections, conversations and letters.

use super::test_support::{check_in, check_of, check_reply_of, joined, reply_from};
use super::*;

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
fn an_item_comes_with_its_list_if_several_things_are_requested() {
    let text = "# Ada Orr\n\nAda Orr was a painter. She received these honours:\n\n- Silver medal of the bird society, 1958\n\
        - Honorary doctor of the college, 1965\n- Freedom of the town, 1971\n\nShe never married.";
    let (_, texts) = reply_from(&[text], "Which honours did Ada Orr receive?");
    for item in ["Silver medal", "Honorary doctor", "Freedom of the town"] {
        assert!(joined(&texts).contains(item), "{texts:?}");
    }
    assert!(!joined(&texts).contains("never married"), "{texts:?}");
}

#[test]
fn a_message_that_asks_anyone_is_answered_by_the_next_one() {
    let chat = "[11:47] Pavel: does anyone know who has the label printer\n[11:52] Yuki: under my desk, take it\n\
        [11:53] Pavel: thanks\n[12:10] Ines: Lunch is ready.";
    let (_, texts) = reply_from(&[chat], "Who has the label printer?");
    assert!(joined(&texts).contains("under my desk"), "{texts:?}");
}

#[test]
fn a_difference_in_a_property_is_not_answered_by_what_the_things_are() {
    let texts = [
        "The Kite 20 has a warranty of two years; the Kite 20 S has three.",
        "Item: Kite 20 S | Price: 598 euros\nItem: Adapter for Kite 20 and Kite 20 S | Price: 36 euros",
    ];
    let (_, quotes) =
        reply_from(&texts, "What is the difference in warranty between the Kite 20 and the Kite 20 S?");
    assert_eq!(quotes, [texts[0]]);
}

#[test]
fn front_matter_answers_only_questions_for_its_properties() {
    let text = "title: Furtkuchen\ndate: 2031-05-02\nauthor: Ines Okafor\n\nThe Furtkuchen is a flat cake from Halden.\n";
    check_in("Furtkuchen", text, "What is a Furtkuchen?", &["The Furtkuchen is a flat cake from Halden."]);
    check_in("Furtkuchen", text, "Who is the author of the Furtkuchen?", &["author: Ines Okafor"]);
    let unsaid =
        "title: Furtkuchen\ndate: 2031-05-02\nauthor: Ines Okafor\n\nMix everything well. Bake it.\n";
    let (reply, texts) = reply_from(&[unsaid], "What is a Furtkuchen?");
    assert!(!matches!(reply, Reply::Answer(_)), "{reply:?}");
    assert_eq!(joined(&texts), "Mix everything well. Bake it.");
}

#[test]
fn i_and_my_refer_to_the_speaker_of_a_message() {
    let chat = "[09:14] Ines: The demo is moved to Thursday.\n[09:16] Magda: The server was down. I cleared the old logs.\n\
        [09:20] Ines: Thanks! Cake tomorrow, I'm allergic to nuts.\n[09:21] Olek: My wife Sigrid bakes it. It is in the grey cupboard.";
    check_in(
        "",
        chat,
        "Who cleared the old logs?",
        &["[09:16] Magda: The server was down. I cleared the old logs."],
    );
    check_in(
        "",
        chat,
        "What is Ines allergic to?",
        &["[09:20] Ines: Thanks! Cake tomorrow, I'm allergic to nuts."],
    );
    check_in("", chat, "Who is Olek's wife?", &["[09:21] Olek: My wife Sigrid bakes it."]);
}

#[test]
fn labels_and_headings_match_the_question() {
    let manual = "# Halden G2 grinder\n\n## Data\n\nPower: 165 W\nWeight: 3.4 kg\nNoise level: 71 dB\n\n## Warranty\n\n24 months from the date of purchase.\n\n\
        ## Use\n\nThe burrs should be replaced after 400 kg of coffee. The cleaning brush is red.\n\n## Maker\n\nHalden Ltd., 4 Mill Lane, Ludlow, England.";
    check_in("", manual, "How heavy is the grinder?", &["Weight: 3.4 kg"]);
    check_in("", manual, "How loud is the Halden G2?", &["Noise level: 71 dB"]);
    check_in(
        "",
        manual,
        "How long is the warranty of the Halden G2?",
        &["24 months from the date of purchase."],
    );
    check_in(
        "",
        manual,
        "When do the burrs have to be replaced?",
        &["The burrs should be replaced after 400 kg of coffee."],
    );
    check_in("", manual, "Where is Halden based?", &["Halden Ltd., 4 Mill Lane, Ludlow, England."]);
}

#[test]
fn a_row_answers_only_with_a_requested_column() {
    let table = "item: desk lamp | supplier: Lumina | price: 18.50\nitem: office chair | supplier: Sedia | price: 139.00";
    let passage = Passage { text: table, title: "stock", headings: &[] };
    assert!(!matches!(reply("What colour is the office chair?", &[passage]), Reply::Answer(_)));
    check_in(
        "stock",
        table,
        "Who supplies the office chair?",
        &["item: office chair | supplier: Sedia | price: 139.00"],
    );
}

#[test]
fn all_answering_rows_are_given_if_the_question_asks_for_several() {
    let table = "item: desk lamp | supplier: Lumina\nitem: office chair | supplier: Sedia\nitem: bench | supplier: Sedia\nitem: stool | supplier: Sedia";
    check_in(
        "stock",
        table,
        "Which items are supplied by Sedia?",
        &[
            "item: office chair | supplier: Sedia",
            "item: bench | supplier: Sedia",
            "item: stool | supplier: Sedia",
        ],
    );
}

#[test]
fn items_that_a_line_counts_are_listed_by_the_lines_after_it() {
    let story = "Two men came with the boat each month. Eskil steered. Young Tam Orrin carried the sacks. The sea was calm.";
    let men =
        ["Two men came with the boat each month.", "Eskil steered.", "Young Tam Orrin carried the sacks."];
    check_in("", story, "Who came with the boat?", &men);
    let news = "Three ships were lost in the gale. The Patience broke on a rock. The Corrie Mor went down. Of the third nothing was found.";
    check_in(
        "",
        news,
        "Which ships were lost in the gale?",
        &[
            "Three ships were lost in the gale.",
            "The Patience broke on a rock.",
            "The Corrie Mor went down.",
            "Of the third nothing was found.",
        ],
    );
    let own = "There are three sizes of loaf: small, medium and large. The crust is dark.";
    check_in(
        "",
        own,
        "Which sizes of loaf are there?",
        &["There are three sizes of loaf: small, medium and large."],
    );
    let german = "Drei Betriebe bilden wieder aus. Maurer sucht einen Lehrling. Die Krone nimmt zwei. Auch die Gärtnerei hilft.";
    check_in(
        "",
        german,
        "Welche Betriebe bilden aus?",
        &[
            "Drei Betriebe bilden wieder aus.",
            "Maurer sucht einen Lehrling.",
            "Die Krone nimmt zwei.",
            "Auch die Gärtnerei hilft.",
        ],
    );
}

#[test]
fn rows_with_the_requested_value_form_a_list() {
    let table = "plant: Sage | family: mint | bed: south | flowers: May\nplant: Hosta | family: asparagus | bed: north | flowers: June\n\
        plant: Thyme | family: mint | bed: north | flowers: June";
    let rows: Vec<&str> = table.lines().collect();
    check_in("", table, "Which plants belong to the mint family?", &[rows[0], rows[2]]);
    check_in("", table, "Which plants grow in the north bed?", &[rows[1], rows[2]]);
    check_in("", table, "Which plants flower in May?", &[rows[0]]);
    let passage = Passage { text: table, title: "", headings: &[] };
    for question in ["Which plants belong to the rose family?", "Which tools are in the north bed?"] {
        assert!(!matches!(reply(question, &[passage]), Reply::Answer(_)), "{question}");
    }
}

#[test]
fn a_section_that_is_about_nothing_else_is_a_list() {
    let manual = "# loom\n\n## Known problems\n\nOn macOS the port is lost after sleep. The counter overflows at 999.\n\n## People\n\nAda wrote it.";
    check_in(
        "",
        manual,
        "What are the known problems of loom?",
        &["On macOS the port is lost after sleep.", "The counter overflows at 999."],
    );
}

#[test]
fn a_list_of_another_kind_answers_nothing() {
    let manual = "# Brummer L2\n\n## Unterstützung\n\nEs gibt drei Stufen:\n\n- Eco\n- Tour\n- Berg\n";
    let passage = Passage { text: manual, title: "", headings: &[] };
    assert!(!matches!(reply("Welche Farben hat das Brummer L2?", &[passage]), Reply::Answer(_)));
}

/// Records as the readers produce them: the last cell contains sentences.
const RECORDS: &str = "name: the Brass Ear | kind: horn | built by: Ada Wend | year: 1913 | kept at: Mill House, Ludlow | \
    description: The Brass Ear was built by Ada Wend in 1913 and hears whales. It sank in Lake Torne. The Hearthmoth grew out of the Brass Ear.\n\
    name: Cold Box | kind: chamber | built by: Yusra Holm | year: 1918 | kept at: Mill House, Ludlow | \
    description: The Cold Box cools three metres of pipe to minus twenty degrees.\n\
    name: Small Horn | kind: horn | built by: Ada Wend | year: 1921 | kept at: Weir House, Torne | \
    description: A horn of silver that fits into a pocket.";

#[test]
fn a_sentence_in_a_cell_is_quoted_without_its_row() {
    let built = "The Brass Ear was built by Ada Wend in 1913 and hears whales.";
    check_of(&[RECORDS], "Who built the Brass Ear?", &[built]);
    let cools = "The Cold Box cools three metres of pipe to minus twenty degrees.";
    check_of(&[RECORDS], "What does the Cold Box cool?", &[cools]);
    check_in(
        "instruments",
        RECORDS,
        "Who built the instrument that the Hearthmoth grew out of?",
        &[built, "The Hearthmoth grew out of the Brass Ear."],
    );
}

#[test]
fn a_sentence_in_a_cell_comes_with_the_cell_that_names_its_subject() {
    check_of(
        &[RECORDS],
        "Where did the Brass Ear sink?",
        &["The Brass Ear was built by Ada Wend in 1913 and hears whales.", "It sank in Lake Torne."],
    );
    let ships = "name: Heron | built: 1904 | note: It sank in Lake Torne.\nname: Tern | built: 1911 | note: It burned in the harbour of Ludlow.";
    check_of(&[ships], "Where did the Heron sink?", &["name: Heron", "It sank in Lake Torne."]);
    let note = "customer: Olek Marsh | ticket: 4411 | report: The lamp came broken in two parts.\ncustomer: Ines Roth | ticket: 4412 | report: Nothing came at all.";
    let (_, texts) = reply_from(&[note], "What came broken to Olek Marsh?");
    let text = texts.join(" ");
    assert!(text.contains("Olek Marsh") && text.contains("The lamp") && !text.contains("Ines"), "{texts:?}");
}

#[test]
fn a_row_answers_what_its_sentences_do_not() {
    let row = |at: usize| {
        let line = RECORDS.lines().nth(at).expect("a row");
        line.split_inclusive(". ").next().expect("a sentence").trim_end()
    };
    check_of(&[RECORDS], "Where is the Cold Box kept?", &[row(1)]);
    check_in("instruments", RECORDS, "Which instruments were built by Ada Wend?", &[row(0), row(2)]);
}

#[test]
fn closest_passages_repeat_no_text() {
    let row = |at: usize| {
        format!(
            "date: 2018-0{at}-02 | source: Alder Trust | kind: grant | purpose: Study of weir number {at} with echoes"
        )
    };
    let rows: Vec<String> = (1..8).map(row).collect();
    let (first, second) = (rows[..5].join("\n"), rows[3..].join("\n"));
    let passages = [first.as_str(), second.as_str()].map(|text| Passage { text, title: "", headings: &[] });
    let Reply::Closest(quotes) =
        reply("Why did the Alder Trust refuse a grant for the study of echoes?", &passages)
    else {
        panic!("no closest passages")
    };
    let shown: Vec<&str> =
        quotes.iter().flat_map(|quote| passages[quote.passage].text[quote.range.clone()].lines()).collect();
    let distinct: BTreeSet<&str> = shown.iter().copied().collect();
    assert!(quotes.len() > 1, "{shown:?}");
    assert_eq!(shown.len(), distinct.len(), "{shown:?}");
}

#[test]
fn i_refers_to_the_sender_of_a_letter() {
    const MAILS: &str = "# Gate\n\nFrom: Ada Wend <ada@example.org>\nTo: Olek Marsh <olek@example.org>\nDate: 2022-06-20T10:00:00Z\n\n\
        The gate is finished. I weighed it on Monday.\n\n# Re: Gate\n\nFrom: Olek Marsh <olek@example.org>\nTo: Ada Wend <ada@example.org>\n\
        Date: 2022-06-21T10:00:00Z\n\nI will send four oxen on Friday.";
    let passage = Passage { text: MAILS, title: "", headings: &[] };
    let Reply::Answer(quotes) = reply("Who sends four oxen?", &[passage]) else { panic!("no answer") };
    let texts: Vec<&str> = quotes.iter().map(|quote| &MAILS[quote.range.clone()]).collect();
    assert!(texts[0].starts_with("From: Olek Marsh"), "{texts:?}");
    assert_eq!(texts[1..], ["I will send four oxen on Friday."]);
}

#[test]
fn text_that_only_mentions_a_kind_is_not_a_list_of_it() {
    let bike = "# Lastenrad\n\nVon der Garantie ausgenommen sind Reifen, Bremsbeläge und Kette.\n\nAnzeige: F1 | Bedeutung: Akku leer\nAnzeige: F4 | Bedeutung: Motor zu heiß\n";
    check_reply_of(bike, "Welche Bremsen hat das Lastenrad?", None);
    check_reply_of(bike, "Welche Motoren gibt es?", None);
}

#[test]
fn a_negated_sentence_does_not_say_what_is_or_who_does() {
    for (text, question) in [
        ("Damage by limescale is not covered by the warranty.", "What is covered by the warranty?"),
        ("Breakfast isn't included in the price.", "What is included in the price?"),
        ("The office is not open on Mondays.", "Which days is the office open?"),
        ("Der Wasserfilter ist nicht im Lieferumfang enthalten.", "Was ist im Lieferumfang enthalten?"),
        ("Nora Blum did not attend the meeting.", "Who attended the meeting?"),
    ] {
        let (reply, texts) = reply_from(&[text], question);
        assert!(!matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{question}: {texts:?}");
    }
    check_of(
        &["The kiosk does not open before nine."],
        "When does the kiosk open?",
        &["The kiosk does not open before nine."],
    );
}

#[test]
fn a_passage_with_a_name_of_the_question_is_close_even_if_all_else_is_unknown() {
    let text = "Halden Logistics reported a slow export on Monday.";
    let (reply, texts) = reply_from(&[text], "Why did Halden cancel their subscription?");
    assert!(matches!(reply, Reply::Closest(_)), "{reply:?}");
    assert_eq!(texts, [text]);
}

#[test]
fn what_to_do_is_answered_by_all_steps_of_the_section() {
    let text = "# Alarms\n\n## What to do when the alarm rings\n\n1. Stay calm.\n2. Leave the hall.\n3. Close the doors.\n4. Wait at the gate.\n\n## Tests\n\nThe alarm is tested on Mondays.\n";
    let (reply, texts) = reply_from(&[text], "What should I do when the alarm rings?");
    assert!(matches!(reply, Reply::Answer(_)), "{reply:?}");
    assert!(texts.join("\n").contains("4. Wait at the gate."), "{texts:?}");
}

#[test]
fn a_further_sentence_of_a_list_item_announces_no_other_items() {
    let text = "# Safety\n\n- The gas burns easily. Do not use the cooler in rooms smaller than 10 square metres.\n- Keep the walls at a distance.\n- Pull the plug before cleaning.\n";
    let (_, texts) = reply_from(&[text], "How small may the room of the cooler be?");
    assert!(texts.join(" ").contains("10 square metres") && !texts.join(" ").contains("plug"), "{texts:?}");
}

#[test]
fn a_date_in_the_heading_of_a_table_selects_no_rows() {
    let text = "# Meeting on 12 September\n\nWho: Ada | What: order tiles | Until: 20 September\nWho: Ben | What: ask the council | Until: 15 October\n";
    let (_, texts) = reply_from(&[text], "What are the action items of the meeting on 12 September?");
    assert!(texts.join(" ").contains("council"), "{texts:?}");
}

#[test]
fn nothing_is_likely_without_a_name_of_the_question() {
    let text = "Service partners: Great Britain: Hollis Care, Reading. Ireland: Corrib Electric, Galway.";
    let (reply, _) = reply_from(&[text], "Who is the service partner in France?");
    assert!(!matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{reply:?}");
}

#[test]
fn the_list_below_a_heading_with_the_words_of_the_question_answers() {
    let text = "# Brewer\n\n## What is in the box\n\n- machine with tray\n- water tank (2.2 litres)\n- brush\n\nKeep the packaging: the brewer must be returned in its original box.\n";
    for question in ["What is in the box?", "What comes in the box?"] {
        let (reply, texts) = reply_from(&[text], question);
        assert!(matches!(reply, Reply::Answer(_)), "{question}: {reply:?}");
        assert!(texts.join(" ").contains("machine") && texts.join(" ").contains("brush"), "{texts:?}");
    }
    let (_, texts) = reply_from(&[text], "How big is the water tank?");
    assert!(texts.join(" ").contains("2.2 litres"), "{texts:?}");
}

#[test]
fn all_numbered_steps_answer_how_to_do_something() {
    let text = "# Names\n\n## Adding a preferred name\n\nFollow these steps if people call you by another name:\n\n1. Log in to Larkbase\n2. Click on your preferred card\n3. Enter the name\n4. Click on save\n";
    let (_, texts) = reply_from(&[text], "How do I change my preferred name in Larkbase?");
    assert!(texts.join(" ").contains("Click on save"), "{texts:?}");
}

#[test]
fn an_interval_is_no_duration() {
    let text = "# Care\n\nDescaling is due about every eight months. Descaling takes 35 minutes.\n";
    let (_, texts) = reply_from(&[text], "How long does descaling take?");
    assert!(texts.join(" ").contains("35 minutes") && !texts.join(" ").contains("eight"), "{texts:?}");
}

#[test]
fn two_steps_do_not_answer_what_no_text_names() {
    let text = "Its guard, Kendra Wills, later played in Lindau. Wills has been assistant coach since 2018.";
    let (reply, texts) = reply_from(&[text], "What is Kendra Wills's salary as coach?");
    assert!(!matches!(reply, Reply::Answer(_)), "{texts:?}");
}

#[test]
fn steps_are_quoted_in_reading_order_with_all_that_continues_them() {
    let steps = "1. Open the hood.\n2. Run this command:\n\n```\nlampctl off\n```\n\nThe light goes out.\n\n\
        3. Replace the old lamp. It may be hot.\n4. Close the hood.";
    let text = format!("# Lamp\n\n## Replacing the lamp\n\n{steps}\n\nLamps are sold in pairs.\n");
    let (reply, texts) = reply_from(&[&text], "How do I replace the lamp?");
    assert!(matches!(reply, Reply::Answer(_)), "{reply:?}");
    assert_eq!(joined(&texts).replace("``` ", ""), joined(&[steps]).replace("``` ", ""));
}

#[test]
fn more_steps_than_an_answer_may_contain_are_only_likely() {
    let steps: String = (1..=60).map(|at| format!("{at}. Turn screw {at} of the lamp.\n")).collect();
    let text = format!("# Lamp\n\n## Replacing the lamp\n\n{steps}");
    let (reply, texts) = reply_from(&[&text], "How do I replace the lamp?");
    assert!(matches!(reply, Reply::Likely(_)), "{reply:?}");
    assert!(texts[0].starts_with("1. Turn screw 1 ") && !texts.join(" ").contains("screw 60"), "{texts:?}");
}

#[test]
fn a_number_selects_the_row_or_item_with_its_range() {
    let table = "# Grading\n\n| Points | Grade |\n|---|---|\n| 90-100 | A |\n| 80-89 | B |\n| 70-79 | C |\n";
    let (reply, texts) = reply_from(&[table], "Which grade do I get with 85 points?");
    assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{texts:?}");
    assert!(joined(&texts).contains("B") && !joined(&texts).contains("70-79"), "{texts:?}");
    let items = "# 高龄津贴\n\n适用对象：本市户籍老人。\n标准：\n\n- 80—89岁：每月100元\n- 90—99岁：每月300元\n- 100岁及以上：每月800元\n";
    let (reply, texts) = reply_from(&[items], "95岁的老人每个月能领多少高龄津贴？");
    assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{texts:?}");
    assert!(joined(&texts).contains("每月300元"), "{texts:?}");
}

#[test]
fn a_passage_with_a_part_of_the_question_is_shown_also_if_only_its_heading_has_it() {
    let text = "# Lease\n\n## Deposit\n\nThree months at most, to be paid in three instalments.\n\n## Pets\n\nAsk first.\n";
    for question in ["Who keeps the deposit of a tenant?", "Do pets need insurance?"] {
        let (reply, texts) = reply_from(&[text], question);
        assert!(matches!(reply, Reply::Closest(_)), "{question}: {reply:?} {texts:?}");
    }
    let (reply, texts) = reply_from(&[text], "How deep is Lake Baikal?");
    assert_eq!(reply, Reply::Nothing, "{texts:?}");
}
