import { expect, test } from 'vitest';
import { marksOf } from './marks';

/** The marked words of each item, items between bars. */
function marked(items: string[], passage: string): string {
  return marksOf(items, passage)
    .map(({ item, start, end }) => items[item]?.slice(start, end))
    .join(' | ');
}

test('a passage is found over lines, divided words, accents and ligatures', () => {
  const items = ['The of', 'ﬁce of Zoë Müller is in the har-', 'bour of Port Amsel. It opens at nine.'];
  const passage = 'office of Zoë Müller is in the harbour of Port Amsel';
  expect(marked(items, passage)).toBe('of | ﬁce of Zoë Müller is in the har | bour of Port Amsel');
  expect(marked(items, 'Port Amsel')).toBe('Port Amsel');
});

test('pieces of a passage are found wherever the page shows them', () => {
  const items = [
    'Left column begins with this sentence.',
    'Right column begins with another one.',
    'Left column goes on with these words.',
  ];
  const passage =
    'Left column begins with this sentence. Left column goes on with these words. Right column begins with another one.';
  expect(marked(items, passage).split(' | ')).toHaveLength(3);
  expect(marked(items, 'Table: | Left column goes on with these words | and more that is elsewhere')).toBe(
    'Left column goes on with these words',
  );
});

test('rows of a table are found by their values', () => {
  const items = ['Item', 'Place', 'Cost', 'Pipes', 'Shed', '12', 'Valves', '3'];
  const passage = 'Item: Pipes | Place: Shed | Cost: 12\nItem: Valves | Cost: 3';
  expect(marked(items, passage)).toBe('Pipes | Shed | 12 | Valves | 3');
});

test('what the page does not hold is not marked', () => {
  expect(marksOf(['Some words of a page that say this.'], 'Other words of another page entirely')).toEqual(
    [],
  );
  expect(marksOf(['.'.repeat(9999)], '...')).toEqual([]);
  expect(marksOf([], 'words')).toEqual([]);
  expect(marksOf(['a'.repeat(20_000)], `${'a'.repeat(3000)}b`)).not.toEqual([]);
});

test('Chinese and astral letters are found', () => {
  expect(marked(['𝒜da met 上海的工程师', '在港口工作。'], '上海的工程师在港口工作')).toBe(
    '上海的工程师 | 在港口工作',
  );
});
