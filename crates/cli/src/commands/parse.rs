//! `graphloom parse`: shows how indexing reads an LLM's answer.

use std::io;
use std::path::Path;

use anyhow::Context;
use graphloom::files;
use graphloom_core::Span;
use graphloom_engine::extract::records::{Damage, ParsedRecord, parse};
use serde::Serialize;

use crate::args::ParseArgs;
use crate::fault::Exit;
use crate::output::Output;

/// Maximum size of an answer; several times what any LLM writes.
const MAX_ANSWER_BYTES: usize = 16 << 20;

#[derive(Serialize)]
struct ParseOutput {
    /// Whether the answer has an end marker.
    complete: bool,
    records: Vec<Record>,
    rejects: Vec<Reject>,
}

#[derive(Serialize)]
struct Record {
    #[serde(flatten)]
    record: ParsedRecord,
    span: Span,
    /// Repairs that were needed; empty for a well-formed record.
    repaired: Vec<Damage>,
}

#[derive(Serialize)]
struct Reject {
    reason: &'static str,
    explanation: &'static str,
    offset: u64,
    text: String,
}

/// Prints the records and rejects of an answer from a file or standard input.
pub(crate) fn run(output: &Output, args: &ParseArgs) -> anyhow::Result<Exit> {
    let bytes = match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let opened = std::fs::File::open(file);
            opened
                .and_then(|opened| files::read_bounded(opened, MAX_ANSWER_BYTES))
                .with_context(|| format!("reading {}", file.display()))?
        }
        None => {
            files::read_bounded(io::stdin().lock(), MAX_ANSWER_BYTES).context("reading standard input")?
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        output.note("note: the answer is not UTF-8; positions count the text after replacing invalid bytes");
    }
    let parsed = parse(&text, args.cut);
    let rejects = parsed.rejects_of(0, &text).into_iter().map(|reject| Reject {
        reason: reject.reason.name(),
        explanation: reject.reason.explain(),
        offset: reject.offset,
        text: reject.text,
    });
    let rejects = rejects.collect();
    let records = parsed.found.into_iter().map(|found| Record {
        record: found.record,
        span: Span::new(found.span.start, found.span.end),
        repaired: found.damage.into_iter().collect(),
    });
    let shown = ParseOutput { complete: parsed.complete, records: records.collect(), rejects };
    if output.json {
        output.json(&shown)?;
    } else {
        output.line(serde_json::to_string_pretty(&shown)?)?;
    }
    Ok(Exit::Done)
}
