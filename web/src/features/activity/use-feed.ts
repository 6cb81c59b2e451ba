import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { get, stream } from '../../api/client';
import { EMPTY, type Feed, type Line, earlierLines, reduceFeed } from './feed';

/** The shortest time between two readings because something happened, in milliseconds. */
const SETTLE_MS = 700;
/** How long to wait before following events again. */
const RECONNECT_MS = 3000;

interface Following {
  feed: Feed;
  /** Whether events arrive. */
  isLive: boolean;
}

/**
 * Kept among the results of queries, so that it stays while other pages are open, the next visit continues after the last event,
 * and it is gone when another user signs in.
 */
const KEY = ['activity', 'feed'];
const NONE: Following = { feed: EMPTY, isLive: false };

/** Follows the events of all jobs until `signal` ends it, and reads the tables again as jobs change. */
async function follow(queries: QueryClient, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const readAgain = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void queries.invalidateQueries({ queryKey: ['documents'] });
    }, SETTLE_MS);
  };
  const change = (next: (before: Following) => Following) =>
    queries.setQueryData<Following>(KEY, before => next(before ?? NONE));
  const isOver = () => signal.aborted;
  while (!isOver()) {
    const lastEventId = queries.getQueryData<Following>(KEY)?.feed.lastEventId;
    await stream('get', '/jobs/events', { signal, lastEventId }, event => {
      change(({ feed }) => ({ feed: reduceFeed(feed, event, Date.now()), isLive: event.name !== 'end' }));
      readAgain();
    }).catch(() => undefined);
    if (isOver()) break;
    change(({ feed }) => ({ feed, isLive: false }));
    await new Promise(resolve => setTimeout(resolve, RECONNECT_MS));
  }
  clearTimeout(timer);
}

/** What the events have told, and whether they arrive. */
export function useFeed(): Following {
  const queries = useQueryClient();
  const { data } = useQuery<Following>({
    queryKey: KEY,
    initialData: NONE,
    enabled: false,
    gcTime: Infinity,
    structuralSharing: false,
  });
  useEffect(() => {
    const abort = new AbortController();
    void follow(queries, abort.signal);
    return () => abort.abort();
  }, [queries]);
  return data;
}

/** What happened before the log was opened, as far as the server remembers it. */
export function useEarlier(): Line[] {
  const { data } = useQuery({
    queryKey: ['activity', 'earlier'],
    queryFn: async ({ signal }) =>
      earlierLines((await get('/documents/pipeline_status', { signal })).history_messages),
    staleTime: Infinity,
    gcTime: Infinity,
  });
  return data ?? [];
}
