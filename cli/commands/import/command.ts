import type { Command } from '../../command.ts'
import { CONFIG_OPTION, JSON_OPTION } from '../../shared-options.ts'

export const IMPORT: Command = {
  name: 'import',
  group: 'Policies',
  summary: 'creates a policy from an OpenAPI document, or shows the differences between them',
  about: [
    'The command reads OpenAPI 3.0 and 3.1 in JSON or YAML. Each operation becomes a route. The name of the route comes from operationId. The scopes and the anonymous rule come from security. The path begins with the path of the server. Anything that a policy cannot express is an error with its line in the document. x-scopegate on an operation sets keys of its route.',
    'With --check, the command writes no file. It shows operations without a route, routes without an operation, different scopes and different anonymous rules, with their locations in both files.',
  ],
  positionals: { usage: 'OPENAPI', min: 1, max: 1 },
  options: [
    {
      name: 'upstream',
      value: 'NAME',
      description: 'The entry of upstreams.yaml for the routes. With --check: only routes to this upstream.',
    },
    {
      name: 'name',
      value: 'NAME',
      description:
        'The name of the policy. Default: the name of the output file, else the title of the document.',
    },
    {
      name: 'output',
      value: 'FILE',
      description:
        'Writes the policy to this file. Without --force, an existing file is an error. Default: standard output.',
    },
    {
      name: 'scheme',
      value: 'NAME',
      description:
        'Uses only the alternatives in security with this scheme. Default: all alternatives except those that require more than another alternative.',
    },
    {
      name: 'server',
      value: 'URL',
      description:
        'The prefix of all paths: the path of this URL, or a path such as /v1. / means no prefix. Replaces the servers at the top of the document.',
    },
    {
      name: 'prefix',
      value: 'PATH',
      description:
        'Mounts the policy below this prefix. Paths of clients contain the prefix, and paths of the upstream do not.',
    },
    {
      name: 'scope-map',
      value: 'FROM=TO',
      repeated: true,
      description:
        'Renames a scope of the document. A value without = is the name of a YAML file with lines FROM: TO.',
    },
    {
      name: 'catalogue',
      value: 'FILE',
      description:
        'Writes catalogue entries for unknown scopes to this file, with descriptions from the document.',
    },
    {
      name: 'skip-unsupported',
      description: 'Skips and lists operations that a policy cannot express. Default: an error for each.',
    },
    { name: 'notes', description: 'Shows every note. Default: notes of one kind share a line.' },
    { name: 'force', description: 'Replaces an existing file.' },
    {
      name: 'check',
      value: 'POLICY',
      description: 'Compares with this policy file, or with all policies in this folder.',
    },
    CONFIG_OPTION,
    JSON_OPTION,
  ],
  examples: [
    {
      commandLine: 'scopegate import openapi.json --upstream learning-platform --output courses.policy.yaml',
      description: 'Writes the policy courses.',
    },
    {
      commandLine:
        'scopegate import openapi.json --upstream learning-platform --prefix /school --skip-unsupported',
      description: 'Prints the policy, mounted below /school, with all operations that a policy can express.',
    },
    {
      commandLine: 'scopegate import openapi.json --check courses.policy.yaml',
      description: 'Fails a pull request if its contract and policy differ.',
    },
  ],
  exits: {
    0: 'the policy was written; with --check: the document and the policy do not differ',
    1: 'the file could not be written; with --check: the document and the policy differ',
    3: 'the document, the policy or the configuration is not valid',
  },
  run: async (given, terminal) => (await import('./run-import.ts')).runImport(given, terminal),
}
