//! Writes claims as GraphRAG's table `covariates`.

use std::collections::BTreeMap;

use graphloom_core::{
    ChunkId, Claim, Decisions, EntityKey, IsoDate, Snapshot, Span, StoreError, table as stored,
};

use super::write::{Documents, Graph, column, numbers, texts};
use crate::table::{Column, Values};

/// What GraphRAG writes for an unknown object or date.
const NONE: &str = "NONE";

/// The claims of the live documents, in the order of their chunks.
pub(super) struct Covariates(Vec<CovariateRow>);

struct CovariateRow {
    id: String,
    claim: Claim,
    subject: String,
    object: Option<String>,
    /// The quote that states the claim.
    quote: String,
}

impl Covariates {
    pub(super) async fn read(
        snapshot: &dyn Snapshot,
        documents: &Documents,
        graph: &Graph,
    ) -> Result<Self, StoreError> {
        let decisions = Decisions::read(snapshot).await?;
        let titles: BTreeMap<&EntityKey, &str> = graph.titles().collect();
        let mut rows = Vec::new();
        let mut pages = snapshot.pages(stored::Claims);
        while let Some(page) = pages.next().await? {
            for claim in page {
                let Some(chunk) = documents.chunk(&claim.chunk) else { continue };
                let from_chunk = |at: u64| at.checked_sub(chunk.span.start);
                let span = from_chunk(claim.span.start).zip(from_chunk(claim.span.end));
                let quote = span.and_then(|(start, end)| Span { start, end }.slice(&chunk.text));
                let Some(quote) = quote.map(str::to_owned) else { continue };
                let name = |key: &EntityKey, name: &str| {
                    let place = decisions.place_mention(key, Some(&claim.chunk));
                    let merged = place.key != *key;
                    let title = titles.get(&place.key).filter(|_| merged).copied().unwrap_or(name).to_owned();
                    (!place.set_aside).then_some(title)
                };
                let Some(subject) = name(&claim.subject, &claim.subject_name) else { continue };
                let object = match (&claim.object, &claim.object_name) {
                    (Some(key), Some(object)) => match name(key, object) {
                        Some(object) => Some(object),
                        None => continue,
                    },
                    _ => None,
                };
                let id = format!("{}-claim-{}", claim.chunk, claim.ordinal);
                rows.push(CovariateRow { id, claim, subject, object, quote });
            }
        }
        rows.sort_by_key(|row| (documents.number(&row.claim.chunk), row.claim.ordinal));
        Ok(Self(rows))
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the ids of each chunk's claims.
    pub(super) fn of_chunks(&self) -> BTreeMap<&ChunkId, Vec<String>> {
        let mut ids: BTreeMap<&ChunkId, Vec<String>> = BTreeMap::new();
        for row in &self.0 {
            ids.entry(&row.claim.chunk).or_default().push(row.id.clone());
        }
        ids
    }

    pub(super) fn table(&self) -> Vec<Column> {
        let rows = &self.0;
        let date = |date: &Option<IsoDate>| date.as_ref().map_or(NONE.to_owned(), ToString::to_string);
        vec![
            column("id", texts(rows, |row| row.id.clone())),
            numbers(rows.len()),
            column("covariate_type", texts(rows, |_| "claim".to_owned())),
            column("type", texts(rows, |row| row.claim.kind.clone())),
            column("description", texts(rows, |row| row.claim.description.clone())),
            column("subject_id", texts(rows, |row| row.subject.clone())),
            column("object_id", texts(rows, |row| row.object.clone().unwrap_or_else(|| NONE.to_owned()))),
            column("status", texts(rows, |row| row.claim.status.name().to_uppercase())),
            column("start_date", texts(rows, |row| date(&row.claim.period.start))),
            column("end_date", texts(rows, |row| date(&row.claim.period.end))),
            column("source_text", texts(rows, |row| row.quote.clone())),
            column(
                "text_unit_id",
                Values::Texts(rows.iter().map(|row| row.claim.chunk.to_string()).collect()),
            ),
        ]
    }
}
