import { expect, test } from 'vitest';
import { nameFault } from './workspaces';

test('names of workspaces are those the server accepts, and new', () => {
  expect(['a', '0-x_y', 'a'.repeat(64)].map(name => nameFault(name, ['b']))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(['', 'A', '-a', 'a b', 'a/b', 'ä', 'a'.repeat(65)].map(name => nameFault(name, []))).toEqual(
    Array(7).fill('form'),
  );
  expect(nameFault('b', ['b'])).toBe('exists');
});
