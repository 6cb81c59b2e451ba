import type { Schemas } from '../../api/client';
import type { Passage } from '../source/source-pane';

/** A sentence of a document that is evidence for an entity or a relation. */
export interface Evidence {
  /** The sentence as a citation opens it. */
  passage: Passage & { quote: string };
  /** Where the names are in the quote, from start to end. */
  marks: [number, number][];
}

/** The longest quote, in characters; longer sentences are cut at a word. */
const MAX_QUOTE = 320;
/** A sentence of this length says more than "said Scrooge." */
const TELLING = 48;
/** A line of this length may have been broken within a sentence. */
const FULL_LINE = 50;

/** Where names occur in a text, in order and without overlaps. */
export function marksOf(text: string, names: string[]): [number, number][] {
  const wanted = names
    .filter(name => name !== '')
    .sort((a, b) => b.length - a.length)
    .map(name => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+'));
  if (wanted.length === 0) return [];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${wanted.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
  return [...text.matchAll(pattern)].map(({ index, 0: found }) => [index, index + found.length]);
}

/**
 * The sentence of a chunk that names the entity, or the one with most of the names of a relation; the start of the chunk
 * if it writes the names in another way.
 */
export function evidenceIn(chunk: Schemas['ChunkDetail'], names: string[]): Evidence {
  const sentences = sentencesOf(chunk.quote);
  const score = ([start, end]: [number, number]) => {
    const text = chunk.quote.slice(start, end);
    const found = names.filter(name => marksOf(text, [name]).length > 0).length;
    return found + (found > 0 && text.length >= TELLING ? 0.5 : 0);
  };
  let best = sentences[0] ?? [0, 0];
  for (const sentence of sentences) if (score(sentence) > score(best)) best = sentence;
  const [start, end] = cut(chunk.quote, best, names);
  const quote = chunk.quote.slice(start, end);
  const first = chunk.span[0] + bytesOf(chunk.quote.slice(0, start));
  const line = chunk.lines[0] + linesIn(chunk.quote.slice(0, start));
  return {
    passage: {
      document: chunk.document,
      file_path: chunk.file_path,
      span: [first, first + bytesOf(quote)],
      quote,
      lines: [line, line + linesIn(quote)],
      lines_match_source: chunk.lines_match_source,
      place: chunk.place ?? null,
    },
    marks: marksOf(quote, names),
  };
}

/** Evidence in the order of the documents; what overlapping chunks share is there once. */
export function inOrder(evidence: Evidence[]): Evidence[] {
  const byPlace = new Map(
    evidence.map(one => [`${one.passage.document} ${one.passage.span.join(' ')}`, one]),
  );
  return [...byPlace.values()].sort(
    ({ passage: a }, { passage: b }) =>
      (a.file_path < b.file_path ? -1 : a.file_path > b.file_path ? 1 : 0) || a.span[0] - b.span[0],
  );
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
const linesIn = (text: string): number => text.split('\n').length - 1;

/** The sentences of a text, without the space around them; a paragraph or a line that ends without a stop is one too. */
function sentencesOf(text: string): [number, number][] {
  const found = [...new Intl.Segmenter('en', { granularity: 'sentence' }).segment(joinLines(text))];
  return found.flatMap(({ segment, index }) => {
    const start = index + (segment.length - segment.trimStart().length);
    const end = start + segment.trim().length;
    return end > start ? [[start, end] as [number, number]] : [];
  });
}

/**
 * The text with spaces for line breaks that only end a full line, which do not end a sentence; every character keeps its
 * place. Headings, items of lists and rows of tables stay lines.
 */
function joinLines(text: string): string {
  return text.replace(/(?<=^([^\n]*))\n(?=[ \t]*[^\s#|>*-])/gm, (line, before: string) =>
    before.length >= FULL_LINE && !before.includes(' | ') ? ' ' : line,
  );
}

/** A sentence, or the part of a long one around the first name. */
function cut(text: string, [start, end]: [number, number], names: string[]): [number, number] {
  if (end - start <= MAX_QUOTE) return [start, end];
  const sentence = text.slice(start, end);
  const name = marksOf(sentence, names)[0]?.[0] ?? 0;
  let from = Math.max(0, Math.min(name - MAX_QUOTE / 2, sentence.length - MAX_QUOTE));
  let to = from + MAX_QUOTE;
  const space = (at: number) => /\s/.test(sentence.charAt(at));
  if (from > 0) while (from < name && !space(from - 1)) from += 1;
  if (to < sentence.length) while (to > name + 1 && !space(to)) to -= 1;
  return [start + from, start + to];
}
