import { JSON_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const INIT: Verb = {
  name: 'init',
  group: 'Policies',
  summary: 'writes a folder to start from: configuration, scopes, a policy with its tests',
  about: [
    'The default of DIR is the current folder. If one of the files exists, the command writes no file.',
  ],
  positionals: { usage: '[DIR]', min: 0, max: 1 },
  options: [JSON_OPTION],
  examples: [
    {
      command: 'scopegate init my-gateway',
      description: 'Writes my-gateway/. Its README.md shows the next steps.',
    },
    {
      command: 'scopegate init shop && cd shop && scopegate check && scopegate test',
      description: 'The written policies are valid, and their tests pass.',
    },
  ],
  exits: { 0: 'written', 1: 'a file exists, or cannot be written' },
  run: async (given, terminal) => (await import('./init.ts')).init(given, terminal),
}
