import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const STORED = 'graphloom.theme';

let theme: Theme = stored();
const listeners = new Set<() => void>();
apply();

function stored(): Theme {
  try {
    const value = localStorage.getItem(STORED);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}

function apply(): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Changes the theme of the whole UI. */
export function setTheme(next: Theme): void {
  theme = next;
  try {
    localStorage.setItem(STORED, next);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  apply();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The chosen theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}
