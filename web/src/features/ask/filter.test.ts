import { expect, test } from 'vitest';
import { NO_FILTER, conditionsOf, filterOf } from './filter';

test('only what was typed is a condition', () => {
  expect(filterOf(NO_FILTER)).toBeUndefined();
  expect(filterOf({ ...NO_FILTER, sources: ' , ' })).toBeUndefined();
  const filter = filterOf({ sources: '*.pdf, notes/*', after: '2026-01-01', before: '', meta: 'year>=2020' });
  expect(filter).toEqual({
    sources: ['*.pdf', 'notes/*'],
    accepted_after: '2026-01-01',
    meta: ['year>=2020'],
  });
  expect([conditionsOf(filter), conditionsOf(undefined)]).toEqual([4, 0]);
});
