import { type SubmitEvent, useState } from 'react';
import { uiOf } from '../../api/address';
import { address } from '../../api/client';
import { useCredential } from '../../api/credential';
import { useHealth, useRights, useWorkspaces } from '../../app/use-server';
import { Button, buttonClass } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { PlusIcon, TrashIcon, WarningIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import styles from './settings.module.css';
import texts from './texts';
import { useCreate, useEmpty, useSize } from './use-settings';
import { nameFault } from './workspaces';

/** The workspaces that the user may read. */
export function WorkspacesPage() {
  const t = useTexts(texts);
  const workspaces = useWorkspaces();
  const health = useHealth();
  const rights = useRights();
  const [isCreating, setCreating] = useState(false);
  if (workspaces.isError && !workspaces.data) {
    return <ProblemState error={workspaces.error} onRetry={() => void workspaces.refetch()} />;
  }
  if (!workspaces.data) return <Skeleton lines={6} />;
  const current = address.workspace ?? health.data?.configuration?.workspace;
  const names = [...new Set([...(current === undefined ? [] : [current]), ...workspaces.data])].sort();
  return (
    <section className={styles.section}>
      <div className={styles.sectionHead}>
        <p className={styles.lead}>{t('workspacesLead')}</p>
        {rights?.canWrite && (
          <Button look="main" onClick={() => setCreating(true)}>
            <PlusIcon />
            {t('create')}
          </Button>
        )}
      </div>
      <ul className={styles.list}>
        {names.map(name => (
          <WorkspaceRow
            key={name}
            name={name}
            isCurrent={name === current}
            canAdmin={rights?.canAdmin === true}
          />
        ))}
      </ul>
      {isCreating && <CreateDialog existing={names} onClose={() => setCreating(false)} />}
    </section>
  );
}

function WorkspaceRow({
  name,
  isCurrent,
  canAdmin,
}: {
  name: string;
  isCurrent: boolean;
  canAdmin: boolean;
}) {
  const t = useTexts(texts);
  const size = useSize(name);
  const [isAsking, setAsking] = useState(false);
  return (
    <li className={styles.row}>
      <div className={styles.rowText}>
        <span className={styles.rowName} dir="auto">
          {name}
          {isCurrent && <span className={styles.badge}>{t('current')}</span>}
        </span>
        <span className={styles.quiet}>
          {size.data === undefined
            ? size.isError
              ? t('unreadable')
              : '…'
            : t('documents', { count: size.data })}
        </span>
      </div>
      {canAdmin && size.data !== undefined && size.data > 0 && (
        <Button look="quiet" onClick={() => setAsking(true)}>
          <TrashIcon />
          {t('empty')}
          <span className="visually-hidden">{name}</span>
        </Button>
      )}
      {!isCurrent && (
        <a className={buttonClass()} href={uiOf(address, name)}>
          {t('open')}
          <span className="visually-hidden">{name}</span>
        </a>
      )}
      {isAsking && <EmptyDialog name={name} count={size.data ?? 0} onClose={() => setAsking(false)} />}
    </li>
  );
}

/** Removes all documents once the name of the workspace is typed. */
function EmptyDialog({ name, count, onClose }: { name: string; count: number; onClose: () => void }) {
  const t = useTexts(texts);
  const [typed, setTyped] = useState('');
  const empty = useEmpty(onClose);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (typed === name) empty.mutate(name);
  };
  return (
    <Dialog title={t('emptyTitle', { count, name })} onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <p>{t('emptyBody')}</p>
        <Field label={t('typeName', { name })}>
          {ids => (
            <input
              {...ids}
              className={inputClass}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              value={typed}
              onChange={event => setTyped(event.target.value)}
            />
          )}
        </Field>
        <div className={styles.actions}>
          <Button look="danger" type="submit" disabled={typed !== name || empty.isPending}>
            {t(empty.isPending ? 'emptying' : 'emptyConfirm')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** A workspace begins with its first document, so the dialog asks for both. */
function CreateDialog({ existing, onClose }: { existing: string[]; onClose: () => void }) {
  const t = useTexts(texts);
  const [name, setName] = useState('');
  const [files, setFiles] = useState<File[]>([]);
  const { shown } = useCredential();
  const create = useCreate();
  const fault = name === '' ? undefined : nameFault(name, existing);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (name !== '' && fault === undefined && files.length > 0) create.mutate({ name, files });
  };
  return (
    <Dialog title={t('create')} onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <Field label={t('name')} hint={t('nameHint')}>
          {ids => (
            <input
              {...ids}
              className={inputClass}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              required
              maxLength={64}
              aria-invalid={fault !== undefined}
              value={name}
              onChange={event => setName(event.target.value)}
            />
          )}
        </Field>
        {fault !== undefined && (
          <Note tone="bad">{t(fault === 'form' ? 'nameForm' : 'nameExists', { name })}</Note>
        )}
        <Field label={t('firstFiles')} hint={t('firstFilesHint')}>
          {ids => (
            <input
              {...ids}
              className={inputClass}
              type="file"
              multiple
              required
              onChange={event => setFiles([...(event.target.files ?? [])])}
            />
          )}
        </Field>
        {shown !== undefined && <p className={styles.quiet}>{t('createRight')}</p>}
        {create.isError && (
          <Note tone="bad" icon={<WarningIcon />}>
            {create.error.message}
            {create.error.remedy !== undefined && <p>{create.error.remedy}</p>}
          </Note>
        )}
        <div className={styles.actions}>
          <Button
            look="main"
            type="submit"
            disabled={name === '' || fault !== undefined || files.length === 0 || create.isPending}
          >
            {t(create.isPending ? 'creating' : 'createConfirm')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
