import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { QuestionIcon } from '../../design/icons';
import { PageHead } from '../../design/page-head';
import { ProblemState, Skeleton, State } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { type Passage, SourcePane } from '../source/source-pane';
import { type Shown, hrefOf } from './address';
import { EvidenceList } from './evidence-list';
import styles from './graph.module.css';
import own from './path.module.css';
import { SearchBox } from './search-box';
import texts from './texts';
import { usePath } from './use-graph';
import type { Part } from './view';

/** The shortest path between two entities, with the sentences that state each of its relations. */
export default function PathPage({ from, to }: { shown: Shown; from: string | undefined; to: string }) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  const [source, setSource] = useState<Passage>();
  const found = usePath(from ?? '', to);
  const isChosen = from !== undefined && to !== '';
  const choose = (change: { from?: string | undefined; to?: string }) => {
    setSource(undefined);
    navigate(hrefOf({ entity: 'from' in change ? change.from : from, to: change.to ?? to }));
  };
  return (
    <div className={styles.layout} data-pane={source !== undefined || undefined}>
      <div className={styles.startScroll}>
        <div className={own.page}>
          <PageHead
            title={t('pathTitle')}
            lead={t('pathLead')}
            back={{ href: from === undefined ? '' : hrefOf({ entity: from }), label: t('pathBack') }}
          />
          <div className={own.ends}>
            <End label={t('pathFrom')} name={from} onChoose={name => choose({ from: name })} />
            <End
              label={t('pathTo')}
              name={to === '' ? undefined : to}
              onChoose={name => choose({ to: name })}
            />
          </div>
          {!isChosen ? null : found.isError ? (
            <ProblemState error={found.error} onRetry={() => void found.refetch()} />
          ) : !found.data ? (
            <Skeleton lines={6} />
          ) : found.data.path ? (
            <Steps path={found.data.path} onSource={setSource} />
          ) : (
            <State icon={<QuestionIcon size={20} />} title={t('pathNone')}>
              {t(found.data.isLimited ? 'pathLimited' : 'pathUnconnected', { count: found.data.seen })}
            </State>
          )}
        </div>
      </div>
      {source && (
        <aside className={styles.pane}>
          <SourcePane passage={source} onClose={() => setSource(undefined)} onBack={undefined} />
        </aside>
      )}
    </div>
  );
}

interface EndProps {
  label: string;
  name: string | undefined;
  onChoose: (name: string) => void;
}

function End({ label, name, onChoose }: EndProps) {
  return (
    <div className={own.end}>
      <SearchBox label={label} onChoose={onChoose} isFirst={name === undefined} />
      {name !== undefined && <bdi className={own.chosen}>{name}</bdi>}
    </div>
  );
}

function Steps({ path, onSource }: { path: Part; onSource: (passage: Passage) => void }) {
  const t = useTexts(texts);
  const { entities, relations } = path;
  const names = entities.map(({ name }) => name);
  const [first] = names;
  return (
    <>
      <p className={own.length} role="status">
        {t('pathLength', { count: relations.length })}
        {first !== undefined && (
          <Link href={hrefOf({ entity: first, more: names.slice(1, -1) })} className={styles.textLink}>
            {t('pathShow')}
          </Link>
        )}
      </p>
      <ol className={own.steps}>
        {entities.map((entity, index) => {
          const relation = relations[index];
          return (
            <li key={entity.name} className={own.step}>
              <Link href={hrefOf({ entity: entity.name })} className={own.entity}>
                <bdi>{entity.name}</bdi>
              </Link>
              {entity.kind !== '' && <span className={own.kind}>{entity.kind}</span>}
              {relation && (
                <div className={own.relation}>
                  <span className={own.keywords} dir="auto">
                    {relation.keywords.join(', ')}
                  </span>
                  <EvidenceList
                    chunks={relation.chunks}
                    names={[relation.source, relation.target]}
                    none={t('noEvidenceRelation')}
                    onSource={onSource}
                  />
                </div>
              )}
            </li>
          );
        })}
      </ol>
    </>
  );
}
