import type { Command } from '../../command.ts'
import { CONFIG_OPTION, POLICIES_OPTION } from '../../shared-options.ts'

export const DEV: Command = {
  name: 'dev',
  group: 'Run',
  summary: 'runs everything on this machine: the gateway, the authorization server, the demo API',
  about: [
    "For development only: its accounts and their passwords are public. PORT sets the gateway's port (8080). The management port is that port plus 1010. If that port is in use, the system selects a free port. The banner shows the management port.",
  ],
  options: [
    CONFIG_OPTION,
    {
      ...POLICIES_OPTION,
      description: 'The folder of the policies. Default: the folder beside the configuration.',
    },
    {
      name: 'data',
      value: 'DIR',
      description:
        'The folder of accounts, grants and the demo data. Default: .scopegate in the current folder.',
    },
  ],
  examples: [{ commandLine: 'scopegate dev', description: 'Serves http://127.0.0.1:8080 until Ctrl-C.' }],
  exits: { 0: 'stopped on request', 1: 'a process did not start, or ended unexpectedly' },
  serves: true,
  run: async (given, terminal) => (await import('./dev.ts')).dev(given, terminal),
}
