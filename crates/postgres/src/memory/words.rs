//! The words in all texts of one kind, in memory.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use graphloom_core::ItemKind;
use graphloom_rules::search::{ScoredId, TextQuery};

use super::{Memory, Part, Table};
use crate::error::Fault;
use crate::rows::{self, get};
use crate::search::{B, K1, rarity};
use crate::session::Session;
use crate::words::kept;

/// Most words in all texts of a kind that is kept.
const MAX_WORDS: usize = 16 << 20;
/// Memory per word in a text and per text, in bytes.
const BYTES_A_WORD: usize = 8;
const BYTES_A_TEXT: usize = 160;
/// Postings read at a time.
const PAGE: usize = 20_000;
/// Fewest removed texts that are swept out. They must also be a quarter of all texts.
const MIN_SWEPT: usize = 1_000;

/// Texts by number, and for each word the numbers of the texts that contain it.
#[derive(Default)]
pub(super) struct Words {
    numbers: HashMap<Arc<str>, u32>,
    ids: Vec<Arc<str>>,
    /// Rounded. `None` if the text is removed.
    lengths: Vec<Option<u32>>,
    gone: usize,
    total: i64,
    /// Numbers of the texts that contain a word, with how often each does.
    postings: HashMap<Box<str>, Vec<(u32, u32)>>,
}

/// A text: its id, its length, and how often it contains each word.
pub(super) struct Text {
    id: String,
    length: u32,
    counts: Vec<(String, u32)>,
}

impl Words {
    /// Returns the same hits as [`search::matching`](crate::search::matching) in the database.
    pub(super) fn matching(&self, query: &TextQuery) -> Vec<ScoredId> {
        let all: BTreeMap<String, f32> = (query.weighted_words(usize::MAX).into_iter())
            .map(|(word, share)| (kept(&word).to_owned(), share))
            .collect();
        let texts = self.ids.len() - self.gone;
        if texts == 0 || query.limit == 0 {
            return Vec::new();
        }
        let mean = self.total as f32 / texts as f32;
        let (mut scores, mut found) = (vec![None::<f32>; self.ids.len()], Vec::new());
        let known = all.iter().filter_map(|(word, share)| Some((self.postings.get(word.as_str())?, share)));
        for (postings, share) in known {
            let length = |number: u32| self.lengths[number as usize];
            let holding = match self.gone {
                0 => postings.len(),
                _ => postings.iter().filter(|(number, _)| length(*number).is_some()).count(),
            };
            let weight = share * rarity(texts as i64, holding as i64) * (1.0 + K1);
            for &(number, count) in postings {
                let Some(length) = length(number) else { continue };
                let count = count as f32;
                let score = weight * (count / (count + K1 * ((1.0 - B) + B * length as f32 / mean)));
                match &mut scores[number as usize] {
                    Some(sum) => *sum += score,
                    none => {
                        *none = Some(score);
                        found.push(number);
                    }
                }
            }
        }
        if query.only.filtered.is_some() || query.only.layer.is_some() {
            found.retain(|&number| query.only.admits(query.kind, &self.ids[number as usize]));
        }
        let score = |number: u32| scores[number as usize].unwrap_or_default();
        let order = |one: &u32, other: &u32| -> Ordering {
            let by_score = score(*other).total_cmp(&score(*one));
            by_score.then_with(|| self.ids[*one as usize].cmp(&self.ids[*other as usize]))
        };
        if found.len() > query.limit {
            found.select_nth_unstable_by(query.limit - 1, order);
            found.truncate(query.limit);
        }
        found.sort_unstable_by(order);
        let hit = |number: u32| ScoredId { id: self.ids[number as usize].to_string(), score: score(number) };
        found.into_iter().map(hit).collect()
    }

    /// Adds a text and returns its number.
    fn add(&mut self, id: &str, length: u32) -> u32 {
        let (id, number) = (Arc::<str>::from(id), self.ids.len() as u32);
        self.numbers.insert(Arc::clone(&id), number);
        self.ids.push(id);
        self.lengths.push(Some(length));
        self.total += i64::from(length);
        number
    }

    fn add_word(&mut self, word: &str, number: u32, count: u32) {
        match self.postings.get_mut(word) {
            Some(postings) => postings.push((number, count)),
            None => drop(self.postings.insert(word.into(), vec![(number, count)])),
        }
    }

    fn remove(&mut self, id: &str) {
        let Some(number) = self.numbers.remove(id) else { return };
        if let Some(length) = self.lengths[number as usize].take() {
            self.total -= i64::from(length);
            self.gone += 1;
        }
    }
}

fn unsigned(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

impl Table for Words {
    type Entries = Vec<Text>;

    fn part(memory: &Memory, kind: ItemKind) -> &Part<Self> {
        &memory.words[rows::kind_code(kind) as usize]
    }

    async fn bytes(session: &Session, kind: ItemKind) -> Result<Option<usize>, Fault> {
        let sql = "SELECT entries, words FROM totals WHERE workspace_id = $1 AND kind = $2";
        let found = session.rows(sql, &[&rows::kind_code(kind)]).await?;
        let Some(row) = found.first() else { return Ok(Some(0)) };
        let (texts, words) = (rows::number(row, 0)? as usize, rows::number(row, 1)? as usize);
        Ok((texts.max(words) <= MAX_WORDS).then_some(texts * BYTES_A_TEXT + words * BYTES_A_WORD))
    }

    async fn read(session: &Session, kind: ItemKind) -> Result<Option<Self>, Fault> {
        let (mut read, kind, limit) = (Self::default(), rows::kind_code(kind), rows::limit(PAGE));
        let sql = "SELECT id, length FROM entries WHERE workspace_id = $1 AND kind = $2 AND id > $3 \
            ORDER BY id LIMIT $4";
        let mut after = String::new();
        loop {
            let found = session.rows(sql, &[&kind, &after, &limit]).await?;
            for row in &found {
                read.add(get(row, 0)?, unsigned(get(row, 1)?));
            }
            match found.last() {
                Some(row) if found.len() == PAGE => after = get(row, 0)?,
                _ => break,
            }
        }
        let sql = "SELECT word, id, count FROM postings WHERE workspace_id = $1 AND kind = $2 \
            AND (word, id) > ($3, $4) ORDER BY word, id LIMIT $5";
        let (mut word, mut id) = (String::new(), String::new());
        loop {
            let found = session.rows(sql, &[&kind, &word, &id, &limit]).await?;
            for row in &found {
                // Every posting has an entry, because both are written in one commit.
                if let Some(&number) = read.numbers.get(get::<&str>(row, 1)?) {
                    read.add_word(get(row, 0)?, number, unsigned(get::<i32>(row, 2)?.into()));
                }
            }
            match found.last() {
                Some(row) if found.len() == PAGE => (word, id) = (get(row, 0)?, get(row, 1)?),
                _ => break,
            }
        }
        read.postings.values_mut().for_each(Vec::shrink_to_fit);
        Ok(Some(read))
    }

    async fn entries(session: &Session, kind: ItemKind, ids: &[String]) -> Result<Self::Entries, Fault> {
        let kind = rows::kind_code(kind);
        let sql = "SELECT id, length FROM entries WHERE workspace_id = $1 AND kind = $2 AND id = ANY($3)";
        let mut texts = HashMap::new();
        for row in session.rows(sql, &[&kind, &ids]).await? {
            let id: String = get(&row, 0)?;
            texts.insert(id.clone(), Text { id, length: unsigned(get(&row, 1)?), counts: Vec::new() });
        }
        let sql =
            "SELECT id, word, count FROM postings WHERE workspace_id = $1 AND kind = $2 AND id = ANY($3)";
        for row in session.rows(sql, &[&kind, &ids]).await? {
            if let Some(text) = texts.get_mut(get::<&str>(&row, 0)?) {
                text.counts.push((get(&row, 1)?, unsigned(get::<i32>(&row, 2)?.into())));
            }
        }
        Ok(texts.into_values().collect())
    }

    fn taken(&self) -> usize {
        self.ids.len() * BYTES_A_TEXT + self.total as usize * BYTES_A_WORD
    }

    fn change(&mut self, ids: &[String], entries: Self::Entries) -> bool {
        ids.iter().for_each(|id| self.remove(id));
        for Text { id, length, counts } in entries {
            let number = self.add(&id, length);
            counts.iter().for_each(|(word, count)| self.add_word(word, number, *count));
        }
        self.gone < MIN_SWEPT || self.gone * 4 < self.ids.len()
    }
}
