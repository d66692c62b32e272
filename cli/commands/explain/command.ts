import { CONFIG_OPTION, JSON_OPTION, LIVE_OPTION, POLICIES_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const EXPLAIN: Verb = {
  name: 'explain',
  group: 'Policies',
  summary: 'shows how a request is decided, by which rules, and the response that the client gets',
  about: [
    'Nothing is sent. Without --scope, --claim and --token the request has no token. What --scope and --claim leave out of a token is made up: a good one for the path, of the first issuer.',
  ],
  words: { usage: 'METHOD PATH', min: 2, max: 2 },
  options: [
    {
      name: 'scope',
      value: 'SCOPES',
      says: 'The scopes of the token, with spaces between them.',
      repeated: true,
    },
    {
      name: 'claim',
      value: 'NAME=VALUE',
      says: 'A claim of the token. A value that is JSON is taken as such: 42 is a number, \'"42"\' a text.',
      repeated: true,
    },
    {
      name: 'token',
      value: '-',
      says: 'Reads a JWT from standard input and takes its claims as they are, without checking its signature. It is never shown.',
      choices: ['-'],
    },
    { name: 'anonymous', says: 'Send no token (default).' },
    { name: 'header', value: 'NAME=VALUE', says: 'A header of the request.', repeated: true },
    LIVE_OPTION,
    CONFIG_OPTION,
    POLICIES_OPTION,
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'scopegate explain PATCH /api/courses/42 --scope courses:read',
      says: 'Says why a token with courses:read may not change a course.',
      exits: 1,
    },
    {
      command: 'scopegate explain GET /api/courses --url http://127.0.0.1:9090',
      says: 'Decides with the active policies of a running gateway.',
    },
  ],
  exits: { 0: 'it would be allowed', 1: 'it would be refused', 3: 'configuration or policies are not valid' },
  run: async (given, terminal) => (await import('./explain.ts')).explain(given, terminal),
}
