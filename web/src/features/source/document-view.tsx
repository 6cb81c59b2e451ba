import { Suspense, lazy, useMemo, useState } from 'react';
import type { Schemas } from '../../api/client';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { Switch } from '../../design/switch';
import { useTexts } from '../../i18n/text';
import { passagesOf } from './pages';
import { SourceText } from './source-text';
import styles from './source.module.css';
import texts from './texts';
import { useOriginal } from './use-source';

const PdfPages = lazy(() => import('./pdf-pages'));

interface Props {
  document: Schemas['DocumentDetail'];
  bytes: Uint8Array;
  /** The span to mark and to show first. */
  span?: [number, number] | undefined;
}

/** A document: its pages where its file is kept and has some, else its text. One span is marked and scrolled to. */
export function DocumentView({ document, bytes, span }: Props) {
  const t = useTexts(texts);
  const [isText, setText] = useState(false);
  const text = <SourceText document={document} bytes={bytes} span={span} />;
  if (document.format !== 'pdf') return text;
  if (document.original_bytes == null) {
    return (
      <div className={styles.text}>
        <Note>{t('noOriginal')}</Note>
        {text}
      </div>
    );
  }
  return (
    <div className={styles.text}>
      <Switch
        label={t('view')}
        items={[
          { name: t('asPages'), isOn: !isText, onChoose: () => setText(false) },
          { name: t('asText'), isOn: isText, onChoose: () => setText(true) },
        ]}
      />
      {isText ? text : <OriginalPages document={document} bytes={bytes} span={span} />}
    </div>
  );
}

function OriginalPages({ document, bytes, span }: Props) {
  const original = useOriginal(document.id);
  const [from, to] = span ?? [];
  const passages = useMemo(
    () => (from === undefined || to === undefined ? [] : passagesOf(document.parts, bytes, [from, to])),
    [document.parts, bytes, from, to],
  );
  if (original.isError)
    return <ProblemState error={original.error} onRetry={() => void original.refetch()} />;
  if (!original.data) return <Skeleton lines={14} />;
  return (
    <Suspense fallback={<Skeleton lines={14} />}>
      <PdfPages file={original.data} passages={passages}>
        <SourceText document={document} bytes={bytes} span={span} />
      </PdfPages>
    </Suspense>
  );
}
