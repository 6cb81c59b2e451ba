import { useState } from 'react';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { Field, inputClass } from '../../design/field';
import { useTexts } from '../../i18n/text';
import { addText } from './adding';
import texts from './texts';

/** Asks for a text and a name, and adds it. */
export function PasteDialog({ onClose }: { onClose: () => void }) {
  const t = useTexts(texts);
  const [name, setName] = useState(t('pasteNameDefault'));
  const [text, setText] = useState('');
  const add = () => {
    addText(name.trim(), text);
    onClose();
  };
  return (
    <Dialog
      title={t('pasteTitle')}
      onClose={onClose}
      actions={
        <Button look="main" disabled={text.trim() === '' || name.trim() === ''} onClick={add}>
          {t('pasteAdd')}
        </Button>
      }
    >
      <Field label={t('pasteContent')}>
        {ids => (
          <textarea
            {...ids}
            className={inputClass}
            rows={10}
            value={text}
            onChange={event => setText(event.target.value)}
          />
        )}
      </Field>
      <Field label={t('pasteName')} hint={t('pasteNameHint')}>
        {ids => (
          <input
            {...ids}
            className={inputClass}
            value={name}
            onChange={event => setName(event.target.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}
