//! Tools that change a workspace: they add and remove documents.

use std::sync::Arc;

use graphloom_core::DocumentId;
use graphloom_engine::index;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reading::{find_documents, unknown_document};
use super::row::{Row, ToolCall, schema_of};
use crate::access::Right;
use crate::host::IfMissing;
use crate::problem::Problem;
use crate::route::Load;
use crate::routes::{InsertResponse, add_texts, source_of};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "add_document",
        title: "Add a document",
        about: "Adds a text as a document. It is stored when this returns and indexed in the background; get_source \
                shows the progress. An existing name is rejected unless replace is true, which makes the \
                text the new version of that document. An address as a name is a label: nothing is fetched.",
        right: Right::Write,
        load: Load::Change,
        destroys: true,
        takes: schema_of::<AddInput>,
        gives: schema_of::<AddOutput>,
        call: |calling, arguments| calling.answer(arguments, add_document),
    },
    Row {
        name: "forget_document",
        title: "Forget a document",
        about: "Permanently removes a document and everything derived only from it. What other documents say too \
                stays.",
        right: Right::Write,
        load: Load::Change,
        destroys: true,
        takes: schema_of::<ForgetInput>,
        gives: schema_of::<ForgetOutput>,
        call: |calling, arguments| calling.answer(arguments, forget_document),
    },
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddInput {
    /// The document's name: a label, a relative path or a URL. Its extension selects the format: .md, .html, .csv,
    /// .json; otherwise plain text.
    name: String,
    /// The text.
    text: String,
    /// Whether to replace an existing document with this name.
    #[serde(default)]
    replace: bool,
}

#[derive(Serialize, JsonSchema)]
struct AddOutput {
    /// Ids of the documents with that name. If there are two, the second replaces the first once it is indexed.
    documents: Vec<String>,
    /// The name it is stored under.
    file_path: String,
    /// What happened.
    message: String,
    /// Id of the run that indexes it.
    track_id: String,
}

async fn add_document(
    calling: Arc<ToolCall>,
    AddInput { name, text, replace }: AddInput,
) -> Result<AddOutput, Problem> {
    let source = source_of(text, Some(&name), None)?;
    let file_path = source.name.clone();
    let added = add_texts(&calling.app, &calling.workspace, vec![source], !replace, "mcp").await?;
    let space = calling.space(IfMissing::Leave).await?;
    let axum::Json(InsertResponse { message, track_id, .. }) = added;
    let snapshot = space.indexing.store.snapshot().await?;
    let versions = find_documents(snapshot.as_ref(), &file_path).await?;
    let documents = versions.into_iter().map(|document| document.id.to_string()).collect();
    Ok(AddOutput { documents, file_path, message, track_id })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForgetInput {
    /// The document's id or its name (file_path).
    document: String,
}

#[derive(Serialize, JsonSchema)]
struct ForgetOutput {
    /// The name of the removed document.
    file_path: String,
    /// Number of removed documents: one, or two if a new version was being indexed.
    documents: u32,
    /// Number of removed chunks.
    chunks: u32,
    /// Number of removed entities.
    entities: u32,
    /// Number of removed relations.
    relations: u32,
    /// Number of entities and relations whose text changed.
    changed: u32,
}

async fn forget_document(
    calling: Arc<ToolCall>,
    ForgetInput { document }: ForgetInput,
) -> Result<ForgetOutput, Problem> {
    let space = calling.space(IfMissing::Leave).await?;
    let snapshot = space.indexing.store.snapshot().await?;
    let versions = find_documents(snapshot.as_ref(), &document).await?;
    drop(snapshot);
    let file_path = versions.first().ok_or_else(|| unknown_document(&document))?.source.clone();
    let known: Vec<(DocumentId, String)> =
        versions.into_iter().map(|document| (document.id, document.source)).collect();
    let ids: Vec<DocumentId> = known.iter().map(|(id, _)| id.clone()).collect();
    let removal = index::delete(&space.indexing, &ids).await?;
    space.ingest.removed(&known);
    let index::Removal { documents, chunks, entities, relations, changed, .. } = removal;
    Ok(ForgetOutput { file_path, documents, chunks, entities, relations, changed })
}
