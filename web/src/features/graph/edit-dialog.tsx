import { type SyntheticEvent, useId, useState } from 'react';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { Note } from '../../design/state';
import { useTexts } from '../../i18n/text';
import texts from './texts';
import { type Editing, faultOf } from './use-graph';
import type { Entity } from './view';

interface Props {
  entity: Entity;
  editing: Editing;
  onClose: () => void;
  onDone: (name: string) => void;
}

/** Changes name, type and description of an entity. */
export function EditDialog({ entity, editing, onClose, onDone }: Props) {
  const t = useTexts(texts);
  const form = useId();
  const [name, setName] = useState(entity.name);
  const [kind, setKind] = useState(entity.kind);
  const [description, setDescription] = useState(entity.description);
  const { edit } = editing;
  const after = { name: name.trim(), kind: kind.trim(), description: description.trim() };
  const isChanged =
    after.name !== entity.name ||
    after.kind !== entity.kind ||
    after.description !== entity.description.trim();
  const save = (event: SyntheticEvent) => {
    event.preventDefault();
    edit.mutate(
      { before: { ...entity, description: entity.description.trim() }, after },
      { onSuccess: () => onDone(after.name) },
    );
  };
  return (
    <Dialog
      title={t('editTitle')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button
            look="main"
            type="submit"
            form={form}
            disabled={!isChanged || after.name === '' || edit.isPending}
          >
            {t('save')}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={save} style={{ display: 'grid', gap: 'var(--s4)' }}>
        <Field label={t('name')} hint={t('nameHint')}>
          {ids => (
            <input
              {...ids}
              className={inputClass}
              dir="auto"
              value={name}
              onChange={event => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('kind')}>
          {ids => (
            <input
              {...ids}
              className={inputClass}
              dir="auto"
              value={kind}
              onChange={event => setKind(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('description')}>
          {ids => (
            <textarea
              {...ids}
              className={inputClass}
              dir="auto"
              value={description}
              onChange={event => setDescription(event.target.value)}
            />
          )}
        </Field>
      </form>
      {edit.isError && <Note tone="bad">{faultOf(edit.error)}</Note>}
    </Dialog>
  );
}
