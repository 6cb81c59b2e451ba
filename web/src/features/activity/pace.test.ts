import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client';
import { chunksPerMinute, durationOf, remainingChunks, secondsLeft } from './pace';

const job = (chunks: number | null, extracted: number | null) =>
  ({ chunks, extracted }) as Schemas['JobItem'];

test('the pace is that of the last two minutes, and unknown at first', () => {
  const every = (seconds: number[]) => seconds.map(second => ({ at: second * 1000, chunks: 2 }));
  expect(chunksPerMinute(every([0, 1]), 1500)).toBeUndefined();
  expect(chunksPerMinute(every([0, 30, 60]), 60_000)).toBe(4);
  expect(chunksPerMinute(every([0, 200, 230]), 260_000)).toBe(2);
  expect(chunksPerMinute([], 0)).toBeUndefined();
});

test('documents of unknown length are as long as the known ones', () => {
  expect(remainingChunks([job(10, 4), job(6, null)], 2)).toBe(12);
  expect(remainingChunks([job(10, 4), job(6, null), job(null, null)], 4)).toBe(24);
  expect(remainingChunks([job(null, null)], 1)).toBeUndefined();
  expect(remainingChunks([], 0)).toBe(0);
});

test('nothing is promised while nothing moves', () => {
  expect(secondsLeft(10, 0)).toBeUndefined();
  expect(secondsLeft(undefined, 3)).toBeUndefined();
  expect(secondsLeft(10, 60)).toBe(10);
});

test('durations have one or two units', () => {
  expect([0, 59, 60, 95, 3600, 7325, 90_000].map(seconds => durationOf(seconds, 'en'))).toEqual([
    '0 sec',
    '59 sec',
    '1 min',
    '1 min 35 sec',
    '1 hr',
    '2 hr 2 min',
    '1 day 1 hr',
  ]);
});
