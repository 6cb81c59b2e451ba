//! Prints estimated costs, such as those of `graphloom add --estimate`.

use std::collections::BTreeSet;

use graphloom_engine::index::{
    Estimate, ExpectedCalls, MoneyRange, PricedEstimate, PricedStep, PricedTotal, Range,
};
use serde::Serialize;

use super::App;
use crate::output::render::{count, plain};

/// The `--json` output.
#[derive(Debug, Serialize)]
struct EstimateOutput {
    event: &'static str,
    #[serde(flatten)]
    estimate: PricedEstimate,
}

/// Prints an estimate.
pub(super) fn print(app: &App, estimate: Estimate) -> anyhow::Result<()> {
    let printed = estimate.priced(&app.config.prices);
    if app.output.json {
        return app.output.json(&EstimateOutput { event: "estimate", estimate: printed });
    }
    let output = &app.output;
    let mut parts = vec![format!("{} to add", count(printed.documents, "document"))];
    for (number, what) in [
        (printed.waiting, "already waiting"),
        (printed.unchanged, "unchanged, free of charge"),
        (printed.refused, "refused"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    output.line(parts.join(", "))?;
    let reused = match printed.reused {
        0 => String::new(),
        reused => format!(", {reused} of them already extracted or duplicates, free of charge"),
    };
    output.line(format_args!("{}{reused}", count(printed.chunks, "chunk")))?;
    print_steps(app, &printed.steps, &printed.total, &printed.unpriced)
}

/// Prints the calls of each step and their price.
pub(super) fn print_steps(
    app: &App,
    steps: &[PricedStep],
    total: &PricedTotal,
    unpriced: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let output = &app.output;
    if steps.is_empty() {
        output.line("free of charge: no model service would be called")?;
        return Ok(());
    }
    for PricedStep { expected, price } in steps {
        let ExpectedCalls { step, model, calls, input_tokens, output_tokens, role: _ } = expected;
        let price = match price {
            Some(price) => money(price),
            None => format!("no price configured for {}", plain(model)),
        };
        output.line(format_args!(
            "  {:<13} {}: {} calls, {} tokens in, {} tokens out, {price}",
            step.name(),
            plain(model),
            range(*calls),
            range(*input_tokens),
            range(*output_tokens),
        ))?;
    }
    let PricedTotal { calls, input_tokens, output_tokens, price } = total;
    let price = price.as_ref().map(|price| format!(", {}", money(price))).unwrap_or_default();
    output.line(format_args!(
        "  {:<13} {} calls, {} tokens in, {} tokens out{price}",
        "total",
        range(*calls),
        range(*input_tokens),
        range(*output_tokens),
    ))?;
    if !unpriced.is_empty() {
        output.note("set prices per million tokens with --set prices=MODEL=INPUT/OUTPUT");
    }
    output.note("nothing was sent and nothing was stored");
    Ok(())
}

/// Formats a range: `12`, or `0 to 12`.
fn range(range: Range) -> String {
    if range.is_exact() { range.low.to_string() } else { format!("{} to {}", range.low, range.high) }
}

fn money(MoneyRange { low, high }: &MoneyRange) -> String {
    if low == high { format!("costs {low}") } else { format!("costs {low} to {high}") }
}
