import {
  type KeyboardEvent,
  type SyntheticEvent,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import type { Schemas } from '../../api/client';
import { Button } from '../../design/button';
import { inputClass } from '../../design/field';
import { StopIcon } from '../../design/icons';
import { PageHead } from '../../design/page-head';
import { useTexts } from '../../i18n/text';
import { SourcePane } from '../source/source-pane';
import { pathOf } from './address';
import { type Question, newAnswer } from './answer';
import { AnswerBody } from './answer-view';
import styles from './ask.module.css';
import { isOpen, receive, requestOf } from './asking';
import { type Compared, commonPassages, measuresOf } from './compare';
import own from './compare.module.css';
import { shownId } from './conversation';
import { MODES, modeName } from './modes';
import texts from './texts';
import { useAskable } from './use-ask';

type Mode = Question['mode'];
type Pair = [Compared, Compared];

/** One question, answered in two ways side by side. */
export default function ComparePage() {
  const t = useTexts(texts);
  const [modes, setModes] = useState<[Mode, Mode]>(['auto', 'naive']);
  const [text, setText] = useState('');
  const [opened, setOpened] = useState<Schemas['CitationItem']>();
  const { pair, compare, stop } = useComparison();
  const { hasLlm } = useAskable();
  const input = useRef<HTMLTextAreaElement>(null);
  const isAnswering = pair?.some(isOpen) === true;
  useEffect(() => {
    if (matchMedia('(hover: hover)').matches) input.current?.focus();
  }, []);
  const submit = (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (text.trim() === '' || isAnswering) return;
    setOpened(undefined);
    compare(text.trim(), modes);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const open = useCallback((citation: Schemas['CitationItem']) => setOpened(citation), []);
  const common = pair && commonPassages(...pair);
  const offered = MODES.filter(({ value }) => hasLlm || value !== 'bypass');
  return (
    <div className={styles.layout} data-pane={opened !== undefined || undefined}>
      <div className={own.page}>
        <PageHead
          title={t('compareTitle')}
          lead={t('compareLead')}
          back={{ href: pathOf(shownId()), label: t('compareBack') }}
        />
        <form className={own.form} onSubmit={submit}>
          <textarea
            ref={input}
            rows={2}
            className={`${inputClass} ${own.question ?? ''}`}
            aria-label={t('question')}
            placeholder={t('placeholder')}
            dir="auto"
            value={text}
            onChange={event => setText(event.target.value)}
            onKeyDown={onKeyDown}
          />
          <div className={own.ways}>
            <Way
              label={t('compareFirst')}
              value={modes[0]}
              offered={offered}
              onChange={mode => setModes([mode, modes[1]])}
            />
            <Way
              label={t('compareSecond')}
              value={modes[1]}
              offered={offered}
              onChange={mode => setModes([modes[0], mode])}
            />
            {isAnswering ? (
              <Button onClick={stop}>
                <StopIcon />
                {t('stop')}
              </Button>
            ) : (
              <Button look="main" type="submit" disabled={text.trim() === ''}>
                {t('compareAsk')}
              </Button>
            )}
          </div>
        </form>
        {pair && (
          <>
            <p className={own.common} role="status">
              {common !== undefined && t('compareCommon', { count: common })}
            </p>
            <div className={own.columns}>
              {pair.map(answer => (
                <Column key={answer.id} answer={answer} opened={opened} onOpen={open} />
              ))}
            </div>
          </>
        )}
      </div>
      {opened && (
        <aside className={styles.pane}>
          <SourcePane passage={opened} onClose={() => setOpened(undefined)} onBack={undefined} />
        </aside>
      )}
    </div>
  );
}

interface WayProps {
  label: string;
  value: Mode;
  offered: typeof MODES;
  onChange: (mode: Mode) => void;
}

function Way({ label, value, offered, onChange }: WayProps) {
  const t = useTexts(texts);
  const id = useId();
  return (
    <div className={own.way}>
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className={inputClass}
        value={value}
        onChange={event => {
          const chosen = offered.find(mode => mode.value === event.target.value);
          if (chosen) onChange(chosen.value);
        }}
      >
        {offered.map(mode => (
          <option key={mode.value} value={mode.value}>
            {t(mode.name)}
          </option>
        ))}
      </select>
    </div>
  );
}

interface ColumnProps {
  answer: Compared;
  opened: Schemas['CitationItem'] | undefined;
  onOpen: (citation: Schemas['CitationItem']) => void;
}

function Column({ answer, opened, onOpen }: ColumnProps) {
  const t = useTexts(texts);
  const name = t(modeName(answer.question.mode) ?? 'modeAuto');
  const { seconds, firstWord, tokens, cost, passages, cited } = measuresOf(answer);
  const time = (value: number | undefined) =>
    value === undefined ? undefined : t('compareSeconds', { seconds: Math.round(value * 100) / 100 });
  const number = (value: number) => t('compareNumber', { value });
  const rows: [string, string | undefined][] = [
    [t('compareTime'), time(seconds)],
    [t('compareFirstWord'), time(firstWord)],
    [t('compareTokens'), tokens && `${number(tokens.in)}, ${number(tokens.out)}`],
    [t('compareCost'), cost === null ? t('whyNoPrice') : cost === undefined ? undefined : number(cost)],
    [t('comparePassages'), passages === undefined ? undefined : number(passages)],
    [t('compareCited'), cited === undefined ? undefined : number(cited)],
  ];
  return (
    <article className={own.column} aria-label={name} aria-busy={isOpen(answer)}>
      <h2 className={own.name}>{name}</h2>
      <dl className={own.measures}>
        {rows.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value ?? t('compareUnknown')}</dd>
          </div>
        ))}
      </dl>
      <AnswerBody answer={answer} opened={opened} onOpen={onOpen} />
    </article>
  );
}

/** The two answers that are shown, and ways to begin and to stop them. */
function useComparison() {
  const [pair, setPair] = useState<Pair>();
  const running = useRef<AbortController>(undefined);
  const lastId = useRef(0);
  useEffect(() => () => running.current?.abort(), []);
  const compare = (text: string, modes: [Mode, Mode]) => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    const begin = (mode: Mode): Compared => {
      lastId.current += 1;
      const answer = newAnswer(lastId.current, { text, mode, filter: undefined }, [], performance.now());
      return { ...answer, firstWord: undefined };
    };
    const begun: Pair = [begin(modes[0]), begin(modes[1])];
    setPair(begun);
    for (const { id, question } of begun) {
      void receive(requestOf(question, []), abort.signal, how =>
        setPair(
          pair => pair && (pair.map(answer => (answer.id === id ? next(answer, how) : answer)) as Pair),
        ),
      );
    }
  };
  return { pair, compare, stop: () => running.current?.abort() };
}

function next(before: Compared, how: Parameters<Parameters<typeof receive>[2]>[0]): Compared {
  const after = how(before);
  const hasWord = before.firstWord === undefined && after.text !== '';
  return { ...after, firstWord: hasWord ? performance.now() : before.firstWord };
}
