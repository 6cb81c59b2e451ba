import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import type { Schemas } from '../../api/client';
import { useRights } from '../../app/use-server';
import { Button, buttonClass } from '../../design/button';
import { BackIcon, RetryIcon, TrashIcon, WarningIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import { DocumentView } from '../source/document-view';
import { useDocument, useDocumentText } from '../source/use-source';
import styles from './documents.module.css';
import { ReExtractDialog } from './re-extract-dialog';
import { RemoveDialog } from './remove-dialog';
import { sizeOf } from './table';
import texts from './texts';
import { useChanges } from './use-documents';

/** One document: its text, open at the span of the address if there is one, and what is known about it. */
export default function DocumentPage({ id }: { id: string }) {
  const t = useTexts(texts);
  const [search] = useSearchParams();
  const document = useDocument(id);
  const text = useDocumentText(id);
  const error = document.error ?? text.error;
  return (
    <div className={styles.detail}>
      <div className={styles.detailHead}>
        <Link href="/" className={buttonClass('quiet')} aria-label={t('back')} title={t('back')}>
          <BackIcon />
        </Link>
        <h1 className={styles.detailTitle}>{document.data?.title ?? ''}</h1>
        {document.data && <ReExtract id={id} />}
        {document.data && <Remove id={id} />}
      </div>
      {document.data && <Facts document={document.data} />}
      <Scroll className={styles.detailText} label={document.data?.title ?? t('title')}>
        <div className={styles.detailColumn}>
          {error !== null ? (
            <ProblemState
              error={error}
              onRetry={() => void Promise.all([document.refetch(), text.refetch()])}
            />
          ) : document.data && text.data ? (
            <DocumentView document={document.data} bytes={text.data} span={spanOf(search.get('span'))} />
          ) : (
            <Skeleton lines={14} />
          )}
        </div>
      </Scroll>
    </div>
  );
}

/** The span in an address, as `10-90`. */
function spanOf(text: string | null): [number, number] | undefined {
  const [, start, end] = /^(\d+)-(\d+)$/.exec(text ?? '') ?? [];
  return start === undefined || end === undefined ? undefined : [Number(start), Number(end)];
}

function ReExtract({ id }: { id: string }) {
  const t = useTexts(texts);
  const rights = useRights();
  const { reExtract } = useChanges(t);
  const [isAsking, setAsking] = useState(false);
  if (rights?.canWrite === false) return null;
  return (
    <>
      <Button look="quiet" onClick={() => setAsking(true)}>
        <RetryIcon />
        {t('reExtract')}
      </Button>
      {isAsking && (
        <ReExtractDialog
          ids={[id]}
          onClose={() => setAsking(false)}
          onReExtract={() => {
            setAsking(false);
            reExtract.mutate([id]);
          }}
        />
      )}
    </>
  );
}

function Remove({ id }: { id: string }) {
  const t = useTexts(texts);
  const rights = useRights();
  const [, navigate] = useLocation();
  const { remove } = useChanges(t);
  const [isAsking, setAsking] = useState(false);
  if (rights?.canWrite === false) return null;
  return (
    <>
      <Button look="quiet" onClick={() => setAsking(true)}>
        <TrashIcon />
        {t('delete')}
      </Button>
      {isAsking && (
        <RemoveDialog
          ids={[id]}
          onClose={() => setAsking(false)}
          onRemove={() => {
            setAsking(false);
            remove.mutate([id], { onSuccess: () => navigate('/') });
          }}
        />
      )}
    </>
  );
}

function Facts({ document }: { document: Schemas['DocumentDetail'] }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const faults = [...document.failed_chunks, ...document.damaged_chunks, ...document.chunks_without_context];
  const number = (value: number) => new Intl.NumberFormat(language).format(value);
  const facts: [string, string][] = [
    [t('columnName'), document.file_path],
    [t('format'), document.format],
    [t('size'), sizeOf(document.content_length, language)],
    [t('chunks'), document.chunks_count == null ? '–' : number(document.chunks_count)],
    [t('entities'), number(document.entities)],
    [t('relations'), number(document.relations)],
    [t('addedAt'), new Date(document.created_at).toLocaleString(language)],
    ...Object.entries(document.metadata),
  ];
  return (
    <aside className={styles.detailFacts} aria-label={t('details')}>
      {document.status === 'failed' && document.error_msg != null && (
        <Note tone="bad" icon={<WarningIcon />}>
          {document.error_msg}
        </Note>
      )}
      {document.re_extraction && (
        <Note>
          {t('reExtraction', {
            model: document.re_extraction.model,
            done: document.re_extraction.extracted,
            total: document.re_extraction.chunks,
          })}
        </Note>
      )}
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {document.remarks.length > 0 && (
        <section>
          <h2>{t('remarks')}</h2>
          <ul className={styles.faults}>
            {document.remarks.map(remark => (
              <li key={remark}>{remark}</li>
            ))}
          </ul>
        </section>
      )}
      {faults.length > 0 && (
        <section>
          <h2>{t('faults', { count: faults.length })}</h2>
          <ul className={styles.faults}>
            {faults.map(({ ordinal, reason }) => (
              <li key={`${ordinal} ${reason}`}>{t('chunk', { number: ordinal + 1, reason })}</li>
            ))}
          </ul>
        </section>
      )}
    </aside>
  );
}
