import { useState } from 'react';
import { useLocation } from 'wouter';
import { useRights } from '../../app/use-server';
import { Problem } from '../../api/problem';
import { Button } from '../../design/button';
import { BackIcon, QuestionIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { Note, ProblemState, Skeleton, State } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { type Passage, SourcePane } from '../source/source-pane';
import { type Shown, hrefOf } from './address';
import { Description } from './entity-pane';
import { EvidenceList } from './evidence-list';
import styles from './graph.module.css';
import { Section } from './pane';
import { SearchBox } from './search-box';
import texts from './texts';
import { type Editing, faultOf, useNeighbourhood } from './use-graph';
import { type Entity, type Part, neighboursOf, previewMerge } from './view';

interface Props {
  shown: Shown;
  name: string;
  editing: Editing;
}

/** Two entities side by side with their evidence, and what merging them would lead to. */
export default function MergePage({ shown, name, editing }: Props) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  const [passage, setPassage] = useState<Passage>();
  const rights = useRights();
  const other = shown.merge === '' ? undefined : shown.merge;
  const choose = (merge: string) => navigate(hrefOf({ ...shown, merge }));
  if (rights?.canWrite === false) return <ProblemState error={new Problem(403, t('mergeTitle'))} />;
  return (
    <div className={styles.layout} data-pane={passage !== undefined || undefined} data-chosen>
      <div className={styles.main}>
        <div className={styles.bar}>
          <Button
            look="quiet"
            label={t('cancel')}
            onClick={() => navigate(hrefOf({ ...shown, merge: undefined }))}
          >
            <BackIcon />
          </Button>
          <h1 className={styles.barTitle}>{t('mergeTitle')}</h1>
          {other !== undefined && (
            <Button look="quiet" onClick={() => choose('')}>
              {t('mergeOther')}
            </Button>
          )}
        </div>
        {other === undefined ? (
          <div className={styles.start}>
            <h2 className={styles.display}>{t('mergeWith', { name })}</h2>
            <SearchBox label={t('search')} onChoose={choose} isFirst />
          </div>
        ) : (
          <SideBySide one={name} other={other} editing={editing} onSource={setPassage} />
        )}
      </div>
      {passage && (
        <aside className={styles.pane}>
          <SourcePane passage={passage} onClose={() => setPassage(undefined)} />
        </aside>
      )}
    </div>
  );
}

interface SideProps {
  one: string;
  other: string;
  editing: Editing;
  onSource: (passage: Passage) => void;
}

function SideBySide({ one, other, editing, onSource }: SideProps) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  const sides = [useNeighbourhood(one), useNeighbourhood(other)] as const;
  const [keep, setKeep] = useState<0 | 1>(0);
  const failed = sides.find(({ isError }) => isError);
  if (failed) {
    const retry = () => sides.forEach(side => void side.refetch());
    return <ProblemState error={failed.error} onRetry={retry} />;
  }
  const [a, b] = [entityIn(sides[0].data, one), entityIn(sides[1].data, other)];
  if (!sides[0].data || !sides[1].data) return <Skeleton lines={12} />;
  if (!a || !b || a.name === b.name) {
    return (
      <State
        icon={<QuestionIcon size={20} />}
        title={a && b ? t('mergeSame') : t('missingTitle', { name: a ? other : one })}
      />
    );
  }
  const pair = [
    { entity: a, part: sides[0].data },
    { entity: b, part: sides[1].data },
  ] as const;
  const into = pair[keep].entity.name;
  const from = pair[keep === 0 ? 1 : 0].entity.name;
  return (
    <Scroll className={styles.mergeScroll} label={t('mergeTitle')}>
      <p className={styles.lead}>{t('mergeLead')}</p>
      <div className={styles.sides}>
        {pair.map(({ entity, part }, index) => (
          <Side
            key={entity.name}
            entity={entity}
            part={part}
            isKept={keep === index}
            onKeep={() => setKeep(index === 0 ? 0 : 1)}
            onSource={onSource}
          />
        ))}
      </div>
      <div className={styles.result}>
        <Preview {...{ a, b, into, from }} ofA={sides[0].data} ofB={sides[1].data} />
        {editing.merge.isError && <Note tone="bad">{faultOf(editing.merge.error)}</Note>}
        <div className={styles.resultActions}>
          <Button
            look="main"
            disabled={editing.merge.isPending}
            onClick={() =>
              editing.merge.mutate(
                { from, into },
                { onSuccess: () => navigate(hrefOf({ entity: into }), { replace: true }) },
              )
            }
          >
            {t('mergeInto', { name: into })}
          </Button>
        </div>
      </div>
    </Scroll>
  );
}

/** The entity that a name leads to. */
function entityIn(part: Part | undefined, name: string): Entity | undefined {
  return part?.entities.find(entity => entity.name === name) ?? part?.entities[0];
}

interface SideViewProps {
  entity: Entity;
  part: Part;
  isKept: boolean;
  onKeep: () => void;
  onSource: (passage: Passage) => void;
}

function Side({ entity, part, isKept, onKeep, onSource }: SideViewProps) {
  const t = useTexts(texts);
  const neighbours = neighboursOf(part, entity.name);
  return (
    <article className={styles.side} data-kept={isKept || undefined} aria-label={entity.name}>
      <header className={styles.sideHead}>
        <div>
          <h2 className={styles.sideName}>
            <bdi>{entity.name}</bdi>
          </h2>
          <div className={styles.quiet}>{entity.kind === '' ? t('noKind') : entity.kind}</div>
        </div>
        <label className={styles.keep}>
          <input type="radio" name="keep" checked={isKept} onChange={onKeep} />
          {t('keepName')}
        </label>
      </header>
      <Section title={t('description')}>
        <Description text={entity.description} />
      </Section>
      <Section
        title={
          entity.chunks.length >= 10 ? t('evidenceFirst', { count: entity.chunks.length }) : t('evidence')
        }
      >
        <EvidenceList
          chunks={entity.chunks}
          names={[entity.name]}
          none={t('noEvidence')}
          onSource={onSource}
        />
      </Section>
      <Section title={t('relations', { count: neighbours.length })}>
        <p className={styles.quiet} dir="auto">
          {neighbours
            .slice(0, 12)
            .map(({ name }) => name)
            .join(' · ')}
          {neighbours.length > 12 && ' …'}
        </p>
      </Section>
    </article>
  );
}

function Preview(props: { a: Entity; b: Entity; ofA: Part; ofB: Part; into: string; from: string }) {
  const t = useTexts(texts);
  const { a, b, ofA, ofB, into, from } = props;
  const { relations, shared, areRelated } = previewMerge(a, ofA, b, ofB);
  const facts = [
    t('mergeResultName', { into, from }),
    [
      t('mergeResultRelations', { count: relations }),
      shared > 0 ? t('mergeResultShared', { count: shared }) : '',
    ]
      .join(' ')
      .trim(),
    ...(areRelated ? [t('mergeResultRelated')] : []),
    t('mergeResultUndo'),
  ];
  return (
    <div>
      <h2 className={styles.resultTitle}>{t('mergeResult')}</h2>
      <ul className={styles.resultFacts}>
        {facts.map(fact => (
          <li key={fact}>{fact}</li>
        ))}
      </ul>
    </div>
  );
}
