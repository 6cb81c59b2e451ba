import type { ComponentProps } from 'react';
import styles from './button.module.css';

type Look = 'plain' | 'main' | 'quiet' | 'danger';

interface Props extends ComponentProps<'button'> {
  look?: Look;
  /** A square button that shows only an icon; its name for people who do not see it. */
  label?: string;
}

/** The class of a button, for links that look like one. */
export function buttonClass(look: Look = 'plain'): string {
  return `${styles.button ?? ''} ${styles[look] ?? ''}`;
}

export function Button({ look = 'plain', label, className, ...rest }: Props) {
  const icon = label === undefined ? '' : styles.icon;
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`${buttonClass(look)} ${icon ?? ''} ${className ?? ''}`}
      {...rest}
    />
  );
}
