import { useSyncExternalStore } from 'react';
import { problemOf } from '../api/problem';
import { useTexts } from '../i18n/text';
import { Button } from './button';
import { CloseIcon } from './icons';
import texts from './texts';
import styles from './toast.module.css';

interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
}

/** How long good news stays; bad news stays until it is closed. */
const STAY_MS = 5000;

let toasts: Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function change(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const close = (id: number) => change(toasts.filter(toast => toast.id !== id));

/** Tells that something is done. */
export function tell(text: string): void {
  last += 1;
  const id = last;
  change([...toasts, { id, text, tone: 'plain' }]);
  setTimeout(() => close(id), STAY_MS);
}

/** Tells that something failed, and what to do about it. */
export function tellProblem(error: unknown): void {
  const { message, remedy } = problemOf(error);
  const text = remedy === undefined ? message : `${message}\n${remedy}`;
  if (toasts.some(toast => toast.text === text)) return;
  last += 1;
  change([...toasts, { id: last, text, tone: 'bad' }]);
}

export function Toasts() {
  const t = useTexts(texts);
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
      {shown.map(({ id, text, tone }) => (
        <div key={id} className={styles.toast} data-tone={tone}>
          <span className={styles.text}>{text}</span>
          <Button look="quiet" label={t('close')} onClick={() => close(id)}>
            <CloseIcon />
          </Button>
        </div>
      ))}
    </div>
  );
}
