import { CONFIG_OPTION, JSON_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const IMPORT: Verb = {
  name: 'import',
  group: 'Policies',
  summary: 'makes a policy from an OpenAPI document, or tells where the two disagree',
  about: [
    'OpenAPI 3.0 and 3.1, JSON or YAML. Each operation becomes a route: its name from operationId, its path with the path of the server in front, its scopes and its anonymous rule from security. Anything that a policy cannot express is an error with its line in the document. x-scopegate on an operation has keys of its route, written by hand.',
    'With --check nothing is written: operations without a route, routes without an operation, other scopes and another anonymous rule are shown with their places in both.',
  ],
  words: { usage: 'OPENAPI', min: 1, max: 1 },
  options: [
    {
      name: 'upstream',
      value: 'NAME',
      says: 'The entry of upstreams.yaml that serves the routes. With --check: only the routes that lead there.',
    },
    {
      name: 'name',
      value: 'NAME',
      says: 'The name of the policy. Without it: the name of the file it is written to, else the title of the document.',
    },
    {
      name: 'output',
      value: 'FILE',
      says: 'Writes the policy there, and never over a file. Without it: standard output.',
    },
    {
      name: 'scheme',
      value: 'NAME',
      says: 'Reads only those alternatives in security that use this scheme. Without it: reads all, and leaves out an alternative that requires more than another one.',
    },
    {
      name: 'server',
      value: 'URL',
      says: 'The prefix of all paths: the path of this URL, or a path such as /v1. / means no prefix. Replaces the servers at the top of the document.',
    },
    {
      name: 'prefix',
      value: 'PATH',
      says: 'Mounts the policy below this prefix: clients send it, the upstream does not get it.',
    },
    {
      name: 'scope-map',
      value: 'FROM=TO',
      repeated: true,
      says: 'Renames a scope of the document. Without =, the name of a YAML file of such pairs (FROM: TO).',
    },
    {
      name: 'catalogue',
      value: 'FILE',
      says: 'Writes entries for scopes that the catalogue lacks, with descriptions from the document, to this file.',
    },
    {
      name: 'skip-unsupported',
      says: 'Imports the rest and lists each operation that a policy cannot express. Without it: an error for each.',
    },
    { name: 'notes', says: 'Shows every note; without it notes of one kind share a line.' },
    { name: 'force', says: 'Writes over the file that is there.' },
    { name: 'check', value: 'POLICY', says: 'Compares with this policy file, or with all in this folder.' },
    CONFIG_OPTION,
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'scopegate import openapi.json --upstream learning-platform --output courses.policy.yaml',
      says: 'Writes the policy courses.',
    },
    {
      command:
        'scopegate import openapi.json --upstream learning-platform --prefix /school --skip-unsupported',
      says: 'Prints the policy, mounted below /school, with all operations that a policy can express.',
    },
    {
      command: 'scopegate import openapi.json --check courses.policy.yaml',
      says: 'Fails a pull request whose contract and policy disagree.',
    },
  ],
  exits: {
    0: 'written; with --check: they agree',
    1: 'the file could not be written; with --check: they disagree',
    3: 'the document, the policy or the configuration is not valid',
  },
  run: async (given, terminal) => (await import('./run-import.ts')).runImport(given, terminal),
}
