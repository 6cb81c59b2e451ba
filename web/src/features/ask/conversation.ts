import { useSyncExternalStore } from 'react';
import { type Schemas, stream } from '../../api/client';
import { Problem, problemOf } from '../../api/problem';
import type { ServerEvent } from '../../api/sse';
import { type Answer, type Question, historyOf, newAnswer, reduceAnswer } from './answer';

/*
 * The conversation lives while the page is open, also when another page of the UI is shown. It is kept nowhere else: a copy in
 * the browser would outlive the deletion of a document that it quotes.
 */
let answers: Answer[] = [];
let lastId = 0;
let running: { id: number; abort: AbortController } | undefined;
const listeners = new Set<() => void>();

function publish(next: Answer[]): void {
  answers = next;
  for (const listener of listeners) listener();
}

function change(id: number, how: (answer: Answer) => Answer): void {
  publish(answers.map(answer => (answer.id === id ? how(answer) : answer)));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The questions and answers so far, the oldest first. */
export function useConversation(): Answer[] {
  return useSyncExternalStore(subscribe, () => answers);
}

/** Asks; the answer arrives in the conversation. What is still being answered is stopped. */
export function ask(question: Question): void {
  stop();
  lastId += 1;
  const answer = newAnswer(lastId, question, historyOf(answers), performance.now());
  publish([...answers, answer]);
  void receive(answer);
}

/** Asks the same question again, in its place. */
export function retry({ id, question, history }: Answer): void {
  stop();
  lastId += 1;
  const answer = newAnswer(lastId, question, history, performance.now());
  change(id, () => answer);
  void receive(answer);
}

/** Stops the answer that is being written and keeps its text. */
export function stop(): void {
  running?.abort.abort();
}

/** Begins a new conversation. */
export function clear(): void {
  stop();
  publish([]);
}

async function receive({ id, question, history }: Answer): Promise<void> {
  const abort = new AbortController();
  running = { id, abort };
  const take = (event: ServerEvent) => change(id, answer => reduceAnswer(answer, event, performance.now()));
  try {
    await stream('post', '/query/events', { body: requestOf(question, history), signal: abort.signal }, take);
    change(id, answer =>
      isOpen(answer) ? failed(answer, new Problem(0, 'The connection was lost.')) : answer,
    );
  } catch (error) {
    change(id, answer =>
      abort.signal.aborted ? { ...answer, phase: 'stopped' } : failed(answer, problemOf(error)),
    );
  } finally {
    if (running.id === id) running = undefined;
  }
}

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

/** Whether more of an answer is to come. */
export function isOpen({ phase }: Answer): boolean {
  return phase === 'searching' || phase === 'writing';
}

function failed(answer: Answer, problem: Problem): Answer {
  return { ...answer, phase: 'failed', problem };
}
