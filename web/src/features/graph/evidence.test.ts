import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client';
import { evidenceIn, inOrder, marksOf } from './evidence';

function chunk(quote: string, start = 0, line = 1): Schemas['ChunkDetail'] {
  return {
    id: 'chunk-1',
    document: 'doc-1',
    file_path: 'notes.txt',
    quote,
    span: [start, start + new TextEncoder().encode(quote).length],
    lines: [line, line + quote.split('\n').length - 1],
    lines_match_source: true,
    ordinal: 0,
    tokens: 1,
    breadcrumb: [],
    extraction: 'done',
    entities: [],
    relations: [],
  };
}

test('the quote is the sentence that names the entity, at its bytes and line', () => {
  const { passage, marks } = evidenceIn(chunk('Früh war es.\nBob kam.\nDann nicht.', 100, 7), ['Bob']);
  expect(passage).toMatchObject({ quote: 'Bob kam.', span: [114, 122], lines: [8, 8] });
  expect(marks).toEqual([[0, 3]]);
});

test('a relation is shown by the sentence that names both entities', () => {
  const text = 'Bob was late on that cold and dark morning again. Tim saw Bob. Tim went home.';
  expect(evidenceIn(chunk(text), ['Bob', 'Tim']).passage.quote).toBe('Tim saw Bob.');
});

test('a telling sentence is preferred to a short one', () => {
  const text = 'Said Bob. Bob had been the clerk of the counting-house for many years. So it was.';
  expect(evidenceIn(chunk(text), ['Bob']).passage.quote).toMatch(/^Bob had been/);
});

test('a sentence may go on after a full line, but rows and headings are lines', () => {
  const wrapped = 'There stood, at the end of the long and narrow street,\nold Bob. He waved.';
  expect(evidenceIn(chunk(wrapped), ['Bob']).passage.quote).toBe(wrapped.slice(0, -10));
  const rows = `name: Ann | role: ${'x'.repeat(60)}\nname: Bob | role: clerk\nname: Tim`;
  expect(evidenceIn(chunk(rows), ['Bob']).passage.quote).toBe('name: Bob | role: clerk');
});

test('a long sentence is cut around the name', () => {
  const { passage, marks } = evidenceIn(chunk(`${'many words '.repeat(60)}Bob ${'more words '.repeat(60)}`), [
    'Bob',
  ]);
  expect(passage.quote.length).toBeLessThanOrEqual(320);
  expect(marks.map(([start, end]) => passage.quote.slice(start, end))).toEqual(['Bob']);
  expect(passage.quote).toMatch(/^(many|words)/);
});

test('names are found as whole words, in any case and across line breaks', () => {
  expect(marksOf('Bobby saw BOB\nCRATCHIT. (C++?)', ['Bob Cratchit', 'C++'])).toEqual([
    [10, 22],
    [25, 28],
  ]);
  expect(marksOf('anything', [''])).toEqual([]);
});

test('evidence is in the order of the document and without repetition', () => {
  const [late, early] = [chunk('Bob left.', 50), chunk('Bob came.', 10)].map(one => evidenceIn(one, ['Bob']));
  if (!late || !early) return expect.fail();
  expect(inOrder([late, early, late]).map(({ passage }) => passage.quote)).toEqual([
    'Bob came.',
    'Bob left.',
  ]);
});
