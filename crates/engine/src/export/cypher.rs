//! openCypher statements, one per line. Each is independent and idempotent.

use std::io::{self, Write};

use graphloom_core::Entity;

use super::{ChunkRow, ExportPart, GraphWriter, RelationRow};
use crate::claims::ListedClaim;

pub(super) struct Cypher<'a>(pub(super) &'a mut (dyn Write + Send));

impl GraphWriter for Cypher<'_> {
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn part(&mut self, _: ExportPart) -> io::Result<()> {
        Ok(())
    }

    fn entity(&mut self, entity: &Entity) -> io::Result<()> {
        writeln!(
            self.0,
            "MERGE (e:Entity {{key: {}}}) SET e.name = {}, e.type = {}, e.description = {}, e.mentions = {}, \
             e.degree = {};",
            quote(entity.key.as_str()),
            quote(&entity.name),
            quote(&entity.kind),
            quote(&entity.description),
            entity.mention_count,
            entity.degree
        )
    }

    fn relation(&mut self, RelationRow { relation, .. }: &RelationRow<'_>) -> io::Result<()> {
        let keywords: Vec<String> = relation.keywords.iter().map(|keyword| quote(keyword)).collect();
        writeln!(
            self.0,
            "MERGE (a:Entity {{key: {}}}) MERGE (b:Entity {{key: {}}}) MERGE (a)-[r:RELATED]->(b) SET r.keywords = [{}], \
             r.description = {}, r.weight = {:?}, r.facts = {};",
            quote(relation.key.a().as_str()),
            quote(relation.key.b().as_str()),
            keywords.join(", "),
            quote(&relation.description),
            relation.weight,
            relation.fact_count
        )
    }

    fn chunk(&mut self, ChunkRow { chunk, document, entities }: &ChunkRow<'_>) -> io::Result<()> {
        let id = quote(chunk.id.as_str());
        writeln!(
            self.0,
            "MERGE (c:Chunk {{id: {id}}}) SET c.document = {}, c.source = {}, c.title = {}, c.ordinal = {}, c.start = {}, \
             c.end = {}, c.tokens = {}, c.text = {};",
            quote(document.id.as_str()),
            quote(&document.source),
            quote(&document.title),
            chunk.ordinal,
            chunk.span.start,
            chunk.span.end,
            chunk.token_count,
            quote(&chunk.text)
        )?;
        for entity in entities {
            writeln!(
                self.0,
                "MERGE (e:Entity {{key: {}}}) MERGE (c:Chunk {{id: {id}}}) MERGE (e)-[:MENTIONED_IN]->(c);",
                quote(entity.as_str())
            )?;
        }
        Ok(())
    }

    fn claim(&mut self, _: &ListedClaim) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns a string literal on one line.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '\'' => quoted.push_str("\\'"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Some readers treat line and paragraph separators as line ends.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}
