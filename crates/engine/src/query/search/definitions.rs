//! Finds the passages that define what the question asks for, which other searches miss if most passages name it.

use graphloom_core::{ChunkId, ItemKind};

use crate::filtered::FilteredSnapshot;
use crate::query::chunks::Candidate;
use crate::query::{Arm, QueryError};
use graphloom_offline::DefinitionQuestion;

/// Maximum number of passages in which a definition is looked for.
const MAX_PASSAGES: usize = 300;
/// Maximum number of definitions.
const MAX_DEFINITIONS: usize = 2;

/// Puts the passages first that define what `question` asks for, if it asks for a definition and more than `shown` passages contain
/// its words.
pub(super) async fn put_first(
    scope: &FilteredSnapshot<'_>,
    question: &str,
    shown: usize,
    chunks: &mut Vec<Candidate>,
) -> Result<(), QueryError> {
    let Some(asked) = DefinitionQuestion::of(question) else { return Ok(()) };
    let request = scope.by_words(ItemKind::Chunk, &asked.words(), MAX_PASSAGES);
    let hits = scope.snapshot.search(&[request]).await?.into_iter().flatten();
    let ids: Vec<ChunkId> = hits.filter_map(|hit| hit.item.into_chunk()).collect();
    if ids.len() <= shown {
        return Ok(());
    }
    let read = scope.snapshot.chunks(&ids).await?;
    let texts: Vec<&str> =
        read.iter().map(|chunk| chunk.as_ref().map_or("", |chunk| chunk.text.as_str())).collect();
    let first: Vec<&ChunkId> =
        asked.defined_in(&texts).into_iter().take(MAX_DEFINITIONS).map(|at| &ids[at]).collect();
    let score = chunks.first().and_then(|best| best.score);
    chunks.retain(|candidate| !first.contains(&&candidate.id));
    let candidate = |id: &&ChunkId| Candidate { id: (*id).clone(), arm: Arm::Fused, score };
    chunks.splice(0..0, first.iter().map(candidate));
    Ok(())
}
