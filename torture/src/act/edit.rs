//! Edits of the graph through commands and requests.

use std::io;
use std::time::Instant;

use super::{Lane, judge_and_note};
use crate::edit;
use crate::history::{Edit, Via};
use crate::judge::Operation;
use crate::model::WriteEnd;

impl Lane<'_> {
    pub(super) fn edit(&mut self, step: u32, edit: Edit, via: Via) -> io::Result<()> {
        let world = self.world;
        let from = Instant::now();
        let (ended, answer) = match self.slot(via) {
            Some(slot) => {
                let (method, path, body) = edit::request(edit, step);
                self.request(step, slot, Operation::Edit, (method, path), &body)
            }
            None => {
                let command = edit::command(edit, step);
                let words = ["--json"].into_iter().chain(command.iter().map(String::as_str));
                let ran = world.run(step, &words.collect::<Vec<_>>())?;
                (judge_and_note(world, Operation::Edit, &ran), ran.stdout)
            }
        };
        self.noted(ended, from);
        if ended == WriteEnd::Done {
            world.model().decisions.extend(edit::decisions(&answer));
        }
        Ok(())
    }
}
