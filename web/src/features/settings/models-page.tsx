import type { UseMutationResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client';
import type { Problem } from '../../api/problem';
import { useHealth } from '../../app/use-server';
import { Button } from '../../design/button';
import { CheckIcon, LockIcon, WarningIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton, State } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import { CodeBlock } from '../connect/code-block';
import styles from './settings.module.css';
import texts from './texts';
import { type Tested, useAnswerTest, useEmbedderTest } from './use-settings';

type Key = keyof typeof texts.en;

/** The models and settings of the workspace, and whether the models answer. */
export function ModelsPage() {
  const t = useTexts(texts);
  const health = useHealth();
  if (health.isError && !health.data) {
    return <ProblemState error={health.error} onRetry={() => void health.refetch()} />;
  }
  if (!health.data) return <Skeleton lines={10} />;
  const { configuration, fault } = health.data;
  if (!configuration) {
    return (
      <State icon={<LockIcon size={20} />} title={t('hiddenTitle')}>
        {t('hiddenBody')}
      </State>
    );
  }
  return (
    <div className={styles.section}>
      {fault != null && (
        <Note tone="bad" icon={<WarningIcon />}>
          {fault}
        </Note>
      )}
      <Models configuration={configuration} />
      <Limits configuration={configuration} />
      <p className={styles.lead}>{t('changeModels')}</p>
      <CodeBlock
        name="graphloom.toml"
        code={`[workspaces.${configuration.workspace}]\nllm = "ollama:qwen3"\nanswer_llm = "openai:gpt-4o-mini"`}
      />
    </div>
  );
}

const ROLES: [string, Key][] = [
  ['extract', 'roleExtract'],
  ['keyword', 'roleKeyword'],
  ['summarize', 'roleSummarize'],
];

function Models({ configuration }: { configuration: Schemas['Configuration'] }) {
  const t = useTexts(texts);
  const answer = useAnswerTest();
  const embedder = useEmbedderTest();
  const { llm_model, llm_binding, embedding_model, embedding_binding, rerank_model, rerank_binding } =
    configuration;
  return (
    <ul className={styles.list}>
      <ModelRow
        role={t('roleAnswer')}
        about={t('roleAnswerAbout')}
        model={llm_model ?? t('rulesAnswer')}
        service={llm_binding}
        test={llm_model == null ? undefined : answer}
        result={tested => t('answered', { text: String(tested.result) })}
      />
      {ROLES.map(([role, name]) => {
        const used = configuration.role_llm_config[role];
        return (
          <ModelRow
            key={role}
            role={t(name)}
            about={t(`${name}About` as Key)}
            model={used?.model ?? t('rules')}
            service={used?.binding}
          />
        );
      })}
      <ModelRow
        role={t('roleEmbed')}
        about={t('roleEmbedAbout')}
        model={embedding_model ?? t('noneUsed')}
        service={embedding_binding}
        test={embedding_model == null ? undefined : embedder}
        result={tested => t('dimensions', { count: Number(tested.result) })}
      />
      <ModelRow
        role={t('roleRerank')}
        about={t('roleRerankAbout')}
        model={rerank_model ?? t('noneUsed')}
        service={rerank_binding}
      />
    </ul>
  );
}

interface ModelProps {
  role: string;
  about: string;
  model: string;
  service: string | null | undefined;
  test?: UseMutationResult<Tested, Problem, undefined> | undefined;
  result?: (tested: Tested) => ReactNode;
}

function ModelRow({ role, about, model, service, test, result }: ModelProps) {
  const t = useTexts(texts);
  const language = useLanguage();
  const time = (elapsed: number) =>
    new Intl.NumberFormat(language, { style: 'unit', unit: 'second', maximumFractionDigits: 1 }).format(
      elapsed / 1000,
    );
  return (
    <li className={styles.row}>
      <div className={styles.rowText}>
        <span className={styles.rowName}>{role}</span>
        <span className={styles.quiet}>{about}</span>
        {test?.isSuccess && (
          <span className={styles.good} role="status">
            <CheckIcon />
            <span dir="auto">
              {result?.(test.data)} · {time(test.data.elapsed)}
            </span>
          </span>
        )}
        {test?.isError && (
          <Note tone="bad" icon={<WarningIcon />}>
            {test.error.message}
            {test.error.remedy !== undefined && <p>{test.error.remedy}</p>}
          </Note>
        )}
      </div>
      <div className={styles.model}>
        <span dir="auto">{model}</span>
        {service != null && <span className={styles.quiet}>{service}</span>}
      </div>
      <div className={styles.test}>
        {test && (
          <Button disabled={test.isPending} onClick={() => test.mutate(undefined)}>
            {t(test.isPending ? 'testing' : 'test')}
            <span className="visually-hidden">{role}</span>
          </Button>
        )}
      </div>
    </li>
  );
}

function Limits({ configuration }: { configuration: Schemas['Configuration'] }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const number = (value: number) =>
    new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format(value);
  const facts: [string, string][] = [
    [t('maxAsync'), number(configuration.max_async)],
    [t('maxParallel'), number(configuration.max_parallel_insert)],
    [t('answerCache'), t(configuration.enable_llm_cache ? 'on' : 'off')],
    [t('summaryFrom'), number(configuration.force_llm_summary_on_merge)],
    [t('summaryTokens'), number(configuration.summary_max_tokens)],
    [
      t('language'),
      configuration.summary_language === 'as written' ? t('asWritten') : configuration.summary_language,
    ],
    [t('threshold'), number(configuration.cosine_threshold)],
    [t('maxNodes'), number(configuration.max_graph_nodes)],
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
