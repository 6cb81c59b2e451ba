//! Implements the harness protocol for Graphloom, to measure it side by side with other systems.
//!
//! Reads one JSON request per line on stdin and writes one JSON reply per line on stdout. A passage becomes a
//! source named `<id>.txt`, so that retrieved sources map back to passages.

mod dump;
mod protocol;
mod system;

use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use crate::protocol::{Reply, Request};
use crate::system::System;

/// Threads that run futures; few, because this process is measured.
const WORKERS: usize = 2;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .context("starting the runtime")?;
    let mut system = None;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.context("reading a request")?;
        let started = Instant::now();
        let (reply, last) = match serde_json::from_str(&line) {
            Ok(request) => {
                let last = matches!(request, Request::Close);
                (runtime.block_on(handle(&mut system, request)), last)
            }
            Err(error) => (Err(error.into()), false),
        };
        serde_json::to_writer(&mut out, &envelope(reply, started)?).context("writing a reply")?;
        out.write_all(b"\n")?;
        out.flush()?;
        if last {
            break;
        }
    }
    Ok(())
}

/// Returns the passage id of a source name.
fn passage_of(source: &str) -> &str {
    source.strip_suffix(".txt").unwrap_or(source)
}

/// Handles a request; `None` if the operation is unknown.
async fn handle(system: &mut Option<System>, request: Request) -> anyhow::Result<Option<Reply>> {
    let started = Instant::now();
    if let Request::Open { workdir, server, options } = request {
        *system = Some(System::open(&workdir, &server, &options.unwrap_or_default()).await?);
        return Ok(Some(Reply::Opened {
            modes: system::MODES,
            version: env!("CARGO_PKG_VERSION"),
            load_s: started.elapsed().as_secs_f64(),
        }));
    }
    if let Request::Unsupported = request {
        return Ok(None);
    }
    if let Request::Close = request {
        *system = None;
        return Ok(Some(Reply::Done {}));
    }
    let system = system.as_ref().context("nothing is open")?;
    Ok(Some(match request {
        Request::Open { .. } | Request::Close | Request::Unsupported => Reply::Done {},
        Request::Index { passages } => Reply::Statuses { statuses: system.index(passages).await? },
        Request::Query { items, concurrency, top_k } => {
            Reply::Results { results: system.query(items, concurrency, top_k).await? }
        }
        Request::Answer { question, mode } => {
            Reply::Answered { answer: system.answer(question, mode.as_deref().unwrap_or("mix")).await? }
        }
        Request::Delete { id } => {
            system.delete(&id).await?;
            Reply::Done {}
        }
        Request::Retry => Reply::Statuses { statuses: system.retry().await? },
        Request::Dump => Reply::Dumped(Box::new(system.dump().await?)),
    }))
}

/// Adds `ok`, `wall_s` and, on failure, `error`.
fn envelope(reply: anyhow::Result<Option<Reply>>, started: Instant) -> anyhow::Result<Value> {
    let mut value = match reply {
        Ok(Some(reply)) => {
            let mut value = serde_json::to_value(reply)?;
            value["ok"] = json!(true);
            value
        }
        Ok(None) => json!({ "ok": false, "unsupported": true }),
        Err(error) => json!({ "ok": false, "error": format!("{error:#}") }),
    };
    value["wall_s"] = json!(started.elapsed().as_secs_f64());
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_reply(line: &str) -> Value {
        let mut system = None;
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime needs nothing");
        let reply = serde_json::from_str(line)
            .map_err(anyhow::Error::from)
            .and_then(|request| runtime.block_on(handle(&mut system, request)));
        let mut value = envelope(reply, Instant::now()).expect("a reply is JSON");
        assert!(value["wall_s"].take().as_f64().is_some());
        value
    }

    #[test]
    fn an_unknown_operation_gets_the_answer_unsupported() {
        assert_eq!(
            check_reply(r#"{"op":"defragment","hard":true}"#),
            json!({ "ok": false, "unsupported": true, "wall_s": null })
        );
    }

    #[test]
    fn a_request_before_open_is_answered_with_an_error() {
        assert_eq!(
            check_reply(r#"{"op":"dump"}"#),
            json!({ "ok": false, "error": "nothing is open", "wall_s": null })
        );
    }

    #[test]
    fn a_misspelt_option_is_refused() {
        let reply = check_reply(r#"{"op":"open","workdir":"x","server":"y","options":{"ofline":true}}"#);
        assert!(
            reply["error"].as_str().is_some_and(|error| error.contains("unknown field `ofline`")),
            "{reply}"
        );
    }

    #[test]
    fn a_line_that_is_not_json_is_answered_with_an_error() {
        assert_eq!(check_reply("hello")["ok"], json!(false));
    }
}
