//! The price of an estimate, as far as prices are configured.

use std::collections::BTreeSet;

use graphloom_core::Usage;
use serde::Serialize;

use super::{Estimate, ExpectedCalls, Range};
use crate::money::{Money, Prices};

/// An estimate with its price.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PricedEstimate {
    /// Documents that would be new or a new version.
    pub documents: u32,
    /// Documents that are already stored unchanged and cost nothing.
    pub unchanged: u32,
    /// Sources that cannot be read.
    pub refused: u32,
    /// Documents accepted earlier that still wait; the same run works on them.
    pub waiting: u32,
    /// Chunks of the new and waiting documents.
    pub chunks: u32,
    /// Of these, chunks that cost no extraction.
    pub reused: u32,
    /// The calls, by purpose.
    pub steps: Vec<PricedStep>,
    /// Calls and tokens of all steps.
    pub total: PricedTotal,
    /// Models without a configured price; their steps are not part of any price.
    pub unpriced: BTreeSet<String>,
}

/// A step with its price.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PricedStep {
    /// The calls.
    #[serde(flatten)]
    pub expected: ExpectedCalls,
    /// `None` if the price of the model is not configured.
    pub price: Option<MoneyRange>,
}

/// The sum of all steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PricedTotal {
    /// Number of calls.
    pub calls: Range,
    /// Tokens sent.
    pub input_tokens: Range,
    /// Tokens received.
    pub output_tokens: Range,
    /// `None` if the price of a model is missing.
    pub price: Option<MoneyRange>,
}

/// A range from the lowest to the highest likely price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MoneyRange {
    /// Lower bound.
    pub low: Money,
    /// Upper bound, unless answers are unusual.
    pub high: Money,
}

impl Estimate {
    /// Returns the estimate with prices.
    pub fn priced(self, prices: &Prices) -> PricedEstimate {
        let Estimate { documents, unchanged, refused, waiting, chunks, reused, steps } = self;
        let mut total = PricedTotal { price: Some(MoneyRange::default()), ..PricedTotal::default() };
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
            PricedStep { expected, price }
        });
        let steps = steps.collect();
        PricedEstimate { documents, unchanged, refused, waiting, chunks, reused, steps, total, unpriced }
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::Role;

    use super::*;
    use crate::index::Step;

    fn check_total(prices: &str) -> (Option<String>, usize) {
        let expected = |step, model: &str| ExpectedCalls {
            step,
            role: Role::Extract,
            model: model.to_owned(),
            calls: Range { low: 1, high: 2 },
            input_tokens: Range { low: 1_000_000, high: 2_000_000 },
            output_tokens: Range::default(),
        };
        let steps = vec![expected(Step::Extract, "a:x"), expected(Step::Glean, "b:y")];
        let estimate = Estimate { steps, ..Estimate::default() };
        let priced = estimate.priced(&Prices::parse(prices).expect("prices"));
        assert_eq!(priced.total.calls, Range { low: 2, high: 4 });
        (priced.total.price.map(|price| format!("{} to {}", price.low, price.high)), priced.unpriced.len())
    }

    #[test]
    fn a_total_has_a_price_if_every_model_has_one() {
        assert_eq!(check_total("a=1,b=2"), (Some("3.0000 to 6.0000".to_owned()), 0));
        assert_eq!(check_total("a=1"), (None, 1));
    }
}
