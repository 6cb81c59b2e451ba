import { useLocation } from 'wouter';
import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import { Above, Parts } from './layer-links';
import { Pane, Section } from './pane';
import pane from './pane.module.css';
import { Quotes } from './quotes';
import texts from './texts';
import { treeHref } from './address';
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
    <Pane
      title={data?.title ?? t('tree')}
      details={
        data && (
          <>
            {t('passagesBelow', { count: data.passages })}
            {' · '}
            {data.by === 'rules' ? t('writtenByRules') : t('writtenBy', { author: data.by })}
          </>
        )
      }
      reading={node}
      onClose={() => navigate(treeHref(data?.level ?? 0))}
    >
      {found => <Sections node={found} onSource={onSource} />}
    </Pane>
  );
}

function Sections({ node, onSource }: { node: TreeNode; onSource: Props['onSource'] }) {
  const t = useTexts(texts);
  const { level, parents, nodes, members, quotes } = node;
  return (
    <>
      {parents.map(({ id, title }) => (
        <Above key={id} href={treeHref(level + 1, id)} title={title} />
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
      <Parts
        title={t('joins', { count: nodes.length })}
        parts={nodes}
        hrefOf={part => treeHref(level - 1, part)}
      />
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
