import type { Schemas } from '../../api/client';

/** A filter as it is typed. */
export interface FilterText {
  sources: string;
  after: string;
  before: string;
  meta: string;
}

export const NO_FILTER: FilterText = { sources: '', after: '', before: '', meta: '' };

/** The filter that was typed; `undefined` without conditions. The server checks patterns and conditions. */
export function filterOf({ sources, after, before, meta }: FilterText): Schemas['FilterItem'] | undefined {
  const filter: Schemas['FilterItem'] = {};
  if (list(sources).length > 0) filter.sources = list(sources);
  if (list(meta).length > 0) filter.meta = list(meta);
  if (after !== '') filter.accepted_after = after;
  if (before !== '') filter.accepted_before = before;
  return Object.keys(filter).length > 0 ? filter : undefined;
}

/** The number of conditions of a filter. */
export function conditionsOf(filter: Schemas['FilterItem'] | undefined): number {
  return Object.values(filter ?? {}).reduce(
    (count, value) => count + (Array.isArray(value) ? value.length : 1),
    0,
  );
}

function list(text: string): string[] {
  return text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '');
}
