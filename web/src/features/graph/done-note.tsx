import { Button } from '../../design/button';
import { CheckIcon, CloseIcon } from '../../design/icons';
import { Note } from '../../design/state';
import { tellProblem } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import styles from './graph.module.css';
import texts from './texts';
import type { Editing } from './use-graph';

/** Says what was edited last, with a way to undo it. */
export function DoneNote({ editing }: { editing: Editing }) {
  const t = useTexts(texts);
  const { done, undo, dismiss } = editing;
  if (!done) return null;
  return (
    <div className={styles.done} role="status">
      <Note icon={<CheckIcon />}>
        <div className={styles.doneLine}>
          <span className={styles.grow}>{t(done.what, { name: done.name })}</span>
          <Button disabled={undo.isPending} onClick={() => undo.mutate(done, { onError: tellProblem })}>
            {t(done.what === 'undone' ? 'redo' : 'undo')}
          </Button>
          <Button look="quiet" label={t('close')} onClick={dismiss}>
            <CloseIcon />
          </Button>
        </div>
      </Note>
    </div>
  );
}
