import { useEffect, useState } from 'react';
import { tellProblem } from '../../design/toast';
import { useTexts } from '../../i18n/text';
import styles from './adding.module.css';
import { droppedFiles } from './dropped';
import { proposeFiles } from './proposal';
import texts from './texts';

/** Lets files and folders be dropped anywhere on the page. */
export function DropZone() {
  const t = useTexts(texts);
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      setOver(false);
      droppedFiles(event.dataTransfer.items).then(proposeFiles, tellProblem);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  return isOver ? <div className={styles.drop}>{t('dropHere')}</div> : null;
}
