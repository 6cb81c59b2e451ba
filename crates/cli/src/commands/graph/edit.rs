//! `graphloom graph create, edit, rename, merge, split, delete, not-same, undo`.

use std::collections::BTreeSet;

use graphloom_core::{ChunkId, EntityKey, GraphKey, Snapshot};
use graphloom_engine::edit::{self, DescriptionRule, Edit, EditError, EditReport, KindRule, find_entity};
use serde::Serialize;

use super::history::sentence;
use super::show;
use crate::args::{GraphCommand, HowArgs};
use crate::commands::App;
use crate::documents;
use crate::fault::{Exit, Fault};
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Maximum relations and entities listed in a preview; `--json` prints all.
const MOST_LISTED: usize = 20;

#[derive(Serialize)]
struct PreviewOutput<'a> {
    preview: bool,
    #[serde(flatten)]
    edited: &'a EditReport,
}

/// Applies the edit or previews it.
pub(super) async fn run(app: &App, command: &GraphCommand) -> anyhow::Result<Exit> {
    let engine = wire::deleting_engine(app).await?;
    let snapshot = engine.store.snapshot().await?;
    let Some((edit, how)) = edit_of(app, snapshot.as_ref(), command).await? else { return Ok(Exit::Usage) };
    drop(snapshot);
    let outcome = match how.preview {
        true => edit::preview(&engine, &edit).await,
        false => edit::apply(&engine, &edit).await,
    };
    let edited = match outcome {
        Ok(edited) => edited,
        Err(EditError::UnknownEntity { name }) => {
            return Err(show::unknown(engine.store.snapshot().await?.as_ref(), &name).await?);
        }
        Err(error) => return Err(error.into()),
    };
    if app.output.json {
        app.output.json(&PreviewOutput { preview: how.preview, edited: &edited })?;
    } else {
        print(app, &edited, how.preview)?;
    }
    if edited.stale > 0 && !how.preview {
        app.output.warn(format_args!(
            "{} could not be summarized; `graphloom retry` tries again",
            count(edited.stale, "description")
        ));
    }
    Ok(Exit::Done)
}

/// Returns the edit that a command describes; `None` for commands that do not edit.
async fn edit_of<'a>(
    app: &App,
    snapshot: &dyn Snapshot,
    command: &'a GraphCommand,
) -> anyhow::Result<Option<(Edit, &'a HowArgs)>> {
    Ok(Some(match command {
        GraphCommand::Create { name, relation, kind, description, how } => {
            let (name, kind, description) = (name.clone(), kind.clone(), description.clone());
            let edit = match relation.relation.clone() {
                None => Edit::CreateEntity { name, kind, description },
                Some(target) => Edit::CreateRelation {
                    source: name,
                    target,
                    keywords: relation.keywords.clone(),
                    description,
                    weight: relation.weight,
                },
            };
            (edit, how)
        }
        GraphCommand::Edit { name, relation, kind, description, how } => {
            let (name, kind, description) = (name.clone(), kind.clone(), description.clone());
            let edit = match relation.relation.clone() {
                None => Edit::EditEntity { name, kind, description },
                Some(target) => Edit::EditRelation {
                    source: name,
                    target,
                    keywords: (!relation.keywords.is_empty()).then(|| relation.keywords.clone()),
                    description,
                    weight: relation.weight,
                },
            };
            (edit, how)
        }
        GraphCommand::Rename { name, to, merge, how } => (
            Edit::RenameEntity {
                name: name.clone(),
                to: to.clone(),
                merge: *merge,
                kind: None,
                description: None,
            },
            how,
        ),
        GraphCommand::Merge { sources, into, description, kind, strategy, how } => {
            let (description, kind) = rules(description.as_deref(), kind.as_deref(), strategy)?;
            (Edit::Merge { sources: sources.clone(), into: into.clone(), description, kind }, how)
        }
        GraphCommand::Split { name, into, chunk, document, how } => {
            let chunks = chunks_of(app, snapshot, name, chunk, document).await?;
            (Edit::Split { name: name.clone(), chunks, into: into.clone() }, how)
        }
        GraphCommand::Delete { name, relation, how } => {
            let edit = match relation.clone() {
                None => Edit::DeleteEntity { name: name.clone() },
                Some(target) => Edit::DeleteRelation { source: name.clone(), target },
            };
            (edit, how)
        }
        GraphCommand::NotSame { one, other, how } => {
            (Edit::NotSame { one: one.clone(), other: other.clone() }, how)
        }
        GraphCommand::Undo { decision, how } => (Edit::Undo { decision: decision.clone() }, how),
        GraphCommand::Show { .. }
        | GraphCommand::Labels { .. }
        | GraphCommand::Subgraph { .. }
        | GraphCommand::History { .. }
        | GraphCommand::Import { .. } => return Ok(None),
    }))
}

/// Returns the rules for the fields of a merged entity.
fn rules(
    description: Option<&str>,
    kind: Option<&str>,
    strategy: &[(String, String)],
) -> anyhow::Result<(DescriptionRule, KindRule)> {
    let (mut of_description, mut of_kind) = (DescriptionRule::default(), KindRule::default());
    for (field, rule) in strategy {
        match (field.as_str(), rule.as_str()) {
            // LightRAG's other joining rules also produce the distinct descriptions.
            ("description", "concatenate" | "join_unique") => of_description = DescriptionRule::Concatenate,
            ("description", "keep_first") => of_description = DescriptionRule::KeepFirst,
            ("description", "keep_last") => of_description = DescriptionRule::KeepLast,
            ("entity_type" | "type", "majority") => of_kind = KindRule::Majority,
            ("entity_type" | "type", "keep_first") => of_kind = KindRule::KeepFirst,
            ("entity_type" | "type", "keep_last") => of_kind = KindRule::KeepLast,
            _ => {
                return Err(Fault::usage(format!("unknown rule {field}={rule}"))
                    .help(
                        "description takes concatenate, keep_first and keep_last; entity_type takes majority, \
                         keep_first and keep_last",
                    )
                    .into());
            }
        }
    }
    if let Some(text) = description {
        of_description = DescriptionRule::Text(text.to_owned());
    }
    if let Some(kind) = kind {
        of_kind = KindRule::Kind(kind.to_owned());
    }
    Ok((of_description, of_kind))
}

/// Returns the selected passages among those that mention the entity.
async fn chunks_of(
    app: &App,
    snapshot: &dyn Snapshot,
    name: &str,
    ids: &[String],
    references: &[String],
) -> anyhow::Result<Vec<ChunkId>> {
    if ids.is_empty() && references.is_empty() {
        return Err(Fault::usage("no passages selected")
            .help("select one with --chunk ID or all of a document with --document DOC; `graphloom graph show` lists them")
            .into());
    }
    let Some(entity) = find_entity(snapshot, name).await? else {
        return Err(show::unknown(snapshot, name).await?);
    };
    let behind = snapshot.chunks_behind(&[GraphKey::Entity(entity.key.clone())], None, usize::MAX).await?;
    let facts = snapshot.facts_touching(std::slice::from_ref(&entity.key)).await?.into_iter().flatten();
    let stated = facts.filter(|fact| !fact.set_aside).map(|fact| fact.chunk);
    let speaking: BTreeSet<ChunkId> = behind.into_iter().flatten().chain(stated).collect();
    let mut chosen = BTreeSet::new();
    for id in ids {
        let digits = id.strip_prefix("chunk-").unwrap_or(id);
        let is_meant = |chunk: &&ChunkId| {
            !digits.is_empty() && chunk.as_str().trim_start_matches("chunk-").starts_with(digits)
        };
        match speaking.iter().filter(is_meant).collect::<Vec<_>>().as_slice() {
            [one] => drop(chosen.insert((*one).clone())),
            [] => chosen.extend([ChunkId::from_stored(id.as_str())]),
            several => {
                let message = format!("{} passages have an id that begins with {id:?}", several.len());
                return Err(Fault::failed(message).help("use a longer id").into());
            }
        }
    }
    for reference in references {
        let versions = documents::find(snapshot, reference, &app.here).await?;
        let owners: BTreeSet<_> = versions.into_iter().map(|document| document.id).collect();
        let owners: Vec<_> = owners.into_iter().collect();
        let of_document = snapshot.chunks_of(&owners).await?.into_iter().flatten().map(|chunk| chunk.id);
        let meant: Vec<ChunkId> = of_document.filter(|chunk| speaking.contains(chunk)).collect();
        if meant.is_empty() {
            let message = format!("{reference:?} does not mention {:?}", entity.name);
            return Err(Fault::failed(message).help("`graphloom graph show` lists the passages").into());
        }
        chosen.extend(meant);
    }
    Ok(chosen.into_iter().collect())
}

fn print(app: &App, edited: &EditReport, preview: bool) -> anyhow::Result<()> {
    let output = &app.output;
    let what = one_line(&sentence(&edited.decision.action), 300);
    match preview {
        true => output.line(format_args!("would {what}"))?,
        false => output.line(format_args!("{} {what}", output.faint(edited.decision.id.as_str())))?,
    }
    if let Some(entity) = &edited.entity {
        let title = format!("{} ({})", plain(&entity.name), plain(&entity.kind));
        let counts =
            format!("{}, {}", count(entity.mention_count, "mention"), count(entity.degree, "relation"));
        output.line(format_args!("{} {}", output.heading(&title), output.faint(&counts)))?;
        output.line(one_line(&entity.description, 600))?;
    }
    output.line(format_args!(
        "{} and {} new or changed, {} and {} removed",
        count(edited.entities.len() as u64, "entity"),
        count(edited.relations.len() as u64, "relation"),
        count(edited.removed_entities.len() as u64, "entity"),
        count(edited.removed_relations.len() as u64, "relation"),
    ))?;
    if preview {
        let entities = edited.entities.iter().map(|entity| format!("+ {}", entity.key));
        let gone = edited.removed_entities.iter().map(|key: &EntityKey| format!("- {key}"));
        let relations = edited.relations.iter().map(|it| format!("+ {} - {}", it.key.a(), it.key.b()));
        let parted = edited.removed_relations.iter().map(|key| format!("- {} - {}", key.a(), key.b()));
        let lines: Vec<String> = gone.chain(entities).chain(parted).chain(relations).collect();
        for line in lines.iter().take(MOST_LISTED) {
            output.line(format_args!("  {}", plain(line)))?;
        }
        let more = lines.len().saturating_sub(MOST_LISTED);
        if more > 0 {
            output.line(format_args!("  and {more} more"))?;
        }
    } else {
        output.note(format_args!("`graphloom graph undo {}` reverts it", edited.decision.id));
    }
    Ok(())
}
