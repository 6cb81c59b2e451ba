import { expect, test } from 'vitest';
import { ageOf, conditionOf, pagesOf, sizeOf, sortedBy } from './table';

test('a click on a column turns its order, or begins with the usual one', () => {
  const newest = { field: 'created_at', direction: 'desc' } as const;
  const byName = sortedBy(newest, 'file_path');
  expect(byName).toEqual({ field: 'file_path', direction: 'asc' });
  expect(sortedBy(byName, 'file_path').direction).toBe('desc');
  expect(sortedBy(byName, 'created_at')).toEqual(newest);
});

test('only pages with rows in sight are read', () => {
  expect(pagesOf(0, 30, 200)).toEqual([0]);
  expect(pagesOf(190, 430, 200)).toEqual([0, 1, 2]);
  expect(pagesOf(0, -1, 200)).toEqual([0]);
});

test('a document that is ready with a failure has gaps', () => {
  const condition = (
    status: 'processed' | 'failed' | 'pending' | 'processing',
    error_msg: string | null = null,
  ) => conditionOf({ status, error_msg });
  expect([
    condition('processed'),
    condition('processed', 'chunk 3'),
    condition('failed', 'x'),
    condition('pending'),
    condition('processing'),
  ]).toEqual(['ready', 'withFaults', 'failed', 'waiting', 'working']);
});

test('sizes and ages are short', () => {
  expect([sizeOf(2650, 'en'), sizeOf(12_345, 'en'), sizeOf(2_500_000, 'en')]).toEqual([
    '2.7 kB',
    '12 kB',
    '2.5 MB',
  ]);
  const now = Date.parse('2026-01-02T00:00:00Z');
  expect(ageOf('2026-01-01T23:59:50Z', now, 'en')).toBe('now');
  expect(ageOf('2026-01-01T23:00:00Z', now, 'en')).toBe('1 hr. ago');
  expect(ageOf('2025-12-31T00:00:00Z', now, 'en')).toBe('2 days ago');
});
