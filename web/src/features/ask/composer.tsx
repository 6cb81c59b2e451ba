import { type SubmitEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Button } from '../../design/button';
import { ChevronIcon, FilterIcon, SendIcon, StopIcon } from '../../design/icons';
import { Menu, MenuChoice } from '../../design/menu';
import { useTexts } from '../../i18n/text';
import styles from './composer.module.css';
import { ask, stop } from './conversation';
import { type FilterText, NO_FILTER, conditionsOf, filterOf } from './filter';
import { FilterDialog } from './filter-dialog';
import { MODES, modeName } from './modes';
import texts from './texts';

interface Props {
  isAnswering: boolean;
  /** Whether there was a question before. */
  isFollowUp: boolean;
  /** Whether the answers are written by an LLM. */
  hasLlm: boolean;
}

/** Where questions are typed, with the way to search and the documents to use. */
export function Composer({ isAnswering, isFollowUp, hasLlm }: Props) {
  const t = useTexts(texts);
  const [text, setText] = useState('');
  const [mode, setMode] = useState<(typeof MODES)[number]['value']>('auto');
  const [filter, setFilter] = useState<FilterText>(NO_FILTER);
  const [isFiltering, setFiltering] = useState(false);
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // A phone would cover half of the page with its keyboard.
    if (matchMedia('(hover: hover)').matches) input.current?.focus();
  }, []);
  const submit = (event?: SubmitEvent) => {
    event?.preventDefault();
    if (text.trim() === '') return;
    ask({ text: text.trim(), mode, filter: filterOf(filter) });
    setText('');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends the input of a character, as in Japanese, does not send.
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      submit();
    }
  };
  const conditions = conditionsOf(filterOf(filter));
  const offered = MODES.filter(({ value }) => hasLlm || value !== 'bypass');
  return (
    <>
      <form className={styles.box} onSubmit={submit}>
        <textarea
          ref={input}
          className={styles.input}
          rows={1}
          aria-label={t('question')}
          placeholder={t(isFollowUp ? 'followUp' : 'placeholder')}
          value={text}
          onChange={event => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className={styles.row}>
          <Menu
            align="start"
            button={
              <Button look="quiet">
                {t(modeName(mode) ?? 'modeAuto')}
                <ChevronIcon />
              </Button>
            }
          >
            <MenuChoice
              label={t('mode')}
              value={mode}
              onChange={setMode}
              options={offered.map(({ value, name, hint }) => ({ value, text: t(name), hint: t(hint) }))}
            />
          </Menu>
          <Button look="quiet" onClick={() => setFiltering(true)}>
            <FilterIcon />
            {conditions > 0 ? t('filterActive', { count: conditions }) : t('filter')}
          </Button>
          <span className={styles.space} />
          {isAnswering ? (
            <Button className={styles.send} label={t('stop')} onClick={stop}>
              <StopIcon />
            </Button>
          ) : (
            <Button
              type="submit"
              look="main"
              className={styles.send}
              label={t('send')}
              disabled={text.trim() === ''}
            >
              <SendIcon />
            </Button>
          )}
        </div>
      </form>
      {isFiltering && (
        <FilterDialog
          value={filter}
          onClose={() => setFiltering(false)}
          onApply={value => {
            setFilter(value);
            setFiltering(false);
          }}
        />
      )}
    </>
  );
}
