//! Comma-separated values, one table with a header per part.

use std::borrow::Cow;
use std::io::{self, Write};

use graphloom_core::{Entity, EntityKey, IsoDate};

use super::{ChunkRow, ExportPart, GraphWriter, RelationRow};
use crate::claims::{ListedClaim, ListedQuote};

/// Separates the values of a list in one cell.
const SEPARATOR: &str = ", ";

pub(super) struct Csv<'a>(csv::Writer<&'a mut (dyn Write + Send)>);

impl<'a> Csv<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        // Tables of different widths may follow each other.
        Self(csv::WriterBuilder::new().flexible(true).from_writer(out))
    }

    fn row(&mut self, cells: &[&str]) -> io::Result<()> {
        let written = self.0.write_record(cells.iter().map(|cell| inert(cell).into_owned()));
        written.map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })
    }
}

/// Returns the cell in a form that no spreadsheet takes for a formula, because a document from a stranger must not run anything on
/// the reader's computer. Such cells start with an apostrophe, which spreadsheets do not show. JSON lines keep the text as it is.
fn inert(cell: &str) -> Cow<'_, str> {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{cell}").into(),
        false => cell.into(),
    }
}

impl GraphWriter for Csv<'_> {
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn part(&mut self, part: ExportPart) -> io::Result<()> {
        self.row(match part {
            ExportPart::Entities => &["key", "name", "type", "description", "mentions", "degree"],
            ExportPart::Relations => &[
                "source",
                "target",
                "source_name",
                "target_name",
                "keywords",
                "description",
                "weight",
                "facts",
            ],
            ExportPart::Chunks => &[
                "id",
                "document",
                "source",
                "title",
                "ordinal",
                "start",
                "end",
                "tokens",
                "breadcrumb",
                "text",
                "entities",
            ],
            ExportPart::Claims => &[
                "subject",
                "object",
                "subject_name",
                "object_name",
                "type",
                "status",
                "start",
                "end",
                "retired_by",
                "retired_at",
                "successor",
                "places",
                "quotes",
            ],
        })
    }

    fn entity(&mut self, entity: &Entity) -> io::Result<()> {
        let (mentions, degree) = (entity.mention_count.to_string(), entity.degree.to_string());
        let key = entity.key.as_str();
        self.row(&[key, &entity.name, &entity.kind, &entity.description, &mentions, &degree])
    }

    fn relation(&mut self, RelationRow { relation, names }: &RelationRow<'_>) -> io::Result<()> {
        let (weight, facts) = (relation.weight.to_string(), relation.fact_count.to_string());
        self.row(&[
            relation.key.a().as_str(),
            relation.key.b().as_str(),
            names[0],
            names[1],
            &relation.keywords.join(SEPARATOR),
            &relation.description,
            &weight,
            &facts,
        ])
    }

    fn chunk(&mut self, ChunkRow { chunk, document, entities }: &ChunkRow<'_>) -> io::Result<()> {
        let keys: Vec<&str> = entities.iter().map(EntityKey::as_str).collect();
        self.row(&[
            chunk.id.as_str(),
            document.id.as_str(),
            &document.source,
            &document.title,
            &chunk.ordinal.to_string(),
            &chunk.span.start.to_string(),
            &chunk.span.end.to_string(),
            &chunk.token_count.to_string(),
            &chunk.breadcrumb.join(" > "),
            &chunk.text,
            &keys.join(SEPARATOR),
        ])
    }

    fn claim(&mut self, ListedClaim { claim, quoted, .. }: &ListedClaim) -> io::Result<()> {
        let date = |date: Option<&IsoDate>| date.map_or_else(String::new, ToString::to_string);
        let key = |key: Option<&EntityKey>| key.map_or_else(String::new, ToString::to_string);
        let place = |quote: &ListedQuote| format!("{}:{}-{}", quote.source, quote.span.start, quote.span.end);
        let places: Vec<String> = quoted.iter().map(place).collect();
        let quotes: Vec<&str> = quoted.iter().map(|quote| quote.text.as_str()).collect();
        let retired = claim.retired.as_ref();
        self.row(&[
            claim.subject.as_str(),
            &key(claim.object.as_ref()),
            &claim.subject_name,
            claim.object_name.as_deref().unwrap_or_default(),
            &claim.kind,
            claim.status.name(),
            &date(claim.period.start.as_ref()),
            &date(claim.period.end.as_ref()),
            retired.map_or("", |retired| retired.by.name()),
            &date(retired.and_then(|retired| retired.at.as_ref())),
            &key(retired.and_then(|retired| retired.successor.as_ref())),
            &places.join(SEPARATOR),
            &quotes.join("\n"),
        ])
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_starts_like_a_formula_is_escaped() {
        for cell in ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1"] {
            assert_eq!(inert(cell), format!("'{cell}"));
        }
        for cell in ["", "a=b", "1-2", "'=1"] {
            assert_eq!(inert(cell), cell);
        }
    }
}
