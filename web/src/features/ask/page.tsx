import { Suspense, lazy, useCallback, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../../api/client';
import { Button, buttonClass } from '../../design/button';
import { CompareIcon, HistoryIcon, PlusIcon } from '../../design/icons';
import { ProblemState, Skeleton } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { FirstRun } from '../documents/first-run';
import { IndexingNote } from '../documents/indexing-note';
import type { Passage } from '../source/source-pane';
import { pathOf, shownAt } from './address';
import type { Answer } from './answer';
import styles from './ask.module.css';
import { Composer } from './composer';
import { isOpen } from './asking';
import { ask, clear, open, shownId, useConversation } from './conversation';
import texts from './texts';
import { SUGGESTED, useAskable, useSuggestions } from './use-ask';

const ComparePage = lazy(() => import('./compare-page'));
const HistoryPanel = lazy(() =>
  import('./history-panel').then(({ HistoryPanel }) => ({ default: HistoryPanel })),
);
// What answers need and the first screen does without.
const reading = () => import('./reading');
const Answers = lazy(() => reading().then(({ Answers }) => ({ default: Answers })));
const SourcePane = lazy(() => reading().then(({ SourcePane }) => ({ default: SourcePane })));
const WhyPane = lazy(() => reading().then(({ WhyPane }) => ({ default: WhyPane })));

/** What is shown beside the conversation. */
interface Pane {
  passage?: Passage | undefined;
  citation?: Schemas['CitationItem'] | undefined;
  why?: number | undefined;
}

/** The first screen: questions, answers, and beside them the sources; or two ways to answer one question. */
export default function AskPage() {
  const [location] = useLocation();
  const shown = shownAt(location);
  return shown.kind === 'compare' ? <ComparePage /> : <ConversationPage id={shown.id} />;
}

function ConversationPage({ id }: { id: string | undefined }) {
  const conversation = useConversation();
  const { answers } = conversation;
  const [pane, setPane] = useState<Pane>({});
  const [hasHistory, setHistory] = useHistoryShown();
  const openCitation = useCallback(
    (citation: Schemas['CitationItem']) => setPane({ citation, passage: citation }),
    [],
  );
  const openWhy = useCallback((answer: Answer) => setPane({ why: answer.id }), []);
  const close = () => setPane({});
  const why = answers.find(answer => answer.id === pane.why);
  const hasPane = pane.passage !== undefined || why !== undefined;
  useEscape(close, hasPane);
  useAddress(id, conversation.id);
  useReady();
  const isNew = answers.length === 0 && conversation.state === 'ready';
  return (
    <div className={styles.layout} data-pane={hasPane || undefined} data-history={hasHistory || undefined}>
      {hasHistory && (
        <HistoryPanel
          onClose={() => setHistory(false)}
          onOpened={() => {
            close();
            if (isNarrow()) setHistory(false);
          }}
        />
      )}
      <div className={styles.conversation}>
        <Head isNew={isNew} hasHistory={hasHistory} onHistory={setHistory} onNew={close} />
        {conversation.state === 'failed' ? (
          <ProblemState error={conversation.problem} />
        ) : conversation.state === 'loading' ? (
          <Loading />
        ) : isNew ? (
          <Welcome />
        ) : (
          <Suspense fallback={<Loading />}>
            <Answers answers={answers} opened={pane.citation} onOpen={openCitation} onWhy={openWhy} />
            <div className={`${styles.column ?? ''} ${styles.bottom ?? ''}`}>
              <Asking answers={answers} />
            </div>
          </Suspense>
        )}
      </div>
      {hasPane && (
        <aside className={styles.pane}>
          <Suspense fallback={<Skeleton />}>
            {pane.passage ? (
              <SourcePane
                passage={pane.passage}
                onClose={close}
                onBack={why && (() => setPane({ why: why.id }))}
              />
            ) : (
              why && (
                <WhyPane answer={why} onClose={close} onOpen={passage => setPane({ passage, why: why.id })} />
              )
            )}
          </Suspense>
        </aside>
      )}
    </div>
  );
}

function Loading() {
  return (
    <div className={`${styles.column ?? ''} ${styles.loading ?? ''}`}>
      <Skeleton />
    </div>
  );
}

/** Loads what the first answer needs while the question is being written. */
function useReady() {
  useEffect(() => {
    const timer = setTimeout(() => void reading(), 1000);
    return () => clearTimeout(timer);
  }, []);
}

/** Keeps the address and the conversation that is shown the same. */
function useAddress(id: string | undefined, shown: string | undefined) {
  const [, navigate] = useLocation();
  const isFirst = useRef(true);
  useEffect(() => {
    // On the way back to the page, documents may have been removed. A conversation that has just begun is there already.
    const wanted = id ?? shownId();
    if (wanted !== undefined && (isFirst.current || shownId() !== id)) void open(wanted);
    isFirst.current = false;
  }, [id]);
  useEffect(() => {
    if (id === undefined && shown !== undefined) navigate(pathOf(shown), { replace: true });
  }, [id, shown, navigate]);
}

const HISTORY_SHOWN = 'graphloom.history';

/** Whether the history is shown; remembered where there is room for it beside the conversation. */
function useHistoryShown(): [boolean, (isShown: boolean) => void] {
  const [isShown, setShown] = useState(() => !isNarrow() && localStorage.getItem(HISTORY_SHOWN) === 'shown');
  const change = (next: boolean) => {
    setShown(next);
    if (!isNarrow()) localStorage.setItem(HISTORY_SHOWN, next ? 'shown' : 'hidden');
  };
  return [isShown, change];
}

function isNarrow(): boolean {
  return !matchMedia('(min-width: 1180px)').matches;
}

interface HeadProps {
  isNew: boolean;
  hasHistory: boolean;
  onHistory: (isShown: boolean) => void;
  onNew: () => void;
}

function Head({ isNew, hasHistory, onHistory, onNew }: HeadProps) {
  const t = useTexts(texts);
  const [, navigate] = useLocation();
  return (
    <div className={styles.head}>
      {!hasHistory && (
        <Button look="quiet" onClick={() => onHistory(true)}>
          <HistoryIcon />
          {t('history')}
        </Button>
      )}
      <span className={styles.space} />
      <Link href="/compare" className={buttonClass('quiet')}>
        <CompareIcon />
        {t('compare')}
      </Link>
      {!isNew && (
        <Button
          look="quiet"
          onClick={() => {
            clear();
            onNew();
            navigate('/');
          }}
        >
          <PlusIcon />
          {t('newConversation')}
        </Button>
      )}
    </div>
  );
}

/** Before the first question: a way to add documents, or questions to start with. */
function Welcome() {
  const t = useTexts(texts);
  const { counts } = useAskable();
  const isEmpty = counts.data?.all === 0;
  const known = useSuggestions(counts.isSuccess && !isEmpty, name => t('about', { name }));
  // Until they are known they take their room, so that nothing moves when they come.
  const suggestions = known ?? Array.from({ length: SUGGESTED }, (_, line) => '\u00a0'.repeat(line + 1));
  return (
    <div className={styles.empty}>
      <div className={`${styles.column ?? ''} ${styles.welcome ?? ''}`}>
        {isEmpty ? (
          <FirstRun />
        ) : (
          <>
            <header>
              <h1 className={styles.title}>{t('title')}</h1>
              <p className={styles.lead}>{t('lead')}</p>
            </header>
            {counts.isError ? (
              <ProblemState error={counts.error} onRetry={() => void counts.refetch()} />
            ) : (
              <Asking answers={[]} />
            )}
            <IndexingNote />
            {suggestions.length > 0 && (
              <div className={styles.suggested} data-known={known !== undefined || undefined}>
                <h2 className={styles.suggestionsTitle}>{t('suggestions')}</h2>
                <ul className={styles.suggestions}>
                  {suggestions.map(text => (
                    <li key={text}>
                      <button
                        type="button"
                        className={styles.suggestion}
                        onClick={() => ask({ text, mode: 'auto', filter: undefined })}
                      >
                        {text}
                      </button>
                    </li>
                  ))}
                </ul>
              </div>
            )}
          </>
        )}
      </div>
    </div>
  );
}

function Asking({ answers }: { answers: Answer[] }) {
  const { hasLlm } = useAskable();
  return <Composer isAnswering={answers.some(isOpen)} isFollowUp={answers.length > 0} hasLlm={hasLlm} />;
}

function useEscape(close: () => void, isActive: boolean) {
  useEffect(() => {
    if (!isActive) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('dialog[open]'))
        close();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  });
}
