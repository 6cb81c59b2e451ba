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

use crate::commands::App;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, place, plain};
use crate::output::terminal::wrapped;
use crate::wire;

/// Maximum passages shown.
const MOST_PASSAGES: usize = 20;

/// Maximum suggestions for an unknown entity.
const MOST_NEAR: usize = 5;

/// Limits on what is printed about an entity.
struct PrintLimits {
    description_characters: usize,
    relations: usize,
    claims: usize,
    passages: usize,
}

const ONE_SCREEN: PrintLimits =
    PrintLimits { description_characters: 400, relations: 10, claims: 5, passages: 5 };

const ALL: PrintLimits = PrintLimits {
    description_characters: usize::MAX,
    relations: usize::MAX,
    claims: usize::MAX,
    passages: usize::MAX,
};

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
        print(app, &shown, if all { &ALL } else { &ONE_SCREEN })?
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
    let fault = Fault::failed(format!("no entity {name:?}"));
    Ok(match near.is_empty() {
        true => fault.help("`graphloom search WORDS` searches entities by meaning").into(),
        false => fault.help(format!("did you mean {}?", plain(&near.join(", ")))).into(),
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

fn print(app: &App, shown: &EntityOutput, most: &PrintLimits) -> anyhow::Result<()> {
    let output = &app.output;
    let EntityOutput { entity, decided, relations, claims, passages } = shown;
    let title = format!("{} ({})", plain(&entity.name), plain(&entity.kind));
    output.line(format_args!(
        "{} {}",
        output.heading(&title),
        output.faint(&format!("{}, {}", entity.key, count(entity.mention_count, "mention")))
    ))?;
    let description = match most.description_characters {
        usize::MAX => plain(&entity.description),
        characters => one_line(&entity.description, characters),
    };
    for line in wrapped(&description, output.columns, "") {
        output.line(line)?;
    }
    let EntityDecisions { created, edited, merged } = decided;
    if *created {
        output.line(output.faint("created by a person"))?;
    }
    if !edited.is_empty() {
        output.line(output.faint(&format!("edited: {}", edited.join(", "))))?;
    }
    if !merged.is_empty() {
        let keys: Vec<&str> = merged.iter().map(EntityKey::as_str).collect();
        output.line(output.faint(&format!("also known as: {}", plain(&keys.join(", ")))))?;
    }
    let columns = output.columns.unwrap_or(160);
    output.line(output.heading(&format!("relations ({}, strongest first)", relations.len())))?;
    for ShownRelation { with, relation } in relations.iter().take(most.relations) {
        let keywords = match most.relations {
            usize::MAX => plain(&relation.keywords.join(", ")),
            _ => one_line(&relation.keywords.join(", "), columns / 3),
        };
        let head = format!("  {} [{keywords}]", plain(with));
        let room = match most.relations {
            usize::MAX => 300,
            _ => columns.saturating_sub(display_width(&head) + 1),
        };
        output
            .line(format_args!("{head} {}", one_line(&relation.description, room)).to_string().trim_end())?;
    }
    if !claims.is_empty() {
        output.line(output.heading(&format!("claims ({})", claims.len())))?;
    }
    for claim in claims.iter().take(most.claims) {
        output.line(format_args!("  {}", one_line(&claim.line, columns.saturating_sub(2))))?;
    }
    output.line(output.heading("passages"))?;
    for passage in passages.iter().take(most.passages) {
        let at = passage.place.as_ref();
        let place = place(&passage.source, passage.lines, passage.lines_match_source, at);
        let room = columns.saturating_sub(display_width(&place) + 6);
        if most.passages == usize::MAX {
            let (quote, id) = (one_line(&passage.quote, 200), output.faint(&passage.chunk));
            output.line(format_args!("  {place}  \"{quote}\"  {id}"))?;
        } else {
            output.line(format_args!("  {place}  \"{}\"", one_line(&passage.quote, room)))?;
        }
    }
    let more: Vec<String> = [
        (relations.len(), most.relations, "relation"),
        (claims.len(), most.claims, "claim"),
        (passages.len(), most.passages, "passage"),
    ]
    .into_iter()
    .filter_map(|(number, most, what)| Some((number.checked_sub(most).filter(|more| *more > 0)?, what)))
    .map(|(more, what)| format!("{} more", count(more as u64, what)))
    .collect();
    let is_cut = entity.description.chars().count() > most.description_characters;
    if is_cut || !more.is_empty() {
        let more = if more.is_empty() { "more".to_owned() } else { more.join(", ") };
        output
            .line(output.faint(&format!("{more}: graphloom graph show --all \"{}\"", plain(&entity.name))))?;
    }
    Ok(())
}
