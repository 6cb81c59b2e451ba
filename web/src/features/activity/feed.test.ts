import { expect, test } from 'vitest';
import { EMPTY, type Feed, earlierLines, reduceFeed } from './feed';

let at = 0;
const event = (name: string, data: object, id?: string) => ({ name, id, data: JSON.stringify(data) });
const follow = (...events: ReturnType<typeof event>[]): Feed =>
  events.reduce((feed, one) => reduceFeed(feed, one, (at += 1000)), EMPTY);
const step = (document: string, stage: string, done: number) =>
  event('advanced', { document, source: `${document}.md`, stage, done, total: 9 });

test('steps of a document in one stage are one line, its last', () => {
  const { lines } = follow(
    event('accepted', { document: 'a', source: 'a.md' }),
    step('a', 'extract', 1),
    step('b', 'extract', 1),
    step('a', 'extract', 2),
    step('a', 'merge', 1),
    event('finished', {
      document: 'a',
      source: 'a.md',
      chunks: 9,
      failed: 0,
      damaged: 0,
      without_context: 0,
    }),
  );
  expect(
    lines.map(({ kind, values }) => `${kind} ${values.source} ${values.stage ?? ''} ${values.done ?? ''}`),
  ).toEqual([
    'accepted a.md  ',
    'advanced b.md extract 1',
    'advanced a.md extract 2',
    'advanced a.md merge 1',
    'finished a.md  ',
  ]);
});

test('a document with gaps ends with a warning', () => {
  const finished = { document: 'a', source: 'a.md', chunks: 9, failed: 1, damaged: 0, without_context: 0 };
  expect(follow(event('finished', finished)).lines[0]?.tone).toBe('warn');
  expect(follow(event('finished', { ...finished, failed: 0 })).lines[0]?.tone).toBe('good');
});

test('a service is waited for until it resumes, or until the state is read again', () => {
  const down = event('paused', { service: 'api.example', reason: 'status 503', retry_in_ms: 5000 });
  const waiting = follow(down, down);
  expect(waiting.services).toEqual([{ service: 'api.example', reason: 'status 503', until: at + 5000 }]);
  expect(reduceFeed(waiting, event('resumed', { service: 'api.example' }), at).services).toEqual([]);
  expect(reduceFeed(waiting, event('state', { busy: false }), at).services).toEqual([]);
});

test('samples count the chunks between two steps, and one where the step before is unknown', () => {
  const { samples } = follow(
    step('a', 'chunk', 9),
    step('a', 'extract', 4),
    step('a', 'extract', 7),
    step('b', 'merge', 1),
  );
  expect(samples.map(({ chunks }) => chunks)).toEqual([1, 3]);
});

test('the log ends, and the id of the last event is kept', () => {
  const many = Array.from({ length: 1200 }, (_, index) => event('settled', { done: index }, `x-${index}`));
  const feed = follow(...many, event('state', { busy: false }));
  expect(feed.lines).toHaveLength(1000);
  expect(feed.lines.at(-1)?.values.done).toBe(1199);
  expect(feed.lastEventId).toBe('x-1199');
});

test('keys of lines differ', () => {
  const keys = [...earlierLines(['a', 'b']), ...follow(event('settled', {}), event('settled', {})).lines].map(
    ({ key }) => key,
  );
  expect(new Set(keys).size).toBe(4);
});
