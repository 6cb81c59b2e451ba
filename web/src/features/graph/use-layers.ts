import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { get, post } from '../../api/client';
import { tellProblem } from '../../design/toast';

/** The derived layers. */
export type LayerName = 'communities' | 'tree';

/** Whether a layer is being derived, read again while it is. */
export function useLayer(layer: LayerName): { isDeriving: boolean; readAgain: () => void } {
  const queries = useQueryClient();
  const layers = useQuery({
    queryKey: ['layers'],
    queryFn: ({ signal }) => get('/layers', { signal }),
    refetchInterval: query => (query.state.data?.layers.some(({ deriving }) => deriving) ? 1500 : false),
  });
  const isDeriving = layers.data?.layers.some(one => one.layer === layer && one.deriving) === true;
  const readAgain = useCallback(() => void queries.invalidateQueries({ queryKey: ['graph'] }), [queries]);
  return { isDeriving, readAgain };
}

/** What bringing a layer up to date would cost. */
export function useLayerEstimate(layer: LayerName) {
  return useQuery({
    queryKey: ['layers', layer, 'estimate'],
    queryFn: ({ signal }) => post('/layers/{layer}/estimate', { path: { layer }, signal }),
  });
}

/** Begins to derive a layer, within a budget if there is one. */
export function useDerive(layer: LayerName, onBegun: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (budget: string | undefined) =>
      post('/layers/{layer}/derive', { path: { layer }, query: budget === undefined ? {} : { budget } }),
    onSuccess: onBegun,
    onError: tellProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: ['layers'] }),
  });
}
