//! The text of a version of a source: names shared by all documents, and a canary word unique to this version.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Names shared by all documents. The anchor document contains all of them, and a relation from each to the next,
/// so that edits always find them.
pub(crate) const NAMES: [&str; 12] = [
    "Anna Berg",
    "Carl Hofer",
    "Dora Linn",
    "Emil Stark",
    "Greta Vond",
    "Hugo Marsh",
    "Ida Kolbe",
    "Jonas Reet",
    "Klara Senn",
    "Ludwig Trane",
    "Mira Oster",
    "Nils Quant",
];

/// The source that is added first and never changed.
pub(crate) const ANCHOR: u32 = 0;

/// The file of a source, which is also its source name.
pub(crate) fn file(source: u32) -> String {
    format!("s{source}.md")
}

/// The source with this file name.
pub(crate) fn source_of(file: &str) -> Option<u32> {
    file.strip_prefix('s')?.strip_suffix(".md")?.parse().ok()
}

/// The word that only this version of this source contains.
pub(crate) fn canary(source: u32, version: u32) -> String {
    format!("Canary{source}x{version}z")
}

/// All canaries in a text, in upper or lower case, as source and version.
pub(crate) fn canaries(text: &str) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(['C', 'c']) {
        let Some(word) = text.get(at..at + 6).filter(|word| word.eq_ignore_ascii_case("canary")) else {
            continue;
        };
        let rest = &text[at + word.len()..];
        let Some((source, rest)) = number(rest) else { continue };
        let Some((version, rest)) = rest.strip_prefix(['x', 'X']).and_then(number) else { continue };
        if rest.starts_with(['z', 'Z']) {
            found.push((source, version));
        }
    }
    found
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The shape of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// Passages of each version.
    pub(crate) passages: u32,
    /// Things named by one passage only; many of them make merges slow.
    pub(crate) things: u32,
}

/// Prefix of the names of such things.
pub(crate) const THING: &str = "Thing";

/// The text of a version. Every passage contains the canary, so no two versions share a passage.
pub(crate) fn text(source: u32, version: u32, Shape { passages, things }: Shape) -> String {
    if source == ANCHOR {
        let known = NAMES.iter().map(|name| format!("{name} is known here."));
        // Wording in which both the rules and the model find a relation.
        let related = NAMES.windows(2).map(|pair| format!("{} met {}.", pair[0], pair[1]));
        return format!("{}\n", known.chain(related).collect::<Vec<_>>().join(" "));
    }
    let mut random = Random::new(u64::from(source) << 32 | u64::from(version));
    let canary = canary(source, version);
    let mut text = String::new();
    for passage in 0..passages.max(1) {
        let [one, other, third] = [random.pick(&NAMES), random.pick(&NAMES), random.pick(&NAMES)];
        if passage > 0 {
            text.push('\n');
        }
        text.push_str(&format!(
            "## Part {passage} of {canary}\n\n{one} works with {other} on {canary}. {third} met {one} beside {canary} in \
             part {passage}.\n"
        ));
        for thing in 0..things {
            let end = if thing + 1 == things { ".\n" } else { ", " };
            text.push_str(&format!("{THING}{source}v{version}p{passage}n{thing}{end}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canaries_are_found_in_upper_and_lower_case() {
        let text = format!("{} and CANARY12X34Z, no canary5x, Canary6x7", canary(1, 2));
        assert_eq!(canaries(&text), [(1, 2), (12, 34)]);
        let shape = Shape { passages: 2, things: 3 };
        assert_eq!(canaries(&super::text(3, 4, shape)).len(), 6);
    }

    #[test]
    fn a_file_name_leads_back_to_its_source() {
        assert_eq!(source_of(&file(17)), Some(17));
        assert_eq!(source_of("other.md"), None);
    }
}
