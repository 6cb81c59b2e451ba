//! One JSON object per line, each with a `kind`.

use std::io::{self, Write};

use graphloom_core::Entity;
use serde_json::{Value, json};

use super::{ChunkRow, ExportPart, GraphWriter, RelationRow};
use crate::claims::ListedClaim;

pub(super) struct JsonLines<'a>(pub(super) &'a mut (dyn Write + Send));

impl JsonLines<'_> {
    fn line(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.0, "{value}")
    }
}

impl GraphWriter for JsonLines<'_> {
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn part(&mut self, _: ExportPart) -> io::Result<()> {
        Ok(())
    }

    fn entity(&mut self, entity: &Entity) -> io::Result<()> {
        self.line(&json!({
            "kind": "entity",
            "key": entity.key,
            "name": entity.name,
            "type": entity.kind,
            "description": entity.description,
            "mentions": entity.mention_count,
            "degree": entity.degree,
        }))
    }

    fn relation(&mut self, RelationRow { relation, names }: &RelationRow<'_>) -> io::Result<()> {
        self.line(&json!({
            "kind": "relation",
            "source": relation.key.a(),
            "target": relation.key.b(),
            "source_name": names[0],
            "target_name": names[1],
            "keywords": relation.keywords,
            "description": relation.description,
            "weight": relation.weight,
            "facts": relation.fact_count,
        }))
    }

    fn chunk(&mut self, ChunkRow { chunk, document, entities }: &ChunkRow<'_>) -> io::Result<()> {
        self.line(&json!({
            "kind": "chunk",
            "id": chunk.id,
            "document": document.id,
            "source": document.source,
            "title": document.title,
            "ordinal": chunk.ordinal,
            "start": chunk.span.start,
            "end": chunk.span.end,
            "tokens": chunk.token_count,
            "breadcrumb": chunk.breadcrumb,
            "text": chunk.text,
            "entities": entities,
        }))
    }

    fn claim(&mut self, listed: &ListedClaim) -> io::Result<()> {
        let claim = &listed.claim;
        let mut row = json!({
            "kind": "claim",
            "subject": claim.subject,
            "object": claim.object,
            "subject_name": claim.subject_name,
            "object_name": claim.object_name,
            "type": claim.kind,
            "status": claim.status,
            "start": claim.period.start,
            "end": claim.period.end,
            "line": listed.line,
            "quotes": listed.quoted,
        });
        if let Some(retired) = &claim.retired {
            row["retired"] = json!({
                "by": retired.by,
                "at": retired.at,
                "successor": retired.successor,
                "quotes": listed.retired_by,
            });
        }
        self.line(&row)
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
