import { CONFIG_OPTION, POLICIES_OPTION } from '../shared-options.ts'
import type { Verb } from '../verb.ts'

/** `scopegate check`. */
export const CHECK: Verb = {
  name: 'check',
  group: 'Policies',
  summary: 'reads configuration and policies as the gateway would and names every problem',
  about: ['It needs no secrets and no network, so it runs where a policy is reviewed.'],
  options: [
    CONFIG_OPTION,
    POLICIES_OPTION,
    { name: 'notes', says: 'Shows every note; without it notes of one kind share a line.' },
  ],
  examples: [
    { command: 'scopegate check --policies ./policies', says: 'Checks the policies of this folder.' },
  ],
  exits: { 0: 'the gateway would start', 3: 'something is not valid' },
  run: async (given, terminal) => (await import('../run-check.ts')).runCheck(given, terminal),
}
