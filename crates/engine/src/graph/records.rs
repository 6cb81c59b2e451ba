//! Turns the records of a chunk into mentions, facts and claims.

use graphloom_core::{
    Chunk, Claim, ClaimRecord, Decisions, Fact, FactPlace, Mention, MentionPlace, Records, Span,
};

use graphloom_text::{clean_name, entity_key};

/// Returns the mentions and facts that `records` state about `chunk`, in order, at the place that `decisions` give them.
/// Records whose names become empty, and relations whose ends have the same key, are dropped.
pub(crate) fn evidence_of(
    chunk: &Chunk,
    records: &Records,
    decisions: &Decisions,
) -> (Vec<Mention>, Vec<Fact>) {
    let folded = FoldedText::new(&chunk.text);
    let mut mentions = Vec::with_capacity(records.entities.len());
    for record in &records.entities {
        let Some((name, entity)) =
            clean_name(&record.name).and_then(|name| entity_key(&name).map(|key| (name, key)))
        else {
            continue;
        };
        let MentionPlace { key: entity, set_aside } = decisions.place_mention(&entity, Some(&chunk.id));
        mentions.push(Mention {
            chunk: chunk.id.clone(),
            ordinal: mentions.len() as u32,
            entity,
            set_aside,
            kind: record.kind.trim().to_owned(),
            description: record.description.trim().to_owned(),
            span: folded.find(&name).map(|found| chunk.span.within(found)),
            name,
        });
    }
    let mut facts = Vec::with_capacity(records.relations.len());
    for record in &records.relations {
        let (Some(source), Some(target)) = (clean_name(&record.source), clean_name(&record.target)) else {
            continue;
        };
        let (Some(source_key), Some(target_key)) = (entity_key(&source), entity_key(&target)) else {
            continue;
        };
        let Some(FactPlace { relation, source_is_a, set_aside }) =
            decisions.place_fact(&source_key, &target_key, &chunk.id)
        else {
            continue;
        };
        facts.push(Fact {
            chunk: chunk.id.clone(),
            ordinal: facts.len() as u32,
            relation,
            source_is_a,
            set_aside,
            source,
            target,
            keywords: record.keywords.iter().map(|keyword| keyword.trim().to_owned()).collect(),
            description: record.description.trim().to_owned(),
            weight: record.weight,
        });
    }
    (mentions, facts)
}

/// Returns the claims that `records` state about `chunk`, in order. Claims whose names become empty, and claims whose quote
/// is not in the chunk, are dropped.
pub(crate) fn claims_of(chunk: &Chunk, records: &[ClaimRecord]) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::with_capacity(records.len());
    for record in records {
        let named = |name: &str| clean_name(name).and_then(|name| Some((entity_key(&name)?, name)));
        let Some((subject, subject_name)) = named(&record.subject) else { continue };
        let object = record.object.as_deref().and_then(named).filter(|(object, _)| *object != subject);
        let start = chunk.text.find(&record.quote).filter(|_| !record.quote.is_empty());
        let Some(start) = start else { continue };
        let (object, object_name) = object.unzip();
        claims.push(Claim {
            chunk: chunk.id.clone(),
            ordinal: claims.len() as u32,
            subject,
            subject_name,
            object,
            object_name,
            kind: record.kind.trim().to_owned(),
            status: record.status,
            period: record.period.clone(),
            description: record.description.trim().to_owned(),
            span: chunk.span.within(Span::new(start, start + record.quote.len())),
        });
    }
    claims
}

/// Returns the mention in the place that `decisions` give it; `None` if it stays unchanged.
pub(crate) fn moved_mention(mention: &Mention, decisions: &Decisions) -> Option<Mention> {
    let key = entity_key(&mention.name)?;
    let MentionPlace { key: entity, set_aside } = decisions.place_mention(&key, Some(&mention.chunk));
    let stays = entity == mention.entity && set_aside == mention.set_aside;
    (!stays).then(|| Mention { entity, set_aside, ..mention.clone() })
}

/// Returns the fact in the place that `decisions` give it; `None` if it stays unchanged.
pub(crate) fn moved_fact(fact: &Fact, decisions: &Decisions) -> Option<Fact> {
    let (source, target) = (entity_key(&fact.source)?, entity_key(&fact.target)?);
    let FactPlace { relation, source_is_a, set_aside } =
        decisions.place_fact(&source, &target, &fact.chunk)?;
    let stays = relation == fact.relation && source_is_a == fact.source_is_a && set_aside == fact.set_aside;
    (!stays).then(|| Fact { relation, source_is_a, set_aside, ..fact.clone() })
}

/// A text that is searched for names regardless of case, with a map back to its bytes.
struct FoldedText {
    lower: String,
    /// For each byte of `lower` that starts a character, the byte of the original text.
    origin: Vec<u32>,
    len: usize,
}

impl FoldedText {
    fn new(text: &str) -> Self {
        let mut lower = String::with_capacity(text.len());
        let mut origin = Vec::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            for l in c.to_lowercase() {
                lower.push(l);
                origin.resize(lower.len(), at as u32);
            }
        }
        Self { lower, origin, len: text.len() }
    }

    /// Returns the first occurrence of `name`.
    fn find(&self, name: &str) -> Option<Span> {
        let name = name.to_lowercase();
        let at = self.lower.find(&name)?;
        let start = *self.origin.get(at)? as usize;
        let end = self.origin.get(at + name.len()).map_or(self.len, |end| *end as usize);
        (start < end).then(|| Span::new(start, end))
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::{ChunkExtraction, ChunkId, ContentHash, DocumentId, EntityRecord, RelationRecord};

    use super::*;

    fn chunk(text: &str) -> Chunk {
        let document = DocumentId::new("a.txt", &ContentHash::of(text.as_bytes()));
        Chunk {
            id: ChunkId::new(&document, 0, 10, 10 + text.len() as u64),
            document,
            ordinal: 0,
            span: Span::new(10, 10 + text.len()),
            token_count: 0,
            breadcrumb: Vec::new(),
            text: text.to_owned(),
            extraction: ChunkExtraction::Pending,
        }
    }

    fn check_evidence(chunk: &Chunk, records: &Records) -> (Vec<Mention>, Vec<Fact>) {
        evidence_of(chunk, records, &Decisions::default())
    }

    #[test]
    fn a_mention_points_to_its_name_in_the_document_in_any_case() {
        let chunk = chunk("İn ÅSGARD lives Odin.");
        let entity =
            EntityRecord { name: "Åsgard".into(), kind: "Location".into(), description: "A place.".into() };
        let (mentions, _) = check_evidence(&chunk, &Records { entities: vec![entity], ..Records::default() });
        let span = mentions[0].span.expect("the name is in the text");
        assert_eq!(&chunk.text[span.start as usize - 10..span.end as usize - 10], "ÅSGARD");
    }

    #[test]
    fn a_relation_between_two_spellings_of_one_entity_is_dropped() {
        let relation = RelationRecord {
            source: "the company".into(),
            target: "Company".into(),
            keywords: vec![],
            description: String::new(),
            weight: 1.0,
        };
        let (_, facts) =
            check_evidence(&chunk("x"), &Records { relations: vec![relation], ..Records::default() });
        assert_eq!(facts, []);
    }
}
