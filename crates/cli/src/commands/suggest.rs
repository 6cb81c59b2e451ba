//! `graphloom suggest`: questions that the documents answer.

use graphloom_engine::query::suggest;

use super::App;
use crate::args::SuggestArgs;
use crate::fault::Exit;
use crate::output::render::{count, one_line, place};
use crate::wire::{self, QueryModels};

/// Maximum characters of a printed quote; `--json` prints all.
const QUOTE_CHARACTERS: usize = 240;

/// Prints questions, each with the sentence that answers it.
pub(crate) async fn run(app: &App, args: &SuggestArgs) -> anyhow::Result<Exit> {
    let engine = wire::query_engine(app, QueryModels::Answer).await?;
    let suggested = suggest(&engine, args.about.as_deref(), args.limit).await?;
    wire::warn_if_unstored(app, &[&suggested.cost]);
    let found = !suggested.questions.is_empty();
    let snapshot = engine.store.snapshot().await?;
    if app.output.json {
        app.output.json(&suggested)?;
    } else {
        let ids: Vec<_> = suggested.questions.iter().map(|suggestion| suggestion.document.clone()).collect();
        let documents = snapshot.documents(&ids).await?;
        for (number, (suggestion, document)) in (1..).zip(suggested.questions.iter().zip(&documents)) {
            let question = one_line(&suggestion.question, 1000);
            app.output.line(format_args!("{number}. {}", app.output.heading(&question)))?;
            let matches_source = document.as_ref().is_some_and(|document| document.lines_match_source);
            let part = document.as_ref().and_then(|document| document.place_of(suggestion.span));
            let place = place(&suggestion.source, suggestion.lines, matches_source, part.as_ref());
            let quote = one_line(&suggestion.quote, QUOTE_CHARACTERS);
            app.output.line(format_args!("   {} \"{quote}\"", app.output.faint(&place)))?;
        }
        if !found {
            app.output.note("no questions to suggest");
            if snapshot.counts().await?.documents == 0 {
                app.output.note("help: `graphloom add PATH` adds documents");
            } else if suggested.model.is_none() {
                app.output.note("help: with --llm, an LLM proposes questions");
            }
        }
        if suggested.dropped > 0 {
            app.output.note(format_args!(
                "dropped {} that no sentence of the documents answers",
                count(u64::from(suggested.dropped), "proposal")
            ));
        }
    }
    Ok(if found { Exit::Done } else { Exit::NothingFound })
}
