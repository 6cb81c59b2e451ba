import type { ReactNode } from 'react';
import { Button } from '../../design/button';
import { CloseIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { Note, ProblemState, Skeleton, State } from '../../design/state';
import { type Translate, useLanguage, useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import type { Answer } from './answer';
import { modeName } from './modes';
import texts from './texts';
import { usePrompt, useWhy } from './use-why';
import type { Found, FoundPassage } from './why';
import styles from './why.module.css';

interface Props {
  answer: Answer;
  onOpen: (passage: Passage) => void;
  onClose: () => void;
}

type T = Translate<keyof typeof texts.en>;

/** How an answer came about: the search, what it found with scores and paths, time and cost. */
export function WhyPane({ answer, onOpen, onClose }: Props) {
  const t = useTexts(texts);
  const why = useWhy(answer);
  return (
    <div className={styles.pane}>
      <div className={styles.head}>
        <h2>{t('why')}</h2>
        <Button look="quiet" label={t('whyClose')} onClick={onClose}>
          <CloseIcon />
        </Button>
      </div>
      <Scroll className={styles.body} label={t('why')}>
        <Cost answer={answer} />
        {why.isPending && <Skeleton lines={10} />}
        {why.isError && <ProblemState error={why.error} onRetry={() => void why.refetch()} />}
        {why.data && <FoundView answer={answer} found={why.data} onOpen={onOpen} />}
        <Prompt answer={answer} />
      </Scroll>
    </div>
  );
}

function FoundView({
  answer,
  found,
  onOpen,
}: {
  answer: Answer;
  found: Found;
  onOpen: (passage: Passage) => void;
}) {
  const t = useTexts(texts);
  const { passages, entities, relations, metadata } = found;
  if (passages.length + entities.length + relations.length === 0) return <State title={t('whyNothing')} />;
  const { route, keywords, notes } = metadata;
  const name = modeName(answer.context?.mode ?? '');
  return (
    <>
      <Section title={t('whyHow')}>
        <Facts
          facts={[
            [t('whyMode'), name === undefined ? answer.context?.mode : t(name)],
            [t('whyReason'), route?.reason],
            [t('whyParts'), route?.parts.join(' · ')],
            [t('whyThemes'), keywords?.high_level.join(', ')],
            [t('whyNames'), keywords?.low_level.join(', ')],
          ]}
        />
        {(notes ?? []).map(note => (
          <Note key={note} tone="warn">
            {note}
          </Note>
        ))}
        <p className={styles.quiet}>{t('whyAgain')}</p>
      </Section>
      <Section title={t('whyPassages', { count: passages.length })}>
        <ol className={styles.list}>
          {passages.map(one => (
            <li key={one.chunk.chunk_id}>
              <PassageItem found={one} onOpen={onOpen} t={t} />
            </li>
          ))}
        </ol>
      </Section>
      <Details title={t('whyEntities', { count: entities.length })} isEmpty={entities.length === 0}>
        {entities.map(entity => (
          <li key={entity.entity_key} className={styles.item}>
            <div className={styles.itemHead}>
              <span className={styles.itemName}>{entity.entity_name}</span>
              <span className={styles.quiet}>{entity.entity_type}</span>
            </div>
            <p className={styles.snippet} dir="auto">
              {entity.description}
            </p>
          </li>
        ))}
      </Details>
      <Details title={t('whyRelations', { count: relations.length })} isEmpty={relations.length === 0}>
        {relations.map(relation => (
          <li key={`${relation.src_id}\n${relation.tgt_id}`} className={styles.item}>
            <span className={styles.itemName}>
              {relation.src_id} – {relation.tgt_id}
            </span>
            <p className={styles.snippet} dir="auto">
              {relation.description}
            </p>
          </li>
        ))}
      </Details>
    </>
  );
}

const FOUND_BY: Record<string, keyof typeof texts.en> = {
  vector: 'foundVector',
  fused: 'foundFused',
  entity: 'foundEntity',
  relation: 'foundRelation',
  pagerank: 'foundPageRank',
};

function PassageItem({
  found,
  onOpen,
  t,
}: {
  found: FoundPassage;
  onOpen: (passage: Passage) => void;
  t: T;
}) {
  const { chunk, passage, path, share } = found;
  const by = FOUND_BY[chunk.found_by];
  const score = chunk.score == null ? '' : t('score', { score: chunk.score.toPrecision(3) });
  const reranked =
    chunk.rerank_score == null ? '' : t('reranked', { score: chunk.rerank_score.toPrecision(3) });
  return (
    <button type="button" className={styles.item} onClick={() => onOpen(passage)}>
      <span className={styles.itemHead}>
        <span className={styles.itemName}>{passage.file_path}</span>
        {share !== undefined && <meter className={styles.meter} value={share} aria-label={score} />}
      </span>
      <span className={styles.quiet}>
        {[by === undefined ? '' : t(by), score, reranked].filter(part => part !== '').join(' · ')}
      </span>
      {path.length > 0 && (
        <span className={styles.path}>
          {path.map((step, index) => (
            <span key={index} className={styles.step}>
              {step}
            </span>
          ))}
        </span>
      )}
      <span className={styles.snippet} dir="auto">
        {chunk.content}
      </span>
    </button>
  );
}

function Cost({ answer }: { answer: Answer }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const { times, usage } = answer;
  const seconds = (from: number | undefined, to: number | undefined) =>
    from === undefined || to === undefined
      ? undefined
      : t('answered', {
          seconds: new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format((to - from) / 1000),
        });
  const calls = usage && usage.calls > 0 ? usage : undefined;
  return (
    <Section title={t('whyCost')}>
      <Facts
        facts={[
          [t('whySearchTime'), seconds(times.asked, times.found)],
          [t('whyWriteTime'), seconds(times.found, times.ended)],
          [t('whyCalls'), usage && String(usage.calls)],
          [t('whyTokens'), calls && `${calls.prompt_tokens}, ${calls.completion_tokens}`],
          [t('whyMoney'), calls && (calls.cost == null ? t('whyNoPrice') : String(calls.cost))],
        ]}
      />
    </Section>
  );
}

function Prompt({ answer }: { answer: Answer }) {
  const t = useTexts(texts);
  const prompt = usePrompt(answer);
  if (prompt.data !== undefined) return <pre className={styles.prompt}>{prompt.data}</pre>;
  return (
    <div>
      <Button onClick={() => prompt.mutate()} disabled={prompt.isPending}>
        {t('whyPrompt')}
      </Button>
      {prompt.isError && <Note tone="bad">{prompt.error.message}</Note>}
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles.section}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Facts({ facts }: { facts: [string, string | undefined][] }) {
  return (
    <dl className={styles.facts}>
      {facts
        .filter(([, fact]) => fact !== undefined && fact !== '')
        .map(([name, fact]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{fact}</dd>
          </div>
        ))}
    </dl>
  );
}

function Details({ title, isEmpty, children }: { title: string; isEmpty: boolean; children: ReactNode }) {
  if (isEmpty) return null;
  return (
    <details className={styles.details}>
      <summary>{title}</summary>
      <ul className={styles.list}>{children}</ul>
    </details>
  );
}
