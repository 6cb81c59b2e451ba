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
/// Parts of a summary group at most; a group ends earlier where a hash says so.
const GROUP_FRAGMENTS: usize = 24;
/// A group of fragments ends after one whose hash is a multiple of this, a group of their summaries after a multiple of
/// its square, and so on. Groups are thus cut by content and their borders nest, so one new fragment changes one group a
/// level.
const GROUP_CUT: u64 = 6;
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
///   becomes one summary, and the summaries are grouped the same way until few are left. `memo` holds summaries already
///   paid for.
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
    let mut parts: Vec<Part> = fragments.into_iter().map(Part::leaf).collect();
    let mut cut_after = GROUP_CUT;
    if !is_short(engine, &parts) {
        parts.sort_by(|one, other| (one.border, &one.text).cmp(&(other.border, &other.text)));
    }
    while !is_short(engine, &parts) {
        let mut summaries: Vec<Part> = Vec::new();
        for group in cut_groups(engine, std::mem::take(&mut parts), cut_after) {
            let [.., last] = group.as_slice() else { continue };
            let border = last.border;
            let texts: Vec<String> = group.into_iter().map(|part| part.text).collect();
            let text = match texts.as_slice() {
                [single] => single.clone(),
                _ => {
                    let key = summary_key(model, owner, name, &texts);
                    let text = match used.get(&key).map(String::as_str).or_else(|| memo.get(&key).copied()) {
                        Some(known) => known.to_owned(),
                        None => summarise(engine, model, owner, name, &texts, &mut description.calls).await?,
                    };
                    used.insert(key, text.clone());
                    text
                }
            };
            summaries.push(Part { border, text });
        }
        parts = summaries;
        // Borders of a level are those of the level below thinned out; in the end none is left and one group remains.
        cut_after = cut_after.saturating_mul(GROUP_CUT);
    }
    description.text = parts.into_iter().map(|part| part.text).collect::<Vec<_>>().join(SEPARATOR);
    description.summaries = used.into_iter().map(|(key, text)| Summary { key, text }).collect();
    Ok(description)
}

/// A fragment, or the summary of some, with the hash of the last fragment in it.
struct Part {
    border: u64,
    text: String,
}

impl Part {
    fn leaf(text: String) -> Self {
        let hash = ContentHash::of(text.as_bytes());
        let border = u64::from_str_radix(&hash.as_str()[..15], 16).unwrap_or(0);
        Self { border, text }
    }
}

fn is_short(engine: &Engine, parts: &[Part]) -> bool {
    parts.len() <= 1
        || (parts.len() < SUMMARY_FRAGMENTS
            && within(engine, parts.iter().map(|part| part.text.as_str()), SUMMARY_TOKENS - 1))
}

/// Whether the texts have at most `limit` tokens together. A token has at least a byte, so short texts are not counted.
fn within<'a>(engine: &Engine, texts: impl Iterator<Item = &'a str> + Clone, limit: u32) -> bool {
    texts.clone().map(str::len).sum::<usize>() <= limit as usize
        || texts.map(|text| engine.tokenizer.count(text)).sum::<u32>() <= limit
}

/// Cuts parts into groups of at most [`GROUP_FRAGMENTS`] and [`SUMMARY_CONTEXT_TOKENS`]; a group also ends after a part
/// whose border is a multiple of `cut_after`. A second part joins an open group whatever its length, so that parts too
/// long to pair cannot stop the reduction [LightRAG does the same].
fn cut_groups(engine: &Engine, parts: Vec<Part>, cut_after: u64) -> Vec<Vec<Part>> {
    let mut groups: Vec<Vec<Part>> = Vec::new();
    let mut open = false;
    for part in parts {
        let ends = part.border.is_multiple_of(cut_after);
        match groups.last_mut() {
            Some(group) if open && group.len() < GROUP_FRAGMENTS && joins(engine, group, &part) => {
                group.push(part)
            }
            _ => groups.push(vec![part]),
        }
        open = !ends;
    }
    groups
}

fn joins(engine: &Engine, group: &[Part], part: &Part) -> bool {
    let texts = group.iter().chain([part]).map(|part| part.text.as_str());
    group.len() == 1 || within(engine, texts, SUMMARY_CONTEXT_TOKENS)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_prompt_renders_as_reviewed() {
        let descriptions =
            "{\"Description\":\"Ada is a chemist.\"}\n{\"Description\":\"Ada founded the lab.\"}";
        let values = [
            ("what", "Entity"),
            ("name", "Ada"),
            ("descriptions", descriptions),
            ("max_words", SUMMARY_WORDS),
        ];
        insta::assert_snapshot!("summarize", SUMMARY_PROMPT.render(&values));
    }
}
