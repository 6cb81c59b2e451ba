//! Graphloom's HTTP server: LightRAG's API with background indexing, safe by default.
//!
//! ```text
//! connection -accept (bounded)-> request -observe-> route -guard: credential, right, load, size-> handler -> engine
//! ```
//!
//! The server uses the engine as a library and reaches stores and models through [`Host`]; only the program
//! that starts
//! it names concrete ones. Every route is a row of one table ([`routes`]) that states its requirements. Routes
//! are created
//! from that table only, so none can be left open by accident.

mod access;
mod answering;
mod apart;
mod app;
mod background;
mod behind;
mod body;
mod chat;
mod compress;
mod counts;
mod events;
mod file_name;
mod guard;
mod host;
mod index_turns;
mod ingest;
mod input;
mod keeping;
mod leash;
mod limits;
mod lines;
mod mcp;
mod metrics;
mod misfit;
mod observe;
#[cfg(test)]
mod openapi;
mod origin;
mod pipe;
mod place;
mod problem;
mod query_request;
mod quiet;
mod rates;
mod reasons;
mod route;
mod routes;
mod serve;
mod shares;
mod source_name;
mod space;
mod strict_json;
#[cfg(feature = "otel")]
mod traces;
mod turns;
mod unread;
mod vectors;
mod wrapped;

pub use access::{
    Access, AccessError, AccessFile, AccessStore, Grant, KeyRecord, MIN_PASSWORD_CHARS, NewKey, Right,
    UserRecord, random_password,
};
pub use host::{Host, HostError, IfMissing, OpenWorkspace, Pauses};
pub use limits::Limits;
pub use mcp::{McpConfig, McpError, serve_mcp};
pub use origin::{Network, NotANetwork};
pub use serve::{Routes, ServeError, Server, ServerConfig};
