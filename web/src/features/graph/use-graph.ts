import {
  type UseQueryResult,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useState } from 'react';
import { del, get, post } from '../../api/client';
import { problemOf } from '../../api/problem';
import { type Part, type Picture, partOf, pictureOf } from './view';

/** How far the first part reaches, in relations; a larger one reaches further. */
const depthOf = (most: number): number => (most > MAX_NEIGHBOURS ? 6 : 2);
const STALE_MS = 30_000;
/** How many entities the start offers. */
const POPULAR = 40;
/** The most neighbours that an entity's own list has; the most that the server gives. */
const MAX_NEIGHBOURS = 1000;
/** How many edits the history has. */
const MAX_EDITS = 200;
/** How many claims an entity's list has. */
const CLAIMS = 50;

/** What the page reads: the part around an entity, and all neighbours of those that were expanded. */
export interface Surroundings {
  first: Picture | undefined;
  /** The neighbourhoods of the expanded entities, in their order, up to the first that is still being read. */
  around: Part[];
  isPending: boolean;
  error: unknown;
  retry: () => void;
}

/** The part around an entity with at most `most` entities, and the neighbourhoods of the expanded ones, each once. */
export function useSurroundings(entity: string, most: number, expanded: string[]): Surroundings {
  const first = useQuery(pictureQuery(entity, most));
  const rest = useQueries({ combine: combined, queries: [...new Set(expanded)].map(neighbourhoodQuery) });
  return {
    first: first.data,
    around: rest.around,
    isPending: first.isPending || rest.isPending,
    error: first.error ?? rest.error,
    retry: () => {
      if (first.isError) void first.refetch();
      rest.retry();
    },
  };
}

/** One result for all neighbourhoods; it stays the same object as long as no response changes. */
function combined(all: UseQueryResult<Part>[]): Omit<Surroundings, 'first'> {
  const around: Part[] = [];
  for (const { data } of all) {
    if (!data) break;
    around.push(data);
  }
  return {
    around,
    isPending: all.some(({ isPending }) => isPending),
    error: all.find(({ error }) => error !== null)?.error ?? undefined,
    retry: () => all.forEach(result => void (result.isError && result.refetch())),
  };
}

function pictureQuery(label: string, most: number) {
  const query = { label, max_depth: depthOf(most), max_nodes: most };
  return {
    queryKey: ['graph', 'picture', label, most],
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      pictureOf(await get('/graph/picture', { query, signal })),
    staleTime: STALE_MS,
  };
}

function neighbourhoodQuery(label: string) {
  const query = { label, max_depth: 1, max_nodes: MAX_NEIGHBOURS };
  return {
    queryKey: ['graph', 'part', label],
    queryFn: async ({ signal }: { signal: AbortSignal }) => partOf(await get('/graphs', { query, signal })),
    staleTime: STALE_MS,
  };
}

/** An entity with all its neighbours. The entity comes first; there is none if the graph has no such entity. */
export function useNeighbourhood(name: string) {
  return useQuery(neighbourhoodQuery(name));
}

/** The number of entities in the whole graph. */
export function useTotal() {
  return useQuery({
    queryKey: ['graph', 'total'],
    queryFn: async ({ signal }) => (await get('/graph/label/list', { signal })).length,
    // The server has no shorter way to tell than all names.
    staleTime: 300_000,
  });
}

/** The entities with the most relations. */
export function usePopular() {
  return useQuery({
    queryKey: ['graph', 'popular'],
    queryFn: ({ signal }) => get('/graph/label/popular', { query: { limit: POPULAR }, signal }),
    staleTime: STALE_MS,
  });
}

/** The entities whose names match a text, best first. */
export function useMatches(text: string) {
  const q = text.trim();
  return useQuery({
    queryKey: ['graph', 'matches', q],
    queryFn: ({ signal }) => get('/graph/label/search', { query: { q, limit: 12 }, signal }),
    enabled: q !== '',
    staleTime: STALE_MS,
    placeholderData: before => before,
  });
}

/** The shortest path between two entities. */
export function usePath(from: string, to: string) {
  return useQuery({
    queryKey: ['graph', 'path', from, to],
    queryFn: async ({ signal }) => {
      const { path, seen, is_limited } = await get('/graph/path', { query: { from, to }, signal });
      return { path: path ? partOf(path) : undefined, seen, isLimited: is_limited };
    },
    enabled: from !== '' && to !== '',
    staleTime: STALE_MS,
    retry: false,
  });
}

/** The dated claims about an entity. */
export function useClaims(entity: string) {
  return useQuery({
    queryKey: ['graph', 'claims', entity],
    queryFn: ({ signal }) => get('/claims', { query: { entity, limit: CLAIMS }, signal }),
    staleTime: STALE_MS,
  });
}

/** Some chunks, each as soon as it is read. */
export function useChunks(ids: string[]) {
  return useQueries({
    queries: ids.map(id => ({
      queryKey: ['chunk', id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        get('/chunks/{chunk_id}', { path: { chunk_id: id }, signal }),
      staleTime: 60_000,
    })),
  });
}

/** The edits of the graph, latest first. */
export function useEdits() {
  return useQuery({
    queryKey: ['graph', 'edits'],
    queryFn: ({ signal }) => get('/graph/decisions', { query: { limit: MAX_EDITS }, signal }),
  });
}

/** The fields of an entity that people edit. */
export interface EntityFields {
  name: string;
  kind: string;
  description: string;
}

/** An edit that was just made, and the decisions that would undo it, latest last. */
export interface Done {
  what: 'edited' | 'merged' | 'deleted' | 'undone';
  name: string;
  decisions: string[];
}

/** Edits of the graph, and the last one as long as it is offered to be undone. */
export function useEditing() {
  const queries = useQueryClient();
  const [done, setDone] = useState<Done>();
  const onSuccess = async (next: Done) => {
    setDone(next);
    await queries.invalidateQueries({ queryKey: ['graph'] });
  };
  const edit = useMutation({
    mutationFn: async ({ before, after }: { before: EntityFields; after: EntityFields }): Promise<Done> => {
      const renamed = after.name !== before.name;
      const { decisions } = await post('/graph/entity/edit', {
        body: {
          entity_name: before.name,
          updated_data: {
            ...(renamed && { entity_name: after.name }),
            ...(after.kind !== before.kind && { entity_type: after.kind }),
            ...(after.description !== before.description && { description: after.description }),
          },
          allow_rename: renamed,
          allow_merge: false,
        },
      });
      return { what: 'edited', name: after.name, decisions };
    },
    onSuccess,
  });
  const merge = useMutation({
    mutationFn: async ({ from, into }: { from: string; into: string }): Promise<Done> => {
      const { decisions } = await post('/graph/entities/merge', {
        body: { entities_to_change: [from], entity_to_change_into: into },
      });
      return { what: 'merged', name: into, decisions };
    },
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: async (name: string): Promise<Done> => {
      const { decision } = await del('/graph/entity/delete', { body: { entity_name: name } });
      return { what: 'deleted', name, decisions: [decision] };
    },
    onSuccess,
  });
  const undo = useMutation({
    mutationFn: async ({ decisions, name }: Pick<Done, 'decisions' | 'name'>): Promise<Done> => {
      const undoing: string[] = [];
      for (const decision of [...decisions].reverse()) {
        undoing.push((await post('/graph/decisions/undo', { body: { decision } })).decision);
      }
      return { what: 'undone', name, decisions: undoing };
    },
    onSuccess,
  });
  return { edit, merge, remove, undo, done, dismiss: () => setDone(undefined) };
}

export type Editing = ReturnType<typeof useEditing>;

/** What to tell about a failed edit. */
export function faultOf(error: unknown): string {
  const { message, remedy } = problemOf(error);
  return remedy === undefined ? message : `${message}\n${remedy}`;
}
