import { problemOf } from '../../api/problem';
import { Note } from '../../design/state';
import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import { type Evidence, evidenceIn, inOrder } from './evidence';
import styles from './pane.module.css';
import texts from './texts';
import { useChunks } from './use-graph';

interface Props {
  chunks: string[];
  /** The entity, or both entities of a relation. */
  names: string[];
  /** Said if there is no evidence. */
  none: string;
  onSource?: (passage: Passage) => void;
}

/** The sentences that are evidence for an entity or a relation; each opens in its document. */
export function EvidenceList({ chunks, names, none, onSource }: Props) {
  const t = useTexts(texts);
  const read = useChunks(chunks);
  if (chunks.length === 0) return <p className={styles.quiet}>{none}</p>;
  // Their order is that of the documents, so it is known when all are there.
  if (read.some(({ isPending }) => isPending)) return <div className={styles.blank} />;
  const evidence = inOrder(read.flatMap(({ data }) => (data ? [evidenceIn(data, names)] : [])));
  const failed = read.find(({ error }) => error !== null && problemOf(error).status !== 404)?.error;
  return (
    <>
      <ul className={styles.evidence}>
        {evidence.map(one => (
          <li key={`${one.passage.document} ${one.passage.span[0]}`}>
            <Quote evidence={one} onSource={onSource} />
          </li>
        ))}
      </ul>
      {failed && <Note tone="bad">{failed.message}</Note>}
      {evidence.length === 0 && !failed && <p className={styles.quiet}>{t('evidenceGone')}</p>}
    </>
  );
}

function Quote({
  evidence: { passage, marks },
  onSource,
}: {
  evidence: Evidence;
  onSource: Props['onSource'];
}) {
  const t = useTexts(texts);
  const place =
    passage.place ??
    (passage.lines_match_source === true && passage.lines ? t('line', { line: passage.lines[0] }) : '');
  const content = (
    <>
      <span className={styles.quoteText} dir="auto">
        {marked(passage.quote, marks).map(({ text, isName, at }) =>
          isName ? <b key={at}>{text}</b> : <span key={at}>{text}</span>,
        )}
      </span>
      <span className={styles.quoteSource}>
        {passage.file_path}
        {place !== '' && ` · ${place}`}
      </span>
    </>
  );
  if (!onSource) return <div className={styles.quote}>{content}</div>;
  return (
    <button type="button" className={styles.quote} onClick={() => onSource(passage)}>
      {content}
    </button>
  );
}

/** A quote in pieces: names, and what is between them. */
function marked(quote: string, marks: [number, number][]): { text: string; isName: boolean; at: number }[] {
  const pieces: { text: string; isName: boolean; at: number }[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    pieces.push({ text: quote.slice(at, start), isName: false, at });
    pieces.push({ text: quote.slice(start, end), isName: true, at: start });
    at = end;
  }
  pieces.push({ text: quote.slice(at), isName: false, at });
  return pieces.filter(({ text }) => text !== '');
}
