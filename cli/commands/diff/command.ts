import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const DIFF: Verb = {
  name: 'diff',
  group: 'Policies',
  summary: 'shows the effects of a policy change on callers: widened, narrowed, new, gone',
  about: [
    'OLD and NEW are each a folder of policies; a folder that holds config and policies; REVISION:FOLDER, the policies of a git revision; or REVISION, its policies with its configuration. With --live the old side is the active policies of a gateway.',
    'The comparison is by meaning, request by request: which scopes and claims give access, and which pages may call (cors). Names of routes and parameters, the order of files and how rules are split over routes are ignored. Widened: some refused requests are now allowed, or more pages may call. Narrowed: some allowed requests are now refused, or fewer pages may call. Changed: neither, but limits, headers or the upstream path differ. New and gone: requests that matched no route before, or match none now. A change can be both widened and narrowed.',
  ],
  words: { usage: 'OLD NEW', min: 1, max: 2 },
  options: [
    {
      name: 'live',
      value: 'URL',
      says: 'In place of OLD: the active policies of the gateway with this management address.',
    },
    {
      name: 'fail-on',
      value: 'KIND',
      choices: ['widened', 'narrowed', 'changed', 'new', 'gone'],
      repeated: true,
      says: 'Ends with 1 only when there is a change of this kind; may be repeated. Without it any change counts.',
    },
    CONFIG_OPTION,
    POLICIES_OPTION,
    JSON_OPTION,
  ],
  examples: [
    { command: 'scopegate diff ./policies ./policies', says: 'Compares two folders.' },
    {
      command: 'scopegate diff --fail-on widened ./policies ./policies',
      says: 'Exits with 1 only when some refused requests are now allowed.',
    },
  ],
  exits: {
    0: 'nothing changes for callers; with --fail-on: nothing of that kind',
    1: 'something changes; with --fail-on: something of that kind. Or a gateway did not answer',
    3: 'policies or configuration of a side are not valid',
  },
  run: async (given, terminal) => (await import('./run-diff.ts')).runDiff(given, terminal),
}
