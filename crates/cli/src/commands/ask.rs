//! `graphloom ask`: an answer with citations.

use std::io;

use graphloom_core::Call;
use graphloom_engine::Engine;
use graphloom_engine::query::{self, Answer, Citation, Mode, QueryNote, Question, Retrieval};
use serde::Serialize;

use super::App;
use crate::args::AskArgs;
use crate::fault::{Exit, Fault};
use crate::output::render::{one_line, place, plain};
use crate::wire::{self, Asks};

/// Characters of a quote printed for people; `--json` gives all.
const QUOTE_CHARACTERS: usize = 240;

#[derive(Serialize)]
struct Answered<'a> {
    question: &'a str,
    mode: Mode,
    /// The answer's words.
    answer: &'a str,
    /// Whether the documents held anything to answer from.
    found: bool,
    /// `null` for verbatim sentences chosen by rules.
    model: Option<&'a str>,
    citations: &'a [Citation],
    dropped_citations: u32,
    /// What did not go as asked for.
    notes: &'a [QueryNote],
    retrieval: &'a Retrieval,
    calls: Vec<&'a Call>,
}

/// Answers, or prints what a model would be given.
pub(crate) async fn run(app: &App, args: &AskArgs) -> anyhow::Result<Exit> {
    let question = args.question();
    let asks = if args.context_only || args.prompt_only { Asks::Keywords } else { Asks::Answer };
    if args.min_rerank_score.is_some() && app.config.reranker.is_none() {
        let fault = Fault::usage("--min-rerank-score needs a reranker and none is configured");
        return Err(fault
            .help("--set reranker=cohere:MODEL or --set reranker=jina:MODEL chooses one")
            .into());
    }
    if !question.min_rerank_score.is_finite() {
        return Err(Fault::usage("--min-rerank-score must be a number").into());
    }
    let mut engine = wire::query_engine(app, asks).await?;
    if question.rerank {
        engine.models.reranker = wire::reranker(app)?;
    }
    let retrieval = query::retrieve(&engine, &question).await?;
    for note in &retrieval.notes {
        app.output.warn(format_args!("warning: {note}"));
        let QueryNote::NotReranked { remedy, .. } = note;
        if let Some(remedy) = remedy {
            app.output.warn(format_args!("help: {remedy}"));
        }
    }
    if asks == Asks::Answer {
        return answer(app, &engine, &question, &retrieval).await;
    }
    wire::record_calls(&engine, &retrieval.calls).await?;
    print_prompt(app, args, &question, &retrieval)
}

fn print_prompt(
    app: &App,
    args: &AskArgs,
    question: &Question,
    retrieval: &Retrieval,
) -> anyhow::Result<Exit> {
    let found = !retrieval.context.is_empty() || retrieval.mode == Mode::Bypass;
    if args.prompt_only {
        let messages = query::prompt_of(question, retrieval);
        if app.output.json {
            let messages: Vec<_> = messages
                .iter()
                .map(|message| serde_json::json!({ "role": message.role, "content": message.content }))
                .collect();
            app.output.json(&messages)?;
        } else {
            for message in messages {
                app.output.line(plain(&message.content))?;
            }
        }
    } else if app.output.json {
        app.output.json(retrieval)?;
    } else {
        app.output.line(plain(&retrieval.context))?;
    }
    Ok(if found { Exit::Done } else { Exit::NothingFound })
}

async fn answer(
    app: &App,
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
) -> anyhow::Result<Exit> {
    let mut broken: Option<io::Error> = None;
    let mut show = |delta: &str| {
        if !app.output.json && broken.is_none() {
            broken = app.output.stream(&plain(delta)).err();
        }
    };
    let answer = query::answer(engine, question, retrieval, &mut show).await;
    if let Some(error) = broken {
        return Err(error.into());
    }
    let answer = answer?;
    let calls: Vec<&Call> = retrieval.calls.iter().chain(&answer.calls).collect();
    wire::record_calls(engine, calls.iter().copied()).await?;
    if app.output.json {
        app.output.json(&Answered {
            question: &question.text,
            mode: question.mode,
            answer: &answer.text,
            found: answer.found,
            model: answer.model.as_deref(),
            citations: &answer.citations,
            dropped_citations: answer.dropped_citations,
            notes: &retrieval.notes,
            retrieval,
            calls,
        })?;
    } else {
        app.output.line("")?;
        print_sources(app, &answer)?;
    }
    Ok(if answer.found { Exit::Done } else { Exit::NothingFound })
}

fn print_sources(app: &App, answer: &Answer) -> anyhow::Result<()> {
    let output = &app.output;
    if !answer.citations.is_empty() {
        output.line("")?;
    }
    for citation in &answer.citations {
        let place =
            place(&citation.source, citation.lines, citation.lines_match_source, citation.place.as_ref());
        let mark = output.mark(&format!("[{}]", citation.number));
        output.line(format_args!("{mark} {place}  \"{}\"", one_line(&citation.quote, QUOTE_CHARACTERS)))?;
    }
    if answer.dropped_citations > 0 {
        output.note(format_args!(
            "citations that pointed to nothing and were dropped: {}",
            answer.dropped_citations
        ));
    }
    if answer.found && answer.model.is_none() {
        output.note("answered without a language model: verbatim sentences from your documents");
        if let Some(service) = app.config.unused_chat_key() {
            output.note(format_args!("a key is set; --llm {}:MODEL lets a model answer", service.name()));
        }
    }
    Ok(())
}
