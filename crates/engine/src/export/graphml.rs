//! GraphML: entities and chunks are nodes, relations and mentions are edges.

use std::borrow::Cow;
use std::io::{self, Write};

use graphloom_core::Entity;

use super::{ChunkRow, ExportPart, GraphWriter, RelationRow};
use crate::claims::ListedClaim;

/// The attributes, each with its owner (node or edge), name and type.
const FIELDS: [(&str, &str, &str); 15] = [
    ("node", "class", "string"),
    ("node", "name", "string"),
    ("node", "type", "string"),
    ("node", "description", "string"),
    ("node", "mentions", "int"),
    ("node", "degree", "int"),
    ("node", "source", "string"),
    ("node", "ordinal", "int"),
    ("node", "tokens", "int"),
    ("node", "text", "string"),
    ("edge", "class", "string"),
    ("edge", "keywords", "string"),
    ("edge", "description", "string"),
    ("edge", "weight", "double"),
    ("edge", "facts", "int"),
];

pub(super) struct GraphMl<'a>(pub(super) &'a mut (dyn Write + Send));

impl GraphMl<'_> {
    fn element(&mut self, what: &str, head: &str, fields: &[(&str, &str)]) -> io::Result<()> {
        write!(self.0, "    <{what} {head}>")?;
        for (name, value) in fields {
            write!(self.0, "<data key=\"{what}_{name}\">{}</data>", escape(value))?;
        }
        writeln!(self.0, "</{what}>")
    }
}

impl GraphWriter for GraphMl<'_> {
    fn begin(&mut self) -> io::Result<()> {
        writeln!(self.0, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(self.0, r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">"#)?;
        for (of, name, kind) in FIELDS {
            let id = format!("{of}_{name}");
            writeln!(self.0, r#"  <key id="{id}" for="{of}" attr.name="{name}" attr.type="{kind}"/>"#)?;
        }
        writeln!(self.0, r#"  <graph edgedefault="undirected">"#)
    }

    fn part(&mut self, _: ExportPart) -> io::Result<()> {
        Ok(())
    }

    fn entity(&mut self, entity: &Entity) -> io::Result<()> {
        self.element(
            "node",
            &format!("id=\"{}\"", escape(entity.key.as_str())),
            &[
                ("class", "entity"),
                ("name", &entity.name),
                ("type", &entity.kind),
                ("description", &entity.description),
                ("mentions", &entity.mention_count.to_string()),
                ("degree", &entity.degree.to_string()),
            ],
        )
    }

    fn relation(&mut self, RelationRow { relation, .. }: &RelationRow<'_>) -> io::Result<()> {
        let (a, b) = (escape(relation.key.a().as_str()), escape(relation.key.b().as_str()));
        self.element(
            "edge",
            &format!("source=\"{a}\" target=\"{b}\""),
            &[
                ("class", "relation"),
                ("keywords", &relation.keywords.join(", ")),
                ("description", &relation.description),
                ("weight", &relation.weight.to_string()),
                ("facts", &relation.fact_count.to_string()),
            ],
        )
    }

    fn chunk(&mut self, ChunkRow { chunk, document, entities }: &ChunkRow<'_>) -> io::Result<()> {
        let id = escape(chunk.id.as_str()).into_owned();
        self.element(
            "node",
            &format!("id=\"{id}\""),
            &[
                ("class", "chunk"),
                ("name", &document.title),
                ("source", &document.source),
                ("ordinal", &chunk.ordinal.to_string()),
                ("tokens", &chunk.token_count.to_string()),
                ("text", &chunk.text),
            ],
        )?;
        for entity in entities {
            let head = format!("source=\"{}\" target=\"{id}\"", escape(entity.as_str()));
            self.element("edge", &head, &[("class", "mentioned_in")])?;
        }
        Ok(())
    }

    fn claim(&mut self, _: &ListedClaim) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        writeln!(self.0, "  </graph>\n</graphml>")?;
        self.0.flush()
    }
}

/// Escapes text for an element or attribute. Characters that XML cannot hold become a replacement character.
fn escape(text: &str) -> Cow<'_, str> {
    let is_special = |c: char| matches!(c, '<' | '>' | '&' | '"' | '\r') || !is_allowed(c);
    if !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\r' => escaped.push_str("&#13;"),
            c if is_allowed(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    Cow::Owned(escaped)
}

/// True if XML 1.0 allows the character.
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}
