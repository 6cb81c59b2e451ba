//! Rewrites the widths of glyphs in the only form that the PDF library reads.
//!
//! A composite font lists them as `first [w w w]` or as `first last w` (ISO 32000-1, 9.7.4.3). The library assumes the default
//! width for every glyph in the second form, so the words of a line overlap: "back. The" was read as "bacTk.h e". Browsers
//! print such files.

use std::collections::BTreeMap;

use pdf_extract::{Document, Object};

/// The largest glyph number.
const MAX_GLYPH: i64 = 65_535;
/// Maximum widths of one font. Ranges may overlap, and a file may contain any number of them.
const MAX_WIDTHS: usize = 1_000_000;

/// Writes the widths of every composite font glyph by glyph. Widths that cannot be read are left unchanged.
pub(super) fn write_out(document: &mut Document) {
    let fonts: Vec<_> =
        document.objects.iter().filter(|(_, object)| is_font(object)).map(|(id, _)| *id).collect();
    for id in fonts {
        let Some(widths) = widths_of(document, id) else { continue };
        if let Some(font) = document.objects.get_mut(&id).and_then(|object| object.as_dict_mut().ok()) {
            font.set("W", runs(widths));
        }
    }
}

/// True if the object is a font with numbered glyphs, a descendant of a composite font.
fn is_font(object: &Object) -> bool {
    let kind =
        |object: &Object| object.as_dict().ok()?.get(b"Subtype").ok()?.as_name().ok().map(<[u8]>::to_vec);
    kind(object).is_some_and(|kind| kind.starts_with(b"CIDFontType"))
}

/// Returns the width of each glyph by its number; `None` if the font has no widths, or invalid ones.
fn widths_of(document: &Document, font: (u32, u16)) -> Option<BTreeMap<i64, Object>> {
    let resolved = |object: &Object| document.dereference(object).ok().map(|(_, object)| object.clone());
    let given = resolved(document.get_object(font).ok()?.as_dict().ok()?.get(b"W").ok()?)?;
    let mut given = given.as_array().ok()?.iter().map(resolved);
    let mut widths = BTreeMap::new();
    let mut count = 0;
    while let Some(first) = given.next() {
        let first = first?.as_i64().ok().filter(|first| (0..=MAX_GLYPH).contains(first))?;
        let run: Vec<Object> = match given.next()?? {
            Object::Array(run) => run,
            last => {
                let last = last.as_i64().ok()?.min(MAX_GLYPH);
                let width = given.next()??;
                (first..=last).map(|_| width.clone()).collect()
            }
        };
        count += run.len();
        if count > MAX_WIDTHS {
            return None;
        }
        widths.extend((first..).zip(run));
    }
    Some(widths)
}

/// Writes `first [w w w]` for each run of glyphs.
fn runs(widths: BTreeMap<i64, Object>) -> Object {
    let mut runs: Vec<(i64, Vec<Object>)> = Vec::new();
    for (glyph, width) in widths {
        match runs.last_mut() {
            Some((first, run)) if *first + run.len() as i64 == glyph => run.push(width),
            Some(_) | None => runs.push((glyph, vec![width])),
        }
    }
    Object::Array(
        runs.into_iter().flat_map(|(first, run)| [Object::Integer(first), Object::Array(run)]).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::{ParseError, ParseLimits};
    use super::super::parse;
    use super::super::tests::file;

    /// Creates a page with two pieces of text in a composite font. `widths` defines its glyphs as half as
    /// wide as they are high.
    fn page(widths: &str, first: &str, second: &str) -> Vec<u8> {
        let hex = |text: &str| text.bytes().map(|byte| format!("00{byte:02x}")).collect::<String>();
        let step = first.len() * 5;
        let content =
            format!("BT /F1 10 Tf 1 0 0 1 50 700 Tm <{}> Tj {step} 0 Td <{}> Tj ET", hex(first), hex(second));
        let unicode = "begincmap\n1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n1 beginbfrange\n<0020> <007e> <0020>\n\
                       endbfrange\nendcmap";
        let stream = |content: &str| format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len());
        file(&[
            (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
            (2, "<< /Type /Pages /Kids [10 0 R] /Count 1 >>".to_owned()),
            (
                3,
                "<< /Type /Font /Subtype /Type0 /BaseFont /Sans /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 6 0 R >>"
                    .to_owned(),
            ),
            (
                4,
                format!(
                    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Sans /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) \
                     /Supplement 0 >> /FontDescriptor 5 0 R /DW 1000 /W {widths} >>"
                ),
            ),
            (5, "<< /Type /FontDescriptor /FontName /Sans /Flags 4 >>".to_owned()),
            (6, stream(unicode)),
            (7, "[32 126 500]".to_owned()),
            (
                10,
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 11 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
                    .to_owned(),
            ),
            (11, stream(&content)),
        ])
    }

    fn text(pdf: &[u8]) -> String {
        parse(pdf, &ParseLimits::default()).expect("a document").text
    }

    #[test]
    fn widths_of_a_range_of_glyphs_keep_words_in_order() {
        let one_by_one = format!("[32 [{}]]", "500 ".repeat(95));
        for widths in
            ["[32 126 500]", "7 0 R", "[32 90 500 91 126 500]", "[32 [500 500] 34 126 500]", &one_by_one]
        {
            assert_eq!(
                text(&page(widths, "They came back. ", "The recall.")),
                "They came back. The recall.\n",
                "{widths}"
            );
        }
    }

    #[test]
    fn invalid_widths_break_at_most_their_page() {
        for widths in [
            "[32]",
            "[32 126]",
            "[126 32 500]",
            "[-5 [500]]",
            "[-99999999999 5 500]",
            "[(a) [500]]",
            "[32 99999999999 500]",
            "[]",
            "5",
        ] {
            let read = parse(&page(widths, "Radium ", "glows."), &ParseLimits::default());
            assert!(matches!(read, Ok(_) | Err(ParseError::Broken { .. })), "{widths}: {read:?}");
        }
    }
}
