//! Configured prices of models, and amounts of money.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use graphloom_core::Usage;
use serde::{Serialize, Serializer};

/// Maximum number of digits after the decimal point of a price or amount.
const DIGITS: u32 = 6;

/// An exact amount in the currency of the configured prices, in millionths of a millionth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(u128);

impl Money {
    /// Reads a decimal such as `1.50`; at most six digits after the point.
    pub fn parse(text: &str) -> Option<Self> {
        millionths(text).map(|amount| Self(u128::from(amount) * 1_000_000))
    }

    pub(super) fn units(self) -> u128 {
        self.0
    }

    pub(super) fn of_units(units: u128) -> Self {
        Self(units)
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Self::add)
    }
}

impl fmt::Display for Money {
    /// Writes four decimals, rounded to nearest. Smaller amounts above zero appear as `<0.0001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEP: u128 = 100_000_000;
        let steps = self.0.saturating_add(STEP / 2) / STEP;
        if steps == 0 && self.0 > 0 {
            return f.write_str("<0.0001");
        }
        write!(f, "{}.{:04}", steps / 10_000, steps % 10_000)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e12)
    }
}

/// The token prices of one model, in millionths of the currency per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// Tokens sent that the provider read from its cache.
    pub cached_input: u64,
}

impl Price {
    /// Reads `INPUT`, `INPUT/OUTPUT` or `INPUT/OUTPUT/CACHED`, each the price of a million tokens. If omitted, output is free and
    /// cached input costs as much as other input.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<u64> = text.split('/').map(|part| millionths(part.trim())).collect::<Option<_>>()?;
        match *parts.as_slice() {
            [input] => Some(Self { input, output: 0, cached_input: input }),
            [input, output] => Some(Self { input, output, cached_input: input }),
            [input, output, cached_input] => Some(Self { input, output, cached_input }),
            _ => None,
        }
    }

    /// Returns the cost of these tokens.
    pub fn of(self, usage: Usage) -> Money {
        let cached = usage.cached_prompt_tokens.min(usage.prompt_tokens);
        let cost = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        Money(
            cost(usage.prompt_tokens - cached, self.input)
                + cost(cached, self.cached_input)
                + cost(usage.completion_tokens, self.output),
        )
    }
}

/// The configured prices: of models such as `openai:gpt-4o-mini`, or of all models of a service such as `ollama`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// The accepted syntax, as shown to users.
    pub const EXPECTED: &'static str = "prices of a million tokens, MODEL=INPUT/OUTPUT or MODEL=INPUT/OUTPUT/CACHED, \
                                        such as openai:gpt-4o-mini=0.15/0.60/0.075,ollama=0";

    /// Reads `MODEL=INPUT/OUTPUT/CACHED`, separated by commas; each model at most once.
    pub fn parse(text: &str) -> Option<Self> {
        let mut prices = BTreeMap::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            // The name of a model may contain `=`, a price does not.
            let (model, price) = part.rsplit_once('=')?;
            let model = model.trim();
            if model.is_empty() || prices.insert(model.to_owned(), Price::parse(price)?).is_some() {
                return None;
            }
        }
        Some(Self(prices))
    }

    /// Returns the price of a model, or otherwise of its service.
    pub fn of(&self, model: &str) -> Option<Price> {
        let service = || self.0.get(model.split(':').next()?);
        self.0.get(model).or_else(service).copied()
    }

    /// True if no prices are configured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Parses a decimal as a whole number of millionths.
fn millionths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits <= DIGITS)?;
    let number = |part: &str| if part.is_empty() { Some(0) } else { part.parse::<u64>().ok() };
    let fraction = number(fraction)? * 10_u64.pow(DIGITS - digits);
    number(whole)?.checked_mul(10_u64.pow(DIGITS))?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_cost(price: &str, prompt: u64, cached: u64, completion: u64) -> Option<String> {
        let usage =
            Usage { prompt_tokens: prompt, cached_prompt_tokens: cached, completion_tokens: completion };
        Some(Price::parse(price)?.of(usage).to_string())
    }

    #[test]
    fn a_cost_is_exact_and_cached_input_has_its_own_price() {
        assert_eq!(check_cost("0.15/0.60", 1_000_000, 0, 1_000_000).as_deref(), Some("0.7500"));
        assert_eq!(check_cost("0.15/0.60/0.075", 1_000_000, 400_000, 0).as_deref(), Some("0.1200"));
        assert_eq!(check_cost("2", 500_000, 500_000, 9).as_deref(), Some("1.0000"));
        assert_eq!(check_cost("0.02", 1, 0, 0).as_deref(), Some("<0.0001"));
        assert_eq!(check_cost("0", 5, 0, 5).as_deref(), Some("0.0000"));
    }

    #[test]
    fn amounts_must_be_decimal_numbers() {
        for text in ["", ".", "-1", "1e3", "1.2345678", "1,5", "a", "1/2/3/4", "99999999999999999999"] {
            assert_eq!(Price::parse(text), None, "{text:?}");
        }
        assert_eq!(Money::parse("1.50").map(|money| money.to_string()).as_deref(), Some("1.5000"));
        assert_eq!(Money::parse(".5"), Money::parse("0.500"));
    }

    #[test]
    fn a_model_has_its_own_price_or_the_price_of_its_service() {
        let prices = Prices::parse("openai:gpt-4o-mini=0.15/0.60, ollama=0").expect("prices");
        assert_eq!(prices.of("openai:gpt-4o-mini").map(|price| price.output), Some(600_000));
        assert_eq!(prices.of("ollama:qwen3").map(|price| price.input), Some(0));
        assert_eq!(prices.of("openai:gpt-4o"), None);
        for text in ["x", "x=", "=1", "x=1,x=2", "x=cheap"] {
            assert_eq!(Prices::parse(text), None, "{text:?}");
        }
    }
}
