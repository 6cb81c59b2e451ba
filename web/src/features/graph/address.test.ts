import { expect, test } from 'vitest';
import { hrefOf, shownIn } from './address';

test('an address says all that is shown, and reads back the same', () => {
  const shown = {
    entity: 'AT&T / Bell 100%',
    more: ['A', 'B', 'A'],
    most: 300,
    open: 'B',
    isTable: true,
    merge: '',
    to: 'B',
    edits: true,
  };
  expect(shownIn(new URLSearchParams(hrefOf(shown)))).toEqual(shown);
});

test('what is usual is not in the address', () => {
  expect(hrefOf({ entity: 'Bob', most: 100, isTable: false, edits: false })).toBe('?entity=Bob');
  expect(hrefOf({})).toBe('');
});

test('an address from elsewhere is read without faults', () => {
  const shown = shownIn(new URLSearchParams('entity=&most=7&more=&view=cube'));
  expect(shown).toMatchObject({ entity: undefined, most: 100, more: [], isTable: false, merge: undefined });
});
