import { JSON_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const INIT: Verb = {
  name: 'init',
  group: 'Policies',
  summary: 'writes a folder to start from: configuration, scopes, a policy with its tests',
  about: [
    'DIR is the folder where it is typed unless said otherwise. It writes over nothing: when one of its files is there, none is written.',
  ],
  words: { usage: '[DIR]', min: 0, max: 1 },
  options: [JSON_OPTION],
  examples: [
    { command: 'scopegate init my-gateway', says: 'Writes my-gateway/; its README.md says how to go on.' },
    {
      command: 'scopegate init shop && cd shop && scopegate check && scopegate test',
      says: 'What it writes is valid, and tested.',
    },
  ],
  exits: { 0: 'written', 1: 'a file is there already, or cannot be written' },
  run: async (given, terminal) => (await import('./init.ts')).init(given, terminal),
}
