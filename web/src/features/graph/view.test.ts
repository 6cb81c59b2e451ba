import { expect, test } from 'vitest';
import {
  type Part,
  degreesOf,
  grown,
  kindsOf,
  missingIn,
  neighboursOf,
  partOf,
  previewMerge,
  rowsOf,
  together,
  without,
} from './view';

/** A part from relations such as `Ann-Bob`; heavier ones first. Types follow the name: `Ann:person`. */
function part(relations: string[], types: string[] = []): Part {
  const pairs = relations.map(text => text.split('-') as [string, string]);
  const kinds = new Map(types.map(text => text.split(':') as [string, string]));
  const names = [...new Set([...pairs.flat(), ...kinds.keys()])];
  return {
    entities: names.map(name => ({ name, kind: kinds.get(name) ?? '', description: '', chunks: [] })),
    relations: pairs.map(([source, target], index) => ({
      source,
      target,
      weight: relations.length - index,
      keywords: [],
      description: '',
      chunks: [],
    })),
    isTruncated: false,
  };
}

const namesIn = ({ entities }: Part) => entities.map(({ name }) => name);
const entity = (of: Part, name: string) => of.entities.find(one => one.name === name) ?? expect.fail(name);

test('a response becomes entities and relations with their chunks and keywords', () => {
  const properties = { entity_type: 'person', description: 'A clerk.', source_id: 'chunk-1<SEP>chunk-2' };
  const read = partOf({
    nodes: [{ id: 'Bob', labels: ['Bob'], properties }],
    edges: [
      {
        id: 'Bob-Tim',
        type: 'DIRECTED',
        source: 'Bob',
        target: 'Tim',
        properties: { weight: 2.5, keywords: 'son, family', source_id: '' },
      },
    ],
    is_truncated: true,
  });
  expect(read.entities).toEqual([
    { name: 'Bob', kind: 'person', description: 'A clerk.', chunks: ['chunk-1', 'chunk-2'] },
  ]);
  expect(read.relations[0]).toMatchObject({ weight: 2.5, keywords: ['son', 'family'], chunks: [] });
  expect(read.isTruncated).toBe(true);
});

test('the union has every entity once, and a relation once in either direction', () => {
  const whole = together([part(['A-B']), part(['B-A', 'B-C'])]);
  expect(namesIn(whole)).toEqual(['A', 'B', 'C']);
  expect(whole.relations).toHaveLength(2);
  expect(degreesOf(whole)).toEqual(
    new Map([
      ['A', 1],
      ['B', 2],
      ['C', 1],
    ]),
  );
});

test('an expansion adds the heaviest missing neighbours, within the budget', () => {
  const first = part(['A-B']);
  const around = part(['B-C', 'B-D', 'B-A', 'C-A', 'B-E']);
  expect(missingIn(first, around, 'B')).toEqual(['C', 'D', 'E']);
  const [, added] = grown(first, ['B'], [around], 2);
  expect(added && namesIn(added)).toEqual(['C', 'D']);
  expect(added?.relations.map(({ source, target }) => source + target)).toEqual(['BC', 'BD', 'BA', 'CA']);
});

test('expanding again adds the next neighbours, and an entity out of sight adds none', () => {
  const around = part(['B-C', 'B-D', 'B-E']);
  const names = (expanded: string[]) => namesIn(together(grown(part(['A-B']), expanded, [around], 2)));
  expect(names(['B', 'B'])).toEqual(['A', 'B', 'C', 'D', 'E']);
  expect(names(['Z'])).toEqual(['A', 'B']);
});

test('hidden types leave with their relations', () => {
  const shown = without(part(['A-B', 'B-C'], ['A:place']), new Set(['place']));
  expect(namesIn(shown)).toEqual(['B', 'C']);
  expect(shown.relations).toHaveLength(1);
});

test('types keep their colour when the graph grows', () => {
  const first = part([], ['A:person', 'B:person', 'C:place']);
  const more = part([], ['D:date', 'E:date', 'F:date']);
  const colours = (parts: Part[]) => kindsOf(parts).map(({ kind, count, colour }) => [kind, count, colour]);
  expect(colours([first])).toEqual([
    ['person', 2, 0],
    ['place', 1, 1],
  ]);
  expect(colours([first, more])).toEqual([
    ['date', 3, 2],
    ['person', 2, 0],
    ['place', 1, 1],
  ]);
});

test('rows go by relations, name or type, with numbers in their order', () => {
  const of = part(['a10-a2', 'a10-B'], ['B:x', 'a2:y', 'a10:x']);
  const names = (column: 'name' | 'kind' | 'relations') =>
    rowsOf(of, column, 'en').map(row => row.entity.name);
  expect(names('relations')).toEqual(['a10', 'a2', 'B']);
  expect(names('name')).toEqual(['a2', 'a10', 'B']);
  expect(names('kind')).toEqual(['a10', 'B', 'a2']);
});

test('neighbours are at the other end of a relation', () => {
  expect(neighboursOf(part(['A-B', 'C-A', 'B-C']), 'A').map(({ name }) => name)).toEqual(['B', 'C']);
});

test('a merge counts shared neighbours once and drops the relation between the two', () => {
  const [ofA, ofB] = [part(['A-B', 'A-X', 'A-Y']), part(['B-A', 'B-X', 'B-Z'])];
  expect(previewMerge(entity(ofA, 'A'), ofA, entity(ofB, 'B'), ofB)).toMatchObject({
    relations: 3,
    shared: 1,
    areRelated: true,
  });
});
