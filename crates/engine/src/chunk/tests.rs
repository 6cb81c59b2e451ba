use proptest::prelude::*;

use super::*;
use graphloom_readers::{ParseLimits, parse};

fn check_pieces(
    format: Format,
    text: &str,
    strategy: ChunkStrategy,
    max: u32,
    overlap: u32,
) -> (ParsedDocument, Vec<Piece>) {
    let document =
        parse("a", text.as_bytes(), Some(format), &ParseLimits::default()).expect("a readable document");
    let config = ChunkConfig { strategy, max_chunk_tokens: Some(max), overlap_tokens: overlap };
    let pieces = chunk(&document, &config, Tokenizer);
    (document, pieces)
}

#[track_caller]
fn check_chunks(format: Format, text: &str, max: u32, overlap: u32, expected: &[&str]) {
    let (document, pieces) = check_pieces(format, text, ChunkStrategy::Auto, max, overlap);
    let found: Vec<&str> = pieces.iter().filter_map(|piece| piece.span.slice(&document.text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn paragraphs_stay_whole_if_they_fit() {
    let text = "One two three four.\n\nFive six seven.\n\nEight nine ten eleven twelve.\n";
    check_chunks(
        Format::Text,
        text,
        12,
        0,
        &["One two three four.\n\nFive six seven.", "Eight nine ten eleven twelve."],
    );
}

#[test]
fn long_paragraphs_are_cut_between_sentences_that_overlap() {
    let text = "One two three four. Five six seven eight. Nine ten eleven twelve.";
    let expected =
        ["One two three four. Five six seven eight.", "Five six seven eight. Nine ten eleven twelve."];
    check_chunks(Format::Text, text, 13, 6, &expected);
}

#[test]
fn rows_stay_whole_and_do_not_overlap() {
    let rows = "name,born\nCurie,1867\nBohr,1885\n";
    let expected = ["Columns: name | born", "name: Curie | born: 1867", "name: Bohr | born: 1885"];
    check_chunks(Format::Csv, rows, 12, 6, &expected);
}

#[test]
fn small_sections_are_joined_and_know_their_headings() {
    let text = "# A\n\nalpha\n\n## B\n\nbeta\n\n## C\n\ngamma delta epsilon zeta eta theta iota kappa\n";
    let (document, pieces) = check_pieces(Format::Markdown, text, ChunkStrategy::Auto, 18, 0);
    let found: Vec<_> = pieces
        .iter()
        .map(|p| (p.span.slice(&document.text).unwrap_or_default(), p.breadcrumb.join(">")))
        .collect();
    assert_eq!(found[0], ("# A\n\nalpha\n\n## B\n\nbeta", "A".to_owned()));
    assert!(found[1..].iter().all(|(_, path)| path == "A>C"));
    assert!(found[1].0.starts_with("## C\n\ngamma"));
}

#[test]
fn a_heading_stays_with_its_text() {
    let text = "One two three four five.\n\n# Title\n\nSix seven eight nine ten eleven.\n";
    let (document, pieces) = check_pieces(Format::Markdown, text, ChunkStrategy::Recursive, 12, 0);
    let found: Vec<&str> = pieces.iter().filter_map(|piece| piece.span.slice(&document.text)).collect();
    assert_eq!(found, ["One two three four five.", "# Title\n\nSix seven eight nine ten eleven."]);
}

#[test]
fn boilerplate_has_its_own_chunks() {
    let text = "# One\n\nAda slept.\n\n# Two\n\nAda woke.\n\n*** END OF THE EBOOK ***\n\n# Licence\n\nVisit Halden.\n";
    let document =
        parse("ada.md", text.as_bytes(), Some(Format::Markdown), &ParseLimits::default()).expect("a text");
    for strategy in [ChunkStrategy::TokenWindow, ChunkStrategy::Recursive, ChunkStrategy::Headings] {
        let config = ChunkConfig { strategy, ..ChunkConfig::default() };
        let pieces = chunk(&document, &config, Tokenizer);
        let found: Vec<_> = pieces.iter().map(|p| (p.span.slice(&document.text), p.is_boilerplate)).collect();
        let [(Some(own), false), (Some(behind), true)] = found[..] else { panic!("{found:?}") };
        assert!(own.ends_with("Ada woke."), "{own}");
        assert!(behind.starts_with("*** END OF THE EBOOK ***"), "{behind}");
    }
}

#[test]
fn long_documents_get_smaller_chunks() {
    let short = ParsedDocument {
        text: "word ".repeat(2000),
        format: Format::Text,
        encoding: "UTF-8".to_owned(),
        title: None,
        headings: Vec::new(),
        lines_match_source: true,
        parts: Vec::new(),
        boilerplate: Vec::new(),
        remarks: Vec::new(),
    };
    let long = ParsedDocument { text: "word ".repeat(30_000), ..short.clone() };
    let largest =
        |document| chunk(document, &ChunkConfig::default(), Tokenizer).iter().map(|p| p.token_count).max();
    assert_eq!((largest(&short), largest(&long)), (Some(CHUNK_TOKENS), Some(SMALL_CHUNK_TOKENS)));
}

#[test]
fn invalid_sizes_are_refused() {
    assert_eq!(ChunkConfig::default().validate(), Ok(()));
    let small = ChunkConfig { max_chunk_tokens: Some(2), ..ChunkConfig::default() };
    assert_eq!(small.validate(), Err(ChunkConfigError::TooSmall { tokens: 2 }));
    let overlapping = ChunkConfig { max_chunk_tokens: Some(150), ..ChunkConfig::default() };
    assert_eq!(overlapping.validate(), Err(ChunkConfigError::Overlap { overlap: 100, tokens: 150 }));
}

fn strategies() -> impl Strategy<Value = ChunkStrategy> {
    prop_oneof![
        Just(ChunkStrategy::Auto),
        Just(ChunkStrategy::TokenWindow),
        Just(ChunkStrategy::Recursive),
        Just(ChunkStrategy::Headings),
    ]
}

fn formats() -> impl Strategy<Value = Format> {
    prop_oneof![
        Just(Format::Text),
        Just(Format::Markdown),
        Just(Format::Html),
        Just(Format::Csv),
        Just(Format::Json)
    ]
}

proptest! {
    #[test]
    fn chunks_are_bounded_ascending_and_lose_no_text(
        text in "(\\PC{0,3}|word |Two words\\. |\r\n|\n\n|# H\n|## é\n|漢字。|, |🚀| {1,9}){1,60}",
        format in formats(),
        strategy in strategies(),
        max in 8u32..40,
        overlap in 0u32..30,
    ) {
        prop_assume!(parse("a", text.as_bytes(), Some(format), &ParseLimits::default()).is_ok());
        let (document, pieces) = check_pieces(format, &text, strategy, max, overlap);
        let text = document.text.as_str();
        let mut covered = 0;
        let mut last_start = None;
        for piece in &pieces {
            let slice = piece.span.slice(text).expect("a span on character borders");
            prop_assert_eq!(slice.trim(), slice);
            prop_assert_eq!(Tokenizer.count(slice), piece.token_count);
            prop_assert!(piece.token_count <= max && piece.token_count > 0);
            let (start, end) = (piece.span.start as usize, piece.span.end as usize);
            prop_assert!(last_start < Some(start) && end > covered);
            prop_assert!(start <= covered || text[covered..start].trim().is_empty());
            (covered, last_start) = (end, Some(start));
        }
        prop_assert!(text[covered..].trim().is_empty());
        let config = ChunkConfig { strategy, max_chunk_tokens: Some(max), overlap_tokens: overlap };
        prop_assert_eq!(chunk(&document, &config, Tokenizer), pieces);
    }
}
