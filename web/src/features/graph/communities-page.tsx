import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { CommunitiesIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton, State } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { type Passage, SourcePane } from '../source/source-pane';
import styles from './communities.module.css';
import { DeriveAction } from './derive-action';
import { ReportPane } from './report-pane';
import texts from './texts';
import { type Community, useCommunities } from './use-communities';

/** The communities of the graph, level by level, each with its report. */
export function CommunitiesPage({ id }: { id: string | undefined }) {
  const t = useTexts(texts);
  const [query] = useSearchParams();
  const level = Math.max(0, Math.trunc(Number(query.get('level'))) || 0);
  const [source, setSource] = useState<Passage>();
  const list = useCommunities(level);
  if (list.isError && !list.data)
    return <ProblemState error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <Skeleton lines={12} />;
  const { communities, current, levels } = list.data;
  if (levels.length === 0) {
    return (
      <State
        icon={<CommunitiesIcon size={20} />}
        title={t('noCommunitiesTitle')}
        actions={<DeriveAction layer="communities" />}
      >
        {t('noCommunitiesBody')}
        <code className={styles.command}>graphloom derive communities</code>
      </State>
    );
  }
  return (
    <div className={styles.layout} data-pane={id !== undefined || undefined}>
      <div className={styles.list}>
        <header className={styles.head}>
          <Link href="/" className={styles.up}>
            {t('title')}
          </Link>
          <h1 className={styles.display}>{t('communities')}</h1>
          <p className={styles.lead}>{t('communitiesLead')}</p>
        </header>
        {!current && (
          <Note tone="warn">
            {t('communitiesOld')} <DeriveAction layer="communities" />
          </Note>
        )}
        <Levels levels={levels} level={level} id={id} />
        <ul className={styles.rows} aria-busy={list.isPlaceholderData}>
          {communities.map(community => (
            <li key={community.id}>
              <Row community={community} level={level} isOpen={community.id === id} />
            </li>
          ))}
        </ul>
        {communities.length === 0 && <p className={styles.quiet}>{t('noReports')}</p>}
      </div>
      {id !== undefined && (
        <aside className={styles.pane}>
          {source ? (
            <SourcePane
              passage={source}
              onBack={() => setSource(undefined)}
              onClose={() => setSource(undefined)}
            />
          ) : (
            <ReportPane key={id} id={id} onSource={setSource} />
          )}
        </aside>
      )}
    </div>
  );
}

/** The address of a community, or of a level, relative to the page of the graph. */
export function communityHref(level: number, id?: string): string {
  return `/communities${id === undefined ? '' : `/${id}`}?level=${level}`;
}

function Levels({ levels, level, id }: { levels: number[]; level: number; id: string | undefined }) {
  const t = useTexts(texts);
  return (
    <nav aria-label={t('levels')} className={styles.levels}>
      {levels.map((count, at) => (
        <Link
          key={at}
          href={communityHref(at, id)}
          className={styles.level}
          aria-current={at === level ? 'true' : undefined}
        >
          {t(at === 0 ? 'levelCoarsest' : 'level', { level: at })}
          <span className={styles.count}>{count}</span>
        </Link>
      ))}
    </nav>
  );
}

function Row({ community, level, isOpen }: { community: Community; level: number; isOpen: boolean }) {
  const t = useTexts(texts);
  return (
    <Link
      href={communityHref(level, community.id)}
      className={styles.row}
      aria-current={isOpen ? 'true' : undefined}
    >
      <span className={styles.rowTitle} dir="auto">
        {community.title}
      </span>
      <span className={styles.rowText} dir="auto">
        {community.summary}
      </span>
      <span className={styles.quiet}>
        {t('communitySize', { count: community.entities, relations: community.relations })}
        {' · '}
        {t('rating', { rating: Math.round(community.rating * 10) / 10 })}
      </span>
    </Link>
  );
}
