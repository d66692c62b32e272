import type { Command } from '../../command.ts'
import { JSON_OPTION, SERVER_OPTIONS } from '../../shared-options.ts'

export const ACCOUNT_ADD: Command = {
  name: 'account add',
  group: 'Accounts and tokens',
  summary: 'adds an account to the authorization server',
  about: [
    'Reads the password from standard input. Without --config and SCOPEGATE_CONFIG_DIR, the command adds the account to the server that `scopegate dev` runs in the same folder. Writes an audit line to standard error.',
  ],
  positionals: { usage: 'NAME', min: 1, max: 1 },
  options: [
    { name: 'email', value: 'ADDRESS', description: 'The e-mail address of the person.' },
    { name: 'full-name', value: 'TEXT', description: 'The full name of the person.' },
    ...SERVER_OPTIONS,
    JSON_OPTION,
  ],
  examples: [
    {
      commandLine: 'printf %s "$PASSWORD" | scopegate account add carol --email carol@school.example',
      description: 'Adds carol to the accounts of `scopegate dev`.',
    },
  ],
  exits: {
    0: 'the account is added',
    1: 'the account is rejected; standard error shows the reason',
    3: 'the configuration is not valid',
  },
  run: async (given, terminal) => (await import('./add-account.ts')).accountAdd(given, terminal),
}
