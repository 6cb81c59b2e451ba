//! Edits of the graph in LightRAG's format. Each is a decision that also applies to later documents and can be
//! undone; the response names it.

use axum::routing::{delete, post};
use graphloom_core::{Action, Decision, Entity, GraphKey, Relation, Snapshot, StoreError};
use graphloom_engine::Engine;
use graphloom_engine::edit::{self, DescriptionRule, Edit, EditError, EditReport, KindRule, find_entity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::apart::apart;
use crate::behind::Behind;
use crate::input::{ExistingWorkspace, Json};
use crate::problem::Problem;
use crate::route::{Gives, Route, Takes, schema};

/// Maximum chunks listed per edited item.
const MAX_CHUNKS_BEHIND: usize = 100;
/// Maximum entities per merge.
const MAX_MERGED: usize = 1000;

pub(super) const ROUTES: &[Route] = &[
    Route::post("/graph/entity/create", "Creates an entity", || post(create_entity))
        .writes()
        .takes(Takes::Json(schema::<CreateEntity>))
        .gives(Gives::Json(schema::<EditAnswer>)),
    Route::post("/graph/entity/edit", "Changes the type, description or name of an entity", || {
        post(edit_entity)
    })
    .writes()
    .takes(Takes::Json(schema::<EditEntity>))
    .gives(Gives::Json(schema::<EditAnswer>)),
    Route::delete("/graph/entity/delete", "Removes an entity and its relations from the graph", || {
        delete(delete_entity)
    })
    .writes()
    .takes(Takes::Json(schema::<DeleteEntity>))
    .gives(Gives::Json(schema::<Deletion>)),
    Route::post("/graph/entities/merge", "Merges several entities into one", || post(merge))
        .writes()
        .takes(Takes::Json(schema::<MergeEntities>))
        .gives(Gives::Json(schema::<EditAnswer>)),
    Route::post("/graph/relation/create", "Creates a relation between two entities", || {
        post(create_relation)
    })
    .writes()
    .takes(Takes::Json(schema::<CreateRelation>))
    .gives(Gives::Json(schema::<EditAnswer>)),
    Route::post("/graph/relation/edit", "Changes the keywords, description or weight of a relation", || {
        post(edit_relation)
    })
    .writes()
    .takes(Takes::Json(schema::<EditRelation>))
    .gives(Gives::Json(schema::<EditAnswer>)),
    Route::delete("/graph/relation/delete", "Removes a relation from the graph", || delete(delete_relation))
        .writes()
        .takes(Takes::Json(schema::<DeleteRelation>))
        .gives(Gives::Json(schema::<Deletion>)),
];

#[derive(Deserialize, JsonSchema)]
struct CreateEntity {
    #[schemars(length(min = 1))]
    entity_name: String,
    /// `description`, and optionally `entity_type`.
    entity_data: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
struct EditEntity {
    #[schemars(length(min = 1))]
    entity_name: String,
    /// `entity_type`, `description`, and `entity_name` for a new name.
    updated_data: Map<String, Value>,
    /// Whether the name may change.
    #[serde(default)]
    allow_rename: bool,
    /// Whether to merge if another entity already has the new name.
    #[serde(default)]
    allow_merge: bool,
}

#[derive(Deserialize, JsonSchema)]
struct DeleteEntity {
    #[schemars(length(min = 1))]
    entity_name: String,
}

#[derive(Deserialize, JsonSchema)]
struct MergeEntities {
    #[schemars(length(min = 1), inner(length(min = 1)))]
    entities_to_change: Vec<String>,
    /// Name of the merged entity: one of them, another entity, or a new name.
    #[schemars(length(min = 1))]
    entity_to_change_into: String,
}

#[derive(Deserialize, JsonSchema)]
struct CreateRelation {
    #[schemars(length(min = 1))]
    source_entity: String,
    #[schemars(length(min = 1))]
    target_entity: String,
    /// `description`, `keywords` separated by commas, `weight`.
    relation_data: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
struct EditRelation {
    #[schemars(length(min = 1))]
    source_id: String,
    #[schemars(length(min = 1))]
    target_id: String,
    /// `description`, `keywords` separated by commas, `weight`.
    updated_data: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
struct DeleteRelation {
    #[schemars(length(min = 1))]
    source_entity: String,
    #[schemars(length(min = 1))]
    target_entity: String,
}

/// The outcome of an edit.
#[derive(Serialize, JsonSchema)]
struct EditAnswer {
    status: &'static str,
    message: String,
    /// The current entity or relation.
    data: Value,
    /// The outcome of a renaming.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_summary: Option<Value>,
    /// The decisions, latest last; use them to undo the edit.
    decisions: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Deletion {
    status: &'static str,
    doc_id: String,
    message: String,
    status_code: u16,
    file_path: Option<String>,
    /// The decision; use it to undo the edit.
    decision: String,
}

async fn create_entity(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(CreateEntity { entity_name, entity_data }): Json<CreateEntity>,
) -> Result<axum::Json<EditAnswer>, Problem> {
    let mut fields = Fields::new("entity_data", entity_data);
    let kind = fields.text("entity_type")?;
    let description = fields.text("description")?.unwrap_or_default();
    fields.end()?;
    let name = named(&entity_name)?;
    apart(async move || {
        let engine = &space.indexing;
        let edited = edit::apply(engine, &Edit::CreateEntity { name, kind, description }).await?;
        let data = entity_of(engine, &edited).await?;
        let message = format!("Entity '{}' created successfully", entity_name.trim());
        Ok(answer(message, data, vec![edited.decision]))
    })
    .await
}

async fn edit_entity(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(request): Json<EditEntity>,
) -> Result<axum::Json<EditAnswer>, Problem> {
    let EditEntity { entity_name, updated_data, allow_rename, allow_merge } = request;
    let mut fields = Fields::new("updated_data", updated_data);
    let new_name = fields.text("entity_name")?.map(|name| named(&name)).transpose()?;
    let kind = fields.text("entity_type")?;
    let description = fields.text("description")?;
    fields.end()?;
    let name = named(&entity_name)?;
    let entity_name = name.clone();
    let new_name = new_name.filter(|new| *new != name);
    if new_name.is_some() && !allow_rename {
        let what = "Entity renaming is not allowed. Set allow_rename=true to enable this feature";
        return Err(Problem::bad(what));
    }
    apart(async move || {
        let engine = &space.indexing;
        let edit = match &new_name {
            // One commit: if type or description is invalid, the name stays too.
            Some(to) => Edit::RenameEntity { name, to: to.clone(), merge: allow_merge, kind, description },
            None => Edit::EditEntity { name, kind, description },
        };
        let edited = edit::apply(engine, &edit).await?;
        let merged = matches!(edited.decision.action, Action::MergeEntities { .. });
        let data = entity_of(engine, &edited).await?;
        let decisions = std::iter::once(edited.decision).chain(edited.after).collect();
        let name = new_name.as_ref().unwrap_or(&entity_name);
        let message = match merged {
            true => format!("Entity merged successfully into '{name}'"),
            false => "Entity updated successfully".to_owned(),
        };
        let summary = json!({
            "merged": merged,
            "merge_status": if merged { "success" } else { "not_attempted" },
            "merge_error": null,
            "operation_status": "success",
            "target_entity": new_name.as_ref().filter(|_| merged),
            "final_entity": name,
            "renamed": new_name.is_some(),
        });
        let mut answer = answer(message, data, decisions);
        answer.0.operation_summary = Some(summary);
        Ok(answer)
    })
    .await
}

async fn delete_entity(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(DeleteEntity { entity_name }): Json<DeleteEntity>,
) -> Result<axum::Json<Deletion>, Problem> {
    let name = named(&entity_name)?;
    apart(async move || {
        let edited = edit::apply(&space.indexing, &Edit::DeleteEntity { name }).await.map_err(missing)?;
        let message = format!(
            "Entity '{}' and its {} relationships have been deleted",
            entity_name.trim(),
            edited.removed_relations.len()
        );
        Ok(deletion(message, &edited))
    })
    .await
}

async fn merge(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(MergeEntities { entities_to_change, entity_to_change_into }): Json<MergeEntities>,
) -> Result<axum::Json<EditAnswer>, Problem> {
    if entities_to_change.is_empty() || entities_to_change.len() > MAX_MERGED {
        let what = format!("entities_to_change must have 1 to {MAX_MERGED} names");
        return Err(Problem::invalid(what));
    }
    let sources = entities_to_change.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?;
    let into = named(&entity_to_change_into)?;
    apart(async move || {
        let engine = &space.indexing;
        let count = sources.len();
        let message = format!("Successfully merged {count} entities into '{into}'");
        let (description, kind) = (DescriptionRule::default(), KindRule::default());
        let edited = edit::apply(engine, &Edit::Merge { sources, into, description, kind }).await?;
        let data = entity_of(engine, &edited).await?;
        Ok(answer(message, data, vec![edited.decision]))
    })
    .await
}

async fn create_relation(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(CreateRelation { source_entity, target_entity, relation_data }): Json<CreateRelation>,
) -> Result<axum::Json<EditAnswer>, Problem> {
    let mut fields = Fields::new("relation_data", relation_data);
    let (keywords, description, weight) = fields.relation()?;
    fields.end()?;
    let (source, target) = (named(&source_entity)?, named(&target_entity)?);
    apart(async move || {
        let engine = &space.indexing;
        let message = format!("Relation created successfully between '{source}' and '{target}'");
        let edit = Edit::CreateRelation {
            source: source.clone(),
            target: target.clone(),
            keywords: keywords.unwrap_or_default(),
            description: description.unwrap_or_default(),
            weight,
        };
        let edited = edit::apply(engine, &edit).await?;
        let data = relation_of(engine, &source, &target).await?;
        Ok(answer(message, data, vec![edited.decision]))
    })
    .await
}

async fn edit_relation(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(EditRelation { source_id, target_id, updated_data }): Json<EditRelation>,
) -> Result<axum::Json<EditAnswer>, Problem> {
    let mut fields = Fields::new("updated_data", updated_data);
    let (keywords, description, weight) = fields.relation()?;
    fields.end()?;
    let (source, target) = (named(&source_id)?, named(&target_id)?);
    apart(async move || {
        let engine = &space.indexing;
        let (from, to) = (source.clone(), target.clone());
        let edit = Edit::EditRelation { source: from, target: to, keywords, description, weight };
        let edited = edit::apply(engine, &edit).await?;
        let data = relation_of(engine, &source, &target).await?;
        Ok(answer("Relation updated successfully".to_owned(), data, vec![edited.decision]))
    })
    .await
}

async fn delete_relation(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(DeleteRelation { source_entity, target_entity }): Json<DeleteRelation>,
) -> Result<axum::Json<Deletion>, Problem> {
    let (source, target) = (named(&source_entity)?, named(&target_entity)?);
    apart(async move || {
        let message = format!("Relation between '{source}' and '{target}' deleted successfully");
        let edited =
            edit::apply(&space.indexing, &Edit::DeleteRelation { source, target }).await.map_err(missing)?;
        Ok(deletion(message, &edited))
    })
    .await
}

/// The problem for an edit error; something unknown is not found (404).
fn missing(error: EditError) -> Problem {
    let is_missing = matches!(error, EditError::UnknownEntity { .. } | EditError::UnknownRelation { .. });
    if is_missing { Problem::not_found(error.to_string()) } else { error.into() }
}

fn answer(message: String, data: Value, decisions: Vec<Decision>) -> axum::Json<EditAnswer> {
    let decisions = decisions.into_iter().map(|decision| decision.id.to_string()).collect();
    axum::Json(EditAnswer { status: "success", message, data, operation_summary: None, decisions })
}

fn deletion(message: String, edited: &EditReport) -> axum::Json<Deletion> {
    let decision = edited.decision.id.to_string();
    let doc_id = String::new();
    axum::Json(Deletion { status: "success", doc_id, message, status_code: 200, file_path: None, decision })
}

fn named(name: &str) -> Result<String, Problem> {
    match name.trim() {
        "" => Err(Problem::invalid("Entity name cannot be empty")),
        name => Ok(name.to_owned()),
    }
}

/// The edited entity in the format of LightRAG's `get_entity_info`.
async fn entity_of(engine: &Engine, edited: &EditReport) -> Result<Value, Problem> {
    let Some(entity) = &edited.entity else { return Ok(Value::Null) };
    let snapshot = engine.store.snapshot().await?;
    Ok(entity_info(snapshot.as_ref(), entity).await?)
}

async fn entity_info(snapshot: &dyn Snapshot, entity: &Entity) -> Result<Value, StoreError> {
    let key = GraphKey::Entity(entity.key.clone());
    let behind = Behind::of(snapshot, vec![key.clone()], MAX_CHUNKS_BEHIND, None).await?;
    let (source_id, file_path) = behind.get(&key);
    Ok(json!({
        "entity_name": entity.name,
        "source_id": source_id,
        "graph_data": {
            "entity_id": entity.name,
            "entity_type": entity.kind,
            "description": entity.description,
            "source_id": source_id,
            "file_path": file_path,
        },
    }))
}

/// A relation in the format of LightRAG's `get_relation_info`; `null` if it no longer exists.
async fn relation_of(engine: &Engine, source: &str, target: &str) -> Result<Value, Problem> {
    let snapshot = engine.store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let ends = (find_entity(snapshot, source).await?, find_entity(snapshot, target).await?);
    let (Some(one), Some(other)) = ends else { return Ok(Value::Null) };
    let Some(key) = graphloom_core::RelationKey::new(one.key.clone(), other.key.clone()) else {
        return Ok(Value::Null);
    };
    let found: Option<Relation> = snapshot.relations(&[key]).await?.into_iter().flatten().next();
    let Some(relation) = found else { return Ok(Value::Null) };
    let key = GraphKey::Relation(relation.key.clone());
    let behind = Behind::of(snapshot, vec![key.clone()], MAX_CHUNKS_BEHIND, None).await?;
    let (source_id, file_path) = behind.get(&key);
    Ok(json!({
        "src_entity": one.name,
        "tgt_entity": other.name,
        "source_id": source_id,
        "graph_data": {
            "weight": relation.weight,
            "description": relation.description,
            "keywords": relation.keywords.join(","),
            "source_id": source_id,
            "file_path": file_path,
        },
    }))
}

/// The fields of an edit. Each is taken once; a remaining one is unknown and rejected.
struct Fields {
    of: &'static str,
    fields: Map<String, Value>,
}

/// Keywords, description and weight of a relation.
type RelationFields = (Option<Vec<String>>, Option<String>, Option<f64>);

impl Fields {
    fn new(of: &'static str, fields: Map<String, Value>) -> Self {
        Self { of, fields }
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.fields.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::bad(format!("{} of {} must be text", name, self.of))),
        }
    }

    fn relation(&mut self) -> Result<RelationFields, Problem> {
        let keywords = self.text("keywords")?.map(|keywords| {
            let words = keywords.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        });
        let description = self.text("description")?;
        let weight = match self.fields.remove("weight") {
            None => None,
            Some(Value::Number(weight)) => weight.as_f64(),
            Some(_) => return Err(Problem::bad(format!("weight of {} must be a number", self.of))),
        };
        Ok((keywords, description, weight))
    }

    fn end(self) -> Result<(), Problem> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(name) => Err(Problem::bad(format!("{name:?} of {} cannot be edited", self.of))),
        }
    }
}
