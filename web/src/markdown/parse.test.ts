import { expect, test } from 'vitest';
import { type Block, type Inline, parseMarkdown, split } from './parse';

/** Every piece of text of a block with what stands at its place in the source. */
function texts(source: string): [string, string][] {
  const found: [string, string][] = [];
  const inline = (piece: Inline): void => {
    if ('children' in piece) piece.children.forEach(inline);
    else if ('text' in piece && piece.text.trim() !== '')
      found.push([piece.text, source.slice(piece.start, piece.end)]);
  };
  const block = (one: Block): void => {
    if ('children' in one) one.children.forEach(inline);
    if ('blocks' in one) one.blocks.forEach(block);
    if (one.kind === 'list') one.items.forEach(item => item.blocks.forEach(block));
    if (one.kind === 'table') [one.header, ...one.rows].flat().forEach(cell => cell.children.forEach(inline));
  };
  parseMarkdown(source).forEach(block);
  return found;
}

test('every text knows its place in the source', () => {
  const source = [
    '# A *title*',
    '',
    'Two lines of',
    'one paragraph, **bold** and `code`.',
    '',
    '- an item',
    '  that goes on',
    '  - and a smaller one',
    '- an item',
    '',
    '> A quotation',
    '> in two lines',
    '',
    '| a | b |',
    '|---|---|',
    '| 1 | 1 |',
  ].join('\n');
  const found = texts(source);
  for (const [text, at] of found) expect(at.replaceAll('`', '')).toBe(text);
  expect(found.map(([text]) => text)).toEqual([
    'A ',
    'title',
    'Two lines of',
    'one paragraph, ',
    'bold',
    ' and ',
    'code',
    '.',
    'an item',
    'that goes on',
    'and a smaller one',
    'an item',
    'A quotation',
    'in two lines',
    'a',
    'b',
    '1',
    '1',
  ]);
});

test('the same text twice has two places', () => {
  const [first, second] = parseMarkdown('Same.\n\nSame.');
  expect([first?.start, second?.start]).toEqual([0, 7]);
});

test('line ends of Windows keep all places', () => {
  const source = '# One\r\n\r\ntwo\r\nthree\r\n';
  expect(texts(source).map(([, at]) => at.trim())).toEqual(['One', 'two', 'three']);
});

test('HTML is text, images are words, and links run nothing', () => {
  expect(
    texts('<script>alert(1)</script>\n\n![a bird](https://x.example/t.png) [x](javascript:alert(1))').map(
      ([text]) => text,
    ),
  ).toEqual(['<script>alert(1)</script>', 'a bird', 'x']);
  const [paragraph] = parseMarkdown('[site](https://example.org)');
  expect(paragraph).toMatchObject({ children: [{ kind: 'link', href: 'https://example.org' }] });
});

test('no text makes the parser fail', () => {
  for (const source of [
    '',
    '\n\n',
    '- ',
    '|',
    '```',
    '[',
    '**',
    '> > -\n1.',
    '\u0000',
    '🎉 [1]',
    '[^1]: x',
  ]) {
    expect(() => parseMarkdown(source), source).not.toThrow();
  }
});

test('a text is cut at the borders of ranges', () => {
  const pieces = (ranges: { start: number; end: number }[]) =>
    split('abcdef', 10, ranges).map(({ text, at, range }) => `${text}@${at}${range ? '!' : ''}`);
  expect(pieces([])).toEqual(['abcdef@10']);
  expect(
    pieces([
      { start: 0, end: 12 },
      { start: 14, end: 99 },
    ]),
  ).toEqual(['ab@10!', 'cd@12', 'ef@14!']);
  expect(
    pieces([
      { start: 0, end: 10 },
      { start: 16, end: 17 },
    ]),
  ).toEqual(['abcdef@10']);
});
