import {
  type ComponentType,
  type HTMLAttributes,
  type ReactElement,
  type ReactNode,
  Suspense,
  cloneElement,
  createContext,
  lazy,
  use,
  useState,
} from 'react';

// Menus bring what places them beside their buttons, which no page needs before one is opened.
const load = () => import('./open-menu');
const OpenMenu = lazy(load);

/** A menu that opens below its button. Until it is first opened it is a button only. */
export function Menu({
  button,
  children,
  align = 'end',
}: {
  button: ReactElement<HTMLAttributes<HTMLElement>>;
  children: ReactNode;
  align?: 'start' | 'end';
}) {
  const [isUsed, setUsed] = useState(false);
  const closed = cloneElement(button, {
    onClick: () => setUsed(true),
    onPointerEnter: () => void load(),
    onFocus: () => void load(),
    'aria-haspopup': 'menu',
    'aria-expanded': false,
  });
  if (!isUsed) return closed;
  return (
    <Suspense fallback={closed}>
      <OpenMenu button={button} align={align}>
        {children}
      </OpenMenu>
    </Suspense>
  );
}

export interface ItemProps {
  icon?: ReactNode;
  tone?: 'bad' | undefined;
  onSelect: () => void;
  children: ReactNode;
}

export interface ChoiceProps<V extends string = string> {
  label: string;
  value: V;
  options: { value: V; text: string; hint?: string }[];
  onChange: (value: V) => void;
}

/** What the entries of an open menu are rendered by. */
export interface Entries {
  Item: ComponentType<ItemProps>;
  Choice: ComponentType<ChoiceProps>;
  Line: ComponentType;
}

export const EntriesContext = createContext<Entries | undefined>(undefined);

/** An entry of a menu. */
export function MenuItem(props: ItemProps) {
  const entries = use(EntriesContext);
  return entries && <entries.Item {...props} />;
}

/** Entries of a menu of which one is chosen. */
export function MenuChoice<V extends string>({ options, onChange, ...props }: ChoiceProps<V>) {
  const entries = use(EntriesContext);
  const choose = (value: string) => {
    const option = options.find(option => option.value === value);
    if (option) onChange(option.value);
  };
  return entries && <entries.Choice {...props} options={options} onChange={choose} />;
}

/** A line between entries of a menu. */
export function MenuLine() {
  const entries = use(EntriesContext);
  return entries && <entries.Line />;
}
