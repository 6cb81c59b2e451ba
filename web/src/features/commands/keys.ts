/** A key press, as far as shortcuts care. */
export interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  /** Whether the focus is where people type. */
  isTyping: boolean;
}

/** What a key press asks for. */
export type Action =
  { kind: 'palette' } | { kind: 'help' } | { kind: 'go'; key: string } | { kind: 'begin' } | undefined;

/** The key that begins a sequence of two, such as G and D. */
export const GO = 'g';

/**
 * What a key press asks for: Ctrl or Cmd with K everywhere, and single keys where nobody types.
 *
 * @param isGoing whether the key before was `GO`
 * @param isSingle whether single keys are shortcuts
 */
export function actionOf(press: Press, isGoing: boolean, isSingle: boolean): Action {
  const key = press.key.toLowerCase();
  if ((press.ctrlKey || press.metaKey) && !press.altKey && key === 'k') return { kind: 'palette' };
  if (press.isTyping || !isSingle || press.ctrlKey || press.metaKey || press.altKey) return undefined;
  if (isGoing) return { kind: 'go', key };
  if (key === '?') return { kind: 'help' };
  return key === GO ? { kind: 'begin' } : undefined;
}
