//! Small rows for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{
    Action, Batch, Chunk, ChunkContext, ChunkContextKey, ChunkContextOutcome, ChunkExtraction, ChunkId,
    Claim, ClaimRecord, ClaimStatus, ContentHash, Decision, Document, DocumentId, EmbeddingSpec, Entity,
    EntityKey, Extraction, ExtractionKey, Fact, Format, ItemKey, ItemKind, Job, JobState, Layer, LayerName,
    LayerNode, Lease, Member, Mention, NewDocument, Part, PartMark, Period, Records, Reject, RejectReason,
    Relation, RelationKey, RelationRecord, Renewal, Revision, SetOriginal, Span, Summary, SummaryKey,
    Timestamp, TrackId, VectorEntry, VectorRow, Visibility,
};
use serde_json::json;

/// Returns a live document of `source` with this text.
pub fn document(source: &str, text: &str) -> NewDocument {
    let content_hash = ContentHash::of(text.as_bytes());
    NewDocument {
        document: Document {
            id: DocumentId::new(source, &content_hash),
            source: source.to_owned(),
            title: format!("About {source}"),
            content_hash,
            text_bytes: text.len() as u64,
            format: Format::Markdown,
            encoding: "UTF-8".to_owned(),
            lines_match_source: true,
            parts: vec![
                PartMark { offset: 0, part: Part::Page(1) },
                PartMark { offset: 2, part: Part::Sheet("Costs \"B\"".to_owned()) },
            ],
            remarks: vec!["2 of 3 pages hold no text".to_owned()],
            meta: BTreeMap::from([("author".to_owned(), "Ada \"A\" Ä".to_owned())]),
            visibility: Visibility::Live,
            added_at: Timestamp(1_700_000_000_000),
        },
        text: text.to_owned(),
    }
}

/// Returns an original with these bytes.
pub fn original(document: &DocumentId, bytes: &[u8]) -> SetOriginal {
    SetOriginal { document: document.clone(), bytes: Some(Arc::new(bytes.to_vec())) }
}

/// Returns the same document, staged.
pub fn staged(mut new: NewDocument) -> NewDocument {
    new.document.visibility = Visibility::Staged;
    new
}

/// Returns a new job of a document.
pub fn job(document: &DocumentId, created_at: u64) -> Job {
    Job {
        document: document.clone(),
        state: JobState::Accepted,
        lease: None,
        attempts: 0,
        created_at: Timestamp(created_at),
    }
}

/// Returns the chunk of `span` of a document. Its extraction is pending.
pub fn chunk(of: &NewDocument, ordinal: u32, span: Span) -> Chunk {
    Chunk {
        id: ChunkId::new(&of.document.id, ordinal, span.start, span.end),
        document: of.document.id.clone(),
        ordinal,
        span,
        token_count: 3,
        breadcrumb: vec!["Top".to_owned(), "Below".to_owned()],
        text: span.slice(&of.text).expect("a span of the text").to_owned(),
        extraction: ChunkExtraction::Pending,
    }
}

/// Returns the chunk that covers the whole document.
pub fn whole(of: &NewDocument) -> Chunk {
    chunk(of, 0, Span::new(0, of.text.len()))
}

/// Returns an extraction with `answer` as the LLM's answer.
pub fn extraction(name: &str, answer: &str) -> Extraction {
    Extraction {
        key: ExtractionKey::new(&[name]),
        model: "model".to_owned(),
        responses: vec![answer.to_owned()],
        records: Records {
            entities: Vec::new(),
            relations: vec![RelationRecord {
                source: "A".to_owned(),
                target: "B".to_owned(),
                keywords: vec!["k".to_owned()],
                description: answer.to_owned(),
                weight: 0.1 + 0.2,
            }],
            claims: vec![ClaimRecord {
                subject: "A".to_owned(),
                object: None,
                kind: "founding".to_owned(),
                status: ClaimStatus::Suspected,
                period: Period { start: "1998-05-01".parse().ok(), end: None },
                description: answer.to_owned(),
                quote: answer.to_owned(),
            }],
            themes: vec!["theme".to_owned()],
        },
        rejects: vec![Reject {
            response: 0,
            offset: 3,
            reason: RejectReason::FieldCount,
            text: answer.to_owned(),
        }],
    }
}

/// Returns the renewal of a chunk.
pub fn renewal(chunk: &ChunkId, extraction: ChunkExtraction) -> Renewal {
    Renewal { chunk: chunk.clone(), model: "another".to_owned(), extraction }
}

/// Returns a chunk context with this text under the key `name`, or a failed one if there is no text.
pub fn chunk_context(chunk: &ChunkId, name: &str, text: Option<&str>) -> ChunkContext {
    let outcome = match text {
        Some(text) => ChunkContextOutcome::Written { text: text.to_owned() },
        None => ChunkContextOutcome::Failed { reason: "timeout".to_owned(), attempts: 2 },
    };
    ChunkContext {
        chunk: chunk.clone(),
        key: ChunkContextKey::new(&[name]),
        by: format!("model {name}"),
        outcome,
    }
}

/// Returns the track with this name.
pub fn track(name: &str) -> TrackId {
    TrackId::from_stored(name)
}

/// Returns an entity key.
pub fn key(name: &str) -> EntityKey {
    EntityKey::from_stored(name)
}

/// Returns a relation key.
pub fn pair(one: &str, other: &str) -> RelationKey {
    RelationKey::new(key(one), key(other)).expect("two different entities")
}

/// Returns a mention of an entity.
pub fn mention(chunk: &ChunkId, ordinal: u32, entity: &str) -> Mention {
    Mention {
        chunk: chunk.clone(),
        ordinal,
        entity: key(entity),
        name: entity.to_lowercase(),
        kind: "Person".to_owned(),
        description: format!("{entity} number {ordinal}"),
        span: ordinal.is_multiple_of(2).then(|| Span::new(0, 1)),
        set_aside: false,
    }
}

/// Returns a fact between two entities.
pub fn fact(chunk: &ChunkId, ordinal: u32, source: &str, target: &str) -> Fact {
    let relation = pair(source, target);
    Fact {
        chunk: chunk.clone(),
        ordinal,
        source_is_a: relation.a().as_str() == source,
        relation,
        source: source.to_owned(),
        target: target.to_owned(),
        keywords: vec!["knows".to_owned(), "of, old".to_owned()],
        description: format!("{source} knows {target}"),
        weight: 1.5,
        set_aside: false,
    }
}

/// Returns a claim about an entity, with another entity as its object if one is named.
pub fn claim(chunk: &ChunkId, ordinal: u32, subject: &str, object: Option<&str>) -> Claim {
    Claim {
        chunk: chunk.clone(),
        ordinal,
        subject: key(subject),
        subject_name: subject.to_lowercase(),
        object: object.map(key),
        object_name: object.map(str::to_lowercase),
        kind: "chairman".to_owned(),
        status: ClaimStatus::ALL[ordinal as usize % ClaimStatus::ALL.len()],
        period: Period { start: "2014-05".parse().ok().filter(|_| ordinal != 1), end: "2019".parse().ok() },
        description: format!("{subject} chairs \"something\""),
        span: Span::new(0, 1 + ordinal as usize),
    }
}

/// Returns an entity.
pub fn entity(name: &str, description: &str) -> Entity {
    Entity {
        key: key(name),
        name: name.to_lowercase(),
        kind: "Person".to_owned(),
        description: description.to_owned(),
        mention_count: 2,
        degree: 1,
        inputs_hash: ContentHash::of(description.as_bytes()),
    }
}

/// Returns a relation.
pub fn relation(one: &str, other: &str, description: &str) -> Relation {
    Relation {
        key: pair(one, other),
        keywords: vec!["knows".to_owned()],
        description: description.to_owned(),
        weight: 2.25,
        fact_count: 2,
        inputs_hash: ContentHash::of(description.as_bytes()),
    }
}

/// Returns a decision that edits the description of an entity.
pub fn decision(order: u64, entity: &str, description: &str) -> Decision {
    let description = Some(description.to_owned());
    let action = Action::EditEntity { key: key(entity), name: None, kind: None, description };
    Decision::new(order, Timestamp(order * 10), action)
}

/// Returns a summary.
pub fn summary(name: &str) -> Summary {
    Summary { key: SummaryKey::new(&[name]), text: format!("about {name}") }
}

/// Returns a layer that was derived from the revision `watermark`.
pub fn layer(name: &str, watermark: u64, complete: bool) -> Layer {
    Layer {
        name: LayerName::from_stored(name),
        settings: ContentHash::of(name.as_bytes()),
        watermark: Revision(watermark),
        complete,
        lease: complete.then(|| Lease { owner: "worker 1".to_owned(), expires_at: Timestamp(9) }),
        details: json!({ "failed": 1 }),
    }
}

/// Returns a node of a layer with a title.
pub fn node<const N: usize>(layer: &str, level: u32, members: [Member; N], title: &str) -> LayerNode {
    let mut node = LayerNode::new(&LayerName::from_stored(layer), level, members.to_vec());
    node.title = title.to_owned();
    node.text = format!("This is about {title}.");
    node.details = json!({ "rating": 7.5, "findings": [{ "summary": "Ä \"quoted\" one" }] });
    node.inputs_hash = ContentHash::of(title.as_bytes());
    node
}

/// Returns a vector row.
pub fn vector(kind: ItemKind, id: &str, vector: &[f32]) -> VectorRow {
    let item = ItemKey::from_id(kind, id).expect("a key");
    let entry = VectorEntry { item, inputs_hash: ContentHash::of(id.as_bytes()) };
    VectorRow { entry, vector: vector.to_vec() }
}

/// Returns an embedding space with this many dimensions.
pub fn space(dimensions: u32) -> EmbeddingSpec {
    EmbeddingSpec { model: "embedder".to_owned(), dimensions }
}

/// Returns a batch that removes documents, these entities and all relations between them.
pub fn removal(documents: &[DocumentId], entities: &[&str]) -> Batch {
    let relations = entities
        .iter()
        .enumerate()
        .flat_map(|(at, one)| entities[at + 1..].iter().map(move |other| pair(one, other)));
    Batch {
        remove_documents: documents.to_vec(),
        remove_entities: entities.iter().copied().map(key).collect(),
        remove_relations: relations.collect(),
        ..Batch::default()
    }
}

/// Returns a batch with a whole document in the graph: two entities, one relation, one chunk, and everything else that
/// a store can hold about it.
pub fn indexed(source: &str, text: &str, one: &str, other: &str) -> Batch {
    let new = document(source, text);
    let extraction = extraction(text, "said");
    let mut chunk = whole(&new);
    chunk.extraction = ChunkExtraction::Done { key: extraction.key.clone() };
    let mut job = job(&new.document.id, 1);
    job.state = JobState::Merged;
    let id = chunk.id.clone();
    let relation_key = pair(one, other).to_string();
    Batch {
        embedding: Some(space(3)),
        put_jobs: vec![job],
        put_chunks: vec![chunk],
        put_extractions: vec![extraction],
        put_mentions: vec![mention(&id, 0, one), mention(&id, 1, other)],
        put_facts: vec![fact(&id, 0, one, other)],
        put_entities: vec![entity(one, "first"), entity(other, "second")],
        put_relations: vec![relation(one, other, "both")],
        put_vectors: vec![
            vector(ItemKind::Chunk, id.as_str(), &[1.0, 0.0, 0.0]),
            vector(ItemKind::Entity, one, &[0.0, 1.0, 0.0]),
            vector(ItemKind::Entity, other, &[0.0, 1.0, 1.0]),
            vector(ItemKind::Relation, &relation_key, &[0.0, 0.0, 1.0]),
        ],
        put_documents: vec![new],
        ..Batch::default()
    }
}
