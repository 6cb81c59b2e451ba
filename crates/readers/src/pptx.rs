//! Reads PowerPoint presentations slide by slide: titles, text, tables and notes.

use graphloom_core::{Format, Part};

use super::archive::Archive;
use super::draft::Draft;
use super::package::{diagram_lines, links_of, main_part};
use super::superscript::superscript;
use super::xml_events::{Node, Nodes};
use super::{Body, ParseError, ParseLimits};

/// The presentation's main part, unless it names another.
const PRESENTATION: &str = "ppt/presentation.xml";

/// Returns the slides in the order of the presentation, each with its title as heading, then its text, tables and notes.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut archive = Archive::open(bytes, Format::Pptx, limits)?;
    let (main, presentation) = main_part(&mut archive, PRESENTATION, Format::Pptx, limits)?;
    let links = links_of(&mut archive, &main, Format::Pptx, limits)?;
    let mut draft = Draft::new(limits.max_bytes);
    if let Some(xml) = archive.text("docProps/core.xml")? {
        draft.title(&super::xml::text_of_first(&xml, "title", Format::Pptx, limits)?);
    }
    let slides = slide_ids(&presentation, limits)?;
    limits.check_parts("slides", slides.len())?;
    let (total, mut missing) = (slides.len(), 0);
    for (number, id) in (1u32..).zip(slides) {
        let xml = match links.get(&id) {
            Some(link) => archive.text(&link.target)?.map(|xml| (link.target.as_str(), xml)),
            None => None,
        };
        let Some((path, xml)) = xml else {
            missing += 1;
            continue;
        };
        draft.part(Part::Slide(number));
        Slide::read(&xml, limits)?.write(&mut draft);
        let links = links_of(&mut archive, path, Format::Pptx, limits)?;
        for diagram in links.values().filter(|link| link.is("diagramData")) {
            if let Some(xml) = archive.text(&diagram.target)? {
                for line in diagram_lines(&xml, Format::Pptx, limits)? {
                    draft.item(0, "-", &line);
                }
            }
        }
        if let Some(notes) = links.values().find(|link| link.is("notesSlide"))
            && let Some(xml) = archive.text(&notes.target)?
        {
            Slide::read(&xml, limits)?.write_notes(&mut draft);
        }
        if draft.is_full() {
            break;
        }
    }
    if missing > 0 {
        draft.remark(format!("{missing} of {total} slides are missing in the file"));
    }
    draft.finish()
}

/// Returns the ids of the slides' links, in order.
fn slide_ids(xml: &str, limits: &ParseLimits) -> Result<Vec<String>, ParseError> {
    let mut nodes = Nodes::new(xml, Format::Pptx, limits.max_depth);
    let mut ids = Vec::new();
    while let Some(node) = nodes.next()? {
        if let Node::Open(element) = node
            && element.name() == "sldId"
            && let Some(id) = element.prefixed_attr("id")
        {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// The purpose of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Title,
    /// Bulleted text.
    Body,
    /// Text anywhere on the slide.
    Free,
    /// Page number, date or footer: the same on every slide.
    Furniture,
}

/// A paragraph with its depth, or a table.
enum Block {
    Paragraph(usize, String),
    Table(Vec<Vec<String>>),
}

/// The shapes of a slide, in order.
#[derive(Default)]
struct Slide {
    shapes: Vec<(Purpose, Vec<Block>)>,
}

impl Slide {
    fn read(xml: &str, limits: &ParseLimits) -> Result<Self, ParseError> {
        let mut nodes = Nodes::new(xml, Format::Pptx, limits.max_depth);
        let mut slide = Self::default();
        let mut purpose = Purpose::Free;
        let mut blocks: Vec<Block> = Vec::new();
        let (mut text, mut depth, mut in_text) = (String::new(), 0, false);
        let mut is_raised = false;
        let mut table: Option<Vec<Vec<String>>> = None;
        while let Some(node) = nodes.next()? {
            match node {
                Node::Open(element) => {
                    let name = element.name();
                    in_text = name == "t";
                    match name.as_str() {
                        "sp" | "graphicFrame" => purpose = Purpose::Free,
                        "ph" => purpose = purpose_of(element.attr("type").as_deref()),
                        "tbl" => table = Some(Vec::new()),
                        "tr" => table.iter_mut().for_each(|rows| rows.push(Vec::new())),
                        "tc" => {
                            if let Some(row) = table.as_mut().and_then(|rows| rows.last_mut()) {
                                row.push(String::new());
                            }
                        }
                        "p" => (text, depth) = (String::new(), 0),
                        "pPr" => depth = element.attr("lvl").and_then(|lvl| lvl.parse().ok()).unwrap_or(0),
                        "br" => text.push('\n'),
                        "r" => is_raised = false,
                        "rPr" => is_raised = element.attr("baseline").is_some_and(|rise| is_above(&rise)),
                        _ => {}
                    }
                }
                Node::Text(piece) if in_text && is_raised => text.push_str(&superscript(&piece)),
                Node::Text(piece) if in_text => text.push_str(&piece),
                Node::Text(_) => {}
                Node::Close(name) => {
                    in_text = false;
                    match name.as_str() {
                        "p" => {
                            let piece = std::mem::take(&mut text);
                            let cell = table.as_mut().and_then(|rows| rows.last_mut()?.last_mut());
                            match cell {
                                Some(cell) => {
                                    cell.push_str(&piece);
                                    cell.push('\n');
                                }
                                None => blocks.push(Block::Paragraph(depth, piece)),
                            }
                        }
                        "tbl" => blocks.extend(table.take().map(Block::Table)),
                        "sp" | "graphicFrame" => {
                            slide.shapes.push((purpose, std::mem::take(&mut blocks)));
                            purpose = Purpose::Free;
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(slide)
    }

    fn write(&self, draft: &mut Draft) {
        for (_, blocks) in self.shapes.iter().filter(|(purpose, _)| *purpose == Purpose::Title) {
            let words: Vec<&str> = blocks
                .iter()
                .filter_map(|block| match block {
                    Block::Paragraph(_, text) => Some(text.as_str()),
                    Block::Table(_) => None,
                })
                .collect();
            draft.heading(1, &words.join(" "));
        }
        for (purpose, blocks) in &self.shapes {
            for block in blocks {
                match (purpose, block) {
                    (Purpose::Title | Purpose::Furniture, _) => {}
                    (Purpose::Body | Purpose::Free, Block::Table(rows)) => draft.table(rows),
                    (Purpose::Body, Block::Paragraph(depth, text)) => draft.item(*depth, "-", text),
                    (Purpose::Free, Block::Paragraph(_, text)) => draft.paragraph(text),
                }
            }
        }
    }

    /// Writes the notes. They are in the body of the notes page; its other shapes repeat the slide.
    fn write_notes(&self, draft: &mut Draft) {
        let bodies = self.shapes.iter().filter(|(purpose, _)| *purpose == Purpose::Body);
        let mut first = true;
        for block in bodies.flat_map(|(_, blocks)| blocks) {
            if let Block::Paragraph(_, text) = block
                && !text.trim().is_empty()
            {
                let start = if std::mem::take(&mut first) { "Notes: " } else { "" };
                draft.paragraph(&format!("{start}{text}"));
            }
        }
    }
}

/// True if a distance from the base line, in thousandths of a percent or with a percent sign, is upwards.
fn is_above(rise: &str) -> bool {
    rise.trim_end_matches('%').parse().is_ok_and(|rise: f32| rise > 0.0)
}

fn purpose_of(placeholder: Option<&str>) -> Purpose {
    match placeholder {
        Some("title" | "ctrTitle") => Purpose::Title,
        Some("sldNum" | "dt" | "ftr" | "hdr" | "sldImg") => Purpose::Furniture,
        Some("subTitle") => Purpose::Free,
        Some(_) | None => Purpose::Body,
    }
}

#[cfg(test)]
mod tests {
    use super::super::archive::pack;
    use super::*;

    fn shape(placeholder: &str, paragraphs: &[(usize, &str)]) -> String {
        let paragraphs: String = paragraphs
            .iter()
            .map(|(depth, text)| format!("<a:p><a:pPr lvl='{depth}'/><a:r><a:t>{text}</a:t></a:r></a:p>"))
            .collect();
        format!("<p:sp><p:nvPr>{placeholder}</p:nvPr><p:txBody>{paragraphs}</p:txBody></p:sp>")
    }

    /// A presentation with links to slides 1 and 2 in this order.
    fn check_slides(parts: &[(&str, &str)]) -> Body {
        let presentation = "<p:presentation><p:sldId r:id='rId1'/><p:sldId r:id='rId2'/></p:presentation>";
        let links = "<Relationships><Relationship Id='rId1' Type='x/slide' Target='slides/slide1.xml'/>\
            <Relationship Id='rId2' Type='x/slide' Target='slides/slide2.xml'/></Relationships>";
        let main = [(PRESENTATION, presentation), ("ppt/_rels/presentation.xml.rels", links)];
        parse(&pack(&[&main, parts].concat()), &ParseLimits::default()).expect("a presentation")
    }

    #[test]
    fn diagrams_are_read_and_missing_slides_are_counted() {
        let slide = format!("<p:sld>{}</p:sld>", shape("<p:ph type='title'/>", &[(0, "Pumps")]));
        let body = check_slides(&[
            ("ppt/slides/slide2.xml", &slide),
            (
                "ppt/slides/_rels/slide2.xml.rels",
                "<Relationships><Relationship Id='r' Type='x/diagramData' Target='../diagrams/data1.xml'/></Relationships>",
            ),
            (
                "ppt/diagrams/data1.xml",
                "<dgm:dataModel><dgm:pt><dgm:t><a:p><a:r><a:t>Inspect</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt/>\
                 </dgm:dataModel>",
            ),
        ]);
        assert_eq!(body.text, "# Pumps\n\n- Inspect\n");
        assert_eq!(body.parts[0].part, Part::Slide(2));
        assert_eq!(body.remarks, ["1 of 2 slides are missing in the file"]);
    }

    #[test]
    fn raised_digits_stay_apart_from_their_numbers() {
        let power = shape(
            "",
            &[(0, "10</a:t></a:r><a:r><a:rPr baseline='30000'/><a:t>5</a:t></a:r><a:r><a:t> pascal")],
        );
        let body = check_slides(&[("ppt/slides/slide1.xml", &format!("<p:sld>{power}</p:sld>"))]);
        assert_eq!(body.text, "10⁵ pascal\n");
    }

    #[test]
    fn slides_are_in_order_with_titles_tables_and_notes() {
        let presentation = "<p:presentation><p:sldIdLst><p:sldId id='256' r:id='rId2'/><p:sldId id='257' r:id='rId1'/>\
            </p:sldIdLst></p:presentation>";
        let links = "<Relationships><Relationship Id='rId1' Type='x/slide' Target='slides/slide1.xml'/>\
            <Relationship Id='rId2' Type='x/slide' Target='/ppt/slides/slide2.xml'/></Relationships>";
        let first = shape("<p:ph idx='1'/>", &[(0, "Pipes"), (1, "long &amp; thin")])
            + &shape("<p:ph type='title'/>", &[(0, "The plan")])
            + &shape("<p:ph type='sldNum'/>", &[(0, "1")]);
        let cell =
            |text: &str| format!("<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>");
        let row = |one: &str, two: &str| format!("<a:tr>{}{}</a:tr>", cell(one), cell(two));
        let second = format!(
            "<p:graphicFrame><a:tbl>{}{}</a:tbl></p:graphicFrame>{}",
            row("Item", "Cost"),
            row("Valve", "3"),
            shape("", &[(0, "Free text")])
        );
        let notes = shape("<p:ph type='body'/>", &[(0, "Say it slowly.")]);
        let bytes = pack(&[
            (PRESENTATION, presentation),
            ("ppt/_rels/presentation.xml.rels", links),
            ("ppt/slides/slide2.xml", &format!("<p:sld>{first}</p:sld>")),
            ("ppt/slides/slide1.xml", &format!("<p:sld>{second}</p:sld>")),
            (
                "ppt/slides/_rels/slide2.xml.rels",
                "<Relationships><Relationship Id='r' Type='x/notesSlide' Target='../notesSlides/n.xml'/></Relationships>",
            ),
            ("ppt/notesSlides/n.xml", &format!("<p:notes>{notes}</p:notes>")),
        ]);
        let body = parse(&bytes, &ParseLimits::default()).expect("a presentation");
        let expected = "# The plan\n\n- Pipes\n  - long & thin\n\nNotes: Say it slowly.\n\n\
            Item | Cost\nItem: Valve | Cost: 3\n\nFree text\n";
        assert_eq!(body.text, expected);
        let second = expected.find("Item |").expect("there") as u64;
        let parts: Vec<_> = body.parts.iter().map(|mark| (mark.offset, mark.part.clone())).collect();
        assert_eq!(parts, [(0, Part::Slide(1)), (second, Part::Slide(2))]);
    }
}
