import { expect, test } from 'vitest';
import { rangeOf, rowsOf, sectionsOf, viewOf, widen, windowAround } from './reading';

test('a span of bytes is found in the text', () => {
  const text = '\ufeffÉlan vital 🎉 ends.';
  const bytes = new TextEncoder().encode(text);
  const start = new TextEncoder().encode('\ufeffÉlan ').length;
  const { start: from, end: to } = rangeOf(bytes, [start, start + 'vital 🎉'.length + 2]);
  expect(text.slice(from, to)).toBe('vital 🎉');
});

test('pages begin where they begin, and the window cuts them', () => {
  const parts = [
    { start: 0, name: 'p. 1' },
    { start: 10, name: 'p. 2' },
    { start: 30, name: 'p. 3' },
  ];
  expect(sectionsOf(parts, { start: 5, end: 20 })).toEqual([
    { name: 'p. 1', start: 5, end: 10 },
    { name: 'p. 2', start: 10, end: 20 },
  ]);
  expect(sectionsOf([], { start: 0, end: 7 })).toEqual([{ name: undefined, start: 0, end: 7 }]);
  expect(sectionsOf([{ start: 4, name: 'sheet A' }], { start: 0, end: 9 }).map(({ name }) => name)).toEqual([
    undefined,
    'sheet A',
  ]);
});

test('a long text is shown around the passage, in whole paragraphs', () => {
  const text = Array.from({ length: 100 }, (_, index) => `Paragraph ${index}.`).join('\n\n');
  const target = { start: text.indexOf('Paragraph 50.'), end: text.indexOf('Paragraph 51.') };
  const window = windowAround(text, target, 200);
  expect(window.start).toBeLessThan(target.start);
  expect(window.end).toBeGreaterThan(target.end);
  expect(text.slice(window.start)).toMatch(/^Paragraph/);
  const wider = widen(text, widen(text, window, 'start', 9999), 'end', 9999);
  expect(wider).toEqual({ start: 0, end: text.length });
  expect(windowAround('short', undefined, 200)).toEqual({ start: 0, end: 5 });
  expect(windowAround('x'.repeat(500), { start: 400, end: 450 }, 200).end).toBe(500);
});

test('rows become a table, and values keep their places', () => {
  const text = 'Columns: name | note\nname: Ada | note: a | b\nname: Bob';
  const table = rowsOf(text);
  expect(table?.columns).toEqual(['name', 'note']);
  const values = table?.rows.map(({ cells }) =>
    [...cells.values()].map(({ value, start, end }) => [value, text.slice(start, end)]),
  );
  expect(values).toEqual([
    [
      ['Ada', 'Ada'],
      ['a | b', 'a | b'],
    ],
    [['Bob', 'Bob']],
  ]);
  expect(rowsOf('a: 1 | b: 2\nc: 3')?.columns).toEqual(['a', 'b', 'c']);
  expect(rowsOf('Just text.\nAnd more.\nnote: x')).toBeUndefined();
});

test('every format has a view', () => {
  expect(['markdown', 'html', 'csv', 'pdf', 'code', 'new'].map(viewOf)).toEqual([
    'markdown',
    'markdown',
    'rows',
    'text',
    'code',
    'text',
  ]);
});
