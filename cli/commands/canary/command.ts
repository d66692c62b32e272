import type { Command } from '../../command.ts'

export const CANARY: Command = {
  name: 'canary',
  group: 'Run',
  summary: 'measures the time until every gateway rejects a revoked token',
  about: [
    'The command gets an access token with client credentials, calls each gateway, revokes the token, and polls each gateway until it responds with 401.',
    'The command repeats this until SIGTERM and exports metrics on a management port. With --once, it prints one result for each gateway and exits.',
    'The issuer must support client credentials and token revocation (RFC 7009). For the bundled authorization server, set canary in its configuration.',
  ],
  options: [
    { name: 'issuer', value: 'URL', description: 'The issuer. The command reads its metadata.' },
    {
      name: 'issuer-address',
      value: 'URL',
      description:
        'The address for requests to the issuer, e.g. inside a cluster. Default: the address in --issuer.',
    },
    { name: 'client-id', value: 'ID', description: 'The confidential client. Default: canary.' },
    {
      name: 'secret-file',
      value: 'FILE',
      description: 'The file with the client secret.',
    },
    {
      name: 'scope',
      value: 'SCOPES',
      description: 'The requested scopes, separated by spaces. Default: the scopes of the client.',
    },
    { name: 'gateway', value: 'URL', description: 'The address of a gateway.', repeated: true },
    {
      name: 'gateway-service',
      value: 'URL',
      description: 'A name with an address for each gateway. Each run resolves all addresses of the name.',
      repeated: true,
    },
    {
      name: 'server-name',
      value: 'NAME',
      description: 'The name in the certificates of the gateways. Default: the host of the address.',
    },
    { name: 'path', value: 'PATH', description: 'A path that requires a token, e.g. /api/probe.' },
    { name: 'status', value: 'CODE', description: 'The status that a valid token gets. Default: 200.' },
    {
      name: 'deadline',
      value: 'SECONDS',
      description: 'The longest time from the revocation to the last 401. Default: 30.',
    },
    { name: 'once', description: 'Run once, print the result and exit.' },
    {
      name: 'interval',
      value: 'SECONDS',
      description: 'The time between the starts of two runs. Default: 60.',
    },
    {
      name: 'management-host',
      value: 'HOST',
      description: 'The address of the management port. Default: 127.0.0.1.',
    },
    { name: 'management-port', value: 'PORT', description: 'The management port. Default: 9092.' },
  ],
  examples: [
    {
      commandLine:
        'scopegate canary --once --issuer http://127.0.0.1:9 --secret-file s --path /api --gateway http://127.0.0.1',
      description: 'Measures one gateway. Here the secret file is missing.',
      exits: 1,
    },
  ],
  exits: { 0: 'each gateway rejects the token in time, or SIGTERM ended the service', 1: 'a stage failed' },
  run: async (given, terminal) => (await import('./run-canary.ts')).runCanary(given, terminal),
}
