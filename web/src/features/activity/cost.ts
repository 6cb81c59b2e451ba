import type { Schemas } from '../../api/client';

type Row = Schemas['CostRow'];

/** Days that the chart shows at most. */
const MAX_DAYS = 30;
const DAY_MS = 86_400_000;

/** The cost of one day. */
export interface Day {
  /** As `2026-11-24`. */
  day: string;
  cost: number;
  calls: number;
}

/** The days from the first row to `today`, the last 30 at most; days without calls cost nothing. */
export function daysOf(rows: Row[], today: string): Day[] {
  const known = new Map(rows.map(row => [row.day ?? '', row]));
  const first = [...known.keys()].filter(day => day !== '').sort()[0] ?? today;
  const end = Date.parse(today);
  const count = Math.min(MAX_DAYS, Math.max(7, Math.round((end - Date.parse(first)) / DAY_MS) + 1));
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(end - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    const row = known.get(day);
    return { day, cost: row?.cost ?? 0, calls: row?.calls ?? 0 };
  });
}

/** What rows are compared by: cost where prices are configured, else calls. */
export function measureOf(total: Row): 'cost' | 'calls' {
  return total.cost > 0 ? 'cost' : 'calls';
}

/** False if no call has a price, or if the only priced calls lack token counts. */
export function isCostKnown(row: Row): boolean {
  return row.unpriced_calls < row.calls && (row.cost > 0 || row.uncounted_calls === 0);
}

/** An amount in the currency of the prices: two decimals, or two digits if it is below one hundredth. */
export function amountOf(cost: number, language: string): string {
  const digits =
    cost === 0 || cost >= 0.1
      ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
      : { minimumSignificantDigits: 2, maximumSignificantDigits: 2 };
  return new Intl.NumberFormat(language, digits).format(cost);
}
