import { type Schemas, stream } from '../../api/client';
import { Problem, problemOf } from '../../api/problem';
import type { ServerEvent } from '../../api/sse';
import { type Answer, type Question, reduceAnswer } from './answer';

/** Changes an answer that is on its way. */
export type Change = (how: (answer: Answer) => Answer) => void;

/** The body of a request about a question. */
export function requestOf(
  { text, mode, filter }: Question,
  history: Answer['history'],
): Schemas['QueryRequest'] {
  return {
    query: text,
    mode,
    // The UI lists the cited documents itself.
    include_references: false,
    hl_keywords: [],
    ll_keywords: [],
    conversation_history: history,
    filter: filter ?? null,
  };
}

/** Sends a question and changes its answer as it arrives; resolves at its end, whatever that is. */
export async function receive(
  request: Schemas['QueryRequest'],
  signal: AbortSignal,
  change: Change,
): Promise<void> {
  const take = (event: ServerEvent) => change(answer => reduceAnswer(answer, event, performance.now()));
  try {
    await stream('post', '/query/events', { body: request, signal }, take);
    change(answer => (isOpen(answer) ? failed(answer, new Problem(0, 'The connection was lost.')) : answer));
  } catch (error) {
    change(answer => (signal.aborted ? { ...answer, phase: 'stopped' } : failed(answer, problemOf(error))));
  }
}

/** Whether more of an answer is to come. */
export function isOpen({ phase }: Answer): boolean {
  return phase === 'searching' || phase === 'writing';
}

function failed(answer: Answer, problem: Problem): Answer {
  return { ...answer, phase: 'failed', problem };
}
