//! One module per command, and the parts they share.

mod add;
mod ask;
mod backup;
mod budget;
mod cache;
mod cancel;
mod check;
mod claims;
mod communities;
mod completions;
mod config;
mod contextualize;
mod copy;
mod copying;
mod cost;
mod derive;
mod doctor;
mod dump;
mod estimate;
mod eval;
mod export;
mod graph;
mod import;
mod indexing;
mod key;
mod layer;
mod mcp;
mod migrate;
#[cfg(feature = "local")]
mod model;
mod parse;
mod pause;
mod prompts;
mod re_embed;
mod re_extract;
mod repair;
mod retry;
mod rm;
mod search;
mod serve;
mod show;
mod status;
mod suggest;
mod track;
mod tree;
mod unreadable;
mod watch;
mod work;
mod worker;
mod workspace;

use std::collections::BTreeMap;

use anyhow::Context;
use graphloom::config::{Config, Settings, Surroundings, layers, take_unset};
use graphloom_providers::web;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::args::{self, BuildArgs, Cli, Command, Global};
use crate::fault::Exit;
use crate::output::Output;
use crate::output::links::encoded;
use crate::serve_config::ServeConfig;
use graphloom::project::Here;
use graphloom::{ReaderProgram, Readers};

/// The context of every command.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) config: Config,
    /// Configuration of the server.
    pub(crate) serve: ServeConfig,
    /// The configuration as text, with origins.
    pub(crate) settings: Settings,
    /// What the configuration was read from.
    pub(crate) surroundings: Surroundings,
    /// Output settings.
    pub(crate) output: Output,
    /// The folders that paths and source names are relative to.
    pub(crate) here: Here,
    /// Reads documents into text, within a shared memory limit.
    pub(crate) readers: Readers,
}

impl App {
    /// Returns the URL to open a document: its web address, or the URL of a file that exists.
    pub(crate) fn address_of(&self, source: &str) -> Option<String> {
        if web::is_web_address(source) {
            return Some(source.to_owned());
        }
        let path = self.here.root.join(source);
        if !path.is_file() {
            return None;
        }
        let path = path.to_str()?.replace(std::path::MAIN_SEPARATOR, "/");
        let rooted = if path.starts_with('/') { "" } else { "/" };
        Some(format!("file://{rooted}{}", encoded(&path, "-_.~/:")))
    }
}

/// Runs the command to its end.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Exit> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let output = Output::new(&cli.global, &environment, does_work(&cli.command));
    if let Command::Completions(args) = &cli.command {
        return completions::run(args);
    }
    if let Command::Parse(args) = &cli.command {
        return parse::run(&output, args);
    }
    if let Command::ReadSource = &cli.command {
        graphloom::reading::answer()?;
        return Ok(Exit::Done);
    }
    let serves = matches!(cli.command, Command::Serve(_) | Command::Mcp(_) | Command::Worker(_));
    #[cfg_attr(not(feature = "otel"), expect(unused_mut, reason = "traces add one"))]
    let mut subscribers = vec![log(&cli.global, layers::set(&environment, "GRAPHLOOM_LOG"), serves)];
    #[cfg(feature = "otel")]
    let telemetry = crate::telemetry::Telemetry::start(&environment);
    #[cfg(feature = "otel")]
    subscribers.extend(telemetry.as_ref().map(|telemetry| telemetry.layer()));
    tracing_subscriber::registry().with(subscribers).init();
    let current_dir = std::env::current_dir().context("finding the current folder")?;
    let current_dir = current_dir.canonicalize().unwrap_or(current_dir);
    let (flags, unset) = flags(&cli.global, &cli.command);
    let mut surroundings = Surroundings {
        flags,
        unset,
        environment,
        current_dir,
        config_file: cli.global.config.clone(),
        ..Surroundings::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting")?;
    let (config, settings) = match cli.command {
        // Reading the settings stored in a workspace would migrate its database.
        Command::Migrate(_) => graphloom::config::load(&surroundings)?,
        _ => runtime.block_on(graphloom::setup::configured(&mut surroundings))?,
    };
    let serve = ServeConfig::read(&settings)?;
    for warning in &settings.warnings {
        output.note(format_args!("warning: {warning}"));
    }
    // Printed even with `--quiet`: a key that was sent cannot be taken back.
    for warning in &settings.address_warnings {
        output.warn(format_args!("warning: {warning}"));
    }
    let program = std::env::current_exe().context("finding this program")?;
    let readers = Readers::new(config.memory_mb, ReaderProgram::Graphloom(program));
    let here = settings.here(&surroundings.current_dir);
    let app = App { config, serve, settings, surroundings, output, here, readers };
    let outcome = runtime.block_on(dispatch(&app, &cli.command));
    // Abandoned blocking work must not keep the process alive.
    runtime.shutdown_background();
    #[cfg(feature = "otel")]
    if let Some(telemetry) = telemetry {
        telemetry.end();
    }
    outcome
}

/// True for commands that change something or pay for something while they print. They go on when nobody reads their output.
fn does_work(command: &Command) -> bool {
    matches!(
        command,
        Command::Add(_)
            | Command::Import(_)
            | Command::Retry(_)
            | Command::Work(_)
            | Command::Worker(_)
            | Command::ReExtract(_)
            | Command::Contextualize(_)
            | Command::ReEmbed(_)
            | Command::Derive(_)
            | Command::Rm(_)
            | Command::Cancel(_)
            | Command::Eval(_)
            | Command::Copy(_)
            | Command::Workspace(_)
            | Command::Backup(_)
            | Command::Restore(_)
            | Command::Repair(_)
            | Command::Migrate(_)
    )
}

async fn dispatch(app: &App, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Add(args) => add::run(app, args).await,
        Command::Import(command) => import::run(app, command).await,
        Command::Ask(args) => ask::run(app, args).await,
        Command::Search(args) => search::run(app, args).await,
        Command::Suggest(args) => suggest::run(app, args).await,
        Command::Status(args) => match &args.track {
            Some(track) => track::run(app, track).await,
            None => status::run(app, args).await,
        },
        Command::Cost(args) => cost::run(app, args).await,
        Command::Show(args) => show::run(app, args).await,
        Command::Rm(args) => rm::run(app, args).await,
        Command::Graph(args) => graph::run(app, args).await,
        Command::Claims(args) => claims::run(app, args).await,
        Command::Derive(args) => derive::run(app, args).await,
        Command::Communities(args) => communities::run(app, args).await,
        Command::Tree(args) => tree::run(app, args).await,
        Command::Export(args) => export::run(app, args).await,
        Command::Budget(args) => budget::run(app, args).await,
        Command::Retry(args) => retry::run(app, args).await,
        Command::Cache(command) => cache::run(app, command).await,
        Command::Work(args) => work::run(app, args).await,
        Command::Worker(args) => worker::run(app, args).await,
        Command::Serve(_) => serve::run(app).await,
        Command::Mcp(args) => mcp::run(app, args).await,
        Command::Key(command) => key::run(app, command).await,
        Command::User(command) => key::users(app, command).await,
        Command::Cancel(args) => cancel::run(app, args).await,
        Command::Pause => pause::pause(app).await,
        Command::Resume => pause::resume(app).await,
        Command::ReExtract(args) => re_extract::run(app, args).await,
        Command::Contextualize(args) => contextualize::run(app, args).await,
        Command::ReEmbed(args) => re_embed::run(app, args).await,
        Command::Eval(command) => eval::run(app, command).await,
        Command::Dump(args) => dump::run(app, args).await,
        Command::Check => check::run(app).await,
        Command::Copy(args) => copy::run(app, args).await,
        Command::Workspace(command) => workspace::run(app, command).await,
        Command::Backup(args) => backup::backup(app, args).await,
        Command::Restore(args) => backup::restore(app, args).await,
        Command::Repair(args) => repair::run(app, args).await,
        Command::Migrate(args) => migrate::run(app, args).await,
        Command::Parse(args) => parse::run(&app.output, args),
        Command::Doctor => doctor::run(app).await,
        #[cfg(feature = "local")]
        Command::Model(command) => model::run(app, command).await,
        Command::Config(command) => config::run(app, command),
        Command::Prompts(command) => prompts::run(app, command),
        Command::Completions(args) => completions::run(args),
        Command::ReadSource => Ok(graphloom::reading::answer().map(|()| Exit::Done)?),
    }
}

/// Flags that set configuration: key, value, and the flag as typed.
type Flags = Vec<(String, String, String)>;

/// Returns the flags that set configuration, and the keys that `--set KEY=` unsets.
fn flags(global: &Global, command: &Command) -> (Flags, Vec<(String, String)>) {
    let data_dir = global.data_dir.as_ref().map(|path| path.display().to_string());
    let named = [
        ("data_dir", "--data-dir", data_dir),
        ("store", "--store", global.store.clone()),
        ("workspace", "--workspace", global.workspace.clone()),
        ("llm", "--llm", global.llm.clone()),
        ("embedder", "--embedder", global.embedder.clone()),
        ("embedder", "EMBEDDER", new_embedder(command)),
        ("gleaning", "--gleaning", building(command).and_then(|building| building.gleaning.clone())),
        ("contextual", "--contextual", building(command).and_then(|building| building.contextual.clone())),
    ];
    let serving = if let Command::Serve(args) = command {
        let list = |values: &[String]| (!values.is_empty()).then(|| values.join(","));
        let (origins, proxies) = (list(&args.cors_origins), list(&args.trusted_proxies));
        vec![
            ("host", "--host", args.host.clone()),
            ("port", "--port", args.port.map(|port| port.to_string())),
            ("cors_origins", "--cors-origin", origins),
            ("trusted_proxies", "--trusted-proxy", proxies),
            ("workers", "--workers", args.workers.map(|workers| workers.to_string())),
            ("drain_s", "--drain", args.drain.map(|seconds| seconds.to_string())),
        ]
    } else if let Command::Worker(args) = command {
        vec![("workers", "--workers", args.workers.map(|workers| workers.to_string()))]
    } else {
        Vec::new()
    };
    let named = named.into_iter().chain(serving);
    let named = named.filter_map(|(key, flag, value)| Some((key.to_owned(), value?, flag.to_owned())));
    let own_workspace =
        args::own_workspace(global, command).map(|(name, flag)| ("workspace".to_owned(), name, flag));
    // If a key is set twice, the last wins, as for other flags.
    let others = global.set.iter().rev();
    let mut others: Flags =
        others.map(|(key, value)| (key.clone(), value.clone(), format!("--set {key}"))).collect();
    let unset = take_unset(&mut others);
    (named.chain(own_workspace).chain(others).collect(), unset)
}

/// Returns the embedder that `re-embed` switches to.
fn new_embedder(command: &Command) -> Option<String> {
    if let Command::ReEmbed(args) = command { args.new.clone() } else { None }
}

/// Returns the build options of a command that builds the graph.
fn building(command: &Command) -> Option<&BuildArgs> {
    match command {
        Command::Add(args) => Some(&args.building),
        Command::Retry(args) => Some(&args.building),
        Command::Work(args) => Some(&args.building),
        Command::Repair(args) => Some(&args.work.building),
        Command::ReExtract(args) => Some(&args.building),
        Command::Contextualize(args) => Some(&args.building),
        Command::Ask(_)
        | Command::Import(_)
        | Command::Search(_)
        | Command::Suggest(_)
        | Command::Status(_)
        | Command::Cancel(_)
        | Command::Pause
        | Command::Resume
        | Command::Serve(_)
        | Command::Worker(_)
        | Command::Mcp(_)
        | Command::Key(_)
        | Command::User(_)
        | Command::Cost(_)
        | Command::Budget(_)
        | Command::Show(_)
        | Command::Rm(_)
        | Command::Graph(_)
        | Command::Cache(_)
        | Command::Eval(_)
        | Command::ReEmbed(_)
        | Command::Copy(_)
        | Command::Workspace(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::Dump(_)
        | Command::Check
        | Command::Migrate(_)
        | Command::Doctor
        | Command::Config(_)
        | Command::Prompts(_)
        | Command::Completions(_)
        | Command::Parse(_)
        | Command::Claims(_)
        | Command::Derive(_)
        | Command::Communities(_)
        | Command::Tree(_)
        | Command::Export(_)
        | Command::ReadSource => None,
        #[cfg(feature = "local")]
        Command::Model(_) => None,
    }
}

/// A layer that receives log events: lines on stderr, or traces.
type LogLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Returns a layer that prints log events to stderr. `GRAPHLOOM_LOG` selects the events, otherwise `-v` and `-vv`. Errors are
/// printed anyway.
///
/// - `serves`: whether this is a server. A server logs its requests by default, and with `--json` each event is a JSON value
///   on one line. Other commands print one plain line when they wait for another process, unless `--quiet` is set.
fn log(options: &Global, wanted: Option<&str>, serves: bool) -> LogLayer {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // The MCP library warns about each invalid call, which is reported to the client anyway.
    let filter = match (wanted, options.verbose) {
        (Some(wanted), _) => EnvFilter::try_new(wanted).unwrap_or_else(|_| EnvFilter::new("warn")),
        (None, 0) if serves => EnvFilter::new("warn,rmcp=error,graphloom=info"),
        (None, 0) => {
            let waiting = Targets::new().with_target(graphloom_storage::WAITING, LevelFilter::INFO);
            let plain = lines.without_time().with_target(false).with_level(false);
            return plain.with_filter(if options.quiet { Targets::new() } else { waiting }).boxed();
        }
        (None, 1) => EnvFilter::new("warn,rmcp=error,graphloom=debug"),
        (None, _) => EnvFilter::new("debug"),
    };
    if serves && options.json {
        lines.json().with_filter(filter).boxed()
    } else {
        lines.with_filter(filter).boxed()
    }
}
