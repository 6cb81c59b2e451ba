//! `graphloom cost`: costs of model calls from the ledger.

use graphloom_engine::money::{CallTotals, CostGroup, Spending, spending};

use super::App;
use crate::args::CostArgs;
use crate::fault::Exit;
use crate::output::render::{count, plain};
use crate::wire;

/// Maximum rows printed; `--json` prints all.
const MOST_PRINTED: usize = 50;

/// Prints the totals of the ledger.
pub(crate) async fn run(app: &App, args: &CostArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let by = args.by.iter().map(|by| (*by).into()).collect();
    let spending = spending(store.snapshot().await?.as_ref(), &by, &app.config.prices).await?;
    if app.output.json {
        app.output.json(&spending)?;
    } else {
        print(app, &spending)?;
    }
    Ok(Exit::Done)
}

fn print(app: &App, spending: &Spending) -> anyhow::Result<()> {
    let output = &app.output;
    if spending.rows.is_empty() {
        output.line("no model calls")?;
        return Ok(());
    }
    for row in spending.rows.iter().take(MOST_PRINTED) {
        let CostGroup { day, role, model, document } = &row.group;
        let parts = [
            day.clone(),
            role.map(|role| role.name().to_owned()),
            model.as_deref().map(plain),
            document.as_deref().map(plain),
        ];
        let name = parts.into_iter().flatten().collect::<Vec<_>>().join("  ");
        output.line(format_args!("{name}: {}", words(row)))?;
    }
    if let Some(more) = spending.rows.len().checked_sub(MOST_PRINTED).filter(|more| *more > 0) {
        output.line(format_args!("and {more} more; --json lists all"))?;
    }
    output.line(format_args!("{}: {}", output.heading("total"), words(&spending.total)))?;
    for model in &spending.unpriced {
        output.note(format_args!("no price configured for {}", plain(model)));
    }
    Ok(())
}

fn words(spent: &CallTotals) -> String {
    let mut text = count(spent.calls, "call");
    if spent.failed > 0 {
        text.push_str(&format!(" ({} failed)", spent.failed));
    }
    text.push_str(&format!(", {} tokens in", spent.prompt_tokens));
    if spent.cached_prompt_tokens > 0 {
        text.push_str(&format!(" ({} from the provider's cache)", spent.cached_prompt_tokens));
    }
    text.push_str(&format!(", {} tokens out", spent.completion_tokens));
    if spent.unpriced_calls < spent.calls {
        text.push_str(&format!(", costs {}", spent.cost));
        if spent.unpriced_calls > 0 {
            text.push_str(&format!(" and {} without a price", count(spent.unpriced_calls, "call")));
        }
    }
    text
}
