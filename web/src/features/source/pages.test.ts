import { expect, test } from 'vitest';
import { passagesOf } from './pages';

test('a span is divided at the pages it touches', () => {
  const bytes = new TextEncoder().encode('Title. Page oné. Page two. End.');
  const parts = [
    { offset: 7, page: 1 },
    { offset: 18, page: 2 },
    { offset: 28, page: 4 },
  ];
  expect(passagesOf(parts, bytes, [12, 26])).toEqual([
    { page: 1, text: 'oné. ' },
    { page: 2, text: 'Page two' },
  ]);
  expect(passagesOf(parts, bytes, [0, 7])).toEqual([]);
  expect(passagesOf(parts, bytes, [28, 99])).toEqual([{ page: 4, text: 'End.' }]);
  expect(passagesOf([{ offset: 0, page: null }], bytes, [0, 9])).toEqual([]);
});
