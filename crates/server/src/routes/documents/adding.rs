//! Adds files and texts. They are durable when the response is sent, and indexed in the background.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::routing::{get, post};
use graphloom_core::{ContentHash, DocumentStatus, Format, TrackId, WorkspaceId};
use graphloom_engine::index::{self, Acceptance, Source, SourceText};
use graphloom_readers::{ParseLimits, extensions, format_by_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{hex, random};
use crate::apart::{apart, apart_in_background};
use crate::app::{App, now};
use crate::background::LARGE_BYTES;
use crate::host::IfMissing;
use crate::input::{Json, Params, ToMake};
use crate::limits::{MAX_TEXTS, MAX_TEXTS_BODY, MAX_UPLOAD_BODY};
use crate::problem::Problem;
use crate::route::{Gives, Route, Takes, schema};
use crate::space::Space;
use crate::{file_name, source_name};

pub(super) const ROUTES: &[Route] = &[
    Route::post(
        "/documents/upload",
        "Adds a file; with ?replace=true replaces a document with the same name",
        || post(upload),
    )
    .writes()
    .makes()
    .max_body(MAX_UPLOAD_BODY)
    .takes(Takes::File)
    .params(schema::<UploadParams>)
    .gives(Gives::Json(schema::<InsertResponse>)),
    Route::post("/documents/text", "Adds a text", || post(text))
        .writes()
        .makes()
        .max_body(MAX_TEXTS_BODY)
        .takes(Takes::Json(schema::<InsertText>))
        .gives(Gives::Json(schema::<InsertResponse>)),
    Route::post("/documents/texts", "Adds several texts, all or none", || post(texts))
        .writes()
        .makes()
        .max_body(MAX_TEXTS_BODY)
        .takes(Takes::Json(schema::<InsertTexts>))
        .gives(Gives::Json(schema::<InsertResponse>)),
    Route::get("/documents/supported_file_types", "The file extensions that are supported", || {
        get(supported)
    })
    .reads()
    .gives(Gives::Json(schema::<SupportedFiles>)),
];

#[derive(Deserialize, JsonSchema)]
struct InsertText {
    /// The text.
    text: String,
    /// Its name; derived from the content if absent.
    file_source: Option<String>,
    /// Whether to replace a document with this name. Graphloom only.
    #[serde(default)]
    replace: bool,
    /// Not supported: chunking is configured for the workspace.
    chunking: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct InsertTexts {
    /// The texts.
    #[schemars(length(min = 1, max = MAX_TEXTS))]
    texts: Vec<String>,
    /// Their names, one per text.
    #[schemars(length(max = MAX_TEXTS))]
    file_sources: Option<Vec<String>>,
    /// Whether to replace documents with these names. Graphloom only.
    #[serde(default)]
    replace: bool,
    /// Not supported: chunking is configured for the workspace.
    chunking: Option<Value>,
}

/// The outcome.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InsertResponse {
    /// `success`, or `partial_success` if some of several were already known.
    status: &'static str,
    pub(crate) message: String,
    /// Id of the run, for `/documents/track_status`.
    pub(crate) track_id: String,
}

/// The supported files.
#[derive(Serialize, JsonSchema)]
struct SupportedFiles {
    supported_extensions: Vec<String>,
    engines: std::collections::BTreeMap<&'static str, Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
struct UploadParams {
    /// Whether to replace a document with this name. Graphloom only.
    #[serde(default)]
    replace: bool,
}

async fn supported() -> axum::Json<SupportedFiles> {
    let all: Vec<String> = extensions().into_iter().map(|extension| format!(".{extension}")).collect();
    let engines = [("graphloom", all.clone())].into();
    axum::Json(SupportedFiles { supported_extensions: all, engines })
}

async fn upload(
    State(app): State<App>,
    ToMake(workspace): ToMake,
    Params(UploadParams { replace }): Params<UploadParams>,
    request: Request,
) -> Result<axum::Json<InsertResponse>, Problem> {
    let space = existing(&app, &workspace).await?;
    let limits = limits_of(space.as_deref());
    let source = receive_file(&app, limits, request).await?;
    if let Some(space) = &space
        && !replace
        && is_known(space, &source.name).await?
    {
        return Err(Problem::conflict(format!("{} exists already", source.name)).remedy(Some(REPLACE)));
    }
    let readings = app.host.read(vec![source], limits).await;
    add(&app, &workspace, readings, replace, "upload").await
}

/// The workspace, if it exists.
async fn existing(app: &App, workspace: &WorkspaceId) -> Result<Option<Arc<Space>>, Problem> {
    match app.spaces.get(workspace, IfMissing::Leave).await {
        Ok(space) => Ok(Some(space)),
        Err(problem) if problem.is_not_found() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The read limits of a workspace, or of a new one.
fn limits_of(space: Option<&Space>) -> ParseLimits {
    space.map_or_else(ParseLimits::default, |space| space.indexing.index.limits)
}

/// The remedy for a name that exists.
const REPLACE: &str = "set replace=true to add it as a new version of that document";

/// Receives a file with a supported name from a form.
pub(super) async fn receive_file(
    app: &App,
    limits: ParseLimits,
    request: Request,
) -> Result<Source, Problem> {
    let (name, bytes) = file_of(request, app, limits.max_bytes).await?;
    let name = source_name::of_file(&name)?;
    if format_by_name(&name).is_none() {
        let known = "GET /documents/supported_file_types lists the supported file extensions";
        return Err(Problem::bad(format!("Unsupported file type: {name}")).remedy(Some(known)));
    }
    Ok(Source { name, bytes, format: None, meta: Default::default() })
}

/// The name and content of the field `file`.
async fn file_of(request: Request, app: &App, most: usize) -> Result<(String, Vec<u8>), Problem> {
    let mut form = Multipart::from_request(request, app).await.map_err(|error| {
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error.body_text())
            .remedy(Some("send the file as multipart/form-data in the field `file`"))
    })?;
    let broken = |error: axum::extract::multipart::MultipartError| {
        Problem::bad(format!("invalid form: {}", error.body_text()))
    };
    let mut file: Option<(String, Vec<u8>)> = None;
    while let Some(mut field) = form.next_field().await.map_err(broken)? {
        if field.name() != Some("file") {
            continue;
        }
        if file.is_some() {
            return Err(Problem::invalid("the form has more than one field `file`")
                .remedy(Some("send one file per request")));
        }
        let disposition = field.headers().get(header::CONTENT_DISPOSITION).map(HeaderValue::as_bytes);
        let name = file_name::of(field.file_name(), disposition.unwrap_or_default())?;
        let mut bytes = Vec::new();
        while let Some(chunk) = field.chunk().await.map_err(broken)? {
            if bytes.len() + chunk.len() > most {
                return Err(Problem::too_large(most));
            }
            bytes.extend_from_slice(&chunk);
        }
        file = Some((name, bytes));
    }
    file.ok_or_else(|| Problem::invalid("the form has no field `file`"))
}

async fn text(
    State(app): State<App>,
    ToMake(workspace): ToMake,
    Json(InsertText { text, file_source, replace, chunking }): Json<InsertText>,
) -> Result<axum::Json<InsertResponse>, Problem> {
    let name = file_source.filter(|name| !name.trim().is_empty());
    let source = source_of(text, name.as_deref(), chunking.as_ref())?;
    add_texts(&app, &workspace, vec![source], name.is_some() && !replace, "insert").await
}

async fn texts(
    State(app): State<App>,
    ToMake(workspace): ToMake,
    Json(texts): Json<InsertTexts>,
) -> Result<axum::Json<InsertResponse>, Problem> {
    let replace = texts.replace;
    let (sources, named) = sources_of(texts)?;
    add_texts(&app, &workspace, sources, named && !replace, "insert").await
}

/// The checked texts of a request, and whether they have names.
pub(super) fn sources_of(request: InsertTexts) -> Result<(Vec<Source>, bool), Problem> {
    let InsertTexts { texts, file_sources, chunking, .. } = request;
    if texts.is_empty() {
        return Err(Problem::invalid("there are no texts"));
    }
    if texts.len() > MAX_TEXTS {
        let what = format!("too many texts: {}, the limit per request is {MAX_TEXTS}", texts.len());
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, what));
    }
    let names = file_sources.unwrap_or_default();
    if !names.is_empty() && names.len() != texts.len() {
        let what = format!("there are {} texts and {} file_sources", texts.len(), names.len());
        return Err(Problem::invalid(what));
    }
    let named = !names.is_empty();
    let mut names = names.into_iter();
    let sources = texts
        .into_iter()
        .map(|text| source_of(text, names.next().as_deref(), chunking.as_ref()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = sources.iter().find(|source| named && !seen.insert(&source.name)) {
        return Err(Problem::conflict(format!("two texts are named {}", twice.name)));
    }
    Ok((sources, named))
}

/// The checked text as a source with this name, or with one derived from its content.
pub(crate) fn source_of(
    text: String,
    name: Option<&str>,
    chunking: Option<&Value>,
) -> Result<Source, Problem> {
    if chunking.is_some_and(|chunking| !chunking.is_null()) {
        return Err(Problem::invalid("chunking cannot be set per request")
            .remedy(Some("configure chunk_strategy, chunk_tokens and chunk_overlap for the workspace")));
    }
    if text.trim().is_empty() {
        return Err(Problem::invalid("text cannot be empty or whitespace-only"));
    }
    let name = match name {
        Some(name) => source_name::of_text(name)?,
        None => format!("text-{}.txt", &ContentHash::of(text.as_bytes()).as_str()[..16]),
    };
    // Always plain text, whatever the name: untrusted content must not reach the readers of other formats.
    let is_text = |format: &Format| {
        matches!(format, Format::Markdown | Format::Html | Format::Csv | Format::Json | Format::JsonLines)
    };
    let format = Some(format_by_name(&name).filter(is_text).unwrap_or(Format::Text));
    Ok(Source { name, bytes: text.into_bytes(), format, meta: Default::default() })
}

/// Adds texts in one commit, all or none; creates the workspace if it does not exist. With `names_are_new`, an
/// existing name is an error.
pub(crate) async fn add_texts(
    app: &App,
    workspace: &WorkspaceId,
    sources: Vec<Source>,
    names_are_new: bool,
    what: &'static str,
) -> Result<axum::Json<InsertResponse>, Problem> {
    let limits = limits_of(existing(app, workspace).await?.as_deref());
    let readings = app.host.read(sources, limits).await;
    add(app, workspace, readings, !names_are_new, what).await
}

/// Accepts all sources, or none if one cannot be read or has the name of a document that may not be replaced.
async fn add(
    app: &App,
    workspace: &WorkspaceId,
    readings: Vec<SourceText>,
    replace: bool,
    what: &'static str,
) -> Result<axum::Json<InsertResponse>, Problem> {
    for reading in &readings {
        if let Err(refusal) = &reading.outcome {
            let what = format!("{} cannot be read: {}", reading.name, refusal.reason);
            return Err(Problem::invalid(what).remedy(refusal.remedy.clone()));
        }
    }
    let unique = random::<8>().map_err(|error| Problem::internal(&error))?;
    let space = app.spaces.get(workspace, IfMissing::Create).await?;
    let is_large = readings.iter().map(text_bytes).sum::<usize>() > LARGE_BYTES;
    let accepting = async move || {
        let track = TrackId::of_run(what, now(), &hex(&unique));
        // The semaphore is never closed; even then, only a race would be possible.
        let _turn = space.accepting.acquire().await;
        if !replace {
            let names: Vec<String> = readings.iter().map(|reading| reading.name.clone()).collect();
            let known = space.indexing.store.snapshot().await?.documents_of_sources(&names).await?;
            if let Some((name, _)) = names.iter().zip(known).find(|(_, known)| !known.is_empty()) {
                return Err(Problem::conflict(format!("{name} exists already")).remedy(Some(REPLACE)));
            }
        }
        let names: Vec<String> = readings.iter().map(|reading| reading.name.clone()).collect();
        if let Some(full) = index::no_room_for(&space.indexing, &names).await? {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, full.reason).remedy(full.remedy));
        }
        let accepted = index::accept_read(&space.indexing, readings, Some(&track)).await?;
        for (acceptance, source) in accepted.iter().zip(names) {
            match acceptance {
                Acceptance::Accepted { document, .. } => space.ingest.accepted(document.clone(), source),
                Acceptance::Unchanged { .. } | Acceptance::Refused { .. } => {}
            }
        }
        space.ingest.wake();
        let (status, message) = outcome_of(&accepted);
        Ok(axum::Json(InsertResponse { status, message, track_id: track.to_string() }))
    };
    if is_large { apart_in_background(accepting).await } else { apart(accepting).await }
}

fn text_bytes(reading: &SourceText) -> usize {
    reading.outcome.as_ref().map_or(0, |document| document.text.len())
}

/// The status and message for all sources; each is counted once.
fn outcome_of(accepted: &[Acceptance]) -> (&'static str, String) {
    let (mut ours, mut new, mut twice, mut waiting, mut known) = (BTreeSet::new(), 0u32, 0u32, 0u32, 0u32);
    for acceptance in accepted {
        match acceptance {
            Acceptance::Accepted { document, .. } => {
                new += 1;
                ours.insert(document);
            }
            Acceptance::Unchanged { document, .. } if ours.contains(document) => twice += 1,
            Acceptance::Unchanged { status, .. } => match status {
                DocumentStatus::Waiting | DocumentStatus::Indexing { .. } => waiting += 1,
                DocumentStatus::Ready { .. }
                | DocumentStatus::Incomplete { .. }
                | DocumentStatus::Failed { .. }
                | DocumentStatus::Cancelled { .. } => known += 1,
            },
            Acceptance::Refused { .. } => {}
        }
    }
    let mut parts = vec![format!("{new} accepted")];
    for (count, what) in [
        (twice, "duplicates within the request"),
        (waiting, "already known with the same content and still waiting"),
        (known, "already known with the same content"),
    ] {
        parts.extend((count > 0).then(|| format!("{count} {what}")));
    }
    if new + waiting > 0 {
        parts.push("indexing continues in the background".to_owned());
    }
    let status = if new > 0 && twice + waiting + known > 0 { "partial_success" } else { "success" };
    (status, parts.join("; "))
}

async fn is_known(space: &Space, name: &str) -> Result<bool, Problem> {
    let snapshot = space.indexing.store.snapshot().await?;
    Ok(snapshot.documents_of_sources(&[name.to_owned()]).await?.iter().any(|known| !known.is_empty()))
}
