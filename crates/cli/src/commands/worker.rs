//! `graphloom worker`: indexes the queued documents of all workspaces until it is stopped.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use graphloom::stores::workspaces;
use graphloom_server::{Limits, Routes, Server, ServerConfig};
use serde_json::json;

use super::App;
use crate::args::WorkerArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::wire;
use crate::wire::serving::ServingHost;

/// Workspaces indexed at the same time by default.
const WORKERS: usize = 4;
/// How long a workspace stays open after its documents are indexed if another workspace waits for a place.
const IDLE: Duration = Duration::from_secs(5);

/// Indexes until a stop is requested.
pub(crate) async fn run(app: &App, args: &WorkerArgs) -> anyhow::Result<Exit> {
    let config = &app.config;
    let interrupt = Interrupt::listen()?;
    let host = Arc::new(ServingHost::new(app, wire::register_worker(config).await?)?);
    let stop = app.serve.stop_timeout;
    let server_config = ServerConfig {
        address: args.metrics.unwrap_or(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)),
        data_dir: config.data_dir.clone(),
        workspace: config.workspace.clone(),
        cors_origins: Vec::new(),
        trusted_proxies: Vec::new(),
        routes: Routes::Health,
        limits: Limits {
            workers: app.serve.workers.unwrap_or(WORKERS).max(1),
            idle: IDLE,
            stop,
            finish: app.serve.finish(),
            ..Limits::default()
        },
    };
    let server = Server::bind(server_config, host).await?;
    let (url, place) = (format!("http://{}", server.address()), workspaces(config)?.place());
    if app.output.json {
        app.output.json(&json!({ "event": "working", "url": url, "place": place }))?;
    } else {
        app.output.line(format_args!("indexing the workspaces of {place}"))?;
        app.output.note(format_args!("metrics: {url}/metrics; Ctrl-C stops the worker"));
    }
    server.run(interrupt.wait()).await;
    Ok(Exit::Done)
}
