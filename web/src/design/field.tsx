import { type ReactNode, useId } from 'react';
import styles from './field.module.css';

/** The class of an input, a text area or a select. */
export const inputClass = styles.input ?? '';

interface Props {
  label: string;
  hint?: string;
  children: (ids: { id: string; 'aria-describedby': string | undefined }) => ReactNode;
}

/** A labelled input with an optional hint. */
export function Field({ label, hint, children }: Props) {
  const id = useId();
  const described = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      {children({ id, 'aria-describedby': described })}
      {hint !== undefined && (
        <span id={described} className={styles.hint}>
          {hint}
        </span>
      )}
    </div>
  );
}
