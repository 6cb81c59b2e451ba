import { lexer, type Token, type Tokens } from 'marked';

/** A part of the source, in UTF-16 units. */
export interface Range {
  start: number;
  end: number;
}

/** Text inside a block. `text` is what is shown for the source in the range. */
export type Inline = Range &
  (
    | { kind: 'text'; text: string }
    | { kind: 'code'; text: string }
    | { kind: 'break' }
    | { kind: 'strong' | 'em' | 'del'; children: Inline[] }
    | { kind: 'link'; href: string; children: Inline[] }
  );

/** A cell of a table. */
export type Cell = Range & { children: Inline[] };

/** A block of a Markdown text. */
export type Block = Range &
  (
    | { kind: 'heading'; level: number; children: Inline[] }
    | { kind: 'paragraph'; children: Inline[] }
    | { kind: 'code'; text: string }
    | { kind: 'quote'; blocks: Block[] }
    | { kind: 'list'; first: number | undefined; items: (Range & { blocks: Block[] })[] }
    | { kind: 'table'; header: Cell[]; rows: Cell[][] }
    | { kind: 'rule' }
  );

/**
 * The blocks of a Markdown text, each with its place in the source, so that places of the source can be marked.
 *
 * HTML in it is text, images are their descriptions, and links lead only to web and mail addresses.
 */
export function parseMarkdown(source: string): Block[] {
  // Of the same length, since places count.
  const text = source.replace(/\r\n/g, ' \n').replace(/\r/g, '\n');
  return new Parser(text).blocks(lexer(text, { gfm: true }), { start: 0, end: text.length });
}

class Parser {
  constructor(private readonly text: string) {}

  blocks(tokens: Token[], within: Range): Block[] {
    let cursor = within.start;
    return tokens.flatMap(token => {
      if (token.type === 'space' || token.type === 'def') return [];
      const place = this.locate(token.raw, { start: cursor, end: within.end });
      cursor = place.end;
      const block = this.block(token, place);
      return block === undefined ? [] : [block];
    });
  }

  private block(token: Token, place: Range): Block | undefined {
    switch (token.type) {
      case 'heading': {
        const { depth, tokens } = token as Tokens.Heading;
        return { kind: 'heading', level: depth, children: this.inline(tokens, place), ...place };
      }
      case 'code':
        return { kind: 'code', text: (token as Tokens.Code).text, ...place };
      case 'blockquote':
        return { kind: 'quote', blocks: this.blocks((token as Tokens.Blockquote).tokens, place), ...place };
      case 'hr':
        return { kind: 'rule', ...place };
      case 'list':
        return this.list(token as Tokens.List, place);
      case 'table':
        return this.table(token as Tokens.Table, place);
      default: {
        const inner = 'tokens' in token ? token.tokens : undefined;
        const children = inner ? this.inline(inner, place) : this.lines(token.raw.trimEnd(), place);
        return children.length > 0 ? { kind: 'paragraph', children, ...place } : undefined;
      }
    }
  }

  private list(list: Tokens.List, place: Range): Block {
    let cursor = place.start;
    const items = list.items.map(item => {
      const at = this.locate(item.raw, { start: cursor, end: place.end });
      cursor = at.end;
      return { blocks: this.blocks(item.tokens, at), ...at };
    });
    return { kind: 'list', first: typeof list.start === 'number' ? list.start : undefined, items, ...place };
  }

  private table(table: Tokens.Table, place: Range): Block {
    let cursor = place.start;
    const cell = ({ text, tokens }: Tokens.TableCell): Cell => {
      const at = this.locate(text, { start: cursor, end: place.end });
      cursor = at.end;
      return { children: this.inline(tokens, at), ...at };
    };
    return {
      kind: 'table',
      header: table.header.map(cell),
      rows: table.rows.map(row => row.map(cell)),
      ...place,
    };
  }

  private inline(tokens: Token[], within: Range): Inline[] {
    let cursor = within.start;
    return tokens.flatMap(token => {
      const place = this.locate(token.raw, { start: cursor, end: within.end });
      cursor = place.end;
      return this.piece(token, place);
    });
  }

  private piece(token: Token, place: Range): Inline[] {
    switch (token.type) {
      case 'strong':
      case 'em':
      case 'del':
        return [
          { kind: token.type, children: this.inline((token as Tokens.Strong).tokens, place), ...place },
        ];
      case 'codespan':
        return [{ kind: 'code', text: (token as Tokens.Codespan).text, ...place }];
      case 'br':
        return [{ kind: 'break', ...place }];
      case 'link': {
        const { href, tokens } = token as Tokens.Link;
        const children = this.inline(tokens, place);
        return isSafe(href) ? [{ kind: 'link', href, children, ...place }] : children;
      }
      case 'image':
        return [{ kind: 'text', text: (token as Tokens.Image).text, ...place }];
      case 'escape':
        return [{ kind: 'text', text: (token as Tokens.Escape).text, ...place }];
      default: {
        const inner = 'tokens' in token ? token.tokens : undefined;
        return inner ? this.inline(inner, place) : this.lines(token.raw, place);
      }
    }
  }

  /** Text line by line, because lines inside lists and quotations are indented in the source. */
  private lines(raw: string, within: Range): Inline[] {
    let cursor = within.start;
    return raw.split('\n').flatMap((line, index) => {
      const place = this.locate(line, { start: cursor, end: within.end });
      const joint: Inline[] =
        index > 0 ? [{ kind: 'text', text: '\n', start: cursor, end: place.start }] : [];
      cursor = place.end;
      return line === '' ? joint : [...joint, { kind: 'text' as const, text: line, ...place }];
    });
  }

  /** Where `raw` stands in the source, apart from indentation. */
  private locate(raw: string, within: Range): Range {
    const exact = this.text.indexOf(raw, within.start);
    if (exact >= 0 && exact + raw.length <= within.end) return { start: exact, end: exact + raw.length };
    const lines = raw.split('\n').map(line => line.trim());
    const [first, last] = [lines.find(line => line !== ''), lines.findLast(line => line !== '')];
    if (first === undefined || last === undefined) return { start: within.start, end: within.start };
    const start = this.text.indexOf(first, within.start);
    if (start < 0 || start >= within.end) return { start: within.start, end: within.start };
    const ending = this.text.indexOf(last, first === last ? start : start + first.length);
    const end = ending < 0 ? start + first.length : ending + last.length;
    return { start, end: Math.min(end, within.end) };
  }
}

/** Whether a link leads to a web or mail address and to nothing that runs. */
function isSafe(href: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(href);
}

/** A text in pieces: those inside one of `ranges`, which are ordered and disjoint, name it. */
export function split<R extends Range>(
  text: string,
  start: number,
  ranges: R[],
): { text: string; at: number; range: R | undefined }[] {
  const pieces: { text: string; at: number; range: R | undefined }[] = [];
  const end = start + text.length;
  let cursor = start;
  for (const range of ranges) {
    if (range.end <= cursor || range.start >= end) continue;
    const [from, to] = [Math.max(range.start, cursor), Math.min(range.end, end)];
    if (from > cursor)
      pieces.push({ text: text.slice(cursor - start, from - start), at: cursor, range: undefined });
    pieces.push({ text: text.slice(from - start, to - start), at: from, range });
    cursor = to;
  }
  if (cursor < end) pieces.push({ text: text.slice(cursor - start), at: cursor, range: undefined });
  return pieces;
}
