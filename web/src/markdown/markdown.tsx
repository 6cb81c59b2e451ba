import { createElement, type ReactNode, memo, useMemo } from 'react';
import { Wide } from '../design/wide';
import styles from './markdown.module.css';
import { type Block, type Cell, type Inline, type Range, parseMarkdown, split } from './parse';

interface Props<R extends Range> {
  source: string;
  /** Whether the ends of lines count, as in answers; the lines of documents are filled. */
  hasLines?: boolean;
  /** Places of the source, ordered and disjoint, that are shown in another way. */
  ranges?: R[];
  /** How a piece of such a place is shown; a place over several pieces of text is shown piece by piece. */
  show?: (range: R, text: string, isFirst: boolean) => ReactNode;
}

/** A Markdown text as nodes; nothing in it is ever taken for HTML. */
export function Markdown<R extends Range>({ source, hasLines, ranges, show }: Props<R>) {
  const blocks = useMemo(() => parseMarkdown(source), [source]);
  const context: Context = {
    ranges: ranges ?? [],
    show: (range, text, isFirst) => (show ? show(range as R, text, isFirst) : text),
  };
  return (
    <div className={styles.markdown} data-lines={hasLines} dir="auto">
      {blocks.map(block => blockNode(block, context))}
    </div>
  );
}

interface Context {
  ranges: Range[];
  show: (range: Range, text: string, isFirst: boolean) => ReactNode;
}

function blockNode(block: Block, context: Context): ReactNode {
  const key = block.start;
  switch (block.kind) {
    case 'heading':
      // The page has headings above these.
      return createElement(
        `h${Math.min(block.level + 2, 6)}`,
        { key, 'data-level': block.level },
        inlineNodes(block.children, context),
      );
    case 'paragraph':
      return <p key={key}>{inlineNodes(block.children, context)}</p>;
    case 'code':
      return (
        <Wide key={key} kind="code" className={styles.scroll}>
          <pre>
            <code>{atomNode(block, block.text, context)}</code>
          </pre>
        </Wide>
      );
    case 'quote':
      return <blockquote key={key}>{block.blocks.map(inner => blockNode(inner, context))}</blockquote>;
    case 'rule':
      return <hr key={key} />;
    case 'list': {
      const items = block.items.map(item => (
        <li key={item.start}>
          {item.blocks.map(inner =>
            inner.kind === 'paragraph' ? (
              <span key={inner.start}>{inlineNodes(inner.children, context)}</span>
            ) : (
              blockNode(inner, context)
            ),
          )}
        </li>
      ));
      return block.first === undefined ? (
        <ul key={key}>{items}</ul>
      ) : (
        <ol key={key} start={block.first}>
          {items}
        </ol>
      );
    }
    case 'table':
      return (
        <Wide key={key} kind="table" className={styles.scroll}>
          <table>
            <thead>
              <tr>{block.header.map((cell, column) => cellNode('th', cell, column, context))}</tr>
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                <tr key={index}>{row.map((cell, column) => cellNode('td', cell, column, context))}</tr>
              ))}
            </tbody>
          </table>
        </Wide>
      );
  }
}

function cellNode(tag: 'th' | 'td', cell: Cell, column: number, context: Context): ReactNode {
  return createElement(tag, { key: column }, inlineNodes(cell.children, context));
}

function inlineNodes(pieces: Inline[], context: Context): ReactNode[] {
  return pieces.map((piece, index) => {
    switch (piece.kind) {
      case 'text':
        return piece.text.length === piece.end - piece.start ? (
          <TextNode key={index} text={piece.text} start={piece.start} context={context} />
        ) : (
          atomNode(piece, piece.text, context, index)
        );
      case 'code':
        return <code key={index}>{atomNode(piece, piece.text, context)}</code>;
      case 'break':
        return <br key={index} />;
      case 'link':
        return (
          <a key={index} href={piece.href} target="_blank" rel="noopener noreferrer">
            {inlineNodes(piece.children, context)}
          </a>
        );
      case 'strong':
      case 'em':
      case 'del':
        return createElement(piece.kind, { key: index }, inlineNodes(piece.children, context));
    }
  });
}

/** Text whose places are those of its source, cut where a range begins or ends. */
function TextNode({ text, start, context }: { text: string; start: number; context: Context }) {
  return split(text, start, context.ranges).map(piece => (
    <Piece key={piece.at}>
      {piece.range
        ? context.show(piece.range, decoded(piece.text), piece.at === piece.range.start)
        : decoded(piece.text)}
    </Piece>
  ));
}

const Piece = memo(({ children }: { children: ReactNode }) => children);
Piece.displayName = 'Piece';

/** Text that is shown in one piece: marked if a range touches it. */
function atomNode(place: Range, text: string, { ranges, show }: Context, key?: number): ReactNode {
  const range = ranges.find(({ start, end }) => start < place.end && end > place.start);
  return <Piece key={key}>{range ? show(range, text, place.start <= range.start) : text}</Piece>;
}

const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: '\u00a0',
};

function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name] ?? '');
}
