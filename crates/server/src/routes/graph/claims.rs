//! The dated claims of the documents.

use axum::routing::get;
use graphloom_core::{ClaimStatus, IsoDate};
use graphloom_engine::claims::{
    ClaimFilter, ListedClaim, ListedQuote, MAX_LISTED_CLAIMS, RetiredBy, list_claims,
};
use graphloom_engine::edit::find_entity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::apart;
use crate::input::{ExistingWorkspace, Params};
use crate::problem::Problem;
use crate::route::{Gives, Route, Takes, schema};

pub(super) const ROUTES: &[Route] = &[Route::get(
    "/claims",
    "The dated claims of the documents, with the sentences that state and end them",
    || get(list),
)
.reads()
.takes(Takes::Query(schema::<ListParams>))
.gives(Gives::Json(schema::<ClaimList>))];

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ClaimListParams")]
struct ListParams {
    /// Only claims about this entity, as subject or object.
    entity: Option<String>,
    /// Only claims with this entity as their subject; instead of `entity`.
    subject: Option<String>,
    /// Only claims that held at this date, such as `2014` or `2014-03-01`.
    as_of: Option<String>,
    /// Only claims that had not ended before this date.
    from: Option<String>,
    /// Only claims that had begun by this date.
    to: Option<String>,
    /// `true`, `false` or `suspected`.
    status: Option<String>,
    /// Maximum claims, 1 to 10000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = MAX_LISTED_CLAIMS))]
    limit: usize,
}

fn hundred() -> usize {
    100
}

#[derive(Serialize, JsonSchema)]
struct ClaimList {
    /// Claims that match.
    total: usize,
    claims: Vec<Claim>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Claim")]
pub(crate) struct Claim {
    /// The claim on one line.
    line: String,
    /// What it is about.
    subject: String,
    /// The other entity.
    object: Option<String>,
    /// What is claimed.
    kind: String,
    /// `true`, `false` or `suspected`.
    status: &'static str,
    /// When it began, as far as the documents say.
    start: Option<String>,
    /// When it ended, as far as the documents say.
    end: Option<String>,
    /// The sentences that state it.
    quotes: Vec<Quote>,
    /// What ended or contradicts it: `end_date`, `successor` or `denial`.
    retired: Option<ClaimEnd>,
    /// When it ended.
    retired_at: Option<String>,
    /// The sentences that say so.
    retired_by: Vec<Quote>,
}

/// What ends a claim.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ClaimEnd")]
enum ClaimEnd {
    EndDate,
    Successor,
    Denial,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ClaimQuote")]
struct Quote {
    document: String,
    file_path: String,
    /// First byte and end byte (exclusive) in the document's text.
    span: [u64; 2],
    text: String,
}

impl From<ListedQuote> for Quote {
    fn from(quote: ListedQuote) -> Self {
        let ListedQuote { document, source, span, text } = quote;
        Self { document: document.to_string(), file_path: source, span: [span.start, span.end], text }
    }
}

impl From<ListedClaim> for Claim {
    fn from(listed: ListedClaim) -> Self {
        let ListedClaim { line, claim, quoted, retired_by } = listed;
        let retired = claim.retired.as_ref();
        Self {
            line,
            subject: claim.subject_name,
            object: claim.object_name,
            kind: claim.kind,
            status: claim.status.name(),
            start: claim.period.start.map(String::from),
            end: claim.period.end.map(String::from),
            quotes: quoted.into_iter().map(Quote::from).collect(),
            retired: retired.map(|retired| match retired.by {
                RetiredBy::EndDate => ClaimEnd::EndDate,
                RetiredBy::Successor => ClaimEnd::Successor,
                RetiredBy::Denial => ClaimEnd::Denial,
            }),
            retired_at: retired.and_then(|retired| retired.at.clone()).map(String::from),
            retired_by: retired_by.into_iter().map(Quote::from).collect(),
        }
    }
}

async fn list(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(params): Params<ListParams>,
) -> Result<axum::Json<ClaimList>, Problem> {
    if !(1..=MAX_LISTED_CLAIMS).contains(&params.limit) {
        return Err(Problem::invalid(format!("limit must be from 1 to {MAX_LISTED_CLAIMS}")));
    }
    let date = |name: &str, text: Option<String>| match text {
        None => Ok(None),
        Some(text) => match text.parse::<IsoDate>() {
            Ok(date) => Ok(Some(date)),
            Err(error) => Err(Problem::invalid(format!("{name}: {error}"))),
        },
    };
    let status = match &params.status {
        None => None,
        Some(name) => match ClaimStatus::find(name) {
            Some(status) => Some(status),
            None => return Err(Problem::invalid("status is none of true, false and suspected")),
        },
    };
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let snapshot = snapshot.as_ref();
        let subject_only = params.subject.is_some();
        let entity = match params.subject.as_ref().or(params.entity.as_ref()) {
            None => None,
            Some(name) => match find_entity(snapshot, name).await? {
                Some(entity) => Some(entity.key),
                None => return Err(Problem::not_found("no entity has this name")),
            },
        };
        let filter = ClaimFilter {
            entity,
            subject_only,
            as_of: date("as_of", params.as_of)?,
            from: date("from", params.from)?,
            to: date("to", params.to)?,
            status,
        };
        let (claims, total) = list_claims(snapshot, &filter, params.limit).await?;
        Ok(axum::Json(ClaimList { total, claims: claims.into_iter().map(Claim::from).collect() }))
    })
    .await
}
