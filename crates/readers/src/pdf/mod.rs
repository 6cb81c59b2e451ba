//! Reads PDF documents page by page.

mod edges;
mod flow;
mod layout;
mod widths;
mod written;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graphloom_core::Format;
use pdf_extract::{Document, MediaBox, Object, OutputDev, OutputError, Transform, output_doc_page};

use super::draft::{Draft, words};
use super::{Body, ParseError, ParseLimits};
use layout::{Glyph, Sizes};
use written::written_on;

/// Maximum glyphs of one page. A page in small print has some ten thousand.
const MAX_GLYPHS: usize = 500_000;
/// Maximum nesting of forms, which are pages drawn on pages.
const MAX_FORM_DEPTH: usize = 20;
/// Maximum forms that are checked for drawing themselves.
const MAX_FORMS: usize = 100_000;

/// Returns the pages' text in the order in which it was drawn: lines joined to paragraphs, larger lines as headings, and the
/// columns of tables separated. Paragraphs continue over columns and pages. Heads and feet that repeat are written once, page
/// numbers not at all. Filled form fields and notes follow the text of their page. Pages that cannot be read and pages without text are left out, with a remark.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut document = match Document::load_mem(bytes) {
        Ok(document) => document,
        Err(error) if says_encrypted(bytes) => {
            tracing::debug!(%error, "an encrypted PDF could not be opened without a password");
            return Err(ParseError::Encrypted { format: Format::Pdf });
        }
        Err(error) => return Err(broken(&error)),
    };
    // Documents that only forbid printing or copying open with an empty password.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(ParseError::Encrypted { format: Format::Pdf });
    }
    let pages = document.get_pages();
    // If a password is needed, the pages are missing entirely.
    if pages.is_empty() && says_encrypted(bytes) {
        return Err(ParseError::Encrypted { format: Format::Pdf });
    }
    if pages.is_empty() {
        return Err(broken(&"it has no pages"));
    }
    limits.check_parts("pages", pages.len())?;
    drop_pictures(&mut document);
    widths::write_out(&mut document);
    check_forms(&document)?;

    let mut read: Vec<(u32, Vec<Glyph>)> = Vec::with_capacity(pages.len());
    let mut written = BTreeMap::new();
    let (mut unreadable, mut blank) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for (&page, &id) in &pages {
        let mut glyphs = Glyphs::default();
        // The library panics on unexpected content.
        let outcome = catch_unwind(AssertUnwindSafe(|| output_doc_page(&document, &mut glyphs, page)));
        let Glyphs { found, .. } = glyphs;
        let texts = written_on(&document, id, limits.max_bytes);
        if !matches!(outcome, Ok(Ok(()))) {
            unreadable.push(page);
        } else if texts.is_empty() && !found.iter().any(|glyph| glyph.text.contains(char::is_alphanumeric)) {
            blank.push(page);
        }
        bytes += found.iter().map(|glyph| glyph.text.len()).sum::<usize>();
        bytes += texts.iter().map(String::len).sum::<usize>();
        if bytes > limits.max_bytes {
            return Err(ParseError::TooLarge { bytes, max_bytes: limits.max_bytes });
        }
        read.push((page, found));
        written.insert(page, texts);
    }
    if unreadable.len() == pages.len() {
        return Err(broken(&"none of its pages can be read"));
    }
    if blank.len() + unreadable.len() == pages.len() {
        return Err(ParseError::Scanned { pages: pages.len() });
    }
    let mut draft = Draft::new(limits.max_bytes);
    draft.title(&title_of(&document));
    let sizes = Sizes::of(read.iter().flat_map(|(_, glyphs)| glyphs));
    let pages_read = read.into_iter().map(|(page, glyphs)| (page, layout::lines_of(glyphs))).collect();
    flow::write(pages_read, &written, &sizes, &mut draft);
    let mut body = draft.finish()?;
    let total = pages.len();
    if !unreadable.is_empty() {
        body.remarks.push(format!(
            "{} of {total} pages could not be read: {}",
            unreadable.len(),
            listed(&unreadable)
        ));
    }
    if !blank.is_empty() {
        body.remarks.push(format!("{} of {total} pages hold no text: {}", blank.len(), listed(&blank)));
    }
    Ok(body)
}

fn broken(error: &impl ToString) -> ParseError {
    ParseError::Broken { format: Format::Pdf, reason: error.to_string() }
}

/// Lists page numbers: the first few of them.
fn listed(pages: &[u32]) -> String {
    const MOST: usize = 10;
    let mut numbers: Vec<String> = pages.iter().take(MOST).map(u32::to_string).collect();
    if pages.len() > MOST {
        numbers.push("...".to_owned());
    }
    numbers.join(", ")
}

fn says_encrypted(bytes: &[u8]) -> bool {
    const MARK: &[u8] = b"/Encrypt";
    bytes.windows(MARK.len()).any(|window| window == MARK)
}

/// Removes images, which have no text and make up most of a file.
fn drop_pictures(document: &mut Document) {
    for object in document.objects.values_mut() {
        if let Object::Stream(stream) = object
            && stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Image")
        {
            stream.dict.remove(b"Filter");
            stream.dict.remove(b"DecodeParms");
            stream.content = Vec::new();
        }
    }
}

/// Returns an error for documents with a form that draws itself: drawing it would never end.
fn check_forms(document: &Document) -> Result<(), ParseError> {
    let is_form = |object: &Object| {
        object.as_stream().is_ok_and(|stream| {
            stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Form")
        })
    };
    // Depth of each form above the forms that it draws, found from the innermost outwards.
    let mut depths = std::collections::BTreeMap::new();
    let forms: Vec<_> =
        document.objects.iter().filter(|(_, object)| is_form(object)).map(|(id, _)| *id).collect();
    if forms.len() > MAX_FORMS {
        return Err(ParseError::TooMany { what: "forms", found: forms.len(), max: MAX_FORMS });
    }
    let drawn: std::collections::BTreeMap<_, Vec<_>> = forms
        .iter()
        .map(|id| {
            (*id, drawn_by(document, *id).into_iter().filter(|id| forms.binary_search(id).is_ok()).collect())
        })
        .collect();
    for _ in 0..=MAX_FORM_DEPTH {
        let mut changed = false;
        for (id, inner) in &drawn {
            let depth = inner.iter().map(|id| depths.get(id).copied().unwrap_or(0) + 1).max().unwrap_or(0);
            changed |= depths.insert(*id, depth) != Some(depth);
        }
        if !changed {
            return Ok(());
        }
    }
    Err(ParseError::TooDeep { format: Format::Pdf, max_depth: MAX_FORM_DEPTH })
}

/// Returns the objects that a form may draw. A form without its own resources uses those of the page, which
/// are unknown here; it counts as drawing nothing.
fn drawn_by(document: &Document, form: (u32, u16)) -> Vec<(u32, u16)> {
    let resolve = |object: &'_ Object| match object {
        Object::Reference(id) => document.get_object(*id).ok().cloned(),
        other => Some(other.clone()),
    };
    let drawn = || {
        let stream = document.get_object(form).ok()?.as_stream().ok()?;
        let resources = resolve(stream.dict.get(b"Resources").ok()?)?;
        let drawn = resolve(resources.as_dict().ok()?.get(b"XObject").ok()?)?;
        Some(drawn.as_dict().ok()?.iter().filter_map(|(_, object)| object.as_reference().ok()).collect())
    };
    drawn().unwrap_or_default()
}

/// Returns the title in the document's information, unless a program put the file's name there.
fn title_of(document: &Document) -> String {
    let title = || {
        let info = document.trailer.get(b"Info").ok()?;
        let info = document.dereference(info).ok()?.1.as_dict().ok()?;
        pdf_extract::decode_text_string(document.dereference(info.get(b"Title").ok()?).ok()?.1).ok()
    };
    let title = words(&title().unwrap_or_default());
    let is_file =
        title.starts_with("Microsoft ") || title.rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4);
    if is_file || title.eq_ignore_ascii_case("untitled") { String::new() } else { title }
}

/// Collects the glyphs of a page.
#[derive(Default)]
struct Glyphs {
    found: Vec<Glyph>,
}

impl OutputDev for Glyphs {
    fn begin_page(
        &mut self,
        _: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        _: f64,
        size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        if self.found.len() < MAX_GLYPHS {
            self.found.push(Glyph::new([at.m11, at.m12, at.m21, at.m22, at.m31, at.m32], width, size, text));
        }
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use graphloom_core::Part;

    use super::*;

    /// Creates a PDF whose pages draw these contents.
    pub(in super::super) fn pdf(pages: &[&str]) -> Vec<u8> {
        let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 10 + page * 2)).collect();
        let mut objects = vec![
            (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
            (2, format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len())),
            (
                3,
                "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
                    .to_owned(),
            ),
        ];
        for (page, content) in pages.iter().enumerate() {
            let number = 10 + page * 2;
            objects.push((
                number,
                format!(
                    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {} 0 R /Resources << /Font << /F1 3 \
                     0 R >> >> >>",
                    number + 1
                ),
            ));
            let length = content.len();
            objects.push((number + 1, format!("<< /Length {length} >>\nstream\n{content}\nendstream")));
        }
        file(&objects)
    }

    /// Creates a PDF with these objects. The first is the catalog.
    pub(in super::super) fn file(objects: &[(usize, String)]) -> Vec<u8> {
        let mut out = "%PDF-1.4\n".to_owned();
        let mut offsets = std::collections::BTreeMap::new();
        for (number, object) in objects {
            offsets.insert(*number, out.len());
            out.push_str(&format!("{number} 0 obj\n{object}\nendobj\n"));
        }
        let start = out.len();
        let size = offsets.keys().last().map_or(0, |last| last + 1);
        out.push_str("xref\n0 1\n0000000000 65535 f \n");
        for (number, offset) in offsets {
            out.push_str(&format!("{number} 1\n{offset:010} 00000 n \n"));
        }
        out.push_str(&format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"));
        out.into_bytes()
    }

    /// Draws lines of text, each with its position and size.
    pub(in super::super) fn show(lines: &[(u32, u32, u32, &str)]) -> String {
        let line = |(x, y, size, text): &(u32, u32, u32, &str)| {
            format!("BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n")
        };
        lines.iter().map(line).collect()
    }

    #[track_caller]
    fn check_pdf(pages: &[&str], expected: &str) -> Body {
        let body = parse(&pdf(pages), &ParseLimits::default()).expect("a document");
        assert_eq!(body.text, expected);
        body
    }

    #[test]
    fn pages_headings_and_paragraphs_are_found() {
        let first = show(&[
            (50, 700, 24, "Radium"),
            (50, 660, 10, "Radium was found by Marie and Pierre Cu-"),
            (50, 648, 10, "rie in Paris, in a shed that leaked when"),
            (50, 636, 10, "it rained."),
            (50, 600, 10, "Another paragraph."),
        ]);
        let second = show(&[(50, 700, 10, "On the second page.")]);
        let body = check_pdf(
            &[&first, &second],
            "# Radium\n\nRadium was found by Marie and Pierre Curie in Paris, in a shed that leaked when it rained.\n\n\
             Another paragraph.\n\nOn the second page.\n",
        );
        let pages: Vec<_> = body.parts.iter().map(|mark| mark.part.clone()).collect();
        assert_eq!(pages, [Part::Page(1), Part::Page(2)]);
        assert!(body.text[body.parts[1].offset as usize..].starts_with("On the second"));
        assert_eq!(body.headings.len(), 1);
    }

    /// The text and the offset of its second page.
    #[track_caller]
    fn check_two_pages(pages: [&[(u32, u32, u32, &str)]; 2], expected: &str, second: &str) {
        let pages = pages.map(show);
        let body = check_pdf(&[&pages[0], &pages[1]], expected);
        assert!(body.text[body.parts[1].offset as usize..].starts_with(second), "{:?}", body.parts);
    }

    #[test]
    fn a_sentence_continues_across_a_page_break_with_footer_and_header() {
        check_two_pages(
            [
                &[
                    (50, 780, 8, "The Paris Report"),
                    (50, 100, 10, "Radium was found by Marie and Pierre Curie in a shed of"),
                    (50, 88, 10, "Paris, which leaked. The two of them kept on work-"),
                    (50, 60, 7, "1 A note."),
                    (300, 30, 8, "Page 7"),
                ],
                &[
                    (50, 780, 8, "The Paris Report"),
                    (50, 700, 10, "ing there for years."),
                    (50, 660, 10, "Another paragraph."),
                    (300, 30, 8, "Page 8"),
                ],
            ],
            "The Paris Report\n\n1 A note.\n\nRadium was found by Marie and Pierre Curie in a shed of Paris, which leaked. \
             The two of them kept on working there for years.\n\nAnother paragraph.\n",
            "ing there",
        );
    }

    #[test]
    fn a_name_continues_across_the_end_of_a_full_page() {
        let full = [
            (50, 100, 10, "Radium was found in a shed of the city of"),
            (50, 88, 10, "Paris in the year by Marie and by Pierre"),
        ];
        check_two_pages(
            [&full, &[(50, 700, 10, "Curie, it is said.")]],
            "Radium was found in a shed of the city of Paris in the year by Marie and by Pierre Curie, it is said.\n",
            "Curie",
        );
        check_two_pages(
            [&full, &[(50, 700, 10, "1. Curie, it is said.")]],
            "Radium was found in a shed of the city of Paris in the year by Marie and by Pierre\n\n1. Curie, it is said.\n",
            "1. Curie",
        );
        check_two_pages(
            [&[(50, 700, 10, "A Report by Marie Curie")], &[(50, 700, 10, "Radium was found in Paris.")]],
            "A Report by Marie Curie\n\nRadium was found in Paris.\n",
            "Radium",
        );
    }

    #[test]
    fn a_sentence_continues_in_the_next_column() {
        let columns = show(&[
            (50, 700, 10, "Radium was found in"),
            (50, 688, 10, "Paris by Marie and"),
            (300, 700, 10, "others of her name."),
        ]);
        check_pdf(&[&columns], "Radium was found in Paris by Marie and others of her name.\n");
    }

    #[test]
    fn a_numbered_line_at_the_edge_stays_if_it_does_not_count_pages() {
        let page = |number: u32| {
            let rest = format!("Words of page {}.", ["one", "two", "three"][number as usize]);
            show(&[(50, 780, 10, &format!("Exercise {number}")), (50, 700, 10, &rest)])
        };
        check_pdf(
            &[&page(0), &page(1), &page(2)],
            "Exercise 0\n\nWords of page one.\n\nExercise 1\n\nWords of page two.\n\nExercise 2\n\nWords of page three.\n",
        );
    }

    #[test]
    fn cells_of_a_table_name_their_columns() {
        let table = show(&[
            (50, 700, 10, "Item"),
            (200, 700, 10, "Place"),
            (350, 700, 10, "Cost"),
            (50, 680, 10, "Pipes"),
            (200, 680, 10, "Shed"),
            (350, 680, 10, "12"),
            (50, 660, 10, "Valves"),
            (352, 660, 10, "3"),
        ]);
        check_pdf(
            &[&table],
            "Item | Place | Cost\nItem: Pipes | Place: Shed | Cost: 12\nItem: Valves | Cost: 3\n",
        );
    }

    #[test]
    fn a_page_without_text_is_reported_and_a_document_without_text_is_refused_as_scanned() {
        let text = show(&[(50, 700, 10, "Words.")]);
        let body = check_pdf(&["", &text], "Words.\n");
        assert_eq!(body.remarks, ["1 of 2 pages hold no text: 1"]);
        assert_eq!(body.parts[0].part, Part::Page(2));
        let refused = parse(&pdf(&["", ""]), &ParseLimits::default()).map(|body| body.text);
        assert_eq!(refused, Err(ParseError::Scanned { pages: 2 }));
    }

    #[test]
    fn a_page_that_breaks_the_reader_does_not_affect_the_others() {
        let text = show(&[(50, 700, 10, "Words.")]);
        let body = check_pdf(&["/Missing gs (x) Tj", &text], "Words.\n");
        assert_eq!(body.remarks, ["1 of 2 pages could not be read: 1"]);
    }

    #[test]
    fn pages_are_counted_and_bounded() {
        let limits = ParseLimits { max_parts: 1, ..ParseLimits::default() };
        let refused = parse(&pdf(&["", ""]), &limits).map(|body| body.text);
        assert_eq!(refused, Err(ParseError::TooMany { what: "pages", found: 2, max: 1 }));
    }

    #[test]
    fn a_form_that_draws_itself_is_refused() {
        let form = |number: usize| {
            format!(
                "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X {number} 0 R >> >> \
                 /Length 5 >>\nstream\n/X Do\nendstream"
            )
        };
        let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R \
                    >> >> >>";
        let bytes = file(&[
            (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
            (2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned()),
            (3, page.to_owned()),
            (4, "<< /Length 5 >>\nstream\n/X Do\nendstream".to_owned()),
            (5, form(6)),
            (6, form(5)),
        ]);
        let refused = parse(&bytes, &ParseLimits::default()).map(|body| body.text);
        assert_eq!(refused, Err(ParseError::TooDeep { format: Format::Pdf, max_depth: MAX_FORM_DEPTH }));
    }

    #[test]
    fn encrypted_and_broken_documents_are_distinguished() {
        let limits = ParseLimits::default();
        let plain = String::from_utf8(pdf(&["(x) Tj"])).expect("ASCII");
        let locked = plain.replace(
            "/Root 1 0 R",
            &format!(
                "/Root 1 0 R /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >> /ID [<00> <00>]",
                "ab".repeat(32)
            ),
        );
        let refused = parse(locked.as_bytes(), &limits).map(|body| body.text);
        assert_eq!(refused, Err(ParseError::Encrypted { format: Format::Pdf }));
        let cut = &plain.as_bytes()[..60];
        assert!(matches!(parse(cut, &limits), Err(ParseError::Broken { .. })));
    }
}
