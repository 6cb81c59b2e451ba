import { type SyntheticEvent, useState } from 'react';
import type { Schemas } from '../../api/client';
import { problemOf } from '../../api/problem';
import { useRights } from '../../app/use-server';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import styles from './budget.module.css';
import { amountOf } from './cost';

import texts from './texts';
import { useBudget, useSetBudget } from './use-activity';

type Budget = NonNullable<Schemas['BudgetAnswer']['budget']>;

/** What the workspace may spend on model calls and has spent, kept by all its processes together. */
export function BudgetCard() {
  const t = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  const rights = useRights();
  const reading = useBudget();
  if (reading.isError && !reading.data)
    return <ProblemState error={reading.error} onRetry={() => void reading.refetch()} />;
  if (!reading.data) return <Skeleton lines={2} />;
  const budget = reading.data.budget ?? undefined;
  return (
    <section className={styles.card} aria-labelledby="budget-title">
      <div className={styles.head}>
        <h2 id="budget-title">{t('budget')}</h2>
        {rights?.canAdmin === true && (
          <Button onClick={() => setOpen(true)}>{t(budget ? 'budgetChange' : 'budgetSet')}</Button>
        )}
      </div>
      {budget ? <Spent budget={budget} /> : <p className={styles.quiet}>{t('budgetNone')}</p>}
      {isOpen && <BudgetDialog budget={budget} onClose={() => setOpen(false)} />}
    </section>
  );
}

function Spent({ budget }: { budget: Budget }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const { amount, spent, left, since } = budget;
  const shown = (value: number) =>
    budget.unit === 'money'
      ? amountOf(value, language)
      : t('budgetTokens', { tokens: new Intl.NumberFormat(language).format(value) });
  const isOver = left <= 0;
  return (
    <>
      <div className={styles.bar} data-over={isOver || undefined} aria-hidden="true">
        <span style={{ inlineSize: `${amount > 0 ? Math.min(100, (spent * 100) / amount) : 100}%` }} />
      </div>
      <p className={styles.line}>
        <span>{t('budgetSpent', { spent: shown(spent), amount: shown(amount) })}</span>
        <span className={styles.quiet}>
          {t('budgetLeft', {
            left: shown(left),
            since: new Date(since).toLocaleDateString(language, { dateStyle: 'medium' }),
          })}
        </span>
      </p>
      {isOver && <Note tone="warn">{t('budgetOver')}</Note>}
    </>
  );
}

function BudgetDialog({ budget, onClose }: { budget: Budget | undefined; onClose: () => void }) {
  const t = useTexts(texts);
  const [amount, setAmount] = useState(budget ? String(budget.amount) : '');
  const [restart, setRestart] = useState(false);
  const { set, remove } = useSetBudget(onClose);
  // A bare number is money for the server.
  const isTokens = budget?.unit === 'tokens' && /^\d+$/.test(amount.trim());
  const save = (event: SyntheticEvent) => {
    event.preventDefault();
    if (amount.trim() !== '') set.mutate({ amount: amount.trim() + (isTokens ? 'tokens' : ''), restart });
  };
  const fault = set.error ?? remove.error;
  const isBusy = set.isPending || remove.isPending;
  return (
    <Dialog
      title={t('budget')}
      onClose={onClose}
      actions={
        <>
          {budget && (
            <Button look="danger" disabled={isBusy} onClick={() => remove.mutate()}>
              {t('budgetRemove')}
            </Button>
          )}
          <Button look="main" type="submit" form="budget" disabled={isBusy || amount.trim() === ''}>
            {t('budgetSave')}
          </Button>
        </>
      }
    >
      <form id="budget" className={styles.form} onSubmit={save}>
        <p>{t('budgetBody')}</p>
        <Field label={t('budgetAmount')} hint={t('budgetHint')}>
          {ids => (
            <input
              {...ids}
              className={inputClass}
              autoComplete="off"
              value={amount}
              onChange={event => setAmount(event.target.value)}
            />
          )}
        </Field>
        {budget && (
          <label className={styles.choice}>
            <input type="checkbox" checked={restart} onChange={event => setRestart(event.target.checked)} />
            {t('budgetRestart')}
          </label>
        )}
        {fault !== null && (
          <Note tone="bad">
            {problemOf(fault).message} {problemOf(fault).remedy}
          </Note>
        )}
      </form>
    </Dialog>
  );
}
