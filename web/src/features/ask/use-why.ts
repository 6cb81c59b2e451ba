import { useMutation, useQuery } from '@tanstack/react-query';
import { post } from '../../api/client';
import type { Problem } from '../../api/problem';
import type { Answer } from './answer';
import { requestOf } from './asking';
import { foundOf } from './why';

/** What the search for an answer finds. */
export function useWhy({ id, question, history }: Answer) {
  return useQuery({
    queryKey: ['why', id],
    queryFn: async ({ signal }) =>
      foundOf(await post('/query/data', { body: requestOf(question, history), signal })),
    staleTime: Infinity,
  });
}

/** The prompt that the answer model gets. */
export function usePrompt({ question, history }: Answer) {
  return useMutation<string, Problem>({
    mutationFn: async () => {
      const body = { ...requestOf(question, history), only_need_prompt: true };
      return (await post('/query', { body })).response;
    },
  });
}
