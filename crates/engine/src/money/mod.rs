//! Costs of model calls: tokens, prices, and budgets that calls cannot exceed.

mod account;
mod budget;
mod price;
mod spending;

use graphloom_core::{AnswerShape, ChatMessage, SchemaDialect};

pub use account::{MAX_WORKSPACE_MONEY, WorkspaceAccount, limit_of, limiting, number, shown};
pub use budget::{
    Budget, BudgetedEmbedder, BudgetedModel, BudgetedReranker, Limit, NoPrice, OUTPUT_RESERVE, Shortage,
    WhenShort,
};
pub use price::{Money, Price, Prices};
pub use spending::{CallTotals, CostBy, CostGroup, Spending, spending, spending_after};

use graphloom_text::Tokenizer;

/// Tokens that a chat service adds to each message, for its role and its end.
const MESSAGE_TOKENS: u64 = 4;
/// Tokens that a chat service adds to start the answer.
const ANSWER_TOKENS: u64 = 3;

/// Returns the tokens of a prompt by our tokenizer, plus those that a service adds around messages.
pub fn prompt_tokens(messages: &[ChatMessage]) -> u64 {
    let texts = messages.iter().map(|message| u64::from(Tokenizer.count(&message.content)) + MESSAGE_TOKENS);
    texts.sum::<u64>() + ANSWER_TOKENS
}

/// Returns the tokens of the shape that an answer must have, which services count as part of the prompt.
pub fn shape_tokens(shape: Option<&AnswerShape>) -> u64 {
    let Some(shape) = shape else { return 0 };
    let schema = serde_json::to_string(&shape.shape.schema(SchemaDialect::JsonSchema)).unwrap_or_default();
    text_tokens([schema.as_str()])
}

/// Returns the tokens of texts by our tokenizer.
pub fn text_tokens<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    texts.into_iter().map(|text| u64::from(Tokenizer.count(text))).sum()
}
