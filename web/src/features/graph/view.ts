import type { Schemas } from '../../api/client';

/** An entity as the graph shows it. */
export interface Entity {
  name: string;
  kind: string;
  description: string;
  /** Chunks that mention it; the server names only the first few. */
  chunks: string[];
}

/** A relation between two entities, without a direction. */
export interface Relation {
  source: string;
  target: string;
  weight: number;
  keywords: string[];
  description: string;
  chunks: string[];
}

/** A place on the plane. */
export interface Place {
  x: number;
  y: number;
}

export type Places = ReadonlyMap<string, Place>;

/** A part of the graph: entities, the most important first, and relations between them. */
export interface Part {
  entities: Entity[];
  relations: Relation[];
  /** Whether connected entities are left out. */
  isTruncated: boolean;
  /** Where its entities are, if the server said so. */
  places?: Places;
}

/** A part with the number of entities in the whole graph. */
export interface Picture extends Part {
  total: number;
}

/** Reads a response of `/graph/picture`, which has neither descriptions nor chunks. */
export function pictureOf(found: Schemas['GraphPicture']): Picture {
  const { names, kinds, kind_of, x, y, source, target, weight, is_truncated: isTruncated, total } = found;
  return {
    entities: names.map((name, at) => ({
      name,
      kind: kinds[kind_of[at] ?? 0] ?? '',
      description: '',
      chunks: [],
    })),
    relations: source.map((from, at) => ({
      source: names[from] ?? '',
      target: names[target[at] ?? 0] ?? '',
      weight: weight[at] ?? 0,
      keywords: [],
      description: '',
      chunks: [],
    })),
    isTruncated,
    places: new Map(names.map((name, at) => [name, { x: x[at] ?? 0, y: y[at] ?? 0 }])),
    total,
  };
}

/** A field of `properties` as text; the server may leave out what is empty. */
function textOf(properties: unknown, field: string): string {
  if (typeof properties !== 'object' || properties === null) return '';
  const value: unknown = Object.entries(properties).find(([name]) => name === field)?.[1];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

const listOf = (text: string, separator: string): string[] =>
  text
    .split(separator)
    .map(item => item.trim())
    .filter(item => item !== '');

/** Reads a part of the graph from a response of `/graphs`. */
export function partOf(graph: Schemas['Graph']): Part {
  return {
    entities: graph.nodes.map(({ id, properties }) => ({
      name: id,
      kind: textOf(properties, 'entity_type'),
      description: textOf(properties, 'description'),
      chunks: listOf(textOf(properties, 'source_id'), '<SEP>'),
    })),
    relations: graph.edges.map(({ source, target, properties }) => ({
      source,
      target,
      weight: Number(textOf(properties, 'weight')) || 0,
      keywords: listOf(textOf(properties, 'keywords'), ','),
      description: textOf(properties, 'description'),
      chunks: listOf(textOf(properties, 'source_id'), '<SEP>'),
    })),
    isTruncated: graph.is_truncated,
  };
}

/** The same key for both directions of a relation. */
export function pairOf({ source, target }: Pick<Relation, 'source' | 'target'>): string {
  return JSON.stringify([source, target].sort());
}

/** The union of parts; entities keep the order in which they came. */
export function together(parts: Part[]): Part {
  const entities = new Map<string, Entity>();
  const relations = new Map<string, Relation>();
  for (const part of parts) {
    for (const entity of part.entities) entities.set(entity.name, entity);
    for (const relation of part.relations) relations.set(pairOf(relation), relation);
  }
  return {
    entities: [...entities.values()],
    relations: [...relations.values()],
    isTruncated: parts.some(({ isTruncated }) => isTruncated),
  };
}

/** The neighbours of an entity that a part lacks, those with the heaviest relations first. */
export function missingIn(part: Part, around: Part, name: string): string[] {
  const known = new Set(part.entities.map(entity => entity.name));
  const names = neighboursOf(around, name).map(neighbour => neighbour.name);
  return [...new Set(names)].filter(neighbour => !known.has(neighbour));
}

/**
 * What expanding an entity adds: at most `budget` neighbours that are missing, and the relations between entities in sight
 * that its neighbourhood knows.
 */
export function growth(part: Part, around: Part, name: string, budget: number): Part {
  const added = new Set(missingIn(part, around, name).slice(0, budget));
  const inSight = new Set([...part.entities.map(entity => entity.name), ...added]);
  return {
    entities: around.entities.filter(entity => added.has(entity.name)),
    relations: around.relations.filter(({ source, target }) => inSight.has(source) && inSight.has(target)),
    isTruncated: around.isTruncated,
  };
}

/**
 * The parts in the order in which the graph grew: the first, then what each expansion added.
 *
 * - `expanded`: names of the expanded entities; one that occurs again adds more of its neighbours.
 * - `around`: the neighbourhood of each name, in the order of their first occurrence; expansions whose neighbourhood is
 *   not there yet, or whose entity is not in sight, are left out.
 */
export function grown(first: Part, expanded: string[], around: Part[], budget: number): Part[] {
  const names = [...new Set(expanded)];
  const parts = [first];
  for (const name of expanded) {
    const neighbourhood = around[names.indexOf(name)];
    const whole = together(parts);
    if (neighbourhood && whole.entities.some(entity => entity.name === name))
      parts.push(growth(whole, neighbourhood, name, budget));
  }
  return parts;
}

/** The part without entities of some types. */
export function without(part: Part, hidden: ReadonlySet<string>): Part {
  if (hidden.size === 0) return part;
  const entities = part.entities.filter(({ kind }) => !hidden.has(kind));
  const names = new Set(entities.map(({ name }) => name));
  const relations = part.relations.filter(({ source, target }) => names.has(source) && names.has(target));
  return { entities, relations, isTruncated: part.isTruncated };
}

/** How many relations of the part each entity has. */
export function degreesOf({ entities, relations }: Part): Map<string, number> {
  const degrees = new Map(entities.map(({ name }) => [name, 0]));
  for (const { source, target } of relations) {
    degrees.set(source, (degrees.get(source) ?? 0) + 1);
    if (target !== source) degrees.set(target, (degrees.get(target) ?? 0) + 1);
  }
  return degrees;
}

/** Number of colours for types; other types share the colour after the last. */
export const COLOURS = 7;

/** A type of entities, with its colour from 0 to `COLOURS`. */
export interface Kind {
  kind: string;
  count: number;
  colour: number;
}

/**
 * The types of entities, the most frequent first.
 *
 * Colours go by the first part, so that expanding the graph leaves them as they are.
 */
export function kindsOf(parts: Part[]): Kind[] {
  const colours = new Map<string, number>();
  for (const part of parts) {
    for (const [kind] of byCount(part)) {
      if (!colours.has(kind)) colours.set(kind, Math.min(colours.size, COLOURS));
    }
  }
  return byCount(together(parts)).map(([kind, count]) => ({
    kind,
    count,
    colour: colours.get(kind) ?? COLOURS,
  }));
}

function byCount({ entities }: Part): [string, number][] {
  const counts = new Map<string, number>();
  for (const { kind } of entities) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}

/** A relation as one of its entities sees it. */
export interface Neighbour {
  name: string;
  relation: Relation;
}

/** The relations of an entity, the heaviest first. */
export function neighboursOf(part: Part, name: string): Neighbour[] {
  return part.relations
    .filter(({ source, target }) => source === name || target === name)
    .map(relation => ({ name: relation.source === name ? relation.target : relation.source, relation }))
    .sort((a, b) => b.relation.weight - a.relation.weight || (a.name < b.name ? -1 : 1));
}

/** What the table is sorted by. */
export type Column = 'name' | 'kind' | 'relations';

export interface Row {
  entity: Entity;
  relations: number;
}

/** The entities as rows of a table; names in the order of the language. */
export function rowsOf(part: Part, column: Column, language: string): Row[] {
  const degrees = degreesOf(part);
  const names = new Intl.Collator(language, { numeric: true });
  const rows = part.entities.map(entity => ({ entity, relations: degrees.get(entity.name) ?? 0 }));
  const byName = (a: Row, b: Row) => names.compare(a.entity.name, b.entity.name);
  if (column === 'name') return rows.sort(byName);
  if (column === 'kind')
    return rows.sort((a, b) => names.compare(a.entity.kind, b.entity.kind) || byName(a, b));
  return rows.sort((a, b) => b.relations - a.relations || byName(a, b));
}

/** What a merge of two entities would lead to. */
export interface MergePreview {
  /** Relations of the merged entity. */
  relations: number;
  /** Entities that both are related to: their two relations become one. */
  shared: number;
  /** Whether the two are related, which ends. */
  areRelated: boolean;
  chunks: number;
}

/** The outcome of merging two entities, from the neighbourhood of each. */
export function previewMerge(a: Entity, ofA: Part, b: Entity, ofB: Part): MergePreview {
  const around = (part: Part, name: string) => new Set(neighboursOf(part, name).map(({ name }) => name));
  const [aroundA, aroundB] = [around(ofA, a.name), around(ofB, b.name)];
  const areRelated = aroundA.delete(b.name);
  aroundB.delete(a.name);
  const relations = new Set([...aroundA, ...aroundB]).size;
  return {
    relations,
    shared: aroundA.size + aroundB.size - relations,
    areRelated,
    chunks: new Set([...a.chunks, ...b.chunks]).size,
  };
}
