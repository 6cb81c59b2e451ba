import type { Schemas } from '../../api/client';
import { ages, numbers } from '../../i18n/formats';

/** Which documents the table shows. */
export type Tab = 'all' | 'ready' | 'working' | 'waiting' | 'failed';

/** The statuses of each tab; `undefined` for all. */
export const STATUSES: Record<Tab, Schemas['DocStatus'][] | undefined> = {
  all: undefined,
  ready: ['processed'],
  working: ['processing', 'parsing', 'analyzing', 'preprocessed'],
  waiting: ['pending'],
  failed: ['failed'],
};

/** The order of the table. */
export interface Sorting {
  field: 'created_at' | 'file_path' | 'content_length' | 'status';
  direction: Schemas['SortDirection'];
}

/** The order after a click on a column: the other direction, or the usual one of another column. */
export function sortedBy(sorting: Sorting, field: Sorting['field']): Sorting {
  if (sorting.field !== field)
    return { field, direction: field === 'created_at' || field === 'content_length' ? 'desc' : 'asc' };
  return { field, direction: sorting.direction === 'asc' ? 'desc' : 'asc' };
}

/** The pages that contain rows from `first` to `last`. */
export function pagesOf(first: number, last: number, size: number): number[] {
  const [from, to] = [Math.floor(first / size), Math.floor(Math.max(first, last) / size)];
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** How a document is doing, for people. */
export type Condition = 'ready' | 'withFaults' | 'working' | 'waiting' | 'failed';

export function conditionOf({
  status,
  error_msg,
}: Pick<Schemas['DocumentItem'], 'status' | 'error_msg'>): Condition {
  if (status === 'processed') return error_msg == null ? 'ready' : 'withFaults';
  if (status === 'failed') return 'failed';
  return status === 'pending' ? 'waiting' : 'working';
}

/** A size in bytes, in the largest unit that keeps it readable. */
export function sizeOf(bytes: number, language: string): string {
  const [unit, divisor] = bytes >= 1e6 ? (['megabyte', 1e6] as const) : (['kilobyte', 1e3] as const);
  const format = numbers(language, {
    style: 'unit',
    unit,
    maximumFractionDigits: bytes / divisor < 10 ? 1 : 0,
  });
  return format.format(bytes / divisor);
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** How long ago something happened. */
export function ageOf(time: string, now: number, language: string): string {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ['second', 1];
  return ages(language).format(unit === 'second' ? 0 : -Math.floor(seconds / length), unit);
}
