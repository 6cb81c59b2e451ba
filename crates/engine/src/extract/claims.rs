//! Asks an LLM for the claims of a chunk, and parses its answer.
//!
//! [`parse_claims`] is total, like the parser of entities and relations: any text gives records and rejects. It reads
//! tuple lines, GraphRAG's form in parentheses, and JSON. A claim whose quote is not in the chunk is dropped.

use std::ops::Range;

use graphloom_core::{
    Call, CallOutcome, ChatMessage, ChatRequest, ChatRole, Chunk, ClaimRecord, ClaimStatus, Clock, IsoDate,
    LanguageModel, ModelError, Period, Reject, RejectReason, Role,
};

use super::ask;
use super::loss::Losses;
use super::output::{MAX_OUTPUT_TOKENS, output_limit};
use super::records::{JsonItem, after_thinking, fields_of, json_objects, says_complete};
use super::user_prompt;
use crate::prompt::{EXTRACT_CLAIMS, Prompts};
use graphloom_offline::date_in;
use graphloom_text::{clean_name, one_line};

/// Maximum number of claims requested per answer.
pub const MAX_CLAIMS: u32 = 40;
/// How often a cut answer is requested again, with twice the limit.
const MAX_LONGER: u32 = 1;
/// Characters of a rejected piece that are kept for users to read.
const MAX_REJECT_CHARS: usize = 200;
/// Number of fields in a record after its tag.
const FIELDS: usize = 8;

/// An LLM's answer about a chunk's claims.
#[derive(Debug, Default)]
pub(super) struct ClaimAnswer {
    pub(super) records: Vec<ClaimRecord>,
    pub(super) responses: Vec<String>,
    pub(super) rejects: Vec<Reject>,
    pub(super) losses: Losses,
}

/// Returns the question for the claims of `chunk`: instructions that are the same for every chunk, then the chunk.
pub(crate) fn claim_messages(chunk: &Chunk, prompts: &Prompts) -> Vec<ChatMessage> {
    vec![
        ChatMessage::new(ChatRole::System, claims_prompt(prompts)),
        ChatMessage::new(ChatRole::User, user_prompt(chunk, prompts)),
    ]
}

/// Returns the instructions.
pub(super) fn claims_prompt(prompts: &Prompts) -> String {
    prompts.render(
        EXTRACT_CLAIMS,
        &[("max_claims", &MAX_CLAIMS.to_string()), ("language", &prompts.language("its language", ""))],
    )
}

/// Asks `model` for the claims of `chunk`. An answer that the output limit cuts is requested once more with a higher limit.
///
/// - `before`: number of answers that the extraction already has.
/// - Adds a row for each call to `calls`.
pub(super) async fn ask_for_claims(
    chunk: &Chunk,
    prompts: &Prompts,
    model: &dyn LanguageModel,
    clock: &dyn Clock,
    before: usize,
    calls: &mut Vec<Call>,
) -> Result<ClaimAnswer, ModelError> {
    let mut limit = output_limit(chunk.text.len());
    for round in 0.. {
        let request = ChatRequest {
            messages: claim_messages(chunk, prompts),
            max_output_tokens: Some(limit),
            ..ChatRequest::default()
        };
        let (text, mut call) = ask(model, request, Role::Extract, Some(&chunk.document), clock).await;
        let cut = call.outcome == CallOutcome::Truncated;
        let parsed = text.as_ref().ok().map(|text| parse_claims(text, cut, &chunk.text));
        call.rejects = parsed.as_ref().map_or(0, |parsed| parsed.rejects.len() as u32);
        calls.push(call);
        let text = text?;
        let Some(parsed) = parsed else { break };
        if cut && round < MAX_LONGER {
            limit = limit.saturating_mul(2).min(MAX_OUTPUT_TOKENS);
            continue;
        }
        if parsed.records.is_empty() && parsed.rejects.is_empty() && !parsed.complete {
            let what = "the answer contains no claims and does not say that there are none".to_owned();
            return Err(ModelError::Malformed { model: model.name().to_owned(), what });
        }
        let mut claimed = ClaimAnswer::default();
        for (reason, span) in parsed.rejects {
            claimed.losses.add(reason);
            let piece: String = text[span.clone()].chars().take(MAX_REJECT_CHARS).collect();
            let (response, offset) = (before as u32, span.start as u64);
            claimed.rejects.push(Reject { response, offset, reason, text: piece });
        }
        claimed.records = parsed.records;
        claimed.responses.push(text);
        return Ok(claimed);
    }
    Ok(ClaimAnswer::default())
}

/// The parsed records of an answer.
#[derive(Debug, Default, PartialEq)]
pub struct ParsedClaims {
    /// The claims, with quotes copied from the passage.
    pub records: Vec<ClaimRecord>,
    /// Pieces that are not claims, with their positions in the answer.
    pub rejects: Vec<(RejectReason, Range<usize>)>,
    /// Whether the answer says that it is complete.
    pub complete: bool,
}

/// Parses an answer about `passage`.
///
/// - `cut`: whether the output limit ended the answer, so that its last record may be incomplete.
/// - Claims without a subject or kind, and claims whose quote is not in the passage, are rejected. A quote may differ from the
///   passage in white space, quotation marks and dashes.
/// - Unreadable dates are left out, and an unknown status counts as suspected.
pub fn parse_claims(text: &str, cut: bool, passage: &str) -> ParsedClaims {
    let (offset, body) = after_thinking(text);
    let mut parsed = ParsedClaims { complete: says_complete(body), ..ParsedClaims::default() };
    if let Some(items) = json_objects(body) {
        parsed.complete = true;
        for item in items {
            let span = offset + item.span.start..offset + item.span.end;
            if item.cut {
                parsed.rejects.push((RejectReason::Cut, span));
            } else {
                parsed.take(of_json(&item), span, passage);
            }
        }
        return parsed;
    }
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let span = at..at + line.trim_end().len();
        at += line.len();
        let is_last = at >= body.len();
        let Some(fields) = fields_of(line) else {
            // Prose around the records is not a loss.
            continue;
        };
        if says_complete(line) && fields.len() < FIELDS {
            continue;
        }
        let span = offset + span.start..offset + span.end;
        match of_fields(&fields) {
            Some(_) if cut && is_last => parsed.rejects.push((RejectReason::Cut, span)),
            Some(draft) => parsed.take(draft, span, passage),
            None if is_last && cut => parsed.rejects.push((RejectReason::Cut, span)),
            None => parsed.rejects.push((RejectReason::FieldCount, span)),
        }
    }
    parsed
}

/// The fields of a claim as a model wrote them. Any of them may be empty or `NONE`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimFields {
    /// Name of the entity that the claim is about.
    pub subject: String,
    /// Name of the other entity.
    pub object: String,
    /// What is claimed.
    pub kind: String,
    /// The name of a status.
    pub status: String,
    /// When it began.
    pub start: String,
    /// When it ended.
    pub end: String,
    /// The claim in a sentence.
    pub description: String,
    /// The words of the passage that state it.
    pub quote: String,
}

/// Returns the fields of a tuple; the description may be missing.
fn of_fields(fields: &[String]) -> Option<ClaimFields> {
    let fields = match fields.first().map(|first| first.to_lowercase()) {
        Some(tag) if matches!(tag.as_str(), "claim" | "claims" | "covariate") => &fields[1..],
        _ => fields,
    };
    let field = |at: usize| fields.get(at).cloned().unwrap_or_default();
    let (description, quote) = match fields.len() {
        FIELDS => (field(6), field(7)),
        7 => (String::new(), field(6)),
        _ => return None,
    };
    Some(ClaimFields {
        subject: field(0),
        object: field(1),
        kind: field(2),
        status: field(3),
        start: field(4),
        end: field(5),
        description,
        quote,
    })
}

fn of_json(item: &JsonItem) -> ClaimFields {
    let field = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| item.fields.iter().find(|(name, _)| name == key));
        found.map_or(String::new(), |(_, value)| value.clone())
    };
    ClaimFields {
        subject: field(&["subject", "subjectname", "subjectid", "source", "entity"]),
        object: field(&["object", "objectname", "objectid", "target"]),
        kind: field(&["kind", "type", "claimtype", "predicate", "relation"]),
        status: field(&["status", "claimstatus"]),
        start: field(&["start", "startdate", "from", "validfrom"]),
        end: field(&["end", "enddate", "to", "validto"]),
        description: field(&["description", "claimdescription", "claim", "statement"]),
        quote: field(&["quote", "sourcetext", "evidence", "claimsourcetext", "text"]),
    }
}

impl ParsedClaims {
    fn take(&mut self, fields: ClaimFields, span: Range<usize>, passage: &str) {
        match claim_record(fields, passage) {
            Ok(record) if self.records.contains(&record) => {}
            Ok(record) => self.records.push(record),
            Err(reason) => self.rejects.push((reason, span)),
        }
    }
}

/// Builds the claim that these fields make about `passage`, by the rules of [`parse_claims`]; returns the reason if they make none.
pub fn claim_record(fields: ClaimFields, passage: &str) -> Result<ClaimRecord, RejectReason> {
    let subject = named(&fields.subject).ok_or(RejectReason::NoName)?;
    let kind = one_line(fields.kind.trim()).to_lowercase();
    if is_none(&kind) {
        return Err(RejectReason::FieldCount);
    }
    let quote = quote_in(passage, &fields.quote).ok_or(RejectReason::QuoteNotFound)?;
    let object = named(&fields.object).filter(|object| *object != subject);
    let period = Period { start: date(&fields.start), end: date(&fields.end) };
    let period = match (&period.start, &period.end) {
        (Some(start), Some(end)) if end.end_ms() <= start.start_ms() => {
            Period { start: period.end, end: period.start }
        }
        _ => period,
    };
    let description = if is_none(&fields.description) { quote.clone() } else { fields.description };
    Ok(ClaimRecord {
        subject,
        object,
        kind,
        status: ClaimStatus::find(&fields.status).unwrap_or(ClaimStatus::Suspected),
        period,
        description: one_line(description.trim()),
        quote,
    })
}

fn named(field: &str) -> Option<String> {
    if is_none(field) { None } else { clean_name(field) }
}

fn is_none(field: &str) -> bool {
    let field = field.trim().trim_matches(['"', '\'', '<', '>', '(', ')']);
    field.is_empty()
        || ["none", "null", "n/a", "na", "unknown", "-", "nil"]
            .iter()
            .any(|word| field.eq_ignore_ascii_case(word))
}

/// Parses a date field: ISO 8601, where a time of midnight is ignored, or words such as `March 2014`.
fn date(field: &str) -> Option<IsoDate> {
    let field = field.trim().trim_matches(['"', '\'']);
    if is_none(field) {
        return None;
    }
    let day = ["T00:00:00", "T00:00", " 00:00:00"].iter().find_map(|midnight| {
        let (day, rest) = field.split_once(midnight)?;
        matches!(rest, "" | "Z" | ".000Z" | "+00:00").then_some(day)
    });
    day.unwrap_or(field).parse().ok().or_else(|| date_in(field))
}

/// Returns the words of `passage` that `quote` repeats; `None` if there are none.
fn quote_in(passage: &str, quote: &str) -> Option<String> {
    let quote = quote.trim();
    let short = quote.trim_end_matches("...").trim_end_matches('…').trim();
    let bare = short.trim_matches(['"', '“', '”', '\'', '‘', '’', '«', '»']).trim();
    if bare.is_empty() {
        return None;
    }
    for exact in [quote, short, bare] {
        if passage.contains(exact) {
            return Some(exact.to_owned());
        }
    }
    let (folded, origin) = folded(passage);
    let (wanted, _) = self::folded(bare);
    let at = folded.find(wanted.trim())?;
    let end = at + wanted.trim().len();
    let (start, end) = (*origin.get(at)?, origin.get(end).copied().unwrap_or(passage.len()));
    Some(passage[start..end].trim().to_owned()).filter(|words| !words.is_empty())
}

/// Returns a text with single spaces and plain punctuation, and for each of its bytes the position of the original byte.
fn folded(text: &str) -> (String, Vec<usize>) {
    let mut folded = String::with_capacity(text.len());
    let mut origin = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let c = match c {
            '“' | '”' | '„' | '«' | '»' => '"',
            '‘' | '’' | '‚' => '\'',
            '–' | '—' | '‐' | '‑' => '-',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if c == ' ' && folded.ends_with(' ') {
            continue;
        }
        folded.push(c);
        origin.resize(folded.len(), at);
    }
    (folded, origin)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PASSAGE: &str =
        "In March 2014, Ada Kern succeeded Bo Lind as chief executive of “Velora\nSystems”. Nobody saw it.";

    fn shown(answer: &str, cut: bool) -> (Vec<String>, Vec<&'static str>) {
        let parsed = parse_claims(answer, cut, PASSAGE);
        let date = |date: &Option<IsoDate>| date.as_ref().map_or(String::new(), ToString::to_string);
        let records = parsed.records.iter().map(|claim| {
            let object = claim.object.as_deref().unwrap_or("-");
            let (start, end) = (date(&claim.period.start), date(&claim.period.end));
            assert!(PASSAGE.contains(&claim.quote), "{claim:?}");
            format!("{} | {} | {object} | {} | {start}..{end}", claim.subject, claim.kind, claim.status)
        });
        (records.collect(), parsed.rejects.iter().map(|(reason, _)| reason.name()).collect())
    }

    #[track_caller]
    fn check_answer(answer: &str, expected: &[&str], rejects: &[&str]) {
        assert_eq!(
            shown(answer, false),
            (expected.iter().map(|&line| line.to_owned()).collect(), rejects.to_vec()),
            "{answer}"
        );
    }

    const BEGINS: &str = "Ada Kern | chief executive | Velora Systems | true | 2014-03..";

    #[test]
    fn tuples_of_every_spelling_are_read() {
        let quote = "Ada Kern succeeded Bo Lind as chief executive of “Velora\nSystems”";
        let one_line = quote.replace('\n', " ").replace(['“', '”'], "\"");
        for answer in [
            format!(
                "claim<|#|>Ada Kern<|#|>Velora Systems<|#|>Chief executive<|#|>TRUE<|#|>2014-03<|#|>NONE<|#|>She took over.<|#|>{one_line}\n<|COMPLETE|>"
            ),
            format!(
                "<think>so</think>\n- claim <|#|> Ada Kern <|#|> Velora Systems <|#|> chief executive <|#|> true <|#|> March 2014 <|#|> none <|#|> \"{one_line}\""
            ),
            format!(
                "(Ada Kern<|>Velora Systems<|>chief executive<|>TRUE<|>2014-03<|>NONE<|>She took over.<|>{one_line})\n##\n<|COMPLETE|>"
            ),
        ] {
            check_answer(&answer, &[BEGINS], &[]);
        }
    }

    #[test]
    fn json_is_read_with_any_known_key_names() {
        let answer = r#"```json
{"claims": [{"subject": "Ada Kern", "object": "Velora Systems", "type": "chief executive", "status": "TRUE", "start_date": "2014-03-01T00:00:00", "end_date": null, "description": "x", "source_text": "Ada Kern succeeded Bo Lind"},
 {"subject": "Bo Lind", "object": "Velora Systems", "claim_type": "chief executive", "status": "?", "end": "2014-03", "quote": "Ada Kern succeeded Bo Lind"},
 {"subject": "Cut"#;
        check_answer(
            answer,
            &[
                "Ada Kern | chief executive | Velora Systems | true | 2014-03-01..",
                "Bo Lind | chief executive | Velora Systems | suspected | ..2014-03",
            ],
            &["cut"],
        );
    }

    #[test]
    fn damaged_records_are_counted_and_the_rest_is_kept() {
        let whole = "claim<|#|>Ada Kern<|#|>NONE<|#|>succession<|#|>FALSE<|#|>2014-03<|#|>someday<|#|>x<|#|>Nobody saw it.";
        check_answer(
            &format!(
                "Here they are:\n{whole}\nclaim<|#|>Ada Kern<|#|>too few\nclaim<|#|>NONE<|#|>a<|#|>b<|#|>TRUE<|#|><|#|><|#|>x<|#|>Nobody saw it.\nclaim<|#|>Bo<|#|>a<|#|>b<|#|>TRUE<|#|><|#|><|#|>x<|#|>Everybody saw it."
            ),
            &["Ada Kern | succession | - | false | 2014-03.."],
            &["field_count", "no_name", "quote_not_found"],
        );
        assert_eq!(shown(&format!("{whole}\nclaim<|#|>Bo Lind<|#|>Vel"), true).1, ["cut"]);
    }

    #[test]
    fn an_answer_without_claims_is_complete() {
        assert!(parse_claims("<|COMPLETE|>", false, PASSAGE).complete);
        assert!(!parse_claims("I cannot help with that.", false, PASSAGE).complete);
    }

    #[test]
    fn the_claims_prompt_renders_as_reviewed() {
        insta::assert_snapshot!("extract_claims", claims_prompt(&Prompts::default()));
    }

    proptest! {
        #[test]
        fn any_answer_gives_only_verbatim_quotes(
            answer in "(claim|<\\|#\\|>|Ada|TRUE|2014|NONE|Nobody saw it\\.|\n|\\{|\\}|\"subject\":|\"quote\"|,|\\(|\\)|##|é){0,60}",
            cut in any::<bool>(),
        ) {
            for claim in parse_claims(&answer, cut, PASSAGE).records {
                prop_assert!(PASSAGE.contains(&claim.quote));
            }
        }
    }
}
