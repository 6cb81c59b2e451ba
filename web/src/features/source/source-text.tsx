import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { Schemas } from '../../api/client';
import { Button } from '../../design/button';
import { Wide } from '../../design/wide';
import { useTexts } from '../../i18n/text';
import { Markdown } from '../../markdown/markdown';
import { type Range, split } from '../../markdown/parse';
import { decode, rangeOf, rowsOf, sectionsOf, viewOf, widen, windowAround } from './reading';
import styles from './source.module.css';
import texts from './texts';

/** Values up to this length, such as dates and numbers, stay on one line. */
const SHORT_CHARS = 12;

interface Props {
  document: Schemas['DocumentDetail'];
  bytes: Uint8Array;
  /** The span to mark and to show first. */
  span?: [number, number] | undefined;
}

/** The text of a document as its format suggests, with one span marked and scrolled to. */
export function SourceText({ document, bytes, span }: Props) {
  const t = useTexts(texts);
  const text = useMemo(() => decode(bytes), [bytes]);
  const [from, to] = span ?? [];
  const target = useMemo(
    () => (from === undefined || to === undefined ? undefined : rangeOf(bytes, [from, to])),
    [bytes, from, to],
  );
  const [widened, setWidened] = useState<{ target: Range | undefined; window: Range }>();
  const shown = widened && widened.target === target ? widened.window : windowAround(text, target);
  const parts = useMemo(
    () => document.parts.map(({ offset, name }) => ({ start: rangeOf(bytes, [0, offset]).end, name })),
    [bytes, document.parts],
  );
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector('mark')?.scrollIntoView({ block: 'center' });
  }, [target]);
  const wider = (side: 'start' | 'end') => setWidened({ target, window: widen(text, shown, side) });
  return (
    <div ref={box} className={styles.text}>
      {shown.start > 0 && (
        <Button className={styles.more} onClick={() => wider('start')}>
          {t('earlier')}
        </Button>
      )}
      {sectionsOf(parts, shown).map(({ name, start, end }) => (
        <section key={start} className={styles.section} aria-label={name}>
          {name !== undefined && <div className={styles.sectionName}>{name}</div>}
          <SectionText
            format={document.format}
            text={text.slice(start, end)}
            mark={target && { start: target.start - start, end: target.end - start }}
          />
        </section>
      ))}
      {shown.end < text.length && (
        <Button className={styles.more} onClick={() => wider('end')}>
          {t('later')}
        </Button>
      )}
    </div>
  );
}

function SectionText({ format, text, mark }: { format: string; text: string; mark: Range | undefined }) {
  const view = viewOf(format);
  const ranges = mark ? [mark] : [];
  const rows = useMemo(() => (view === 'rows' ? rowsOf(text) : undefined), [view, text]);
  if (view === 'markdown')
    return <Markdown source={text} ranges={ranges} show={(_, piece) => <Marked>{piece}</Marked>} />;
  if (rows) {
    return (
      <Wide kind="table" className={styles.scroll}>
        <table className={styles.table}>
          <thead>
            <tr>
              {rows.columns.map(column => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.rows.map(row => (
              <tr
                key={row.start}
                data-marked={
                  ranges.some(range => range.start < row.end && range.end > row.start) || undefined
                }
              >
                {rows.columns.map(column => {
                  const cell = row.cells.get(column);
                  return (
                    <td key={column} data-short={cell && cell.value.length <= SHORT_CHARS ? true : undefined}>
                      {cell && markedText(cell.value, cell.start, ranges)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    );
  }
  if (view === 'code') {
    return (
      <Wide kind="code" className={styles.code}>
        {markedText(text, 0, ranges)}
      </Wide>
    );
  }
  return (
    <div className={styles.plain} dir="auto">
      {markedText(text, 0, ranges)}
    </div>
  );
}

function markedText(text: string, start: number, ranges: Range[]): ReactNode[] {
  return split(text, start, ranges).map(piece =>
    piece.range ? <Marked key={piece.at}>{piece.text}</Marked> : <span key={piece.at}>{piece.text}</span>,
  );
}

function Marked({ children }: { children: ReactNode }) {
  return <mark className={styles.mark}>{children}</mark>;
}
