import type { Command } from '../../command.ts'
import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION } from '../../shared-options.ts'

export const EXPORT_OPENAPI: Command = {
  name: 'export openapi',
  group: 'Policies',
  summary: 'writes an OpenAPI document from the policies, with security and rejections',
  about: [
    'The document has the texts of /openapi.json of a gateway, but the command reads only policies. Routes that differ only in match.headers share one operation. The command names the routes that the document omits.',
  ],
  options: [
    {
      name: 'output',
      value: 'FILE',
      description: 'Writes the document to this file. Default: standard output.',
    },
    {
      name: 'api-version',
      value: 'VERSION',
      description: 'The version of the API, for info.version. Default: the version of Scopegate.',
    },
    {
      name: 'x-scopegate',
      description:
        'Adds settings that OpenAPI cannot express (limits, conditions, …), so that an import creates the same routes.',
    },
    CONFIG_OPTION,
    POLICIES_OPTION,
    JSON_OPTION,
  ],
  examples: [
    { commandLine: 'scopegate export openapi --output openapi.json', description: 'Writes openapi.json.' },
  ],
  exits: {
    0: 'the document is written',
    1: 'the file could not be written',
    3: 'policies or configuration are not valid',
  },
  run: async (given, terminal) => (await import('./export-openapi.ts')).runExport(given, terminal),
}
