//! Finds the words to search the graph with, by model or by rules.

use graphloom_core::{Call, ChatRequest, LanguageModel, Role};
use serde_json::Value;

use super::calls::Timer;
use super::plan::Plan;
use super::think::without_thinking;
use super::{Keywords, QueryError, Question, prompts};
use crate::{Engine, offline};

/// Questions shorter than this many characters are searched for as they are where no keyword was found.
const MAX_BARE_QUESTION_CHARS: usize = 50;

/// The keywords that `question` is searched with: the caller's if it gave any, none where the plan needs none.
///
/// Where neither level has a keyword, a short question becomes its own low-level keyword, as in LightRAG.
pub(super) async fn find(
    engine: &Engine,
    question: &Question,
    plan: Plan,
    calls: &mut Vec<Call>,
) -> Result<Keywords, QueryError> {
    if !plan.searches_graph() {
        return Ok(Keywords::default());
    }
    if let Some(given) = question.keywords.as_ref().filter(|given| !given.is_empty()) {
        return Ok(given.clone());
    }
    let text = question.text.trim();
    let model = engine.models.keywords.as_deref();
    let mut keywords = match engine.caches.keywords(model.map(LanguageModel::name), text) {
        Some(known) => known,
        None => {
            let found = match model {
                Some(model) => ask(engine, model, text, calls).await?,
                None => by_rules(text),
            };
            engine.caches.remember_keywords(text, found.clone());
            found
        }
    };
    if keywords.is_empty() && text.chars().count() < MAX_BARE_QUESTION_CHARS {
        keywords.low_level = vec![text.to_owned()];
    }
    Ok(keywords)
}

async fn ask(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &str,
    calls: &mut Vec<Call>,
) -> Result<Keywords, QueryError> {
    let request =
        ChatRequest { messages: prompts::keywords(question), json_object: true, ..ChatRequest::default() };
    let timer = Timer::start(engine, Role::Keywords, model.name());
    let (response, completion) = graphloom_core::complete(model, request).await?;
    calls.push(timer.completed(completion));
    let (high_level, low_level) = read(&response);
    if high_level.is_empty() && low_level.is_empty() {
        tracing::warn!(model = model.name(), "the model named no keywords");
    }
    Ok(Keywords { high_level, low_level, model: Some(model.name().to_owned()) })
}

fn by_rules(question: &str) -> Keywords {
    let (high_level, low_level) = offline::keywords(question);
    Keywords { high_level, low_level, model: None }
}

/// Reads the high- and low-level lists out of a model's answer: thoughts, fences and words around the object are
/// skipped, an object that is cut or not quite JSON gives the strings it has, and items that are no strings are left
/// out.
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

/// The JSON strings of the array after `name`, up to its end or the end of the text.
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

/// Where the first quote stands that no backslash escapes.
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
    fn a_models_keywords_are_read_from_whatever_it_wraps_them_in() {
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
    fn items_that_are_no_words_are_left_out() {
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
