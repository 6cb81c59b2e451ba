//! Writes: new versions, removals, and new workspaces.

use std::time::Instant;
use std::{fs, io};

use serde_json::{Value, json};

use super::{Lane, judge_and_note};
use crate::history::Via;
use crate::judge::Operation;
use crate::model::WriteEnd;
use crate::report::Kind;
use crate::text::{self, NAMES};
use crate::world::{ProcessEnd, Role};

impl Lane<'_> {
    pub(super) fn write(&mut self, version: u32, sources: &[u32], via: Via, wait: bool) -> io::Result<()> {
        let world = self.world;
        for source in sources {
            let text = text::text(*source, version, world.settings.shape);
            fs::write(world.root.join(text::file(*source)), text)?;
        }
        if let Via::Server(slot) = via
            && world.server(slot).is_some()
        {
            for source in sources {
                let text = text::text(*source, version, world.settings.shape);
                let body = json!({ "text": text, "file_source": text::file(*source), "replace": true });
                let from = Instant::now();
                let ended = self.request(version, slot, Operation::Add, ("POST", "/documents/text"), &body).0;
                self.noted(ended, from);
                self.wrote(*source, version, ended);
            }
            return Ok(());
        }
        let files: Vec<String> = sources.iter().map(|source| text::file(*source)).collect();
        let mut arguments = vec!["--json", "add"];
        if !wait {
            arguments.push("--no-wait");
        }
        arguments.extend(files.iter().map(String::as_str));
        let from = Instant::now();
        let ran = world.run(version, &arguments)?;
        let ended = judge_and_note(world, Operation::Add, &ran);
        if !wait && sources.len() == 1 {
            self.noted(ended, from);
        } else if ended == WriteEnd::Done {
            world.tally().acknowledged += sources.len() as u64;
        }
        let accepted = acknowledged(&ran);
        for (source, file) in sources.iter().zip(&files) {
            let of_source = if accepted.contains(file) { WriteEnd::Done } else { ended };
            self.wrote(*source, version, of_source);
        }
        Ok(())
    }

    fn wrote(&mut self, source: u32, version: u32, ended: WriteEnd) {
        self.world.model().wrote(source, version, ended);
        if ended == WriteEnd::Done {
            self.last.insert(source, version);
        }
    }

    pub(super) fn remove(&mut self, step: u32, source: u32, via: Via) -> io::Result<()> {
        let world = self.world;
        let may_be_missing = world.model().may_be_missing(source);
        let has_room = world.settings.removes_alone && world.has_reserve();
        let operation = Operation::Remove { may_be_missing, has_room };
        let mut from = Instant::now();
        let ended = match via {
            Via::Server(slot) if world.server(slot).is_some() => {
                let Some(ids) = self.ids(step, slot, &text::file(source)) else { return Ok(()) };
                if ids.is_empty() {
                    // Each source belongs to one lane, so another version cannot have been added while the list
                    // was read.
                    if !may_be_missing {
                        let what = format!(
                            "the server does not list {}, which was acknowledged",
                            text::file(source)
                        );
                        world.find(Kind::Lost, Some(step), what);
                    }
                    return Ok(());
                }
                let body = json!({ "doc_ids": ids });
                from = Instant::now();
                self.request(step, slot, operation, ("DELETE", "/documents/delete_document"), &body).0
            }
            _ => {
                let ran = world.run(step, &["rm", &text::file(source)])?;
                judge_and_note(world, operation, &ran)
            }
        };
        self.noted(ended, from);
        world.model().removed(source, ended);
        if ended == WriteEnd::Done
            && let Some(version) = self.last.remove(&source)
        {
            self.gone = Some((source, version));
        }
        Ok(())
    }

    /// Ids of all documents of a source, as listed by the server; `None` if it does not answer.
    fn ids(&self, step: u32, slot: u32, file: &str) -> Option<Vec<String>> {
        let mut ids = Vec::new();
        for page in 1.. {
            let body = json!({ "page": page, "page_size": 200 });
            let (ended, answer) =
                self.request(step, slot, Operation::Read, ("POST", "/documents/paginated"), &body);
            let list: Value = serde_json::from_str(&answer).ok().filter(|_| ended == WriteEnd::Done)?;
            let documents = list["documents"].as_array().cloned().unwrap_or_default();
            let of_source = documents.iter().filter(|document| document["file_path"] == file);
            ids.extend(of_source.filter_map(|document| document["id"].as_str().map(str::to_owned)));
            if list["pagination"]["has_next"] != true {
                break;
            }
        }
        Some(ids)
    }

    /// Opens a new workspace from several processes at once.
    pub(super) fn open(&self, step: u32, workspace: u32, processes: u32) -> io::Result<()> {
        let world = self.world;
        let name = format!("new{workspace}x{step}");
        let mut started = Vec::new();
        for number in 0..processes {
            let file = format!("open{number}.md");
            fs::write(world.root.join(&file), format!("Process {number} writes about {}.\n", NAMES[0]))?;
            started.push(world.start(
                Role::Command,
                step,
                &["--workspace", &name, "add", "--no-wait", &file],
            )?);
        }
        let mut expected = 0;
        for process in &started {
            let ran = world.wait(process);
            expected += u64::from(judge_and_note(world, Operation::Add, &ran) == WriteEnd::Done);
        }
        if expected > 0 {
            let ran = world.run(step, &["--workspace", &name, "--json", "status"])?;
            judge_and_note(world, Operation::Read, &ran);
            let status: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
            let there = status["counts"]["documents"].as_u64().unwrap_or(0);
            if there < expected && ran.code == Some(0) {
                let what =
                    format!("{there} documents of {expected} acknowledged in the new workspace {name}");
                world.find(Kind::Lost, Some(step), what);
                world.tally().lost += expected - there;
            }
        }
        Ok(())
    }
}

/// The sources acknowledged by `add --json`.
fn acknowledged(ran: &ProcessEnd) -> Vec<String> {
    let lines = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|line| {
            line["event"] == "source" && line["outcome"] != "refused" && line["outcome"] != "skipped"
        })
        .filter_map(|line| line["source"].as_str().map(str::to_owned))
        .collect()
}
