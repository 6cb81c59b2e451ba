import { useQuery } from '@tanstack/react-query';
import { type Schemas, get } from '../../api/client';

const STALE_MS = 30_000;
/** The most nodes of a level that the server gives. */
const MAX_NODES = 1000;

export type TreeEntry = Schemas['TreeEntry'];
export type TreeNode = Schemas['TreeNode'];

/** The nodes of a level of the tree, those over most passages first, and how many there are on every level. */
export function useTree(level: number, isWanted = true) {
  return useQuery({
    queryKey: ['graph', 'tree', level],
    queryFn: ({ signal }) => get('/tree', { query: { level, limit: MAX_NODES }, signal }),
    staleTime: STALE_MS,
    enabled: isWanted,
    placeholderData: before => before,
  });
}

/** The levels of the tree; none if it was not derived. */
export function useTreeLevels() {
  return useQuery({
    queryKey: ['graph', 'tree', 'levels'],
    queryFn: async ({ signal }) => (await get('/tree', { query: { limit: 1 }, signal })).levels,
    staleTime: STALE_MS,
  });
}

/** A node with what it joins. */
export function useTreeNode(id: string) {
  return useQuery({
    queryKey: ['graph', 'tree', 'node', id],
    queryFn: ({ signal }) => get('/tree/{id}', { path: { id }, signal }),
    staleTime: STALE_MS,
  });
}
