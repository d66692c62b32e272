import { JSON_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const TOKEN: Verb = {
  name: 'token',
  group: 'Accounts and tokens',
  summary: 'gets an access token from what `scopegate dev` runs, without a browser',
  about: [
    'It registers a client, signs in as one of the two development accounts and allows the scopes, through the same pages as a person. It works only with a development server on this machine, because only that server has these accounts.',
    'The token lives as long as that server says: SCOPEGATE_LIFETIMES__ACCESS_TOKEN=5m scopegate dev.',
  ],
  options: [
    {
      name: 'scope',
      value: 'SCOPES',
      says: 'The scopes to ask for, with spaces between them.',
      repeated: true,
    },
    { name: 'sub', value: 'NAME', says: 'Whose token it is. Without it: alice.', choices: ['alice', 'bob'] },
    {
      name: 'url',
      value: 'URL',
      says: 'The address of the gateway. Without it: http://127.0.0.1 with the port of PORT, else 8080.',
    },
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'scopegate token --scope courses:read --url http://127.0.0.1:8080',
      says: 'Prints a token for the courses.',
    },
    {
      command: 'scopegate token --scope courses:write --sub bob --json --url http://127.0.0.1:8080',
      says: 'Prints what the token endpoint said, for the other account.',
    },
  ],
  exits: { 0: 'printed', 1: 'the development server is not available, or it refuses' },
  run: async (given, terminal) => (await import('./token.ts')).token(given, terminal),
}
