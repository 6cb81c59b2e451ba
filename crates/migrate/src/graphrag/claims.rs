//! Claims (covariates): each becomes a claim of its text unit if the text unit contains its source text.

use graphloom_core::{ClaimRecord, RejectReason};
use graphloom_engine::extract::{ClaimFields, claim_record};
use graphloom_text::sentences;

use super::Documents;
use super::layout::{ClaimRow, Layout};

/// Minimum words of a quote that is taken from several quotes.
const MIN_QUOTE_WORDS: usize = 4;

/// Assigns the claims of the tables to their text units. Returns how many were taken over, and adds to `missing` why others were
/// not.
pub(super) fn place(layout: &Layout, documents: &mut Documents, missing: &mut Vec<String>) -> u64 {
    let (mut taken, mut unplaced, mut unquoted, mut unnamed) = (0, 0, 0, 0);
    for row in &layout.claims {
        let places = match layout.has_graph {
            true => documents.places.get(&row.unit).cloned().unwrap_or_default(),
            false => Vec::new(),
        };
        if places.is_empty() {
            unplaced += 1;
            continue;
        }
        let mut lost = None;
        let mut stands = false;
        for place in places {
            let passage = place.1.slice(&documents.list[place.0].text).unwrap_or_default().to_owned();
            match quoted(row, &passage) {
                Ok(record) => {
                    stands = true;
                    if let Some(records) =
                        documents.records(place).filter(|records| !records.claims.contains(&record))
                    {
                        records.claims.push(record);
                    }
                }
                Err(reason) => lost = Some(reason),
            }
        }
        match lost {
            _ if stands => taken += 1,
            Some(RejectReason::QuoteNotFound) => unquoted += 1,
            Some(_) | None => unnamed += 1,
        }
    }
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            missing.push(format!("claims (covariates) {what}, left out: {count}"));
        }
    };
    note(unplaced, "without an existing text unit");
    note(unquoted, "whose source text is not in their text unit");
    note(unnamed, "without a subject or type");
    taken
}

/// Returns the claim with its quote from `passage`. GraphRAG asks for all quotes of a claim in one text. If the passage does not
/// contain the whole text, uses the longest quote that it contains, or else the longest sentence.
fn quoted(row: &ClaimRow, passage: &str) -> Result<ClaimRecord, RejectReason> {
    let of =
        |quote: &str| claim_record(ClaimFields { quote: quote.to_owned(), ..row.fields.clone() }, passage);
    let source = row.fields.quote.as_str();
    let whole = of(source);
    if whole != Err(RejectReason::QuoteNotFound) {
        return whole;
    }
    let quotes = source.split("...").flat_map(|part| part.split(['…', '\n', '"', '“', '”'])).collect();
    let sentences = sentences(source).into_iter().map(|range| &source[range]).collect();
    let longest_found = |mut pieces: Vec<&str>| {
        pieces.retain(|piece| piece.split_whitespace().count() >= MIN_QUOTE_WORDS);
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
        pieces.into_iter().find_map(|piece| of(piece).ok())
    };
    let found = longest_found(quotes).or_else(|| longest_found(sentences));
    found.ok_or(RejectReason::QuoteNotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_quote(source: &str, expected: Option<&str>) {
        let fields = ClaimFields {
            subject: "ADA KERN".to_owned(),
            kind: "OFFICE".to_owned(),
            quote: source.to_owned(),
            ..ClaimFields::default()
        };
        let passage = "Ada Kern led Velora until 2019. Nobody knew why. Then Bo Lind took the office.";
        let found = quoted(&ClaimRow { unit: "u".to_owned(), fields }, passage);
        assert_eq!(found.ok().map(|record| record.quote), expected.map(str::to_owned), "{source}");
    }

    #[test]
    fn of_several_quotes_the_longest_in_the_passage_is_used() {
        check_quote("Ada Kern led  Velora until 2019.", Some("Ada Kern led Velora until 2019."));
        check_quote(
            "Ada Kern led Velora ... Then Bo Lind took the office.",
            Some("Then Bo Lind took the office."),
        );
        check_quote("\"Then Bo Lind took over.\" \"Ada Kern led Velora\"", Some("Ada Kern led Velora"));
        check_quote(
            "Ada Kern led Velora until 2019. Then Bo Lind left.",
            Some("Ada Kern led Velora until 2019."),
        );
        check_quote("Ada Kern founded Velora. ... Nobody knew.", None);
    }
}
