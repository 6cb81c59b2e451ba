import { type ReactNode, useState } from 'react';
import { useRights } from '../../app/use-server';
import { LockIcon, PasteIcon, SampleIcon, UploadIcon } from '../../design/icons';
import { Note } from '../../design/state';
import { tellProblem } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import styles from './adding.module.css';
import { chooseFiles } from './choose-files';
import { PasteDialog } from './paste-dialog';
import { addSamples } from './samples';
import texts from './texts';

/** What an empty workspace offers: three ways to a first document. */
export function FirstRun() {
  const t = useTexts(texts);
  const rights = useRights();
  const [isPasting, setPasting] = useState(false);
  return (
    <div className={styles.welcome}>
      <header>
        <h1 className={styles.title}>{t('welcomeTitle')}</h1>
        <p className={styles.lead}>{t('welcomeLead')}</p>
      </header>
      {rights?.canWrite === false ? (
        <Note icon={<LockIcon />}>{t('readOnly')}</Note>
      ) : (
        <ul className={styles.ways}>
          <Way
            icon={<SampleIcon size={20} />}
            title={t('sampleTitle')}
            body={t('sampleBody')}
            onClick={() => void addSamples().catch(tellProblem)}
          />
          <Way
            icon={<UploadIcon size={20} />}
            title={t('dropTitle')}
            body={t('dropBody')}
            onClick={() => chooseFiles('files')}
          />
          <Way
            icon={<PasteIcon size={20} />}
            title={t('pasteTitle')}
            body={t('pasteBody')}
            onClick={() => setPasting(true)}
          />
        </ul>
      )}
      {isPasting && <PasteDialog onClose={() => setPasting(false)} />}
    </div>
  );
}

function Way({
  icon,
  title,
  body,
  onClick,
}: {
  icon: ReactNode;
  title: string;
  body: string;
  onClick: () => void;
}) {
  return (
    <li>
      <button type="button" className={styles.way} onClick={onClick}>
        {icon}
        <span className={styles.wayTitle}>{title}</span>
        <span className={styles.wayBody}>{body}</span>
      </button>
    </li>
  );
}
