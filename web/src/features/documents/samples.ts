import { addFiles } from './adding';

let added = false;

/** Whether the samples were added on this page. */
export const samplesAdded = () => added;

/** Adds the sample documents, which are loaded only now. */
export async function addSamples(): Promise<void> {
  const { SAMPLES } = await import('./sample-files');
  added = true;
  addFiles(SAMPLES.map(({ name, text }) => new File([text], name)));
}
