import { useMutation } from '@tanstack/react-query';
import { login, verifyKey } from '../../api/client';
import type { Credential } from '../../api/credential';
import type { Problem } from '../../api/problem';

type Entered = { key: string } | { name: string; password: string };

/** Checks what was entered with the server; `onAccepted` gets what to show it from now on. */
export function useLogin(onAccepted: (credential: Credential) => void) {
  return useMutation<Credential, Problem, Entered>({
    mutationFn: async entered => {
      if (!('key' in entered))
        return { kind: 'token', value: await login(entered.name.trim(), entered.password) };
      const key = entered.key.trim();
      await verifyKey(key);
      return { kind: 'key', value: key };
    },
    onSuccess: onAccepted,
  });
}
