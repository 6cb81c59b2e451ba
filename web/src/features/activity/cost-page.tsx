import { useState } from 'react';
import type { Schemas } from '../../api/client';
import { CoinsIcon, WarningIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton, State } from '../../design/state';
import { type Language, useLanguage, useTexts } from '../../i18n/text';
import styles from './activity.module.css';
import { BudgetCard } from './budget-card';
import { amountOf, daysOf, isCostKnown, measureOf } from './cost';
import texts from './texts';
import { type By, useCost } from './use-activity';

/** What model calls cost, from the ledger. */
export default function CostPage() {
  const t = useTexts(texts);
  const days = useCost('day');
  if (days.isError && !days.data) {
    return <ProblemState error={days.error} onRetry={() => void days.refetch()} />;
  }
  if (!days.data) return <Skeleton lines={10} />;
  const { rows, total, unpriced } = days.data;
  if (total.calls === 0) {
    return (
      <div className={styles.cost}>
        <BudgetCard />
        <State icon={<CoinsIcon size={20} />} title={t('noCallsTitle')}>
          {t('noCallsBody')}
        </State>
      </div>
    );
  }
  return (
    <div className={styles.cost}>
      {unpriced.length > 0 && (
        <Note tone="warn" icon={<WarningIcon />}>
          {t('unpriced', { models: unpriced.join(', ') })}
        </Note>
      )}
      <BudgetCard />
      <Totals total={total} />
      <DayChart rows={rows} total={total} />
      <Groups total={total} />
    </div>
  );
}

function Totals({ total }: { total: Schemas['CostRow'] }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const number = (value: number) => new Intl.NumberFormat(language, { notation: 'compact' }).format(value);
  const figures: [string, string][] = [
    [t('costTotal'), measureOf(total) === 'cost' ? amountOf(total.cost, language) : '–'],
    [t('calls'), number(total.calls)],
    [t('failedCalls'), number(total.failed)],
    [t('tokensIn'), number(total.prompt_tokens)],
    [t('tokensOut'), number(total.completion_tokens)],
    [t('tokensCached'), number(total.cached_prompt_tokens)],
  ];
  return (
    <dl className={styles.figures}>
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Up to this many days, each has its date. */
const EACH_DAYS = 8;

/** A bar for each day; the table below it has the same numbers for people who do not see it. */
function DayChart({ rows, total }: { rows: Schemas['CostRow'][]; total: Schemas['CostRow'] }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const measure = measureOf(total);
  const days = daysOf(rows, new Date().toISOString().slice(0, 10));
  const most = Math.max(...days.map(day => day[measure]));
  return (
    <figure className={styles.card}>
      <figcaption className={styles.chartHead}>
        <h2>{t(measure === 'cost' ? 'costByDay' : 'callsByDay')}</h2>
        {most > 0 && (
          <span className={styles.quiet}>{t('most', { value: valueOf(most, measure, language) })}</span>
        )}
      </figcaption>
      <div className={styles.chart} aria-hidden="true">
        {days.map(day => (
          <div
            key={day.day}
            className={styles.chartDay}
            title={`${dateOf(day.day, language)}: ${valueOf(day[measure], measure, language)}`}
          >
            <div
              className={styles.chartBar}
              style={{ blockSize: `${most > 0 ? (day[measure] * 100) / most : 0}%` }}
            />
          </div>
        ))}
      </div>
      <div className={styles.chartAxis} aria-hidden="true" data-each={days.length <= EACH_DAYS || undefined}>
        {days
          .filter((_, index) => days.length <= EACH_DAYS || index === 0 || index === days.length - 1)
          .map(({ day }) => (
            <span key={day}>{dateOf(day, language)}</span>
          ))}
      </div>
    </figure>
  );
}

const GROUPS: By[] = ['role', 'model', 'document', 'day'];

function Groups({ total }: { total: Schemas['CostRow'] }) {
  const t = useTexts(texts);
  const [by, setBy] = useState<By>('role');
  const cost = useCost(by);
  return (
    <section className={styles.card} aria-labelledby="groups-title">
      <div className={styles.cardHead}>
        <h2 id="groups-title" className="visually-hidden">
          {t('costTotal')}
        </h2>
        <div className={styles.pills}>
          {GROUPS.map(one => (
            <button
              key={one}
              type="button"
              className={styles.pill}
              aria-pressed={one === by}
              onClick={() => setBy(one)}
            >
              {t(`by_${one}`)}
            </button>
          ))}
        </div>
      </div>
      {cost.isError && !cost.data ? (
        <ProblemState error={cost.error} onRetry={() => void cost.refetch()} />
      ) : cost.data ? (
        <GroupTable by={by} rows={cost.data.rows} total={total} />
      ) : (
        <Skeleton lines={4} />
      )}
    </section>
  );
}

function GroupTable({ by, rows, total }: { by: By; rows: Schemas['CostRow'][]; total: Schemas['CostRow'] }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const measure = measureOf(total);
  const number = (value: number) => new Intl.NumberFormat(language).format(value);
  const shown = (row: Schemas['CostRow']) => {
    const name = nameOf(row, by);
    if (by === 'day') return dateOf(name, language);
    const role = `role_${name}`;
    return by === 'role' && isText(role) ? t(role) : name || t('noName');
  };
  return (
    <div className={styles.tableFrame}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{t(`by_${by}`)}</th>
            <th scope="col" className={styles.end}>
              {t('cost')}
            </th>
            <th scope="col" className={styles.end}>
              {t('calls')}
            </th>
            <th scope="col" className={`${styles.end ?? ''} ${styles.wide ?? ''}`}>
              {t('tokensIn')}
            </th>
            <th scope="col" className={`${styles.end ?? ''} ${styles.wide ?? ''}`}>
              {t('tokensOut')}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={nameOf(row, by)}>
              <th scope="row">
                <span className={styles.rowName} dir="auto">
                  {shown(row)}
                </span>
                <span className={styles.share} aria-hidden="true">
                  <span
                    style={{ inlineSize: `${(row[measure] * 100) / Math.max(total[measure], 1e-12)}%` }}
                  />
                </span>
              </th>
              <td>{isCostKnown(row) ? amountOf(row.cost, language) : '–'}</td>
              <td>{number(row.calls)}</td>
              <td className={styles.wide}>{number(row.prompt_tokens)}</td>
              <td className={styles.wide}>{number(row.completion_tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isText(key: string): key is keyof typeof texts.en {
  return key in texts.en;
}

function nameOf(row: Schemas['CostRow'], by: By): string {
  return row[by] ?? '';
}

function valueOf(value: number, measure: 'cost' | 'calls', language: Language): string {
  return measure === 'cost' ? amountOf(value, language) : new Intl.NumberFormat(language).format(value);
}

function dateOf(day: string, language: Language): string {
  const date = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(date.getTime())
    ? day
    : date.toLocaleDateString(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });
}
