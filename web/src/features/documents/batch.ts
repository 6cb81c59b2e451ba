import type { Schemas } from '../../api/client';

type Estimate = Schemas['EstimateAnswer'];

/** A batch of so many files, or of so many bytes, is estimated before it is added, if models are paid for. */
const LARGE_FILES = 10;
const LARGE_BYTES = 2_000_000;

/** Whether the cost of a batch is worth asking about. */
export function isLarge(files: { size: number }[]): boolean {
  return files.length >= LARGE_FILES || files.reduce((sum, { size }) => sum + size, 0) >= LARGE_BYTES;
}

/** The likely minimum and maximum. */
export interface Range {
  low: number;
  high: number;
}

/** What a batch would cost, as far as it is estimated. */
export interface BatchCost {
  files: number;
  chunks: number;
  calls: Range;
  tokens: Range;
  /** `undefined` if the price of a model is not configured. */
  price: Range | undefined;
  /** Files that cannot be read, with the reason. */
  refused: Schemas['RefusedItem'][];
  unpriced: string[];
}

const NOTHING: Range = { low: 0, high: 0 };

function plus(one: Range, other: Range): Range {
  return { low: one.low + other.low, high: one.high + other.high };
}

/** The sum of the estimates of files. */
export function batchCost(estimates: Estimate[]): BatchCost {
  const unpriced = [...new Set(estimates.flatMap(({ unpriced }) => unpriced))].sort();
  const sum = (of: (estimate: Estimate) => Range) => estimates.map(of).reduce(plus, NOTHING);
  return {
    files: estimates.length,
    chunks: estimates.reduce((all, { chunks }) => all + chunks, 0),
    calls: sum(({ total }) => total.calls),
    tokens: sum(({ total }) => plus(total.input_tokens, total.output_tokens)),
    price: unpriced.length > 0 ? undefined : sum(({ total }) => total.price ?? NOTHING),
    refused: estimates.flatMap(({ refused }) => refused),
    unpriced,
  };
}

/** A budget in money if prices are known, else in tokens; `undefined` for none, `null` if it cannot be read. */
export function budgetOf(text: string): number | undefined | null {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const [, digits = '', unit = ''] = /^(\d+(?:[.,]\d+)?)\s*([kKmM]?)$/.exec(trimmed) ?? [];
  if (digits === '') return null;
  const value = Number(digits.replace(',', '.'));
  return value * (unit.toLowerCase() === 'k' ? 1e3 : unit.toLowerCase() === 'm' ? 1e6 : 1);
}

/** How many of the files, from the first on, cost at most the budget by their higher estimates. */
export function filesWithin(estimates: Estimate[], budget: number): number {
  let count = 0;
  while (count < estimates.length) {
    const { price, tokens } = batchCost(estimates.slice(0, count + 1));
    if ((price ?? tokens).high > budget) break;
    count += 1;
  }
  return count;
}
