//! `graphloom check`: contradictions in the store.

use graphloom_storage::check::check;

use super::App;
use crate::fault::Exit;
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Prints every finding; exits with 1 if there is one.
pub(crate) async fn run(app: &App) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config)?;
    let snapshot = store.snapshot().await?;
    let findings = check(snapshot.as_ref()).await?;
    if app.output.json {
        app.output.json(&findings)?;
    } else if findings.is_empty() {
        let documents = snapshot.counts().await?.documents;
        app.output.line(format_args!("no contradictions in {}", count(documents, "document")))?;
    } else {
        for finding in &findings {
            app.output.line(format_args!(
                "{} {}: {}",
                finding.kind,
                plain(&finding.id),
                one_line(&finding.what, 500)
            ))?;
        }
        app.output.line(count(findings.len() as u64, "finding"))?;
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Failed })
}
