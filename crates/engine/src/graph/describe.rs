//! Combines descriptions: joins short ones, and summarizes long ones in a memoised tree.

use std::collections::BTreeMap;

use graphloom_core::{
    Call, CallOutcome, ContentHash, GraphKey, LanguageModel, ModelError, Role, Summary, SummaryKey,
};
use graphloom_core::{ChatMessage, ChatRequest, ChatRole};

use crate::Engine;
use crate::extract::{after_thinking, ask, ends_a_sentence};
use crate::prompt::{Prompts, SUMMARIZE};
use graphloom_text::Tokenizer;

/// From this many fragments on, a model summarises [LightRAG].
pub const SUMMARY_FRAGMENTS: usize = 8;
/// From this many tokens on, a model summarises; rules cut above it [LightRAG].
pub const SUMMARY_TOKENS: u32 = 1200;
/// Maximum tokens of the fragments in one summary call [LightRAG].
pub const SUMMARY_CONTEXT_TOKENS: u32 = 12_000;
/// Output limit of the next attempt if the model's own limit cut off a summary.
const SUMMARY_OUTPUT_TOKENS: u32 = 4_096;
/// Maximum attempts at a summary if the answer is damaged.
const SUMMARY_ATTEMPTS: u32 = 2;
/// Maximum words that the prompt asks for; about LightRAG's 600 tokens.
const SUMMARY_WORDS: &str = "450";
/// Maximum parts in a summary group. Up to this many parts form one group; more are cut into several.
const GROUP_FRAGMENTS: usize = 32;
/// A group of fragments ends after a fragment whose hash is a multiple of this, a group of their summaries after a multiple
/// of its square, and so on. The content thus determines the groups and their borders nest, so one new fragment changes one
/// group per level.
const GROUP_CUT: u64 = 12;
/// Separates joined descriptions.
const SEPARATOR: &str = "\n";

/// When summaries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Summaries {
    /// Immediately.
    Now,
    /// Never: known summaries are used, and descriptions that need a new one stay stale.
    Known,
    /// Later: as in [`Self::Known`], but entities with many mentions that only gain more also wait.
    Later,
}

/// A description, with the summaries that it is based on and the calls that they took.
#[derive(Debug, Default)]
pub(crate) struct Description {
    pub(crate) text: String,
    /// The complete memo that the owner should have: exactly the summaries in use, or all known ones while some are
    /// missing.
    pub(crate) summaries: Vec<Summary>,
    pub(crate) calls: Vec<Call>,
    /// Why summaries are missing; `None` for a finished description.
    pub(crate) missing: Option<DescriptionGap>,
}

/// Why a description is not finished.
#[derive(Debug)]
pub(crate) enum DescriptionGap {
    /// Its summaries will be written later.
    Later,
    /// A summary call failed.
    Failed(ModelError),
}

/// Returns the description of `owner` from its distinct fragments.
///
/// - Fewer than [`SUMMARY_FRAGMENTS`] fragments under [`SUMMARY_TOKENS`] tokens are joined, in the order given.
/// - More are summarised by the model: in one call if they fit, otherwise as a tree. The fragments are sorted by hash and
///   cut into groups by content, each group becomes one summary, and the summaries are grouped the same way until few are
///   left. `memo` holds summaries that are already paid for.
/// - Without a model, and while summaries are missing, whole fragments are kept in the given order up to [`SUMMARY_TOKENS`]
///   tokens; the first one is cut if it is longer by itself.
pub(crate) async fn describe(
    engine: &Engine,
    when: Summaries,
    owner: &GraphKey,
    name: &str,
    fragments: Vec<String>,
    memo: &[Summary],
) -> Description {
    let Some(model) = engine.models.summarize.as_deref() else {
        return Description { text: keep_within(engine.tokenizer, &fragments), ..Description::default() };
    };
    let mut parts: Vec<Part> = fragments.iter().map(|text| Part::leaf(text.clone())).collect();
    if !is_short(engine, &parts) {
        parts.sort_by(|one, other| (one.border, &one.text).cmp(&(other.border, &other.text)));
    }
    let known = memo.iter().map(|known| (known.key.clone(), known.text.clone())).collect();
    let mut tree = Tree {
        engine,
        model,
        when,
        owner,
        name,
        fragments: &fragments,
        known,
        used: BTreeMap::new(),
        calls: Vec::new(),
    };
    let mut cut_after = GROUP_CUT;
    let mut missing = None;
    while missing.is_none() && !is_short(engine, &parts) {
        match tree.level(std::mem::take(&mut parts), cut_after).await {
            Ok(summaries) => parts = summaries,
            Err(reason) => missing = Some(reason),
        }
        // The borders of a level are a subset of those of the level below. In the end no border is left, and one group
        // remains.
        cut_after = cut_after.saturating_mul(GROUP_CUT);
    }
    let Tree { known, used, calls, .. } = tree;
    let (text, summaries) = match missing {
        Some(_) => (keep_within(engine.tokenizer, &fragments), known),
        None => (parts.into_iter().map(|part| part.text).collect::<Vec<_>>().join(SEPARATOR), used),
    };
    let summaries = summaries.into_iter().map(|(key, text)| Summary { key, text }).collect();
    Description { text, summaries, calls, missing }
}

/// The summary tree of one owner while it is built.
struct Tree<'a> {
    engine: &'a Engine,
    model: &'a dyn LanguageModel,
    when: Summaries,
    owner: &'a GraphKey,
    name: &'a str,
    /// All fragments that describe the owner.
    fragments: &'a [String],
    /// All summaries that are already paid for.
    known: BTreeMap<SummaryKey, String>,
    /// The summaries that this description uses.
    used: BTreeMap<SummaryKey, String>,
    calls: Vec<Call>,
}

impl Tree<'_> {
    /// Returns the summaries of the groups of `parts`, in order.
    async fn level(&mut self, parts: Vec<Part>, cut_after: u64) -> Result<Vec<Part>, DescriptionGap> {
        let mut summaries = Vec::new();
        for group in cut_groups(self.engine, parts, cut_after) {
            let Some(border) = group.last().map(|part| part.border) else { continue };
            let texts: Vec<String> = group.into_iter().map(|part| part.text).collect();
            let text = match texts.as_slice() {
                [single] => single.clone(),
                _ => self.summary(&texts).await?,
            };
            summaries.push(Part { border, text });
        }
        Ok(summaries)
    }

    async fn summary(&mut self, texts: &[String]) -> Result<String, DescriptionGap> {
        let key = summary_key(&self.engine.prompts, self.model, self.owner, self.name, texts);
        let text = match (self.known.get(&key), self.when) {
            (Some(known), _) => known.clone(),
            (None, _) if let Some(imported) = self.imported(texts) => imported,
            (None, Summaries::Later | Summaries::Known) => return Err(DescriptionGap::Later),
            (None, Summaries::Now) => {
                let summary =
                    summarise(self.engine, self.model, self.owner, self.name, texts, &mut self.calls);
                let text = summary.await;
                let text = text.map_err(DescriptionGap::Failed)?;
                self.known.insert(key.clone(), text.clone());
                text
            }
        };
        self.used.insert(key, text.clone());
        Ok(text)
    }

    /// Returns another system's description made of these texts, if they are all fragments of the owner.
    fn imported(&self, texts: &[String]) -> Option<String> {
        let known = self.engine.index.known_descriptions.as_deref()?;
        let text = (texts.len() == self.fragments.len()).then(|| known.of(self.owner, self.fragments))??;
        Some(text.to_owned())
    }
}

/// A fragment, or the summary of several, with the hash of its last fragment.
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

/// True if the texts together have at most `limit` tokens. A token has at least one byte, so short texts need no counting.
fn within<'a>(engine: &Engine, texts: impl Iterator<Item = &'a str> + Clone, limit: u32) -> bool {
    texts.clone().map(str::len).sum::<usize>() <= limit as usize
        || texts.map(|text| engine.tokenizer.count(text)).sum::<u32>() <= limit
}

/// Cuts parts into groups of at most [`GROUP_FRAGMENTS`] parts and [`SUMMARY_CONTEXT_TOKENS`] tokens. If the parts do not
/// fit in a single group, a group also ends after a part whose border is a multiple of `cut_after`. A second part joins an
/// open group whatever its length, so parts that are too long to pair cannot stop the reduction [LightRAG does the same].
fn cut_groups(engine: &Engine, parts: Vec<Part>, cut_after: u64) -> Vec<Vec<Part>> {
    let texts = parts.iter().map(|part| part.text.as_str());
    if parts.len() <= GROUP_FRAGMENTS && within(engine, texts, SUMMARY_CONTEXT_TOKENS) {
        return vec![parts];
    }
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

/// Returns as many whole fragments, in the given order, as fit in [`SUMMARY_TOKENS`]; the first one is cut if it is longer
/// by itself.
pub(crate) fn keep_within(tokenizer: Tokenizer, fragments: &[String]) -> String {
    // A token has at least one byte, so most descriptions need no counting.
    if fragments.iter().map(|fragment| fragment.len() + 1).sum::<usize>() <= SUMMARY_TOKENS as usize {
        return fragments.join(SEPARATOR);
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut tokens = 0;
    for fragment in fragments {
        let count = tokenizer.count(fragment) + 1;
        if kept.is_empty() && count > SUMMARY_TOKENS {
            return tokenizer.truncate(fragment, SUMMARY_TOKENS).to_owned();
        }
        if tokens + count > SUMMARY_TOKENS {
            break;
        }
        tokens += count;
        kept.push(fragment);
    }
    kept.join(SEPARATOR)
}

fn summary_key(
    prompts: &Prompts,
    model: &dyn LanguageModel,
    owner: &GraphKey,
    name: &str,
    group: &[String],
) -> SummaryKey {
    let owner = match owner {
        GraphKey::Entity(_) => "Entity",
        GraphKey::Relation(_) => "Relation",
    };
    let language = language(prompts);
    let mut parts = vec![model.name(), prompts.body(SUMMARIZE), &language, owner, name];
    parts.extend(group.iter().map(String::as_str));
    SummaryKey::new(&parts)
}

fn language(prompts: &Prompts) -> String {
    prompts.language("the list's language", ", names as in the list")
}

/// Asks for one summary. If it is cut off or ends inside a sentence, asks again; if both answers are damaged, the longer
/// one is used.
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
    let variables = [
        ("what", what),
        ("name", name),
        ("descriptions", descriptions.as_str()),
        ("max_words", SUMMARY_WORDS),
        ("language", &language(&engine.prompts)),
    ];
    let prompt = engine.prompts.render(SUMMARIZE, &variables);
    let messages = vec![ChatMessage::new(ChatRole::User, prompt)];
    // Some scripts and some descriptions have no full stops.
    let punctuated = group.iter().any(|text| ends_a_sentence(text));
    let mut request = ChatRequest { messages, ..ChatRequest::default() };
    let mut broken: Option<String> = None;
    for _ in 0..SUMMARY_ATTEMPTS {
        let (answer, call) = ask(model, request.clone(), Role::Summarize, None, engine.clock.as_ref()).await;
        let cut = call.outcome == CallOutcome::Truncated;
        calls.push(call);
        let text = match (answer, &broken) {
            (Ok(answer), _) => after_thinking(&answer).1.trim().to_owned(),
            // The model does not accept this limit; an incomplete summary is better than none.
            (Err(ModelError::Refused { .. }), Some(text)) => return Ok(text.clone()),
            (Err(error), _) => return Err(error),
        };
        if !text.is_empty() && !cut && (!punctuated || ends_a_sentence(&text)) {
            return Ok(text);
        }
        if cut {
            request.max_output_tokens = Some(SUMMARY_OUTPUT_TOKENS);
        }
        broken = broken.filter(|before| before.len() >= text.len()).or(Some(text));
    }
    match broken.filter(|text| !text.is_empty()) {
        Some(text) => Ok(text),
        None => {
            let (model, what) = (model.name().to_owned(), "the summary is empty".to_owned());
            Err(ModelError::Malformed { model, what })
        }
    }
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
        let check = |prompts: &Prompts| {
            let language = language(prompts);
            prompts.render(SUMMARIZE, &[&values[..], &[("language", language.as_str())]].concat())
        };
        insta::assert_snapshot!("summarize", check(&Prompts::default()));
        let mut french = Prompts::default();
        french.set_language("French");
        assert!(check(&french).contains("plain prose in French, names as in the list, at most"));
    }
}
