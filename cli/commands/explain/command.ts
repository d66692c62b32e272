import type { Command } from '../../command.ts'
import {
  CONFIG_OPTION,
  JSON_OPTION,
  LIVE_OPTION,
  POLICIES_OPTION,
  SOURCE_OPTION,
} from '../../shared-options.ts'

export const EXPLAIN: Command = {
  name: 'explain',
  group: 'Policies',
  summary: 'shows how a request is decided, by which rules, and the response that the client gets',
  about: [
    'The command sends nothing. Without --scope, --claim and --token the request has no token. Claims that no option sets get the values of a valid token of the first issuer for this path.',
    'If baseUrl in gateway.yaml is the listen address on 127.0.0.1, the environment variable PORT replaces its port, as in `scopegate dev`.',
  ],
  positionals: { usage: 'METHOD PATH', min: 2, max: 2 },
  options: [
    {
      name: 'scope',
      value: 'SCOPES',
      description: 'The scopes of the token, separated by spaces.',
      repeated: true,
    },
    {
      name: 'claim',
      value: 'NAME=VALUE',
      description: 'A claim of the token. A JSON value keeps its type: 42 is a number, \'"42"\' is a string.',
      repeated: true,
    },
    {
      name: 'token',
      value: '-',
      description:
        'Reads a JWT from standard input and uses its claims. The command does not check the signature and never shows the token.',
      choices: ['-'],
    },
    { name: 'anonymous', description: 'Send no token (default).' },
    { name: 'header', value: 'NAME=VALUE', description: 'A header of the request.', repeated: true },
    {
      name: 'mode',
      value: 'MODE',
      description:
        'proxy: the gateway forwards the request. decision: an ingress asks the decision endpoint. Default: all routes are served.',
      choices: ['proxy', 'decision'],
    },
    LIVE_OPTION,
    CONFIG_OPTION,
    POLICIES_OPTION,
    SOURCE_OPTION,
    JSON_OPTION,
  ],
  examples: [
    {
      commandLine: 'scopegate explain PATCH /api/courses/42 --scope courses:read',
      description: 'Explains why a token with courses:read cannot change a course.',
      exits: 1,
    },
    {
      commandLine: 'scopegate explain GET /api/courses --scope courses:read --mode decision',
      description: 'Shows the decision that an ingress gets, with the headers to copy.',
    },
    {
      commandLine: 'scopegate explain GET /api/courses --url http://127.0.0.1:9090',
      description: 'Decides with the active policies of a running gateway.',
    },
  ],
  exits: {
    0: 'the request is allowed',
    1: 'the request is denied',
    3: 'configuration or policies are not valid',
  },
  run: async (given, terminal) => (await import('./explain.ts')).explain(given, terminal),
}
