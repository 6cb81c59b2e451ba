import { useQuery } from '@tanstack/react-query';
import { address, get } from '../../api/client';
import { useHealth } from '../../app/use-server';
import { type Connection, KEY_PLACEHOLDER } from './snippets';

/** How programs reach the workspace of this page. */
export function useConnection() {
  const health = useHealth();
  const verified = useQuery({
    queryKey: ['connect', 'verified'],
    queryFn: ({ signal }) => get('/auth/verify', { signal }),
    staleTime: 60_000,
  });
  const workspace = address.workspace ?? health.data?.configuration?.workspace;
  const connection: Connection | undefined =
    workspace === undefined || !verified.data
      ? undefined
      : {
          server: address.server,
          api: address.api,
          workspace,
          // Without keys and users, every caller is the one of this machine.
          key: verified.data.name === 'local' ? undefined : KEY_PLACEHOLDER,
        };
  return {
    connection,
    error: verified.error ?? (health.data ? null : health.error),
    retry: () => void Promise.all([health.refetch(), verified.refetch()]),
  };
}
