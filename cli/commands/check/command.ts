import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const CHECK: Verb = {
  name: 'check',
  group: 'Policies',
  summary: 'reads configuration and policies as the gateway would and names every problem',
  about: [
    'It needs no secrets and no network, so it runs where a policy is reviewed.',
    'When everything else holds, the tests beside the policies are run.',
    'PATH is the folder of the policies, or files of one folder: all of it is read, and what concerns the files is shown.',
  ],
  words: { usage: '[PATH …]', min: 0, max: 1000 },
  options: [
    CONFIG_OPTION,
    POLICIES_OPTION,
    {
      name: 'format',
      value: 'FORMAT',
      says: 'pretty for people (the default), json, github for lines at a pull request, sarif for code scanning.',
      choices: ['pretty', 'json', 'github', 'sarif'],
    },
    { ...JSON_OPTION, says: 'The same as --format json.' },
    { name: 'notes', says: 'Shows every note; without it notes of one kind share a line.' },
    { name: 'strict', says: 'Reports every warning as an error (exit code 3). Recommended for CI.' },
    { name: 'no-tests', says: 'Leaves the tests beside the policies out.' },
    { name: 'watch', says: 'Checks again whenever a file changes, until it is interrupted.' },
    {
      name: 'explain',
      value: 'CODE',
      says: 'Checks nothing, and shows the meaning of a code, for example P101.',
    },
  ],
  examples: [
    { command: 'scopegate check --policies ./policies', says: 'Checks the policies of this folder.' },
    { command: 'scopegate check policies/courses.policy.yaml', says: 'Checks one file of it.' },
    { command: 'scopegate check --strict', says: 'Fails on warnings, too: use this in CI.' },
    { command: 'scopegate check --format sarif', says: 'Writes the problems for code scanning.' },
    { command: 'scopegate check --explain P101', says: 'Shows what P101 means and how to mend it.' },
  ],
  exits: {
    0: 'the gateway would start',
    3: 'something is not valid; with --strict: or there is a warning',
    4: 'only tests beside policies failed',
  },
  run: async (given, terminal) => (await import('./check.ts')).runCheck(given, terminal),
}
