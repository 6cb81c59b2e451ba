import { useSearchParams } from 'wouter';
import { TreeIcon } from '../../design/icons';
import { ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { treeHref } from './address';
import { LayerPage, NoLayer } from './layer-page';
import { NodePane } from './node-pane';
import texts from './texts';
import { useTree, useTreeLevels } from './use-tree';

/** The tree of summaries, level by level from the top to the one above the passages. */
export default function TreePage({ id }: { id: string | undefined }) {
  const t = useTexts(texts);
  const [query] = useSearchParams();
  const levels = useTreeLevels();
  const top = (levels.data?.length ?? 0) - 1;
  const wanted = Math.trunc(Number(query.get('level'))) || top;
  const level = Math.min(Math.max(1, wanted), Math.max(1, top));
  const list = useTree(level, levels.data !== undefined);
  const failed = [levels, list].find(({ isError, data }) => isError && !data);
  if (failed) return <ProblemState error={failed.error} onRetry={() => void failed.refetch()} />;
  if (!levels.data || !list.data) return <Skeleton lines={12} />;
  if (levels.data.length === 0) {
    return (
      <NoLayer layer="tree" icon={<TreeIcon size={20} />} title={t('noTreeTitle')}>
        {t('noTreeBody')}
      </NoLayer>
    );
  }
  return (
    <LayerPage
      layer="tree"
      title={t('tree')}
      lead={t('treeLead')}
      old={t('treeOld')}
      none={t('noSummaries')}
      isCurrent={list.data.current}
      levels={levels.data
        .map((count, at) => ({
          level: at,
          label: t(at === top ? 'levelTop' : 'level', { level: at }),
          count,
        }))
        .slice(1)
        .reverse()}
      level={level}
      rows={list.data.nodes.map(({ id, title, summary, passages }) => ({
        id,
        title,
        summary,
        details: t('passagesBelow', { count: passages }),
      }))}
      isReading={list.isPlaceholderData}
      id={id}
      hrefOf={treeHref}
      pane={(open, onSource) => <NodePane key={open} id={open} onSource={onSource} />}
    />
  );
}
