//! What a row of the table of tools says, and how its work is run.

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use graphloom_core::WorkspaceId;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Right;
use crate::apart::apart;
use crate::app::App;
use crate::host::Missing;
use crate::misfit::in_plain_words;
use crate::problem::Problem;
use crate::route::Load;
use crate::space::Space;
use crate::turns::Turn;

/// A tool: what it is called, what it needs, what goes in and out, and who answers.
pub(super) struct Row {
    /// Its name.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// What it does and when to use it; models choose by it.
    pub(super) about: &'static str,
    /// What a caller needs.
    pub(super) right: Right,
    /// What a call takes of the server.
    pub(super) load: Load,
    /// Whether something can be lost by it.
    pub(super) destroys: bool,
    /// What goes in.
    pub(super) takes: fn() -> Arc<JsonObject>,
    /// What comes out where all is well.
    pub(super) gives: fn() -> Arc<JsonObject>,
    /// Who answers.
    pub(super) call: fn(Calling, JsonObject) -> BoxFuture<'static, Result<Value, Problem>>,
}

impl Row {
    /// How it is listed. Nothing outside the workspace is reached by any tool, and calling one twice changes nothing more.
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

/// The schema of `T`, whole in itself.
pub(super) fn schema_of<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(without_rust_formats)));
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// Takes away formats such as `uint64`, which no standard knows and clients warn about.
fn without_rust_formats(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        schema.remove("format");
    }
}

/// A call of a tool that was let in.
pub(super) struct Calling {
    /// What every request can reach.
    pub(super) app: App,
    /// The workspace that it is about.
    pub(super) workspace: WorkspaceId,
    /// Held until its work is done, also where who asked has left.
    pub(super) _turns: Vec<Arc<Turn>>,
}

impl Calling {
    /// The workspace, opened.
    pub(super) async fn space(&self, missing: Missing) -> Result<Arc<Space>, Problem> {
        self.app.spaces.get(&self.workspace, missing).await
    }

    /// What `work` makes of the arguments.
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
            let input: In = serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
                let (place, words) = (error.path().to_string(), in_plain_words(&error.inner().to_string()));
                let place = if place == "." { String::new() } else { format!("{place}: ") };
                Problem::invalid(format!("the arguments cannot be read: {place}{words}"))
            })?;
            apart(async move || {
                let calling = Arc::new(self);
                let output = work(Arc::clone(&calling), input).await?;
                serde_json::to_value(output).map_err(|error| Problem::internal(&error))
            })
            .await
        })
    }
}
