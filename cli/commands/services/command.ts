import type { Command } from '../../command.ts'
import { SERVICE_CONFIG_OPTION } from '../../shared-options.ts'

const ABOUT =
  'Environment variables override values of the file: SCOPEGATE_LISTEN__PORT=8443 sets listen.port.'
const EXITS = {
  0: 'stopped on request',
  1: 'the service did not start, or failed',
  3: 'configuration or policies are not valid',
} as const

export const GATEWAY: Command = {
  name: 'gateway',
  group: 'Run',
  summary: 'runs the gateway, configured by DIR/gateway.yaml',
  about: [ABOUT],
  options: [SERVICE_CONFIG_OPTION],
  examples: [{ commandLine: 'scopegate gateway --config ./config', description: 'Serves until SIGTERM.' }],
  exits: EXITS,
  serves: true,
  run: async (given, terminal) => (await import('./run-service.ts')).runService('gateway', given, terminal),
}

export const AUTHORIZATION_SERVER: Command = {
  name: 'authorization-server',
  group: 'Run',
  summary: 'runs the authorization server, configured by DIR/authorization-server.yaml',
  about: [ABOUT],
  options: [SERVICE_CONFIG_OPTION],
  examples: [
    { commandLine: 'scopegate authorization-server --config ./config', description: 'Serves until SIGTERM.' },
  ],
  exits: EXITS,
  serves: true,
  run: async (given, terminal) =>
    (await import('./run-service.ts')).runService('authorization-server', given, terminal),
}
