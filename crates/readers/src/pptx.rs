//! Reads PowerPoint presentations slide by slide: titles, text, tables and notes.

use std::collections::BTreeMap;

use graphloom_core::{Format, Part};

use super::archive::{Archive, relative};
use super::draft::Draft;
use super::xml_events::{Node, Nodes};
use super::{Body, ParseError, ParseLimits};

/// The presentation's main part.
const PRESENTATION: &str = "ppt/presentation.xml";

/// Returns the slides in the order of the presentation, each with its title as heading, then its text, tables and notes.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut archive = Archive::open(bytes, Format::Pptx, limits)?;
    let presentation = archive.required(PRESENTATION)?;
    let links = links_of(&mut archive, PRESENTATION, limits)?;
    let mut draft = Draft::new(limits.max_bytes);
    if let Some(xml) = archive.text("docProps/core.xml")? {
        draft.title(&super::xml::text_of_first(&xml, "title", Format::Pptx, limits)?);
    }
    let slides = slide_ids(&presentation, limits)?;
    limits.check_parts("slides", slides.len())?;
    for (number, id) in (1u32..).zip(slides) {
        let Some(path) = links.get(&id).map(|link| link.target.clone()) else { continue };
        let Some(xml) = archive.text(&path)? else { continue };
        draft.part(Part::Slide(number));
        Slide::read(&xml, limits)?.write(&mut draft);
        let notes = links_of(&mut archive, &path, limits)?
            .into_values()
            .find(|link| link.kind.ends_with("/notesSlide"));
        if let Some(notes) = notes
            && let Some(xml) = archive.text(&notes.target)?
        {
            Slide::read(&xml, limits)?.write_notes(&mut draft);
        }
        if draft.is_full() {
            break;
        }
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

/// A reference from one part to another.
struct Link {
    kind: String,
    target: String,
}

/// Returns the links of a part by id.
fn links_of(
    archive: &mut Archive<'_>,
    part: &str,
    limits: &ParseLimits,
) -> Result<BTreeMap<String, Link>, ParseError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let mut links = BTreeMap::new();
    let Some(xml) = archive.text(&format!("{folder}/_rels/{name}.rels"))? else { return Ok(links) };
    let mut nodes = Nodes::new(&xml, Format::Pptx, limits.max_depth);
    while let Some(node) = nodes.next()? {
        let Node::Open(element) = node else { continue };
        if let (Some(id), Some(target)) = (element.attr("Id"), element.attr("Target")) {
            let kind = element.attr("Type").unwrap_or_default();
            links.insert(id, Link { kind, target: relative(part, &target) });
        }
    }
    Ok(links)
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
                        _ => {}
                    }
                }
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
