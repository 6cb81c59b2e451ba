//! Reads claims about entities or from a whole workspace, with the words that state them.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{
    Chunk, ChunkId, Claim, ClaimStatus, Decisions, Document, DocumentId, EntityKey, IsoDate, Snapshot, Span,
    StoreError, table,
};
use serde::Serialize;

use super::merge::{ClaimQuote, MergedClaim, merge_claims};
use crate::filtered::FilteredSnapshot;
use graphloom_text::Tokenizer;

/// Maximum claims in a list.
pub const MAX_LISTED_CLAIMS: usize = 10_000;

/// Conditions for claims in a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimFilter {
    /// Only claims about this entity, as subject or object.
    pub entity: Option<EntityKey>,
    /// Of these, only claims with the entity as subject.
    pub subject_only: bool,
    /// Only claims that held at this date.
    pub as_of: Option<IsoDate>,
    /// Only claims that did not end before this date.
    pub from: Option<IsoDate>,
    /// Only claims that did not begin after this date.
    pub to: Option<IsoDate>,
    /// Only claims with this status.
    pub status: Option<ClaimStatus>,
}

impl ClaimFilter {
    fn takes(&self, claim: &MergedClaim) -> bool {
        let mut period = claim.period.clone();
        if let (None, Some(retired)) = (&period.end, &claim.retired) {
            period.end.clone_from(&retired.at);
        }
        let ended = |from: &IsoDate| period.end.as_ref().is_some_and(|end| end.end_ms() <= from.start_ms());
        let begun = |to: &IsoDate| period.start.as_ref().is_none_or(|start| start.start_ms() < to.end_ms());
        self.as_of.as_ref().is_none_or(|date| claim.held_at(date))
            && self.from.as_ref().is_none_or(|from| !ended(from))
            && self.to.as_ref().is_none_or(begun)
            && self.status.is_none_or(|status| status == claim.status)
            && (!self.subject_only || self.entity.as_ref() == Some(&claim.subject))
    }
}

/// A claim with the words that state it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedClaim {
    /// The claim on one line: `Ada Kern, chief executive officer of Velora: 2012 to 2019`.
    pub line: String,
    /// The claim.
    #[serde(flatten)]
    pub claim: MergedClaim,
    /// The words that state it, in the order of its quotes.
    pub quoted: Vec<ListedQuote>,
    /// The words that retired it, in the order of those quotes; empty while the claim is not retired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retired_by: Vec<ListedQuote>,
}

/// Words quoted from a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedQuote {
    /// The document.
    pub document: DocumentId,
    /// Its source.
    pub source: String,
    /// The position of the words in its text, in bytes.
    pub span: Span,
    /// The words, verbatim.
    pub text: String,
}

/// Returns the claims about `entities` that the scope allows, including everything that ends them.
///
/// Entities are those of the graph: claims about names that decisions merged into them are included.
pub(crate) async fn claims_about(
    scope: &FilteredSnapshot<'_>,
    decisions: &Decisions,
    entities: &[EntityKey],
) -> Result<Vec<MergedClaim>, StoreError> {
    let mut found = read_of(scope, decisions, entities).await?;
    // Other claims about the same organizations show who else held the offices.
    let known: BTreeSet<&EntityKey> = entities.iter().collect();
    let places: BTreeSet<EntityKey> = found
        .iter()
        .filter_map(|claim| {
            claim.object.as_ref().map(|object| decisions.place_mention(object, Some(&claim.chunk)).key)
        })
        .filter(|place| !known.contains(place))
        .collect();
    let places: Vec<EntityKey> = places.into_iter().collect();
    found.extend(read_of(scope, decisions, &places).await?);
    let mut merged = merge_claims(&found, decisions);
    merged.retain(|claim| claim.entities().any(|entity| known.contains(entity)));
    Ok(merged)
}

async fn read_of(
    scope: &FilteredSnapshot<'_>,
    decisions: &Decisions,
    entities: &[EntityKey],
) -> Result<Vec<Claim>, StoreError> {
    let mut keys: BTreeSet<EntityKey> = entities.iter().cloned().collect();
    if !decisions.is_empty() {
        keys.extend(entities.iter().flat_map(|entity| decisions.leading_to(entity)));
    }
    let keys: Vec<EntityKey> = keys.into_iter().collect();
    let found = scope.snapshot.claims_of(&keys).await?.into_iter().flatten();
    let mut claims: Vec<Claim> = found.filter(|claim| scope.holds(&claim.chunk)).collect();
    claims.sort_by(|one, other| (&one.chunk, one.ordinal).cmp(&(&other.chunk, other.ordinal)));
    claims.dedup_by(|one, other| (&one.chunk, one.ordinal) == (&other.chunk, other.ordinal));
    Ok(claims)
}

/// Returns all claims that the scope allows, by subject, kind, object and start.
pub(crate) async fn all_claims(
    scope: &FilteredSnapshot<'_>,
    decisions: &Decisions,
) -> Result<Vec<MergedClaim>, StoreError> {
    let mut all = Vec::new();
    let mut pages = scope.snapshot.pages(table::Claims);
    while let Some(page) = pages.next().await? {
        all.extend(page.into_iter().filter(|claim| scope.holds(&claim.chunk)));
    }
    Ok(merge_claims(&all, decisions))
}

/// Returns the claims of the workspace that match `filter`, by subject, kind, object and start, with their words; at most
/// `limit`. Also returns the total number of matching claims.
pub fn list_claims<'a>(
    snapshot: &'a dyn Snapshot,
    filter: &'a ClaimFilter,
    limit: usize,
) -> BoxFuture<'a, Result<(Vec<ListedClaim>, usize), StoreError>> {
    Box::pin(async move {
        let scope = FilteredSnapshot::new(snapshot, None, Tokenizer).await?;
        let decisions = Decisions::read(snapshot).await?;
        let claims = match &filter.entity {
            Some(entity) => claims_about(&scope, &decisions, std::slice::from_ref(entity)).await?,
            None => all_claims(&scope, &decisions).await?,
        };
        let mut claims: Vec<MergedClaim> = claims.into_iter().filter(|claim| filter.takes(claim)).collect();
        let total = claims.len();
        claims.truncate(limit.min(MAX_LISTED_CLAIMS));
        Ok((with_words(snapshot, claims).await?, total))
    })
}

/// Returns the claims about one entity, at most `limit`.
pub fn claims_of_entity<'a>(
    snapshot: &'a dyn Snapshot,
    entity: &'a EntityKey,
    limit: usize,
) -> BoxFuture<'a, Result<Vec<ListedClaim>, StoreError>> {
    Box::pin(async move {
        let filter = ClaimFilter { entity: Some(entity.clone()), ..ClaimFilter::default() };
        Ok(list_claims(snapshot, &filter, limit).await?.0)
    })
}

/// Adds the words of all quotes.
pub(crate) async fn with_words(
    snapshot: &dyn Snapshot,
    claims: Vec<MergedClaim>,
) -> Result<Vec<ListedClaim>, StoreError> {
    let quotes = claims.iter().flat_map(|claim| {
        claim.quotes.iter().chain(claim.retired.iter().flat_map(|retired| &retired.quotes))
    });
    let ids: BTreeSet<ChunkId> = quotes.map(|quote| quote.chunk.clone()).collect();
    let ids: Vec<ChunkId> = ids.into_iter().collect();
    let chunks: BTreeMap<ChunkId, Chunk> =
        snapshot.chunks(&ids).await?.into_iter().flatten().map(|chunk| (chunk.id.clone(), chunk)).collect();
    let owners: BTreeSet<DocumentId> = chunks.values().map(|chunk| chunk.document.clone()).collect();
    let owners: Vec<DocumentId> = owners.into_iter().collect();
    let documents: BTreeMap<DocumentId, Document> = snapshot
        .documents(&owners)
        .await?
        .into_iter()
        .flatten()
        .map(|document| (document.id.clone(), document))
        .collect();
    let words = |quote: &ClaimQuote| {
        let chunk = chunks.get(&quote.chunk)?;
        let document = documents.get(&chunk.document)?;
        let start = quote.span.start.checked_sub(chunk.span.start)?;
        let within = Span { start, end: quote.span.end.checked_sub(chunk.span.start)? };
        let text = within.slice(&chunk.text)?.to_owned();
        let (document, source) = (document.id.clone(), document.source.clone());
        Some(ListedQuote { document, source, span: quote.span, text })
    };
    let listed = claims.into_iter().map(|claim| {
        let quoted = claim.quotes.iter().filter_map(words).collect();
        let retiring = claim.retired.iter();
        let retired_by = retiring.flat_map(|retired| &retired.quotes).filter_map(words).collect();
        ListedClaim { line: claim.line(), claim, quoted, retired_by }
    });
    Ok(listed.collect())
}
