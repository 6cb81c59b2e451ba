import { HoverCard as Radix } from 'radix-ui';
import { type ReactNode, useRef, useState } from 'react';
import styles from './floating.module.css';

/** Shows more about something while the pointer or the focus is on it, until it is clicked. */
export function HoverCard({ of, children }: { of: ReactNode; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  // After a click, the pointer and the focus are still there, and what was opened should not be covered.
  const isClicked = useRef(false);
  const forget = () => {
    isClicked.current = false;
  };
  return (
    <Radix.Root
      openDelay={120}
      closeDelay={80}
      open={isOpen}
      onOpenChange={next => {
        if (!isClicked.current) setOpen(next);
      }}
    >
      <Radix.Trigger
        asChild
        onBlur={forget}
        onPointerEnter={forget}
        onClick={() => {
          isClicked.current = true;
          setOpen(false);
        }}
      >
        {of}
      </Radix.Trigger>
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
