//! Read operations.

use std::io::{self, Read as _};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Lane, export, judge_and_note};
use crate::history::{Read, Via};
use crate::http;
use crate::judge::Operation;
use crate::report::Kind;
use crate::text::{self, NAMES};

/// The whole graph as JSON lines.
const EXPORT: &str = "/export?format=jsonl";

impl Lane<'_> {
    pub(super) fn read(&mut self, step: u32, read: Read, via: Via) -> io::Result<()> {
        let world = self.world;
        let canary = self.gone.map(|(source, version)| text::canary(source, version));
        let words = canary.clone().unwrap_or_else(|| NAMES[step as usize % NAMES.len()].to_owned());
        let slot = self.slot(via);
        let answer = match (read, slot) {
            (Read::Search, Some(slot)) => {
                let body = json!({ "query": words });
                self.request(step, slot, Operation::Read, ("POST", "/search"), &body).1
            }
            (Read::Ask, Some(slot)) => {
                let body = json!({ "query": format!("Who works on {words}?"), "only_need_context": true });
                self.request(step, slot, Operation::Read, ("POST", "/query"), &body).1
            }
            (Read::Dump, Some(slot)) => {
                self.request(step, slot, Operation::Read, ("GET", "/dump/hash"), &json!({})).1
            }
            (Read::Export, Some(slot)) => {
                self.request(step, slot, Operation::Read, ("GET", EXPORT), &json!({})).1
            }
            (Read::Search, None) => self.look(step, &["--json", "search", &words])?,
            (Read::Ask, None) => {
                self.look(step, &["ask", "--context-only", &format!("Who works on {words}?")])?
            }
            (Read::Dump, None) => self.look(step, &["dump"])?,
            (Read::Export, None) => self.look(step, &["export"])?,
            (Read::SlowDump(ms), _) => return self.slow_dump(step, Duration::from_millis(ms)),
            (Read::SlowExport(ms), Some(slot)) => self.slow_export(step, slot, Duration::from_millis(ms)),
            (Read::SlowExport(_), None) => return Ok(()),
        };
        if matches!(read, Read::Export | Read::SlowExport(_)) {
            for mixed in export::mixed(&answer) {
                let what = format!("an export shows two versions of one document, {mixed}");
                world.find(Kind::Ghost, Some(step), what);
            }
        }
        // The context repeats the question, which contains the canary; everything else comes from the store.
        if read != Read::Ask
            && let Some((source, version)) = self.gone
            && text::canaries(&answer).contains(&(source, version))
        {
            let what = format!("{read:?} still shows {}, which was removed", text::canary(source, version));
            world.find(Kind::Ghost, Some(step), what);
        }
        Ok(())
    }

    fn look(&self, step: u32, arguments: &[&str]) -> io::Result<String> {
        let ran = self.world.run(step, arguments)?;
        judge_and_note(self.world, Operation::Read, &ran);
        Ok(ran.stdout)
    }

    /// Reads an export at 1 KB per second for `how_long`, then at full speed.
    fn slow_export(&self, step: u32, slot: u32, how_long: Duration) -> String {
        let world = self.world;
        let until = Instant::now() + how_long;
        let pace = || {
            // A slow reader counts as progress.
            world.ended.fetch_add(1, Ordering::Relaxed);
            let is_slow = Instant::now() < until && !world.is_over();
            is_slow.then(|| thread::sleep(Duration::from_secs(1))).is_some()
        };
        let send = |address: &str| http::send_and_read(address, ("GET", EXPORT), "{}", pace);
        self.request_by(step, slot, Operation::Read, EXPORT, send).1
    }

    /// Dumps the state into a pipe that is read slowly.
    fn slow_dump(&self, step: u32, how_long: Duration) -> io::Result<()> {
        let world = self.world;
        let (mut reader, writer) = io::pipe()?;
        let process = world.start_into(step, &["dump"], Stdio::from(writer))?;
        let until = Instant::now() + how_long;
        let mut buffer = [0; 1024];
        while Instant::now() < until && !world.is_over() {
            if reader.read(&mut buffer)? == 0 {
                break;
            }
            // A slow reader counts as progress.
            world.ended.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(100));
        }
        io::copy(&mut reader, &mut io::sink())?;
        let ran = world.wait(&process);
        judge_and_note(world, Operation::Read, &ran);
        Ok(())
    }
}
