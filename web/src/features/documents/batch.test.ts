import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client';
import { batchCost, budgetOf, filesWithin, isLarge } from './batch';

function estimate(tokens: number, price: number | undefined): Schemas['EstimateAnswer'] {
  const total = {
    calls: { low: 1, high: 2 },
    input_tokens: { low: tokens, high: tokens },
    output_tokens: { low: 0, high: tokens },
    price: price === undefined ? null : { low: price / 2, high: price },
  };
  const unpriced = price === undefined ? ['model'] : [];
  return {
    documents: 1,
    unchanged: 0,
    refused: [],
    waiting: 0,
    chunks: 3,
    reused: 0,
    steps: [],
    total,
    unpriced,
  };
}

test('a batch is large by its files or its bytes', () => {
  expect(isLarge([{ size: 1000 }])).toBe(false);
  expect(isLarge([{ size: 3_000_000 }])).toBe(true);
  expect(isLarge(Array.from({ length: 10 }, () => ({ size: 1 })))).toBe(true);
});

test('estimates of files add up, and a price that is missing makes the sum unknown', () => {
  const priced = batchCost([estimate(10, 2), estimate(30, 4)]);
  expect(priced).toMatchObject({
    files: 2,
    chunks: 6,
    tokens: { low: 40, high: 80 },
    price: { low: 3, high: 6 },
  });
  expect(batchCost([estimate(10, 2), estimate(10, undefined)]).price).toBeUndefined();
});

test('a budget is money or tokens, and takes the files that fit by their higher estimates', () => {
  expect(['', '1.5', '2M', '500k', 'much'].map(budgetOf)).toEqual([undefined, 1.5, 2e6, 5e5, null]);
  const files = [estimate(10, 2), estimate(10, 2), estimate(10, 2)];
  expect(filesWithin(files, 5)).toBe(2);
  expect(filesWithin(files, 1)).toBe(0);
  expect(filesWithin([estimate(100, undefined), estimate(100, undefined)], 250)).toBe(1);
});
