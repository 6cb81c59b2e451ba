//! Remedies in terms of the command line. Libraries report facts; this module names the commands and flags to type.

use std::error::Error;
use std::io;

use graphloom_core::{FilterError, LostEvidence, LostKind, ModelError, StoreError};
use graphloom_engine::copy::CopyError;
use graphloom_engine::edit::EditError;
use graphloom_engine::index::{IndexError, ReadyGraphError};
use graphloom_engine::query::{QueryError, QueryNote};
use graphloom_eval::journal::JournalError;
use graphloom_eval::judge::JudgeError;
use graphloom_eval::set::{CORPUS_FILE, SetError};
use graphloom_migrate::MigrateError;
#[cfg(feature = "local")]
use graphloom_providers::models::ModelStoreError;
use graphloom_providers::web::FetchError;
use graphloom_server::{AccessError, McpError, ServeError};

/// Remedy if a command's models or settings differ from the workspace's.
const OTHER_SETTINGS: &str = "remove them to keep the workspace's own (`graphloom config show --origin` shows where each is set); \
                              --switch uses them from now on and leaves the existing graph as it is";

/// Remedy if the folder of custom prompts is missing.
const NO_PROMPTS_FOLDER: &str = "--set prompts_dir=FOLDER names the folder where the prompts are now, --set prompts_dir= uses the \
                                 built-in prompts, and --switch makes the workspace keep the change; `graphloom config show \
                                 --origin` shows where it is set";

/// Remedy if only the program that built the workspace has its models.
const ABSENT_MODELS: &str = "run this in the program that built the workspace; or choose another LLM with --llm (`--llm none` for \
                             rules), and to add to the graph --switch, which keeps it for the workspace and leaves the \
                             existing graph as it is";

/// Remedy if only the program that built the workspace has its embedder.
const ABSENT_EMBEDDER: &str = "run the command in the program that built the workspace; `graphloom re-embed EMBEDDER` replaces \
                               the vectors with those of another embedder";

/// Remedy if a command's embedder differs from the workspace's.
const OTHER_EMBEDDER: &str =
    "use the embedder the workspace was built with; `graphloom re-embed` changes it to the configured one";

/// Returns the remedy for an error of a library, if known.
pub(crate) fn of(cause: &(dyn Error + 'static)) -> Option<String> {
    if let Some(library) = cause.downcast_ref() {
        return of_library(library);
    }
    if let Some(store) = cause.downcast_ref() {
        return of_store(store);
    }
    if let Some(IndexError::OtherSettings(_)) = cause.downcast_ref() {
        return Some(OTHER_SETTINGS.to_owned());
    }
    if let Some(IndexError::AbsentModels(_)) = cause.downcast_ref() {
        return Some(ABSENT_MODELS.to_owned());
    }
    #[cfg(feature = "local")]
    if let Some(models) = cause.downcast_ref() {
        return of_model_store(models).map(str::to_owned);
    }
    if let Some(mcp) = cause.downcast_ref() {
        return of_mcp(mcp).map(str::to_owned);
    }
    if let Some(serve) = cause.downcast_ref() {
        return of_serve(serve);
    }
    if let Some(access) = cause.downcast_ref() {
        return of_access(access).map(str::to_owned);
    }
    if let Some(edit) = cause.downcast_ref() {
        return of_edit(edit);
    }
    if let Some(graph) = cause.downcast_ref::<ReadyGraphError>() {
        return Some(graph.remedy().to_owned());
    }
    if let Some(migrate) = cause.downcast_ref::<MigrateError>() {
        return migrate.remedy().map(str::to_owned);
    }
    if let Some(query) = cause.downcast_ref() {
        return of_query(query);
    }
    if let Some(set) = cause.downcast_ref() {
        return of_set(set);
    }
    if let Some(copy) = cause.downcast_ref() {
        return of_copy(copy);
    }
    if let Some(JournalError::Busy { .. }) = cause.downcast_ref() {
        return Some("wait until the other run ends, or use another --out".to_owned());
    }
    if let Some(judge) = cause.downcast_ref::<JudgeError>() {
        return judge.remedy().map(str::to_owned);
    }
    cause.downcast_ref::<ModelError>().and_then(of_model)
}

fn of_library(error: &graphloom::Error) -> Option<String> {
    use graphloom::Error;
    match error {
        Error::UnknownKey { nearest: None, .. } => Some("`graphloom config show` lists all keys".to_owned()),
        Error::UnknownPrompt { nearest: None, .. } => {
            Some("`graphloom prompts list` names all prompts".to_owned())
        }
        Error::NoPromptsFolder { .. } => Some(NO_PROMPTS_FOLDER.to_owned()),
        Error::NoWorkspace { .. } => {
            Some("`graphloom add PATH` creates it; --data-dir selects another folder".to_owned())
        }
        Error::OtherEmbedder { .. } => {
            Some(
                "remove --embedder to use the workspace's own; `graphloom re-embed` changes it to the configured one"
                    .to_owned(),
            )
        }
        Error::Index(IndexError::OtherSettings(_)) => Some(OTHER_SETTINGS.to_owned()),
        Error::Index(IndexError::AbsentModels(_)) => Some(ABSENT_MODELS.to_owned()),
        Error::AbsentEmbedder { .. } => Some(ABSENT_EMBEDDER.to_owned()),
        Error::While { source, .. } => of_library(source),
        Error::Store(error) | Error::Index(IndexError::Store(error)) => of_store(error),
        Error::Model(error) | Error::Index(IndexError::Model(error)) => of_model(error),
        Error::Query(error) => of_query(error),
        Error::Edit(error) => of_edit(error),
        #[cfg(feature = "local")]
        Error::ModelStore(error) => of_model_store(error).map(str::to_owned),
        error => error.remedy(),
    }
}

fn of_set(error: &SetError) -> Option<String> {
    let remedy = error.remedy()?;
    Some(match error {
        SetError::Missing { file: CORPUS_FILE, .. } => format!("{remedy}; --workspace selects a workspace"),
        _ => remedy,
    })
}

fn of_copy(error: &CopyError) -> Option<String> {
    match error {
        CopyError::Store { error, .. } => of_store(error),
        CopyError::Other { .. } => Some(
            "copy to a place without this workspace; to replace it, delete it there first and copy again"
                .to_owned(),
        ),
        CopyError::Unequal { .. } => {
            Some("run the command again while nothing writes to either workspace".to_owned())
        }
        CopyError::Dump(_) => None,
    }
}

fn of_store(error: &StoreError) -> Option<String> {
    match error {
        StoreError::EmbeddingMismatch { .. } => Some(OTHER_EMBEDDER.to_owned()),
        StoreError::Corrupt { .. } => {
            Some("`graphloom check` lists the damage, `graphloom repair` repairs it".to_owned())
        }
        StoreError::Lost { .. } => Some(
            "restore the file and its write-ahead log (-wal), or a newer backup; or accept the loss with \
             `graphloom repair --accept-loss`"
                .to_owned(),
        ),
        _ => error.remedy(),
    }
}

fn of_model(error: &ModelError) -> Option<String> {
    match error {
        ModelError::RateLimited { .. } => {
            Some(
                "wait and run the same command again, or set a lower rate limit; `graphloom retry` retries failed documents"
                    .to_owned(),
            )
        }
        ModelError::OverBudget { .. } => Some(
            "run the same command again if it has a --budget, which counts from zero in each run; `graphloom budget AMOUNT` raises \
             the budget of the workspace"
                .to_owned(),
        ),
        _ => error.remedy(),
    }
}

#[cfg(feature = "local")]
fn of_model_store(error: &ModelStoreError) -> Option<&'static str> {
    match error {
        ModelStoreError::Unknown { .. } => Some(
            "`graphloom model list` lists the models; `graphloom model add DIR` or `graphloom model pull NAME` adds one",
        ),
        ModelStoreError::NotInCatalogue { .. } => {
            Some("download the model yourself and run `graphloom model add DIR`")
        }
        ModelStoreError::Taken { .. } => Some("choose another name with --name"),
        _ => error.remedy(),
    }
}

fn of_mcp(error: &McpError) -> Option<&'static str> {
    match error {
        McpError::Access(error) => of_access(error),
        McpError::Handshake(_) => Some(
            "add `graphloom mcp` to the configuration of an MCP client, which then starts it; it is not for use by hand",
        ),
    }
}

fn of_serve(error: &ServeError) -> Option<String> {
    match error {
        ServeError::Open { .. } => Some(
            "create a key with `graphloom key create NAME` or a user with `graphloom user add NAME`, or remove --host \
             to serve only this machine"
                .to_owned(),
        ),
        ServeError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            Some("another program listens there; choose another port with --port".to_owned())
        }
        ServeError::Bind { .. } => None,
        ServeError::Access(error) => of_access(error).map(str::to_owned),
        ServeError::Workspace(error) => error.remedy.clone(),
    }
}

fn of_access(error: &AccessError) -> Option<&'static str> {
    match error {
        AccessError::UnknownKey { .. } => Some("`graphloom key list` lists all keys"),
        AccessError::UnknownUser { .. } => Some("`graphloom user list` lists all users"),
        AccessError::Gone { .. } => Some(
            "restore the file, or create a new key with `graphloom key create NAME`; to serve this machine without keys, \
             delete access.keyed beside it",
        ),
        AccessError::File { source, .. } => match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(
                "run the command as the owner of the data folder, make the folder writable, or use another data \
                 folder with --data-dir",
            ),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Some("free space on the disk of the data folder")
            }
            _ => None,
        },
        AccessError::Missing { .. } => {
            Some("restore the database, or create a new key with `graphloom key create NAME`")
        }
        AccessError::Store(_) | AccessError::Overtaken { .. } => {
            Some("try again when the database is available")
        }
        AccessError::Random { .. } | AccessError::Name { .. } => None,
        AccessError::Password => None,
    }
}

fn of_edit(error: &EditError) -> Option<String> {
    match error {
        EditError::Store(error) => of_store(error),
        EditError::Model(error) => of_model(error),
        EditError::UnknownEntity { .. } => Some("`graphloom graph labels TEXT` finds names".to_owned()),
        EditError::UnknownRelation { source_name, .. } => {
            Some(format!("`graphloom graph show {source_name:?}` lists its relations"))
        }
        EditError::EntityExists { by: Some(by), .. } => {
            Some(format!("`graphloom graph undo {by}` separates them again"))
        }
        EditError::EntityExists { can_merge: true, .. } => Some("--merge merges the two".to_owned()),
        EditError::EntityExists { known, .. } => Some(format!("`graphloom graph edit {known:?}` changes it")),
        EditError::RelationExists { source_name, target } => {
            Some(format!("`graphloom graph edit {source_name:?} --relation {target:?}` changes it"))
        }
        EditError::Apart { decision, .. } => {
            Some(format!("`graphloom graph undo {decision}` reverts that decision"))
        }
        EditError::ForeignChunk { name, .. } => {
            Some(format!("`graphloom graph show {name:?}` lists its passages"))
        }
        EditError::UnknownDecision { .. } | EditError::NothingToUndo => {
            Some("`graphloom graph history` lists the decisions".to_owned())
        }
        EditError::AlreadyUndone { by, .. } => Some(format!("`graphloom graph undo {by}` restores it")),
        EditError::OneEntity { .. }
        | EditError::BadValue { .. }
        | EditError::NothingToChange { .. }
        | EditError::AlreadyDecided { .. } => None,
    }
}

/// Returns the remedy for a failed question, if known.
pub(crate) fn of_query(error: &QueryError) -> Option<String> {
    match error {
        QueryError::OtherEmbedder { .. } => Some(OTHER_EMBEDDER.to_owned()),
        QueryError::NothingAllowed => Some(
            "`graphloom status` with the same conditions lists what matches; loosen one of them".to_owned(),
        ),
        QueryError::Filter(error) => Some(of_filter(error)),
        QueryError::NoLayer { layer } => Some(format!("`graphloom derive {layer}` derives them")),
        QueryError::NothingNamed { .. } => Some("`graphloom graph labels TEXT` finds names".to_owned()),
        QueryError::NoAnswerModel { .. } => {
            Some("configure an LLM with --llm PROVIDER:MODEL, or choose another --mode".to_owned())
        }
        QueryError::Store(error) => of_store(error),
        QueryError::Model { source, .. } => of_model(source),
        _ => error.remedy(),
    }
}

/// Returns the remedy for a note about a question, if known.
pub(crate) fn of_note(note: &QueryNote) -> Option<String> {
    match note {
        QueryNote::NoLayer { layer } => Some(format!("`graphloom derive {layer}` derives them")),
        QueryNote::LayerMissing { layer } => Some(format!("`graphloom derive {layer}` derives it")),
        QueryNote::LayerOutdated { layer } => Some(format!("`graphloom derive {layer}` updates it")),
        QueryNote::ReportOptionsUnused { .. } => Some(
            "leave them out, or choose a --mode that uses them; `graphloom help ask` lists the modes"
                .to_owned(),
        ),
        QueryNote::ReportsLeftOut { .. } => Some("use a larger --max-calls or a smaller --level".to_owned()),
        QueryNote::FollowUpsLeftOut { .. } => Some("use a larger --max-calls".to_owned()),
        note => note.remedy().map(str::to_owned),
    }
}

/// Returns the remedy for an invalid filter.
pub(crate) fn of_filter(error: &FilterError) -> String {
    match error {
        FilterError::TooMany { .. } => {
            "give the documents a common key with --meta, and filter by that".to_owned()
        }
        _ => error.remedy(),
    }
}

/// Returns the remedy for evidence that a repair could not save.
pub(crate) fn of_lost(lost: &LostEvidence) -> &'static str {
    match (lost.kind, lost.id.as_str()) {
        (LostKind::Document | LostKind::Original, _) => "add this source again",
        (LostKind::Decision, _) => "make this edit again",
        (LostKind::ChunkContext, _) => "run `graphloom contextualize` again",
        (LostKind::Renewal, _) => "run `graphloom re-extract` again",
        (LostKind::Layer, _) => "run `graphloom derive` again",
        (LostKind::Call, _) | (LostKind::Table, "calls") => "`graphloom cost` no longer includes it",
        (LostKind::Conversation, _) | (LostKind::Table, "conversations" | "exchanges") => "ask again",
        (LostKind::State, _) => {
            "compare the embedding model that `graphloom status` shows with your configuration"
        }
        (LostKind::Table, "decisions") => "compare them with the copy",
        (LostKind::Table, _) => {
            "compare `graphloom status` with what you added, and add again what is missing"
        }
    }
}

/// Returns the remedy for a URL that could not be fetched, if known.
pub(crate) fn of_fetch(error: &FetchError) -> Option<&'static str> {
    match error {
        FetchError::Private { .. } => Some("--allow-private-addresses fetches it anyway"),
        _ => error.remedy(),
    }
}
