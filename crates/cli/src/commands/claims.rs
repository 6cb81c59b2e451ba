//! `graphloom claims`: the dated claims of the documents.

use graphloom_core::{DocumentId, Snapshot};
use graphloom_engine::claims::{ClaimFilter, ListedClaim, ListedQuote, RetiredBy, list_claims};
use graphloom_engine::edit::find_entity;
use serde::Serialize;

use super::App;
use crate::args::ClaimsArgs;
use crate::fault::{Exit, Fault};
use crate::output::render::{name, one_line, place, plain};
use crate::wire;

/// Maximum characters of a quote in a list.
const QUOTE_CHARS: usize = 240;
/// Maximum quotes of a claim in a list.
const MAX_QUOTES: usize = 3;

#[derive(Serialize)]
struct ClaimsOutput {
    /// Number of claims that match.
    total: usize,
    claims: Vec<ListedClaim>,
}

/// Lists claims.
pub(crate) async fn run(app: &App, args: &ClaimsArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let name = args.subject.clone().or_else(|| (!args.entity.is_empty()).then(|| args.entity.join(" ")));
    let entity = match &name {
        None => None,
        Some(name) => match find_entity(snapshot, name).await? {
            Some(entity) => Some(entity.key),
            None => {
                let fault = Fault::failed(format!("the graph has no entity {name:?}"));
                return Err(fault.help("`graphloom graph labels TEXT` finds names").into());
            }
        },
    };
    let filter = ClaimFilter {
        entity,
        subject_only: args.subject.is_some(),
        as_of: args.as_of.clone(),
        from: args.from.clone(),
        to: args.to.clone(),
        status: args.status.map(Into::into),
    };
    let (claims, total) = list_claims(snapshot, &filter, args.limit).await?;
    let listed = ClaimsOutput { total, claims };
    if app.output.json {
        app.output.json(&listed)?;
        return Ok(Exit::Done);
    }
    for claim in &listed.claims {
        print(app, snapshot, claim).await?;
    }
    let more = listed.total - listed.claims.len();
    match (listed.total, more) {
        (0, _) => app.output.note("no claims match"),
        (_, 0) => {}
        _ => app.output.note(format_args!("{more} more; --limit sets how many are listed")),
    }
    Ok(Exit::Done)
}

/// Prints a claim with the quotes that state it and the quote that ended it.
async fn print(app: &App, snapshot: &dyn Snapshot, listed: &ListedClaim) -> anyhow::Result<()> {
    let output = &app.output;
    let stating: Vec<&ListedQuote> = listed.quoted.iter().take(MAX_QUOTES).collect();
    // One sentence can state both dates.
    let ending = listed.retired_by.first().filter(|quote| !stating.contains(quote));
    let quotes: Vec<&ListedQuote> = stating.iter().copied().chain(ending).collect();
    let places = places_of(snapshot, &quotes).await?;
    let print_quote = |before: &str, quote: &ListedQuote, place: &str| {
        let text = one_line(&quote.text, QUOTE_CHARS);
        output.line(format_args!("  {before}\u{201c}{text}\u{201d} {}", output.faint(place)))
    };
    output.line(output.heading(&plain(&listed.line)))?;
    for (quote, place) in stating.iter().zip(&places) {
        print_quote("", quote, place)?;
    }
    let more = listed.quoted.len().saturating_sub(MAX_QUOTES);
    if more > 0 {
        output.line(output.faint(&format!("  and {more} more")))?;
    }
    if let (Some(retired), Some(quote), Some(place)) = (&listed.claim.retired, ending, places.last()) {
        let why = match retired.by {
            RetiredBy::EndDate => "ended: ",
            RetiredBy::Successor => "succeeded: ",
            RetiredBy::Denial => "denied: ",
        };
        print_quote(why, quote, place)?;
    }
    Ok(())
}

/// Returns where each quote is, in order: a source with a line or page.
async fn places_of(snapshot: &dyn Snapshot, quotes: &[&ListedQuote]) -> anyhow::Result<Vec<String>> {
    let ids: Vec<DocumentId> = quotes.iter().map(|quote| quote.document.clone()).collect();
    let (documents, texts) = (snapshot.documents(&ids).await?, snapshot.texts(&ids).await?);
    let places = quotes.iter().zip(documents).zip(texts).map(|((quote, document), text)| {
        let (Some(document), Some(text)) = (document, text) else { return name(&quote.source) };
        let lines = quote.span.lines_in(&text);
        place(&document.source, lines, document.lines_match_source, document.place_of(quote.span).as_ref())
    });
    Ok(places.collect())
}
