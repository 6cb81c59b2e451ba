import type { Schemas } from '../../api/client';
import { useRights } from '../../app/use-server';
import { Button } from '../../design/button';
import { RetryIcon } from '../../design/icons';
import { State } from '../../design/state';
import { tellProblem } from '../../design/toast';
import { useLanguage, useTexts } from '../../i18n/text';
import { wordsOf } from './decisions';
import { Pane } from './pane';
import styles from './pane.module.css';
import texts from './texts';
import { type Editing, useEdits } from './use-graph';

/** All edits of the graph, latest first; each can be undone. */
export function EditsPane({ editing, onClose }: { editing: Editing; onClose: () => void }) {
  const t = useTexts(texts);
  const edits = useEdits();
  return (
    <Pane title={t('editsTitle')} reading={edits} onClose={onClose}>
      {({ decisions }) =>
        decisions.length === 0 ? (
          <State icon={<RetryIcon size={20} />} title={t('noEditsTitle')}>
            {t('noEditsBody')}
          </State>
        ) : (
          <EditList edits={decisions} all={decisions} editing={editing} />
        )
      }
    </Pane>
  );
}

interface ListProps {
  edits: Schemas['DecisionItem'][];
  /** Also those that an undo in `edits` is about. */
  all: Schemas['DecisionItem'][];
  editing: Editing;
}

export function EditList({ edits, all, editing }: ListProps) {
  const t = useTexts(texts);
  const language = useLanguage();
  const canWrite = useRights()?.canWrite !== false;
  return (
    <ol className={styles.edits}>
      {edits.map(edit => {
        const { key, values } = wordsOf(edit, all);
        const isUndone = edit.undone_by != null;
        return (
          <li key={edit.id} className={styles.edit} data-undone={isUndone || undefined}>
            <div className={styles.grow}>
              <div dir="auto">{t(key, values)}</div>
              <div className={styles.quiet}>
                {new Date(edit.made_at).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' })}
                {isUndone && ` · ${t('isUndone')}`}
              </div>
            </div>
            {canWrite && !isUndone && (
              <Button
                look="quiet"
                disabled={editing.undo.isPending}
                onClick={() =>
                  editing.undo.mutate(
                    { decisions: [edit.id], name: values.name ?? '' },
                    { onError: tellProblem },
                  )
                }
              >
                {t(edit.action === 'undo' ? 'redo' : 'undo')}
              </Button>
            )}
          </li>
        );
      })}
    </ol>
  );
}
