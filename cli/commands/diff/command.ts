import type { Command } from '../../command.ts'
import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION, SOURCE_OPTION } from '../../shared-options.ts'

export const DIFF: Command = {
  name: 'diff',
  group: 'Policies',
  summary: 'shows the effects of a policy change on callers: widened, narrowed, new, gone',
  about: [
    'OLD and NEW can be a folder of policies, or a folder that contains the folders config and policies. REVISION:FOLDER is a folder of policies in a git revision. REVISION is the policies and the configuration of a git revision. With --live, the active policies of a gateway replace OLD.',
    'The command compares the access to each possible request: the required scopes and claims, and the web pages with access (cors). The comparison ignores the names of routes and parameters, the order of files, and the division of rules into routes. Widened: some denied requests are now allowed, or more web pages have access. Narrowed: some allowed requests are now denied, or fewer web pages have access. Changed: neither, but limits, headers, the upstream path or an upstream in upstreams.yaml differ. New: the requests matched no route before. Gone: the requests match no route now. A change can be both widened and narrowed.',
  ],
  positionals: { usage: 'OLD NEW', min: 1, max: 2 },
  options: [
    {
      name: 'live',
      value: 'URL',
      description: 'The management URL of a gateway. Its active policies replace OLD.',
    },
    {
      name: 'fail-on',
      value: 'KIND',
      choices: ['widened', 'narrowed', 'changed', 'new', 'gone'],
      repeated: true,
      description: 'Exits with 1 only on a change of this kind. Default: any change.',
    },
    CONFIG_OPTION,
    POLICIES_OPTION,
    SOURCE_OPTION,
    JSON_OPTION,
  ],
  examples: [
    { commandLine: 'scopegate diff ./policies ./policies', description: 'Compares two folders.' },
    {
      commandLine: 'scopegate diff --fail-on widened ./policies ./policies',
      description: 'Exits with 1 only when some denied requests are now allowed.',
    },
  ],
  exits: {
    0: 'no change; with --fail-on: no change of that kind',
    1: 'a change (with --fail-on: a change of that kind), or a gateway did not respond',
    3: 'policies or configuration of a side are not valid',
  },
  run: async (given, terminal) => (await import('./run-diff.ts')).runDiff(given, terminal),
}
