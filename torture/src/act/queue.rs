//! Operations on the queue: cancelling, pausing, and re-extracting.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Lane, judge_and_note};
use crate::history::{By, Via};
use crate::judge::Operation;
use crate::model::WriteEnd;
use crate::provider;
use crate::report::Kind;
use crate::text;
use crate::weather::Spell;

/// How long after an acknowledged pause calls may still start, if a worker had already decided on them.
const LAST_CALLS: Duration = Duration::from_secs(3);

impl Lane<'_> {
    /// Cancels a source, or everything.
    pub(super) fn cancel(&mut self, step: u32, source: Option<u32>, via: Via) -> io::Result<()> {
        let world = self.world;
        let Some(source) = source else {
            match self.slot(via) {
                Some(slot) => {
                    let to = ("POST", "/documents/cancel_pipeline");
                    self.request(step, slot, Operation::Queue, to, &json!({}));
                }
                None => {
                    let ran = world.run(step, &["--json", "cancel", "--all"])?;
                    judge_and_note(world, Operation::Queue, &ran);
                }
            }
            return Ok(());
        };
        let operation = Operation::Cancel { may_be_missing: world.model().may_be_missing(source) };
        let ran = world.run(step, &["--json", "cancel", &text::file(source)])?;
        let ended = judge_and_note(world, operation, &ran);
        let output: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        let is_out = output["cancelled"].as_array().is_some_and(|list| !list.is_empty());
        if ended == WriteEnd::Done && is_out {
            world.model().cancelled(source);
        }
        Ok(())
    }

    /// Re-extracts sources.
    pub(super) fn renew(&mut self, step: u32, sources: &[u32], by: By) -> io::Result<()> {
        let world = self.world;
        if world.settings.model_ms.is_none() {
            return Ok(());
        }
        let model = match by {
            By::First => provider::MODEL,
            By::Other => provider::OTHER_MODEL,
        };
        let set = format!("extract_llm=openai:{model}");
        let files: Vec<String> = sources.iter().map(|source| text::file(*source)).collect();
        let mut arguments = vec!["--json", "--set", &set, "re-extract"];
        arguments.extend(files.iter().map(String::as_str));
        world.model().renews(model);
        let ran = world.run(step, &arguments)?;
        judge_and_note(world, Operation::Renew, &ran);
        Ok(())
    }

    /// Pauses the queue.
    pub(super) fn pause(&self, step: u32) -> io::Result<()> {
        let world = self.world;
        world.weather.begin(Spell::Paused);
        let ran = world.run(step, &["pause"])?;
        if judge_and_note(world, Operation::Queue, &ran) == WriteEnd::Done {
            *world.paused_at() = Some(Instant::now());
        }
        Ok(())
    }

    /// Resumes the queue; no model may have been called for a document in the meantime.
    pub(super) fn resume(&self, step: u32) -> io::Result<()> {
        let world = self.world;
        let paused_at = world.paused_at().take();
        let held_up = |since: Instant| {
            [Spell::Stopped, Spell::Delayed, Spell::Disk, Spell::Full, Spell::Model]
                .into_iter()
                .any(|spell| world.weather.was(spell, since, Duration::ZERO))
        };
        if let Some(at) = paused_at
            && let Some(last) = world.setup.provider.last_extraction()
            && last > at + LAST_CALLS
            && !held_up(at)
        {
            let what = format!("a model was asked {:?} after the queue was paused", last - at);
            world.find(Kind::Paused, Some(step), what);
        }
        let ran = world.run(step, &["resume"])?;
        if judge_and_note(world, Operation::Queue, &ran) == WriteEnd::Done {
            world.weather.end(Spell::Paused);
        }
        Ok(())
    }
}
