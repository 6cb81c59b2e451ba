//! `graphloom search`: passages, entities and relations with scores; asks no language model.

use graphloom_engine::query::{self, EntityHit, PassageHit, RelationHit, SearchHits};

use super::App;
use crate::args::SearchArgs;
use crate::fault::Exit;
use crate::output::render::{one_line, place, plain};
use crate::wire::{self, Asks};

/// Prints what the words find.
pub(crate) async fn run(app: &App, args: &SearchArgs) -> anyhow::Result<Exit> {
    let engine = wire::query_engine(app, Asks::Embedder).await?;
    let filter = args.filter.resolve(engine.store.snapshot().await?.as_ref(), &app.current_dir).await?;
    let hits = query::search(&engine, &args.words.join(" "), args.top_k, filter.as_ref()).await?;
    let empty = hits.passages.is_empty() && hits.entities.is_empty() && hits.relations.is_empty();
    let printed = if app.output.json {
        app.output.json(&hits)
    } else if empty {
        app.output.line("nothing found").map_err(Into::into)
    } else {
        print(app, &hits)
    };
    wire::record(app, &engine, [&hits.spent]).await;
    printed?;
    Ok(if empty { Exit::NothingFound } else { Exit::Done })
}

fn print(app: &App, hits: &SearchHits) -> anyhow::Result<()> {
    let output = &app.output;
    output.line(output.heading("passages"))?;
    for PassageHit { chunk, source, lines, lines_match_source, place: at, score, .. } in &hits.passages {
        let place = place(source, *lines, *lines_match_source, at.as_ref());
        output.line(format_args!("  {score:.4}  {place}  \"{}\"", one_line(&chunk.text, 160)))?;
    }
    output.line(output.heading("entities"))?;
    for EntityHit { entity, score } in &hits.entities {
        let name = format!("{} ({})", plain(&entity.name), plain(&entity.kind));
        output.line(format_args!("  {score:.4}  {name}  {}", one_line(&entity.description, 120)))?;
    }
    output.line(output.heading("relations"))?;
    for RelationHit { relation, ends, score } in &hits.relations {
        let ends = plain(&format!("{} - {}", ends[0], ends[1]));
        output.line(format_args!("  {score:.4}  {ends}  {}", one_line(&relation.description, 120)))?;
    }
    Ok(())
}
