import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { ProblemState, Skeleton } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import { type Range, batchCost } from './batch';
import styles from './documents.module.css';
import texts from './texts';
import { useReExtractEstimate } from './use-documents';

interface Props {
  ids: string[];
  onReExtract: () => void;
  onClose: () => void;
}

/** Says what extracting documents again would cost, and asks. */
export function ReExtractDialog({ ids, onReExtract, onClose }: Props) {
  const t = useTexts(texts);
  const language = useLanguage();
  const estimate = useReExtractEstimate(ids);
  const range = ({ low, high }: Range, digits: number) => {
    const format = new Intl.NumberFormat(language, { maximumFractionDigits: digits });
    return low === high
      ? format.format(high)
      : t('batchRange', { low: format.format(low), high: format.format(high) });
  };
  const cost = estimate.data && batchCost([estimate.data]);
  const documents = estimate.data?.documents ?? 0;
  return (
    <Dialog
      title={t('reExtractTitle', { count: ids.length })}
      onClose={onClose}
      actions={
        <Button look="main" disabled={documents === 0} onClick={onReExtract}>
          {t('reExtract')}
        </Button>
      }
    >
      <div className={styles.batch}>
        <p>{t('reExtractBody')}</p>
        {estimate.isError ? (
          <ProblemState error={estimate.error} onRetry={() => void estimate.refetch()} />
        ) : !cost ? (
          <Skeleton lines={4} />
        ) : documents === 0 ? (
          <p role="status">{t('reExtractNothing')}</p>
        ) : (
          <dl className={styles.batchFacts}>
            {[
              [t('title'), range({ low: documents, high: documents }, 0)],
              [t('chunks'), range({ low: cost.chunks, high: cost.chunks }, 0)],
              [t('batchCalls'), range(cost.calls, 0)],
              [t('batchTokens'), range(cost.tokens, 0)],
              [
                t('batchPrice'),
                cost.price ? range(cost.price, 2) : t('batchNoPrice', { models: cost.unpriced.join(', ') }),
              ],
            ].map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </Dialog>
  );
}
