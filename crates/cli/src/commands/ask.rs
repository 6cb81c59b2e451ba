//! `graphloom ask`: an answer with citations.

mod why;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use graphloom::config::ScorerChoice;
use graphloom::providers::DEFAULT_SCORER;
use graphloom_core::{CacheKind, Call, ChatMessage, DocumentId, Span, table};
use graphloom_engine::Engine;
use graphloom_engine::query::{
    self, Answer, AnswerKind, Citation, ListedDocument, Mode, QueryNote, Question, QuestionOutput, Reference,
    Retrieval, Route,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::App;
use crate::args::AskArgs;
use crate::fault::{Exit, Fault};
use crate::output::answer::AnswerWriter;
use crate::output::links::to_place;
use crate::output::render::{count, name, one_line, place, plain};
use crate::output::terminal::wrapped;
use crate::remedies;
use crate::wire::{self, QueryModels};

/// Maximum characters of a printed quote; `--json` prints all.
const QUOTE_CHARACTERS: usize = 240;

/// Maximum bytes of a question or history in JSON; above the longest accepted question.
const MAX_JSON_BYTES: u64 = 4 << 20;

/// The expected form of a history, for error messages.
const HISTORY_SHAPE: &str = r#"expected a list such as [{"role": "user", "content": "Who ..."}, {"role": "assistant", "content": "..."}]"#;

/// The expected form of a question, for error messages.
const QUESTION_SHAPE: &str = r#"expected an object such as {"query": "Who ...", "mode": "mix", "top_k": 40}"#;

#[derive(Serialize)]
struct AnswerOutput<'a> {
    question: &'a str,
    /// The question as it was searched for, if rewritten.
    standalone_question: Option<&'a str>,
    mode: Mode,
    /// What the mode `auto` chose, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a Route>,
    answer: &'a str,
    kind: AnswerKind,
    /// Whether the documents contained anything to answer from.
    found: bool,
    /// `null` if rules chose verbatim sentences.
    model: Option<&'a str>,
    citations: &'a [Citation],
    dropped_citations: u32,
    /// Byte ranges of the answer with words of the question; empty if an LLM answered.
    matches: &'a [Span],
    /// The documents of the context, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    references: Option<Vec<ListedDocument>>,
    /// What could not be done as requested, and why nothing was found.
    notes: Vec<AnswerNote<'a>>,
    /// The retrieval, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    retrieval: Option<&'a Retrieval>,
    calls: Vec<&'a Call>,
    /// The kinds of results that came from the cache.
    cached: Vec<CacheKind>,
}

/// A note about the search, or about documents that it did not find because they wait to be indexed.
#[derive(Serialize)]
#[serde(untagged)]
enum AnswerNote<'a> {
    Query(&'a QueryNote),
    Cut(AnswerCut),
    NotIndexed(NotIndexed),
}

/// An answer that the output limit cut off.
#[derive(Serialize)]
#[serde(tag = "note", rename = "answer_cut")]
struct AnswerCut {}

/// Documents that wait to be indexed.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "note", rename = "not_indexed")]
struct NotIndexed {
    waiting: u64,
    documents: u64,
}

impl NotIndexed {
    /// Returns the documents that wait; `None` if none does.
    async fn read(engine: &Engine) -> anyhow::Result<Option<Self>> {
        let snapshot = engine.store.snapshot().await?;
        let documents = snapshot.counts().await?.documents;
        let mut waiting = 0;
        let mut pages = snapshot.pages(table::Jobs);
        while let Some(page) = pages.next().await? {
            waiting += page.iter().filter(|job| job.state.is_open()).count() as u64;
        }
        Ok((waiting > 0).then_some(Self { waiting, documents }))
    }

    fn print(self, app: &App) {
        let Self { waiting, documents } = self;
        let are = if waiting == 1 { "is" } else { "are" };
        app.output.note(format_args!(
            "{waiting} of {} {are} not indexed yet; `graphloom work` indexes them",
            count(documents, "document")
        ));
    }
}

/// Answers, or prints the context or prompt.
pub(crate) async fn run(app: &App, args: &AskArgs) -> anyhow::Result<Exit> {
    let mut question = question(app, args)?;
    let asks = match question.wanted() {
        QuestionOutput::Context | QuestionOutput::Prompt => QueryModels::Keywords,
        QuestionOutput::Answer => QueryModels::Answer,
    };
    if args.min_rerank_score.is_some() && app.config.reranker.is_none() {
        let fault = Fault::usage("--min-rerank-score needs a reranker, but none is configured");
        return Err(fault
            .help("set one with --set reranker=cohere:MODEL or --set reranker=jina:MODEL")
            .into());
    }
    if !question.mode.searches() && (question.filter.is_some() || !args.filter.is_empty()) {
        let fault = Fault::usage(format!(
            "mode {} does not search documents, so a filter has no effect",
            question.mode.name()
        ));
        return Err(fault.help("choose another --mode, or remove the filter").into());
    }
    let mut engine = wire::query_engine(app, asks).await?;
    let snapshot = engine.store.snapshot().await?;
    if let Some(filter) = args.filter.resolve(snapshot.as_ref(), &app.here).await? {
        question.filter = Some(filter);
    }
    drop(snapshot);
    if question.rerank {
        engine.models.reranker = wire::reranker(app).await?;
    }
    let retrieval = query::retrieve(&engine, &question).await?;
    for note in &retrieval.notes {
        app.output.warn(format_args!("warning: {}", args.in_options(&note.to_string())));
        if let Some(remedy) = remedies::of_note(note) {
            app.output.warn(format_args!("help: {remedy}"));
        }
    }
    match question.wanted() {
        QuestionOutput::Answer => answer(app, args, &engine, &question, &retrieval).await,
        QuestionOutput::Context | QuestionOutput::Prompt => {
            let printed = print_prompt(app, &engine, &question, &retrieval);
            wire::warn_if_unstored(app, &[&retrieval.cost]);
            printed
        }
    }
}

/// The question from flags, files and configuration.
fn question(app: &App, args: &AskArgs) -> anyhow::Result<Question> {
    let is_stdin = |path: &Option<_>| path.as_deref() == Some(Path::new("-"));
    if is_stdin(&args.question_json) && is_stdin(&args.history) {
        return Err(Fault::usage("--question-json and --history cannot both read standard input").into());
    }
    let base = match &args.question_json {
        Some(path) => read_json("--question-json", path, QUESTION_SHAPE)?,
        // People see the answer as it arrives; programs get it when it is complete.
        None => Question { stream: !app.output.json, ..Question::default() },
    };
    let mut question = args.question(base);
    if let Some(path) = &args.history {
        question.history = read_json::<Vec<ChatMessage>>("--history", path, HISTORY_SHAPE)?;
    }
    question.prefix_user_prompt(&app.config.user_prompt_prefix);
    if let Err(error) = question.check() {
        let fault = Fault::usage(args.in_options(&error.to_string()));
        let remedy = remedies::of_query(&error);
        return Err(match remedy {
            Some(remedy) => fault.help(remedy),
            None => fault,
        }
        .into());
    }
    Ok(question)
}

/// Reads JSON from a file or standard input.
fn read_json<T: DeserializeOwned>(flag: &str, path: &Path, shape: &str) -> anyhow::Result<T> {
    let mut text = Vec::new();
    let reading = || format!("reading {flag} {}", path.display());
    let read = if path == Path::new("-") {
        io::stdin().lock().take(MAX_JSON_BYTES + 1).read_to_end(&mut text)
    } else {
        let file = std::fs::File::open(path).with_context(reading)?;
        file.take(MAX_JSON_BYTES + 1).read_to_end(&mut text)
    };
    read.with_context(reading)?;
    if text.len() as u64 > MAX_JSON_BYTES {
        return Err(Fault::usage(format!("{}: more than {MAX_JSON_BYTES} bytes", reading())).into());
    }
    serde_json::from_slice(&text)
        .map_err(|error| Fault::usage(format!("{}: {error}", reading())).help(shape).into())
}

fn print_prompt(
    app: &App,
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
) -> anyhow::Result<Exit> {
    let found = !retrieval.context.is_empty() || !retrieval.mode.searches();
    if question.wanted() == QuestionOutput::Prompt {
        let messages = query::prompt_of(engine, question, retrieval);
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
    args: &AskArgs,
    engine: &Engine,
    question: &Question,
    retrieval: &Retrieval,
) -> anyhow::Result<Exit> {
    let mut broken: Option<io::Error> = None;
    let addresses = addresses(app, retrieval);
    let mut writer = AnswerWriter::new(&app.output, retrieval, &addresses);
    // Without an LLM, the answer is complete at once, together with the words to highlight.
    let streams = !app.output.json && engine.models.answer.is_some();
    let mut show = |delta: &str| {
        if streams && broken.is_none() {
            broken = app.output.stream(&writer.push(delta)).err();
        }
    };
    let answer = query::answer(engine, question, retrieval, &mut show).await?;
    let found = answer.found || answer.kind == AnswerKind::Greeting;
    let not_indexed = if found { None } else { NotIndexed::read(engine).await? };
    let printed = match broken {
        Some(error) => Err(error.into()),
        None if app.output.json => print_json(app, args, question, retrieval, &answer, not_indexed),
        None => print_answer(app, args, question, retrieval, &answer, writer),
    };
    wire::warn_if_unstored(app, &[&retrieval.cost, &answer.cost]);
    printed?;
    if answer.cut {
        app.output.warn(format_args!("warning: {}", query::ANSWER_CUT));
    }
    note_missing_scorer(app, engine, &answer);
    if let Some(not_indexed) = not_indexed.filter(|_| !app.output.json) {
        not_indexed.print(app);
    }
    Ok(if found { Exit::Done } else { Exit::NothingFound })
}

/// Notes how to get more answers, if rules alone found none.
fn note_missing_scorer(app: &App, engine: &Engine, answer: &Answer) {
    let by_rules = engine.models.answer.is_none() && engine.models.sentence_scorer.is_none();
    let may_score = cfg!(feature = "local") && app.config.sentence_scorer == Some(ScorerChoice::Auto);
    if answer.kind == AnswerKind::Closest && by_rules && may_score && !app.output.json {
        app.output
            .note(format_args!("a local model finds more answers: `graphloom model pull {DEFAULT_SCORER}`"));
    }
}

/// Returns the URLs of the documents in the context that can be opened: web pages and existing files.
fn addresses(app: &App, retrieval: &Retrieval) -> BTreeMap<DocumentId, String> {
    let references = retrieval.references.iter();
    let with_address = references
        .filter_map(|Reference { document, source, .. }| Some((document.clone(), app.address_of(source)?)));
    with_address.collect()
}

fn print_json(
    app: &App,
    args: &AskArgs,
    question: &Question,
    retrieval: &Retrieval,
    answer: &Answer,
    not_indexed: Option<NotIndexed>,
) -> anyhow::Result<()> {
    let notes = retrieval.notes.iter().map(AnswerNote::Query);
    let notes = notes.chain(answer.cut.then_some(AnswerNote::Cut(AnswerCut {})));
    app.output.json(&AnswerOutput {
        question: &question.text,
        standalone_question: retrieval.standalone_question.as_deref(),
        mode: question.mode,
        route: retrieval.route.as_ref(),
        answer: &answer.text,
        kind: answer.kind,
        found: answer.found,
        model: answer.model.as_deref(),
        citations: &answer.citations,
        dropped_citations: answer.dropped_citations,
        matches: &answer.matches,
        references: query::references(question, retrieval),
        notes: notes.chain(not_indexed.map(AnswerNote::NotIndexed)).collect(),
        retrieval: args.full.then_some(retrieval),
        calls: retrieval.cost.calls.iter().chain(&answer.cost.calls).collect(),
        cached: retrieval.cost.cached.iter().chain(&answer.cost.cached).copied().collect(),
    })
}

fn print_answer(
    app: &App,
    args: &AskArgs,
    question: &Question,
    retrieval: &Retrieval,
    answer: &Answer,
    mut writer: AnswerWriter<'_>,
) -> anyhow::Result<()> {
    app.output.stream(&writer.finish(answer))?;
    let numbered = writer.numbered(&answer.citations);
    print_sources(app, args, &question.text, answer, &numbered)?;
    print_references(app, query::references(question, retrieval).as_deref().unwrap_or_default())?;
    if app.output.verbose {
        for line in why::explained(retrieval, &numbered) {
            app.output.note(plain(&line));
        }
    }
    Ok(())
}

fn print_references(app: &App, references: &[ListedDocument]) -> anyhow::Result<()> {
    let output = &app.output;
    if !references.is_empty() {
        output.line("")?;
        output.line(output.heading("documents"))?;
    }
    for document in references {
        output.line(name(&document.file_path))?;
        for passage in document.content.iter().flatten() {
            output.line(format_args!("    {}", one_line(passage, QUOTE_CHARACTERS)))?;
        }
    }
    Ok(())
}

fn print_sources(
    app: &App,
    args: &AskArgs,
    question: &str,
    answer: &Answer,
    numbered: &[Option<&Citation>],
) -> anyhow::Result<()> {
    let output = &app.output;
    if numbered.iter().any(Option::is_some) {
        output.line("")?;
    }
    for (at, citation) in numbered.iter().enumerate() {
        let Some(citation) = citation else { continue };
        let place =
            place(&citation.source, citation.lines, citation.lines_match_source, citation.place.as_ref());
        let mark = output.mark(&format!("[{}]", at + 1));
        let line = citation.lines_match_source.then_some(citation.lines.0);
        let address = app.address_of(&citation.source);
        let address = address.map(|it| to_place(it, line, citation.place.as_ref(), &citation.quote));
        let linked = output.link(address.as_deref(), &place);
        // Without an LLM the quoted words are already in the answer.
        if !args.quotes && answer.model.is_none() {
            output.line(format_args!("{mark} {linked}"))?;
            continue;
        }
        let quote = format!("\"{}\"", one_line(&citation.quote, QUOTE_CHARACTERS));
        let columns = format!("[{}] {place}  {quote}", at + 1).chars().count();
        if output.columns.is_none_or(|most| columns <= most) {
            output.line(format_args!("{mark} {linked}  {quote}"))?;
        } else {
            output.line(format_args!("{mark} {linked}"))?;
            for line in wrapped(&quote, output.columns, "    ") {
                output.line(line)?;
            }
        }
    }
    if answer.dropped_citations > 0 {
        output.note(format_args!("dropped citations that point to nothing: {}", answer.dropped_citations));
    }
    if answer.cost.cached.contains(&CacheKind::Answer) {
        output.note("cached answer to the same prompt; --no-cache asks the LLM again");
    }
    if answer.kind == AnswerKind::Empty {
        output.note("help: `graphloom add PATH` adds documents");
    }
    if answer.kind == AnswerKind::Answer && answer.model.is_none() {
        output.note(query::without_llm(question));
        if let Some(service) = app.config.unused_chat_key() {
            output
                .note(format_args!("an API key is set; --llm {}:MODEL uses it for answers", service.name()));
        }
    }
    Ok(())
}
