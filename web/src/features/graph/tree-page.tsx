import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { TreeIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton, State } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { type Passage, SourcePane } from '../source/source-pane';
import styles from './communities.module.css';
import { DeriveAction } from './derive-action';
import { NodePane } from './node-pane';
import texts from './texts';
import { type TreeEntry, useTree, useTreeLevels } from './use-tree';

/** The tree of summaries, level by level from the top. */
export function TreePage({ id }: { id: string | undefined }) {
  const t = useTexts(texts);
  const [query] = useSearchParams();
  const [source, setSource] = useState<Passage>();
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
      <State icon={<TreeIcon size={20} />} title={t('noTreeTitle')} actions={<DeriveAction layer="tree" />}>
        {t('noTreeBody')}
        <code className={styles.command}>graphloom derive tree</code>
      </State>
    );
  }
  const { nodes, current } = list.data;
  return (
    <div className={styles.layout} data-pane={id !== undefined || undefined}>
      <div className={styles.list}>
        <header className={styles.head}>
          <Link href="/" className={styles.up}>
            {t('title')}
          </Link>
          <h1 className={styles.display}>{t('tree')}</h1>
          <p className={styles.lead}>{t('treeLead')}</p>
        </header>
        {!current && (
          <Note tone="warn">
            {t('treeOld')} <DeriveAction layer="tree" />
          </Note>
        )}
        <Levels levels={levels.data} level={level} id={id} />
        <ul className={styles.rows} aria-busy={list.isPlaceholderData}>
          {nodes.map(node => (
            <li key={node.id}>
              <Row node={node} isOpen={node.id === id} />
            </li>
          ))}
        </ul>
        {nodes.length === 0 && <p className={styles.quiet}>{t('noSummaries')}</p>}
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
            <NodePane key={id} id={id} onSource={setSource} />
          )}
        </aside>
      )}
    </div>
  );
}

/** The address of a node, or of a level, relative to the page of the graph. */
export function treeHref(level: number, id?: string): string {
  return `/tree${id === undefined ? '' : `/${id}`}?level=${level}`;
}

/** The levels from the top to the one above the passages. */
function Levels({ levels, level, id }: { levels: number[]; level: number; id: string | undefined }) {
  const t = useTexts(texts);
  const top = levels.length - 1;
  return (
    <nav aria-label={t('levels')} className={styles.levels}>
      {levels
        .map((count, at) => ({ count, at }))
        .slice(1)
        .reverse()
        .map(({ count, at }) => (
          <Link
            key={at}
            href={treeHref(at, id)}
            className={styles.level}
            aria-current={at === level ? 'true' : undefined}
          >
            {t(at === top ? 'levelTop' : 'level', { level: at })}
            <span className={styles.count}>{count}</span>
          </Link>
        ))}
    </nav>
  );
}

function Row({ node, isOpen }: { node: TreeEntry; isOpen: boolean }) {
  const t = useTexts(texts);
  return (
    <Link
      href={treeHref(node.level, node.id)}
      className={styles.row}
      aria-current={isOpen ? 'true' : undefined}
    >
      <span className={styles.rowTitle} dir="auto">
        {node.title}
      </span>
      <span className={styles.rowText} dir="auto">
        {node.summary}
      </span>
      <span className={styles.quiet}>{t('passagesBelow', { count: node.passages })}</span>
    </Link>
  );
}
