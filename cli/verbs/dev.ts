import { CONFIG_OPTION, POLICIES_OPTION } from '../shared-options.ts'
import type { Verb } from '../verb.ts'

/** `scopegate dev`. */
export const DEV: Verb = {
  name: 'dev',
  group: 'Run',
  summary: 'runs everything on this machine: the gateway, the authorization server, the demo API',
  about: [
    "For development only: its accounts and their passwords are known to everybody. PORT chooses the gateway's port (8080).",
  ],
  options: [
    CONFIG_OPTION,
    { ...POLICIES_OPTION, says: 'The folder of the policies; without it, the one beside the configuration.' },
    {
      name: 'data',
      value: 'DIR',
      says: 'Where accounts, grants and the demo data are kept: .scopegate where you stand, unless it says otherwise.',
    },
  ],
  examples: [{ command: 'scopegate dev', says: 'Serves http://127.0.0.1:8080 until Ctrl-C.' }],
  exits: { 0: 'it was told to end', 1: 'it could not start, or one of the programs ended by itself' },
  serves: true,
  run: async (given, terminal) => (await import('../dev.ts')).dev(given, terminal),
}
