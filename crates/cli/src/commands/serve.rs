//! `graphloom serve`: serves the HTTP API and indexes in the background.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use graphloom::stores::workspaces;
use graphloom_core::{Role, WorkspaceId};
use graphloom_server::{Limits, Routes, Server, ServerConfig};
use serde_json::json;

use super::App;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::wire;
use crate::wire::serving::ServingHost;

/// Serves until a stop is requested.
pub(crate) async fn run(app: &App) -> anyhow::Result<Exit> {
    let config = &app.config;
    let interrupt = Interrupt::listen()?;
    let host = Arc::new(ServingHost::new(app, wire::register_server(config).await?)?);
    let server_config = ServerConfig {
        address: SocketAddr::new(app.serve.host, app.serve.port),
        data_dir: config.data_dir.clone(),
        workspace: config.workspace.clone(),
        cors_origins: app.serve.cors_origins.clone(),
        trusted_proxies: app.serve.trusted_proxies.clone(),
        routes: Routes::All,
        limits: Limits {
            questions: app.serve.max_concurrent_questions,
            rate_of_caller: app.serve.rate_limit,
            rate_of_stranger: app.serve.rate_limit_unknown,
            turn: app.serve.queue_timeout,
            body: app.serve.body_timeout,
            workers: app.serve.workers.unwrap_or(Limits::default().workers),
            drain: app.serve.drain,
            finish: app.serve.finish(),
            stop: app.serve.stop_timeout,
            ..Limits::default()
        },
    };
    let server = Server::bind(server_config, host).await?;
    if let Err(error) = tell(app, &server).await {
        // The server is useful even if nothing reads its stdout.
        tracing::warn!(%error, "printing the server's address failed");
    }
    server.run(interrupt.wait()).await;
    Ok(Exit::Done)
}

/// Maximum workspaces listed at startup.
const MAX_NAMED: usize = 10;

/// Prints the address, who has access, the workspaces, and the next steps.
async fn tell(app: &App, server: &Server) -> anyhow::Result<()> {
    let config = &app.config;
    let url = format!("http://{}", server.address());
    let asks_for_key = server.asks_for_credentials();
    let data_dir = std::path::absolute(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone());
    let stores = workspaces(config)?;
    let workspaces = stores.list().await?;
    let models: BTreeMap<&str, String> = config
        .models
        .by_role()
        .into_iter()
        .filter(|(role, _)| *role != Role::Judge)
        .map(|(role, choice)| (role.name(), choice.map_or_else(|| "none".to_owned(), ToString::to_string)))
        .collect();
    if app.output.json {
        let docs = format!("{url}/docs");
        return app.output.json(&json!({
            "event": "listening",
            "url": url,
            "docs": docs,
            "asks_for_key": asks_for_key,
            "data_dir": data_dir,
            "workspaces": workspaces,
            "models": models,
        }));
    }
    app.output.line(format_args!("listening on {url}"))?;
    app.output.note(match asks_for_key {
        true => "every request needs an API key or a login",
        false => "open to every program on this machine; `graphloom key create NAME` creates a key and restricts access to keys",
    });
    app.output.note(format_args!("data folder: {}", data_dir.display()));
    if config.store.is_some() {
        app.output.note(format_args!("database: {}", stores.place()));
    }
    let named: Vec<&str> = workspaces.iter().take(MAX_NAMED).map(WorkspaceId::as_str).collect();
    let more = match workspaces.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    app.output.note(format_args!("workspaces: {}{more}", named.join(", ")));
    let chosen: Vec<String> = models.iter().map(|(role, model)| format!("{role} {model}")).collect();
    app.output.note(match models.values().all(|model| model == "none") {
        true => "LLMs: none; rules extract the graph and answers are verbatim sentences".to_owned(),
        false => format!("LLMs: {}", chosen.join(", ")),
    });
    app.output.note(format_args!("API documentation: {url}/docs; Ctrl-C stops the server"));
    Ok(())
}
