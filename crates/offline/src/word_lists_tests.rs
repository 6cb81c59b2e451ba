//! The word lists in the source of this crate.

use std::collections::HashSet;
use std::path::Path;
use std::{fs, io};

/// Minimum number of words of a literal that is a list.
const MIN_WORDS: usize = 4;

fn sources(folder: &Path, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if !path.to_string_lossy().ends_with("tests.rs") {
            found.push(fs::read_to_string(path)?);
        }
    }
    Ok(())
}

/// Returns the string literals of a source outside of its comments and tests.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n").replace("'\"'", "").replace("\\\"", "");
    code.split('"').skip(1).step_by(2).map(|literal| literal.replace("\\\n", " ")).collect()
}

/// Returns the entries of a literal if it is a list: lowercase words between spaces, or lowercase phrases between commas or bars.
fn entries(literal: &str) -> Option<Vec<&str>> {
    let entries: Vec<&str> = match [", ", "|"].into_iter().find(|between| literal.contains(between)) {
        Some(between) => literal.split(between).map(str::trim).collect(),
        None => literal.split_whitespace().collect(),
    };
    let is_list = entries.len() >= MIN_WORDS
        && !literal.contains(['.', '?', '!', ':', '{', '(', '\\'])
        && !literal.contains(char::is_uppercase);
    is_list.then_some(entries)
}

#[test]
fn no_word_list_repeats_a_word() -> io::Result<()> {
    let mut all = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all)?;
    let literals: Vec<String> = all.iter().flat_map(|source| literals(source)).collect();
    let lists: Vec<Vec<&str>> = literals.iter().filter_map(|literal| entries(literal)).collect();
    assert!(lists.len() > 100, "{} lists", lists.len());
    let repeated: Vec<(&str, &Vec<&str>)> = lists
        .iter()
        .flat_map(|list| {
            let mut known = HashSet::new();
            list.iter().filter(move |word| !known.insert(**word)).map(move |word| (*word, list))
        })
        .collect();
    assert!(repeated.is_empty(), "{repeated:#?}");
    Ok(())
}
