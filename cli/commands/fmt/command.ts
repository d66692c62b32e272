import { CONFIG_OPTION, JSON_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const FMT: Verb = {
  name: 'fmt',
  group: 'Policies',
  summary: 'lays policy files out in their one form: order of keys, quotes, an empty line between routes',
  about: [
    'Comments stay, and so does what a file says. A file that is broken is left as it is, byte for byte. A PATH is a file or a folder; - reads standard input and writes to standard output. Without a PATH: the folder that gateway.yaml names.',
  ],
  words: { usage: '[PATH …]', min: 0, max: Number.POSITIVE_INFINITY },
  options: [
    { name: 'check', says: 'Changes nothing and names the files that would change.' },
    CONFIG_OPTION,
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'scopegate fmt --check policies',
      says: 'For pull requests: fails when a file is not laid out.',
    },
  ],
  exits: {
    0: 'every file is laid out',
    1: 'with --check: a file would change; without: a file could not be written',
    3: 'a file is broken; the others were laid out',
  },
  run: async (given, terminal) => (await import('./fmt.ts')).fmt(given, terminal),
}
