import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../../api/client';
import { Button } from '../../design/button';
import { ChevronIcon, DocumentsIcon, MoreIcon, RetryIcon, StopIcon, TrashIcon } from '../../design/icons';
import { Menu, MenuItem } from '../../design/menu';
import { ProblemState, State } from '../../design/state';
import { times } from '../../i18n/formats';
import { useLanguage, useTexts } from '../../i18n/text';
import styles from './documents.module.css';
import type { Stage } from './progress';
import { type Sorting, type Tab, ageOf, conditionOf, pagesOf, sizeOf, sortedBy } from './table';
import texts from './texts';
import { PAGE_SIZE, usePages, useStages } from './use-documents';

/** The height of a row in pixels, as in the style. */
const ROW_PX = 44;

interface Props {
  tab: Tab;
  /** What the names contain. */
  search: string;
  onTotal: (total: number) => void;
  canWrite: boolean;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  onRetry: (id: string) => void;
  onCancel: (id: string) => void;
  onRemove: (id: string) => void;
}

/** A table of any length: the server pages and sorts, and only rows in sight are drawn. */
export function DocumentTable({ tab, search, selected, onSelect, onTotal, ...actions }: Props) {
  const t = useTexts(texts);
  const [sorting, setSorting] = useState<Sorting>({ field: 'created_at', direction: 'desc' });
  const [inSight, setInSight] = useState<[number, number]>([0, 0]);
  const { rows, total, error, retry } = usePages(tab, search, sorting, pagesOf(...inSight, PAGE_SIZE));
  const stages = useStages();
  useEffect(() => {
    if (total !== undefined) onTotal(total);
  }, [total, onTotal]);
  const now = useNow();
  const scroll = useRef<HTMLDivElement>(null);
  // Rows stay as they are while others come into sight, so what they call stays the same too.
  const latest = useRef({ selected, onSelect, ...actions });
  useEffect(() => {
    latest.current = { selected, onSelect, ...actions };
  });
  const onAct = useCallback((id: string, act: Act) => {
    const { selected, onSelect, onRetry, onCancel, onRemove } = latest.current;
    if (act === 'retry') onRetry(id);
    else if (act === 'cancel') onCancel(id);
    else if (act === 'remove') onRemove(id);
    else {
      const next = new Set(selected);
      if (!next.delete(id)) next.add(id);
      onSelect(next);
    }
  }, []);
  // The compiler must not memoize what the virtualizer returns, and does not.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: total ?? 12,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
    onChange: ({ range }) => {
      if (range && (range.startIndex !== inSight[0] || range.endIndex !== inSight[1]))
        setInSight([range.startIndex, range.endIndex]);
    },
  });
  if (error !== undefined && rows.size === 0) return <ProblemState error={error} onRetry={retry} />;
  if (total === 0) {
    return (
      <State icon={<DocumentsIcon size={20} />} title={t('noneTitle')}>
        {t(search === '' ? 'noneBody' : 'noneFound')}
      </State>
    );
  }
  const head = (field: Sorting['field'], text: string) => (
    <SortButton
      text={text}
      direction={sorting.field === field ? sorting.direction : undefined}
      onClick={() => setSorting(sortedBy(sorting, field))}
    />
  );
  const sortOf = (field: Sorting['field']) =>
    sorting.field !== field ? 'none' : sorting.direction === 'asc' ? 'ascending' : 'descending';
  return (
    <div ref={scroll} className={styles.scroll}>
      <div className={styles.table} role="table" aria-label={t('title')} aria-rowcount={(total ?? 0) + 1}>
        <div className={`${styles.row ?? ''} ${styles.headRow ?? ''}`} role="row" aria-rowindex={1}>
          <span role="columnheader">
            <span className="visually-hidden">{t('select', { name: '' })}</span>
          </span>
          <span role="columnheader" aria-sort={sortOf('file_path')}>
            {head('file_path', t('columnName'))}
          </span>
          <span role="columnheader" aria-sort={sortOf('status')}>
            {head('status', t('columnStatus'))}
          </span>
          <span role="columnheader" className={styles.wide} aria-sort={sortOf('content_length')}>
            {head('content_length', t('columnSize'))}
          </span>
          <span role="columnheader" className={styles.wide} aria-sort={sortOf('created_at')}>
            {head('created_at', t('columnAdded'))}
          </span>
          <span role="columnheader">
            <span className="visually-hidden">{t('columnActions')}</span>
          </span>
        </div>
        <div className={styles.body} role="rowgroup" style={{ blockSize: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const document = rows.get(index);
            return (
              <div
                key={document?.id ?? index}
                className={`${styles.row ?? ''} ${styles.bodyRow ?? ''}`}
                role="row"
                aria-rowindex={index + 2}
                data-selected={(document && selected.has(document.id)) || undefined}
                style={{ insetBlockStart: start }}
              >
                {document ? (
                  <Cells
                    document={document}
                    stage={stages.get(document.id)}
                    isSelected={selected.has(document.id)}
                    canWrite={actions.canWrite}
                    now={now}
                    onAct={onAct}
                  />
                ) : (
                  <>
                    <span role="cell" />
                    <span role="cell">
                      <span className={styles.blank} />
                    </span>
                  </>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function SortButton({
  text,
  direction,
  onClick,
}: {
  text: string;
  direction: Sorting['direction'] | undefined;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      className={styles.sort}
      data-up={direction === 'asc' || undefined}
      onClick={onClick}
    >
      {text}
      {direction && <ChevronIcon size={12} />}
    </button>
  );
}

/** What can be done with a row. */
type Act = 'select' | 'retry' | 'cancel' | 'remove';

interface CellsProps {
  document: Schemas['DocumentItem'];
  stage: Stage | undefined;
  isSelected: boolean;
  canWrite: boolean;
  now: number;
  onAct: (id: string, act: Act) => void;
}

const Cells = memo(function Cells({ document, stage, isSelected, canWrite, now, onAct }: CellsProps) {
  const t = useTexts(texts);
  const language = useLanguage();
  const { id, file_path: name, error_msg: reason } = document;
  const condition = conditionOf(document);
  const isOpen = condition === 'working' || condition === 'waiting';
  return (
    <>
      <span role="cell" className={styles.check}>
        {canWrite && (
          <input
            type="checkbox"
            aria-label={t('select', { name })}
            checked={isSelected}
            onChange={() => onAct(id, 'select')}
          />
        )}
      </span>
      <span role="cell" className={styles.name}>
        <span className={styles.nameLine}>
          <Link href={`/${encodeURIComponent(id)}`} className={styles.nameLink}>
            {name}
          </Link>
          <span className={styles.summary}>{document.content_summary.replace(/^#+ /gm, '')}</span>
        </span>
        {reason != null && (
          <span className={styles.reason} data-condition={condition} title={reason}>
            {reason}
          </span>
        )}
      </span>
      <span role="cell">
        <Status condition={condition} stage={stage} />
      </span>
      <span role="cell" className={`${styles.wide ?? ''} ${styles.number ?? ''}`}>
        {sizeOf(document.content_length, language)}
      </span>
      <span
        role="cell"
        className={`${styles.wide ?? ''} ${styles.number ?? ''}`}
        title={times(language).format(new Date(document.created_at))}
      >
        {ageOf(document.created_at, now, language)}
      </span>
      <span role="cell">
        {canWrite && (
          <Menu
            button={
              <Button look="quiet" label={t('more', { name })}>
                <MoreIcon />
              </Button>
            }
          >
            {(condition === 'failed' || condition === 'withFaults') && (
              <MenuItem icon={<RetryIcon />} onSelect={() => onAct(id, 'retry')}>
                {t('retry')}
              </MenuItem>
            )}
            {isOpen && (
              <MenuItem icon={<StopIcon />} onSelect={() => onAct(id, 'cancel')}>
                {t('cancelJob')}
              </MenuItem>
            )}
            <MenuItem icon={<TrashIcon />} tone="bad" onSelect={() => onAct(id, 'remove')}>
              {t('delete')}
            </MenuItem>
          </Menu>
        )}
      </span>
    </>
  );
});

/** The time, to the minute. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 60_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

const STAGE_TEXTS = {
  contextualize: 'stageContext',
  chunk: 'stageChunk',
  extract: 'stageExtract',
  merge: 'stageMerge',
} as const;

function Status({
  condition,
  stage,
}: {
  condition: ReturnType<typeof conditionOf>;
  stage: Stage | undefined;
}) {
  const t = useTexts(texts);
  const text =
    stage && condition === 'working'
      ? `${t(STAGE_TEXTS[stage.stage])} ${t('progress', { done: stage.done, total: stage.total })}`
      : t(condition);
  return (
    <span className={styles.status}>
      <span className={styles.dot} data-condition={condition} />
      <span className={styles.statusText}>{text}</span>
    </span>
  );
}
