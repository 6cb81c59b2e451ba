//! `graphloom migrate`: shows the schema versions of databases and workspace files, and brings them up to this release.

use std::cmp::Ordering;

use graphloom::stores;
use graphloom_core::SchemaVersion;
use serde_json::json;

use super::App;
use crate::args::MigrateArgs;
use crate::fault::{Exit, Fault};

/// Runs the command.
pub(crate) async fn run(app: &App, args: &MigrateArgs) -> anyhow::Result<Exit> {
    let before = stores::schema_versions(&app.config).await?;
    let is_any = |order| before.iter().any(|version| version.found.cmp(&version.supported) == order);
    let (is_newer, is_due) = (is_any(Ordering::Greater), is_any(Ordering::Less));
    let after = if is_due && !is_newer && !args.check {
        stores::migrate(&app.config).await?;
        stores::schema_versions(&app.config).await?
    } else {
        before.clone()
    };
    match app.output.json {
        true => app.output.json(&json!({ "event": "schema", "before": before, "after": after }))?,
        false => print(app, &before, &after)?,
    }
    if is_newer {
        let fault = Fault::failed("these tables are from a later release");
        return Err(fault.help("use that release or a later one").into());
    }
    if args.check && is_due {
        app.output.note("Next: `graphloom migrate`");
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

fn print(app: &App, before: &[SchemaVersion], after: &[SchemaVersion]) -> anyhow::Result<()> {
    if after.is_empty() {
        let folder = app.config.data_dir.display();
        return Ok(app.output.line(format_args!("no workspaces in {folder}"))?);
    }
    for version in after {
        let found_before =
            before.iter().find(|before| before.place == version.place).map(|before| before.found);
        app.output.line(format_args!("{}: {}", version.place, state(version, found_before)))?;
    }
    Ok(())
}

fn state(&SchemaVersion { found, supported, .. }: &SchemaVersion, before: Option<u32>) -> String {
    match (before, found.cmp(&supported)) {
        (Some(before), Ordering::Equal) if before < found => {
            format!("migrated from version {before} to {found}")
        }
        (_, Ordering::Equal) => format!("version {found}, up to date"),
        (_, Ordering::Less) if found == 0 => format!("no tables; this release creates version {supported}"),
        (_, Ordering::Less) => format!("version {found}; this release migrates it to version {supported}"),
        (_, Ordering::Greater) => {
            format!("version {found} is from a later release; this one reads up to version {supported}")
        }
    }
}
