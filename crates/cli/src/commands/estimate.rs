//! `graphloom add --estimate`: what adding would cost, with prices where they are known.

use std::collections::BTreeSet;

use graphloom_core::Usage;
use graphloom_engine::index::{Estimate, Expected, Range};
use graphloom_engine::money::{Money, Prices};
use serde::Serialize;

use super::App;
use crate::output::render::{count, plain};

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
struct Printed {
    event: &'static str,
    documents: u32,
    unchanged: u32,
    refused: u32,
    waiting: u32,
    chunks: u32,
    reused: u32,
    steps: Vec<Priced>,
    /// Calls and tokens of all steps.
    total: Total,
    /// Models without a configured price; their steps are in no sum of money.
    unpriced: BTreeSet<String>,
}

/// A step with its price.
#[derive(Debug, Serialize)]
struct Priced {
    #[serde(flatten)]
    expected: Expected,
    /// `None` where no price of the model is configured.
    price: Option<MoneyRange>,
}

#[derive(Debug, Default, Serialize)]
struct Total {
    calls: Range,
    input_tokens: Range,
    output_tokens: Range,
    /// `None` where the price of a model is missing.
    price: Option<MoneyRange>,
}

/// From the least to the most that is likely.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
struct MoneyRange {
    low: Money,
    high: Money,
}

/// Prints an estimate.
pub(super) fn print(app: &App, estimate: Estimate) -> anyhow::Result<()> {
    let printed = priced(estimate, &app.config.prices);
    if app.output.json {
        return app.output.json(&printed);
    }
    let output = &app.output;
    let mut parts = vec![format!("{} to add", count(printed.documents, "document"))];
    for (number, what) in [
        (printed.waiting, "waiting from before"),
        (printed.unchanged, "unchanged, at no cost"),
        (printed.refused, "refused"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    output.line(parts.join(", "))?;
    let reused = match printed.reused {
        0 => String::new(),
        reused => format!(", {reused} of them already extracted or equal to another, at no cost"),
    };
    output.line(format_args!("{}{reused}", count(printed.chunks, "chunk")))?;
    if printed.steps.is_empty() {
        output.line("no model of a service would be asked: it costs nothing")?;
        return Ok(());
    }
    for Priced { expected, price } in &printed.steps {
        let Expected { step, model, calls, input_tokens, output_tokens, role: _ } = expected;
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
    let Total { calls, input_tokens, output_tokens, price } = &printed.total;
    let price = price.as_ref().map(|price| format!(", {}", money(price))).unwrap_or_default();
    output.line(format_args!(
        "  {:<13} {} calls, {} tokens in, {} tokens out{price}",
        "together",
        range(*calls),
        range(*input_tokens),
        range(*output_tokens),
    ))?;
    if !printed.unpriced.is_empty() {
        output.note("prices are set with the key `prices`, such as --set prices=MODEL=INPUT/OUTPUT for a million tokens");
    }
    output.note("nothing was sent and nothing was stored");
    Ok(())
}

fn priced(estimate: Estimate, prices: &Prices) -> Printed {
    let Estimate { documents, unchanged, refused, waiting, chunks, reused, steps } = estimate;
    let mut total = Total { price: Some(MoneyRange::default()), ..Total::default() };
    let mut unpriced = BTreeSet::new();
    let steps = steps.into_iter().map(|expected| {
        let price = prices.of(&expected.model).map(|price| {
            let cost = |prompt_tokens, completion_tokens| {
                price.of(Usage { prompt_tokens, cached_prompt_tokens: 0, completion_tokens })
            };
            MoneyRange {
                low: cost(expected.input_tokens.low, expected.output_tokens.low),
                high: cost(expected.input_tokens.high, expected.output_tokens.high),
            }
        });
        total.calls.add(expected.calls);
        total.input_tokens.add(expected.input_tokens);
        total.output_tokens.add(expected.output_tokens);
        match (price, &mut total.price) {
            (Some(price), Some(sum)) => {
                sum.low += price.low;
                sum.high += price.high;
            }
            (Some(_), None) => {}
            (None, sum) => {
                *sum = None;
                unpriced.insert(expected.model.clone());
            }
        }
        Priced { expected, price }
    });
    let steps = steps.collect();
    let event = "estimate";
    Printed { event, documents, unchanged, refused, waiting, chunks, reused, steps, total, unpriced }
}

/// `12`, or `0 to 12`.
fn range(range: Range) -> String {
    if range.is_exact() { range.low.to_string() } else { format!("{} to {}", range.low, range.high) }
}

fn money(MoneyRange { low, high }: &MoneyRange) -> String {
    if low == high { format!("costs {low}") } else { format!("costs {low} to {high}") }
}

#[cfg(test)]
mod tests {
    use graphloom_core::Role;
    use graphloom_engine::index::Step;

    use super::*;

    fn check_total(prices: &str) -> (Option<String>, usize) {
        let expected = |step, model: &str| Expected {
            step,
            role: Role::Extract,
            model: model.to_owned(),
            calls: Range { low: 1, high: 2 },
            input_tokens: Range { low: 1_000_000, high: 2_000_000 },
            output_tokens: Range::default(),
        };
        let steps = vec![expected(Step::Extract, "a:x"), expected(Step::Glean, "b:y")];
        let estimate = Estimate { steps, ..Estimate::default() };
        let printed = priced(estimate, &Prices::parse(prices).expect("prices"));
        assert_eq!(printed.total.calls, Range { low: 2, high: 4 });
        (printed.total.price.map(|price| money(&price)), printed.unpriced.len())
    }

    #[test]
    fn a_total_has_a_price_where_every_model_has_one() {
        assert_eq!(check_total("a=1,b=2"), (Some("costs 3.0000 to 6.0000".to_owned()), 0));
        assert_eq!(check_total("a=1"), (None, 1));
    }
}
