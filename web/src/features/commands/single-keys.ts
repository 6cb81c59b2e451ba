import { useSyncExternalStore } from 'react';

const STORED = 'graphloom.single-keys';

let isOn = read();
const listeners = new Set<() => void>();

function read(): boolean {
  try {
    return localStorage.getItem(STORED) !== 'off';
  } catch {
    return true;
  }
}

/** Turns shortcuts of single keys on or off. */
export function setSingleKeys(next: boolean): void {
  isOn = next;
  try {
    localStorage.setItem(STORED, next ? 'on' : 'off');
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether single keys are shortcuts. */
export function useSingleKeys(): boolean {
  return useSyncExternalStore(subscribe, () => isOn);
}
