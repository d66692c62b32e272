import type { Command } from '../../command.ts'
import { JSON_OPTION } from '../../shared-options.ts'

export const DOCTOR: Command = {
  name: 'doctor',
  group: 'Run',
  summary: 'follows discovery as a client does, and reports faults with their corrections',
  about: [
    'The command starts from the base URL, like a client. It requests both metadata documents, every endpoint in them, and a path with an invalid token, and sends a preflight. It does not sign in, register a client or change data.',
  ],
  positionals: { usage: 'URL', min: 1, max: 1 },
  options: [
    { name: 'resource', value: 'PATH', description: 'The path of a protected resource, for example /mcp.' },
    {
      name: 'path',
      value: 'PATH',
      description: 'A path that needs a token. Default: the first such path in /openapi.json.',
    },
    {
      name: 'ca',
      value: 'FILE',
      description: 'A PEM file of CA certificates, which replace the public CA certificates.',
    },
    { name: 'quiet', description: 'Shows faults and warnings only.' },
    JSON_OPTION,
  ],
  examples: [
    {
      commandLine: 'scopegate doctor http://127.0.0.1:8080',
      description: 'Examines the gateway of `scopegate dev`.',
    },
  ],
  exits: { 0: 'no fault', 1: 'at least one fault' },
  run: async (given, terminal) => (await import('./doctor.ts')).doctor(given, terminal),
}
