import { keepPreviousData, useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Schemas, del, get, post, stream } from '../../api/client';
import { tell, tellProblem } from '../../design/toast';
import { onAdded } from './adding';
import { type Stages, reduceStages } from './progress';
import { type Sorting, STATUSES, type Tab } from './table';

/** Documents per request; the most that the server gives. */
export const PAGE_SIZE = 200;
/** The shortest time between two readings because something happened, in milliseconds. */
const SETTLE_MS = 700;
/** How long to wait before following events again. */
const RECONNECT_MS = 4000;

/** The number of documents in all and by status. */
export function useCounts() {
  const queries = useQueryClient();
  useEffect(() => onAdded(() => void queries.invalidateQueries({ queryKey: ['documents'] })), [queries]);
  return useQuery({
    queryKey: ['documents', 'counts'],
    queryFn: async ({ signal }) =>
      countsOf((await get('/documents/status_counts', { signal })).status_counts),
    // Events need not reach every process that serves the page.
    refetchInterval: query => (query.state.data && query.state.data.open > 0 ? 2000 : 30_000),
  });
}

export interface Counts {
  all: number;
  ready: number;
  waiting: number;
  working: number;
  failed: number;
  /** Those that still become ready. */
  open: number;
}

function countsOf(counts: Record<string, number>): Counts {
  const of = (tab: Tab) => (STATUSES[tab] ?? []).reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  const [ready, waiting, working, failed] = [of('ready'), of('waiting'), of('working'), of('failed')];
  return { all: counts.all ?? 0, ready, waiting, working, failed, open: waiting + working };
}

type Page = Schemas['PaginatedDocuments'];

/** The pages of the table that are in sight. */
export function usePages(
  tab: Tab,
  search: string,
  sorting: Sorting,
  pages: number[],
): {
  rows: Map<number, Schemas['DocumentItem']>;
  total: number | undefined;
  error: unknown;
  retry: () => void;
} {
  const results = useQueries({
    queries: pages.map(page => ({
      queryKey: ['documents', 'page', tab, search, sorting, page],
      queryFn: ({ signal }: { signal: AbortSignal }): Promise<Page> =>
        post('/documents/paginated', {
          body: {
            page: page + 1,
            page_size: PAGE_SIZE,
            sort_field: sorting.field,
            sort_direction: sorting.direction,
            status_filters: STATUSES[tab] ?? null,
            search,
          },
          signal,
        }),
      placeholderData: keepPreviousData,
    })),
  });
  const rows = new Map<number, Schemas['DocumentItem']>();
  results.forEach(({ data, isPlaceholderData }, index) => {
    if (isPlaceholderData && data.pagination.page !== (pages[index] ?? 0) + 1) return;
    data?.documents.forEach((document, row) => rows.set((pages[index] ?? 0) * PAGE_SIZE + row, document));
  });
  const total = results.find(({ data }) => data !== undefined)?.data?.pagination.total_count;
  return {
    rows,
    total,
    error: results.find(({ error }) => error !== null)?.error,
    retry: () => results.forEach(result => void result.refetch()),
  };
}

/** What deleting these documents would change. */
export function useRemovalPreview(ids: string[]) {
  return useQuery({
    queryKey: ['documents', 'removal', ids],
    queryFn: ({ signal }) => post('/documents/removal_preview', { body: { doc_ids: ids }, signal }),
    staleTime: 10_000,
  });
}

/** What extracting these documents again would cost. */
export function useReExtractEstimate(ids: string[]) {
  return useQuery({
    queryKey: ['documents', 're-extraction', ids],
    queryFn: ({ signal }) => post('/documents/re_extract/estimate', { body: { doc_ids: ids }, signal }),
    staleTime: 10_000,
  });
}

/** The ids of all documents of a tab whose names contain a text. */
export function useSelectAll(onSelected: (ids: string[], total: number) => void) {
  return useMutation({
    mutationFn: ({ tab, search }: { tab: Tab; search: string }) =>
      post('/documents/select', { body: { status_filters: STATUSES[tab] ?? null, search } }),
    onSuccess: ({ ids, total }) => onSelected(ids, total),
    onError: tellProblem,
  });
}

/** The stage of each document that is being indexed; reads the tables again as documents change. */
export function useStages(): Stages {
  const queries = useQueryClient();
  const [stages, setStages] = useState<Stages>(new Map());
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastEventId: string | undefined;
    const readAgain = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ['documents'] });
      }, SETTLE_MS);
    };
    const follow = async () => {
      while (!abort.signal.aborted) {
        await stream('get', '/jobs/events', { signal: abort.signal, lastEventId }, event => {
          lastEventId = event.id ?? lastEventId;
          setStages(before => reduceStages(before, event));
          readAgain();
        }).catch(() => undefined);
        await new Promise(resolve => setTimeout(resolve, RECONNECT_MS));
      }
    };
    void follow();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [queries]);
  return stages;
}

/** Changes of documents; each tells what it did. */
export function useChanges(
  t: (key: 'deleted' | 'retried' | 'reExtracting', values: { count: number }) => string,
) {
  const queries = useQueryClient();
  const onSettled = () => queries.invalidateQueries({ queryKey: ['documents'] });
  const remove = useMutation({
    mutationFn: (ids: string[]) =>
      del('/documents/delete_document', {
        body: { doc_ids: ids, delete_file: false, delete_llm_cache: false },
      }),
    onSuccess: (_, ids) => tell(t('deleted', { count: ids.length })),
    onError: tellProblem,
    onSettled,
  });
  const retry = useMutation({
    mutationFn: async (ids: string[]) => {
      for (const id of ids) await post('/jobs/{job_id}/retry', { path: { job_id: id } });
    },
    onSuccess: (_, ids) => tell(t('retried', { count: ids.length })),
    onError: tellProblem,
    onSettled,
  });
  const cancel = useMutation({
    mutationFn: (id: string) => post('/jobs/{job_id}/cancel', { path: { job_id: id } }),
    onError: tellProblem,
    onSettled,
  });
  const retryAll = useMutation({
    mutationFn: () => post('/documents/reprocess_failed'),
    onSuccess: ({ message }) => tell(message),
    onError: tellProblem,
    onSettled,
  });
  const reExtract = useMutation({
    mutationFn: (ids: string[]) => post('/documents/re_extract', { body: { doc_ids: ids } }),
    onSuccess: (_, ids) => tell(t('reExtracting', { count: ids.length })),
    onError: tellProblem,
    onSettled: async (_, __, ids) => {
      await Promise.all([
        onSettled(),
        ...ids.map(id => queries.invalidateQueries({ queryKey: ['document', id] })),
      ]);
    },
  });
  return { remove, retry, cancel, retryAll, reExtract };
}
