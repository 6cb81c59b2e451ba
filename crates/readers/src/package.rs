//! Parts of Office documents and the links between them.

use std::collections::BTreeMap;

use graphloom_core::Format;

use super::archive::{Archive, relative};
use super::xml_events::{Node, Nodes};
use super::{ParseError, ParseLimits};

/// A reference from one part to another.
pub(super) struct Link {
    kind: String,
    pub(super) target: String,
}

impl Link {
    /// True if the target has this purpose, such as `slide`.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind.rsplit('/').next() == Some(kind)
    }
}

/// Returns the links of a part by id. The empty name stands for the whole document.
pub(super) fn links_of(
    archive: &mut Archive<'_>,
    part: &str,
    format: Format,
    limits: &ParseLimits,
) -> Result<BTreeMap<String, Link>, ParseError> {
    let (folder, name) = part.split_at(part.rfind('/').map_or(0, |slash| slash + 1));
    let mut links = BTreeMap::new();
    let Some(xml) = archive.text(&format!("{folder}_rels/{name}.rels"))? else { return Ok(links) };
    let mut nodes = Nodes::new(&xml, format, limits.max_depth);
    while let Some(node) = nodes.next()? {
        let Node::Open(element) = node else { continue };
        if let (Some(id), Some(target)) = (element.attr("Id"), element.attr("Target")) {
            let kind = element.attr("Type").unwrap_or_default();
            links.insert(id, Link { kind, target: relative(part, &target) });
        }
    }
    Ok(links)
}

/// Returns the name and the text of the part that a document begins with: the one that the document names, or else `usual`.
pub(super) fn main_part(
    archive: &mut Archive<'_>,
    usual: &str,
    format: Format,
    limits: &ParseLimits,
) -> Result<(String, String), ParseError> {
    let named = links_of(archive, "", format, limits)?.into_values().find(|link| link.is("officeDocument"));
    if let Some(named) = named
        && let Some(xml) = archive.text(&named.target)?
    {
        return Ok((named.target, xml));
    }
    Ok((usual.to_owned(), archive.required(usual)?))
}

/// Returns the paragraphs of a diagram (SmartArt), given the part with its data.
pub(super) fn diagram_lines(
    xml: &str,
    format: Format,
    limits: &ParseLimits,
) -> Result<Vec<String>, ParseError> {
    let mut nodes = Nodes::new(xml, format, limits.max_depth);
    let mut lines = Vec::new();
    let (mut line, mut in_text) = (String::new(), false);
    while let Some(node) = nodes.next()? {
        match node {
            Node::Open(element) => in_text = element.name() == "t",
            Node::Text(text) if in_text => line.push_str(&text),
            Node::Text(_) => {}
            Node::Close(name) => {
                in_text = false;
                if name == "p" && !line.trim().is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::super::archive::pack;
    use super::*;

    #[test]
    fn the_document_names_its_main_part() {
        let links = "<Relationships><Relationship Id='a' Type='x/officeDocument' Target='/word/document2.xml'/>\
            </Relationships>";
        let limits = ParseLimits::default();
        let main = |members: &[(&str, &str)]| {
            let bytes = pack(members);
            let mut archive = Archive::open(&bytes, Format::Docx, &limits)?;
            main_part(&mut archive, "word/document.xml", Format::Docx, &limits)
        };
        let named = main(&[("_rels/.rels", links), ("word/document2.xml", "x"), ("word/document.xml", "y")]);
        assert_eq!(named, Ok(("word/document2.xml".to_owned(), "x".to_owned())));
        let usual = main(&[("_rels/.rels", links), ("word/document.xml", "y")]);
        assert_eq!(usual, Ok(("word/document.xml".to_owned(), "y".to_owned())));
    }
}
