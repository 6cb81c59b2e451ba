import { type SyntheticEvent, useId, useState } from 'react';
import { credential } from '../../api/credential';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { PlusIcon, TrashIcon, WarningIcon } from '../../design/icons';
import { Note, ProblemState, Skeleton } from '../../design/state';
import { useLanguage, useTexts } from '../../i18n/text';
import { CodeBlock } from '../connect/code-block';
import styles from './settings.module.css';
import texts from './texts';
import { type NewAccess, useAccess, useAccessChanges } from './use-settings';

type Kind = 'key' | 'user';
type Right = NewAccess['right'];

const RIGHTS: { value: Right; text: 'rightRead' | 'rightWrite' | 'rightAdmin' }[] = [
  { value: 'read', text: 'rightRead' },
  { value: 'write', text: 'rightWrite' },
  { value: 'admin', text: 'rightAdmin' },
];

/** Keys for programs and users for people: who has access, and ways to give and take it. */
export function ManageAccess({ caller }: { caller: string }) {
  const t = useTexts(texts);
  const access = useAccess();
  const changes = useAccessChanges();
  const [creating, setCreating] = useState<Kind>();
  const [removing, setRemoving] = useState<{ kind: Kind; id: string; name: string }>();
  if (access.isError && !access.data)
    return <ProblemState error={access.error} onRetry={() => void access.refetch()} />;
  if (!access.data) return <Skeleton lines={5} />;
  const { users } = access.data;
  const keys = access.data.keys.filter(key => key.revoked_at == null);
  return (
    <>
      <AccessTable
        title={t('keysTitle')}
        none={t('keysNone')}
        add={t('addKey')}
        onAdd={() => setCreating('key')}
        rows={keys.map(key => ({ ...key, isOwn: caller === `key ${key.id}` }))}
        onRemove={({ id, name }) => setRemoving({ kind: 'key', id, name })}
        removeText={name => t('revokeNamed', { name })}
      />
      <AccessTable
        title={t('usersTitle')}
        none={t('usersNone')}
        add={t('addUser')}
        onAdd={() => setCreating('user')}
        rows={users.map(user => ({ ...user, id: user.name, isOwn: caller === `user ${user.name}` }))}
        onRemove={({ id, name }) => setRemoving({ kind: 'user', id, name })}
        removeText={name => t('removeNamed', { name })}
      />
      {creating && (
        <CreateDialog
          kind={creating}
          isFirst={caller === 'local'}
          changes={changes}
          onClose={() => {
            setCreating(undefined);
            // The secret is gone with the dialog that showed it.
            changes.createKey.reset();
            changes.createUser.reset();
            void changes.refresh();
          }}
        />
      )}
      {removing && (
        <Dialog
          title={t(removing.kind === 'key' ? 'revokeTitle' : 'removeUserTitle', { name: removing.name })}
          onClose={() => setRemoving(undefined)}
          actions={
            <>
              <Button onClick={() => setRemoving(undefined)}>{t('cancel')}</Button>
              <Button
                look="danger"
                onClick={() => {
                  (removing.kind === 'key' ? changes.revokeKey : changes.removeUser).mutate(removing.id);
                  setRemoving(undefined);
                }}
              >
                {t(removing.kind === 'key' ? 'revoke' : 'remove')}
              </Button>
            </>
          }
        >
          <p>{t('revokeBody')}</p>
        </Dialog>
      )}
    </>
  );
}

interface Row {
  id: string;
  name: string;
  right: Right;
  workspaces?: string[] | null;
  created_at: number;
  isOwn: boolean;
}

interface TableProps {
  title: string;
  none: string;
  add: string;
  onAdd: () => void;
  rows: Row[];
  onRemove: (row: Row) => void;
  removeText: (name: string) => string;
}

function AccessTable({ title, none, add, onAdd, rows, onRemove, removeText }: TableProps) {
  const t = useTexts(texts);
  const language = useLanguage();
  return (
    <section className={styles.accessSection}>
      <div className={styles.accessHead}>
        <h2 className={styles.sectionTitle}>{title}</h2>
        <Button onClick={onAdd}>
          <PlusIcon />
          {add}
        </Button>
      </div>
      {rows.length === 0 ? (
        <p className={styles.lead}>{none}</p>
      ) : (
        <ul className={styles.accessRows}>
          {rows.map(row => (
            <li key={row.id} className={styles.accessRow}>
              <span className={styles.accessName}>
                <bdi>{row.name}</bdi>
                {row.isOwn && <span className={styles.accessOwn}>{t('ownCredential')}</span>}
              </span>
              <span>{t(RIGHTS.find(({ value }) => value === row.right)?.text ?? 'rightRead')}</span>
              <span>{row.workspaces == null ? t('allWorkspaces') : row.workspaces.join(', ')}</span>
              <span>{new Date(row.created_at).toLocaleDateString(language)}</span>
              <Button
                look="quiet"
                label={removeText(row.name)}
                disabled={row.isOwn}
                onClick={() => onRemove(row)}
              >
                <TrashIcon />
              </Button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface CreateProps {
  kind: Kind;
  /** Whether the server is open until now. */
  isFirst: boolean;
  changes: ReturnType<typeof useAccessChanges>;
  onClose: () => void;
}

function CreateDialog({ kind, isFirst, changes, onClose }: CreateProps) {
  const t = useTexts(texts);
  const form = useId();
  const [name, setName] = useState('');
  const [right, setRight] = useState<Right>(isFirst ? 'admin' : 'read');
  const [workspaces, setWorkspaces] = useState('');
  const { createKey, createUser } = changes;
  const secret = createKey.data?.key ?? createUser.data?.password;
  const problem = createKey.error ?? createUser.error;
  const isPending = createKey.isPending || createUser.isPending;
  const close = () => {
    // The server is closed now; whoever made the first key goes on with it.
    if (isFirst && createKey.data) credential.accept({ kind: 'key', value: createKey.data.key });
    onClose();
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const names = workspaces.split(/[\s,]+/).filter(one => one !== '');
    (kind === 'key' ? createKey : createUser).mutate({ name: name.trim(), right, workspaces: names });
  };
  if (secret !== undefined) {
    return (
      <Dialog
        title={t(kind === 'key' ? 'keyCreated' : 'userCreated', { name })}
        onClose={close}
        actions={
          <Button look="main" onClick={close}>
            {t('secretKept')}
          </Button>
        }
      >
        <p className={styles.lead}>{t('secretOnce')}</p>
        <CodeBlock name={t(kind === 'key' ? 'secretKey' : 'secretPassword')} code={secret} />
      </Dialog>
    );
  }
  return (
    <Dialog
      title={t(kind === 'key' ? 'addKey' : 'addUser')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button look="main" type="submit" form={form} disabled={name.trim() === '' || isPending}>
            {t('createAccess')}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className={styles.accessForm}>
        {isFirst && (
          <Note tone="warn" icon={<WarningIcon />}>
            {t(kind === 'key' ? 'firstKey' : 'firstUser')}
          </Note>
        )}
        {problem && (
          <Note tone="bad" icon={<WarningIcon />}>
            {problem.message} {problem.remedy}
          </Note>
        )}
        <Field label={t('name')} hint={t(kind === 'key' ? 'keyNameHint' : 'userNameHint')}>
          {ids => (
            <input
              {...ids}
              type="text"
              className={inputClass}
              maxLength={100}
              autoComplete="off"
              value={name}
              onChange={event => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('accessRight')}>
          {ids => (
            <select
              {...ids}
              className={inputClass}
              value={right}
              disabled={isFirst}
              onChange={event => {
                const chosen = RIGHTS.find(({ value }) => value === event.target.value);
                if (chosen) setRight(chosen.value);
              }}
            >
              {RIGHTS.map(({ value, text }) => (
                <option key={value} value={value}>
                  {t(text)}
                </option>
              ))}
            </select>
          )}
        </Field>
        {!isFirst && (
          <Field label={t('workspaces')} hint={t('accessWorkspacesHint')}>
            {ids => (
              <input
                {...ids}
                type="text"
                className={inputClass}
                autoComplete="off"
                value={workspaces}
                onChange={event => setWorkspaces(event.target.value)}
              />
            )}
          </Field>
        )}
      </form>
    </Dialog>
  );
}
