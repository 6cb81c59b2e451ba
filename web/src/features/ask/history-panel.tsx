import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SyntheticEvent, useEffect, useId, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Schemas, del, get, post } from '../../api/client';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { CloseIcon, MoreIcon, TrashIcon } from '../../design/icons';
import { Menu, MenuItem } from '../../design/menu';
import { ProblemState, Skeleton } from '../../design/state';
import { tell, tellProblem } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import { useRested } from '../../design/rested';
import { pathOf } from './address';
import { isOpen } from './asking';
import { clear, useConversation } from './conversation';
import { groupsOf } from './history';
import styles from './history.module.css';
import texts from './texts';

type Item = Schemas['ConversationItem'];

/** Conversations that are read at first, and more each time. */
const PAGE = 50;

/** The user's conversations, with a search. */
export function HistoryPanel({ onClose, onOpened }: { onClose: () => void; onOpened: () => void }) {
  const t = useTexts(texts);
  const [typed, setTyped] = useState('');
  const [limit, setLimit] = useState(PAGE);
  const search = useRested(typed.trim());
  const shown = useConversation();
  const settled = shown.answers.filter(answer => !isOpen(answer)).length;
  const list = useQuery({
    queryKey: ['conversations', search, limit],
    queryFn: ({ signal }) => get('/conversations', { query: { search, limit }, signal }),
    placeholderData: keepPreviousData,
  });
  const { refetch } = list;
  useEffect(() => {
    if (settled > 0) void refetch();
  }, [settled, refetch]);
  const groups = groupsOf(list.data?.conversations ?? [], list.dataUpdatedAt);
  const total = list.data?.total ?? 0;
  return (
    <section className={styles.panel} aria-label={t('history')}>
      <div className={styles.head}>
        <h2 className={styles.title}>{t('history')}</h2>
        <Button look="quiet" label={t('historyHide')} onClick={onClose}>
          <CloseIcon />
        </Button>
      </div>
      <div className={styles.search}>
        <input
          type="search"
          className={inputClass}
          aria-label={t('historySearch')}
          placeholder={t('historySearch')}
          maxLength={200}
          dir="auto"
          value={typed}
          onChange={event => setTyped(event.target.value)}
        />
      </div>
      <div className={styles.list}>
        {list.isError ? (
          <ProblemState error={list.error} onRetry={() => void list.refetch()} />
        ) : list.isPending ? (
          <Skeleton lines={5} />
        ) : total === 0 ? (
          <p className={styles.none}>{t(search === '' ? 'historyEmpty' : 'historyNone')}</p>
        ) : (
          <>
            {groups.map(({ age, items }) => (
              <div key={age}>
                <h3 className={styles.age}>{t(age)}</h3>
                <ul className={styles.items}>
                  {items.map(item => (
                    <Row key={item.id} item={item} isCurrent={item.id === shown.id} onOpened={onOpened} />
                  ))}
                </ul>
              </div>
            ))}
            {total > limit && (
              <Button
                look="quiet"
                onClick={() => setLimit(Math.min(limit + PAGE, 200))}
                disabled={limit >= 200}
              >
                {t('historyMore')}
              </Button>
            )}
          </>
        )}
      </div>
      {total > 0 && search === '' && <DeleteAll />}
    </section>
  );
}

function Row({ item, isCurrent, onOpened }: { item: Item; isCurrent: boolean; onOpened: () => void }) {
  const t = useTexts(texts);
  const [doing, setDoing] = useState<'rename' | 'delete'>();
  return (
    <li className={styles.row} data-current={isCurrent || undefined}>
      <Link
        href={pathOf(item.id)}
        className={styles.link}
        aria-current={isCurrent ? 'page' : undefined}
        onClick={onOpened}
      >
        <span className={styles.name} dir="auto">
          {item.title}
        </span>
        {item.excerpt != null && (
          <span className={styles.excerpt} dir="auto">
            {item.excerpt}
          </span>
        )}
      </Link>
      <Menu
        button={
          <Button
            look="quiet"
            className={styles.more}
            label={t('conversationActions', { title: item.title })}
          >
            <MoreIcon />
          </Button>
        }
      >
        <MenuItem onSelect={() => setDoing('rename')}>{t('rename')}</MenuItem>
        <MenuItem tone="bad" icon={<TrashIcon />} onSelect={() => setDoing('delete')}>
          {t('delete')}
        </MenuItem>
      </Menu>
      {doing === 'rename' && <Rename item={item} onClose={() => setDoing(undefined)} />}
      {doing === 'delete' && <Delete item={item} isCurrent={isCurrent} onClose={() => setDoing(undefined)} />}
    </li>
  );
}

function Rename({ item, onClose }: { item: Item; onClose: () => void }) {
  const t = useTexts(texts);
  const form = useId();
  const queries = useQueryClient();
  const [title, setTitle] = useState(item.title);
  const rename = useMutation({
    mutationFn: () =>
      post('/conversations/{conversation_id}', { path: { conversation_id: item.id }, body: { title } }),
    onSuccess: onClose,
    onError: tellProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: ['conversations'] }),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <Dialog
      title={t('renameTitle')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button look="main" type="submit" form={form} disabled={title.trim() === '' || rename.isPending}>
            {t('save')}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit}>
        <Field label={t('conversationTitle')}>
          {ids => (
            <input
              {...ids}
              type="text"
              className={inputClass}
              maxLength={200}
              dir="auto"
              value={title}
              onChange={event => setTitle(event.target.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}

function Delete({ item, isCurrent, onClose }: { item: Item; isCurrent: boolean; onClose: () => void }) {
  const t = useTexts(texts);
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const remove = useMutation({
    mutationFn: () => del('/conversations/{conversation_id}', { path: { conversation_id: item.id } }),
    onSuccess: () => {
      tell(t('deletedConversation'));
      onClose();
      if (!isCurrent) return;
      clear();
      navigate('/');
    },
    onError: tellProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: ['conversations'] }),
  });
  return (
    <Confirm
      title={t('deleteTitle')}
      isPending={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
    />
  );
}

function DeleteAll() {
  const t = useTexts(texts);
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [isAsking, setAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () => del('/conversations'),
    onSuccess: () => {
      tell(t('deletedAll'));
      setAsking(false);
      clear();
      navigate('/');
    },
    onError: tellProblem,
    onSettled: () => queries.invalidateQueries({ queryKey: ['conversations'] }),
  });
  return (
    <div className={styles.foot}>
      <Button look="quiet" onClick={() => setAsking(true)}>
        <TrashIcon />
        {t('deleteAll')}
      </Button>
      {isAsking && (
        <Confirm
          title={t('deleteAllTitle')}
          isPending={remove.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() => remove.mutate()}
        />
      )}
    </div>
  );
}

interface ConfirmProps {
  title: string;
  isPending: boolean;
  onClose: () => void;
  onConfirm: () => void;
}

function Confirm({ title, isPending, onClose, onConfirm }: ConfirmProps) {
  const t = useTexts(texts);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button look="danger" onClick={onConfirm} disabled={isPending}>
            {t('delete')}
          </Button>
        </>
      }
    >
      {t('deleteBody')}
    </Dialog>
  );
}
