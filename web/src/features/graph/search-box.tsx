import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { inputClass } from '../../design/field';
import { useTexts } from '../../i18n/text';
import styles from './graph.module.css';
import texts from './texts';
import { useMatches } from './use-graph';

const PAUSE_MS = 120;

interface Props {
  label: string;
  onChoose: (name: string) => void;
  /** Whether typing starts here. */
  isFirst?: boolean;
}

/** A search for one entity: names appear below while typing; arrows and Enter choose. */
export function SearchBox({ label, onChoose, isFirst = false }: Props) {
  const t = useTexts(texts);
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const wanted = useLater(text, PAUSE_MS);
  const matches = useMatches(wanted);
  const names = wanted.trim() === '' ? [] : (matches.data ?? []);
  const isListed = isOpen && text.trim() !== '' && matches.data !== undefined;
  useEffect(() => {
    if (isFirst && matchMedia('(hover: hover)').matches) input.current?.focus();
  }, [isFirst]);
  const choose = (name: string) => {
    setText('');
    setOpen(false);
    onChoose(name);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const name = names[Math.min(chosen, names.length - 1)];
    if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, names.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter' && isListed && name !== undefined) choose(name);
    else if (event.key === 'Escape' && isListed) setOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <div className={styles.search}>
      <input
        ref={input}
        type="search"
        role="combobox"
        aria-label={label}
        aria-expanded={isListed}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isListed && names.length > 0 ? `${id}-${chosen}` : undefined}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        dir="auto"
        className={inputClass}
        value={text}
        onChange={event => {
          setText(event.target.value);
          setChosen(0);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} role="listbox" aria-label={label} className={styles.matches} hidden={!isListed}>
        {names.map((name, index) => (
          // The keyboard works in the input, which owns the list.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
          <div
            key={name}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            dir="auto"
            onPointerDown={event => event.preventDefault()}
            onClick={() => choose(name)}
            onPointerEnter={() => setChosen(index)}
          >
            {name}
          </div>
        ))}
        {names.length === 0 && (
          <div role="option" aria-selected={false} aria-disabled="true" className={styles.noMatch}>
            {t('noMatch')}
          </div>
        )}
      </div>
    </div>
  );
}

/** A value once it has rested for a while. */
function useLater(value: string, pause: number): string {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return later;
}
