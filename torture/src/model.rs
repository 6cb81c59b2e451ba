//! The expected store: for each source, the versions allowed by acknowledged and unacknowledged writes.

use std::collections::{BTreeMap, BTreeSet};

/// Allowed versions of a source; `None` means absent.
type AllowedVersions = BTreeSet<Option<u32>>;

/// The expected state.
#[derive(Debug, Default, Clone)]
pub(crate) struct Model {
    sources: BTreeMap<u32, AllowedVersions>,
    /// Ids of acknowledged decisions.
    pub(crate) decisions: BTreeSet<String>,
    /// Sources that were cancelled and not written since.
    cancelled: BTreeSet<u32>,
    /// Number of re-extractions by model.
    renewals: BTreeMap<&'static str, u64>,
}

/// How a write ended, as known to its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteEnd {
    /// It was acknowledged.
    Done,
    /// It was rejected and changed nothing.
    Refused,
    /// Its process was killed or failed; it was applied completely or not at all.
    Unknown,
}

/// A fault of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// An acknowledged version is missing.
    Lost,
    /// A removed or replaced version is present.
    Ghost,
}

impl Model {
    /// Records that a version was written.
    pub(crate) fn wrote(&mut self, source: u32, version: u32, ended: WriteEnd) {
        self.note(source, Some(version), ended);
    }

    /// Records that a source was removed.
    pub(crate) fn removed(&mut self, source: u32, ended: WriteEnd) {
        self.note(source, None, ended);
    }

    fn note(&mut self, source: u32, now: Option<u32>, ended: WriteEnd) {
        let allowed = self.sources.entry(source).or_insert_with(|| AllowedVersions::from([None]));
        if ended != WriteEnd::Refused {
            self.cancelled.remove(&source);
        }
        match ended {
            WriteEnd::Done => *allowed = AllowedVersions::from([now]),
            WriteEnd::Unknown => {
                allowed.insert(now);
            }
            WriteEnd::Refused => {}
        }
    }

    /// Records that a source was cancelled.
    pub(crate) fn cancelled(&mut self, source: u32) {
        self.cancelled.insert(source);
    }

    /// Sources that stay cancelled until a retry.
    pub(crate) fn out_of_queue(&self) -> impl Iterator<Item = u32> {
        self.cancelled.iter().copied()
    }

    /// Records a re-extraction.
    pub(crate) fn renews(&mut self, model: &'static str) {
        *self.renewals.entry(model).or_default() += 1;
    }

    /// Number of re-extractions with a model.
    pub(crate) fn renewals(&self, model: &str) -> u64 {
        self.renewals.get(model).copied().unwrap_or(0)
    }

    /// Whether the source may be missing.
    pub(crate) fn may_be_missing(&self, source: u32) -> bool {
        self.sources.get(&source).is_none_or(|allowed| allowed.contains(&None))
    }

    /// Compares with the versions in the store.
    pub(crate) fn compare(&self, there: &BTreeMap<u32, BTreeSet<u32>>) -> Vec<(u32, Wrong, String)> {
        let mut wrong = Vec::new();
        let none = BTreeSet::new();
        for (source, allowed) in &self.sources {
            let versions = there.get(source).unwrap_or(&none);
            let fits = match versions.len() {
                0 => allowed.contains(&None),
                1 => versions.first().is_some_and(|version| allowed.contains(&Some(*version))),
                _ => false,
            };
            if !fits {
                // If a write was acknowledged and no allowed version is present, it is lost, whatever else is
                // present.
                let has_one = versions.iter().any(|version| allowed.contains(&Some(*version)));
                let kind = if has_one || allowed.contains(&None) { Wrong::Ghost } else { Wrong::Lost };
                wrong.push((*source, kind, format!("found {versions:?}, allowed {allowed:?}")));
            }
        }
        for (source, versions) in there {
            if !self.sources.contains_key(source) {
                wrong.push((*source, Wrong::Ghost, format!("found {versions:?}, but nothing was written")));
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_model(steps: &[(Option<u32>, WriteEnd)], there: &[u32]) -> Option<Wrong> {
        let mut model = Model::default();
        for (now, ended) in steps {
            model.note(1, *now, *ended);
        }
        let there = BTreeMap::from([(1, there.iter().copied().collect())]);
        model.compare(&there).first().map(|(_, wrong, _)| *wrong)
    }

    #[test]
    fn acknowledged_documents_must_exist() {
        assert_eq!(check_model(&[(Some(1), WriteEnd::Done)], &[1]), None);
        assert_eq!(check_model(&[(Some(1), WriteEnd::Done)], &[]), Some(Wrong::Lost));
        assert_eq!(
            check_model(&[(Some(1), WriteEnd::Done), (Some(2), WriteEnd::Done)], &[1]),
            Some(Wrong::Lost)
        );
    }

    #[test]
    fn removed_documents_must_be_gone() {
        assert_eq!(
            check_model(&[(Some(1), WriteEnd::Done), (None, WriteEnd::Done)], &[1]),
            Some(Wrong::Ghost)
        );
        assert_eq!(
            check_model(&[(Some(1), WriteEnd::Done), (Some(2), WriteEnd::Done)], &[1, 2]),
            Some(Wrong::Ghost)
        );
    }

    #[test]
    fn cancelled_documents_stay_out_of_the_queue_until_they_are_written_again() {
        let mut model = Model::default();
        model.wrote(1, 1, WriteEnd::Done);
        model.cancelled(1);
        model.wrote(1, 2, WriteEnd::Refused);
        assert_eq!(model.out_of_queue().collect::<Vec<_>>(), [1]);
        model.wrote(1, 3, WriteEnd::Unknown);
        assert_eq!(model.out_of_queue().count(), 0);
    }

    #[test]
    fn an_unknown_outcome_allows_both_states() {
        let steps = [(Some(1), WriteEnd::Done), (Some(2), WriteEnd::Unknown)];
        assert_eq!(check_model(&steps, &[1]), None);
        assert_eq!(check_model(&steps, &[2]), None);
        assert_eq!(check_model(&steps, &[]), Some(Wrong::Lost));
        assert_eq!(check_model(&[(Some(1), WriteEnd::Done), (None, WriteEnd::Unknown)], &[]), None);
        assert_eq!(check_model(&[(Some(1), WriteEnd::Done), (Some(2), WriteEnd::Refused)], &[1]), None);
    }
}
