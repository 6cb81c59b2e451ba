//! Reports of communities, written by an LLM or extracted by rules, with references to the documents.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    CacheEntry, CacheKind, Call, CallOutcome, ChatMessage, ChatRequest, Chunk, ChunkId, ContentHash,
    DocumentId, GraphKey, LanguageModel, LayerNode, ModelError, Role, Snapshot, Span, StoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(super) use super::material::Material;
use super::material::Source;
use super::{NodeOutcome, imported};
use crate::Engine;
use crate::extract::{after_thinking, ask};
use crate::prompt::COMMUNITY_REPORT;
use crate::query::{ContentWords, likeness};
use graphloom_text::{is_prose, one_line, sentences};

/// The author of a report that rules extracted.
pub const RULES: &str = "rules";
/// Version of the rules; a change extracts all reports again.
const RULES_VERSION: &str = "2";
/// Output limits of the first attempt, and of the second if the first answer was cut off.
const OUTPUT_TOKENS: [u32; 2] = [4_096, 8_192];
/// Maximum findings of a report; more are dropped.
pub(super) const MAX_FINDINGS: usize = 10;
/// Maximum references of a finding.
pub(super) const MAX_REFERENCES: usize = 8;
/// Maximum findings of a report by rules.
const EXTRACTED_FINDINGS: usize = 5;
/// Maximum characters of an entity's description in a summary by rules.
const MAX_DESCRIPTION_CHARS: usize = 300;
/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 200;
/// Assumed length of a long report that is not written yet: words of its summary, and findings.
const LONG_SUMMARY_WORDS: usize = 120;
const LONG_FINDINGS: usize = 8;
/// The highest rating.
pub(super) const MAX_RATING: f64 = 10.0;

/// A report about a community, stored as the details of its node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its author: the name of an LLM, or `rules` for sentences of the documents.
    pub by: String,
    /// What the community is about.
    pub summary: String,
    /// Importance of the community, from 0 to 10.
    pub rating: f64,
    /// Reason for the rating.
    pub rating_reason: String,
    /// Findings, most important first.
    pub findings: Vec<Finding>,
    /// Number of the author's references that could not be resolved.
    pub dropped_references: u32,
    /// What it was written from.
    pub source: ReportSource,
    /// Number of entities in the community, including its parts.
    pub entities: u32,
    /// Number of relations between them.
    pub relations: u32,
    /// Number of these relations that neither the author nor the author of a part's report saw.
    pub omitted_relations: u32,
}

/// What a report was written from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSource {
    /// Entities and relations.
    Graph,
    /// The reports of the community's parts, and the relations between the parts.
    Reports,
}

/// One insight of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The insight in one sentence.
    pub summary: String,
    /// The insight in a few sentences.
    pub explanation: String,
    /// Sentences of the documents that support it.
    pub references: Vec<Reference>,
}

/// A sentence of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reference {
    /// The document.
    pub document: DocumentId,
    /// The chunk that contains the sentence.
    pub chunk: ChunkId,
    /// Its position in the document's text.
    pub span: Span,
}

impl Report {
    /// Returns the report of a node; `None` if the node has none.
    pub fn of(node: &LayerNode) -> Option<Self> {
        serde_json::from_value(node.details.clone()).ok()
    }

    /// Returns summary and findings as one text.
    fn text(&self) -> String {
        let mut text = self.summary.clone();
        for finding in &self.findings {
            text.push_str(&format!("\n\n- {} {}", finding.summary, finding.explanation));
        }
        text
    }

    pub(super) fn put_into(self, mut node: LayerNode, title: &str, inputs_hash: ContentHash) -> LayerNode {
        node.title = one_line(title).chars().take(MAX_TITLE_CHARS).collect();
        node.text = self.text();
        node.details = serde_json::to_value(self).unwrap_or_default();
        node.inputs_hash = inputs_hash;
        node
    }
}

/// Writes the report of `node`, or keeps the stored one if it was written from the same material.
pub(super) async fn write(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    node: LayerNode,
    material: Material,
    stored: Option<&LayerNode>,
) -> Result<NodeOutcome, StoreError> {
    if let Some(written) = imported::write(snapshot, &node, &material, stored).await? {
        return Ok(written);
    }
    let Some(model) = engine.models.summarize.as_deref() else {
        let inputs =
            ContentHash::of_parts(&[RULES, RULES_VERSION, &material.text, material.evidence.as_str()]);
        if stored.is_some_and(|stored| stored.inputs_hash == inputs) {
            return Ok(NodeOutcome::Kept);
        }
        let (title, report) = extract(snapshot, &material).await?;
        let node = report.put_into(node, &title, inputs);
        return Ok(NodeOutcome::New { node, paid: None, calls: Vec::new() });
    };
    let language = engine.prompts.language("the language of the data", ", names as in the data");
    let variables = [("context", material.text.as_str()), ("language", language.as_str())];
    let messages = engine.prompts.messages(COMMUNITY_REPORT, &variables);
    let key = request_key(model, &messages);
    let inputs = ContentHash::of_parts(&[key.as_str(), material.evidence.as_str()]);
    if stored.is_some_and(|stored| stored.inputs_hash == inputs) {
        return Ok(NodeOutcome::Kept);
    }
    let known = snapshot.cached(&[(CacheKind::Node, key.clone())]).await?.pop().flatten();
    let known = known.and_then(|value| Some((Draft::parse(std::str::from_utf8(&value).ok()?)?, None)));
    let (draft, paid, calls) = match known {
        Some((draft, paid)) => (draft, paid, Vec::new()),
        None => match ask_for_report(engine, model, messages).await {
            (Ok((answer, draft)), calls) => {
                let paid = CacheEntry { kind: CacheKind::Node, key, value: answer.into_bytes() };
                (draft, Some(paid), calls)
            }
            (Err(error), calls) => return Ok(NodeOutcome::Failed { error, calls }),
        },
    };
    let title = draft.title.clone();
    let report = draft.resolve(snapshot, &material, model.name()).await?;
    Ok(NodeOutcome::New { node: report.put_into(node, &title, inputs), paid, calls })
}

/// Returns a report as an LLM writes it: with eight findings, or the shortest possible.
pub(super) fn sample(long: bool) -> String {
    let (summary, findings) =
        if long { ("word ".repeat(LONG_SUMMARY_WORDS), LONG_FINDINGS) } else { ("x".to_owned(), 0) };
    let finding = json!({ "summary": "word ".repeat(25), "explanation": "word ".repeat(70) });
    json!({
        "title": "A title of a few words", "summary": summary, "rating": 5.0, "rating_reason": summary,
        "findings": vec![finding; findings],
    })
    .to_string()
}

/// Returns the cache key of an LLM answer.
pub(super) fn request_key(model: &dyn LanguageModel, messages: &[ChatMessage]) -> ContentHash {
    let mut parts = vec![model.name()];
    parts.extend(messages.iter().map(|message| message.content.as_str()));
    ContentHash::of_parts(&parts)
}

/// Returns the answer with its parsed form, and the rows for the ledger.
async fn ask_for_report(
    engine: &Engine,
    model: &dyn LanguageModel,
    messages: Vec<ChatMessage>,
) -> (Result<(String, Draft), ModelError>, Vec<Call>) {
    let mut calls = Vec::new();
    for limit in OUTPUT_TOKENS {
        let request = ChatRequest {
            messages: messages.clone(),
            max_output_tokens: Some(limit),
            temperature: Some(0.0),
            json_object: true,
            ..ChatRequest::default()
        };
        let (answer, call) = ask(model, request, Role::Summarize, None, engine.clock.as_ref()).await;
        let is_cut = call.outcome == CallOutcome::Truncated;
        if call.attempts > 0 {
            calls.push(call);
        }
        match answer {
            Ok(answer) => match Draft::parse(&answer) {
                Some(draft) => return (Ok((answer, draft)), calls),
                None if is_cut => {}
                None => break,
            },
            Err(error) => return (Err(error), calls),
        }
    }
    let what = "the answer is not a report".to_owned();
    (Err(ModelError::Malformed { model: model.name().to_owned(), what }), calls)
}

/// A report as an LLM wrote it.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Draft {
    title: String,
    summary: String,
    rating: Rating,
    rating_reason: String,
    findings: Vec<DraftFinding>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct DraftFinding {
    summary: String,
    explanation: String,
}

/// LLMs write numbers as numbers or as strings.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Rating {
    Number(f64),
    Text(String),
}

impl Default for Rating {
    fn default() -> Self {
        Self::Number(0.0)
    }
}

impl Rating {
    /// Returns the rating from 0 to 10, rounded to one decimal.
    fn value(&self) -> f64 {
        let value = match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.trim().parse().unwrap_or(0.0),
        };
        let value = if value.is_finite() { value.clamp(0.0, MAX_RATING) } else { 0.0 };
        (value * 10.0).round() / 10.0
    }
}

impl Draft {
    /// Reads the JSON object of an answer, ignoring any text around it; `None` without title or summary.
    fn parse(answer: &str) -> Option<Self> {
        let answer = after_thinking(answer).1;
        let object = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
        let draft: Self = serde_json::from_str(object).ok()?;
        (!draft.title.trim().is_empty() && !draft.summary.trim().is_empty()).then_some(draft)
    }

    /// Returns the report, with references resolved to sentences of the documents.
    async fn resolve(
        self,
        snapshot: &dyn Snapshot,
        material: &Material,
        by: &str,
    ) -> Result<Report, StoreError> {
        let mut resolver = Resolver::new(snapshot, material);
        let (mut findings, mut dropped) = (Vec::new(), 0);
        for finding in self.findings.into_iter().take(MAX_FINDINGS) {
            let (summary, mut marks) = without_marks(&finding.summary);
            let (explanation, more) = without_marks(&finding.explanation);
            marks.extend(more);
            if summary.is_empty() && explanation.is_empty() {
                continue;
            }
            let claim = format!("{summary} {explanation}");
            let mut references = Vec::new();
            for mark in marks {
                match resolver.find(&mark, &claim).await? {
                    Some(reference) if references.contains(&reference) => {}
                    Some(reference) if references.len() < MAX_REFERENCES => references.push(reference),
                    Some(_) | None => dropped += 1,
                }
            }
            findings.push(Finding { summary, explanation, references });
        }
        Ok(Report {
            by: by.to_owned(),
            summary: without_marks(&self.summary).0,
            rating: self.rating.value(),
            rating_reason: without_marks(&self.rating_reason).0,
            findings,
            dropped_references: dropped,
            source: material.source,
            entities: material.entities,
            relations: material.relations,
            omitted_relations: material.omitted_relations,
        })
    }
}

/// Returns the text without ids in brackets, and the ids.
fn without_marks(text: &str) -> (String, Vec<String>) {
    let (mut kept, mut marks) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let close = rest[open..].find(']').map(|length| open + length);
        let ids = close.and_then(|close| ids(&rest[open + 1..close]));
        match (close, ids) {
            (Some(close), Some(ids)) => {
                kept.push_str(rest[..open].trim_end());
                marks.extend(ids);
                rest = &rest[close + 1..];
            }
            _ => {
                kept.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
            }
        }
    }
    kept.push_str(rest);
    (one_line(kept.trim()), marks)
}

/// Reads a list of ids such as `E2, R7`; `None` if it is anything else.
fn ids(list: &str) -> Option<Vec<String>> {
    let id = |item: &str| {
        let item = item.trim();
        let number = item.strip_prefix(['E', 'R', 'C'])?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| item.to_owned())
    };
    list.split([',', ';']).map(id).collect()
}

/// Finds the document sentences behind ids, and caches the chunks it reads.
pub(super) struct Resolver<'a> {
    snapshot: &'a dyn Snapshot,
    material: &'a Material,
    pub(super) words: ContentWords,
    chunks: BTreeMap<ChunkId, Option<Chunk>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(snapshot: &'a dyn Snapshot, material: &'a Material) -> Self {
        Self { snapshot, material, words: ContentWords::new(), chunks: BTreeMap::new() }
    }

    /// Returns the sentence behind an id that shares the most words with `claim`; `None` if there is no such id or
    /// sentence.
    async fn find(&mut self, id: &str, claim: &str) -> Result<Option<Reference>, StoreError> {
        let material = self.material;
        match material.sources.get(id) {
            None => Ok(None),
            Some(Source::Item(key)) => {
                let claim = self.words.of(claim);
                self.best_sentence(key, &claim).await
            }
            Some(Source::Part(part)) => {
                let references = Report::of(&material.parts[*part]).map(|report| report.findings);
                let references: BTreeSet<Reference> =
                    references.into_iter().flatten().flat_map(|finding| finding.references).collect();
                let claim = self.words.of(claim);
                let mut best: Option<(f64, Reference)> = None;
                for reference in references {
                    let Some(chunk) = self.chunk(&reference.chunk).await? else { continue };
                    let start = reference.span.start.saturating_sub(chunk.span.start) as usize;
                    let end = reference.span.end.saturating_sub(chunk.span.start) as usize;
                    let Some(sentence) = chunk.text.get(start..end).map(str::to_owned) else { continue };
                    let score = likeness(&claim, &self.words.of(&sentence));
                    if score > best.as_ref().map_or(0.0, |(score, _)| *score) {
                        best = Some((score, reference));
                    }
                }
                Ok(best.map(|(_, reference)| reference))
            }
        }
    }

    /// Returns the sentence that shares the most words with `claim`, from the chunks behind an entity or relation.
    async fn best_sentence(
        &mut self,
        key: &GraphKey,
        claim: &BTreeSet<String>,
    ) -> Result<Option<Reference>, StoreError> {
        let material = self.material;
        let chunks = material.chunks.get(key).map_or(&[][..], Vec::as_slice);
        self.best_sentence_of(chunks, claim, |_| true).await
    }

    /// Returns the sentence of these chunks that shares the most words with `claim`, among the sentences for which `takes`
    /// is true.
    pub(super) async fn best_sentence_of(
        &mut self,
        chunks: &[ChunkId],
        claim: &BTreeSet<String>,
        takes: fn(&str) -> bool,
    ) -> Result<Option<Reference>, StoreError> {
        let mut best: Option<(f64, Reference)> = None;
        for id in chunks {
            let Some(chunk) = self.chunk(id).await?.cloned() else { continue };
            for range in sentences(&chunk.text).into_iter().filter(|range| takes(&chunk.text[range.clone()]))
            {
                let score = likeness(claim, &self.words.of(&chunk.text[range.clone()]));
                if score > best.as_ref().map_or(0.0, |(score, _)| *score) {
                    let span = chunk.span.within(Span::new(range.start, range.end));
                    let (document, chunk) = (chunk.document.clone(), chunk.id.clone());
                    best = Some((score, Reference { document, chunk, span }));
                }
            }
        }
        Ok(best.map(|(_, reference)| reference))
    }

    async fn chunk(&mut self, id: &ChunkId) -> Result<Option<&Chunk>, StoreError> {
        if !self.chunks.contains_key(id) {
            let chunk = self.snapshot.chunks(std::slice::from_ref(id)).await?.pop().flatten();
            self.chunks.insert(id.clone(), chunk);
        }
        Ok(self.chunks.get(id).and_then(Option::as_ref))
    }

    pub(super) async fn quote(&mut self, reference: &Reference) -> Result<String, StoreError> {
        let Some(chunk) = self.chunk(&reference.chunk).await? else { return Ok(String::new()) };
        let start = reference.span.start.saturating_sub(chunk.span.start) as usize;
        let end = reference.span.end.saturating_sub(chunk.span.start) as usize;
        Ok(one_line(chunk.text.get(start..end).unwrap_or_default()))
    }
}

/// Returns title and report by rules: the descriptions of the leading entities, and sentences of the documents about the
/// leading relations.
///
/// The rating is the binary logarithm of the number of relations plus one, so it depends only on the community.
async fn extract(snapshot: &dyn Snapshot, material: &Material) -> Result<(String, Report), StoreError> {
    let names: Vec<&str> = material.leading.iter().map(|entity| entity.name.as_str()).collect();
    let mut described: Vec<String> = Vec::new();
    for entity in &material.leading {
        let Some(sentence) = first_prose_sentence(&entity.description) else { continue };
        let text = match sentence.contains(&entity.name) {
            true => shortened(&sentence, MAX_DESCRIPTION_CHARS),
            false => format!("{}: {}", entity.name, shortened(&sentence, MAX_DESCRIPTION_CHARS)),
        };
        if !described.contains(&text) {
            described.push(text);
        }
    }
    let summary = described.join(" ");
    let mut findings = Vec::new();
    match material.source {
        ReportSource::Graph => {
            findings = sentences_about(snapshot, material, is_prose).await?;
            if findings.is_empty() {
                // If the documents have only tables, a row is better than nothing.
                findings = sentences_about(snapshot, material, |_| true).await?;
            }
        }
        ReportSource::Reports => {
            let reports = material.parts.iter().filter_map(Report::of);
            let mut firsts: Vec<(f64, Finding)> = reports
                .filter_map(|report| Some((report.rating, report.findings.into_iter().next()?)))
                .collect();
            firsts.sort_by(|one, other| other.0.total_cmp(&one.0));
            findings.extend(firsts.into_iter().take(EXTRACTED_FINDINGS).map(|(_, finding)| finding));
        }
    }
    let rating = f64::from(material.relations + 1).log2().min(MAX_RATING);
    let report = Report {
        by: RULES.to_owned(),
        summary,
        rating: (rating * 10.0).round() / 10.0,
        rating_reason: format!(
            "Rated by its size: {} entities and {} relations.",
            material.entities, material.relations
        ),
        findings,
        dropped_references: 0,
        source: material.source,
        entities: material.entities,
        relations: material.relations,
        omitted_relations: material.omitted_relations,
    };
    Ok((names.join(", "), report))
}

/// Returns findings about the leading relations: the best sentence for each, among the sentences for which `takes` is true.
async fn sentences_about(
    snapshot: &dyn Snapshot,
    material: &Material,
    takes: fn(&str) -> bool,
) -> Result<Vec<Finding>, StoreError> {
    let mut resolver = Resolver::new(snapshot, material);
    let mut findings: Vec<Finding> = Vec::new();
    for relation in &material.leading_relations {
        let [a, b] = relation.key.ends().map(|end| material.name_of(end));
        let claim = resolver.words.of(&format!("{a} {b} {}", relation.description));
        let key = GraphKey::Relation(relation.key.clone());
        let chunks = material.chunks.get(&key).map_or(&[][..], Vec::as_slice);
        let Some(reference) = resolver.best_sentence_of(chunks, &claim, takes).await? else { continue };
        if findings.iter().any(|finding| finding.references.contains(&reference)) {
            continue;
        }
        let explanation = resolver.quote(&reference).await?;
        let summary = match relation.keywords.is_empty() {
            true => format!("{a} and {b}."),
            false => format!("{a} and {b}: {}.", relation.keywords.join(", ")),
        };
        findings.push(Finding { summary, explanation, references: vec![reference] });
        if findings.len() == EXTRACTED_FINDINGS {
            break;
        }
    }
    Ok(findings)
}

/// Returns the first sentence of a description, preferring prose to table rows.
fn first_prose_sentence(description: &str) -> Option<String> {
    let all: Vec<&str> = sentences(description).into_iter().map(|range| &description[range]).collect();
    let prose = all.iter().copied().find(|sentence| is_prose(sentence));
    prose.or(all.first().copied()).map(one_line)
}

/// Cuts a text to at most `most` characters, after a word.
fn shortened(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let cut = &text[..end];
    let word = cut.rfind(char::is_whitespace).unwrap_or(end);
    format!("{}…", cut[..word].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_by_rules_prefers_sentences_to_table_rows_and_is_cut_at_a_word() {
        let description = "name: Ada | role: author\nAda wrote notes. She lived in London.";
        assert_eq!(first_prose_sentence(description).as_deref(), Some("Ada wrote notes."));
        assert_eq!(
            first_prose_sentence("name: Ada | role: author").as_deref(),
            Some("name: Ada | role: author")
        );
        let wrapped = "The Larkfen society lets plots to people who\nlive in Harwick. It has\na shed.";
        assert_eq!(
            first_prose_sentence(wrapped).as_deref(),
            Some("The Larkfen society lets plots to people who live in Harwick.")
        );
        assert_eq!(first_prose_sentence(""), None);
        assert_eq!(shortened("Ada wrote notes.", 11), "Ada wrote…");
        assert_eq!(shortened("Ada", 3), "Ada");
    }

    #[test]
    fn a_report_is_read_from_any_text_around_its_json() {
        let answer = "<think>hm</think>\nHere it is:\n```json\n{\"title\": \"Ada\", \"summary\": \"S.\", \
                      \"rating\": \"7.25\", \"findings\": [{\"summary\": \"F\"}], \"more\": 1}\n```";
        let draft = Draft::parse(answer).expect("a report");
        assert_eq!((draft.title.as_str(), draft.rating.value()), ("Ada", 7.3));
        assert_eq!(draft.findings, [DraftFinding { summary: "F".to_owned(), explanation: String::new() }]);
        for bad in ["", "no", "{", "}{", "{\"title\": \"Ada\"}", "{\"title\": \" \", \"summary\": \"S\"}"] {
            assert_eq!(Draft::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn ratings_stay_within_their_bounds() {
        let value =
            |rating: &str| Draft::parse(&format!(r#"{{"title":"T","summary":"S","rating":{rating}}}"#));
        let value = |rating: &str| value(rating).expect("a report").rating.value();
        assert_eq!(["11", "-3", "\"x\"", "\"NaN\"", "4.44"].map(value), [10.0, 0.0, 0.0, 0.0, 4.4]);
    }

    #[test]
    fn citations_are_removed_from_a_text_and_other_brackets_stay() {
        let (text, marks) = without_marks("Ada wrote notes [E1, R2]. See [sic] and a[1] [R3]. [");
        assert_eq!(text, "Ada wrote notes. See [sic] and a[1]. [");
        assert_eq!(marks, ["E1", "R2", "R3"]);
        assert_eq!(without_marks("[E]").0, "[E]");
    }
}
