import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useRights } from '../../app/use-server';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { StopIcon, WarningIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import { type Counts, useChanges, useCounts } from '../documents/use-documents';
import documentTexts from '../documents/texts';
import styles from './activity.module.css';
import { EventLog } from './event-log';
import type { Feed } from './feed';
import { JobTable } from './job-table';
import { chunksPerMinute, durationOf, remainingChunks, secondsLeft } from './pace';
import texts from './texts';
import { type Tab, useActiveJobs, useCancelAll, useNow, useWaitedFor } from './use-activity';
import { useEarlier, useFeed } from './use-feed';

/** The queue, how fast it moves, what it waits for, and the log of its events. */
export function QueuePage() {
  const { feed, isLive } = useFeed();
  const earlier = useEarlier();
  const counts = useCounts();
  if (counts.isError && !counts.data) {
    return <ProblemState error={counts.error} onRetry={() => void counts.refetch()} />;
  }
  if (!counts.data) return <Skeleton lines={12} />;
  return (
    <div className={styles.columns}>
      <div className={styles.queue}>
        <Pauses feed={feed} counts={counts.data} />
        <Figures counts={counts.data} feed={feed} />
        <Queue counts={counts.data} feed={feed} />
      </div>
      <EventLog lines={[...earlier, ...feed.lines]} isLive={isLive} />
    </div>
  );
}

/** Why nothing moves although documents wait. */
function Pauses({ feed, counts }: { feed: Feed; counts: Counts }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const jobs = useActiveJobs();
  const now = useNow();
  const waitedFor = useWaitedFor(counts.open > 0);
  return (
    <>
      {waitedFor > feed.services.length && (
        <Note tone="warn" icon={<WarningIcon />}>
          <strong>{t('servicesDown', { count: waitedFor })}</strong>
          <p>{t('continues')}</p>
        </Note>
      )}
      {jobs.data?.paused && (
        <Note tone="warn" icon={<WarningIcon />}>
          <strong>{t('pausedTitle')}</strong>
          <p>{t('pausedBody')}</p>
        </Note>
      )}
      {feed.services.map(({ service, reason, until }) => (
        <Note key={service} tone="warn" icon={<WarningIcon />}>
          <strong>{t('serviceDown', { service })}</strong>
          <p>{reason}</p>
          <p>
            {until > now
              ? t('nextTry', { time: durationOf((until - now) / 1000, language) })
              : t('tryingNow')}
          </p>
        </Note>
      ))}
    </>
  );
}

function Figures({ counts, feed }: { counts: Counts; feed: Feed }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const jobs = useActiveJobs();
  const now = useNow();
  const number = (value: number) =>
    new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(value);
  const pace = counts.open > 0 ? chunksPerMinute(feed.samples, now) : undefined;
  const chunks = jobs.data && remainingChunks(jobs.data.jobs, counts.open);
  const seconds = secondsLeft(chunks, pace);
  const isStopped = jobs.data?.paused === true || feed.services.length > 0;
  const figures: [string, string][] = [
    [t('waiting'), number(counts.waiting)],
    [t('working'), number(counts.working)],
    [t('ready'), number(counts.ready)],
    [t('failed'), number(counts.failed)],
    [t('pace'), pace === undefined ? '–' : t('perMinute', { count: Math.round(pace * 10) / 10 })],
    [
      t('timeLeft'),
      isStopped || seconds === undefined ? '–' : t('about', { time: durationOf(seconds, language) }),
    ],
  ];
  return (
    <dl className={styles.figures}>
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const TABS: Tab[] = ['active', 'problems', 'cancelled', 'done'];

function Queue({ counts, feed }: { counts: Counts; feed: Feed }) {
  const t = useTexts(texts);
  const rights = useRights();
  const [search, setSearch] = useSearchParams();
  const tab = TABS.find(one => one === search.get('show')) ?? 'active';
  const [isAsking, setAsking] = useState(false);
  const changes = useChanges(useTexts(documentTexts));
  const cancelAll = useCancelAll(() => setAsking(false));
  const canWrite = rights?.canWrite === true;
  return (
    <section className={styles.card} aria-labelledby="queue-title">
      <div className={styles.cardHead}>
        <h2 id="queue-title" className="visually-hidden">
          {t('queue')}
        </h2>
        <div className={styles.pills}>
          {TABS.map(one => (
            <button
              key={one}
              type="button"
              className={styles.pill}
              aria-pressed={one === tab}
              onClick={() => setSearch(one === 'active' ? {} : { show: one }, { replace: true })}
            >
              {t(one)}
            </button>
          ))}
        </div>
        {canWrite && tab === 'active' && counts.open > 0 && (
          <Button look="quiet" onClick={() => setAsking(true)}>
            <StopIcon />
            {t('stopAll')}
          </Button>
        )}
        {canWrite && tab === 'problems' && (
          <Button
            look="quiet"
            disabled={changes.retryAll.isPending}
            onClick={() => changes.retryAll.mutate()}
          >
            {t('retryAll')}
          </Button>
        )}
      </div>
      {rights?.canWrite === false && <p className={styles.remark}>{t('readOnly')}</p>}
      <JobTable
        tab={tab}
        stages={feed.stages}
        canWrite={canWrite}
        onRetry={id => changes.retry.mutate([id])}
        onCancel={id => changes.cancel.mutate(id)}
      />
      {isAsking && (
        <Dialog
          title={t('stopAllTitle', { count: counts.open })}
          onClose={() => setAsking(false)}
          actions={
            <Button look="danger" disabled={cancelAll.isPending} onClick={() => cancelAll.mutate()}>
              {t('stopAll')}
            </Button>
          }
        >
          <p>{t('stopAllBody')}</p>
        </Dialog>
      )}
    </section>
  );
}
