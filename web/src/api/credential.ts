import { useSyncExternalStore } from 'react';

/** What the user shows the server: an API key, or the token of a login. */
export interface Credential {
  kind: 'key' | 'token';
  value: string;
}

/** `open` until the server refuses; `refused` without an accepted credential. */
type Access = 'open' | 'refused';

const STORED = 'graphloom.credential';

let shown: Credential | undefined = read();
let access: Access = 'open';
const listeners = new Set<() => void>();

function read(): Credential | undefined {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? 'null');
    if (typeof stored !== 'object' || stored === null || !('kind' in stored) || !('value' in stored))
      return undefined;
    const { kind, value } = stored;
    return (kind === 'key' || kind === 'token') && typeof value === 'string' ? { kind, value } : undefined;
  } catch {
    return undefined;
  }
}

function set(next: Credential | undefined, nextAccess: Access): void {
  shown = next;
  access = nextAccess;
  try {
    if (next) localStorage.setItem(STORED, JSON.stringify(next));
    else localStorage.removeItem(STORED);
  } catch {
    // Without storage, the credential lasts until the page is closed.
  }
  for (const listener of listeners) listener();
}

export const credential = {
  /** Headers that show it. */
  headers(): Record<string, string> {
    if (!shown) return {};
    return shown.kind === 'key' ? { 'x-api-key': shown.value } : { authorization: `Bearer ${shown.value}` };
  },
  /** Uses this one from now on. */
  accept: (next: Credential) => set(next, 'open'),
  /** Takes over a token that replaces the current one. */
  renew(token: string | null): void {
    if (token !== null && shown?.kind === 'token') set({ kind: 'token', value: token }, access);
  },
  /** The server refused it. */
  refuse(): void {
    if (access !== 'refused') set(undefined, 'refused');
  },
  /** Forgets it. */
  signOut: () => set(undefined, 'refused'),
};

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether the server lets the user in, and with what. */
export function useCredential(): { access: Access; shown: Credential | undefined } {
  return {
    access: useSyncExternalStore(subscribe, () => access),
    shown: useSyncExternalStore(subscribe, () => shown),
  };
}
