//! Suggestions for unknown names, so that errors can ask "did you mean".

/// Returns the candidates most similar to `name`, best first, at most `limit`. Only candidates within the
/// distance of a typo, or that share a part with `name`, are returned.
///
/// Ignores case. Ties are in ascending order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((distance_if_near(&wanted, &candidate.to_lowercase())?, candidate)))
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(limit).map(|(_, candidate)| candidate).collect()
}

/// Returns the edit distance if it is small enough for a typo; 1 if one name contains the other and is at least half as long.
fn distance_if_near(wanted: &str, candidate: &str) -> Option<usize> {
    const MOST_CHARACTERS: usize = 128;
    let (a, b): (Vec<char>, Vec<char>) = (wanted.chars().collect(), candidate.chars().collect());
    let longest = a.len().max(b.len());
    let shares_a_part =
        a.len().min(b.len()) >= 3 && (candidate.contains(wanted) || wanted.contains(candidate));
    if wanted.is_empty() || candidate.is_empty() {
        return None;
    }
    if shares_a_part {
        return Some(1);
    }
    if longest > MOST_CHARACTERS || a.len().abs_diff(b.len()) > 3 {
        return None;
    }
    let edits = edit_distance(&a, &b);
    (edits <= (longest / 3).clamp(1, 4)).then_some(edits)
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between two words, in which no part is edited
/// twice (optimal string alignment).
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(from != to);
            let mut edits = replaced.min(next[j] + 1).min(row[j + 1] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                edits = edits.min(before[j - 1] + 1);
            }
            next.push(edits);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_the_intended_name() {
        assert_eq!(nearest("embeder", ["embedder", "llm", "workspace"], 2), ["embedder"]);
        assert_eq!(nearest("work_space", ["embedder", "llm", "workspace"], 2), ["workspace"]);
        assert_eq!(nearest("aks", ["add", "ask", "show"], 2), ["ask"]);
        assert_eq!(nearest("lables", ["labels", "tables of all"], 1), ["labels"]);
    }

    #[test]
    fn a_part_of_a_path_finds_the_path() {
        assert_eq!(nearest("story.md", ["docs/other.md", "docs/story.md"], 3), ["docs/story.md"]);
    }

    #[test]
    fn a_name_without_near_matches_finds_nothing() {
        assert!(nearest("zebra", ["embedder", "llm"], 3).is_empty());
        assert!(nearest("", ["ab"], 3).is_empty());
    }
}
