//! `graphloom serve`: the API over HTTP, and indexing in the background.

use std::net::SocketAddr;
use std::sync::Arc;

use graphloom_server::{Limits, Server, ServerConfig};
use serde_json::json;

use super::App;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::wire;
use crate::wire::serving::ServingHost;

/// Serves until it is asked to stop.
pub(crate) async fn run(app: &App) -> anyhow::Result<Exit> {
    let config = &app.config;
    let interrupt = Interrupt::listen()?;
    let host = Arc::new(ServingHost::new(app, wire::register_worker(config)?));
    let server_config = ServerConfig {
        address: SocketAddr::new(config.host, config.port),
        data_dir: config.data_dir.clone(),
        workspace: config.workspace.clone(),
        cors_origins: config.cors_origins.clone(),
        trusted_proxies: config.trusted_proxies.clone(),
        limits: Limits {
            questions: config.max_concurrent_questions,
            rate_of_caller: config.rate_limit,
            rate_of_stranger: config.rate_limit_unknown,
            ..Limits::default()
        },
    };
    let server = Server::bind(server_config, host).await?;
    let url = format!("http://{}", server.address());
    if app.output.json {
        app.output.json(&json!({ "event": "listening", "url": url }))?;
    } else {
        app.output.line(format_args!("listening on {url}"))?;
        if !server.asks_for_credentials() {
            app.output.note(
                "open to every program on this machine; `graphloom key create NAME` makes it ask for a key",
            );
        }
    }
    server.run(interrupt.wait()).await;
    Ok(Exit::Done)
}
