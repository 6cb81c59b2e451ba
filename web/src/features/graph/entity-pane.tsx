import { useState } from 'react';
import { Link } from 'wouter';
import { useRights } from '../../app/use-server';
import { Button, buttonClass } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { MoreIcon, QuestionIcon, TrashIcon } from '../../design/icons';
import { Menu, MenuItem } from '../../design/menu';
import { State } from '../../design/state';
import { tellProblem } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import type { Passage } from '../source/source-pane';
import { EXPANSION, hrefOf } from './address';
import { ClaimsList } from './claims-list';
import { concerns } from './decisions';
import { EditDialog } from './edit-dialog';
import { EditList } from './edits-pane';
import { EvidenceList } from './evidence-list';
import { Pane, Section } from './pane';
import styles from './pane.module.css';
import texts from './texts';
import { type Editing, useClaims, useEdits, useNeighbourhood } from './use-graph';
import { type Entity, type Neighbour, type Part, missingIn, neighboursOf } from './view';

/** How many relations are listed at first, and how many more at a time. */
const RELATIONS = 20;
/** A longer description is folded. */
const LONG_TEXT = 420;

interface Props {
  name: string;
  isCenter: boolean;
  /** What the graph shows now. */
  whole: Part;
  editing: Editing;
  onOpen: (name: string) => void;
  onSource: (passage: Passage) => void;
  onExpand: () => void;
  onCenter: () => void;
  onMerge: () => void;
  onRenamed: (name: string) => void;
  onClose: () => void;
}

/** One entity: description, evidence, relations, and what was edited. */
export function EntityPane(props: Props) {
  const t = useTexts(texts);
  const around = useNeighbourhood(props.name);
  const { data } = around;
  const entity = data && (data.entities.find(({ name }) => name === props.name) ?? data.entities[0]);
  return (
    <Pane
      title={entity?.name ?? props.name}
      details={entity && (entity.kind === '' ? t('noKind') : entity.kind)}
      actions={entity && <EntityMenu {...props} entity={entity} />}
      closesWhenNarrow
      reading={around}
      onClose={props.onClose}
    >
      {found =>
        entity ? (
          <Sections {...props} entity={entity} around={found} />
        ) : (
          <State icon={<QuestionIcon size={20} />} title={t('missingTitle', { name: props.name })}>
            {t('missingBody')}
          </State>
        )
      }
    </Pane>
  );
}

function Sections(props: Props & { entity: Entity; around: Part }) {
  const t = useTexts(texts);
  const { entity, around, whole, onOpen, onSource, onExpand, onCenter, isCenter } = props;
  const neighbours = neighboursOf(around, entity.name);
  const missing = missingIn(whole, around, entity.name).length;
  return (
    <>
      <div className={styles.actions}>
        <Button onClick={onExpand} disabled={missing === 0}>
          {missing === 0 ? t('allShown') : t('expand', { count: Math.min(EXPANSION, missing) })}
        </Button>
        {!isCenter && (
          <Button look="quiet" onClick={onCenter}>
            {t('center')}
          </Button>
        )}
        <Link href={hrefOf({ entity: entity.name, to: '' })} className={buttonClass('quiet')}>
          {t('pathFromHere')}
        </Link>
      </div>
      <Section title={t('description')}>
        <Description text={entity.description} />
      </Section>
      <Section
        title={
          entity.chunks.length >= 10 ? t('evidenceFirst', { count: entity.chunks.length }) : t('evidence')
        }
      >
        <EvidenceList
          chunks={entity.chunks}
          names={[entity.name]}
          none={t('noEvidence')}
          onSource={onSource}
        />
      </Section>
      <Section
        title={
          around.isTruncated
            ? t('relationsAtLeast', { count: neighbours.length })
            : t('relations', { count: neighbours.length })
        }
      >
        <Relations of={entity.name} neighbours={neighbours} onOpen={onOpen} onSource={onSource} />
      </Section>
      <Claims name={entity.name} onSource={onSource} />
      <History {...props} />
    </>
  );
}

/** A description, folded if it is long. Line breaks of sources that broke lines at a width are spaces. */
export function Description({ text }: { text: string }) {
  const t = useTexts(texts);
  const [isWhole, setWhole] = useState(false);
  const flowing = text.replace(/(\S)[ \t]*\n(?=\S)/g, '$1 ');
  if (flowing.trim() === '') return <p className={styles.quiet}>{t('noDescription')}</p>;
  const isLong = flowing.length > LONG_TEXT;
  return (
    <div>
      <p className={styles.text} data-folded={(isLong && !isWhole) || undefined} dir="auto">
        {flowing}
      </p>
      {isLong && (
        <button
          type="button"
          className={styles.more}
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {t(isWhole ? 'showLess' : 'showMore')}
        </button>
      )}
    </div>
  );
}

function Relations({
  of,
  neighbours,
  onOpen,
  onSource,
}: {
  of: string;
  neighbours: Neighbour[];
  onOpen: (name: string) => void;
  onSource: (passage: Passage) => void;
}) {
  const t = useTexts(texts);
  const [count, setCount] = useState(RELATIONS);
  const [opened, setOpened] = useState<string>();
  if (neighbours.length === 0) return <p className={styles.quiet}>{t('noRelations')}</p>;
  const rest = neighbours.length - count;
  return (
    <>
      <ul className={styles.relations}>
        {neighbours.slice(0, count).map(({ name, relation }) => (
          <li key={name} className={styles.relation}>
            <div className={styles.relationHead}>
              <button type="button" className={styles.relationName} dir="auto" onClick={() => onOpen(name)}>
                {name}
              </button>
              <span className={styles.keywords} dir="auto">
                {relation.keywords.join(', ')}
              </span>
              <button
                type="button"
                className={styles.more}
                aria-expanded={opened === name}
                aria-label={t('showEvidenceOf', { name })}
                onClick={() => setOpened(opened === name ? undefined : name)}
              >
                {t('showEvidence')}
              </button>
            </div>
            {opened === name && (
              <EvidenceList
                chunks={relation.chunks}
                names={[of, name]}
                none={t('noEvidenceRelation')}
                onSource={onSource}
              />
            )}
          </li>
        ))}
      </ul>
      {rest > 0 && (
        <button type="button" className={styles.more} onClick={() => setCount(count + 5 * RELATIONS)}>
          {t('moreRelations', { count: Math.min(rest, 5 * RELATIONS) })}
        </button>
      )}
    </>
  );
}

/** Nothing if the documents state no dated claims about it. */
function Claims({ name, onSource }: { name: string; onSource: (passage: Passage) => void }) {
  const t = useTexts(texts);
  const claims = useClaims(name);
  if (!claims.data || claims.data.total === 0) return null;
  return (
    <Section title={t('claims', { count: claims.data.total })}>
      <ClaimsList claims={claims.data.claims} onSource={onSource} />
    </Section>
  );
}

function History({ entity, editing }: Props & { entity: Entity }) {
  const t = useTexts(texts);
  const edits = useEdits();
  const all = edits.data?.decisions ?? [];
  const own = all.filter(edit => concerns(edit, entity.name, all));
  if (own.length === 0) return null;
  return (
    <Section title={t('history')}>
      <EditList edits={own} all={all} editing={editing} />
    </Section>
  );
}

function EntityMenu({ entity, editing, onMerge, onRenamed, onClose }: Props & { entity: Entity }) {
  const t = useTexts(texts);
  const rights = useRights();
  const [asks, setAsks] = useState<'edit' | 'delete'>();
  if (rights?.canWrite === false) return null;
  const close = () => setAsks(undefined);
  return (
    <>
      <Button look="quiet" onClick={() => setAsks('edit')}>
        {t('edit')}
      </Button>
      <Menu
        button={
          <Button look="quiet" label={t('more')}>
            <MoreIcon />
          </Button>
        }
      >
        <MenuItem onSelect={onMerge}>{t('merge')}</MenuItem>
        <MenuItem icon={<TrashIcon />} tone="bad" onSelect={() => setAsks('delete')}>
          {t('delete')}
        </MenuItem>
      </Menu>
      {asks === 'edit' && (
        <EditDialog
          entity={entity}
          editing={editing}
          onClose={close}
          onDone={name => {
            close();
            if (name !== entity.name) onRenamed(name);
          }}
        />
      )}
      {asks === 'delete' && (
        <Dialog
          title={t('deleteTitle', { name: entity.name })}
          onClose={close}
          actions={
            <>
              <Button onClick={close}>{t('cancel')}</Button>
              <Button
                look="danger"
                disabled={editing.remove.isPending}
                onClick={() =>
                  editing.remove.mutate(entity.name, {
                    onSuccess: onClose,
                    onError: tellProblem,
                    onSettled: close,
                  })
                }
              >
                {t('delete')}
              </Button>
            </>
          }
        >
          <p>{t('deleteBody')}</p>
        </Dialog>
      )}
    </>
  );
}
