import type { Command } from '../../command.ts'
import { JSON_OPTION } from '../../shared-options.ts'

export const TOKEN: Command = {
  name: 'token',
  group: 'Accounts and tokens',
  summary: 'gets an access token from the servers of `scopegate dev`, without a browser',
  about: [
    'The command registers a client, signs in as one of the two development accounts and allows the scopes, through the same pages as a person. It works only with a development server on this machine, because only that server has these accounts.',
    'The server sets the lifetime of the token: SCOPEGATE_LIFETIMES__ACCESS_TOKEN=5m scopegate dev.',
  ],
  options: [
    {
      name: 'scope',
      value: 'SCOPES',
      description: 'The requested scopes, separated by spaces.',
      repeated: true,
    },
    {
      name: 'sub',
      value: 'NAME',
      description: 'The account of the token. Default: alice.',
      choices: ['alice', 'bob'],
    },
    {
      name: 'url',
      value: 'URL',
      description: 'The URL of the gateway. Default: http://127.0.0.1 with the port of PORT, else 8080.',
    },
    JSON_OPTION,
  ],
  examples: [
    {
      commandLine: 'scopegate token --scope courses:read --url http://127.0.0.1:8080',
      description: 'Prints a token for the courses.',
    },
    {
      commandLine: 'scopegate token --scope courses:write --sub bob --json --url http://127.0.0.1:8080',
      description: 'Prints the response of the token endpoint for the other account.',
    },
  ],
  exits: { 0: 'the token is printed', 1: 'the development server is not available, or rejects the request' },
  run: async (given, terminal) => (await import('./token.ts')).token(given, terminal),
}
