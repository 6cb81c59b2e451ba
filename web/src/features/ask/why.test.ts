import { expect, test } from 'vitest';
import { foundOf } from './why';

const chunk = (id: string, score?: number) => ({
  chunk_id: id,
  content: 'Text.',
  document: 'doc-1',
  file_path: 'a.md',
  reference_id: '1',
  found_by: 'pagerank',
  span: [0, 5] as [number, number],
  score: score ?? null,
});

test('paths are told by names, and scores as shares of the best', () => {
  const entity = {
    entity_key: 'ADA',
    entity_name: 'Ada',
    entity_type: '',
    description: '',
    source_id: '',
    file_path: '',
  };
  const found = foundOf({
    status: 'success',
    message: '',
    data: {
      chunks: [chunk('c1', 0.5), chunk('c2', 0.25), chunk('c3')],
      entities: [entity],
      relationships: [],
    },
    metadata: {
      paths: [
        {
          chunk: 'c1',
          steps: [{ entity: 'ADA' }, { relation: { a: 'ADA', b: 'BOB_ROE' } }, { chunk: 'c1' }],
        },
        { chunk: 'c2', steps: [{ chunk: 'c2' }] },
      ],
    },
  });
  expect(found.passages.map(({ path, share }) => [path, share])).toEqual([
    [['Ada', 'Ada – Bob Roe'], 1],
    [[], 0.5],
    [[], undefined],
  ]);
});

test('a search that finds nothing is no error', () => {
  const found = foundOf({
    status: 'failure',
    message: '',
    data: {},
    metadata: { failure_reason: 'no_results' },
  });
  expect([found.passages, found.entities, found.relations]).toEqual([[], [], []]);
});
