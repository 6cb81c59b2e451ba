//! What a row of the route table says.

use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::access::Right;
use crate::app::App;
use crate::limits::MAX_BODY;

/// A protocol with a form of its own for problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    OpenAi,
    Ollama,
}

/// A route: where it is, what it needs, what goes in and out, and who answers.
///
/// Nothing but such a row makes a route, and the guard reads what it needs from the same row.
pub(crate) struct Route {
    /// The method.
    pub(crate) method: Method,
    /// The path, with parameters in braces.
    pub(crate) path: &'static str,
    /// What a caller needs.
    pub(crate) needs: Needs,
    /// What it takes of the server.
    pub(crate) load: Load,
    /// Whether it makes the workspace where that does not exist.
    pub(crate) makes: bool,
    /// Largest body in bytes.
    pub(crate) max_body: usize,
    /// What it does, in a sentence.
    pub(crate) about: &'static str,
    /// What goes in.
    pub(crate) takes: Takes,
    /// Parameters after the question mark, beside a body.
    pub(crate) params: Option<SchemaOf>,
    /// What comes out where all is well.
    pub(crate) gives: Gives,
    /// What comes out instead where the request wants it so.
    pub(crate) or_gives: Option<Gives>,
    /// Who answers.
    pub(crate) mount: fn() -> MethodRouter<App>,
}

/// A method that is used.
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
    /// Its name, in lower case.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }
}

/// What a caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: it says nothing that is not for everybody.
    Nothing,
    /// Any credential; it is about no workspace.
    Credential,
    /// This right on the workspace of the request.
    Workspace(Right),
}

/// What a request takes of the server, and so which limit it counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Nothing worth counting; answers also when everything else is full.
    None,
    /// A look at the store.
    Look,
    /// A search, and mostly a model.
    Question,
    /// A change.
    Change,
    /// All of a workspace is read.
    Whole,
    /// Events are sent for as long as the reader stays.
    Stream,
    /// A password is checked. Anybody may send one, so logins never take the place of other requests.
    Login,
}

/// Makes the schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of `T`.
pub(crate) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What a request brings beside its path.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// Nothing.
    Nothing,
    /// Parameters after the question mark.
    Query(SchemaOf),
    /// A JSON body.
    Json(SchemaOf),
    /// A form, as of a login.
    Form(SchemaOf),
    /// A file in a multipart form, in the field `file`.
    File,
}

/// What an answer holds.
#[derive(Clone, Copy)]
pub(crate) enum Gives {
    /// JSON.
    Json(SchemaOf),
    /// One JSON value a line, as they come.
    Lines(SchemaOf),
    /// Server-sent events, whose data is JSON.
    Events(SchemaOf),
    /// Plain text.
    Text,
    /// A body of one of these media types.
    Media(&'static [&'static str]),
}

/// The protocol of the clients that ask below this path, also where there is no such route.
pub(crate) fn protocol_of(path: &str) -> Option<Protocol> {
    let first = path.strip_prefix('/')?.split('/').next()?;
    match first {
        "v1" => Some(Protocol::OpenAi),
        "api" => Some(Protocol::Ollama),
        _ => None,
    }
}

impl Route {
    /// Something to read.
    pub(crate) const fn get(
        path: &'static str,
        about: &'static str,
        mount: fn() -> MethodRouter<App>,
    ) -> Self {
        Self::new(Method::Get, path, about, mount)
    }

    /// Something to ask or do.
    pub(crate) const fn post(
        path: &'static str,
        about: &'static str,
        mount: fn() -> MethodRouter<App>,
    ) -> Self {
        Self::new(Method::Post, path, about, mount)
    }

    /// Something to remove.
    pub(crate) const fn delete(
        path: &'static str,
        about: &'static str,
        mount: fn() -> MethodRouter<App>,
    ) -> Self {
        Self::new(Method::Delete, path, about, mount)
    }

    /// Needs the most until it says otherwise.
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

    /// Whether it speaks a protocol that is not LightRAG's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.protocol().is_some() || self.path == "/mcp"
    }

    /// Whose clients ask here, where they are not LightRAG's or our own and have a form of their own for problems.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        protocol_of(self.path)
    }

    /// What a caller needs.
    pub(crate) const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// Needs the right to read the workspace.
    pub(crate) const fn reads(self) -> Self {
        self.needs(Needs::Workspace(Right::Read))
    }

    /// Changes the workspace: needs the right to write, and counts as a change.
    pub(crate) const fn writes(self) -> Self {
        self.needs(Needs::Workspace(Right::Write)).load(Load::Change)
    }

    /// What it takes of the server.
    pub(crate) const fn load(mut self, load: Load) -> Self {
        self.load = load;
        self
    }

    /// Makes the workspace where that does not exist.
    pub(crate) const fn makes(mut self) -> Self {
        self.makes = true;
        self
    }

    /// Largest body in bytes.
    pub(crate) const fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// What goes in.
    pub(crate) const fn takes(mut self, takes: Takes) -> Self {
        self.takes = takes;
        self
    }

    /// Parameters after the question mark, beside a body.
    pub(crate) const fn params(mut self, params: SchemaOf) -> Self {
        self.params = Some(params);
        self
    }

    /// What comes out.
    pub(crate) const fn gives(mut self, gives: Gives) -> Self {
        self.gives = gives;
        self
    }

    /// What comes out instead where the request wants it so.
    pub(crate) const fn or_gives(mut self, gives: Gives) -> Self {
        self.or_gives = Some(gives);
        self
    }
}
