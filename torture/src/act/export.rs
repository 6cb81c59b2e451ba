//! Checks that an export during writes shows one version of each document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::text;

/// Versions of each source in the chunks of an export, identified by the source's own canaries.
pub(crate) fn versions(export: &str) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut there: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for line in export.lines() {
        let chunk: Value = serde_json::from_str(line).unwrap_or_default();
        let Some(source) = chunk["source"].as_str().and_then(text::source_of) else { continue };
        for (of, version) in text::canaries(chunk["text"].as_str().unwrap_or_default()) {
            if of == source {
                there.entry(source).or_default().insert(version);
            }
        }
    }
    there
}

/// The sources with two versions in one export, which no snapshot has.
pub(super) fn mixed(export: &str) -> Vec<String> {
    let mixed = versions(export).into_iter().filter(|(_, versions)| versions.len() > 1);
    mixed.map(|(source, versions)| format!("{}: {versions:?}", text::file(source))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_versions_of_a_source_in_one_export_are_detected() {
        let chunk = |source: u32, version: u32| {
            let text = text::canary(source, version);
            serde_json::json!({ "source": text::file(source), "text": text }).to_string()
        };
        let export = [chunk(1, 7), chunk(2, 8), chunk(2, 9)].join("\n");
        assert_eq!(mixed(&export), ["s2.md: {8, 9}"]);
        assert_eq!(versions(&export).len(), 2);
    }
}
