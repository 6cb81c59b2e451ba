import { DropdownMenu } from 'radix-ui';
import type { ReactElement, ReactNode } from 'react';
import styles from './floating.module.css';
import { CheckIcon } from './icons';
import { type ChoiceProps, type Entries, EntriesContext, type ItemProps } from './menu';

const ENTRIES: Entries = { Item, Choice, Line };

/** A menu that is open when it is first shown. */
export default function OpenMenu({
  button,
  align,
  children,
}: {
  button: ReactElement;
  align: 'start' | 'end';
  children: ReactNode;
}) {
  return (
    // A modal menu would lock scrolling with a style element, which the content security policy forbids.
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className={`${styles.panel ?? ''} ${styles.menu ?? ''}`}
          align={align}
          sideOffset={4}
          collisionPadding={8}
        >
          <EntriesContext value={ENTRIES}>{children}</EntriesContext>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

function Item({ icon, tone, onSelect, children }: ItemProps) {
  return (
    <DropdownMenu.Item className={styles.item} data-tone={tone} onSelect={onSelect}>
      {icon}
      {children}
    </DropdownMenu.Item>
  );
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onChange}>
      <DropdownMenu.Label className={styles.label}>{label}</DropdownMenu.Label>
      {options.map(option => (
        <DropdownMenu.RadioItem key={option.value} value={option.value} className={styles.item}>
          <span className={styles.itemText}>
            {option.text}
            {option.hint !== undefined && <span className={styles.itemHint}>{option.hint}</span>}
          </span>
          <span className={styles.check}>
            <DropdownMenu.ItemIndicator>
              <CheckIcon />
            </DropdownMenu.ItemIndicator>
          </span>
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

function Line() {
  return <DropdownMenu.Separator className={styles.line} />;
}
