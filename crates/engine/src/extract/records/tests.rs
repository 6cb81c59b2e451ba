//! Tests the parser on every kind of answer, and its laws on any text.

use graphloom_core::RejectReason;
use proptest::prelude::*;

use super::steps::steps_of;
use super::*;

/// Returns each record as one line, and each reject as its reason.
fn check_read(text: &str) -> (Vec<String>, Vec<&'static str>) {
    let parsed = parse(text, false);
    let records = parsed.found.iter().map(|found| said(&found.record)).collect();
    (records, parsed.rejects.iter().map(|reject| reject.reason.name()).collect())
}

fn said(record: &ParsedRecord) -> String {
    match record {
        ParsedRecord::Entity(entity) => format!("{} ({}) {}", entity.name, entity.kind, entity.description),
        ParsedRecord::Relation(relation) => {
            let RelationRecord { source, target, keywords, description, weight } = relation;
            format!("{source} - {target} [{}] {description} {weight}", keywords.join("|"))
        }
        ParsedRecord::Themes(themes) => format!("themes {}", themes.join("|")),
    }
}

#[track_caller]
fn check_records(text: &str, expected: &[&str]) {
    let (records, rejects) = check_read(text);
    assert_eq!(
        (records.iter().map(String::as_str).collect::<Vec<_>>(), rejects),
        (expected.to_vec(), vec![]),
        "{text}"
    );
}

#[track_caller]
fn check_damage(text: &str, expected: &[&str], damage: &[Damage]) {
    check_records(text, expected);
    let found: BTreeSet<Damage> =
        parse(text, false).found.into_iter().flat_map(|found| found.damage).collect();
    assert_eq!(found, damage.iter().copied().collect(), "{text}");
}

const ADA: &str = "Ada Voss (Person) Works in Kelm.";
const PAIR: &str = "Ada Voss - Kelm [work|place] Ada works in Kelm. 1";
const PAIR_7: &str = "Ada Voss - Kelm [work|place] Ada works in Kelm. 7";

#[test]
fn every_well_formed_format_is_read_exactly() {
    let new = "entity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\nrelation<|#|>Ada Voss<|#|>Kelm<|#|>work, place<|#|>Ada works in Kelm.\n<|COMPLETE|>";
    let old = "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\")##\n(\"relationship\"<|>\"Ada Voss\"<|>\"Kelm\"<|>\"Ada works in Kelm.\"<|>\"work, place\"<|>7)##\n(\"content_keywords\"<|>\"labs, towns\")<|COMPLETE|>";
    let json = "{\"entities\": [{\"name\": \"Ada Voss\", \"type\": \"Person\", \"description\": \"Works in Kelm.\"}], \"relationships\": [{\"source\": \"Ada Voss\", \"target\": \"Kelm\", \"keywords\": \"work, place\", \"description\": \"Ada works in Kelm.\", \"weight\": 7}]}";
    let lines = "{\"name\": \"Ada Voss\", \"type\": \"Person\", \"description\": \"Works in Kelm.\"}\n{\"source\": \"Ada Voss\", \"target\": \"Kelm\", \"keywords\": [\"work\", \"place\"], \"description\": \"Ada works in Kelm.\"}";
    check_damage(new, &[ADA, PAIR], &[]);
    check_damage(old, &[ADA, PAIR_7, "themes labs|towns"], &[]);
    check_damage(json, &[ADA, PAIR_7], &[]);
    check_damage(lines, &[ADA, PAIR], &[]);
    assert!([new, old, json].iter().all(|text| parse(text, false).complete));
}

#[test]
fn an_entity_may_be_called_entity() {
    check_damage(
        "entity<|#|>Entity<|#|>Concept<|#|>What a model of data is made of.",
        &["Entity (Concept) What a model of data is made of."],
        &[],
    );
}

#[test]
fn damaged_delimiters_are_understood() {
    for delimiter in [
        "<|##|>",
        "<#|>",
        "<|#",
        "|#|>",
        "<|#|>|",
        "<||>",
        "<|>",
        "<|diff_marker|>",
        "<TIME|>",
        " <|#|> ",
        "＜｜＃｜＞",
    ] {
        let text = format!("entity{delimiter}Ada Voss{delimiter}Person{delimiter}Works in Kelm.\n");
        check_records(&text, &[ADA]);
        let one = format!("entity<|#|>Ada Voss{delimiter}Person<|#|>Works in Kelm.\n");
        check_records(&one, &[ADA]);
        let pair = format!("relation<|#|>Ada Voss<|#|>Kelm<|#|>work, place{delimiter}Ada works in Kelm.\n");
        check_records(&pair, &[PAIR]);
    }
}

#[test]
fn decorated_records_are_read() {
    for text in [
        "## (\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\")##\n",
        "5. **(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\")**\n",
        "- entity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n",
        "**entity**<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n",
        "```\nentity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n```",
    ] {
        check_records(text, &[ADA]);
    }
}

#[test]
fn damage_in_the_older_format_is_repaired() {
    for record in [
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\"<|>)",
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.<|>)",
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\"<|>8)",
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\"##",
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\")uchsia##",
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\")<TIME|>",
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\" )",
        "(entity<|>Ada Voss<|>Person<|>Works in Kelm.)",
        "（“entity”<|>“Ada Voss”<|>“Person”<|>“Works in Kelm.”）",
        "(\"person\"<|>\"Ada Voss\"<|>\"Works in Kelm.\")",
    ] {
        let (records, rejects) = check_read(&format!("{record}\n"));
        assert_eq!(rejects, Vec::<&str>::new(), "{record}");
        assert_eq!(records[0].to_lowercase(), ADA.to_lowercase(), "{record}");
    }
    let bare = "Ada Voss - Kelm [] Ada works in Kelm. 7";
    for tail in
        ["\"<|>7)", "\"7)", "\"|>7)", "\"|<7>)", "\"' <|>7)", "\" <|>7)", "\"<|>\"seven\")", "\"<|>\"7/10\")"]
    {
        check_records(
            &format!("(\"relationship\"<|>\"Ada Voss\"<|>\"Kelm\"<|>\"Ada works in Kelm.{tail}##\n"),
            &[bare],
        );
    }
    let early =
        "(\"relationship\"<|>\"Ada Voss\"<|>\"Kelm\"<|>\"Ada works in Kelm.\")<|>\"work, place\"<|>7)\n";
    check_records(early, &[PAIR_7]);
}

#[test]
fn table_rows_are_records_if_they_have_all_fields() {
    for text in [
        "entity | Ada Voss | Person | Works in Kelm.\n",
        "| entity | Ada Voss | Person | Works in Kelm. |\n",
        "relation | Ada Voss | Kelm | work, place | Ada works in Kelm.\n",
    ] {
        let expected = if text.contains("work,") { PAIR } else { ADA };
        check_damage(text, &[expected], &[Damage::Delimiter]);
    }
    let rejected = |text: &str| check_read(text).1;
    assert_eq!(rejected("entity | Ada Voss | Works in Kelm.\n<|COMPLETE|>").len(), 1);
    assert_eq!(parse("entity | Ada Voss | Person | Wor", false).rejects[0].reason, RejectReason::Cut);
    assert_eq!(parse("Either a | b or c | d.\n", false).rejects[0].reason, RejectReason::Prose);
}

#[test]
fn tags_are_found_where_they_are_missing_misplaced_or_wrong() {
    for text in [
        "Ada Voss<|#|>Person<|#|>Works in Kelm.\n",
        "<|#|>entity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n",
        "Ada Voss<|#|>entity<|#|>Person<|#|>Works in Kelm.\n",
        "entity Ada Voss<|#|>Person<|#|>Works in Kelm.\n",
        "relation<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n",
    ] {
        check_damage(
            text,
            &[ADA],
            if text.starts_with("<|#|>") {
                &[Damage::Delimiter]
            } else if text.starts_with("rel") {
                &[Damage::Tag, Damage::FieldCount]
            } else {
                &[Damage::Tag]
            },
        );
    }
    check_records("entity<|#|>Ada Voss<|#|>Kelm<|#|>work, place<|#|>Ada works in Kelm.\n", &[PAIR]);
    check_records("Ada Voss<|#|>Kelm<|#|>work, place<|#|>Ada works in Kelm.\n", &[PAIR]);
}

#[test]
fn wrong_field_counts_are_read_if_the_fields_are_recognizable() {
    check_records(
        "relation<|#|>Ada Voss<|#|>Kelm<|#|>Ada works in Kelm.\n",
        &["Ada Voss - Kelm [] Ada works in Kelm. 1"],
    );
    check_records("relation<|#|>Ada Voss<|#|>Kelm<|#|>work<|#|>place<|#|>Ada works in Kelm.\n", &[PAIR]);
    check_records(
        "relation<|#|>Ada Voss<|#|>Kelm<|#|>work, place<|#|>Ada works in Kelm.<|#|>nine\n",
        &["Ada Voss - Kelm [work|place] Ada works in Kelm. 9"],
    );
    check_records("entity<|#|>Ada Voss<|#|>Works in Kelm.\n", &["Ada Voss (Other) Works in Kelm."]);
    check_records("entity<|#|>Ada Voss<|#|>Person\n", &["Ada Voss (Person) "]);
    assert_eq!(
        check_read("entity<|#|>Ada Voss\nrelation<|#|>A1<|#|>B1\n"),
        (vec![], vec!["field_count", "field_count"])
    );
}

#[test]
fn glued_records_are_separated() {
    let kelm = "Kelm (Location) A town.";
    for glue in ["<|#|>", " ", "", "##", "<|COMPLETE|>"] {
        let text = format!(
            "entity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.{glue}entity<|#|>Kelm<|#|>Location<|#|>A town.\n"
        );
        check_records(&text, &[ADA, kelm]);
        let old = format!(
            "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\"){}(\"entity\"<|>\"Kelm\"<|>\"Location\"<|>\"A town.\")",
            glue.replace("<|#|>", "")
        );
        check_records(&old, &[ADA, kelm]);
    }
    let preamble = "Here they are: entity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n";
    assert_eq!(check_read(preamble), (vec![ADA.to_owned()], vec!["prose"]));
}

#[test]
fn a_tag_word_at_the_end_of_a_field_starts_no_record() {
    check_records(
        "relation<|#Ada Voss<|#|>Kelm<|#|>work, old relationships<|#|>Ada works in Kelm.\n",
        &["Ada Voss - Kelm [work|old relationships] Ada works in Kelm. 1"],
    );
    check_records(
        "(\"relationship\"<|>\"Ada Voss\"<|>\"Kelm\"<|>\"Ada works in Kelm.\"<|>\"work, old relationships\"<|>7##\n",
        &["Ada Voss - Kelm [work|old relationships] Ada works in Kelm. 7"],
    );
}

#[test]
fn a_record_broken_over_lines_is_joined() {
    check_records("entity<|#|>Ada Voss<|#|>Person<|#|>\nWorks in Kelm.\n", &[ADA]);
    check_damage("entity<|#|>Ada Voss<|#|>\nPerson<|#|>Works in Kelm.\n", &[ADA], &[Damage::Lines]);
    check_records(
        "(\"entity\"<|>\"Ada Voss\"<|>\"Person\"\n<|>\"Works\nin Kelm.\")\n",
        &["Ada Voss (Person) Works\nin Kelm."],
    );
}

#[test]
fn thoughts_preambles_and_headings_are_not_records() {
    check_records(
        "<think>entity<|#|>No<|#|>Person<|#|>y</think>\n```\n\nentity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n```\n<|COMPLETE|>",
        &[ADA],
    );
    let text =
        "Sure! Here:\n**Entities:**\n\nentity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\nThat is all.";
    assert_eq!(check_read(text), (vec![ADA.to_owned()], vec!["prose", "prose"]));
    assert_eq!(check_read("<think>entity<|#|>No<|#|>Person<|#|>y").1, ["unclosed_thinking"]);
}

#[test]
fn cut_and_irregular_json_is_read() {
    let cut = "```json\n{\"entities\": [{\"name\": \"Ada Voss\", \"type\": \"Person\", \"description\": \"Works in Kelm.\"}, {\"name\": \"Kel";
    assert_eq!(check_read(cut), (vec![ADA.to_owned()], vec!["cut"]));
    let trailing = "{\"entities\": [{\"entity_name\": \"Ada Voss\", \"entity_type\": \"Person\", \"entity_description\": \"Works in Kelm.\",}]}\nThat is all.";
    assert_eq!(check_read(trailing), (vec![ADA.to_owned()], vec!["prose"]));
    let types = "{\"entities\": {\"Ada Voss\": {\"type\": [\"Person\"], \"description\": null}}, \"relations\": [{\"source\": {\"name\": \"Ada Voss\"}, \"target\": 1984, \"weight\": \"nine\", \"keywords\": null}]}";
    check_records(types, &["Ada Voss (Person) ", "Ada Voss - 1984 []  9"]);
    check_records(
        "{\"triples\": [[\"Ada Voss\", \"works in\", \"Kelm\"]]}",
        &["Ada Voss - Kelm [works in]  1"],
    );
    check_records(
        "{\"type\": \"entity\", \"name\": \"Ada Voss\", \"description\": \"Works in Kelm.\"}",
        &["Ada Voss (Other) Works in Kelm."],
    );
    check_records("{\"entities\": []}", &[]);
    check_records(
        "{\"entities\": [{\"type\": \"Person\", \"text\": \"Ada Voss\"}]}",
        &["Ada Voss (Person) "],
    );
    check_records("{\"entity\"<|>\"Ada Voss\"<|>\"Person\"<|>\"Works in Kelm.\"}", &[ADA]);
    let inline = "Sure: {\"entities\": [{\"name\": \"Ada Voss\", \"type\": \"Person\", \"description\": \"Works in Kelm.\"}]}";
    assert_eq!(check_read(inline), (vec![ADA.to_owned()], vec!["prose"]));
    let url = "{\"entities\":[{\"name\":\"Ada Voss\",\"type\":\"Person\",\"description\":\"See https://a.example: 'x', note: y // z <|#|> entity<|#|>\"}]}";
    check_damage(url, &["Ada Voss (Person) See https://a.example: 'x', note: y // z <|#|> entity<|#|>"], &[]);
}

#[test]
fn xml_elements_are_read() {
    check_records("<entity name=\"Ada Voss\" type=\"Person\">Works in Kelm.</entity>", &[ADA]);
    check_records(
        "<entity><name>Ada Voss</name><type>Person</type><description>Works in Kelm.</description></entity>",
        &[ADA],
    );
    check_records("<entity>Ada Voss<|#|>Person<|#|>Works in Kelm.</entity>", &[ADA]);
    check_records(
        "<relation><source>Ada Voss</source><target>Kelm</target><keywords>work, place</keywords><description>Ada works in Kelm.</description></relation>",
        &[PAIR],
    );
}

#[test]
fn rejects_say_why_and_where() {
    let text = "entity<|#|>Ada<|#|>Person<|#|>x\nHere you are\nrelation<|#|>Ada<|#|>Ada<|#|>k<|#|>d\nclaim<|#|>Ada<|#|>x\nentity<|#|>12<|#|>Data<|#|>x\nentity<|#|>Ada<|#|><b><|#|>x\nrelation<|#|>Ada<|#|>B";
    let parsed = parse(text, false);
    let rejects = parsed.rejects_of(3, text);
    let reasons: Vec<_> = rejects.iter().map(|reject| reject.reason).collect();
    let expected = [
        RejectReason::Prose,
        RejectReason::SelfRelation,
        RejectReason::UnknownTag,
        RejectReason::BadName,
        RejectReason::BadType,
        RejectReason::Cut,
    ];
    assert_eq!(reasons, expected);
    assert!(
        rejects
            .iter()
            .all(|reject| reject.response == 3 && text[reject.offset as usize..].starts_with(&reject.text))
    );
}

#[test]
fn an_unclosed_last_record_of_a_cut_answer_is_rejected() {
    let text = "entity<|#|>Ada<|#|>Person<|#|>x\nentity<|#|>Kelm<|#|>Location<|#|>A to";
    assert_eq!(parse(text, false).found.len(), 2);
    let cut = parse(text, true);
    assert_eq!((cut.found.len(), cut.rejects[0].reason), (1, RejectReason::Cut));
    assert_eq!(parse("(\"entity\"<|>\"Ada\"<|>\"person\"<|>\"x\")", true).found.len(), 1);
}

/// Pieces of answers, intact and damaged.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just("entity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\n".to_owned()),
        4 => Just("relation<|#|>Ada Voss<|#|>Kelm<|#|>work, place<|#|>Ada works in Kelm.\n".to_owned()),
        4 => Just("(\"entity\"<|>\"Kelm\"<|>\"geo\"<|>\"A town.\")##\n".to_owned()),
        4 => Just("(\"relationship\"<|>\"Ada\"<|>\"Kelm\"<|>\"Ada works in 'Kelm'.\"<|>\"work\"<|>8)##".to_owned()),
        2 => Just("{\"name\": \"Ada\", \"type\": \"Person\", \"description\": \"Says \\\"hi\\\", {x}.\"}\n".to_owned()),
        2 => Just("{\"entities\": [{\"name\": \"Bo\", \"type\": \"Person\", \"description\": \"d\"}, {\"name\": \"Cy\", \"type\": \"Person\"}]}\n".to_owned()),
        2 => Just("(\"relationship\"<|>\"Ada\"<|>\"Kelm\"<|>\"Glued.\"7)##\n".to_owned()),
        2 => Just("3. **(\"entity\"<|>\"Kelm\"<|>\"geo\"<|>\"A town.\")**\n".to_owned()),
        2 => Just("entity<|#Bo<|#|>Person<#>A man.\n".to_owned()),
        2 => Just("entity<|#|>Ada<|#|>Person<|#|>x<|#|>entity<|#|>Kelm<|#|>Location<|#|>y\n".to_owned()),
        1 => Just("**Entities:**\n".to_owned()),
        1 => Just("Here they are.\n\n".to_owned()),
        1 => Just("```json\n".to_owned()),
        1 => Just("<think>entity<|#|>No<|#|>Person<|#|>y</think>\n".to_owned()),
        1 => Just("<|COMPLETE|>\n".to_owned()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Marks, words and bytes in any order.
fn rubble() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("entity".to_owned()),
        Just("relationship".to_owned()),
        Just("<|#|>".to_owned()),
        Just("<|>".to_owned()),
        Just("<|#".to_owned()),
        Just("##".to_owned()),
        Just("<|COMPLETE|>".to_owned()),
        Just("complete".to_owned()),
        Just("<think>".to_owned()),
        Just("</think>".to_owned()),
        Just("<entity>".to_owned()),
        Just("</entity>".to_owned()),
        Just("```".to_owned()),
        Just("{\"".to_owned()),
        Just("[{".to_owned()),
        Just("\n".to_owned()),
        "[\"'“”(){}\\[\\]:,;.<>|#\\\\&/*_ -]",
        "[a-zA-Z0-9é中，：（）]{1,6}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

#[track_caller]
fn check_total(text: &str) {
    for cut in [false, true] {
        let parsed = parse(text, cut);
        let spans =
            parsed.found.iter().map(|found| &found.span).chain(parsed.rejects.iter().map(|r| &r.span));
        for span in spans {
            assert!(span.start <= span.end && text.get(span.clone()).is_some(), "{span:?} of {text:?}");
        }
        for reject in parsed.rejects_of(0, text) {
            assert!(text[reject.offset as usize..].starts_with(&reject.text), "{reject:?} of {text:?}");
        }
        assert!(parsed.found.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_with_correct_positions(text in prop_oneof![rubble(), fragments(), any::<String>()]) {
        check_total(&text);
    }

    #[test]
    fn an_answer_cut_anywhere_gives_the_records_before_the_cut(text in fragments(), at in any::<prop::sample::Index>(), cut in any::<bool>()) {
        let whole = parse(&text, false).found;
        let end = text.floor_char_boundary(at.index(text.len() + 1));
        let part = parse(&text[..end], cut).found;
        let before: Vec<&ParsedPiece> = whole.iter().filter(|found| found.span.end < end).collect();
        prop_assert!(part.len() >= before.len(), "{:?}", &text[..end]);
        for (kept, before) in part.iter().zip(before) {
            prop_assert_eq!(&kept.record, &before.record);
        }
    }

    #[test]
    fn valid_json_is_never_altered(name in "[A-Z][a-z \"\\\\/<|#>{}:,中]{3,20}[a-z]", description in "(\\PC|\n|</think>|<\\|#\\|>|entity|<\\|COMPLETE\\|>){0,60}") {
        let text = serde_json::json!({ "entities": [{ "name": "Ada", "type": "Person", "description": description }], "x": name }).to_string();
        let parsed = parse(&text, false);
        let [ParsedPiece { record: ParsedRecord::Entity(entity), damage, .. }] = parsed.found.as_slice() else {
            panic!("one entity: {text} {parsed:?}");
        };
        prop_assert_eq!(&entity.description, &description);
        prop_assert!(damage.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parsing_time_is_linear_in_the_length(unit in rubble(), joint in prop_oneof![Just(""), Just("\n"), Just(" ")]) {
        let unit = format!("{unit}{joint}");
        let text = |times: usize| unit.repeat(times);
        let limit = |length: usize| 400 * (length + 64);
        for times in [4, 96] {
            let text = text(times);
            prop_assert!(steps_of(|| { parse(&text, false); }) <= limit(text.len()), "{} of {:?}", times, unit);
        }
    }
}

#[test]
fn adversarial_answers_do_not_slow_down_parsing() {
    let units = [
        "[",
        "{",
        "{\"",
        "[\"a\"<|",
        "\"",
        "\"\n",
        "{\"a\":\"\n",
        "<",
        "<|",
        "<|#",
        "|",
        "#",
        "##",
        "(",
        "(\"",
        "entity",
        "entity<|#|>",
        "<entity>",
        "<entity ",
        "</think>",
        "<think>",
        "complete",
        "COMPLETE ",
        "`",
        "```",
        "\n",
        " ",
        "-",
        "1.",
        "(\"entity\"<|>",
        "(\"entity\"<|>\"A\"<|>\n",
        "entity<|#|>A<|#|>\nx\n",
        "{\"a\":[",
        "//",
        "{//\n",
        "[\"a\", \"b\"\n",
        "\\",
        "&lt;",
        "< ",
        "<a",
        "[{\"a\":1},",
        "\"\"\",  ",
        "e ",
        "é",
        "[\"\n",
        "{a:",
        "<entity>\n",
        "x<|#|>entity ",
    ];
    for unit in units {
        for prefix in ["", "{\"a\": \"", "[", "(\"entity\"<|>\"A\"<|>", "<entity>"] {
            let text = format!("{prefix}{}", unit.repeat(20_000 / unit.len()));
            let steps = steps_of(|| {
                parse(&text, false);
            });
            assert!(
                steps <= 400 * text.len(),
                "{steps} steps for {} bytes of {prefix:?} {unit:?}",
                text.len()
            );
        }
    }
}

/// Reads a few thousand damaged copies of real forms, the same ones in every run.
#[test]
fn mutated_answers_are_read() {
    let seeds = [
        "<think>Let me see.</think>\nentity<|#|>Ada Voss<|#|>Person<|#|>Works in Kelm.\nrelation<|#|>Ada Voss<|#|>Kelm<|#|>work, place<|#|>Ada works in Kelm.\n<|COMPLETE|>",
        "(\"entity\"<|>\"Ada\"<|>\"person\"<|>\"Works.\")##\n(\"relationship\"<|>\"Ada\"<|>\"Kelm\"<|>\"Ada works.\"<|>\"work\"<|>7)##\n(\"content_keywords\"<|>\"labs\")<|COMPLETE|>",
        "```json\n{\"entities\": [{\"name\": \"Ada \\u00e9\", \"type\": \"Person\", \"description\": \"Wörks.\"}], \"relationships\": [{\"source\": \"Ada\", \"target\": \"Kelm\", \"keywords\": [\"work\"], \"description\": \"d\", \"weight\": 7.5}]}\n```",
        "<entity name=\"Ada\" type=\"Person\">Works.</entity>\n（“entity”＜|＞“李雷”＜|＞“人物”＜|＞“在北京工作。”）\n",
    ];
    // Xorshift: needs no clock and no seed from outside.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for round in 0..6_000 {
        let mut bytes = seeds[round % seeds.len()].as_bytes().to_vec();
        for _ in 0..=next(6) {
            let at = next(bytes.len());
            let end = (at + 1 + next(12)).min(bytes.len());
            match next(5) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes.insert(at, b"<|#>\"(){}[]\n\\, x"[next(16)]),
                2 => bytes.truncate(at),
                3 => {
                    let copy = bytes[at..end].to_vec();
                    let to = next(bytes.len());
                    bytes.splice(to..to, copy);
                }
                _ => bytes[at] = next(256) as u8,
            }
            if bytes.is_empty() {
                break;
            }
        }
        check_total(&String::from_utf8_lossy(&bytes));
    }
}
