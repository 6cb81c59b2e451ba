import type { ReactNode } from 'react';
import { problemOf } from '../api/problem';
import { useTexts } from '../i18n/text';
import { Button } from './button';
import { LockIcon, OfflineIcon, QuestionIcon, WarningIcon } from './icons';
import styles from './state.module.css';
import texts from './texts';

interface StateProps {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}

/** What a screen shows in place of content: that there is none, or why. */
export function State({ icon, title, children, actions }: StateProps) {
  return (
    <div className={styles.state}>
      {icon !== undefined && <div className={styles.icon}>{icon}</div>}
      <h2 className={styles.title}>{title}</h2>
      {children !== undefined && <div className={styles.body}>{children}</div>}
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </div>
  );
}

/** Why a screen has no content, as the server tells it, and what to do about it. */
export function ProblemState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useTexts(texts);
  const problem = problemOf(error);
  const retry = onRetry && <Button onClick={onRetry}>{t('retry')}</Button>;
  if (problem.isOffline) {
    return (
      <State icon={<OfflineIcon size={20} />} title={t('offlineTitle')} actions={retry}>
        {t('offlineBody')}
      </State>
    );
  }
  const remedy = problem.remedy === undefined ? '' : `\n${problem.remedy}`;
  const [icon, title] = problem.isForbidden
    ? [<LockIcon key="lock" size={20} />, t('forbiddenTitle')]
    : problem.status === 404
      ? [<QuestionIcon key="question" size={20} />, t('missingTitle')]
      : [<WarningIcon key="warning" size={20} />, t('problemTitle')];
  return (
    <State
      icon={icon}
      title={title}
      actions={problem.isForbidden || problem.status === 404 ? undefined : retry}
    >
      {problem.message + remedy}
    </State>
  );
}

/** A remark beside content. */
export function Note({
  tone,
  icon,
  children,
}: {
  tone?: 'bad' | 'warn';
  icon?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={styles.note} data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      {icon}
      <div className={styles.noteBody}>{children}</div>
    </div>
  );
}

/** Lines in place of text that is being loaded. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  const t = useTexts(texts);
  return (
    <div className={styles.skeleton} role="status" aria-label={t('loading')}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}
