import { Link, useLocation } from 'wouter';
import { Button } from '../../design/button';
import { CloseIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import styles from './communities.module.css';
import { Section } from './entity-pane';
import pane from './pane.module.css';
import { Quotes } from './quotes';
import texts from './texts';
import { treeHref } from './tree-page';
import { type TreeNode, useTreeNode } from './use-tree';

interface Props {
  id: string;
  onSource: (passage: Passage) => void;
}

/** A node of the tree: its summary, where the sentences stand, and the nodes and passages below. */
export function NodePane({ id, onSource }: Props) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  const node = useTreeNode(id);
  const { data } = node;
  return (
    <div className={pane.pane}>
      <div className={pane.head}>
        <div className={pane.grow}>
          <h2 className={pane.title} dir="auto">
            {data?.title ?? t('tree')}
          </h2>
          {data && (
            <div className={pane.quiet}>
              {t('passagesBelow', { count: data.passages })}
              {' · '}
              {data.by === 'rules' ? t('writtenByRules') : t('writtenBy', { author: data.by })}
            </div>
          )}
        </div>
        <Button look="quiet" label={t('close')} onClick={() => navigate(treeHref(data?.level ?? 0))}>
          <CloseIcon />
        </Button>
      </div>
      <Scroll className={pane.body} label={data?.title ?? t('tree')}>
        {node.isError ? (
          <ProblemState error={node.error} onRetry={() => void node.refetch()} />
        ) : !data ? (
          <Skeleton lines={10} />
        ) : (
          <Sections node={data} onSource={onSource} />
        )}
      </Scroll>
    </div>
  );
}

function Sections({ node, onSource }: { node: TreeNode; onSource: Props['onSource'] }) {
  const t = useTexts(texts);
  const { level, parents, nodes, members, quotes } = node;
  return (
    <>
      {parents.map(({ id, title }) => (
        <Link key={id} href={treeHref(level + 1, id)} className={styles.up} dir="auto">
          {t('partOf', { title })}
        </Link>
      ))}
      {quotes.length > 0 ? (
        <Section title={t('summary')}>
          <Quotes quotes={quotes} onSource={onSource} />
        </Section>
      ) : (
        <p className={pane.text} dir="auto">
          {node.summary}
        </p>
      )}
      {nodes.length > 0 && (
        <Section title={t('joins', { count: nodes.length })}>
          <ul className={styles.parts}>
            {nodes.map(({ id, title }) => (
              <li key={id}>
                <Link href={treeHref(level - 1, id)} className={styles.part} dir="auto">
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
      {members.length > 0 && (
        <Section title={t('passages', { count: members.length })}>
          <Quotes
            quotes={members.map(({ text, ...place }) => ({ ...place, quote: text }))}
            onSource={onSource}
          />
        </Section>
      )}
    </>
  );
}
