import { useEffect, useState } from 'react';
import { type Schemas, estimate } from '../../api/client';
import { type Problem, problemOf } from '../../api/problem';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { WarningIcon } from '../../design/icons';
import { Note } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import { type Range, batchCost, budgetOf, filesWithin } from './batch';
import styles from './documents.module.css';
import { decide } from './proposal';
import { sizeOf } from './table';
import texts from './texts';

/** Shows what a large batch would cost, and adds as much of it as a budget allows. */
export default function BatchDialog({ files }: { files: File[] }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const [budget, setBudget] = useState('');
  const { estimates, problem } = useEstimates(files);
  const cost = batchCost(estimates);
  const isDone = estimates.length === files.length;
  const limit = budgetOf(budget);
  const fitting = typeof limit === 'number' ? filesWithin(estimates, limit) : files.length;
  const range = ({ low, high }: Range, digits: number) => {
    const format = new Intl.NumberFormat(language, { maximumFractionDigits: digits });
    return low === high
      ? format.format(high)
      : t('batchRange', { low: format.format(low), high: format.format(high) });
  };
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const rows: [string, string][] = [
    [t('batchFiles'), t('batchFilesOf', { count: files.length, size: sizeOf(size, language) })],
    [t('chunks'), range({ low: cost.chunks, high: cost.chunks }, 0)],
    [t('batchCalls'), range(cost.calls, 0)],
    [t('batchTokens'), range(cost.tokens, 0)],
    [
      t('batchPrice'),
      cost.price ? range(cost.price, 2) : t('batchNoPrice', { models: cost.unpriced.join(', ') }),
    ],
  ];
  return (
    <Dialog
      title={t('batchTitle')}
      onClose={() => decide([])}
      actions={
        <>
          <Button onClick={() => decide([])}>{t('cancel')}</Button>
          <Button
            look="main"
            disabled={!isDone || limit === null || fitting === 0}
            onClick={() => decide(files.slice(0, fitting))}
          >
            {t('batchAdd', { count: isDone ? fitting : files.length })}
          </Button>
        </>
      }
    >
      <div className={styles.batch}>
        {!isDone && !problem && (
          <div role="status">
            {t('batchEstimating', { done: estimates.length, total: files.length })}
            <progress
              className={styles.batchBar}
              max={files.length}
              value={estimates.length}
              aria-label={t('batchTitle')}
            />
          </div>
        )}
        {problem && (
          <Note tone="bad" icon={<WarningIcon />}>
            {problem.message} {problem.remedy}
          </Note>
        )}
        <dl className={styles.batchFacts}>
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {cost.refused.length > 0 && (
          <Note tone="warn" icon={<WarningIcon />}>
            {t('batchRefused', { count: cost.refused.length })}{' '}
            {cost.refused.map(({ file_path, reason }) => `${file_path}: ${reason}`).join('; ')}
          </Note>
        )}
        <Field label={t('batchBudget')} hint={t(cost.price ? 'batchBudgetMoney' : 'batchBudgetTokens')}>
          {ids => (
            <input
              {...ids}
              type="text"
              className={inputClass}
              aria-invalid={limit === null}
              value={budget}
              onChange={event => setBudget(event.target.value)}
            />
          )}
        </Field>
        {isDone && fitting < files.length && (
          <p role="status">{t('batchFits', { count: fitting, total: files.length })}</p>
        )}
      </div>
    </Dialog>
  );
}

/** The estimates of files, one after the other. */
function useEstimates(files: File[]): {
  estimates: Schemas['EstimateAnswer'][];
  problem: Problem | undefined;
} {
  const [estimates, setEstimates] = useState<Schemas['EstimateAnswer'][]>([]);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    const abort = new AbortController();
    const run = async () => {
      const found: Schemas['EstimateAnswer'][] = [];
      for (const file of files) {
        found.push(await estimate(file, abort.signal));
        setEstimates([...found]);
      }
    };
    run().catch((error: unknown) => {
      if (!abort.signal.aborted) setProblem(problemOf(error));
    });
    return () => abort.abort();
  }, [files]);
  return { estimates, problem };
}
