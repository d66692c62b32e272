import type { Command } from '../../command.ts'
import { CONFIG_OPTION, JSON_OPTION } from '../../shared-options.ts'

export const FMT: Command = {
  name: 'fmt',
  group: 'Policies',
  summary: 'formats policy files: order of keys, quotes, an empty line between routes',
  about: [
    'Formatting keeps comments and the meaning of a file. A file with errors stays unchanged, byte for byte. PATH is a file or a folder. With -, the command reads standard input and writes to standard output. Default: the folder in gateway.yaml.',
  ],
  positionals: { usage: '[PATH …]', min: 0, max: Number.POSITIVE_INFINITY },
  options: [
    { name: 'check', description: 'Changes no file and lists the files that would change.' },
    CONFIG_OPTION,
    JSON_OPTION,
  ],
  examples: [
    {
      commandLine: 'scopegate fmt --check policies',
      description: 'For pull requests: fails when a file is not formatted.',
    },
  ],
  exits: {
    0: 'every file is formatted',
    1: 'with --check: a file would change; without --check: a file could not be written',
    3: 'a file has errors; the others were formatted',
  },
  run: async (given, terminal) => (await import('./fmt.ts')).fmt(given, terminal),
}
