//! `graphloom claims`: the dated claims of the documents.

use graphloom_engine::claims::{ClaimFilter, ListedClaim, ListedQuote, RetiredBy, list_claims};
use graphloom_engine::edit::find_entity;
use serde::Serialize;

use super::App;
use crate::args::ClaimsArgs;
use crate::fault::{Exit, Fault};
use crate::output::render::{one_line, plain};
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
        print(app, claim)?;
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
pub(crate) fn print(app: &App, listed: &ListedClaim) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(output.heading(&plain(&listed.line)))?;
    for quote in listed.quoted.iter().take(MAX_QUOTES) {
        print_quote(app, "", quote)?;
    }
    let more = listed.quoted.len().saturating_sub(MAX_QUOTES);
    if more > 0 {
        output.line(output.faint(&format!("  and {more} more")))?;
    }
    if let Some(retired) = &listed.claim.retired {
        let why = match retired.by {
            RetiredBy::EndDate => "ended: ",
            RetiredBy::Successor => "succeeded: ",
            RetiredBy::Denial => "denied: ",
        };
        for quote in listed.retired_by.iter().take(1) {
            print_quote(app, why, quote)?;
        }
    }
    Ok(())
}

fn print_quote(app: &App, before: &str, quote: &ListedQuote) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(format_args!(
        "  {before}\u{201c}{}\u{201d} {}",
        one_line(&quote.text, QUOTE_CHARS),
        output.faint(&plain(&quote.source))
    ))?;
    Ok(())
}
