import { useState } from 'react';
import { useRights } from '../../app/use-server';
import { Button } from '../../design/button';
import { inputClass } from '../../design/field';
import {
  ChevronIcon,
  DocumentsIcon,
  PasteIcon,
  PlusIcon,
  RetryIcon,
  SampleIcon,
  TrashIcon,
  UploadIcon,
} from '../../design/icons';
import { Menu, MenuItem, MenuLine } from '../../design/menu';
import { ProblemState, Skeleton, State } from '../../design/state';
import { tellProblem } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import { chooseFiles } from './choose-files';
import { DocumentTable } from './document-table';
import styles from './documents.module.css';
import { FirstRun } from './first-run';
import { PasteDialog } from './paste-dialog';
import { ReExtractDialog } from './re-extract-dialog';
import { RemoveDialog } from './remove-dialog';
import { useRested } from '../../design/rested';
import { addSamples } from './samples';
import type { Tab } from './table';
import texts from './texts';
import { type Counts, useChanges, useCounts, useSelectAll } from './use-documents';

/** The most documents that are selected at once; the most that the server deletes in one request. */
const MAX_SELECTED = 10_000;
const TABS: Tab[] = ['all', 'ready', 'working', 'waiting', 'failed'];

/** The table of all documents. */
export function ListPage() {
  const t = useTexts(texts);
  const counts = useCounts();
  if (counts.isError && !counts.data)
    return <ProblemState error={counts.error} onRetry={() => void counts.refetch()} />;
  if (!counts.data) return <Skeleton lines={12} />;
  if (counts.data.all === 0) {
    return (
      <div style={{ maxInlineSize: '760px', marginInline: 'auto', padding: 'var(--s12) var(--s5)' }}>
        <FirstRun />
      </div>
    );
  }
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        <h1 className={styles.title}>{t('title')}</h1>
        <AddMenu />
      </div>
      <Documents counts={counts.data} />
    </div>
  );
}

function Documents({ counts }: { counts: Counts }) {
  const t = useTexts(texts);
  const [tab, setTab] = useState<Tab>('all');
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [removing, setRemoving] = useState<string[]>();
  const [reExtracting, setReExtracting] = useState<string[]>();
  const [typed, setTyped] = useState('');
  const search = useRested(typed.trim());
  const [total, setTotal] = useState(0);
  const selectAll = useSelectAll(ids => setSelected(new Set(ids)));
  const rights = useRights();
  const changes = useChanges(t);
  const canWrite = rights?.canWrite !== false;
  return (
    <>
      <div className={styles.bar}>
        {selected.size > 0 ? (
          <>
            <span className={styles.tabs}>{t('selected', { count: selected.size })}</span>
            {selected.size < total && selected.size < MAX_SELECTED && (
              <Button
                look="quiet"
                disabled={selectAll.isPending}
                onClick={() => selectAll.mutate({ tab, search })}
              >
                {t('selectAll', { count: Math.min(total, MAX_SELECTED) })}
              </Button>
            )}
            <Button look="quiet" onClick={() => setSelected(new Set())}>
              {t('clearSelection')}
            </Button>
            {canWrite && (
              <Button onClick={() => setReExtracting([...selected])}>
                <RetryIcon />
                {t('reExtract')}
              </Button>
            )}
            <Button onClick={() => setRemoving([...selected])}>
              <TrashIcon />
              {t('delete')}
            </Button>
          </>
        ) : (
          <>
            <div className={styles.tabs}>
              {TABS.filter(one => one === 'all' || one === tab || counts[one] > 0).map(one => (
                <button
                  key={one}
                  type="button"
                  className={styles.tab}
                  aria-pressed={one === tab}
                  onClick={() => setTab(one)}
                >
                  {t(one)}
                  <span className={styles.tabCount}>{counts[one]}</span>
                </button>
              ))}
            </div>
            <input
              type="search"
              className={`${inputClass} ${styles.find ?? ''}`}
              aria-label={t('search')}
              placeholder={t('search')}
              maxLength={200}
              dir="auto"
              value={typed}
              onChange={event => setTyped(event.target.value)}
            />
            {canWrite && counts.failed > 0 && (
              <Button
                look="quiet"
                disabled={changes.retryAll.isPending}
                onClick={() => changes.retryAll.mutate()}
              >
                {t('retryAll')}
              </Button>
            )}
          </>
        )}
      </div>
      {counts[tab] === 0 ? (
        <State icon={<DocumentsIcon size={20} />} title={t('noneTitle')}>
          {t('noneBody')}
        </State>
      ) : (
        <DocumentTable
          tab={tab}
          search={search}
          onTotal={setTotal}
          canWrite={canWrite}
          selected={selected}
          onSelect={setSelected}
          onRetry={id => changes.retry.mutate([id])}
          onCancel={id => changes.cancel.mutate(id)}
          onRemove={id => setRemoving([id])}
        />
      )}
      {reExtracting && (
        <ReExtractDialog
          ids={reExtracting}
          onClose={() => setReExtracting(undefined)}
          onReExtract={() => {
            changes.reExtract.mutate(reExtracting);
            setReExtracting(undefined);
            setSelected(new Set());
          }}
        />
      )}
      {removing && (
        <RemoveDialog
          ids={removing}
          onClose={() => setRemoving(undefined)}
          onRemove={() => {
            changes.remove.mutate(removing);
            setRemoving(undefined);
            setSelected(new Set());
          }}
        />
      )}
    </>
  );
}

function AddMenu() {
  const t = useTexts(texts);
  const rights = useRights();
  const [isPasting, setPasting] = useState(false);
  if (rights?.canWrite === false) return null;
  return (
    <>
      <Menu
        button={
          <Button look="main">
            <PlusIcon />
            {t('add')}
            <ChevronIcon />
          </Button>
        }
      >
        <MenuItem icon={<UploadIcon />} onSelect={() => chooseFiles('files')}>
          {t('addFiles')}
        </MenuItem>
        <MenuItem icon={<UploadIcon />} onSelect={() => chooseFiles('folder')}>
          {t('addFolder')}
        </MenuItem>
        <MenuItem icon={<PasteIcon />} onSelect={() => setPasting(true)}>
          {t('pasteText')}
        </MenuItem>
        <MenuLine />
        <MenuItem icon={<SampleIcon />} onSelect={() => void addSamples().catch(tellProblem)}>
          {t('addSamples')}
        </MenuItem>
      </Menu>
      {isPasting && <PasteDialog onClose={() => setPasting(false)} />}
    </>
  );
}
