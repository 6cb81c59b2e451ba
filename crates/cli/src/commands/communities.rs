//! `graphloom communities`: communities of the graph and their reports.

use graphloom_engine::derive::{
    Communities, CommunityEntry, CommunityReport, LayerStatus, communities, community, find_communities,
};
use serde::Serialize;

use super::App;
use super::layer::{LayerWords, note_more, place, titled};
use crate::args::CommunitiesArgs;
use crate::fault::Exit;
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Maximum characters of a summary in a list.
const SUMMARY_CHARS: usize = 300;

const WORDS: LayerWords = LayerWords {
    missing: "no communities yet; `graphloom derive communities` finds them",
    outdated: "the communities are out of date; `graphloom derive communities` updates them",
    node: "community",
    list: "graphloom communities",
};

#[derive(Serialize)]
struct CommunitiesOutput {
    /// `None` if communities were never derived.
    layer: Option<LayerStatus>,
    level: u32,
    /// Number of communities on the level.
    total: usize,
    communities: Vec<CommunityEntry>,
}

/// Lists the communities of a level, or prints the report of one.
pub(crate) async fn run(app: &App, args: &CommunitiesArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let layer = WORDS.state(app, snapshot, &Communities::name()).await?;
    if let Some(id) = &args.community {
        let found = find_communities(snapshot, id).await?;
        let report = community(snapshot, WORDS.only(&found, id)?).await?.ok_or_else(|| WORDS.unknown(id))?;
        if app.output.json {
            app.output.json(&report)?
        } else {
            print_report(app, &report)?
        }
        return Ok(Exit::Done);
    }
    let level = args.level.unwrap_or(0);
    let mut entries = communities(snapshot, level).await?;
    let total = entries.len();
    entries.truncate(args.limit);
    let listed = CommunitiesOutput { layer, level, total, communities: entries };
    if app.output.json {
        app.output.json(&listed)?
    } else {
        print_list(app, &listed)?
    }
    Ok(Exit::Done)
}

fn print_list(app: &App, listed: &CommunitiesOutput) -> anyhow::Result<()> {
    let output = &app.output;
    let Some(layer) = &listed.layer else { return Ok(()) };
    let levels: Vec<String> = (0..)
        .zip(&layer.levels)
        .map(|(level, number): (u32, _)| format!("{number} on level {level}"))
        .collect();
    output.line(format_args!("{} {}", output.heading("communities"), levels.join(", ")))?;
    for entry in &listed.communities {
        output.line("")?;
        output.line(titled(output, &entry.title, &entry.id))?;
        output.line(format_args!(
            "rating {}, {}, {}, written by {}",
            entry.rating,
            count(u64::from(entry.entities), "entity"),
            count(u64::from(entry.relations), "relation"),
            plain(&entry.by)
        ))?;
        output.line(one_line(&entry.summary, SUMMARY_CHARS))?;
    }
    note_more(output, listed.total, listed.communities.len());
    Ok(())
}

fn print_report(app: &App, report: &CommunityReport) -> anyhow::Result<()> {
    let output = &app.output;
    let entry = &report.entry;
    output.line(titled(output, &entry.title, &entry.id))?;
    output.line(format_args!(
        "level {}, {}, {}, written by {}",
        entry.level,
        count(u64::from(entry.entities), "entity"),
        count(u64::from(entry.relations), "relation"),
        plain(&entry.by)
    ))?;
    output.line(format_args!("rating {}: {}", entry.rating, one_line(&report.rating_reason, 1000)))?;
    output.line("")?;
    output.line(one_line(&entry.summary, 10_000))?;
    for finding in &report.findings {
        output.line("")?;
        output.line(format_args!("- {}", output.heading(&one_line(&finding.summary, 2000))))?;
        let is_quote = finding.references.iter().any(|reference| reference.quote == finding.explanation);
        if !(is_quote || finding.explanation.is_empty()) {
            output.line(format_args!("  {}", one_line(&finding.explanation, 10_000)))?;
        }
        for reference in &finding.references {
            output.line(format_args!(
                "  {} \"{}\"",
                output.faint(&place(&reference.source, reference.lines)),
                one_line(&reference.quote, 400)
            ))?;
        }
    }
    output.line("")?;
    if let Some(parent) = &report.parent {
        output.line(format_args!(
            "part of    {} {}",
            one_line(&parent.title, 120),
            output.faint(parent.id.as_str())
        ))?;
    }
    for part in &report.parts {
        output.line(format_args!(
            "part       {} {}",
            one_line(&part.title, 120),
            output.faint(part.id.as_str())
        ))?;
    }
    if !report.members.is_empty() {
        let members: Vec<String> = report.members.iter().map(|key| plain(key.as_str()).to_string()).collect();
        output.line(format_args!("entities   {}", members.join(", ")))?;
    }
    if report.dropped_references > 0 {
        output.note(format_args!(
            "{} dropped from the report: no matching sentence",
            count(u64::from(report.dropped_references), "reference")
        ));
    }
    Ok(())
}
