import { useSearchParams } from 'wouter';
import { CommunitiesIcon } from '../../design/icons';
import { ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { communityHref } from './address';
import { LayerPage, NoLayer } from './layer-page';
import { ReportPane } from './report-pane';
import texts from './texts';
import { useCommunities } from './use-communities';

/** The communities of the graph, level by level, each with its report. */
export default function CommunitiesPage({ id }: { id: string | undefined }) {
  const t = useTexts(texts);
  const [query] = useSearchParams();
  const level = Math.max(0, Math.trunc(Number(query.get('level'))) || 0);
  const list = useCommunities(level);
  if (list.isError && !list.data)
    return <ProblemState error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <Skeleton lines={12} />;
  const { communities, current, levels } = list.data;
  if (levels.length === 0) {
    return (
      <NoLayer layer="communities" icon={<CommunitiesIcon size={20} />} title={t('noCommunitiesTitle')}>
        {t('noCommunitiesBody')}
      </NoLayer>
    );
  }
  return (
    <LayerPage
      layer="communities"
      title={t('communities')}
      lead={t('communitiesLead')}
      old={t('communitiesOld')}
      none={t('noReports')}
      isCurrent={current}
      levels={levels.map((count, at) => ({
        level: at,
        label: t(at === 0 ? 'levelCoarsest' : 'level', { level: at }),
        count,
      }))}
      level={level}
      rows={communities.map(({ id, title, summary, entities, relations, rating }) => ({
        id,
        title,
        summary,
        details: `${t('communitySize', { count: entities, relations })} · ${t('rating', { rating: Math.round(rating * 10) / 10 })}`,
      }))}
      isReading={list.isPlaceholderData}
      id={id}
      hrefOf={communityHref}
      pane={(open, onSource) => <ReportPane key={open} id={open} onSource={onSource} />}
    />
  );
}
