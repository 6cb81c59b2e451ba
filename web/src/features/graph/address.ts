/** What the page shows, as its address says it. */
export interface Shown {
  /** The entity in the middle; `undefined` for the start. */
  entity: string | undefined;
  /** Entities that were expanded, in order; one can be expanded again. */
  more: string[];
  /** How many entities the first part may have. */
  most: number;
  /** The entity of the pane; `undefined` for none chosen, which is the one in the middle where there is room. */
  open: string | undefined;
  isTable: boolean;
  /** The entity to merge with; empty if it is not chosen yet. */
  merge: string | undefined;
  /** The entity that a path leads to; empty if it is not chosen yet. */
  to: string | undefined;
  /** Whether the pane shows the edits. */
  edits: boolean;
}

/** The choices for `most`. */
export const BUDGETS = [50, 100, 300, 1000, 3000, 10_000];
const USUAL_BUDGET = 100;
/** How many entities one expansion adds at most. */
export const EXPANSION = 25;

/** Reads what to show from the query of the address. */
export function shownIn(query: URLSearchParams): Shown {
  const text = (name: string) => query.get(name) ?? undefined;
  const most = Number(query.get('most'));
  return {
    entity: text('entity') || undefined,
    more: query.getAll('more').filter(name => name !== ''),
    most: BUDGETS.includes(most) ? most : USUAL_BUDGET,
    open: text('open') || undefined,
    isTable: query.get('view') === 'table',
    merge: text('merge'),
    to: text('to'),
    edits: query.has('edits'),
  };
}

/** The address of what to show, relative to the page of the graph. */
export function hrefOf(shown: Partial<Shown>): string {
  const query = new URLSearchParams();
  if (shown.entity !== undefined) query.set('entity', shown.entity);
  for (const name of shown.more ?? []) query.append('more', name);
  if (shown.most !== undefined && shown.most !== USUAL_BUDGET) query.set('most', String(shown.most));
  if (shown.open !== undefined) query.set('open', shown.open);
  if (shown.isTable === true) query.set('view', 'table');
  if (shown.merge !== undefined) query.set('merge', shown.merge);
  if (shown.to !== undefined) query.set('to', shown.to);
  if (shown.edits === true) query.set('edits', '');
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** The address of a node, or of a level, relative to the page of the graph. */
export function treeHref(level: number, id?: string): string {
  return `/tree${id === undefined ? '' : `/${id}`}?level=${level}`;
}

/** The address of a community, or of a level, relative to the page of the graph. */
export function communityHref(level: number, id?: string): string {
  return `/communities${id === undefined ? '' : `/${id}`}?level=${level}`;
}
