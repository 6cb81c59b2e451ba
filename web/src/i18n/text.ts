import { useCallback, useSyncExternalStore } from 'react';
import { numbers, plurals } from './formats';

/** A text, or one per plural category of its language. */
export type Text = string | Partial<Record<Intl.LDMLPluralRule, string>>;
/** The texts of one part of the UI: English, and the same keys in each other language. */
export interface Texts<E extends Record<string, Text>> {
  en: E;
  ar: { [K in keyof E]: Text };
}
/** Values for the `{placeholders}` of a text; `count` also selects the plural. */
export type Values = Record<string, string | number>;
/** Gives the text of a key in the chosen language. */
export type Translate<K> = (key: K, values?: Values) => string;

/** A language of the UI. */
export type Language = 'en' | 'ar';
/** The languages by their own names. */
export const LANGUAGES: Record<Language, string> = { en: 'English', ar: 'العربية' };

const STORED = 'graphloom.language';

/** The text of an entry, with plural and values filled in; numbers as the language writes them. */
export function fill(text: Text, language: Language, values: Values = {}): string {
  const { count } = values;
  const chosen =
    typeof text === 'string'
      ? text
      : ((typeof count === 'number' ? text[plurals(language).select(count)] : undefined) ?? text.other ?? '');
  return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? numbers(language).format(value) : value;
  });
}

let language: Language = preferred();
const listeners = new Set<() => void>();
apply();

function preferred(): Language {
  if (typeof document === 'undefined') return 'en';
  const wanted = [stored(), ...navigator.languages.map(name => name.split('-')[0])];
  return wanted.find((name): name is Language => name !== undefined && name in LANGUAGES) ?? 'en';
}

function stored(): string | undefined {
  try {
    return localStorage.getItem(STORED) ?? undefined;
  } catch {
    return undefined;
  }
}

function apply(): void {
  if (typeof document === 'undefined') return;
  document.documentElement.lang = language;
  document.documentElement.dir = language === 'ar' ? 'rtl' : 'ltr';
}

/** Changes the language of the whole UI. */
export function setLanguage(next: Language): void {
  language = next;
  try {
    localStorage.setItem(STORED, next);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  apply();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The chosen language. */
export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, () => language);
}

/** The texts of one part of the UI in the chosen language. */
export function useTexts<E extends Record<string, Text>>(texts: Texts<E>): Translate<keyof E> {
  const chosen = useLanguage();
  return useCallback((key, values) => fill(texts[chosen][key], chosen, values), [texts, chosen]);
}
