import { useTexts } from '../../i18n/text';
import styles from './adding.module.css';
import texts from './texts';
import { useCounts } from './use-documents';

/** How much of the workspace is indexed, while something is not. */
export function IndexingNote() {
  const t = useTexts(texts);
  const { data } = useCounts();
  if (!data || data.open === 0) return null;
  const text = t('indexing', { done: data.all - data.open, total: data.all });
  return (
    <div className={styles.indexing} role="status">
      <progress className={styles.bar} max={data.all} value={data.all - data.open} aria-label={text} />
      {text}
    </div>
  );
}
