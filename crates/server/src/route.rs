//! The rows of the route table.
#![cfg_attr(
    not(test),
    allow(dead_code, reason = "what describes a route is read by the test that makes the description")
)]

use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::access::Right;
use crate::app::App;
use crate::limits::MAX_BODY;

/// A protocol with its own format for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    OpenAi,
    Ollama,
}

/// A route: path, requirements, input, output and handler.
///
/// Routes are created only from such rows, and the guard reads the requirements from the same row.
pub(crate) struct Route {
    /// The method.
    pub(crate) method: Method,
    /// The path, with parameters in braces.
    pub(crate) path: &'static str,
    /// The required permission.
    pub(crate) needs: Needs,
    /// The load on the server.
    pub(crate) load: Load,
    /// Whether it creates the workspace if that does not exist.
    pub(crate) makes: bool,
    /// Maximum body in bytes.
    pub(crate) max_body: usize,
    /// Description, one sentence.
    pub(crate) about: &'static str,
    /// Input.
    pub(crate) takes: Takes,
    /// Query parameters besides a body.
    pub(crate) params: Option<SchemaOf>,
    /// Output on success.
    pub(crate) gives: Gives,
    /// Alternative output that the request can ask for.
    pub(crate) or_gives: Option<Gives>,
    /// Handler.
    pub(crate) mount: fn() -> MethodRouter<App>,
}

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
    /// DELETE.
    Delete,
}

impl Method {
    /// The name in lower case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}

/// The permission a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// None: the response contains only public information.
    Nothing,
    /// Any credential; the route does not concern a workspace.
    Credential,
    /// This right on the request's workspace.
    Workspace(Right),
}

/// The load of a request, which selects the limit it counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Negligible; answered even if all limits are reached.
    None,
    /// A short read of the store.
    Look,
    /// A search, usually with a model call.
    Question,
    /// A change.
    Change,
    /// Reads a whole workspace.
    Whole,
    /// Sends events while the client is connected.
    Stream,
    /// Checks a password. Anyone can send logins, so they have limits of their own.
    Login,
}

/// Generates the schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Returns the schema of `T`, in tests. A server embeds its API description as a file, so the linker removes the code that makes
/// schemas, a sixtieth of the program.
pub(crate) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    if cfg!(test) { generator.subschema_for::<T>() } else { Schema::default() }
}

/// The input of a route besides path parameters.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// Nothing.
    Nothing,
    /// Query parameters.
    Query(SchemaOf),
    /// A JSON body.
    Json(SchemaOf),
    /// Form fields, for a login.
    Form(SchemaOf),
    /// A file in a multipart form, in the field `file`.
    File,
}

/// The output of a route.
#[derive(Clone, Copy)]
pub(crate) enum Gives {
    /// JSON.
    Json(SchemaOf),
    /// One JSON value per line, streamed.
    Lines(SchemaOf),
    /// Server-sent events with JSON data.
    Events(SchemaOf),
    /// Plain text.
    Text,
    /// A body of one of these media types.
    Media(&'static [&'static str]),
}

/// The protocol of clients below this path, even if no route matches.
pub(crate) fn protocol_of(path: &str) -> Option<Protocol> {
    let first = path.strip_prefix('/')?.split('/').next()?;
    match first {
        "v1" => Some(Protocol::OpenAi),
        "api" => Some(Protocol::Ollama),
        _ => None,
    }
}

impl Route {
    /// A GET route.
    pub(crate) const fn get(
        path: &'static str,
        about: &'static str,
        mount: fn() -> MethodRouter<App>,
    ) -> Self {
        Self::new(Method::Get, path, about, mount)
    }

    /// A POST route.
    pub(crate) const fn post(
        path: &'static str,
        about: &'static str,
        mount: fn() -> MethodRouter<App>,
    ) -> Self {
        Self::new(Method::Post, path, about, mount)
    }

    /// A DELETE route.
    pub(crate) const fn delete(
        path: &'static str,
        about: &'static str,
        mount: fn() -> MethodRouter<App>,
    ) -> Self {
        Self::new(Method::Delete, path, about, mount)
    }

    /// A route with the strictest requirements until set otherwise.
    const fn new(
        method: Method,
        path: &'static str,
        about: &'static str,
        mount: fn() -> MethodRouter<App>,
    ) -> Self {
        let (needs, load) = (Needs::Workspace(Right::Admin), Load::Look);
        let (takes, gives) = (Takes::Nothing, Gives::Text);
        let (params, or_gives, makes) = (None, None, false);
        let max_body = MAX_BODY;
        Self { method, path, needs, load, makes, max_body, about, takes, params, gives, or_gives, mount }
    }

    /// Whether it belongs to another protocol than LightRAG's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.protocol().is_some() || self.path == "/mcp"
    }

    /// The protocol of its clients, if that has its own error format.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        protocol_of(self.path)
    }

    /// Sets the required permission.
    pub(crate) const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// Requires the right to read the workspace.
    pub(crate) const fn reads(self) -> Self {
        self.needs(Needs::Workspace(Right::Read))
    }

    /// Changes the workspace: requires the right to write and counts as a change.
    pub(crate) const fn writes(self) -> Self {
        self.needs(Needs::Workspace(Right::Write)).load(Load::Change)
    }

    /// Sets the load.
    pub(crate) const fn load(mut self, load: Load) -> Self {
        self.load = load;
        self
    }

    /// Creates the workspace if it does not exist.
    pub(crate) const fn makes(mut self) -> Self {
        self.makes = true;
        self
    }

    /// Sets the maximum body.
    pub(crate) const fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sets the input.
    pub(crate) const fn takes(mut self, takes: Takes) -> Self {
        self.takes = takes;
        self
    }

    /// Sets the query parameters.
    pub(crate) const fn params(mut self, params: SchemaOf) -> Self {
        self.params = Some(params);
        self
    }

    /// Sets the output.
    pub(crate) const fn gives(mut self, gives: Gives) -> Self {
        self.gives = gives;
        self
    }

    /// Sets the alternative output.
    pub(crate) const fn or_gives(mut self, gives: Gives) -> Self {
        self.or_gives = Some(gives);
        self
    }
}
