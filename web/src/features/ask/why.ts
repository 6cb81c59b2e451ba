import type { Schemas } from '../../api/client';
import type { Passage } from '../source/source-pane';

/** What a search found, with names in place of keys. */
export interface Found {
  passages: FoundPassage[];
  entities: Schemas['RetrievedEntity'][];
  relations: Schemas['RetrievedRelation'][];
  metadata: Schemas['RetrievalMetadata'];
}

/** A passage with its score and the names on the path to it, the passage itself left out. */
export interface FoundPassage {
  chunk: Schemas['RetrievedChunk'];
  passage: Passage;
  path: string[];
  /** The score as a share of the best one, 0 to 1; `undefined` without scores. */
  share: number | undefined;
}

/** Reads the answer to a search. */
export function foundOf({ data, metadata }: Schemas['QueryData']): Found {
  const entities = data.entities ?? [];
  const relations = data.relationships ?? [];
  const chunks = data.chunks ?? [];
  const names = new Map(entities.map(({ entity_key, entity_name }) => [entity_key, entity_name]));
  const paths = new Map((metadata.paths ?? []).map(({ chunk, steps }) => [chunk, steps]));
  const best = Math.max(0, ...chunks.map(({ score }) => score ?? 0));
  const passages = chunks.map(chunk => ({
    chunk,
    passage: { document: chunk.document, file_path: chunk.file_path, span: chunk.span, quote: chunk.content },
    path: (paths.get(chunk.chunk_id) ?? []).flatMap(step => nameOf(step, names, chunk.chunk_id)),
    share: chunk.score == null || best <= 0 ? undefined : Math.max(0, chunk.score / best),
  }));
  return { passages, entities, relations, metadata };
}

function nameOf(step: Schemas['PathStepItem'], names: Map<string, string>, self: string): string[] {
  const named = (key: string) => names.get(key) ?? readable(key);
  if ('entity' in step) return [named(step.entity)];
  if ('relation' in step) return [`${named(step.relation.a)} – ${named(step.relation.b)}`];
  return step.chunk === self ? [] : ['…'];
}

/** The key of an entity, `SARAH_CHEN`, as a name. */
function readable(key: string): string {
  return key
    .toLowerCase()
    .split('_')
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
}
