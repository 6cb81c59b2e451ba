const files = import.meta.glob<string>('../../../../samples/lab/*', {
  eager: true,
  query: '?raw',
  import: 'default',
});

/** The documents of `samples/lab`. */
export const SAMPLES = Object.entries(files).map(([path, text]) => ({
  name: path.split('/').at(-1) ?? path,
  text,
}));
