import { expect, test } from 'vitest';
import { concerns, wordsOf } from './decisions';

const edit = (action: string, details: object, id = 'dec-1') => ({
  id,
  action,
  details: { action, ...details },
  made_at: '2026-01-01T00:00:00Z',
  undone_by: null,
});

const merge = edit('merge_entities', { into: 'BOB', name: 'Bob', sources: ['BOB_CRATCHIT', 'MR_BOB'] });

test('edits are told with the names of their entities', () => {
  const words = (action: string, details: object) => {
    const { key, values } = wordsOf(edit(action, details), []);
    return [key, values.name, values.other];
  };
  expect(words('edit_entity', { key: 'BOB_CRATCHIT', name: null })).toEqual([
    'didEditEntity',
    'BOB CRATCHIT',
    '',
  ]);
  expect(words('rename_entity', { key: 'BOB', into: 'ROBERT', name: 'Robert' })).toEqual([
    'didRenameEntity',
    'BOB',
    'Robert',
  ]);
  expect(words('edit_relation', { relation: { a: 'BOB', b: 'TIM' } })).toEqual([
    'didEditRelation',
    'BOB',
    'TIM',
  ]);
  expect(words('create_relation', { source: 'A', source_name: 'a', target: 'B', target_name: 'b' })).toEqual([
    'didCreateRelation',
    'a',
    'b',
  ]);
  expect(wordsOf(merge, []).values).toMatchObject({ name: 'BOB CRATCHIT, MR BOB', other: 'Bob' });
});

test('an undo names what it undid, and an unknown action itself', () => {
  const undo = edit('undo', { decision: 'dec-1' }, 'dec-2');
  expect(wordsOf(undo, [undo, merge]).values.name).toContain('Bob');
  expect(wordsOf(edit('reorder', {}), [])).toMatchObject({ key: 'didOther', values: { action: 'reorder' } });
});

test('an edit concerns its entities in any spelling, and so does its undo', () => {
  const undo = edit('undo', { decision: 'dec-1' }, 'dec-2');
  const all = [undo, merge];
  expect(concerns(merge, 'Bob Cratchit', all)).toBe(true);
  expect(concerns(undo, 'bob', all)).toBe(true);
  expect(concerns(merge, 'Tim', all)).toBe(false);
});
