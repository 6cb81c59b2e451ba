import { DropdownMenu } from 'radix-ui';
import { type ReactElement, type ReactNode, cloneElement, useState } from 'react';
import styles from './floating.module.css';
import { CheckIcon } from './icons';

/** A menu that opens below its button. */
export function Menu({
  button,
  children,
  align = 'end',
  isOpenAtFirst = false,
}: {
  button: ReactNode;
  children: ReactNode;
  align?: 'start' | 'end';
  isOpenAtFirst?: boolean;
}) {
  return (
    // A modal menu would lock scrolling with a style element, which the content security policy forbids.
    <DropdownMenu.Root modal={false} defaultOpen={isOpenAtFirst}>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className={`${styles.panel ?? ''} ${styles.menu ?? ''}`}
          align={align}
          sideOffset={4}
          collisionPadding={8}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** The same for one of many: until it is first opened it is a button only. */
export function LazyMenu({
  button,
  children,
}: {
  button: ReactElement<{ onClick?: () => void; 'aria-haspopup'?: 'menu'; 'aria-expanded'?: boolean }>;
  children: ReactNode;
}) {
  const [isUsed, setUsed] = useState(false);
  if (isUsed) {
    return (
      <Menu button={button} isOpenAtFirst>
        {children}
      </Menu>
    );
  }
  return cloneElement(button, {
    onClick: () => setUsed(true),
    'aria-haspopup': 'menu',
    'aria-expanded': false,
  });
}

/** An entry of a menu. */
export function MenuItem({
  icon,
  tone,
  onSelect,
  children,
}: {
  icon?: ReactNode;
  tone?: 'bad';
  onSelect: () => void;
  children: ReactNode;
}) {
  return (
    <DropdownMenu.Item className={styles.item} data-tone={tone} onSelect={onSelect}>
      {icon}
      {children}
    </DropdownMenu.Item>
  );
}

interface ChoiceProps<V extends string> {
  label: string;
  value: V;
  options: { value: V; text: string; hint?: string }[];
  onChange: (value: V) => void;
}

/** Entries of a menu of which one is chosen. */
export function MenuChoice<V extends string>({ label, value, options, onChange }: ChoiceProps<V>) {
  return (
    <DropdownMenu.RadioGroup
      value={value}
      onValueChange={chosen => {
        const option = options.find(option => option.value === chosen);
        if (option) onChange(option.value);
      }}
    >
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

/** A line between entries of a menu. */
export function MenuLine() {
  return <DropdownMenu.Separator className={styles.line} />;
}
