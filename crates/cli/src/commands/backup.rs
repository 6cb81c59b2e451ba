//! `graphloom backup` and `graphloom restore`: copies of all workspaces with keys and users, in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use graphloom::stores::{self, workspaces, workspaces_at};
use graphloom_core::{PartsHasher, Patience, WorkspaceId, WorkspaceStore, Workspaces, table, write_dump};
use graphloom_engine::copy::CopyError;
use graphloom_server::AccessStore;
use graphloom_storage::check::check;
use graphloom_storage::private;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::App;
use super::copying::{copy_one, index_copy, no_workspaces};
use super::unreadable::Unreadable;
use crate::args::{BackupArgs, RestoreArgs};
use crate::fault::{Exit, Fault};
use crate::interrupt::Interrupt;
use crate::output::render::{count, plain};
use crate::wire;

/// Describes a complete backup; written last.
const MANIFEST: &str = "backup.json";
/// Marks a folder as a backup that is not complete; becomes [`MANIFEST`].
const UNFINISHED: &str = "backup.json.new";
/// Keys and users of the server.
const ACCESS: &str = "access.json";
/// Forms of a backup: 1 contains all its workspaces, 2 leaves some to older backups.
const FORMS: [u32; 2] = [1, 2];

/// The content of [`MANIFEST`].
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    form: u32,
    /// The release that wrote the backup.
    release: String,
    taken_at: String,
    /// The data folder or database of the workspaces.
    from: String,
    workspaces: Vec<BackupEntry>,
}

/// A workspace of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct BackupEntry {
    workspace: WorkspaceId,
    documents: u64,
    hash: String,
    /// Differs if the workspace has changed; `None` in backups of older releases. See [`stamp_of`].
    #[serde(default)]
    stamp: Option<String>,
    /// Path from this backup's folder to the older backup with the copy; `None` if the copy is in this backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
}

/// Copies all workspaces into a new folder. Each copy is a snapshot of its workspace, even while others write. Workspaces that cannot
/// be read are named and left out.
pub(crate) async fn backup(app: &App, args: &BackupArgs) -> anyhow::Result<Exit> {
    let folder = args.folder.as_path();
    check_folder(app, folder)?;
    let base =
        args.incremental.as_deref().map(|base| Ok::<_, anyhow::Error>((base, read(base)?))).transpose()?;
    let (from, names) = (workspaces(&app.config)?, stores::list(&app.config).await?);
    if names.is_empty() {
        return Err(no_workspaces(from.as_ref()).into());
    }
    let create = || {
        private::create_folder(folder)?;
        fs::write(folder.join(UNFINISHED), "")
    };
    create().with_context(|| format!("creating {}", folder.display()))?;
    let to = place_of(app, folder)?;
    let interrupt = Interrupt::listen()?;
    let (mut kept, mut unreadable) = (Vec::new(), 0);
    for workspace in names {
        let (place, stamp) = match read_stamp(app, &workspace).await {
            Ok(read) => read,
            Err(error) => {
                print_unreadable(app, &workspace, &error)?;
                unreadable += 1;
                continue;
            }
        };
        if let Some((base, manifest)) = &base
            && let Some(same) = manifest.workspaces.iter().find(|kept| kept.workspace == workspace)
            && same.stamp.as_ref() == Some(&stamp)
        {
            let holder = base.join(same.folder.as_deref().unwrap_or(Path::new("")));
            if place_of(app, &holder)?.exists(&workspace).await? {
                let unchanged = BackupEntry { folder: Some(from_folder(folder, &holder)?), ..same.clone() };
                print(app, "unchanged", &unchanged)?;
                kept.push(unchanged);
                continue;
            }
        }
        let copied = tokio::select! {
            copied = copy_one(app, &workspace, place.as_ref(), to.as_ref()) => copied,
            () = interrupt.wait() => {
                app.output.note("stopped; run the same command to continue");
                return Ok(Exit::Interrupted);
            }
        };
        let report = match copied {
            Ok(report) => report,
            Err(error) if is_of_source(&error) => {
                to.delete(&workspace).await?;
                print_unreadable(app, &workspace, &error)?;
                unreadable += 1;
                continue;
            }
            Err(error) => {
                let what = format!("backing up {workspace}; an incomplete backup folder can be deleted");
                return Err(error.context(what));
            }
        };
        let (documents, hash) = (report.documents, report.hash);
        let copied = BackupEntry { workspace, documents, hash, stamp: Some(stamp), folder: None };
        print(app, "backed up", &copied)?;
        kept.push(copied);
    }
    if kept.is_empty() {
        return Err(Fault::failed("no workspace was backed up").into());
    }
    let access = AccessStore::of(from.shared_texts(), &app.config.data_dir);
    access.refresh().await?;
    if let Some(text) = access.export()? {
        write_own(&folder.join(ACCESS), &text)?;
    }
    let (release, taken_at) = (env!("CARGO_PKG_VERSION").to_owned(), wire::now().to_iso());
    let form = FORMS[usize::from(kept.iter().any(|kept| kept.folder.is_some()))];
    let manifest = Manifest { form, release, taken_at, from: from.place(), workspaces: kept };
    write_own(&folder.join(MANIFEST), &serde_json::to_string_pretty(&manifest)?)?;
    Ok(if unreadable > 0 { Exit::Partly } else { Exit::Done })
}

/// Rejects a folder that cannot become a backup: it holds a complete one or other files, or belongs to the data folder.
fn check_folder(app: &App, folder: &Path) -> anyhow::Result<()> {
    let refuse =
        |what: &str, help: &str| Err(Fault::usage(format!("{} {what}", folder.display())).help(help).into());
    if folder.join(MANIFEST).exists() {
        return refuse("already contains a complete backup", "name a new folder");
    }
    if resolved(app, folder).starts_with(resolved(app, &app.config.data_dir)) {
        return refuse("is the data folder or inside it", "name a folder outside of it");
    }
    let has_files = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(error).with_context(|| format!("reading {}", folder.display())),
    };
    if has_files && !folder.join(UNFINISHED).exists() {
        return refuse("contains other files", "name a new or empty folder");
    }
    Ok(())
}

/// Returns a path without symbolic links, as far as it exists.
fn resolved(app: &App, path: &Path) -> PathBuf {
    let path = app.here.folder.join(path);
    let existing = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    match existing {
        Some((folder, real)) => path.strip_prefix(folder).map(|rest| real.join(rest)).unwrap_or(real),
        None => path,
    }
}

/// Returns the place of a workspace and its stamp.
async fn read_stamp(app: &App, workspace: &WorkspaceId) -> anyhow::Result<(Arc<dyn Workspaces>, String)> {
    let place = stores::place_of(&app.config, workspace)?;
    let stamp = stamp_of(place.open(workspace, Patience::Endless).await?.as_ref()).await?;
    Ok((place, stamp))
}

/// True if a copy failed because its source cannot be read.
fn is_of_source(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(CopyError::Store { at: "source", .. }))
}

fn print_unreadable(app: &App, workspace: &WorkspaceId, error: &anyhow::Error) -> anyhow::Result<()> {
    let unreadable = Unreadable::new(app, workspace, error);
    if app.output.json {
        let Unreadable { error, help } = &unreadable;
        return app.output.json(
            &json!({ "event": "not backed up", "workspace": workspace, "error": error, "help": help }),
        );
    }
    app.output.warn(format_args!("not backed up: {workspace}: {}", plain(&unreadable.error)));
    unreadable.print_help();
    Ok(())
}

/// Verifies a backup and, unless `--verify` is set, copies its workspaces to the configured place.
pub(crate) async fn restore(app: &App, args: &RestoreArgs) -> anyhow::Result<Exit> {
    let folder = args.folder.as_path();
    let manifest = read(folder)?;
    for kept in &manifest.workspaces {
        verify(kept.place(app, folder)?.as_ref(), kept)
            .await
            .with_context(|| format!("verifying the backup of {}", kept.workspace))?;
        if args.verify {
            print(app, "verified", kept)?;
        }
    }
    if args.verify {
        return Ok(Exit::Done);
    }
    let to = workspaces(&app.config)?;
    let interrupt = Interrupt::listen()?;
    for kept in &manifest.workspaces {
        let (from, place) = (kept.place(app, folder)?, stores::place_of(&app.config, &kept.workspace)?);
        tokio::select! {
            report = copy_one(app, &kept.workspace, from.as_ref(), place.as_ref()) => report.map(drop)?,
            () = interrupt.wait() => {
                app.output.note("stopped; run the same command to continue");
                return Ok(Exit::Interrupted);
            }
        }
        index_copy(&kept.workspace, place.as_ref()).await;
        print(app, "restored", kept)?;
    }
    let access = folder.join(ACCESS);
    if access.exists() {
        let text = fs::read_to_string(&access).with_context(|| format!("reading {}", access.display()))?;
        let there = AccessStore::of(to.shared_texts(), &app.config.data_dir);
        if !there.import(&text).await? && !app.output.json {
            app.output.note("keys and users were not restored, because some exist already");
        }
    }
    Ok(Exit::Done)
}

impl BackupEntry {
    /// Returns the workspaces of the backup that contains the copy.
    ///
    /// - `folder`: the folder of the backup with this entry.
    fn place(&self, app: &App, folder: &Path) -> anyhow::Result<Arc<dyn Workspaces>> {
        let Some(older) = &self.folder else { return place_of(app, folder) };
        let holder = folder.join(older);
        if !holder.is_dir() {
            let what =
                format!("{} is in the older backup {}, which is missing", self.workspace, holder.display());
            return Err(Fault::usage(what)
                .help("move both backup folders back to where they were relative to each other")
                .into());
        }
        place_of(app, &holder)
    }
}

/// Returns a text that differs between two states of a workspace: every commit changes the revision, and a workspace that was
/// created later under the same name has documents with other times.
async fn stamp_of(store: &dyn WorkspaceStore) -> anyhow::Result<String> {
    let snapshot = store.snapshot().await?;
    let mut parts = PartsHasher::default();
    let state = (snapshot.counts().await?, snapshot.settings().await?, store.budget().await?);
    parts.push(&serde_json::to_string(&state)?);
    let mut pages = snapshot.pages(table::Documents);
    while let Some(page) = pages.next().await? {
        for document in page {
            parts.push(document.id.as_str());
            parts.push(&document.added_at.0.to_string());
        }
    }
    Ok(format!("{}-{}", snapshot.revision(), parts.finish()))
}

/// Returns the path from one folder to another. It is relative if both are in the same folder, so that they can be moved together.
fn from_folder(folder: &Path, to: &Path) -> anyhow::Result<PathBuf> {
    let whole = |path: &Path| path.canonicalize().with_context(|| format!("finding {}", path.display()));
    let (folder, to) = (whole(folder)?, whole(to)?);
    Ok(match (folder.parent(), to.parent(), to.file_name()) {
        (Some(one), Some(other), Some(name)) if one == other => Path::new("..").join(name),
        _ => to,
    })
}

/// Fails if the workspace is damaged or does not have the hash from when it was copied.
async fn verify(from: &dyn Workspaces, kept: &BackupEntry) -> anyhow::Result<()> {
    let damaged = |what: String| {
        let fault = Fault::usage(format!("the backup of {} is damaged: {what}", kept.workspace));
        fault.help("restore an older backup")
    };
    if !from.exists(&kept.workspace).await? {
        return Err(damaged("it is missing".to_owned()).into());
    }
    let store = from.open(&kept.workspace, Patience::Endless).await?;
    let mut findings = store.verify().await?;
    let snapshot = store.snapshot().await?;
    findings.extend(check(snapshot.as_ref()).await?);
    if let Some(finding) = findings.first() {
        return Err(damaged(format!("{} {}: {}", finding.kind, plain(&finding.id), finding.what)).into());
    }
    let hash = write_dump(snapshot.as_ref(), &mut std::io::sink()).await?.hash;
    if hash != kept.hash {
        return Err(damaged(format!("its hash is {hash}, not {}", kept.hash)).into());
    }
    Ok(())
}

fn read(folder: &Path) -> anyhow::Result<Manifest> {
    let path = folder.join(MANIFEST);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let fault = Fault::usage(format!("{} contains no complete backup", folder.display()));
            return Err(fault.help("run `graphloom backup` again, or name another folder").into());
        }
        text => text.with_context(|| format!("reading {}", path.display()))?,
    };
    let manifest: Manifest =
        serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
    if !FORMS.contains(&manifest.form) {
        let fault =
            Fault::usage(format!("the backup was written by a later release, {}", plain(&manifest.release)));
        return Err(fault.help("restore it with that release").into());
    }
    Ok(manifest)
}

/// Returns the workspaces in a folder, independent of the configured place.
fn place_of(app: &App, folder: &Path) -> anyhow::Result<Arc<dyn Workspaces>> {
    Ok(workspaces_at(&app.config, &format!("sqlite:{}", folder.display()))?)
}

/// Writes a file atomically, readable only by its owner.
fn write_own(path: &Path, text: &str) -> anyhow::Result<()> {
    let beside = path.with_extension("json.new");
    let write = || {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().with_context(|| format!("writing {}", path.display()))
}

fn print(app: &App, what: &str, kept: &BackupEntry) -> anyhow::Result<()> {
    let BackupEntry { workspace, documents, hash, .. } = kept;
    if app.output.json {
        return app
            .output
            .json(&json!({ "event": what, "workspace": workspace, "documents": documents, "hash": hash }));
    }
    app.output.line(format_args!("{what} {workspace}: {}, hash {hash}", count(*documents, "document")))?;
    Ok(())
}
