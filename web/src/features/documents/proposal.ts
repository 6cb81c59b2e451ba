import { useSyncExternalStore } from 'react';
import { addFiles } from './adding';
import { isLarge } from './batch';

/** Files that wait for a decision. */
let proposed: File[] | undefined;
/** Whether models that are paid for read the documents. */
let isPaid = false;
const listeners = new Set<() => void>();

function publish(next: File[] | undefined): void {
  proposed = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Says whether large batches are estimated first. */
export function setPaid(next: boolean): void {
  isPaid = next;
}

/** Adds files; a large batch only after its cost is shown, if there is one. */
export function proposeFiles(files: File[]): void {
  if (files.length === 0) return;
  if (isPaid && isLarge(files)) publish(files);
  else addFiles(files);
}

/** Ends the proposal and adds these of its files. */
export function decide(files: File[]): void {
  publish(undefined);
  addFiles(files);
}

/** The files that wait for a decision. */
export function useProposal(): File[] | undefined {
  return useSyncExternalStore(subscribe, () => proposed);
}
