import type { ReactNode, Ref, UIEventHandler } from 'react';

interface Props {
  /** What scrolls, for people who do not see it. */
  label: string;
  className?: string | undefined;
  role?: 'region' | 'log';
  ref?: Ref<HTMLDivElement>;
  onScroll?: UIEventHandler<HTMLDivElement>;
  children: ReactNode;
}

/** A scrolling part of a page, which can be focused so that it also scrolls by keyboard. */
export function Scroll({ label, role = 'region', ...rest }: Props) {
  // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
  return <div role={role} aria-label={label} tabIndex={0} {...rest} />;
}
