import { proposeFiles } from './proposal';

/** Lets the user choose files, or a folder with all it holds, and adds them. */
export function chooseFiles(what: 'files' | 'folder'): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.multiple = true;
  input.webkitdirectory = what === 'folder';
  input.addEventListener('change', () =>
    proposeFiles([...(input.files ?? [])].filter(({ name }) => !name.startsWith('.'))),
  );
  input.click();
}
