/** The paths of the Ask page: a new conversation, one that is kept, and a comparison. */
export const ASK_PATHS = /^\/(?:c\/([\w-]+)|compare)?$/;

/** What a path of the Ask page shows: a comparison, or a conversation by its id; no id is a new one. */
export function shownAt(
  path: string,
): { kind: 'compare' } | { kind: 'conversation'; id: string | undefined } {
  if (path === '/compare') return { kind: 'compare' };
  return { kind: 'conversation', id: ASK_PATHS.exec(path)?.[1] };
}

/** The path of a conversation. */
export function pathOf(id: string | undefined): string {
  return id === undefined ? '/' : `/c/${id}`;
}
