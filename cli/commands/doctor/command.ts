import { JSON_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const DOCTOR: Verb = {
  name: 'doctor',
  group: 'Run',
  summary: 'follows discovery as a client does, and reports faults with their corrections',
  about: [
    'It is given what clients are given: the base URL. It asks both metadata documents, every endpoint that they name, a path with a bad token, a preflight; it signs in nowhere, registers nothing and changes nothing.',
  ],
  words: { usage: 'URL', min: 1, max: 1 },
  options: [
    { name: 'resource', value: 'PATH', says: 'The path of a resource of its own, e.g. /mcp.' },
    {
      name: 'path',
      value: 'PATH',
      says: 'A path that needs a token. Without it, one is looked for in /openapi.json.',
    },
    { name: 'ca', value: 'FILE', says: 'Authorities of the certificate, PEM, in place of the public ones.' },
    { name: 'quiet', says: 'Shows faults and warnings only.' },
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'scopegate doctor http://127.0.0.1:8080',
      says: 'Examines what `scopegate dev` runs.',
    },
  ],
  exits: { 0: 'no fault was found', 1: 'there is a fault' },
  run: async (given, terminal) => (await import('./doctor.ts')).doctor(given, terminal),
}
