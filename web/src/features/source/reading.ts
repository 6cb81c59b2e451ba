import type { Range } from '../../markdown/parse';

/** How the text of a document is shown. */
export type View = 'markdown' | 'rows' | 'code' | 'text';

const VIEWS: Record<string, View> = {
  markdown: 'markdown',
  html: 'markdown',
  docx: 'markdown',
  odt: 'markdown',
  epub: 'markdown',
  rtf: 'markdown',
  ipynb: 'markdown',
  latex: 'markdown',
  csv: 'rows',
  jsonl: 'rows',
  xlsx: 'rows',
  xls: 'rows',
  ods: 'rows',
  code: 'code',
  json: 'code',
  xml: 'code',
};

/** The view for the format of a source; plain text for all others. */
export function viewOf(format: string): View {
  return VIEWS[format] ?? 'text';
}

/** The place of a span of bytes in the text of these bytes. */
export function rangeOf(bytes: Uint8Array, [start, end]: [number, number]): Range {
  const from = decode(bytes.subarray(0, start)).length;
  return { start: from, end: from + decode(bytes.subarray(start, end)).length };
}

/** Text of UTF-8 bytes, as long as the bytes say: a byte order mark counts. */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** A page, slide or sheet of a document, or all of it without a name. */
export interface Section extends Range {
  name: string | undefined;
}

/** The sections inside `window`, cut at its ends. Parts begin where `parts` say, in order. */
export function sectionsOf(parts: { start: number; name: string }[], window: Range): Section[] {
  const starts =
    parts.length > 0 && parts[0]?.start === 0 ? parts : [{ start: 0, name: undefined }, ...parts];
  return starts
    .map(({ start, name }, index) => ({ name, start, end: starts[index + 1]?.start ?? window.end }))
    .filter(({ start, end }) => start < window.end && end > window.start)
    .map(({ name, start, end }) => ({
      name,
      start: Math.max(start, window.start),
      end: Math.min(end, window.end),
    }));
}

/** Characters of a document that are shown at once, so that a book opens as fast as a page. */
export const WINDOW_CHARS = 60_000;

/** The part of a text around `target` that is shown first, from the start of a paragraph to the end of one. */
export function windowAround(text: string, target: Range | undefined, chars = WINDOW_CHARS): Range {
  if (text.length <= chars) return { start: 0, end: text.length };
  const from = Math.max(0, (target?.start ?? 0) - chars / 4);
  const start = from === 0 ? 0 : paragraphAfter(text, from, target?.start ?? text.length);
  const to = Math.max(start + chars, target?.end ?? 0);
  return { start, end: paragraphAfter(text, Math.min(to, text.length), text.length) };
}

/** A window that begins earlier or ends later. */
export function widen(
  text: string,
  { start, end }: Range,
  side: 'start' | 'end',
  chars = WINDOW_CHARS,
): Range {
  if (side === 'end')
    return { start, end: paragraphAfter(text, Math.min(end + chars, text.length), text.length) };
  const from = Math.max(0, start - chars);
  return { start: from === 0 ? 0 : paragraphAfter(text, from, start), end };
}

/** The start of the next paragraph or line after `from`; `limit` if there is none before it. */
function paragraphAfter(text: string, from: number, limit: number): number {
  for (const border of ['\n\n', '\n']) {
    const at = text.indexOf(border, from);
    if (at >= 0 && at + border.length <= limit) return at + border.length;
  }
  return limit;
}

/** A cell of a row, where its value stands. */
export interface RowCell extends Range {
  value: string;
}

/** Rows under the same columns. */
export interface Rows {
  columns: string[];
  rows: (Range & { cells: Map<string, RowCell> })[];
}

/**
 * The table in a text of lines such as `name: Ada | born: 1815`, as readers write the rows of tables; `undefined` if most lines
 * are none. A line `Columns: name | born` gives the columns, otherwise the rows do.
 */
export function rowsOf(text: string): Rows | undefined {
  const columns: string[] = [];
  const rows: Rows['rows'] = [];
  let [start, others] = [0, 0];
  for (const line of text.split('\n')) {
    const end = start + line.length;
    if (line.startsWith('Columns: ') && columns.length === 0)
      columns.push(...line.slice('Columns: '.length).split(' | '));
    else if (line.trim() !== '') {
      const cells = cellsOf(line, start, columns);
      if (cells.size > 0) rows.push({ cells, start, end });
      else others += 1;
    }
    start = end + 1;
  }
  for (const { cells } of rows)
    for (const name of cells.keys()) if (!columns.includes(name)) columns.push(name);
  return rows.length > others ? { columns, rows } : undefined;
}

/** The cells of a line. A piece that names no column belongs to the value before it. */
function cellsOf(line: string, start: number, columns: string[]): Map<string, RowCell> {
  const cells = new Map<string, RowCell>();
  let last: RowCell | undefined;
  let at = start;
  for (const piece of line.split(' | ')) {
    const name = /^([^:|]{1,80}): /.exec(piece)?.[1];
    if (
      name !== undefined &&
      !cells.has(name) &&
      (columns.length === 0 || columns.includes(name) || last === undefined)
    ) {
      const from = at + name.length + 2;
      last = { value: piece.slice(name.length + 2), start: from, end: at + piece.length };
      cells.set(name, last);
    } else if (last) {
      last.value += ` | ${piece}`;
      last.end = at + piece.length;
    }
    at += piece.length + 3;
  }
  return cells;
}
