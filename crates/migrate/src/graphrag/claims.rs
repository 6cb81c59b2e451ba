//! Claims (covariates): each becomes a claim of its text unit if its source text stands there.

use graphloom_core::{ClaimRecord, RejectReason};
use graphloom_engine::extract::{ClaimFields, claim_record};

use super::Documents;
use super::layout::{ClaimRow, Layout};

/// Words that a quote out of several must have to show what a claim rests on.
const MIN_QUOTE_WORDS: usize = 4;

/// Puts the claims of the tables to their text units; returns how many were taken over, and says why others were not.
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
                    if let Some(said) = documents.said(place).filter(|said| !said.claims.contains(&record)) {
                        said.claims.push(record);
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
    note(unplaced, "without a text unit that is there");
    note(unquoted, "whose source text does not stand in their text unit");
    note(unnamed, "without a subject or type");
    taken
}

/// The claim with the words of `passage` that its source text repeats. GraphRAG asks for all quotes in one text, so where
/// the whole is not found, the longest quote that is found counts.
fn quoted(row: &ClaimRow, passage: &str) -> Result<ClaimRecord, RejectReason> {
    let whole = claim_record(row.fields.clone(), passage);
    if whole != Err(RejectReason::QuoteNotFound) {
        return whole;
    }
    let mut pieces: Vec<&str> = row.fields.quote.split(['\n', '"', '“', '”']).map(str::trim).collect();
    pieces.retain(|piece| piece.split_whitespace().count() >= MIN_QUOTE_WORDS);
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    let found = pieces.into_iter().find_map(|piece| {
        let fields = ClaimFields { quote: piece.to_owned(), ..row.fields.clone() };
        claim_record(fields, passage).ok()
    });
    found.ok_or(RejectReason::QuoteNotFound)
}
