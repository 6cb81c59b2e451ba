import { expect, test } from 'vitest';
import { placesOf, seedOf } from './layout';
import type { Part } from './view';

/** A hub with as many neighbours, which are related in a ring. */
function wheel(size: number): Part {
  const names = ['hub', ...Array.from({ length: size }, (_, index) => `rim ${index}`)];
  const relation = (source: string, target: string) => ({
    source,
    target,
    weight: 1,
    keywords: [],
    description: '',
    chunks: [],
  });
  return {
    entities: names.map(name => ({ name, kind: '', description: '', chunks: [] })),
    relations: names
      .slice(1)
      .flatMap((name, index) => [relation('hub', name), relation(name, `rim ${(index + 1) % size}`)]),
    isTruncated: false,
  };
}

const NONE = new Map<string, { x: number; y: number }>();

test('the same part has the same places in every visit', () => {
  expect(placesOf(wheel(20), NONE)).toEqual(placesOf(wheel(20), NONE));
});

test('what was there stays where it was when the graph grows', () => {
  const before = placesOf(wheel(12), NONE);
  const after = placesOf(wheel(18), before);
  for (const [name, place] of before) expect(after.get(name), name).toEqual(place);
  expect(after.size).toBe(19);
});

test('no two points share a place, and every place is a number', () => {
  const places = [...placesOf(wheel(60), NONE).values()].map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  expect(new Set(places).size).toBe(61);
  expect(places.join()).not.toContain('NaN');
});

test('a relation of an entity with itself does not disturb the layout', () => {
  const part = wheel(3);
  part.relations.push({ source: 'hub', target: 'hub', weight: 1, keywords: [], description: '', chunks: [] });
  expect(placesOf(part, NONE).size).toBe(4);
});

test('seeds are spread over the interval and depend on the text only', () => {
  const seeds = Array.from({ length: 200 }, (_, index) => seedOf(`entity ${index}`));
  expect(seeds.every(seed => seed >= 0 && seed < 1)).toBe(true);
  expect(new Set(seeds.map(seed => Math.floor(seed * 10))).size).toBe(10);
  expect(seedOf('a')).toBe(seedOf('a'));
});
