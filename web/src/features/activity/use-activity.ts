import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { address, del, get, getBytes, post } from '../../api/client';
import { useHealth } from '../../app/use-server';
import { tell, tellProblem } from '../../design/toast';
import { gaugeOf } from './metrics';

/** Jobs per request. */
const PAGE_SIZE = 50;
/** The most jobs that one request gives. */
const MAX_JOBS = 200;

/** A part of the queue. */
export type Tab = 'active' | 'problems' | 'cancelled' | 'done';

const STATUSES: Record<Tab, string> = {
  active: 'waiting,indexing',
  problems: 'failed,incomplete',
  cancelled: 'cancelled',
  done: 'ready',
};

/** The jobs of a part of the queue, the latest first, those that are worked on before those that wait. */
export function useJobs(tab: Tab) {
  return useInfiniteQuery({
    queryKey: ['documents', 'jobs', tab],
    queryFn: async ({ signal, pageParam: after }) => {
      if (tab !== 'active')
        return get('/jobs', { query: { status: STATUSES[tab], limit: PAGE_SIZE, after }, signal });
      const waiting = await get('/jobs', { query: { status: 'waiting', limit: PAGE_SIZE, after }, signal });
      if (after !== null) return waiting;
      const working = await get('/jobs', { query: { status: 'indexing', limit: MAX_JOBS }, signal });
      return { ...waiting, jobs: [...working.jobs, ...waiting.jobs] };
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    refetchInterval: 15_000,
  });
}

/** The jobs that wait or are worked on, as many as one request gives, and whether the queue is paused. */
export function useActiveJobs() {
  return useQuery({
    queryKey: ['documents', 'jobs', 'known'],
    queryFn: ({ signal }) => get('/jobs', { query: { status: STATUSES.active, limit: MAX_JOBS }, signal }),
    refetchInterval: 15_000,
  });
}

/**
 * The number of model services that indexing waits for, while it is `isBusy`.
 *
 * Events name them, but only to those who listened when the wait began.
 */
export function useWaitedFor(isBusy: boolean): number {
  const health = useHealth();
  const workspace = address.workspace ?? health.data?.configuration?.workspace;
  const { data } = useQuery({
    queryKey: ['documents', 'waited-for', workspace],
    queryFn: async ({ signal }) => {
      const text = new TextDecoder().decode(await getBytes('/metrics', { signal }));
      return gaugeOf(text, 'graphloom_services_paused', workspace ?? '');
    },
    enabled: isBusy && workspace !== undefined,
    refetchInterval: 10_000,
    retry: false,
  });
  return isBusy ? (data ?? 0) : 0;
}

/** Removes all documents from the queue. */
export function useCancelAll(onDone: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => post('/documents/cancel_pipeline'),
    onSuccess: ({ message }) => {
      tell(message);
      onDone();
    },
    onError: tellProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: ['documents'] }),
  });
}

/** What costs are grouped by. */
export type By = 'day' | 'role' | 'model' | 'document';

/** The costs of model calls from the ledger. */
export function useCost(by: By) {
  return useQuery({
    queryKey: ['activity', 'cost', by],
    queryFn: ({ signal }) => get('/cost', { query: { by }, signal }),
    refetchInterval: 15_000,
  });
}

/** What the workspace may spend and has spent. */
export function useBudget() {
  return useQuery({
    queryKey: ['activity', 'budget'],
    queryFn: ({ signal }) => get('/budget', { signal }),
    refetchInterval: 15_000,
  });
}

/** Sets or removes what the workspace may spend. */
export function useSetBudget(onDone: () => void) {
  const queries = useQueryClient();
  const done = {
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: ['activity', 'budget'] }),
  };
  const set = useMutation({
    mutationFn: (body: { amount: string; restart: boolean }) => post('/budget', { body }),
    ...done,
  });
  const remove = useMutation({ mutationFn: () => del('/budget'), ...done });
  return { set, remove };
}

/** The time, in milliseconds, as of the last second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
