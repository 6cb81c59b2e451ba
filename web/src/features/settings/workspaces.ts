/** Why a name cannot be that of a new workspace; `undefined` if it can. */
export function nameFault(name: string, existing: string[]): 'form' | 'exists' | undefined {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)) return 'form';
  return existing.includes(name) ? 'exists' : undefined;
}
