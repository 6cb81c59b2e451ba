import { expect, test } from 'vitest';
import { pathOf, shownAt } from './address';

test('a path says which conversation is shown', () => {
  expect(shownAt('/')).toEqual({ kind: 'conversation', id: undefined });
  expect(shownAt(pathOf('0a1b'))).toEqual({ kind: 'conversation', id: '0a1b' });
  expect(shownAt('/compare')).toEqual({ kind: 'compare' });
  expect(pathOf(undefined)).toBe('/');
});
