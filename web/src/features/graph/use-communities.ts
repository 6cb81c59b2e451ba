import { useQuery } from '@tanstack/react-query';
import { type Schemas, get } from '../../api/client';

const STALE_MS = 30_000;
/** The most communities of a level that the server gives. */
const MAX_COMMUNITIES = 1000;

export type Community = Schemas['CommunityEntry'];
export type Report = Schemas['CommunityReport'];

/** The communities of a level, best rated first, and how many there are on every level. */
export function useCommunities(level: number) {
  return useQuery({
    queryKey: ['graph', 'communities', level],
    queryFn: ({ signal }) => get('/communities', { query: { level, limit: MAX_COMMUNITIES }, signal }),
    staleTime: STALE_MS,
    placeholderData: before => before,
  });
}

/** A community with its report. */
export function useReport(id: string) {
  return useQuery({
    queryKey: ['graph', 'community', id],
    queryFn: ({ signal }) => get('/communities/{id}', { path: { id }, signal }),
    staleTime: STALE_MS,
  });
}
