import { Link } from 'wouter';
import type { Schemas } from '../../api/client';
import { Button } from '../../design/button';
import { CheckIcon, CloseIcon, RetryIcon, StopIcon } from '../../design/icons';
import { ProblemState, Skeleton, State } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import type { Stages } from '../documents/progress';
import styles from './activity.module.css';
import texts from './texts';
import { type Tab, useJobs } from './use-activity';

interface Props {
  tab: Tab;
  stages: Stages;
  canWrite: boolean;
  onRetry: (id: string) => void;
  onCancel: (id: string) => void;
}

/** The jobs of a part of the queue. */
export function JobTable({ tab, ...rest }: Props) {
  const t = useTexts(texts);
  const jobs = useJobs(tab);
  if (jobs.isError && !jobs.data) {
    return <ProblemState error={jobs.error} onRetry={() => void jobs.refetch()} />;
  }
  if (!jobs.data) return <Skeleton lines={5} />;
  // A job may have moved between two requests.
  const all = new Map(jobs.data.pages.flatMap(page => page.jobs).map(job => [job.id, job]));
  if (all.size === 0) {
    return (
      <State
        icon={tab === 'cancelled' ? <CloseIcon size={20} /> : <CheckIcon size={20} />}
        title={t(`${tab}None`)}
      >
        {t(`${tab}NoneBody`)}
      </State>
    );
  }
  return (
    <>
      <ul className={styles.jobs}>
        {[...all.values()].map(job => (
          <JobRow key={job.id} job={job} {...rest} />
        ))}
      </ul>
      {jobs.hasNextPage && (
        <Button look="quiet" disabled={jobs.isFetchingNextPage} onClick={() => void jobs.fetchNextPage()}>
          {t('more')}
        </Button>
      )}
    </>
  );
}

const STAGES = {
  contextualize: 'stageContext',
  chunk: 'stageChunk',
  extract: 'stageExtract',
  merge: 'stageMerge',
} as const;

function JobRow({
  job,
  stages,
  canWrite,
  onRetry,
  onCancel,
}: { job: Schemas['JobItem'] } & Omit<Props, 'tab'>) {
  const t = useTexts(texts);
  const language = useLanguage();
  const stage = job.status === 'indexing' ? stages.get(job.id) : undefined;
  const isOpen = job.status === 'waiting' || job.status === 'indexing';
  const progress = stage ?? { done: job.extracted ?? 0, total: job.chunks ?? 0 };
  const gaps = job.failed + job.damaged + job.without_context;
  const canRetry = job.status === 'failed' || job.status === 'incomplete' || job.status === 'cancelled';
  return (
    <li className={styles.job}>
      <span className={styles.dot} data-status={job.status} />
      <div className={styles.jobName}>
        <Link href={`~/documents/${encodeURIComponent(job.id)}`} className={styles.jobLink} dir="auto">
          {job.file_path}
        </Link>
        {job.reason != null && !isOpen && <p className={styles.reason}>{job.reason}</p>}
        {job.reason == null && gaps > 0 && <p className={styles.reason}>{t('gaps', { count: gaps })}</p>}
      </div>
      <div className={styles.jobState}>
        {job.status === 'indexing' && progress.total > 0 ? (
          <>
            <span className={styles.stage}>
              {stage ? t(STAGES[stage.stage]) : t('stageExtract')}
              <span className={styles.quiet}>
                {t('progress', { done: progress.done, total: progress.total })}
              </span>
            </span>
            <progress
              className={styles.progress}
              max={progress.total}
              value={progress.done}
              aria-label={job.file_path}
            />
          </>
        ) : (
          <span className={styles.quiet}>
            {job.status === 'ready' && job.chunks != null
              ? t('chunks', { count: job.chunks })
              : t(statusKey(job.status))}
          </span>
        )}
      </div>
      <time className={styles.jobTime} dateTime={job.created_at ?? undefined}>
        {job.created_at == null
          ? ''
          : new Date(job.created_at).toLocaleTimeString(language, { timeStyle: 'short' })}
      </time>
      <div className={styles.jobAction}>
        {canWrite && isOpen && (
          <Button look="quiet" label={t('cancel', { name: job.file_path })} onClick={() => onCancel(job.id)}>
            <StopIcon />
          </Button>
        )}
        {canWrite && canRetry && (
          <Button look="quiet" label={t('retry', { name: job.file_path })} onClick={() => onRetry(job.id)}>
            <RetryIcon />
          </Button>
        )}
      </div>
    </li>
  );
}

function statusKey(status: string) {
  switch (status) {
    case 'waiting':
      return 'statusWaiting';
    case 'indexing':
      return 'statusIndexing';
    case 'incomplete':
      return 'statusIncomplete';
    case 'failed':
      return 'statusFailed';
    case 'cancelled':
      return 'statusCancelled';
    default:
      return 'statusReady';
  }
}
