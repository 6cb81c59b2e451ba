import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schemas, address, del, get, post, upload } from '../../api/client';
import { uiOf } from '../../api/address';
import type { Problem } from '../../api/problem';
import { tell, tellProblem } from '../../design/toast';

/** The number of documents of a workspace. */
export function useSize(workspace: string) {
  return useQuery({
    queryKey: ['settings', 'size', workspace],
    queryFn: async ({ signal }) =>
      (await get('/documents/status_counts', { workspace, signal })).status_counts.all ?? 0,
  });
}

/** Begins a workspace with its first documents, and opens it. */
export function useCreate() {
  return useMutation<string, Problem, { name: string; files: File[] }>({
    mutationFn: async ({ name, files }) => {
      for (const file of files) await upload(file, false, undefined, name);
      return name;
    },
    onSuccess: name => location.assign(uiOf(address, name)),
  });
}

/** Removes all documents of a workspace. */
export function useEmpty(onDone: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (workspace: string) => del('/documents', { workspace }),
    onSuccess: ({ message }) => {
      tell(message);
      onDone();
    },
    onError: tellProblem,
    onSettled: () => queries.invalidateQueries(),
  });
}

/** What a test of a model showed. */
export interface Tested {
  /** Milliseconds until the response. */
  elapsed: number;
  /** What the model answered, or the number of dimensions of its vectors. */
  result: string | number;
}

/** Sends the answer model a short request without documents. */
export function useAnswerTest() {
  return useMutation<Tested, Problem, undefined>({
    mutationFn: async () => {
      const began = performance.now();
      const { response } = await post('/query', {
        body: { query: 'Answer with one short sentence: can you hear me?', mode: 'bypass', stream: false },
      });
      return { elapsed: performance.now() - began, result: response };
    },
  });
}

/** Embeds a short text. */
export function useEmbedderTest() {
  return useMutation<Tested, Problem, undefined>({
    mutationFn: async () => {
      const began = performance.now();
      const { data } = await post('/v1/embeddings', {
        body: { model: 'graphloom', input: 'A short text.', encoding_format: 'float' },
      });
      const vector = data[0]?.embedding;
      return { elapsed: performance.now() - began, result: Array.isArray(vector) ? vector.length : 0 };
    },
  });
}

/** Who the server takes the caller for, and what that allows. */
export function useCaller() {
  return useQuery({
    queryKey: ['settings', 'caller'],
    queryFn: ({ signal }) => get('/auth/verify', { signal }),
  });
}

/** The keys and users of the server. */
export function useAccess() {
  return useQuery({
    queryKey: ['settings', 'access'],
    queryFn: ({ signal }) => get('/access', { signal }),
  });
}

/** What a new key or user may do, and where; everywhere if no workspace is named. */
export interface NewAccess {
  name: string;
  right: Schemas['Right'];
  workspaces: string[];
}

/** Makes keys and users, and takes them back. */
export function useAccessChanges() {
  const queries = useQueryClient();
  const onSettled = () => queries.invalidateQueries({ queryKey: ['settings', 'access'] });
  const body = ({ name, right, workspaces }: NewAccess) => ({
    name,
    right,
    workspaces: workspaces.length === 0 ? null : workspaces,
  });
  const createKey = useMutation<Schemas['CreatedAccessKey'], Problem, NewAccess>({
    mutationFn: async wanted => await post('/access/keys', { body: body(wanted) }),
  });
  const createUser = useMutation<Schemas['CreatedAccessUser'], Problem, NewAccess>({
    mutationFn: async wanted => await post('/access/users', { body: body(wanted) }),
  });
  const revokeKey = useMutation({
    mutationFn: (id: string) => del('/access/keys/{key_id}', { path: { key_id: id } }),
    onError: tellProblem,
    onSettled,
  });
  const removeUser = useMutation({
    mutationFn: (name: string) => del('/access/users/{user_name}', { path: { user_name: name } }),
    onError: tellProblem,
    onSettled,
  });
  /** Reads everything again: after the first key, the caller is another. */
  const refresh = () => queries.invalidateQueries();
  return { createKey, createUser, revokeKey, removeUser, refresh };
}
