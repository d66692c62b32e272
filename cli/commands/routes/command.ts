import type { Command } from '../../command.ts'
import {
  CONFIG_OPTION,
  JSON_OPTION,
  LIVE_OPTION,
  POLICIES_OPTION,
  SOURCE_OPTION,
} from '../../shared-options.ts'

export const ROUTES: Command = {
  name: 'routes',
  group: 'Policies',
  summary: 'lists every route with its requirements, with defaults and presets applied',
  options: [
    { name: 'owner', value: 'OWNER', description: 'Only routes whose policy has this owner.' },
    LIVE_OPTION,
    CONFIG_OPTION,
    POLICIES_OPTION,
    SOURCE_OPTION,
    JSON_OPTION,
  ],
  examples: [
    { commandLine: 'scopegate routes --owner team-learning', description: 'Lists the routes of one team.' },
    {
      commandLine: 'scopegate routes --url http://127.0.0.1:9090 --json',
      description: 'Lists the active routes of a running gateway.',
    },
  ],
  exits: {
    0: 'the routes are listed',
    1: 'the running gateway did not return its policies',
    3: 'configuration or policies are not valid',
  },
  run: async (given, terminal) => (await import('./routes.ts')).routes(given, terminal),
}
