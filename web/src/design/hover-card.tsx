import { HoverCard as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import styles from './floating.module.css';

/** Shows more about something while the pointer or the focus is on it. */
export function HoverCard({ of, children }: { of: ReactNode; children: ReactNode }) {
  return (
    <Radix.Root openDelay={120} closeDelay={80}>
      <Radix.Trigger asChild>{of}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          className={`${styles.panel ?? ''} ${styles.card ?? ''}`}
          side="top"
          sideOffset={6}
          collisionPadding={16}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
