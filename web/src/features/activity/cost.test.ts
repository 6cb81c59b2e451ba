import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client';
import { amountOf, daysOf, isCostKnown, measureOf } from './cost';

const row = (fields: Partial<Schemas['CostRow']>) => ({ cost: 0, calls: 0, ...fields }) as Schemas['CostRow'];

test('days without calls are between those with calls', () => {
  const rows = [row({ day: '2026-02-26', cost: 1, calls: 2 }), row({ day: '2026-03-01', cost: 3, calls: 4 })];
  const days = daysOf(rows, '2026-03-04');
  expect(days).toHaveLength(7);
  expect(days[0]).toEqual({ day: '2026-02-26', cost: 1, calls: 2 });
  expect(days.filter(({ cost }) => cost > 0).map(({ day }) => day)).toEqual(['2026-02-26', '2026-03-01']);
  expect(days.at(-1)?.day).toBe('2026-03-04');
});

test('a chart has at least a week and at most thirty days', () => {
  expect(daysOf([], '2026-03-04')).toHaveLength(7);
  expect(daysOf([row({ day: '2025-01-01' })], '2026-03-04')).toHaveLength(30);
});

test('without prices, calls are compared', () => {
  expect(measureOf(row({ cost: 0, calls: 5 }))).toBe('calls');
  expect(measureOf(row({ cost: 0.1, calls: 5 }))).toBe('cost');
});

test('the cost of calls without a price or token counts is unknown', () => {
  const known = (fields: Partial<Schemas['CostRow']>) =>
    isCostKnown(row({ calls: 2, unpriced_calls: 0, uncounted_calls: 0, ...fields }));
  expect(known({})).toBe(true);
  expect(known({ unpriced_calls: 2 })).toBe(false);
  expect(known({ uncounted_calls: 2 })).toBe(false);
  expect(known({ uncounted_calls: 1, cost: 0.5 })).toBe(true);
});

test('small amounts keep two digits', () => {
  expect([0, 0.0088554, 0.25, 1234.5].map(cost => amountOf(cost, 'en'))).toEqual([
    '0.00',
    '0.0089',
    '0.25',
    '1,234.50',
  ]);
});
