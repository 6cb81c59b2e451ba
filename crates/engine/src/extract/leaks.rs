//! Removes records that repeat an example of the prompt.

use std::collections::BTreeSet;

use graphloom_core::RejectReason;

use super::records::{ParsedRecord, ParsedResponse, RejectedPiece, parse};

/// Names in the example records of a prompt, in lower case.
pub(super) struct ExampleNames(BTreeSet<String>);

impl ExampleNames {
    /// Collects the names of the records in `prompt`.
    pub(super) fn of(prompt: &str) -> Self {
        let records = parse(prompt, false).records();
        let entities = records.entities.into_iter().map(|entity| entity.name);
        let ends = records.relations.into_iter().flat_map(|relation| [relation.source, relation.target]);
        Self(entities.chain(ends).map(|name| name.to_lowercase()).collect())
    }

    /// Rejects the records of `parsed` that name an example which does not occur in `passage`.
    pub(super) fn reject_leaked(&self, parsed: &mut ParsedResponse, passage: &str) {
        let mut passage_lower = None;
        let mut is_leaked = |name: &str| {
            let name = name.to_lowercase();
            let passage = passage_lower.get_or_insert_with(|| passage.to_lowercase());
            self.0.contains(&name) && !passage.contains(&name)
        };
        let mut leaked = Vec::new();
        parsed.found.retain(|found| {
            let leaks = match &found.record {
                ParsedRecord::Entity(entity) => is_leaked(&entity.name),
                ParsedRecord::Relation(relation) => {
                    is_leaked(&relation.source) || is_leaked(&relation.target)
                }
                ParsedRecord::Themes(_) => false,
            };
            if leaks {
                leaked.push(RejectedPiece { reason: RejectReason::PromptExample, span: found.span.clone() });
            }
            !leaks
        });
        if !leaked.is_empty() {
            tracing::warn!(records = leaked.len(), "the model repeated examples of the prompt");
            parsed.rejects.extend(leaked);
            parsed.rejects.sort_by_key(|reject| reject.span.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_leaks(answer: &str, passage: &str) -> (usize, Vec<RejectReason>) {
        let names = ExampleNames::of(
            "Write so:\nentity<|#|>NAME ONE<|#|>TYPE<|#|>WORDS\nentity<|#|>Alex<|#|>Person<|#|>x\n",
        );
        let mut parsed = parse(answer, false);
        names.reject_leaked(&mut parsed, passage);
        (parsed.found.len(), parsed.rejects.iter().map(|reject| reject.reason).collect())
    }

    #[test]
    fn repeated_examples_are_not_records_unless_the_passage_names_them() {
        let answer = "entity<|#|>name one<|#|>Person<|#|>y\nentity<|#|>Ada<|#|>Person<|#|>y\nrelation<|#|>Ada<|#|>Alex<|#|>k<|#|>d\n";
        assert_eq!(check_leaks(answer, "Ada works."), (1, vec![RejectReason::PromptExample; 2]));
        assert_eq!(check_leaks(answer, "Ada met ALEX."), (2, vec![RejectReason::PromptExample]));
    }
}
