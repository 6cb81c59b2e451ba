import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import styles from './pane.module.css';
import texts from './texts';

interface Quote {
  document: string;
  source: string;
  start: number;
  end: number;
  lines: number[];
  quote: string;
}

/** Words of documents with their places; each opens its document there. */
export function Quotes({ quotes, onSource }: { quotes: Quote[]; onSource: (passage: Passage) => void }) {
  const t = useTexts(texts);
  return (
    <ul className={styles.evidence}>
      {quotes.map(({ document, source, start, end, lines, quote }) => (
        <li key={`${document} ${start}`}>
          <button
            type="button"
            className={styles.quote}
            onClick={() => onSource({ document, file_path: source, span: [start, end], quote })}
          >
            <span className={styles.quoteText} dir="auto">
              {quote}
            </span>
            <span className={styles.quoteSource}>
              {source} · {t('line', { line: lines[0] ?? 1 })}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
