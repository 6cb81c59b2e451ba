//! Keeps the index of words in searchable texts up to date.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{ChunkContext, Entity, ItemKind, LayerNode, RelationKey, indexed_text};
use graphloom_rules::words;
use tokio::try_join;

use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::{Arguments, Session};

/// Longest word in the index, in bytes. Nobody types longer words, and an index entry could not hold them.
const MAX_WORD_BYTES: usize = 512;

/// Returns a word as the index stores it.
pub(crate) fn kept(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD_BYTES)]
}

/// Brings the words of these entries up to date with their rows. Entries without a row and chunks that are not live
/// have no words.
///
/// Statements that do not need each other's results are sent without waiting.
pub(crate) async fn update(session: &Session, kind: ItemKind, ids: &BTreeSet<String>) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let code = rows::kind_code(kind);
    let postings = "DELETE FROM postings WHERE workspace_id = $1 AND kind = $2 AND id = ANY($3)";
    let known = "DELETE FROM entries WHERE workspace_id = $1 AND kind = $2 AND id = ANY($3) RETURNING length";
    let of_ids: &Arguments<'_> = &[&code, &ids];
    let (_, removed, texts) = try_join!(biased; session.run(postings, of_ids), session.rows(known, of_ids), texts(session, kind, &ids))?;
    let (mut entries, mut total) = (0, 0);
    for row in removed {
        entries -= 1;
        total -= get::<i64>(&row, 0)?;
    }
    let index = tokio::task::block_in_place(|| Index::of(texts.iter()));
    entries += index.ids.len() as i64;
    total += index.lengths.iter().sum::<i64>();
    let put_entries = "INSERT INTO entries SELECT $1, $2, * FROM unnest($3::text[], $4::int8[])";
    let put_postings = "INSERT INTO postings \
        SELECT $1, $2, p.word, e.id, p.count, e.length \
        FROM unnest($3::text[], $4::int4[], $5::int4[]) AS p (word, count, entry) \
        JOIN unnest($6::text[], $7::int8[]) WITH ORDINALITY AS e (id, length, number) ON e.number = p.entry";
    let put_totals = "INSERT INTO totals VALUES ($1, $2, $3, $4) ON CONFLICT (workspace_id, kind) \
        DO UPDATE SET entries = totals.entries + EXCLUDED.entries, words = totals.words + EXCLUDED.words";
    let of_entries: &Arguments<'_> = &[&code, &index.ids, &index.lengths];
    let of_words: &Arguments<'_> =
        &[&code, &index.words, &index.counts, &index.of, &index.ids, &index.lengths];
    let of_totals: &Arguments<'_> = &[&code, &entries, &total];
    try_join!(biased;
        session.run(put_entries, of_entries),
        session.run(put_postings, of_words),
        session.run(put_totals, of_totals)
    )?;
    Ok(())
}

/// Returns the searchable texts that exist, by id.
async fn texts(session: &Session, kind: ItemKind, ids: &[&str]) -> Result<BTreeMap<String, String>, Fault> {
    let mut texts = BTreeMap::new();
    match kind {
        ItemKind::Chunk => {
            let chunk = rows::CHUNK;
            let sql = format!(
                "SELECT {chunk}, s.body FROM chunks c \
                 LEFT JOIN situations s ON s.workspace_id = $1 AND s.chunk = c.id \
                 WHERE c.workspace_id = $1 AND c.id = ANY($2) AND c.live"
            );
            for row in session.rows(&sql, &[&ids]).await? {
                let chunk = rows::chunk(&row)?;
                let chunk_context: Option<ChunkContext> =
                    get::<Option<&str>>(&row, 3)?.map(rows::parse).transpose()?;
                let context = chunk_context.as_ref().and_then(ChunkContext::text);
                texts.insert(chunk.id.to_string(), indexed_text(context, &chunk.text).into_owned());
            }
        }
        ItemKind::Entity => {
            let sql = "SELECT body FROM entities WHERE workspace_id = $1 AND key = ANY($2)";
            for row in session.rows(sql, &[&ids]).await? {
                let entity: Entity = rows::parsed(&row, 0)?;
                texts.insert(entity.key.to_string(), words::entity_text(&entity));
            }
        }
        ItemKind::Node => {
            let sql = "SELECT body FROM nodes WHERE workspace_id = $1 AND key = ANY($2)";
            for row in session.rows(sql, &[&ids]).await? {
                let node: LayerNode = rows::parsed(&row, 0)?;
                texts.insert(node.key.to_string(), node.indexed_text());
            }
        }
        ItemKind::Relation => {
            let pairs: Vec<RelationKey> = ids.iter().filter_map(|id| RelationKey::parse(id)).collect();
            let a: Vec<&str> = pairs.iter().map(|pair| pair.a().as_str()).collect();
            let b: Vec<&str> = pairs.iter().map(|pair| pair.b().as_str()).collect();
            let sql = "SELECT r.body, r.weight FROM unnest($2::text[], $3::text[]) AS k (a, b) \
                JOIN relations r ON r.workspace_id = $1 AND r.a = k.a AND r.b = k.b";
            for row in session.rows(sql, &[&a, &b]).await? {
                let relation = rows::relation(&row)?;
                texts.insert(relation.key.to_string(), words::relation_text(&relation));
            }
        }
    }
    Ok(texts)
}

/// The columns of entries, and of their words with the number of the entry, starting at 1.
#[derive(Default)]
struct Index<'a> {
    ids: Vec<&'a str>,
    lengths: Vec<i64>,
    words: Vec<String>,
    counts: Vec<i32>,
    of: Vec<i32>,
}

impl<'a> Index<'a> {
    fn of(texts: impl Iterator<Item = (&'a String, &'a String)>) -> Self {
        let mut index = Self::default();
        for (number, (id, text)) in (1..).zip(texts) {
            let (mut counts, mut length) = (BTreeMap::<String, i32>::new(), 0);
            words::for_each_word(text, |word| {
                length += 1;
                match counts.get_mut(kept(word)) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(kept(word).to_owned(), 1)),
                }
            });
            index.ids.push(id);
            index.lengths.push(i64::from(words::rounded_length(length)));
            for (word, count) in counts {
                index.words.push(word);
                index.counts.push(count);
                index.of.push(number);
            }
        }
        index
    }
}
