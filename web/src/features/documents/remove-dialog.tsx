import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { ProblemState } from '../../design/state';
import { useTexts } from '../../i18n/text';
import styles from './documents.module.css';
import texts from './texts';
import { useRemovalPreview } from './use-documents';

interface Props {
  ids: string[];
  onRemove: () => void;
  onClose: () => void;
}

/** Asks before documents are deleted, and says what would change. */
export function RemoveDialog({ ids, onRemove, onClose }: Props) {
  const t = useTexts(texts);
  const preview = useRemovalPreview(ids);
  const { chunks, graph, answers } = preview.data ?? {};
  const lines: string[] = preview.data
    ? [
        t('removesChunks', { count: chunks ?? 0 }),
        ...(graph
          ? [
              t('removesEntities', { count: graph.entities }),
              t('removesRelations', { count: graph.relations }),
              t('removesChanges', { count: graph.changed }),
            ]
          : [t('removesUnknown')]),
        ...(answers !== undefined && answers > 0 ? [t('removesAnswers', { count: answers })] : []),
      ]
    : [];
  return (
    <Dialog
      title={t('deleteTitle', { count: ids.length })}
      onClose={onClose}
      actions={
        <Button look="danger" onClick={onRemove}>
          {t('delete')}
        </Button>
      }
    >
      <p>{t('deleteBody')}</p>
      <div className={styles.preview} role="status" aria-busy={preview.isPending}>
        {preview.isError ? (
          <ProblemState error={preview.error} onRetry={() => void preview.refetch()} />
        ) : preview.isPending ? (
          <p className={styles.quiet}>{t('previewing')}</p>
        ) : (
          <ul>
            {lines.map(line => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  );
}
