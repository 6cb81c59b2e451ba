//! `graphloom cost`: costs of model calls from the ledger.

use graphloom_engine::money::{CallTotals, CostGroup, Money, Spending, spending};

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
    let CallTotals { prompt_tokens, cached_prompt_tokens, completion_tokens, .. } = *spent;
    text.push_str(", ");
    text.push_str(&tokens(prompt_tokens, cached_prompt_tokens, completion_tokens, spent.uncounted_calls));
    if spent.unpriced_calls < spent.calls {
        text.push_str(&format!(", {}", money(spent)));
        if spent.unpriced_calls > 0 {
            text.push_str(&format!(" and {} without a price", count(spent.unpriced_calls, "call")));
        }
    }
    text
}

/// Formats the cost of calls that have a price.
pub(super) fn money(spent: &CallTotals) -> String {
    match spent.uncounted_calls {
        0 => format!("costs {}", spent.cost),
        _ if spent.cost == Money::default() => "costs unknown".to_owned(),
        _ => format!("costs more than {}", spent.cost),
    }
}

/// Formats the tokens of calls, of which `uncounted` have no token counts.
pub(super) fn tokens(sent: u64, cached: u64, received: u64, uncounted: u64) -> String {
    if uncounted > 0 && sent + received == 0 {
        return "unknown tokens, because the service reports none".to_owned();
    }
    let cached = match cached {
        0 => String::new(),
        cached => format!(" ({cached} from the provider's cache)"),
    };
    let unknown = match uncounted {
        0 => String::new(),
        calls => format!(", and unknown tokens in {}", count(calls, "call")),
    };
    format!("{sent} tokens in{cached}, {received} tokens out{unknown}")
}
