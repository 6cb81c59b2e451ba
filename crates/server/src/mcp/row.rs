//! The rows of the table of tools, and how a call runs.

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use graphloom_core::{LayerName, WorkspaceId};
use graphloom_engine::query::QueryError;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Transport;
use crate::access::Right;
use crate::apart::apart;
use crate::app::App;
use crate::host::IfMissing;
use crate::misfit::in_plain_words;
use crate::problem::Problem;
use crate::route::Load;
use crate::space::Space;
use crate::turns::Turn;

/// A tool: its name, requirements, input, output and handler.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Display name.
    pub(super) title: &'static str,
    /// What it does and when to use it; models choose a tool by this text.
    pub(super) about: &'static str,
    /// The required permission.
    pub(super) right: Right,
    /// The load of a call on the server.
    pub(super) load: Load,
    /// Whether it can destroy data.
    pub(super) destroys: bool,
    /// Input schema.
    pub(super) takes: fn() -> Arc<JsonObject>,
    /// Output schema.
    pub(super) gives: fn() -> Arc<JsonObject>,
    /// Handler.
    pub(super) call: fn(ToolCall, JsonObject) -> BoxFuture<'static, Result<Value, Problem>>,
}

impl Row {
    /// The description for clients. No tool reaches anything outside the workspace, and repeating a call has no
    /// further effect.
    pub(super) fn tool(&self) -> Tool {
        let reads = self.right == Right::Read;
        let hints = ToolAnnotations::with_title(self.title)
            .read_only(reads)
            .destructive(self.destroys)
            .idempotent(true)
            .open_world(false);
        Tool::new(self.name, self.about, (self.takes)())
            .with_title(self.title)
            .with_raw_output_schema((self.gives)())
            .with_annotations(hints)
    }
}

/// The self-contained schema of `T`.
pub(super) fn schema_of<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(without_rust_formats)));
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// Removes formats such as `uint64`, which are not standard and make clients warn.
fn without_rust_formats(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        schema.remove("format");
    }
}

/// A permitted call of a tool.
pub(super) struct ToolCall {
    pub(super) app: App,
    /// The workspace of the call.
    pub(super) workspace: WorkspaceId,
    pub(super) transport: Transport,
    /// The right of the caller.
    pub(super) right: Right,
    /// Held until the work is done, even if the client disconnects.
    pub(super) _turns: Vec<Arc<Turn>>,
}

impl ToolCall {
    /// Opens the workspace.
    pub(super) async fn space(&self, missing: IfMissing) -> Result<Arc<Space>, Problem> {
        self.app.spaces.get(&self.workspace, missing).await
    }

    /// Opens the workspace; `None` if it does not exist, so that it has no documents either.
    pub(super) async fn space_if_any(&self) -> Result<Option<Arc<Space>>, Problem> {
        match self.space(IfMissing::Leave).await {
            Ok(space) => Ok(Some(space)),
            Err(problem) if problem.is_not_found() => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// Says that the workspace has no documents, and how to add some.
    pub(super) fn adds_documents(&self) -> String {
        let how = match (self.right >= Right::Write, self.transport) {
            (true, _) => "`add_document` adds one".to_owned(),
            (false, Transport::Stdio) => format!("`graphloom add PATH{}` adds them", self.named()),
            (false, Transport::Http) => "a credential with the right write can add them".to_owned(),
        };
        format!("workspace {} has no documents yet: {how}", self.workspace)
    }

    /// The same as a note if the workspace has no documents.
    pub(super) async fn notes_if_empty(&self, space: &Space) -> Result<Vec<String>, Problem> {
        let counts = space.asking.store.snapshot().await?.counts().await?;
        Ok(Vec::from_iter((counts.documents == 0).then(|| self.adds_documents())))
    }

    /// The problem of a question that failed, with a remedy for this transport.
    pub(super) fn problem_of(&self, error: QueryError) -> Problem {
        let QueryError::NoLayer { layer } = &error else { return error.into() };
        let remedy = format!("{} derives them", self.derives(layer));
        Problem::from(error).remedy(Some(remedy))
    }

    /// How an administrator derives a layer.
    pub(super) fn derives(&self, layer: &LayerName) -> String {
        match self.transport {
            Transport::Http => format!("POST /layers/{layer}/derive"),
            Transport::Stdio => format!("`graphloom derive {layer}{}`", self.named()),
        }
    }

    /// The option that selects the workspace on the command line.
    fn named(&self) -> String {
        match self.workspace == WorkspaceId::default() {
            true => String::new(),
            false => format!(" --workspace {}", self.workspace),
        }
    }

    /// Parses the arguments and runs `work`.
    pub(super) fn answer<In, Out, Work, Working>(
        self,
        arguments: JsonObject,
        work: Work,
    ) -> BoxFuture<'static, Result<Value, Problem>>
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize,
        Work: FnOnce(Arc<Self>, In) -> Working + Send + 'static,
        Working: Future<Output = Result<Out, Problem>>,
    {
        Box::pin(async move {
            let input: In = parsed(Value::Object(arguments))
                .map_err(|misfit| Problem::invalid(format!("invalid arguments: {misfit}")))?;
            apart(async move || {
                let calling = Arc::new(self);
                let output = work(Arc::clone(&calling), input).await?;
                serde_json::to_value(output).map_err(|error| Problem::internal(&error))
            })
            .await
        })
    }
}

/// Parses parameters. The error names the parameter that does not fit.
pub(super) fn parsed<In: DeserializeOwned>(parameters: Value) -> Result<In, String> {
    serde_path_to_error::deserialize(parameters).map_err(|error| {
        let (place, words) = (error.path().to_string(), in_plain_words(&error.inner().to_string()));
        if place == "." { words } else { format!("{place}: {words}") }
    })
}
