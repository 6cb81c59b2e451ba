import { expect, test } from 'vitest';
import { type Stages, reduceStages } from './progress';

const event = (name: string, data: object) => ({ name, id: undefined, data: JSON.stringify(data) });

test('a document has the stage it advanced to last, until it is over', () => {
  const none: Stages = new Map();
  const first = reduceStages(none, event('advanced', { document: 'a', stage: 'chunk', done: 1, total: 2 }));
  const second = reduceStages(
    first,
    event('advanced', { document: 'a', stage: 'extract', done: 0, total: 2 }),
  );
  expect(second.get('a')).toEqual({ stage: 'extract', done: 0, total: 2 });
  expect(reduceStages(second, event('finished', { document: 'a' })).size).toBe(0);
});

test('events of other kinds change nothing', () => {
  const stages: Stages = new Map([['a', { stage: 'merge', done: 1, total: 1 }]]);
  for (const other of [
    event('state', { busy: true }),
    event('finished', { document: 'b' }),
    event('advanced', { document: 'a', stage: 'new' }),
    event('settled', { done: 1 }),
  ]) {
    expect(reduceStages(stages, other)).toBe(stages);
  }
});
