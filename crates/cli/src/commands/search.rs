//! `graphloom search`: passages, entities and relations with scores, without an LLM.

use std::collections::BTreeSet;
use std::ops::Range;

use graphloom_core::Span;
use graphloom_engine::query::{self, EntityHit, PassageHit, RelationHit, SearchHits};
use textwrap::core::display_width;

use super::App;
use crate::args::SearchArgs;
use crate::fault::Exit;
use crate::output::links::to_place;
use crate::output::render::{one_line, place, plain};
use crate::output::snippet::{Snippet, snippet};
use crate::output::terminal::wrapped;
use crate::wire::{self, QueryModels};

/// Maximum characters of a passage.
const PASSAGE_CHARACTERS: usize = 200;

/// Prints the results.
pub(crate) async fn run(app: &App, args: &SearchArgs) -> anyhow::Result<Exit> {
    let engine = wire::query_engine(app, QueryModels::Embedder).await?;
    let filter = args.filter.resolve(engine.store.snapshot().await?.as_ref(), &app.here).await?;
    let hits = query::search(&engine, &args.words.join(" "), args.top_k, filter.as_ref()).await?;
    let empty = hits.passages.is_empty() && hits.entities.is_empty() && hits.relations.is_empty();
    let printed = if app.output.json {
        app.output.json(&hits)
    } else if empty {
        app.output.line("nothing found").map_err(Into::into)
    } else {
        print(app, &hits, &args.words.join(" "))
    };
    wire::warn_if_unstored(app, &[&hits.cost]);
    printed?;
    Ok(if empty { Exit::NothingFound } else { Exit::Done })
}

fn print(app: &App, hits: &SearchHits, words: &str) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(output.heading("passages"))?;
    let mut places = BTreeSet::new();
    for PassageHit { chunk, source, lines, lines_match_source, place: at, score, .. } in &hits.passages {
        let Snippet { range, matches } = snippet(&chunk.text, words, PASSAGE_CHARACTERS);
        // Overlapping passages show the same place; only the best is printed.
        let found = matches.first().map(|found| chunk.span.within(Span::new(found.start, found.end)).start);
        if found.is_some_and(|start| !places.insert((&chunk.document, start))) {
            continue;
        }
        let lines_before = |end: usize| {
            let ends = chunk.text[..end].bytes().filter(|byte| *byte == b'\n').count();
            lines.0 + u32::try_from(ends).unwrap_or(0)
        };
        // The matching line, or the whole passage if it was found by meaning.
        let lines = matches.first().map_or(*lines, |first| {
            let line = lines_before(first.start);
            (line, line)
        });
        let place = place(source, lines, *lines_match_source, at.as_ref());
        let line = lines_match_source.then_some(lines.0);
        let start =
            matches.first().map_or(0, |found| chunk.text[..found.start].rfind('\n').map_or(0, |end| end + 1));
        let address = app.address_of(source).map(|it| to_place(it, line, at.as_ref(), &chunk.text[start..]));
        let linked = output.link(address.as_deref(), &place);
        let shown = shown(app, &chunk.text, &range, &matches);
        if output.columns.is_some() {
            output.line(format_args!("  {score:.4}  {linked}"))?;
            for line in wrapped(&shown, output.columns, "          ") {
                output.line(line)?;
            }
        } else {
            output.line(format_args!("  {score:.4}  {linked}  \"{shown}\""))?;
        }
    }
    // Reserves room for the score on the same line.
    let room = output.columns.map_or(120, |columns| columns.saturating_sub(12));
    output.line(output.heading("entities"))?;
    for EntityHit { entity, score } in &hits.entities {
        let name = format!("{} ({})", one_line(&entity.name, room), plain(&entity.kind));
        let room = room.saturating_sub(display_width(&name));
        output.line(format_args!("  {score:.4}  {name}  {}", one_line(&entity.description, room)))?;
    }
    output.line(output.heading("relations"))?;
    for RelationHit { relation, ends, score } in &hits.relations {
        let ends = one_line(&format!("{} - {}", ends[0], ends[1]), room);
        let room = room.saturating_sub(display_width(&ends));
        output.line(format_args!("  {score:.4}  {ends}  {}", one_line(&relation.description, room)))?;
    }
    Ok(())
}

/// Returns a part of a passage on one line, with matching words highlighted.
fn shown(app: &App, text: &str, range: &Range<usize>, matches: &[Range<usize>]) -> String {
    let flat = |part: &str| plain(part).replace(['\n', '\t'], " ");
    let mut shown = String::from(if range.start > 0 { "…" } else { "" });
    let mut at = range.start;
    for found in matches {
        shown.push_str(&flat(&text[at..found.start]));
        shown.push_str(&app.output.found(&flat(&text[found.clone()])));
        at = found.end;
    }
    shown.push_str(&flat(&text[at..range.end]));
    let end = if range.end < text.len() { "…" } else { "" };
    format!("{}{end}", shown.split_whitespace().collect::<Vec<_>>().join(" "))
}
