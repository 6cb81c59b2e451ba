//! Many concurrent readers.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Lane;
use crate::http;
use crate::report::Kind;
use crate::text::NAMES;

impl Lane<'_> {
    /// Asks questions continuously until the time is over or another lane reaches a meeting point.
    pub(super) fn crowd(&self, slot: u32, readers: u32, how_long: Duration) {
        let world = self.world;
        let Some(server) = world.server(slot) else { return };
        let until = Instant::now() + how_long;
        thread::scope(|scope| {
            for reader in 0..readers {
                let address = &server.address;
                scope.spawn(move || {
                    let quiet = &self.lanes.quiet;
                    let mut number = 0;
                    while Instant::now() < until && !world.is_over() && !quiet.load(Ordering::Relaxed) {
                        number += 1;
                        let name = NAMES[(reader + number) as usize % NAMES.len()];
                        let body =
                            json!({ "query": format!("Who works with {name}?"), "only_need_context": true });
                        let answer = http::send(address, "POST", "/query/data", &body.to_string());
                        world.ended.fetch_add(1, Ordering::Relaxed);
                        world.tally().operations += 1;
                        match answer {
                            Ok(answer) if answer.status == 429 => {
                                world.tally().busy += 1;
                                thread::sleep(Duration::from_millis(100));
                            }
                            Ok(answer) if answer.status >= 500 => {
                                world.find(
                                    Kind::Answer,
                                    None,
                                    format!("/query/data: {} {}", answer.status, answer.body),
                                );
                                return;
                            }
                            Ok(_) => {}
                            Err(_) => return,
                        }
                    }
                });
            }
        });
    }
}
