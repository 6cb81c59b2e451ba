import type { Schemas } from '../../api/client';

/** An edit of the graph in words: a key of the texts, and the names in it. */
export interface EditWords {
  key:
    | 'didCreateEntity'
    | 'didEditEntity'
    | 'didRenameEntity'
    | 'didDeleteEntity'
    | 'didMerge'
    | 'didSplit'
    | 'didKeepApart'
    | 'didCreateRelation'
    | 'didEditRelation'
    | 'didDeleteRelation'
    | 'didUndo'
    | 'didOther';
  values: Record<string, string>;
}

const KEYS: Record<string, EditWords['key']> = {
  create_entity: 'didCreateEntity',
  edit_entity: 'didEditEntity',
  rename_entity: 'didRenameEntity',
  delete_entity: 'didDeleteEntity',
  merge_entities: 'didMerge',
  split_entity: 'didSplit',
  not_same: 'didKeepApart',
  create_relation: 'didCreateRelation',
  edit_relation: 'didEditRelation',
  delete_relation: 'didDeleteRelation',
  undo: 'didUndo',
};

/** What an edit did; an undo names the edit that it undid. */
export function wordsOf(edit: Schemas['DecisionItem'], all: Schemas['DecisionItem'][]): EditWords {
  const details = detailsOf(edit);
  const names = namesIn(edit);
  const first = names[0] ?? '';
  const values: Record<string, string> = {
    name: first,
    other: names[1] ?? '',
    action: edit.action,
  };
  if (edit.action === 'merge_entities') {
    values.name = names.slice(1).join(', ');
    values.other = first;
  }
  if (edit.action === 'undo') {
    const undone = all.find(({ id }) => id === details.get('decision'));
    values.name = undone ? namesIn(undone).join(', ') : '';
  }
  return { key: KEYS[edit.action] ?? 'didOther', values };
}

/** Whether an edit is about an entity, or undoes one that is. */
export function concerns(
  edit: Schemas['DecisionItem'],
  name: string,
  all: Schemas['DecisionItem'][],
): boolean {
  const wanted = normal(name);
  const undone = all.find(({ id }) => id === detailsOf(edit).get('decision'));
  return [...namesIn(edit), ...(undone ? namesIn(undone) : [])].some(one => normal(one) === wanted);
}

const normal = (name: string): string =>
  name
    .toUpperCase()
    .replace(/[\s_]+/g, ' ')
    .trim();

function detailsOf({ details }: Schemas['DecisionItem']): Map<string, unknown> {
  return new Map(typeof details === 'object' && details !== null ? Object.entries(details) : []);
}

/** The entities of an edit, each once; that which stays first. Keys are shown as words. */
function namesIn(edit: Schemas['DecisionItem']): string[] {
  const details = detailsOf(edit);
  const of = (field: string): string[] => stringsIn(details.get(field)).map(readable);
  // An edit that gives no name keeps it, and says only the key.
  const named = (name: string, key: string): string[] => [...of(name), ...of(key)].slice(0, 1);
  const all = [
    ...(details.has('into') && details.has('key') ? of('key') : named('name', 'key')),
    ...(details.has('into') ? named('name', 'into') : []),
    ...of('sources'),
    ...named('source_name', 'source'),
    ...named('target_name', 'target'),
    ...of('relation'),
    ...of('pair'),
  ];
  return all.filter((name, index) => all.indexOf(name) === index);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(stringsIn);
  return [];
}

/** A name; a key such as `BOB_CRATCHIT` as words. */
function readable(text: string): string {
  return text.replaceAll('_', ' ');
}
