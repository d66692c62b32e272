import type { Command } from '../../command.ts'
import { JSON_OPTION } from '../../shared-options.ts'

export const INIT: Command = {
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
      commandLine: 'scopegate init my-gateway',
      description: 'Writes my-gateway/. Its README.md shows the next steps.',
    },
    {
      commandLine: 'scopegate init shop && cd shop && scopegate check && scopegate test',
      description: 'The written policies are valid, and their tests pass.',
    },
  ],
  exits: { 0: 'the files are written', 1: 'a file exists, or cannot be written' },
  run: async (given, terminal) => (await import('./init.ts')).init(given, terminal),
}
