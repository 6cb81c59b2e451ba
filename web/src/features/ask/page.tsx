import { useCallback, useEffect, useRef, useState } from 'react';
import type { Schemas } from '../../api/client';
import { Button } from '../../design/button';
import { PlusIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { ProblemState } from '../../design/state';
import { useTexts } from '../../i18n/text';
import { FirstRun } from '../documents/first-run';
import { IndexingNote } from '../documents/indexing-note';
import { type Passage, SourcePane } from '../source/source-pane';
import type { Answer } from './answer';
import { AnswerView } from './answer-view';
import styles from './ask.module.css';
import { Composer } from './composer';
import { ask, clear, isOpen, useConversation } from './conversation';
import texts from './texts';
import { useAskable, useSuggestions } from './use-ask';
import { WhyPane } from './why-pane';

/** What is shown beside the conversation. */
interface Pane {
  passage?: Passage | undefined;
  citation?: Schemas['CitationItem'] | undefined;
  why?: number | undefined;
}

/** The first screen: questions, answers, and beside them the sources. */
export default function AskPage() {
  const t = useTexts(texts);
  const answers = useConversation();
  const [pane, setPane] = useState<Pane>({});
  const openCitation = useCallback(
    (citation: Schemas['CitationItem']) => setPane({ citation, passage: citation }),
    [],
  );
  const openWhy = useCallback((answer: Answer) => setPane({ why: answer.id }), []);
  const close = () => setPane({});
  const why = answers.find(({ id }) => id === pane.why);
  const hasPane = pane.passage !== undefined || why !== undefined;
  useEscape(close, hasPane);
  return (
    <div className={styles.layout} data-pane={hasPane || undefined}>
      <div className={styles.conversation}>
        {answers.length === 0 ? (
          <Welcome />
        ) : (
          <>
            <div className={`${styles.column ?? ''} ${styles.head ?? ''}`}>
              <Button
                look="quiet"
                onClick={() => {
                  clear();
                  close();
                }}
              >
                <PlusIcon />
                {t('newConversation')}
              </Button>
            </div>
            <Answers answers={answers} opened={pane.citation} onOpen={openCitation} onWhy={openWhy} />
            <div className={`${styles.column ?? ''} ${styles.bottom ?? ''}`}>
              <Asking answers={answers} />
            </div>
          </>
        )}
      </div>
      {hasPane && (
        <aside className={styles.pane}>
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
        </aside>
      )}
    </div>
  );
}

interface AnswersProps {
  answers: Answer[];
  opened: Schemas['CitationItem'] | undefined;
  onOpen: (citation: Schemas['CitationItem']) => void;
  onWhy: (answer: Answer) => void;
}

function Answers({ answers, ...rest }: AnswersProps) {
  const t = useTexts(texts);
  const box = useRef<HTMLDivElement>(null);
  const last = answers.at(-1);
  // A new question comes to the top, so that its answer has the whole height to grow.
  useEffect(() => {
    box.current?.querySelector('article:last-of-type')?.scrollIntoView({ block: 'start' });
  }, [last?.id]);
  return (
    <Scroll ref={box} className={styles.scroll} role="log" label={t('title')}>
      <div className={styles.column}>
        {answers.map(answer => (
          <AnswerView key={answer.id} answer={answer} {...rest} />
        ))}
      </div>
    </Scroll>
  );
}

/** Before the first question: a way to add documents, or questions to start with. */
function Welcome() {
  const t = useTexts(texts);
  const { counts } = useAskable();
  const isEmpty = counts.data?.all === 0;
  const suggestions = useSuggestions(counts.isSuccess && !isEmpty, name => t('about', { name }));
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
              <div>
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
