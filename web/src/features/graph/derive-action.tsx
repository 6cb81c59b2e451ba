import { useEffect, useRef, useState } from 'react';
import { useRights } from '../../app/use-server';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { ProblemState, Skeleton } from '../../design/state';
import { numbers } from '../../i18n/formats';
import { useLanguage, useTexts } from '../../i18n/text';
import styles from './derive-action.module.css';
import texts from './texts';
import { type LayerName, useDerive, useLayer, useLayerEstimate } from './use-layers';

/** Derives a layer in the background; nothing for people who may only read. */
export function DeriveAction({ layer }: { layer: LayerName }) {
  const t = useTexts(texts);
  const rights = useRights();
  const [isAsking, setAsking] = useState(false);
  const { isDeriving, readAgain } = useLayer(layer);
  const wasDeriving = useRef(false);
  useEffect(() => {
    if (wasDeriving.current && !isDeriving) readAgain();
    wasDeriving.current = isDeriving;
  }, [isDeriving, readAgain]);
  if (rights?.canWrite === false) return null;
  return (
    <>
      <Button disabled={isDeriving} onClick={() => setAsking(true)}>
        {t(isDeriving ? 'deriving' : 'derive')}
      </Button>
      {isAsking && <DeriveDialog layer={layer} onClose={() => setAsking(false)} />}
    </>
  );
}

function DeriveDialog({ layer, onClose }: { layer: LayerName; onClose: () => void }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const estimate = useLayerEstimate(layer);
  const derive = useDerive(layer, onClose);
  const [budget, setBudget] = useState('');
  const range = ({ low, high }: { low: number; high: number }, digits = 0) => {
    const format = numbers(language, { maximumFractionDigits: digits });
    return low === high ? format.format(high) : `${format.format(low)} – ${format.format(high)}`;
  };
  const rows = (): [string, string][] => {
    if (!estimate.data) return [];
    const { nodes, total, unpriced } = estimate.data;
    const { calls, input_tokens: input, output_tokens: output, price } = total;
    return [
      [t('deriveNodes'), range({ low: nodes, high: nodes })],
      [t('deriveCalls'), range(calls)],
      [t('deriveTokens'), range({ low: input.low + output.low, high: input.high + output.high })],
      [t('derivePrice'), price ? range(price, 2) : t('deriveNoPrice', { models: unpriced.join(', ') })],
    ];
  };
  const isFree = estimate.data?.total.calls.high === 0;
  return (
    <Dialog
      title={t(layer === 'tree' ? 'deriveTree' : 'deriveCommunities')}
      onClose={onClose}
      actions={
        <Button
          look="main"
          disabled={!estimate.data || derive.isPending}
          onClick={() => derive.mutate(budget.trim() === '' ? undefined : budget.trim())}
        >
          {t('derive')}
        </Button>
      }
    >
      <div className={styles.derive}>
        <p>{t('deriveBody')}</p>
        {estimate.isError ? (
          <ProblemState error={estimate.error} onRetry={() => void estimate.refetch()} />
        ) : !estimate.data ? (
          <Skeleton lines={4} />
        ) : (
          <dl className={styles.facts}>
            {rows().map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
        {estimate.data && !isFree && (
          <Field label={t('deriveBudget')} hint={t('deriveBudgetHint')}>
            {ids => (
              <input
                {...ids}
                type="text"
                className={inputClass}
                value={budget}
                onChange={event => setBudget(event.target.value)}
              />
            )}
          </Field>
        )}
      </div>
    </Dialog>
  );
}
