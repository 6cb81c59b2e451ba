import { Button } from '../../design/button';
import { CloseIcon } from '../../design/icons';
import { useTexts } from '../../i18n/text';
import { type Adding, dismiss, sendAgain, useAdding } from './adding';
import styles from './adding.module.css';
import texts from './texts';

/** What is being added, on every page: how much is sent, and what failed and why. */
export function AddingTray() {
  const t = useTexts(texts);
  const all = useAdding();
  if (all.length === 0) return null;
  const failed = all.filter(({ state }) => state === 'failed');
  const added = all.filter(({ state }) => state === 'added').length;
  const isOver = added + failed.length === all.length;
  const title = !isOver
    ? t('adding', { count: all.length })
    : added > 0
      ? t('added', { count: added })
      : t('notAdded', { count: failed.length });
  return (
    <section className={styles.tray} aria-live="polite">
      <div className={styles.trayHead}>
        <h2>{title}</h2>
        {isOver && (
          <Button look="quiet" label={t('dismiss')} onClick={dismiss}>
            <CloseIcon />
          </Button>
        )}
      </div>
      {!isOver && (
        <progress className={styles.bar} max={all.length} value={added + failed.length} aria-label={title} />
      )}
      {failed.length > 0 && (
        <>
          {added > 0 && isOver && <p>{t('notAdded', { count: failed.length })}</p>}
          <ul className={styles.failures}>
            {failed.map(one => (
              <Failure key={one.id} adding={one} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Failure({ adding: { id, name, problem } }: { adding: Adding }) {
  const t = useTexts(texts);
  const exists = problem?.status === 409;
  return (
    <li className={styles.failure}>
      <div className={styles.failureName}>{name}</div>
      <div className={styles.failureReason}>{problem?.message}</div>
      {problem?.remedy !== undefined && <div>{problem.remedy}</div>}
      <Button look="quiet" onClick={() => sendAgain(id, exists)}>
        {t(exists ? 'replace' : 'retry')}
      </Button>
    </li>
  );
}
