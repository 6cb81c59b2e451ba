//! One description from many: joined while short, summarised as a memoised tree when long.

use std::collections::BTreeMap;

use graphloom_core::{Call, ContentHash, GraphKey, LanguageModel, ModelError, Role, Summary, SummaryKey};
use graphloom_core::{ChatMessage, ChatRequest, ChatRole};

use crate::Engine;
use crate::extract::{after_thinking, ask};
use crate::prompt::Prompt;

/// Asks for one description of many.
pub const SUMMARY_PROMPT: Prompt = Prompt::new(include_str!("../../prompts/summarize.md"));

/// From this many fragments a model summarises [LightRAG].
pub const SUMMARY_FRAGMENTS: usize = 8;
/// From this many tokens a model summarises, and above it the rules cut [LightRAG].
pub const SUMMARY_TOKENS: u32 = 1200;
/// Most tokens of the fragments given to one summary call [LightRAG].
pub const SUMMARY_CONTEXT_TOKENS: u32 = 12_000;
/// Most words asked of a summary; about LightRAG's 600 tokens.
const SUMMARY_WORDS: &str = "450";
/// Fragments of a summary group at most; a group ends earlier where a fragment's hash says so.
const GROUP_FRAGMENTS: usize = 12;
/// A group ends after a fragment whose hash is a multiple of this, so groups are cut by content and one new fragment
/// changes one group.
const GROUP_CUT: u8 = 6;
/// Between joined descriptions.
const SEPARATOR: &str = "\n";

/// A description with the summaries it rests on and what they cost.
#[derive(Debug, Default)]
pub(crate) struct Description {
    pub(crate) text: String,
    /// The whole memo the owner should have: exactly the summaries used.
    pub(crate) summaries: Vec<Summary>,
    pub(crate) calls: Vec<Call>,
}

/// The description of `owner` from its distinct fragments.
///
/// - Fewer than [`SUMMARY_FRAGMENTS`] fragments under [`SUMMARY_TOKENS`] tokens are joined, in the order given.
/// - More are summarised by the model as a tree: fragments in hash order are cut into groups by content, each group
///   becomes one summary, and the summaries are described the same way. `memo` holds summaries already paid for.
/// - Without a model, whole fragments are kept in the order given up to [`SUMMARY_TOKENS`] tokens, the first cut if it
///   alone is longer.
pub(crate) async fn describe(
    engine: &Engine,
    owner: &GraphKey,
    name: &str,
    fragments: Vec<String>,
    memo: &[Summary],
) -> Result<Description, ModelError> {
    let Some(model) = engine.models.summarize.as_deref() else {
        return Ok(Description { text: keep_within(engine, &fragments), ..Description::default() });
    };
    let memo: BTreeMap<&SummaryKey, &str> =
        memo.iter().map(|known| (&known.key, known.text.as_str())).collect();
    let mut description = Description::default();
    let mut used = BTreeMap::new();
    let mut level = fragments;
    while !is_short(engine, &level) {
        level.sort_by_cached_key(|fragment| ContentHash::of(fragment.as_bytes()));
        let mut summaries = Vec::new();
        let mut groups = cut_groups(engine, &level, ends_group);
        if groups.len() == level.len() {
            // The content cut nothing together; without this the loop would never end.
            groups = cut_groups(engine, &level, |_| false);
        }
        for group in groups {
            if let [single] = group.as_slice() {
                summaries.push(single.clone());
                continue;
            }
            let key = summary_key(model, owner, name, &group);
            let text = match used.get(&key).map(String::as_str).or_else(|| memo.get(&key).copied()) {
                Some(known) => known.to_owned(),
                None => summarise(engine, model, owner, name, &group, &mut description.calls).await?,
            };
            used.insert(key, text.clone());
            summaries.push(text);
        }
        summaries.dedup();
        level = summaries;
        if level.len() == 1 {
            break;
        }
    }
    description.text = level.join(SEPARATOR);
    description.summaries = used.into_iter().map(|(key, text)| Summary { key, text }).collect();
    Ok(description)
}

fn is_short(engine: &Engine, fragments: &[String]) -> bool {
    fragments.len() <= 1
        || (fragments.len() < SUMMARY_FRAGMENTS
            && fragments.iter().map(|fragment| engine.tokenizer.count(fragment)).sum::<u32>()
                < SUMMARY_TOKENS)
}

/// Cuts fragments, sorted by hash, into groups of at most [`GROUP_FRAGMENTS`] and [`SUMMARY_CONTEXT_TOKENS`]; a group
/// also ends after a fragment for which `ends` holds. A second fragment joins an open group whatever its length, so
/// that fragments too long to pair cannot stop the reduction [LightRAG does the same].
fn cut_groups(engine: &Engine, fragments: &[String], ends: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut open = false;
    let mut tokens = 0;
    for fragment in fragments {
        let count = engine.tokenizer.count(fragment);
        match groups.last_mut() {
            Some(group)
                if open
                    && group.len() < GROUP_FRAGMENTS
                    && (group.len() == 1 || tokens + count <= SUMMARY_CONTEXT_TOKENS) =>
            {
                group.push(fragment.clone());
                tokens += count;
            }
            _ => {
                groups.push(vec![fragment.clone()]);
                tokens = count;
            }
        }
        open = !ends(fragment);
    }
    groups
}

fn ends_group(fragment: &str) -> bool {
    let hash = ContentHash::of(fragment.as_bytes());
    u8::from_str_radix(&hash.as_str()[..2], 16).unwrap_or(0) % GROUP_CUT == 0
}

fn keep_within(engine: &Engine, fragments: &[String]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut tokens = 0;
    for fragment in fragments {
        let count = engine.tokenizer.count(fragment) + 1;
        if kept.is_empty() && count > SUMMARY_TOKENS {
            return engine.tokenizer.truncate(fragment, SUMMARY_TOKENS).to_owned();
        }
        if tokens + count > SUMMARY_TOKENS {
            break;
        }
        tokens += count;
        kept.push(fragment);
    }
    kept.join(SEPARATOR)
}

fn summary_key(model: &dyn LanguageModel, owner: &GraphKey, name: &str, group: &[String]) -> SummaryKey {
    let owner = match owner {
        GraphKey::Entity(_) => "Entity",
        GraphKey::Relation(_) => "Relation",
    };
    let mut parts = vec![model.name(), SUMMARY_PROMPT.body(), owner, name];
    parts.extend(group.iter().map(String::as_str));
    SummaryKey::new(&parts)
}

async fn summarise(
    engine: &Engine,
    model: &dyn LanguageModel,
    owner: &GraphKey,
    name: &str,
    group: &[String],
    calls: &mut Vec<Call>,
) -> Result<String, ModelError> {
    let what = match owner {
        GraphKey::Entity(_) => "Entity",
        GraphKey::Relation(_) => "Relation",
    };
    let line = |fragment: &String| serde_json::json!({ "Description": fragment }).to_string();
    let descriptions = group.iter().map(line).collect::<Vec<_>>().join("\n");
    let prompt = SUMMARY_PROMPT.render(&[
        ("what", what),
        ("name", name),
        ("descriptions", &descriptions),
        ("max_words", SUMMARY_WORDS),
    ]);
    let messages = vec![ChatMessage::new(ChatRole::User, prompt)];
    let request = ChatRequest { messages, ..ChatRequest::default() };
    let (answer, call) = ask(model, request, Role::Summarize, None, engine.clock.as_ref()).await;
    calls.push(call);
    let answer = answer?;
    let answer = after_thinking(&answer).1.trim().to_owned();
    if answer.is_empty() {
        let what = "the summary is empty".to_owned();
        return Err(ModelError::Malformed { model: model.name().to_owned(), what });
    }
    Ok(answer)
}
