import type { Schemas } from '../../api/client';
import type { Answer } from './answer';

/** What an answer took, as far as it is known. */
export interface Measures {
  /** Seconds to the end. */
  seconds: number | undefined;
  /** Seconds to the first word. */
  firstWord: number | undefined;
  tokens: { in: number; out: number } | undefined;
  /** In the currency of the prices; `null` if the price of a model is not configured. */
  cost: number | null | undefined;
  passages: number | undefined;
  cited: number | undefined;
}

/** What an answer took. */
export function measuresOf({ context, citations, usage, done, times, firstWord }: Compared): Measures {
  return {
    seconds: done?.response_time,
    firstWord: firstWord === undefined ? undefined : (firstWord - times.asked) / 1000,
    tokens: usage && { in: usage.prompt_tokens, out: usage.completion_tokens },
    cost: usage && (usage.calls === 0 ? 0 : (usage.cost ?? null)),
    passages: context?.chunks.length,
    cited: done && new Set(citations.map(placeOf)).size,
  };
}

/** An answer of a comparison. */
export interface Compared extends Answer {
  /** When its first word came, in milliseconds. */
  firstWord: number | undefined;
}

/** How many passages both answers cite; `undefined` until both are complete. */
export function commonPassages(one: Answer, other: Answer): number | undefined {
  if (!one.done || !other.done) return undefined;
  const places = new Set(one.citations.map(placeOf));
  return new Set(other.citations.map(placeOf).filter(place => places.has(place))).size;
}

function placeOf({ document, span }: Schemas['CitationItem']): string {
  return `${document} ${span.join('-')}`;
}
