import type { Command } from '../../command.ts'

export const PLAYGROUND: Command = {
  name: 'playground',
  group: 'Policies',
  summary: 'shows a page on this machine where you edit policies and see check and explain at once',
  about: [
    'The page works offline. Only this machine can open the page, and only with the URL that the command prints. The command never writes files.',
    'FOLDER contains config/gateway.yaml and the policies. Default: an example, the files of `scopegate init`.',
  ],
  positionals: { usage: '[FOLDER]', min: 0, max: 1 },
  options: [{ name: 'port', value: 'PORT', description: 'The port of the page. Default: a free port.' }],
  examples: [
    { commandLine: 'scopegate playground', description: 'Starts with an example until Ctrl-C.' },
    { commandLine: 'scopegate playground .', description: 'Starts with the files of the current folder.' },
  ],
  exits: {
    0: 'stopped on request',
    1: 'the server cannot listen on the port',
    3: 'FOLDER has no config/gateway.yaml, or its files are not readable or too large',
  },
  serves: true,
  run: async (given, terminal) => (await import('./playground.ts')).playground(given, terminal),
}
