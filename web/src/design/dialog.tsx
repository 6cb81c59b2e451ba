import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useTexts } from '../i18n/text';
import { Button } from './button';
import styles from './dialog.module.css';
import { CloseIcon } from './icons';
import texts from './texts';

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
}

/**
 * A modal dialog, open while it is mounted. The browser's own element keeps the focus inside, closes on Escape, and needs no
 * style that a content security policy would have to allow.
 */
export function Dialog({ title, onClose, children, actions }: Props) {
  const t = useTexts(texts);
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    dialog.current?.showModal();
    // Who opens a dialog that asks for a text wants to type it.
    dialog.current?.querySelector<HTMLElement>('input:not([type]), input[type=text], textarea')?.focus();
  }, []);
  return (
    <dialog ref={dialog} className={styles.dialog} aria-labelledby={heading} onClose={onClose}>
      <div className={styles.head}>
        <h2 id={heading} className={styles.title}>
          {title}
        </h2>
        <Button look="quiet" label={t('close')} onClick={onClose}>
          <CloseIcon />
        </Button>
      </div>
      <div className={styles.body}>
        {children}
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </div>
    </dialog>
  );
}
