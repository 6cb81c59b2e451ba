/** The files of a drop; folders are read to their ends. */
export async function droppedFiles(items: DataTransferItemList): Promise<File[]> {
  // Entries must be taken before the first wait, when the browser empties the list.
  const entries = [...items].map(item => item.webkitGetAsEntry()).filter(entry => entry !== null);
  const files = await Promise.all(entries.map(filesOf));
  return files.flat().filter(({ name }) => !name.startsWith('.'));
}

async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  if (isFile(entry)) return [await new Promise<File>((resolve, reject) => entry.file(resolve, reject))];
  if (!isFolder(entry)) return [];
  const reader = entry.createReader();
  const files: File[] = [];
  // A reader gives a part of a folder at a time, and nothing at the end.
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) return files;
    files.push(...(await Promise.all(part.map(filesOf))).flat());
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
