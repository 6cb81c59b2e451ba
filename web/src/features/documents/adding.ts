import { useSyncExternalStore } from 'react';
import { post, upload } from '../../api/client';
import { type Problem, problemOf } from '../../api/problem';

/** A document on its way to the server. */
export interface Adding {
  id: number;
  name: string;
  state: 'waiting' | 'sending' | 'added' | 'failed';
  problem: Problem | undefined;
  send: (replace: boolean) => Promise<unknown>;
}

/** Requests at the same time; the server takes turns anyway. */
const CONCURRENT = 3;

let all: Adding[] = [];
let lastId = 0;
let sending = 0;
const listeners = new Set<() => void>();
const whenAdded = new Set<() => void>();

function publish(next: Adding[]): void {
  all = next;
  for (const listener of listeners) listener();
}

function change(id: number, to: Partial<Adding>): void {
  publish(all.map(one => (one.id === id ? { ...one, ...to } : one)));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What was added on this page since it was last dismissed. */
export function useAdding(): Adding[] {
  return useSyncExternalStore(subscribe, () => all);
}

/** Calls `listener` whenever the server has accepted a document. */
export function onAdded(listener: () => void): () => void {
  whenAdded.add(listener);
  return () => whenAdded.delete(listener);
}

/** Adds files, a few at a time. */
export function addFiles(files: File[]): void {
  enqueue(files.map(file => ({ name: file.name, send: (replace: boolean) => upload(file, replace) })));
}

/** Adds a text under a name. */
export function addText(name: string, text: string): void {
  enqueue([
    { name, send: replace => post('/documents/text', { body: { text, file_source: name, replace } }) },
  ]);
}

/** Sends what failed once more, in place of the document of that name if asked. */
export function sendAgain(id: number, replace: boolean): void {
  const failed = all.find(one => one.id === id);
  if (!failed) return;
  change(id, { state: 'waiting', problem: undefined, send: () => failed.send(replace) });
  next();
}

/** Forgets what is over. */
export function dismiss(): void {
  publish(all.filter(({ state }) => state === 'waiting' || state === 'sending'));
}

function enqueue(documents: Pick<Adding, 'name' | 'send'>[]): void {
  const added = documents.map((document): Adding => {
    lastId += 1;
    return { ...document, id: lastId, state: 'waiting', problem: undefined };
  });
  publish([...all, ...added]);
  next();
}

function next(): void {
  while (sending < CONCURRENT) {
    const waiting = all.find(({ state }) => state === 'waiting');
    if (!waiting) return;
    sending += 1;
    change(waiting.id, { state: 'sending' });
    void run(waiting);
  }
}

async function run({ id, send }: Adding): Promise<void> {
  try {
    await send(false);
    change(id, { state: 'added' });
    for (const listener of whenAdded) listener();
  } catch (error) {
    change(id, { state: 'failed', problem: problemOf(error) });
  } finally {
    sending -= 1;
    next();
  }
}
