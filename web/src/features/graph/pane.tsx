import type { ReactNode } from 'react';
import { Button } from '../../design/button';
import { CloseIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import styles from './pane.module.css';
import texts from './texts';

/** What a pane reads from the server. */
interface Reading<T> {
  data: T | undefined;
  isError: boolean;
  error: unknown;
  refetch: () => unknown;
}

interface Props<T> {
  title: string;
  /** A line below the title. */
  details?: ReactNode;
  /** What stands before the button that closes the pane. */
  actions?: ReactNode;
  /** The button that closes the pane is shown where the pane covers what is behind it. */
  closesWhenNarrow?: boolean;
  reading: Reading<T>;
  onClose: () => void;
  children: (data: T) => ReactNode;
}

/** A pane with a title, and below it what was read. */
export function Pane<T>(props: Props<T>) {
  const { title, details, actions, closesWhenNarrow, reading, onClose, children } = props;
  const t = useTexts(texts);
  return (
    <div className={styles.pane}>
      <div className={styles.head}>
        <div className={styles.grow}>
          <h2 className={styles.title} dir="auto">
            {title}
          </h2>
          {details !== undefined && <div className={styles.quiet}>{details}</div>}
        </div>
        {actions}
        <span className={closesWhenNarrow === true ? styles.closeNarrow : undefined}>
          <Button look="quiet" label={t('close')} onClick={onClose}>
            <CloseIcon />
          </Button>
        </span>
      </div>
      <Scroll className={styles.body} label={title}>
        {reading.isError ? (
          <ProblemState error={reading.error} onRetry={() => void reading.refetch()} />
        ) : reading.data === undefined ? (
          <Skeleton lines={10} />
        ) : (
          children(reading.data)
        )}
      </Scroll>
    </div>
  );
}

/** A part of a pane with a title. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles.section}>
      <h3 className={styles.sectionTitle}>{title}</h3>
      {children}
    </section>
  );
}
