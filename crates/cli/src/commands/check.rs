//! `graphloom check`: damaged files and contradictions in a store.

use graphloom_core::Finding;
use graphloom_core::StoreError;
use graphloom_storage::check::check;

use super::App;
use crate::fault::Exit;
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Prints every finding; exits with 1 if there are any.
pub(crate) async fn run(app: &App) -> anyhow::Result<Exit> {
    let findings = findings(app).await?;
    print(app, &findings).await?;
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Returns all findings about the workspace.
pub(crate) async fn findings(app: &App) -> anyhow::Result<Vec<Finding>> {
    wire::require_workspace(&app.config).await?;
    let store = wire::open_or_create(&app.config).await?;
    let mut findings = store.verify().await?;
    let contradictions = match store.snapshot().await {
        Ok(snapshot) => check(snapshot.as_ref()).await,
        Err(error) => Err(error),
    };
    match contradictions {
        Ok(found) => findings.extend(found),
        // The findings already list the rows that cannot be read.
        Err(error @ StoreError::Corrupt { .. }) if !findings.is_empty() => {
            let what = format!("the search for contradictions stopped because a row cannot be read: {error}");
            findings.push(Finding { kind: "file", id: app.config.workspace.to_string(), what });
        }
        Err(error) => return Err(error.into()),
    }
    Ok(findings)
}

async fn print(app: &App, findings: &[Finding]) -> anyhow::Result<()> {
    if app.output.json {
        app.output.json(&findings)?;
    } else if findings.is_empty() {
        let documents = wire::open_store(&app.config).await?.snapshot().await?.counts().await?.documents;
        app.output.line(format_args!("no contradictions in {}", count(documents, "document")))?;
    } else {
        for finding in findings {
            app.output.line(format_args!(
                "{} {}: {}",
                finding.kind,
                plain(&finding.id),
                one_line(&finding.what, 500)
            ))?;
        }
        app.output.line(count(findings.len() as u64, "finding"))?;
        if findings.iter().any(|finding| !matches!(finding.kind, "projection")) {
            app.output
                .note("help: `graphloom repair` restores what can be derived again and reports the rest");
        }
    }
    Ok(())
}
