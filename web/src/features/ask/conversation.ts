import { useSyncExternalStore } from 'react';
import { get } from '../../api/client';
import { type Problem, problemOf } from '../../api/problem';
import { type Answer, type Question, historyOf, keptAnswer, newAnswer } from './answer';
import { receive, requestOf } from './asking';

/** The conversation that is shown. */
export interface Conversation {
  /** Its id; none until the server keeps it. */
  id: string | undefined;
  /** Its questions and answers, the oldest first. */
  answers: Answer[];
  /** `loading` while it is read from the server. */
  state: 'ready' | 'loading' | 'failed';
  problem?: Problem;
}

/*
 * The server keeps the conversation, inside the workspace and its rules of deletion. What is here is what the page shows. It is
 * stored nowhere else: a copy in the browser would outlive the deletion of a document that it quotes.
 */
const NONE: Conversation = { id: undefined, answers: [], state: 'ready' };
let shown = NONE;
let lastId = 0;
let running: { id: number; abort: AbortController } | undefined;
const listeners = new Set<() => void>();

function publish(next: Conversation): void {
  shown = next;
  for (const listener of listeners) listener();
}

function change(id: number, how: (answer: Answer) => Answer): void {
  const answers = shown.answers.map(answer => (answer.id === id ? how(answer) : answer));
  const named = answers.find(answer => answer.id === id)?.context?.conversation;
  publish({ ...shown, answers, id: shown.id ?? named ?? undefined });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The conversation that is shown. */
export function useConversation(): Conversation {
  return useSyncExternalStore(subscribe, () => shown);
}

/** The id of the conversation that is shown. */
export function shownId(): string | undefined {
  return shown.id;
}

/** Asks; the answer arrives in the conversation. What is still being answered is stopped. */
export function ask(question: Question): void {
  stop();
  lastId += 1;
  const answer = newAnswer(lastId, question, historyOf(shown.answers), performance.now());
  publish({ ...shown, answers: [...shown.answers, answer] });
  void start(answer, undefined);
}

/** Asks the same question again, in its place. */
export function retry({ id, question, exchange }: Answer): void {
  stop();
  lastId += 1;
  const before = shown.answers.slice(
    0,
    shown.answers.findIndex(answer => answer.id === id),
  );
  const answer = newAnswer(lastId, question, historyOf(before), performance.now());
  publish({ ...shown, answers: shown.answers.map(old => (old.id === id ? answer : old)) });
  void start(answer, exchange);
}

/** Stops the answer that is being written and keeps its text. */
export function stop(): void {
  running?.abort.abort();
}

/** Begins a new conversation. */
export function clear(): void {
  stop();
  publish(NONE);
}

/** Shows a conversation that the server keeps, as it is there now: answers may have been removed with their documents. */
export async function open(id: string): Promise<void> {
  const isSame = shown.id === id;
  if (isSame && running) return;
  stop();
  publish(isSame ? shown : { ...NONE, id, state: 'loading' });
  try {
    const { exchanges } = await get('/conversations/{conversation_id}', { path: { conversation_id: id } });
    if (shown.id !== id || running) return;
    const answers = exchanges.map(item => {
      const known = shown.answers.find(({ exchange }) => exchange === item.exchange);
      return known && item.answer?.done.response === known.text ? known : keptAnswer((lastId += 1), item);
    });
    publish({ id, answers, state: 'ready' });
  } catch (error) {
    if (shown.id === id && !running) publish({ ...NONE, id, state: 'failed', problem: problemOf(error) });
  }
}

async function start({ id, question, history }: Answer, exchange: number | undefined): Promise<void> {
  const abort = new AbortController();
  running = { id, abort };
  const request = {
    ...requestOf(question, history),
    // The server knows the history that it keeps.
    conversation_history: null,
    conversation: shown.id ?? 'new',
    exchange: exchange ?? null,
  };
  await receive(request, abort.signal, how => change(id, how));
  if (running.id === id) running = undefined;
}
