import { useState } from 'react';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { useTexts } from '../../i18n/text';
import { type FilterText, NO_FILTER } from './filter';
import texts from './texts';

interface Props {
  value: FilterText;
  onApply: (value: FilterText) => void;
  onClose: () => void;
}

/** Asks which documents a question may use. */
export function FilterDialog({ value, onApply, onClose }: Props) {
  const t = useTexts(texts);
  const [typed, setTyped] = useState(value);
  const input = (name: keyof FilterText, type: 'text' | 'date') => (ids: { id: string }) => (
    <input
      {...ids}
      type={type}
      className={inputClass}
      value={typed[name]}
      onChange={event => setTyped({ ...typed, [name]: event.target.value })}
    />
  );
  return (
    <Dialog
      title={t('filterTitle')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={() => onApply(NO_FILTER)}>{t('filterClear')}</Button>
          <Button look="main" onClick={() => onApply(typed)}>
            {t('filterApply')}
          </Button>
        </>
      }
    >
      <Field label={t('filterSources')} hint={t('filterSourcesHint')}>
        {input('sources', 'text')}
      </Field>
      <Field label={t('filterMeta')} hint={t('filterMetaHint')}>
        {input('meta', 'text')}
      </Field>
      <Field label={t('filterAfter')}>{input('after', 'date')}</Field>
      <Field label={t('filterBefore')}>{input('before', 'date')}</Field>
    </Dialog>
  );
}
