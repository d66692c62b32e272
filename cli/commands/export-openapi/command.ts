import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const EXPORT_OPENAPI: Verb = {
  name: 'export openapi',
  group: 'Policies',
  summary: 'writes an OpenAPI document from the policies, with security and refusals',
  about: [
    'The same words as the /openapi.json of a gateway, from policies alone: no upstream is asked. Routes that differ in match.headers alone share one operation, since OpenAPI has no room for more; those left out are named.',
  ],
  options: [
    { name: 'output', value: 'FILE', says: 'Writes it there. Without it: standard output.' },
    {
      name: 'api-version',
      value: 'VERSION',
      says: 'The version of the API, for info.version. Default: the version of Scopegate.',
    },
    {
      name: 'x-scopegate',
      says: 'Adds what OpenAPI has no words for (limits, conditions, …), so that an import gives the same routes.',
    },
    CONFIG_OPTION,
    POLICIES_OPTION,
    JSON_OPTION,
  ],
  examples: [{ command: 'scopegate export openapi --output openapi.json', says: 'Writes openapi.json.' }],
  exits: { 0: 'written', 1: 'the file could not be written', 3: 'policies or configuration are not valid' },
  run: async (given, terminal) => (await import('./export-openapi.ts')).runExport(given, terminal),
}
