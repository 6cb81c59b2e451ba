//! Requests to a server.

use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Lane;
use crate::http::{self, Answer};
use crate::judge::{self, Operation};
use crate::model::WriteEnd;

/// Retries of a request that is rejected as busy.
const BUSY_RETRIES: u32 = 20;

impl Lane<'_> {
    /// Sends a request, with retries if the server is busy; returns how it ended, and the answer.
    pub(super) fn request(
        &self,
        step: u32,
        slot: u32,
        operation: Operation,
        (method, path): (&str, &str),
        body: &Value,
    ) -> (WriteEnd, String) {
        let body = body.to_string();
        let send = |address: &str| http::send(address, method, path, &body);
        self.request_by(step, slot, operation, &format!("{method} {path}"), send)
    }

    /// Sends a request with a custom function, with retries if the server is busy; returns how it ended, and the
    /// answer.
    pub(super) fn request_by(
        &self,
        step: u32,
        slot: u32,
        operation: Operation,
        what: &str,
        send: impl Fn(&str) -> io::Result<Answer>,
    ) -> (WriteEnd, String) {
        let world = self.world;
        let Some(server) = world.server(slot) else { return (WriteEnd::Refused, String::new()) };
        let mut retries = 0;
        loop {
            let from = Instant::now();
            let answer = send(&server.address);
            world.ended.fetch_add(1, Ordering::Relaxed);
            world.tally().operations += 1;
            let alive = server.process.poll().is_none();
            let ended = judge::answer(operation, what, &answer, from, alive, &world.weather);
            let ended = match ended {
                Ok(ended) => ended,
                Err(_) if world.is_over() => WriteEnd::Unknown,
                Err((kind, what)) => {
                    world.find(kind, Some(step), what);
                    WriteEnd::Unknown
                }
            };
            let busy = answer.as_ref().is_ok_and(|answer| answer.status == 429);
            if busy {
                world.tally().busy += 1;
                retries += 1;
                if retries <= BUSY_RETRIES && !world.is_over() {
                    thread::sleep(Duration::from_millis(250));
                    continue;
                }
            }
            return (ended, answer.map(|answer| answer.body).unwrap_or_default());
        }
    }
}
