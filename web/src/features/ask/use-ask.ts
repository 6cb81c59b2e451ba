import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { useHealth } from '../../app/use-server';
import { useCounts } from '../documents/use-documents';
import { samplesAdded } from '../documents/samples';

/** Questions about the samples, of one passage, of several, and of many. */
const SAMPLE_QUESTIONS = [
  'Who was the first customer of Braidline?',
  'Who built the instrument that the Hearthmoth grew out of?',
  'How much did the recall of the Hearthmoth cost?',
];
/** Entities that questions are suggested about. */
export const SUGGESTED = 3;

/** Whether the workspace has documents, and whether an LLM writes the answers. */
export function useAskable() {
  const counts = useCounts();
  const health = useHealth();
  return { counts, hasLlm: health.data?.configuration?.llm_model != null };
}

/** Questions to start with: those of the samples, or about the best connected entities by `about`; `undefined` until they are known. */
export function useSuggestions(isEnabled: boolean, about: (name: string) => string): string[] | undefined {
  const popular = useQuery({
    queryKey: ['popular', SUGGESTED],
    queryFn: ({ signal }) => get('/graph/label/popular', { query: { limit: SUGGESTED }, signal }),
    enabled: isEnabled,
  });
  if (isEnabled && samplesAdded()) return SAMPLE_QUESTIONS;
  return popular.isError ? [] : popular.data?.map(about);
}
