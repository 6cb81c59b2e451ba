import { useLayoutEffect, useRef, useState } from 'react';
import { Button } from '../../design/button';
import { inputClass } from '../../design/field';
import { CopyIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { tell, tellProblem } from '../../design/toast';
import { useLanguage, useTexts } from '../../i18n/text';
import styles from './activity.module.css';
import type { Kind, Line } from './feed';
import texts from './texts';

/** From this many pixels above its end, the log no longer follows new lines. */
const NEAR_END_PX = 40;

type Key = keyof typeof texts.en;
const TEXTS: Record<Kind, Key> = {
  accepted: 'logAccepted',
  queued: 'logQueued',
  removed: 'logRemoved',
  advanced: 'logAdvanced',
  chunk_failed: 'logChunkFailed',
  chunk_damaged: 'logChunkDamaged',
  chunk_without_context: 'logChunkWithoutContext',
  finished: 'logFinished',
  settled: 'logSettled',
  cancelled: 'logCancelled',
  failed: 'logFailed',
  run_failed: 'logRunFailed',
  paused: 'logPaused',
  resumed: 'logResumed',
  missed: 'logMissed',
  message: 'logMessage',
};
const STAGES: Record<string, Key> = {
  contextualize: 'stageContext',
  chunk: 'stageChunk',
  extract: 'stageExtract',
  merge: 'stageMerge',
};

/** What happens, as it happens. */
export function EventLog({ lines, isLive }: { lines: Line[]; isLive: boolean }) {
  const t = useTexts(texts);
  const language = useLanguage();
  const [words, setWords] = useState('');
  const [isShort, setShort] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const told = lines
    .filter(({ tone }) => !isShort || tone === 'warn' || tone === 'bad')
    .map(line => ({ line, time: timeOf(line, language), text: textOf(line, t) }))
    .filter(({ text }) => text.toLocaleLowerCase().includes(words.toLocaleLowerCase()));
  const last = told.at(-1)?.line.key;
  useLayoutEffect(() => {
    if (atEnd.current && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [last, words, isShort]);
  const copy = () => {
    const text = told.map(({ time, text }) => `${time}  ${text}`.trim()).join('\n');
    navigator.clipboard.writeText(text).then(() => tell(t('copied')), tellProblem);
  };
  return (
    <section className={styles.log} aria-labelledby="log-title">
      <div className={styles.logHead}>
        <h2 id="log-title">{t('log')}</h2>
        <span className={styles.live} data-live={isLive} role="status">
          {t(isLive ? 'live' : 'reconnecting')}
        </span>
        <Button look="quiet" label={t('copyLog')} disabled={told.length === 0} onClick={copy}>
          <CopyIcon />
        </Button>
      </div>
      <div className={styles.logBar}>
        <input
          className={inputClass}
          type="search"
          placeholder={t('filterLog')}
          aria-label={t('filterLog')}
          value={words}
          onChange={event => setWords(event.target.value)}
        />
        <button
          type="button"
          className={styles.pill}
          aria-pressed={isShort}
          onClick={() => setShort(!isShort)}
        >
          {t('onlyProblems')}
        </button>
      </div>
      <Scroll
        role="log"
        label={t('log')}
        ref={list}
        className={styles.logLines}
        onScroll={({ currentTarget: at }) => {
          atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_END_PX;
        }}
      >
        {told.length === 0 && (
          <p className={styles.logEmpty}>{t(lines.length === 0 ? 'logEmpty' : 'logNoMatch')}</p>
        )}
        {told.map(({ line, time, text }) => (
          <p
            key={line.key}
            className={styles.line}
            data-tone={line.tone}
            data-earlier={line.at === undefined || undefined}
          >
            {time !== '' && <time>{time}</time>}
            <span dir="auto">{text}</span>
          </p>
        ))}
      </Scroll>
    </section>
  );
}

function timeOf({ at }: Line, language: string): string {
  return at === undefined ? '' : new Date(at).toLocaleTimeString(language, { timeStyle: 'medium' });
}

function textOf({ kind, values }: Line, t: (key: Key, values: Line['values']) => string): string {
  const stage = STAGES[String(values.stage)];
  const ordinal = values.ordinal === undefined ? '' : Number(values.ordinal) + 1;
  return t(TEXTS[kind], { ...values, number: ordinal, stageName: stage === undefined ? '' : t(stage, {}) });
}
