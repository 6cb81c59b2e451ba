use proptest::prelude::*;

use super::*;

fn shown(text: &str) -> Vec<String> {
    let date =
        |date: &Option<graphloom_core::IsoDate>| date.as_ref().map_or(String::new(), ToString::to_string);
    let mut shown: Vec<String> = claims(text)
        .iter()
        .map(|claim| {
            let status =
                if claim.status == ClaimStatus::True { String::new() } else { format!(" {}", claim.status) };
            format!(
                "{} | {} | {} | {}..{}{status}",
                claim.subject,
                claim.kind,
                claim.object.as_deref().unwrap_or("-"),
                date(&claim.period.start),
                date(&claim.period.end),
            )
        })
        .collect();
    shown.sort();
    shown.dedup();
    shown
}

#[track_caller]
fn check_claims(text: &str, expected: &[&str]) {
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(shown(text), expected, "{text}");
}

const CEO: &str = "chief executive officer";

#[test]
fn names_can_contain_years_nicknames_and_legal_forms() {
    check_claims(
        "Ada Kern was appointed CEO of Mattoni 1873 in 2014.",
        &["Ada Kern | chief executive officer | Mattoni 1873 | 2014.."],
    );
    check_claims(
        "Ada \"Ace\" Kern was appointed CEO of Velora in 2014.",
        &["Ada \"Ace\" Kern | chief executive officer | Velora | 2014.."],
    );
    check_claims(
        "As CEO of Velora Baltics, UAB, Bo Lind was succeeded in 2008 by Ada Kern.",
        &[
            "Ada Kern | chief executive officer | Velora Baltics, UAB | 2008..",
            "Bo Lind | chief executive officer | Velora Baltics, UAB | ..2008",
        ],
    );
}

/// Checks that a text says that Ada Kern followed Bo Lind as chief executive of Velora Systems in 2012.
#[track_caller]
fn check_change(text: &str) {
    let found = shown(text);
    let begins = format!("Ada Kern | {CEO} | Velora Systems | 2012..");
    assert!(found.contains(&begins), "{text}: {found:?}");
    let ends = format!("Bo Lind | {CEO} | Velora Systems | ..2012");
    assert!(found.contains(&ends), "{text}: {found:?}");
}

#[test]
fn a_change_of_holders_is_read_in_many_wordings() {
    for text in [
        "In 2012, Ada Kern succeeded Bo Lind as chief executive officer of Velora Systems.",
        "Ada Kern replaced Bo Lind as CEO of Velora Systems in 2012.",
        "Bo Lind was succeeded as chief executive of Velora Systems by Ada Kern in 2012.",
        "As CEO of Velora Systems, Bo Lind was replaced by Ada Kern in 2012.",
        "Ada Kern was appointed chief executive officer of Velora Systems in 2012, succeeding Bo Lind.",
        "Velora Systems appointed Ada Kern as its new chief executive in 2012, replacing Bo Lind.",
        "In 2012 Ada Kern took over as CEO of Velora Systems from Bo Lind.",
        "The post of CEO of Velora Systems passed from Bo Lind to Ada Kern in 2012.",
        "Bo Lind stepped down as CEO of Velora Systems in 2012 and Ada Kern took over.",
        "After Bo Lind resigned as CEO of Velora Systems in 2012, Ada Kern was appointed to the post.",
        "Bo Lind handed over the role of CEO of Velora Systems to Ada Kern in 2012.",
        "Bo Lind was CEO of Velora Systems. He was succeeded by Ada Kern in 2012.",
    ] {
        check_change(text);
    }
}

#[test]
fn terms_have_a_start_and_an_end() {
    let whole = format!("Bo Lind | {CEO} | Velora Systems | 2006..2012");
    for text in [
        "Bo Lind served as CEO of Velora Systems from 2006 to 2012.",
        "From 2006 until 2012, Bo Lind was the chief executive officer of Velora Systems.",
        "Bo Lind held the position of chief executive of Velora Systems between 2006 and 2012.",
        "Bo Lind, CEO of Velora Systems from 2006 to 2012, grew up in Ostrava.",
        "Bo Lind (CEO of Velora Systems, 2006–2012) grew up in Ostrava.",
        "Velora Systems' chief executive from 2006 to 2012 was Bo Lind.",
        "Bo Lind led Velora Systems as chief executive from 2006 until his retirement in 2012.",
        "Velora Systems was led by Bo Lind as CEO from 2006 to 2012.",
    ] {
        let found = shown(text);
        assert!(found.contains(&whole), "{text}: {found:?}");
    }
}

#[test]
fn open_terms_have_no_end() {
    let open = format!("Ada Kern | {CEO} | Velora Systems | 2012-03..");
    for text in [
        "Ada Kern has been CEO of Velora Systems since March 2012.",
        "Ada Kern became Velora Systems CEO in March 2012.",
        "In March 2012 the board of Velora Systems named Ada Kern chief executive.",
        "Ada Kern joined Velora Systems as CEO in March 2012.",
        "Since March 2012, the chief executive of Velora Systems has been Ada Kern.",
        "Velora Systems makes pumps. In March 2012 the company appointed Ada Kern as its chief executive officer.",
    ] {
        let found = shown(text);
        // The last wording names the company in its first sentence.
        let named = found.contains(&open) || text.starts_with("Velora Systems makes");
        assert!(named, "{text}: {found:?}");
    }
}

#[test]
fn a_relative_clause_is_about_the_name_before_it() {
    check_claims(
        "Bo Lind, who had led Velora Systems as CEO since 2006, was succeeded by Ada Kern in May 2012.",
        &[
            &format!("Bo Lind | {CEO} | Velora Systems | 2006.."),
            &format!("Bo Lind | {CEO} | Velora Systems | ..2012-05"),
            &format!("Ada Kern | {CEO} | Velora Systems | 2012-05.."),
        ],
    );
}

#[test]
fn denials_and_rumours_have_a_status() {
    check_claims(
        "Bo Lind was never CEO of Velora Systems in 2012.",
        &[&format!("Bo Lind | {CEO} | Velora Systems | 2012..2012 false")],
    );
    check_claims(
        "Ada Kern is expected to become CEO of Velora Systems in 2030.",
        &[&format!("Ada Kern | {CEO} | Velora Systems | 2030.. suspected")],
    );
}

#[test]
fn events_have_a_date() {
    check_claims(
        "Velora Systems was founded in 1998 by Mara Voss.",
        &["Velora Systems | founding | Mara Voss | 1998.."],
    );
    check_claims(
        "Mara Voss founded Velora Systems in 1998.",
        &["Velora Systems | founding | Mara Voss | 1998.."],
    );
    check_claims(
        "On 3 May 2010 Velora Systems acquired Tamsin Pumps.",
        &["Velora Systems | acquisition | Tamsin Pumps | 2010-05-03.."],
    );
    check_claims(
        "Mara Voss was born in Ostrava on 10 December 1955.",
        &["Mara Voss | birth | Ostrava | 1955-12-10.."],
    );
}

#[test]
fn names_keep_their_small_words_and_legal_forms() {
    check_claims(
        "Leo da Costa became CEO of Tamsin Foods, Inc. in 2004.",
        &[&format!("Leo da Costa | {CEO} | Tamsin Foods, Inc. | 2004..")],
    );
    check_claims(
        "J. R. Okafor became chief executive of the Bank of the Lower Tamsin in 2004.",
        &[&format!("J. R. Okafor | {CEO} | Bank of the Lower Tamsin | 2004..")],
    );
    check_claims(
        "In 2012, Tim King succeeded Dean Finch as CEO of Velora Systems.",
        &[
            &format!("Tim King | {CEO} | Velora Systems | 2012.."),
            &format!("Dean Finch | {CEO} | Velora Systems | ..2012"),
        ],
    );
    check_claims(
        "Herbert König joined Velora Systems as CEO in 2002.",
        &[&format!("Herbert König | {CEO} | Velora Systems | 2002..")],
    );
    check_claims(
        "Marieke van de Rakt ran Velora Systems as chief executive officer between 2019 and 2021.",
        &[&format!("Marieke van de Rakt | {CEO} | Velora Systems | 2019..2021")],
    );
    check_claims(
        "Stephen P. MacMillan ran Velora Systems as chief executive officer between 2005 and 2012.",
        &[&format!("Stephen P. MacMillan | {CEO} | Velora Systems | 2005..2012")],
    );
    check_claims(
        "Ivo Brandt has been CEO of metaphor.ly & Sons GmbH since 2004.",
        &[&format!("Ivo Brandt | {CEO} | metaphor.ly & Sons GmbH | 2004..")],
    );
}

#[test]
fn german_sentences_are_read() {
    let begins = format!("Ada Kern | {CEO} | Velora Systeme AG | 2012..");
    let ends = format!("Bo Lind | {CEO} | Velora Systeme AG | ..2012");
    for text in [
        "Ada Kern wurde 2012 zur Vorstandsvorsitzenden der Velora Systeme AG ernannt und ist seit dem Jahr in der Stadt.",
        "Im Jahr 2012 wurde Ada Kern Vorstandsvorsitzende der Velora Systeme AG, die in der Stadt ist.",
        "Ada Kern ist seit 2012 die Vorstandsvorsitzende der Velora Systeme AG und lebt in der Stadt.",
    ] {
        let found = shown(text);
        assert!(found.contains(&begins), "{text}: {found:?}");
    }
    for text in [
        "Ada Kern folgte 2012 auf Bo Lind als Vorstandsvorsitzende der Velora Systeme AG, die in der Stadt ist.",
        "Ada Kern löste 2012 Bo Lind als Vorstandsvorsitzenden der Velora Systeme AG ab, die in der Stadt ist.",
        "Bo Lind wurde 2012 als Vorstandsvorsitzender der Velora Systeme AG von Ada Kern abgelöst, die in der Stadt ist.",
        "Bo Lind trat 2012 als Vorstandsvorsitzender der Velora Systeme AG zurück und ging in die Stadt.",
    ] {
        let found = shown(text);
        assert!(found.contains(&ends), "{text}: {found:?}");
    }
}

#[test]
fn chinese_sentences_are_read() {
    let begins = format!("李明 | {CEO} | 东海银行 | 2012..");
    let ends = format!("王芳 | {CEO} | 东海银行 | ..2012");
    for text in
        ["2012年，李明接替王芳出任东海银行首席执行官。", "李明于2012年接替王芳担任东海银行首席执行官。"]
    {
        let found = shown(text);
        assert!(found.contains(&begins) && found.contains(&ends), "{text}: {found:?}");
    }
    check_claims("2012年东海银行任命李明为首席执行官。", &[&begins]);
    check_claims(
        "2006年至2012年，王芳担任东海银行的首席执行官。",
        &[&format!("王芳 | {CEO} | 东海银行 | 2006..2012")],
    );
    check_claims("王芳于2012年辞去东海银行首席执行官一职。", &[&ends]);
}

#[test]
fn text_that_only_looks_like_an_office_is_not_a_claim() {
    for text in [
        "In 2012 the bridge was replaced by a tunnel.",
        "The head of the river lies in Ostrava, which was founded by monks.",
        "Ada Kern became a lawyer in 2012.",
        "In 2012 Ada Kern left Ostrava and moved to Brno.",
        "The report of 2012 was followed by another report.",
    ] {
        check_claims(text, &[]);
    }
}

#[test]
fn a_quote_is_verbatim_and_includes_the_sentence_it_refers_to() {
    let text = "Bo Lind was CEO of Velora Systems. He was succeeded by Ada Kern in 2012.";
    let found = claims(text);
    assert!(found.iter().all(|claim| text.contains(&claim.quote)));
    assert!(found.iter().any(|claim| claim.quote == text), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn quotes_of_any_text_are_verbatim(
        text in "((Ada|Bo Lind|He|CEO|of|was|in|2012|from|to|succeeded|by|as|,|\\(|\\)|\\.|Velora|wurde|年|任命|'s|–)[ \n]?){0,40}",
    ) {
        for claim in claims(&text) {
            prop_assert!(text.contains(&claim.quote));
            prop_assert!(!claim.period.is_unknown() && !claim.subject.is_empty());
        }
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,60}2012\\PC{0,60}") {
        claims(&text);
    }
}
