//! `graphloom suggest`: questions that the documents answer.

use graphloom_engine::query::suggest;

use super::App;
use crate::args::SuggestArgs;
use crate::fault::Exit;
use crate::output::render::{count, one_line, plain};
use crate::wire::{self, QueryModels};

/// Maximum characters of a printed quote; `--json` prints all.
const QUOTE_CHARACTERS: usize = 240;

/// Prints questions, each with the sentence that answers it.
pub(crate) async fn run(app: &App, args: &SuggestArgs) -> anyhow::Result<Exit> {
    let engine = wire::query_engine(app, QueryModels::Answer).await?;
    let suggested = suggest(&engine, args.about.as_deref(), args.limit).await?;
    wire::warn_if_unstored(app, &[&suggested.cost]);
    let found = !suggested.questions.is_empty();
    if app.output.json {
        app.output.json(&suggested)?;
    } else {
        for (number, suggestion) in (1..).zip(&suggested.questions) {
            let question = one_line(&suggestion.question, 1000);
            app.output.line(format_args!("{number}. {}", app.output.heading(&question)))?;
            let (first, last) = suggestion.lines;
            let lines = if first == last { format!("{first}") } else { format!("{first}-{last}") };
            let place = format!("{}:{lines}", plain(&suggestion.source));
            let quote = one_line(&suggestion.quote, QUOTE_CHARACTERS);
            app.output.line(format_args!("   {} \"{quote}\"", app.output.faint(&place)))?;
        }
        if !found {
            app.output.note("no questions to suggest");
            if suggested.model.is_none() {
                app.output
                    .note("help: `graphloom add PATH` adds documents; with --llm, an LLM proposes questions");
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
