import { useState } from 'react';
import { Button } from '../../design/button';
import { ChevronIcon } from '../../design/icons';
import { Scroll } from '../../design/scroll';
import { useLanguage, useTexts } from '../../i18n/text';
import styles from './graph.module.css';
import texts from './texts';
import { type Column, type Part, rowsOf } from './view';

interface Props {
  part: Part;
  colours: ReadonlyMap<string, number>;
  open: string;
  onOpen: (name: string) => void;
  onExpand: (name: string) => void;
}

const COLUMNS: { column: Column; name: 'columnName' | 'columnKind' | 'columnRelations' }[] = [
  { column: 'name', name: 'columnName' },
  { column: 'kind', name: 'columnKind' },
  { column: 'relations', name: 'columnRelations' },
];

/** The same entities as the picture, for the keyboard and for people who do not see it. */
export function GraphTable({ part, colours, open, onOpen, onExpand }: Props) {
  const t = useTexts(texts);
  const language = useLanguage();
  const [sorting, setSorting] = useState<Column>('relations');
  const number = new Intl.NumberFormat(language);
  return (
    <Scroll className={styles.tableScroll} label={t('tableLabel')}>
      <table className={styles.table}>
        <caption className="visually-hidden">{t('tableLabel')}</caption>
        <thead>
          <tr>
            {COLUMNS.map(({ column, name }) => (
              <th
                key={column}
                scope="col"
                data-column={column}
                aria-sort={
                  column === sorting ? (column === 'relations' ? 'descending' : 'ascending') : undefined
                }
              >
                <button
                  type="button"
                  className={styles.sort}
                  title={t('sortBy', { column: t(name) })}
                  onClick={() => setSorting(column)}
                >
                  {t(name)}
                  {column === sorting && <ChevronIcon />}
                </button>
              </th>
            ))}
            <th>
              <span className="visually-hidden">{t('expandShort')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(part, sorting, language).map(({ entity: { name, kind }, relations }) => (
            <tr key={name} data-open={name === open || undefined}>
              <th scope="row">
                <button type="button" className={styles.rowName} dir="auto" onClick={() => onOpen(name)}>
                  {name}
                </button>
              </th>
              <td data-column="kind">
                <span className={styles.kindCell}>
                  <span className={styles.dot} data-colour={colours.get(kind)} />
                  {kind === '' ? t('noKind') : kind}
                </span>
              </td>
              <td data-column="relations">{number.format(relations)}</td>
              <td>
                <Button
                  look="quiet"
                  aria-label={`${t('expandShort')}: ${name}`}
                  onClick={() => onExpand(name)}
                >
                  {t('expandShort')}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
