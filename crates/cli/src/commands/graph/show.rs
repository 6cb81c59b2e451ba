//! `graphloom graph show`: an entity with its relations and source passages.

use std::collections::BTreeMap;

use graphloom::nearest;
use graphloom_core::{
    Chunk, Decisions, Document, DocumentId, Entity, EntityKey, GraphKey, ItemKind, Place, Relation,
    SearchRequest, Snapshot, table,
};
use graphloom_engine::claims::{ListedClaim, MAX_LISTED_CLAIMS, claims_of_entity};
use graphloom_engine::edit::find_entity;
use serde::Serialize;
use textwrap::core::display_width;

use crate::args::meant_for_graph;
use crate::commands::App;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, place, plain};
use crate::output::terminal::wrapped;
use crate::wire;

/// Maximum passages shown.
const MOST_PASSAGES: usize = 20;

/// Maximum suggestions for an unknown entity.
const MOST_NEAR: usize = 5;

/// Maximum characters of a description that is not printed whole.
const DESCRIPTION_CHARACTERS: usize = 400;

/// Relations, claims and passages that are printed if the height of the screen is unknown.
const ROWS: [usize; 3] = [10, 5, 5];

/// Lines of the screen that stay free: for the hint how to see the rest, and for the prompt of the shell.
const FREE_LINES: usize = 2;

#[derive(Serialize)]
struct EntityOutput {
    entity: Entity,
    decided: EntityDecisions,
    relations: Vec<ShownRelation>,
    claims: Vec<ListedClaim>,
    passages: Vec<Passage>,
}

/// Decisions about the entity.
#[derive(Serialize)]
struct EntityDecisions {
    created: bool,
    /// Fields that were edited.
    edited: Vec<&'static str>,
    /// Entities that were merged into it or renamed to it.
    merged: Vec<EntityKey>,
}

impl EntityDecisions {
    fn new(decisions: &Decisions, key: &EntityKey) -> Self {
        let decided = decisions.entity(key).cloned().unwrap_or_default();
        let edited = [
            ("name", decided.name.is_some()),
            ("type", decided.kind.is_some()),
            ("description", decided.description.is_some()),
        ];
        Self {
            created: decided.created,
            edited: edited.into_iter().filter(|(_, is)| *is).map(|(field, _)| field).collect(),
            merged: decisions.leading_to(key),
        }
    }
}

#[derive(Serialize)]
struct ShownRelation {
    /// Name of the other entity.
    with: String,
    #[serde(flatten)]
    relation: Relation,
}

#[derive(Serialize)]
struct Passage {
    chunk: String,
    document: DocumentId,
    source: String,
    lines: (u32, u32),
    lines_match_source: bool,
    place: Option<Place>,
    quote: String,
}

/// Prints the entity with this name.
///
/// - `all`: print everything, however long.
pub(super) async fn run(app: &App, name: &str, all: bool) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let Some(entity) = find_entity(snapshot.as_ref(), name).await? else {
        return Err(unknown(snapshot.as_ref(), name).await?);
    };
    let shown = read(snapshot.as_ref(), entity).await?;
    if app.output.json {
        app.output.json(&shown)?
    } else {
        print(app, &shown, all)?
    }
    Ok(Exit::Done)
}

/// Returns the error for an unknown entity, with suggestions.
pub(super) async fn unknown(snapshot: &dyn Snapshot, name: &str) -> anyhow::Result<anyhow::Error> {
    let request = SearchRequest::by_words(ItemKind::Entity, name, MOST_NEAR);
    let hits = snapshot.search(&[request]).await?.concat();
    let keys: Vec<EntityKey> = hits.into_iter().filter_map(|hit| hit.item.into_entity()).collect();
    let found = snapshot.entities(&keys).await?;
    let mut near: Vec<String> = found.into_iter().flatten().map(|entity| entity.name).collect();
    if near.is_empty() {
        near = spelled_alike(snapshot, name).await?;
    }
    let fault = Fault::failed(format!("the graph has no entity {name:?}"));
    let entities = plain(&near.join(", "));
    Ok(match (meant_for_graph(name), near.is_empty()) {
        (None, true) => fault.help("`graphloom search WORDS` searches entities by meaning").into(),
        (None, false) => fault.help(format!("did you mean {entities}?")).into(),
        (Some(command), true) => fault.help(format!("did you mean `graphloom graph {command}`?")).into(),
        (Some(command), false) => {
            fault.help(format!("did you mean `graphloom graph {command}`, or {entities}?")).into()
        }
    })
}

async fn spelled_alike(snapshot: &dyn Snapshot, name: &str) -> anyhow::Result<Vec<String>> {
    let mut near: Vec<String> = Vec::new();
    let mut pages = snapshot.pages(table::Entities);
    while let Some(page) = pages.next().await? {
        let names = page.iter().map(|entity| entity.name.as_str());
        near = nearest(name, names.chain(near.iter().map(String::as_str)), MOST_NEAR)
            .into_iter()
            .map(str::to_owned)
            .collect();
    }
    Ok(near)
}

async fn read(snapshot: &dyn Snapshot, entity: Entity) -> anyhow::Result<EntityOutput> {
    let key = std::slice::from_ref(&entity.key);
    let mut relations = snapshot.relations_of(key).await?.into_iter().next().unwrap_or_default();
    relations.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.key.cmp(&b.key)));
    let others: Vec<EntityKey> =
        relations.iter().map(|relation| other_end(relation, &entity.key).clone()).collect();
    let names = snapshot.entities(&others).await?;
    let relations = relations.into_iter().zip(names).zip(others).map(|((relation, other), key)| {
        ShownRelation { with: other.map_or_else(|| key.to_string(), |other| other.name), relation }
    });
    let behind = snapshot.chunks_behind(&[GraphKey::Entity(entity.key.clone())], None, MOST_PASSAGES).await?;
    let ids: Vec<_> = behind.into_iter().flatten().collect();
    let chunks: Vec<Chunk> = snapshot.chunks(&ids).await?.into_iter().flatten().collect();
    let passages = passages(snapshot, &entity, &chunks).await?;
    let decided = EntityDecisions::new(&Decisions::read(snapshot).await?, &entity.key);
    let claims = claims_of_entity(snapshot, &entity.key, MAX_LISTED_CLAIMS).await?;
    Ok(EntityOutput { relations: relations.collect(), claims, passages, decided, entity })
}

async fn passages(
    snapshot: &dyn Snapshot,
    entity: &Entity,
    chunks: &[Chunk],
) -> anyhow::Result<Vec<Passage>> {
    let ids: Vec<DocumentId> = chunks.iter().map(|chunk| chunk.document.clone()).collect();
    let documents = snapshot.documents(&ids).await?;
    let texts = snapshot.texts(&ids).await?;
    let mentions = snapshot.mentions_of(std::slice::from_ref(&entity.key)).await?;
    let first_span: BTreeMap<_, _> = mentions
        .into_iter()
        .flatten()
        .filter_map(|mention| Some((mention.chunk, mention.span?)))
        .rev()
        .collect();
    let mut passages: Vec<Passage> = chunks
        .iter()
        .zip(documents)
        .zip(texts)
        .filter_map(|((chunk, document), text)| {
            let (document, text) = (document?, text?);
            let span = first_span.get(&chunk.id).copied().unwrap_or(chunk.span);
            let place = document.place_of(span);
            let Document { source, lines_match_source, .. } = document;
            let lines = span.lines_in(&text);
            let quote = line_around(&text, span.start as usize).to_owned();
            let (chunk, document) = (chunk.id.to_string(), chunk.document.clone());
            Some(Passage { chunk, document, source, lines, lines_match_source, place, quote })
        })
        .collect();
    passages.sort_by(|a, b| (&a.source, a.lines, &a.chunk).cmp(&(&b.source, b.lines, &b.chunk)));
    Ok(passages)
}

/// Returns the line of `text` that contains byte `at`.
fn line_around(text: &str, at: usize) -> &str {
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
    text.get(start..end).unwrap_or_default()
}

fn other_end<'a>(relation: &'a Relation, key: &EntityKey) -> &'a EntityKey {
    if relation.key.a() == key { relation.key.b() } else { relation.key.a() }
}

/// Relations, claims or passages, one on each line.
struct Section {
    heading: String,
    rows: Vec<String>,
    /// What a row is.
    what: &'static str,
}

fn print(app: &App, shown: &EntityOutput, all: bool) -> anyhow::Result<()> {
    let output = &app.output;
    let head = head(app, shown, all);
    let sections = [relations(app, shown, all), claims(app, shown), passage_list(app, shown, all)];
    let counts = sections.each_ref().map(|section| section.rows.len());
    let headings = sections.iter().filter(|section| !section.rows.is_empty()).count();
    let most = match output.lines {
        _ if all => counts,
        Some(lines) => rows_that_fit(lines.saturating_sub(head.len() + headings + FREE_LINES), counts),
        None => [0, 1, 2].map(|at| counts[at].min(ROWS[at])),
    };
    for line in &head {
        output.line(line)?;
    }
    let mut more = Vec::new();
    for (Section { heading, rows, what }, most) in sections.iter().zip(most) {
        if !rows.is_empty() {
            output.line(output.heading(heading))?;
        }
        for row in &rows[..most] {
            output.line(row)?;
        }
        if rows.len() > most {
            more.push(format!("{} more", count((rows.len() - most) as u64, what)));
        }
    }
    let is_cut = !all && shown.entity.description.chars().count() > DESCRIPTION_CHARACTERS;
    if is_cut || !more.is_empty() {
        let more = if more.is_empty() { "more".to_owned() } else { more.join(", ") };
        let name = plain(&shown.entity.name);
        output.advise(output.faint(&format!("{more}: `graphloom graph show --all \"{name}\"`")))?;
    }
    Ok(())
}

/// Returns how many of `counts` relations, claims and passages to print on this many lines. Relations get twice as many as the others;
/// lines that one of them does not need go to the others. At least one of each is printed.
fn rows_that_fit(lines: usize, counts: [usize; 3]) -> [usize; 3] {
    const COSTS: [usize; 3] = [1, 2, 2];
    let mut most = counts.map(|count| count.min(1));
    for _ in most.iter().sum::<usize>()..lines {
        let short = (0..counts.len()).filter(|&at| most[at] < counts[at]);
        let Some(next) = short.min_by_key(|&at| most[at] * COSTS[at]) else { break };
        most[next] += 1;
    }
    most
}

/// Returns the lines about the entity itself.
fn head(app: &App, shown: &EntityOutput, all: bool) -> Vec<String> {
    let output = &app.output;
    let EntityOutput { entity, decided, .. } = shown;
    let title = format!("{} ({})", plain(&entity.name), plain(&entity.kind));
    let mentions = format!("{}, {}", entity.key, count(entity.mention_count, "mention"));
    let mut lines = vec![format!("{} {}", output.heading(&title), output.faint(&mentions))];
    let description = match all {
        true => plain(&entity.description),
        false => one_line(&entity.description, DESCRIPTION_CHARACTERS),
    };
    lines.extend(wrapped(&description, output.columns, ""));
    let EntityDecisions { created, edited, merged } = decided;
    if *created {
        lines.push(output.faint("created by a person"));
    }
    if !edited.is_empty() {
        lines.push(output.faint(&format!("edited: {}", edited.join(", "))));
    }
    if !merged.is_empty() {
        let keys: Vec<&str> = merged.iter().map(EntityKey::as_str).collect();
        let known = format!("also known as: {}", plain(&keys.join(", ")));
        lines.push(output.faint(&if all { known } else { one_line(&known, columns(app)) }));
    }
    lines
}

fn relations(app: &App, shown: &EntityOutput, all: bool) -> Section {
    let columns = columns(app);
    let row = |ShownRelation { with, relation }: &ShownRelation| {
        let keywords = relation.keywords.join(", ");
        let (with, keywords) = match all {
            true => (plain(with), plain(&keywords)),
            false => (one_line(with, columns / 3), one_line(&keywords, columns / 3)),
        };
        let head = format!("  {with} [{keywords}]");
        let room = if all { 300 } else { columns.saturating_sub(display_width(&head) + 1) };
        format!("{head} {}", one_line(&relation.description, room)).trim_end().to_owned()
    };
    let rows: Vec<String> = shown.relations.iter().map(row).collect();
    Section { heading: format!("relations ({}, strongest first)", rows.len()), rows, what: "relation" }
}

fn claims(app: &App, shown: &EntityOutput) -> Section {
    let room = columns(app).saturating_sub(2);
    let rows: Vec<String> =
        shown.claims.iter().map(|claim| format!("  {}", one_line(&claim.line, room))).collect();
    Section { heading: format!("claims ({})", rows.len()), rows, what: "claim" }
}

fn passage_list(app: &App, shown: &EntityOutput, all: bool) -> Section {
    let row = |passage: &Passage| {
        let at = passage.place.as_ref();
        let place = place(&passage.source, passage.lines, passage.lines_match_source, at);
        if all {
            let (quote, id) = (one_line(&passage.quote, 200), app.output.faint(&passage.chunk));
            return format!("  {place}  \"{quote}\"  {id}");
        }
        let room = columns(app).saturating_sub(display_width(&place) + 6);
        format!("  {place}  \"{}\"", one_line(&passage.quote, room))
    };
    let rows = shown.passages.iter().map(row).collect();
    Section { heading: "passages".to_owned(), rows, what: "passage" }
}

/// Returns the width that lines are cut to.
fn columns(app: &App) -> usize {
    app.output.columns.unwrap_or(160)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_get_half_of_the_screen_or_more_if_the_other_lists_leave_room() {
        assert_eq!(rows_that_fit(20, [100, 100, 100]), [10, 5, 5]);
        assert_eq!(rows_that_fit(20, [100, 0, 3]), [17, 0, 3]);
        assert_eq!(rows_that_fit(20, [4, 1, 100]), [4, 1, 15]);
        assert_eq!(rows_that_fit(20, [2, 0, 3]), [2, 0, 3]);
        assert_eq!(rows_that_fit(0, [9, 9, 9]), [1, 1, 1]);
    }
}
