import type { Question } from './answer';
import type texts from './texts';

type Key = keyof typeof texts.en;

/** A mode in plain words. */
interface Mode {
  value: Question['mode'];
  name: Key;
  hint: Key;
}

/** The modes that are offered, the one for most questions first. */
export const MODES: Mode[] = [
  { value: 'auto', name: 'modeAuto', hint: 'modeAutoHint' },
  { value: 'contextual', name: 'modeContextual', hint: 'modeContextualHint' },
  { value: 'naive', name: 'modeNaive', hint: 'modeNaiveHint' },
  { value: 'ppr', name: 'modePpr', hint: 'modePprHint' },
  { value: 'mix', name: 'modeMix', hint: 'modeMixHint' },
  { value: 'local', name: 'modeLocal', hint: 'modeLocalHint' },
  { value: 'global', name: 'modeGlobal', hint: 'modeGlobalHint' },
  { value: 'hybrid', name: 'modeHybrid', hint: 'modeHybridHint' },
  { value: 'community_global', name: 'modeCommunityGlobal', hint: 'modeCommunityGlobalHint' },
  { value: 'community_local', name: 'modeCommunityLocal', hint: 'modeCommunityLocalHint' },
  { value: 'drift', name: 'modeDrift', hint: 'modeDriftHint' },
  { value: 'bypass', name: 'modeBypass', hint: 'modeBypassHint' },
];

/** The name of a mode; the modes of later servers by their own names. */
export function modeName(value: string): Key | undefined {
  return MODES.find(mode => mode.value === value)?.name;
}
