import { Suspense, lazy, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { actionOf } from './keys';
import { Palette } from './palette';
import { goKeys } from './places';
import { useSingleKeys } from './single-keys';

const Help = lazy(() => import('./help'));

/** How long a sequence of two keys may take, in milliseconds. */
const SEQUENCE_MS = 1200;

/** Listens to shortcuts on every page, and shows the palette and the help. */
export function Commands() {
  const [shown, setShown] = useState<'palette' | 'help'>();
  const [, navigate] = useLocation();
  const isSingle = useSingleKeys();
  const goingSince = useRef(-Infinity);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target instanceof HTMLElement ? event.target : undefined;
      const isTyping =
        target !== undefined &&
        (target.isContentEditable || target.closest('input, textarea, select') !== null);
      const isGoing = event.timeStamp - goingSince.current < SEQUENCE_MS;
      goingSince.current = -Infinity;
      // A dialog keeps the keys to itself.
      if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
      const action = actionOf({ ...pressOf(event), isTyping }, isGoing, isSingle);
      if (!action) return;
      if (action.kind === 'begin') {
        goingSince.current = event.timeStamp;
      } else if (action.kind === 'go') {
        const path = goKeys().get(action.key);
        if (path === undefined) return;
        event.preventDefault();
        navigate(path);
      } else {
        event.preventDefault();
        setShown(action.kind);
      }
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isSingle, navigate]);
  const close = () => setShown(undefined);
  return (
    <Suspense>
      {shown === 'palette' && <Palette onClose={close} onHelp={() => setShown('help')} />}
      {shown === 'help' && <Help onClose={close} />}
    </Suspense>
  );
}

function pressOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) {
  return { key, ctrlKey, metaKey, altKey };
}
