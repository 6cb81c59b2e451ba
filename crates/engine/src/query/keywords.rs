//! Determines what to search with, using an LLM or rules: the standalone question, its keywords and its parts.

use graphloom_core::{CacheKind, ChatMessage, ChatRequest, FinishReason, LanguageModel, Role};
use serde_json::Value;

use super::cache::{self, NewEntry};
use super::calls::{QueryCost, Timer};
use super::plan::Plan;
use super::question::MAX_QUESTION_CHARS;
use super::think::without_thinking;
use super::{Decompose, Keywords, QueryError, Question, Route, decompose, history, prompts};
use crate::Engine;

/// If no keyword is found, a question with fewer characters than this becomes its own keyword.
const MAX_BARE_QUESTION_CHARS: usize = 50;

/// A question, prepared for the search.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SearchQuestion {
    /// The standalone question; `None` if the question already stands alone.
    pub(super) standalone: Option<String>,
    /// The keywords for the graph search.
    pub(super) keywords: Keywords,
    /// The parts to search for; `None` if the plan does not split questions.
    pub(super) route: Option<Route>,
}

/// Prepares `question` for the search. Returns the keywords (those of the caller if it gave any; none if the plan needs
/// none), the standalone question if a conversation precedes it, and its parts if the plan splits questions.
///
/// Makes at most one model call. If the caller gave keywords, a model is called only to split the question, and otherwise
/// rules form the standalone question. If neither level has a keyword, a short question becomes its own low-level keyword, as
/// in LightRAG.
pub(super) async fn find(
    engine: &Engine,
    question: &Question,
    plan: Plan,
    cost: &mut QueryCost,
) -> Result<SearchQuestion, QueryError> {
    let history = history::before_follow_up(question);
    let text = question.text.trim();
    let given = !(question.hl_keywords.is_empty() && question.ll_keywords.is_empty());
    let has_to_ask = !given && (plan.needs_keywords() || (plan.searches() && !history.is_empty()));
    let has_parts = plan.decomposes() && question.pagerank.parts > 0.0;
    let taken_apart = if has_parts { question.pagerank.decompose } else { Decompose::Off };
    let model = engine.models.keywords.as_deref();
    let mut understood = match model {
        Some(model) if taken_apart == Decompose::Model => {
            decompose::by_model(engine, model, question, history, cost).await?
        }
        Some(model) if has_to_ask => by_model(engine, model, question, history, cost).await?,
        Some(_) | None => by_rules(text, history, has_to_ask && plan.needs_keywords()),
    };
    if understood.route.is_none() && taken_apart != Decompose::Off {
        understood.route = Some(Route::by_rules(understood.standalone.as_deref().unwrap_or(text)));
    }
    if given && plan.searches_graph() {
        understood.keywords = Keywords {
            high_level: question.hl_keywords.clone(),
            low_level: question.ll_keywords.clone(),
            model: None,
        };
    } else if !plan.needs_keywords() {
        understood.keywords = Keywords::default();
    } else if understood.keywords.is_empty() {
        let searched = understood.standalone.as_deref().unwrap_or(text);
        if searched.chars().count() < MAX_BARE_QUESTION_CHARS {
            understood.keywords.low_level = vec![searched.to_owned()];
        }
    }
    Ok(understood)
}

async fn by_model(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &Question,
    history: &[ChatMessage],
    cost: &mut QueryCost,
) -> Result<SearchQuestion, QueryError> {
    let text = question.text.trim();
    let messages = match history {
        [] => prompts::keywords(&engine.prompts, text),
        history => prompts::keywords_of_follow_up(&engine.prompts, &history::transcript(history), text),
    };
    let request = ChatRequest { messages, json_object: true, ..ChatRequest::default() };
    let names_any = |response: &str| {
        let (high_level, low_level) = read(response);
        !(high_level.is_empty() && low_level.is_empty())
    };
    let response = respond(engine, model, request, names_any, question.cache, cost).await?;
    let (high_level, low_level) = read(&response);
    if high_level.is_empty() && low_level.is_empty() {
        tracing::warn!(model = model.name(), "the model named no keywords");
    }
    let standalone = standalone_in(&response, model.name(), text, history);
    let keywords = Keywords { high_level, low_level, model: Some(model.name().to_owned()) };
    Ok(SearchQuestion { standalone, keywords, route: None })
}

/// Returns the response of `model` or the cached one. A truncated response is not cached, nor one for which `is_usable` is false.
pub(super) async fn respond(
    engine: &Engine,
    model: &dyn LanguageModel,
    request: ChatRequest,
    is_usable: impl Fn(&str) -> bool,
    caches: bool,
    cost: &mut QueryCost,
) -> Result<String, QueryError> {
    let kind = CacheKind::Keywords;
    let key = cache::request_key(kind, model.name(), &request);
    let known = cache::find(engine, kind, std::slice::from_ref(&key), caches, cost).await?;
    if let Some(value) = known.into_iter().next().flatten() {
        return Ok(String::from_utf8_lossy(&value).into_owned());
    }
    let timer = Timer::start(engine, Role::Keywords, model.name());
    let (response, completion) = match graphloom_core::complete(model, request).await {
        Ok(answered) => answered,
        Err(error) => {
            cost.calls.push(timer.failed(error.to_string()));
            return Err(error.into());
        }
    };
    cost.calls.push(timer.completed(completion));
    if completion.finish == FinishReason::Stop && is_usable(&response) {
        let value = without_thinking(&response).into_bytes();
        cache::remember(engine, NewEntry { kind, key, value, paid: true }, caches, cost);
    }
    Ok(response)
}

fn by_rules(text: &str, history: &[ChatMessage], wants_keywords: bool) -> SearchQuestion {
    let standalone = graphloom_offline::standalone(text, history);
    let mut keywords = Keywords::default();
    if wants_keywords {
        (keywords.high_level, keywords.low_level) =
            graphloom_offline::keywords(standalone.as_deref().unwrap_or(text));
    }
    SearchQuestion { standalone, keywords, route: None }
}

/// Returns the JSON object in a model's response. Skips thoughts, fences and text around it.
pub(super) fn object_in(response: &str) -> Option<Value> {
    let response = without_thinking(response);
    let (start, end) = response.find('{').zip(response.rfind('}'))?;
    serde_json::from_str(response.get(start..=end)?).ok()
}

/// Returns the standalone question from the model's response, or by rules if that has none; `None` if the question already
/// stands alone.
pub(super) fn standalone_in(
    response: &str,
    model: &str,
    text: &str,
    history: &[ChatMessage],
) -> Option<String> {
    if history.is_empty() {
        return None;
    }
    match read_standalone(response) {
        Some(standalone) => (standalone != text).then_some(standalone),
        None => {
            tracing::warn!(model, "the model did not rewrite the question; rules rewrite it");
            graphloom_offline::standalone(text, history)
        }
    }
}

/// Returns the standalone question in a model's response, if it has a valid one.
fn read_standalone(response: &str) -> Option<String> {
    let value = object_in(response)?;
    let standalone = value["standalone_question"].as_str()?.trim();
    let fits = !standalone.is_empty() && standalone.chars().count() <= MAX_QUESTION_CHARS;
    fits.then(|| standalone.to_owned())
}

/// Reads the high- and low-level lists from a model's response. Skips thoughts, fences and text around the object, and items
/// that are not strings. From a truncated object or one that is not quite JSON it reads the complete strings.
fn read(response: &str) -> (Vec<String>, Vec<String>) {
    let response = without_thinking(response);
    let object =
        response.find('{').zip(response.rfind('}')).and_then(|(start, end)| response.get(start..=end));
    let value: Option<Value> = object.and_then(|object| serde_json::from_str(object).ok());
    let list = |name: &str| {
        let raw = match &value {
            Some(value) => strings_of(&value[name]),
            None => strings_after(&response, name),
        };
        let mut words: Vec<String> = Vec::new();
        for word in raw.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
            if !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        }
        words
    };
    (list("high_level_keywords"), list("low_level_keywords"))
}

fn strings_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(list) => list.split(',').map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns the JSON strings of the array after `name`, up to its end or the end of the text.
fn strings_after(text: &str, name: &str) -> Vec<String> {
    let array = text.split_once(name).and_then(|(_, rest)| rest.split_once('['));
    let mut rest = array.map_or("", |(_, rest)| rest);
    let mut strings = Vec::new();
    while let Some(start) = rest.find(['"', ']']) {
        if rest[start..].starts_with(']') {
            break;
        }
        let Some(length) = closing_quote(&rest[start + 1..]) else { break };
        let end = start + 1 + length + 1;
        strings.extend(serde_json::from_str::<String>(&rest[start..end]));
        rest = &rest[end..];
    }
    strings
}

/// Returns the position of the first quote that is not escaped by a backslash.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return Some(at),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(response: &str, high: &[&str], low: &[&str]) {
        let (found_high, found_low) = read(response);
        assert_eq!(
            (found_high, found_low),
            (high.iter().map(|w| w.to_string()).collect(), low.iter().map(|w| w.to_string()).collect()),
            "{response}"
        );
    }

    #[test]
    fn keywords_are_read_from_any_text_around_them() {
        let plain = r#"{"high_level_keywords": ["trade"], "low_level_keywords": ["Peru", "Chile"]}"#;
        check_read(plain, &["trade"], &["Peru", "Chile"]);
        check_read(&format!("```json\n{plain}\n```"), &["trade"], &["Peru", "Chile"]);
        check_read(
            &format!("<think>{{hm}}</think>Here you are: {plain} Enjoy."),
            &["trade"],
            &["Peru", "Chile"],
        );
    }

    #[test]
    fn items_that_are_not_words_are_dropped() {
        check_read(
            r#"{"high_level_keywords": ["a", 1, null, " ", "a"], "low_level_keywords": {}}"#,
            &["a"],
            &[],
        );
        check_read(r#"{"high_level_keywords": "trade, war"}"#, &["trade", "war"], &[]);
    }

    #[test]
    fn a_cut_or_sloppy_object_gives_the_words_it_has() {
        let cut = r#"{"high_level_keywords": ["trade"], "low_level_keywords": ["Peru", "a \"b\"", "Chi"#;
        check_read(cut, &["trade"], &["Peru", "a \"b\""]);
        check_read(r#"{"high_level_keywords": ["trade",], "low_level_keywords": [],}"#, &["trade"], &[]);
    }

    #[test]
    fn nonsense_gives_no_words() {
        for nonsense in ["", "{", "}{", "[1, 2]", "I cannot help with that.", "high_level_keywords", "\"[\""]
        {
            check_read(nonsense, &[], &[]);
        }
    }
}
