import type { ReactNode } from 'react';
import { useTexts } from '../i18n/text';
import { Scroll } from './scroll';
import texts from './texts';

interface Props {
  /** What it is, for people who do not see it. */
  kind: 'table' | 'code';
  className?: string | undefined;
  children: ReactNode;
}

/** Content that can be wider than its column and scrolls on its own, also by keyboard. */
export function Wide({ kind, ...rest }: Props) {
  const t = useTexts(texts);
  return <Scroll label={t(kind)} {...rest} />;
}
