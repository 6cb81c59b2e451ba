//! `graphloom re-embed`: replaces all vectors with those of another embedder.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::EmbeddingSpec;
use graphloom_engine::index::{self, ReEmbedEstimate, ReEmbedReport};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::App;
use super::indexing::{BudgetUse, until_stopped};
use crate::args::ReEmbedArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::output::render::{count, plain, thousands};
use crate::wire;

/// Minimum interval between progress lines if there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Summary {
    event: &'static str,
    #[serde(flatten)]
    report: Option<ReEmbedReport>,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetUse>,
}

#[derive(Serialize)]
struct EstimateOutput {
    event: &'static str,
    #[serde(flatten)]
    estimate: ReEmbedEstimate,
}

/// Embeds everything again and replaces the vectors.
pub(crate) async fn run(app: &App, args: &ReEmbedArgs) -> anyhow::Result<Exit> {
    let (engine, budget) = graphloom::setup::re_embedding(&app.config, &app.settings, args.budget).await?;
    if args.estimate {
        let by_service = wire::embeds_by_service(&engine);
        let estimate = index::estimate_re_embed(&engine, by_service, &app.config.prices).await?;
        return print_estimate(app, estimate);
    }
    let interrupt = Interrupt::listen()?;
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta} left")?;
    let bar = app.output.bars.then(|| ProgressBar::new(0).with_style(style).with_message("embedding"));
    let last_line = Mutex::new(Instant::now());
    let show = |done: u64, total: u64| {
        if let Some(bar) = &bar {
            bar.set_length(total);
            bar.set_position(done);
            return;
        }
        let mut last_line = last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last_line.elapsed() >= PLAIN_INTERVAL {
            *last_line = Instant::now();
            app.output.note(format_args!("embedding: {} of {} vectors", thousands(done), thousands(total)));
        }
    };
    let outcome = until_stopped(app, &engine, &interrupt, index::re_embed(&engine, &show)).await;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let report = outcome.transpose()?.filter(|report| !report.stopped);
    let budget = budget.as_deref().map(BudgetUse::of);
    let summary = Summary { event: "summary", interrupted: report.is_none(), report, budget };
    if app.output.json {
        app.output.json(&summary)?;
    } else {
        print(app, &summary)?;
    }
    Ok(if summary.interrupted { Exit::Interrupted } else { Exit::Done })
}

fn print_estimate(app: &App, estimate: ReEmbedEstimate) -> anyhow::Result<Exit> {
    if app.output.json {
        app.output.json(&EstimateOutput { event: "estimate", estimate })?;
        return Ok(Exit::Done);
    }
    let ReEmbedEstimate { from, vectors, texts, steps, total, unpriced } = &estimate;
    let from = from.as_ref().map_or_else(|| "none".to_owned(), name);
    app.output.line(format_args!(
        "{} from {from}, {} to embed",
        count(*vectors, "vector"),
        count(*texts, "text")
    ))?;
    super::estimate::print_steps(app, steps, total, unpriced)?;
    Ok(Exit::Done)
}

fn print(app: &App, summary: &Summary) -> anyhow::Result<()> {
    let Some(ReEmbedReport { from, to, vectors, embedded, stopped: _ }) = &summary.report else {
        app.output.note("stopped; run the same command to continue");
        return Ok(());
    };
    let Some(to) = to else {
        app.output
            .note("nothing to replace: the workspace has no vectors yet; `graphloom add` creates the first");
        return Ok(());
    };
    if from.as_ref() == Some(to) {
        app.output.line(format_args!("unchanged: the vectors are already from {}", name(to)))?;
        return Ok(());
    }
    app.output.line(format_args!(
        "{} from {}, {} embedded in this run",
        count(*vectors, "vector"),
        name(to),
        count(*embedded, "text")
    ))?;
    Ok(())
}

fn name(space: &EmbeddingSpec) -> String {
    format!("{} ({} dimensions)", plain(&space.model), space.dimensions)
}
