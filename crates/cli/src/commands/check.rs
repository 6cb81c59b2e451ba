//! `graphloom check`: damage to the files of a store, and contradictions in it.

use graphloom_core::{Store, StoreError};
use graphloom_storage::check::{Finding, check};

use super::App;
use crate::fault::Exit;
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Prints every finding; exits with 1 if there is one.
pub(crate) async fn run(app: &App) -> anyhow::Result<Exit> {
    let findings = findings(app).await?;
    print(app, &findings).await?;
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Everything that is damaged or contradicts itself in the workspace.
pub(crate) async fn findings(app: &App) -> anyhow::Result<Vec<Finding>> {
    wire::require_workspace(&app.config)?;
    let store = wire::open_or_create(&app.config)?;
    let mut findings = store.verify()?;
    let contradictions = match store.snapshot().await {
        Ok(snapshot) => check(snapshot.as_ref()).await,
        Err(error) => Err(error),
    };
    match contradictions {
        Ok(found) => findings.extend(found),
        // Rows that cannot be read are in the list already.
        Err(error @ StoreError::Corrupt { .. }) if !findings.is_empty() => {
            let what = format!("contradictions were not looked for, since not all can be read: {error}");
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
        let documents = wire::open_store(&app.config)?.snapshot().await?.counts().await?.documents;
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
            app.output.note(
                "help: `graphloom repair` mends what can be derived again and says what else is to be done",
            );
        }
    }
    Ok(())
}
