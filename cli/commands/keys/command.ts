import type { Command, CommandOption } from '../../command.ts'
import { JSON_OPTION, SERVER_OPTIONS } from '../../shared-options.ts'

const FILE_OPTIONS: readonly CommandOption[] = [
  {
    name: 'file',
    value: 'FILE',
    description: 'The file of the keys. Default: signingKeysFile, else signing-keys.json in the data folder.',
  },
  ...SERVER_OPTIONS,
]

const URL_OPTION: CommandOption = {
  name: 'url',
  value: 'URL',
  description:
    'The base URL of one running authorization server, not of a load balancer. Compares the published keys of the server with the file.',
  repeated: true,
}

const GROUP = 'Accounts and tokens'

export const KEYS_LIST: Command = {
  name: 'keys list',
  group: GROUP,
  summary: 'lists the signing keys of the authorization server and their states in the rotation',
  about: [
    'A key is `next` before it signs, `signs` while it signs, `old` while its tokens can be valid, and `done` afterwards.',
    'Without --config and SCOPEGATE_CONFIG_DIR, the command reads the keys of the server that `scopegate dev` runs in the same folder.',
  ],
  options: [...FILE_OPTIONS, URL_OPTION, JSON_OPTION],
  examples: [{ commandLine: 'scopegate keys list', description: 'Lists the keys of `scopegate dev`.' }],
  exits: {
    0: 'the keys are listed, and all servers agree with the file',
    1: 'the file cannot be read, or a server is unreachable, has a wrong clock or does not agree with the file',
    3: 'the configuration or the key set is not valid',
  },
  run: async (given, terminal) => (await import('./list-keys.ts')).listKeys(given, terminal),
}

export const KEYS_ROTATE: Command = {
  name: 'keys rotate',
  group: GROUP,
  summary: 'adds signing keys, which replace the current keys at a time in the file',
  about: [
    'The servers publish the new keys immediately and sign with the keys later, at the time that --in sets, so that clients and gateways can read the keys first. Writes an audit line for each key to standard error.',
    'Run the command once for a file that several servers share. For copies of the file, change one copy and distribute it.',
  ],
  options: [
    {
      name: 'in',
      value: 'DURATION',
      description: 'Time until the new keys sign, from 6m to 30d. Default: 10m.',
    },
    {
      name: 'alg',
      value: 'ALG',
      description: 'Rotates only the keys for this algorithm. Default: each algorithm that signs now.',
      choices: ['ES256', 'Ed25519', 'RS256'],
      repeated: true,
    },
    ...FILE_OPTIONS,
    JSON_OPTION,
  ],
  examples: [
    {
      commandLine: 'scopegate keys rotate --in 15m',
      description: 'Adds a key for each algorithm. The keys sign in 15 minutes.',
    },
  ],
  exits: {
    0: 'the keys are added',
    1: 'the file is unchanged; standard error shows the reason',
    3: 'the configuration or the key set is not valid',
  },
  run: async (given, terminal) => (await import('./rotate-keys.ts')).rotateKeys(given, terminal),
}

export const KEYS_RETIRE: Command = {
  name: 'keys retire',
  group: GROUP,
  summary: 'removes signing keys whose tokens have all expired',
  about: [
    'Without KID, the command removes every key in the state `done`. With KID, the command removes all of these keys or no key. The KID of a key in the state `next` cancels the rotation. Writes an audit line for each key to standard error.',
  ],
  positionals: { usage: '[KID …]', min: 0, max: 64 },
  options: [
    {
      name: 'force',
      description:
        'Removes an old key even if its tokens can still be valid (for example a leaked key), or if a server does not respond.',
    },
    ...FILE_OPTIONS,
    URL_OPTION,
    JSON_OPTION,
  ],
  examples: [
    { commandLine: 'scopegate keys retire', description: 'Removes the keys that are no longer necessary.' },
  ],
  exits: {
    0: 'the keys are removed, or no key can be removed yet',
    1: 'the file is unchanged; standard error shows the reason',
    3: 'the configuration or the key set is not valid',
  },
  run: async (given, terminal) => (await import('./retire-keys.ts')).retireKeys(given, terminal),
}
