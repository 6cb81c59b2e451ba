/** Formats are slow to make, and a table needs the same ones for every row. */
const made = new Map<string, unknown>();

function kept<Format>(kind: string, language: string, options: object, make: () => Format): Format {
  const key = `${kind} ${language} ${JSON.stringify(options)}`;
  const known = made.get(key) as Format | undefined;
  if (known !== undefined) return known;
  const format = make();
  made.set(key, format);
  return format;
}

/** The format of numbers with these options. */
export function numbers(language: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  return kept('number', language, options, () => new Intl.NumberFormat(language, options));
}

/** The format of times with these options; date and time without any. */
export function times(language: string, options: Intl.DateTimeFormatOptions = {}): Intl.DateTimeFormat {
  const chosen =
    Object.keys(options).length > 0 ? options : ({ dateStyle: 'short', timeStyle: 'medium' } as const);
  return kept('time', language, chosen, () => new Intl.DateTimeFormat(language, chosen));
}

/** The format of times relative to now, in short. */
export function ages(language: string): Intl.RelativeTimeFormat {
  const options = { numeric: 'auto', style: 'short' } as const;
  return kept('age', language, options, () => new Intl.RelativeTimeFormat(language, options));
}

/** The plural rules. */
export function plurals(language: string): Intl.PluralRules {
  return kept('plural', language, {}, () => new Intl.PluralRules(language));
}
