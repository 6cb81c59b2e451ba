//! Detects what an answer lost: truncated, invalid, or incomplete records.
//!
//! A loss is not the same as a model's habit. Prose, a relation of an entity with itself, or a field missing in most records of
//! the answer are not losses: asking again would give the same.

use std::collections::BTreeMap;

use graphloom_core::{ExtractionKey, RejectReason};

use super::records::{Damage, ParsedPiece, ParsedRecord, ParsedResponse, RejectedPiece};

/// Adds losses that only show in the answer as a whole to the rejects of its last piece: records without a field that the others
/// have, and a last record that breaks off although the answer was not reported as cut.
pub(super) fn find_losses(parsed: &mut ParsedResponse) {
    let mut lost: Vec<RejectedPiece> = Vec::new();
    for kind in [is_entity, is_relation] {
        let all = parsed.found.iter().filter(|found| kind(found));
        let (short, whole): (Vec<&ParsedPiece>, Vec<&ParsedPiece>) =
            all.partition(|found| found.damage.contains(&Damage::MissingField));
        if short.len() < whole.len() {
            let missing = |found: &ParsedPiece| RejectedPiece {
                reason: RejectReason::MissingField,
                span: found.span.clone(),
            };
            lost.extend(short.into_iter().map(missing));
        }
    }
    if let Some(last) = broken_off(parsed) {
        lost.push(RejectedPiece { reason: RejectReason::Cut, span: last.span.clone() });
    }
    if !lost.is_empty() {
        parsed.rejects.extend(lost);
        parsed.rejects.sort_by_key(|reject| reject.span.start);
    }
}

fn is_entity(found: &ParsedPiece) -> bool {
    matches!(found.record, ParsedRecord::Entity(_))
}

fn is_relation(found: &ParsedPiece) -> bool {
    matches!(found.record, ParsedRecord::Relation(_))
}

/// Returns the last record if no completion mark follows it and it alone ends in the middle of a sentence. Many models never write
/// the mark, so a missing mark alone proves nothing.
fn broken_off(parsed: &ParsedResponse) -> Option<&ParsedPiece> {
    let (last, others) = parsed.found.split_last()?;
    let is_last = parsed.rejects.iter().all(|reject| reject.span.start < last.span.start);
    let whole = others.iter().filter(|found| ends_a_sentence(description(found))).count();
    let breaks_off = !parsed.complete
        && is_last
        && !last.damage.contains(&Damage::MissingField)
        && !ends_a_sentence(description(last))
        && whole * 2 > others.len();
    breaks_off.then_some(last)
}

fn description(found: &ParsedPiece) -> &str {
    match &found.record {
        ParsedRecord::Entity(entity) => &entity.description,
        ParsedRecord::Relation(relation) => &relation.description,
        ParsedRecord::Themes(_) => "",
    }
}

/// True if a text ends like a sentence: with a mark that ends one, perhaps inside quotes or brackets.
pub(crate) fn ends_a_sentence(text: &str) -> bool {
    let closing = |c: char| c.is_whitespace() || "\"'”’»）)]*_`".contains(c);
    text.trim_end_matches(closing).ends_with(['.', '!', '?', '…', '。', '！', '？', '।', '؟', '۔', '։'])
}

/// What a chunk's extraction lost, by reason; empty if nothing was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<RejectReason, u32>);

impl Losses {
    pub(super) fn add(&mut self, reason: RejectReason) {
        if reason.is_loss() {
            *self.0.entry(reason).or_default() += 1;
        }
    }

    pub(super) fn extend(&mut self, others: &Self) {
        for (reason, number) in &others.0 {
            *self.0.entry(*reason).or_default() += number;
        }
    }

    /// True if nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of lost pieces.
    pub fn count(&self) -> u32 {
        self.0.values().sum()
    }

    /// Describes the losses for users; equal losses give equal texts.
    pub fn describe(&self) -> String {
        let listed: Vec<String> =
            self.0.iter().map(|(reason, number)| format!("{number} {}", reason.name())).collect();
        format!("parts of the answer were lost: {}", listed.join(", "))
    }
}

/// Returns the key for the records saved from a damaged answer until a complete answer replaces them. It differs from the question's
/// own key, so that no other chunk takes them for the answer.
pub(super) fn damaged_key(key: &ExtractionKey, responses: &[String]) -> ExtractionKey {
    let mut parts = vec!["damaged", key.as_str()];
    parts.extend(responses.iter().map(String::as_str));
    ExtractionKey::new(&parts)
}

#[cfg(test)]
mod tests {
    use super::super::records::parse;
    use super::*;

    fn check_losses(answer: &str) -> Vec<(RejectReason, usize)> {
        let mut parsed = parse(answer, false);
        find_losses(&mut parsed);
        let lost = parsed.rejects.iter().filter(|reject| reject.reason.is_loss());
        lost.map(|reject| (reject.reason, reject.span.start)).collect()
    }

    const ADA: &str = "entity<|#|>Ada<|#|>Person<|#|>Works in Kelm.\n";
    const BO: &str = "entity<|#|>Bo<|#|>Person<|#|>Lives there.\n";

    #[test]
    fn complete_answers_lose_nothing_despite_text_around_their_records() {
        for answer in [
            format!("{ADA}{BO}entity<|#|>9<|#|>Data<|#|>A number.\n<|COMPLETE|>"),
            format!("{ADA}{BO}<|COMPLETE|>"),
            format!("{ADA}{BO}"),
            format!("Here it is:\n1. {ADA}2. {BO}I hope this helps"),
            format!("{ADA}relation<|#|>Ada<|#|>Ada<|#|>self<|#|>Is herself.\n<|COMPLETE|>"),
            r#"{"entities": [{"name": "Ada", "type": "Person", "description": "Works"}]}"#.to_owned(),
            "entity<|#|>Ada<|#|>Person<|#|>Works".to_owned(),
        ] {
            assert_eq!(check_losses(&answer), [], "{answer}");
        }
    }

    #[test]
    fn records_that_are_cut_unreadable_or_lack_a_field_are_losses() {
        let cut = format!("{ADA}{BO}relation<|#|>Ada<|#|>Bo<|#|>");
        assert_eq!(check_losses(&cut), [(RejectReason::Cut, ADA.len() + BO.len())]);
        let short = format!("{ADA}entity<|#|>Kelm<|#|>Location\n{BO}<|COMPLETE|>");
        assert_eq!(check_losses(&short), [(RejectReason::MissingField, ADA.len())]);
        let nameless = format!("entity<|#|><|#|>Person<|#|>Works.\n{ADA}<|COMPLETE|>");
        assert_eq!(check_losses(&nameless), [(RejectReason::NoName, 0)]);
    }

    #[test]
    fn a_last_record_that_breaks_off_is_a_loss_even_without_a_cut_signal() {
        let cut = format!("{ADA}{BO}entity<|#|>Kelm<|#|>Location<|#|>A town on the ri");
        assert_eq!(check_losses(&cut), [(RejectReason::Cut, ADA.len() + BO.len())]);
        assert_eq!(check_losses(&format!("{cut}\n<|COMPLETE|>")), []);
    }

    #[test]
    fn a_field_that_most_records_lack_is_no_loss() {
        let terse =
            "entity<|#|>Ada<|#|>Person\nentity<|#|>Bo<|#|>Person\nentity<|#|>Kelm<|#|>Location<|#|>A town.\n";
        assert_eq!(check_losses(terse), []);
        let unpunctuated = "entity<|#|>Ada<|#|>Person<|#|>works\nentity<|#|>Bo<|#|>Person<|#|>lives\n";
        assert_eq!(check_losses(unpunctuated), []);
    }

    #[test]
    fn losses_are_described_by_reason() {
        let mut losses = Losses::default();
        for reason in [RejectReason::Cut, RejectReason::MissingField, RejectReason::Cut, RejectReason::Prose]
        {
            losses.add(reason);
        }
        assert_eq!(losses.describe(), "parts of the answer were lost: 2 cut, 1 missing_field");
        assert_eq!(losses.count(), 3);
    }
}
