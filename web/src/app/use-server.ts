import { useQuery } from '@tanstack/react-query';
import { get, type Schemas } from '../api/client';
import { useCredential } from '../api/credential';

/** The state of the server and the configuration of the workspace; asked again while the server cannot be reached. */
export function useHealth() {
  return useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) => get('/health', { signal }),
    refetchInterval: query => (query.state.status === 'error' ? 3000 : 60_000),
    retry: false,
  });
}

/** Whether people log in with a name and a password. */
export function useAuthStatus() {
  return useQuery({
    queryKey: ['auth-status'],
    queryFn: ({ signal }) => get('/auth-status', { signal }),
    staleTime: 60_000,
  });
}

/** The workspaces that the user may read: those of the models the server offers to chat programs. */
export function useWorkspaces() {
  return useQuery({
    queryKey: ['workspaces'],
    queryFn: async ({ signal }) => workspacesOf(await get('/v1/models', { signal })),
    staleTime: 60_000,
  });
}

function workspacesOf(models: Schemas['Models']): string[] {
  const names = models.data.map(({ id }) => id.split(':')).filter(parts => parts.length > 1);
  return [...new Set(names.map(([name]) => name ?? ''))].sort();
}

/** What the user may do in the workspace; `undefined` until the server has said so. */
export function useRights(): { canWrite: boolean; canAdmin: boolean } | undefined {
  const { shown } = useCredential();
  const verified = useQuery({
    queryKey: ['verified', shown?.value],
    queryFn: ({ signal }) => get('/auth/verify', { signal }),
    staleTime: 300_000,
  });
  if (!verified.data) return undefined;
  const { right } = verified.data;
  return { canWrite: right !== 'read', canAdmin: right === 'admin' };
}
