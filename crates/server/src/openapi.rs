//! The OpenAPI 3.1 description, generated from the same table as the routes, for `openapi.json`, which servers embed.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::body::MAX_IN_MEMORY;
use crate::problem::ProblemBody;
use crate::route::{Gives, Load, Method, Needs, Protocol, Route, SchemaOf, Takes, schema};
use crate::routes::ROUTES;

/// Location of schemas that are used in several places.
const COMPONENTS: &str = "/components/schemas";

/// Tags of operations, in display order.
const TAGS: [&str; 9] =
    ["documents", "questions", "jobs", "graph", "workspace", "OpenAI", "Ollama", "MCP", "server"];

/// The description as JSON.
fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = COMPONENTS.into();
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(bounded)));
    });
    let mut generator = settings.into_generator();
    let problem = json!({ "application/problem+json": { "schema": schema::<ProblemBody>(&mut generator) } });
    let mut responses = Map::from_iter([(
        ANY_PROBLEM.to_owned(),
        json!({ "description": "Why the request failed", "content": problem }),
    )]);
    responses.extend(REFUSALS.map(|(status, why)| {
        (format!("{ANY_PROBLEM}{status}"), json!({ "description": why, "content": problem }))
    }));
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES.iter().copied() {
        let operation = operation(route, &mut generator);
        paths.entry(route.path).or_default().insert(route.method.name().to_owned(), operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Graphloom",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Turns documents into a knowledge graph and answers questions with citations. To select a \
                            workspace, prefix any path with /w/{workspace} or send the header LIGHTRAG-WORKSPACE.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "tags": TAGS.map(|tag| json!({ "name": tag })),
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "responses": responses,
            "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
        },
    })
}

/// The largest integer that every JSON parser represents exactly.
const LARGEST_NUMBER: u64 = (1 << 53) - 1;

/// Adds a maximum to integers without one: that of their Rust type, or [`LARGEST_NUMBER`].
fn bounded(schema: &mut Schema) {
    let most = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => u64::from(u8::MAX),
        Some("uint16") => u64::from(u16::MAX),
        Some("uint32") => u64::from(u32::MAX),
        Some("uint64" | "uint") => LARGEST_NUMBER,
        _ => return,
    };
    if schema.get("maximum").is_none() {
        schema.insert("maximum".to_owned(), json!(most));
    }
}

/// Name of the response for a problem with any status.
const ANY_PROBLEM: &str = "Problem";

/// Descriptions of rejections by status.
const REFUSALS: [(u16, &str); 14] = [
    (400, "The request is invalid, for example an invalid name or a duplicate header"),
    (401, "A credential is missing or wrong"),
    (403, "The credential, origin or host has no permission"),
    (404, "The workspace, document, job, entity or model does not exist"),
    (408, "Receiving the body took too long"),
    (409, "The request conflicts with the current state"),
    (413, "The body is too large or contains too many items"),
    (415, "The content type of the body is not supported"),
    (422, "A value is invalid; if the request cannot be parsed, detail lists the errors"),
    (429, "Too many requests; Retry-After says when to try again"),
    (502, "A model service rejected the request or could not be reached"),
    (
        503,
        "Too many workspaces are open, a budget or rate limit of a model service is used up, or the server is stopping",
    ),
    (504, "A model service did not answer in time"),
    (507, "The disk is full or the workspace is read-only; reading still works"),
];

/// The statuses with which a route rejects requests; internal problems may have others.
fn refusals(route: &Route) -> Vec<u16> {
    let is_guarded = route.needs != Needs::Nothing;
    let in_workspace = matches!(route.needs, Needs::Workspace(_));
    let asks_model = route.protocol().is_some() && route.method == Method::Post;
    let has_body = match route.takes {
        Takes::Json(_) | Takes::Form(_) | Takes::File => true,
        Takes::Nothing | Takes::Query(_) => false,
    };
    let is_question = route.load == Load::Question;
    let is_change = route.load == Load::Change;
    // Ollama's clients send no content type, and logins are forms.
    let names_kind = has_body && route.protocol() != Some(Protocol::Ollama);
    let names_one = route.path.contains('{');
    let can = |status: u16| match status {
        // A duplicate header, or an invalid workspace name.
        400 | 422 => true,
        401 => is_guarded || matches!(route.takes, Takes::Form(_)),
        403 => is_guarded,
        404 => names_one || asks_model || (in_workspace && !route.makes),
        408 | 413 => has_body,
        409 => is_change || is_question,
        415 => names_kind,
        429 => !crate::guard::PROBES.contains(&route.path),
        502 | 504 => is_question,
        503 => in_workspace || asks_model,
        // A large body is buffered on disk too.
        507 => is_change || matches!(route.takes, Takes::File) || route.max_body > MAX_IN_MEMORY,
        _ => false,
    };
    REFUSALS.into_iter().map(|(status, _)| status).filter(|status| can(*status)).collect()
}

fn responses(route: &Route, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let problem = |name: String| json!({ "$ref": format!("#/components/responses/{name}") });
    let mut responses = Map::from_iter([("200".to_owned(), answer(route, generator))]);
    for status in refusals(route) {
        responses.insert(status.to_string(), problem(format!("{ANY_PROBLEM}{status}")));
    }
    responses.insert("default".to_owned(), problem(ANY_PROBLEM.to_owned()));
    responses
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = parameters_of_path(route.path);
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [tag(route)],
        "summary": route.about,
        "responses": responses(route, generator),
    });
    let body =
        |kind: &str, schema: Value| json!({ "required": true, "content": { kind: { "schema": schema } } });
    match route.takes {
        Takes::Nothing => {}
        Takes::Query(of) => parameters.extend(parameters_of(of, generator)),
        Takes::Json(of) => operation["requestBody"] = body("application/json", json!(of(generator))),
        Takes::Form(of) => {
            operation["requestBody"] = body("application/x-www-form-urlencoded", json!(of(generator)));
        }
        Takes::File => {
            let file = json!({
                "type": "object",
                "required": ["file"],
                "properties": { "file": { "type": "string", "format": "binary" } },
            });
            operation["requestBody"] = body("multipart/form-data", file);
        }
    }
    if let Some(of) = route.params {
        parameters.extend(parameters_of(of, generator));
    }
    if matches!((route.gives, route.method), (Gives::Events(_), Method::Get)) {
        parameters.push(json!({
            "name": "Last-Event-ID",
            "in": "header",
            "description": "The id of the last received event; the stream continues after it.",
            "schema": { "type": "string" },
        }));
    }
    if route.needs != Needs::Nothing {
        operation["security"] = json!([{ "key": [] }, { "bearer": [] }]);
    }
    if let Needs::Workspace(right) = route.needs {
        operation["x-right"] = json!(right.name());
    }
    let names_workspace = matches!(route.needs, Needs::Workspace(_)) || route.protocol().is_some();
    if names_workspace || route.path == "/health" {
        parameters.push(json!({
            "name": "LIGHTRAG-WORKSPACE",
            "in": "header",
            "description": "The workspace [default: the server's own].",
            "schema": { "type": "string", "pattern": "^([a-z0-9][a-z0-9_-]{0,63})?$" },
        }));
    }
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    operation
}

fn answer(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut content = content_of(route.gives, generator);
    if let Some(other) = route.or_gives {
        content.extend(content_of(other, generator));
    }
    json!({ "description": "The answer", "content": content })
}

/// The content of a response by media type.
fn content_of(gives: Gives, generator: &mut SchemaGenerator) -> Map<String, Value> {
    let content =
        |kind: &str, schema: Value| Map::from_iter([(kind.to_owned(), json!({ "schema": schema }))]);
    match gives {
        Gives::Json(of) => content("application/json", json!(of(generator))),
        Gives::Lines(of) => content("application/x-ndjson", json!(of(generator))),
        Gives::Events(of) => content("text/event-stream", event_of(json!(of(generator)))),
        Gives::Text => content("text/plain", json!({ "type": "string" })),
        Gives::Media(kinds) => {
            let text = |kind: &&str| ((*kind).to_owned(), json!({ "schema": { "type": "string" } }));
            kinds.iter().map(text).collect()
        }
    }
}

/// The schema of a stream event whose data is JSON, in the style of OpenAPI 3.2.
fn event_of(data: Value) -> Value {
    json!({
        "type": "object",
        "required": ["data"],
        "properties": {
            "event": { "type": "string" },
            "id": { "type": "string" },
            "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": data },
        },
    })
}

/// `post_graph_entity_edit` and the like.
fn operation_id(route: &Route) -> String {
    let words = route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(route.method.name()).chain(words).collect::<Vec<_>>().join("_")
}

/// The first part of the path, or the name of the protocol it stands for.
fn tag(route: &Route) -> &'static str {
    match route.path.split('/').nth(1).unwrap_or_default() {
        "documents" | "chunks" => "documents",
        "jobs" => "jobs",
        "query" | "search" => "questions",
        "graph" | "graphs" => "graph",
        "cost" | "dump" | "export" => "workspace",
        "v1" => "OpenAI",
        "api" => "Ollama",
        "mcp" => "MCP",
        _ => "server",
    }
}

fn parameters_of_path(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect()
}

/// The fields of a type as query parameters.
fn parameters_of(of: SchemaOf, generator: &mut SchemaGenerator) -> Vec<Value> {
    let schema = of(generator);
    let schema = resolved(schema, generator);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = schema.get("properties").and_then(Value::as_object);
    fields
        .into_iter()
        .flatten()
        .map(|(name, field)| {
            let mut field = field.clone();
            // Fields of definitions are bounded with them, but these fields were extracted before.
            if let Ok(schema) = (&mut field).try_into() {
                bounded(schema);
            }
            json!({ "name": name, "in": "query", "required": required.contains(&name.as_str()), "schema": field })
        })
        .collect()
}

/// The definition behind a reference.
fn resolved(schema: Schema, generator: &SchemaGenerator) -> Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.rsplit('/').next());
    let found = name.and_then(|name| generator.definitions().get(name)).cloned();
    found.unwrap_or_else(|| json!(schema))
}

/// If this variable is set, the test below writes the file instead of comparing it.
const WRITE: &str = "GRAPHLOOM_WRITE_OPENAPI";

#[test]
fn the_committed_openapi_description_matches_the_routes() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let made = format!("{:#}\n", document());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(file, &made).expect("a file that can be written");
    }
    let committed = std::fs::read_to_string(file).expect("the description");
    assert!(
        committed == made,
        "write it again: {WRITE}=1 cargo test -p graphloom-server committed_description"
    );
}
