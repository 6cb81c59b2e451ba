import { address } from '../api/client';
import { uiOf } from '../api/address';
import { Button } from '../design/button';
import { ChevronIcon } from '../design/icons';
import { Menu, MenuChoice } from '../design/menu';
import { useTexts } from '../i18n/text';
import styles from './shell.module.css';
import texts from './texts';
import { useHealth, useWorkspaces } from './use-server';

/** Names the workspace of the page and opens the page in another one. */
export function WorkspaceMenu() {
  const t = useTexts(texts);
  const health = useHealth();
  const workspaces = useWorkspaces();
  const current = address.workspace ?? health.data?.configuration?.workspace;
  if (current === undefined) return null;
  const names = [...new Set([current, ...(workspaces.data ?? [])])];
  return (
    <Menu
      align="start"
      button={
        <Button className={styles.workspace} aria-label={`${t('workspace')}: ${current}`}>
          <span className={styles.workspaceName}>{current}</span>
          <ChevronIcon />
        </Button>
      }
    >
      <MenuChoice
        label={t('workspace')}
        value={current}
        options={names.map(name => ({ value: name, text: name }))}
        onChange={name => location.assign(uiOf(address, name))}
      />
    </Menu>
  );
}
