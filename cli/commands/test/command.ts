import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION } from '../../shared-options.ts'
import type { Verb } from '../../verb.ts'

export const TEST: Verb = {
  name: 'test',
  group: 'Policies',
  summary: 'runs the tests beside policies through the function that the gateway decides with',
  about: [
    'Tests stand under `tests:` of a policy and in *_test.yaml beside it. PATH is a folder of policies, or some of its files: their tests are run, with the whole folder around them.',
  ],
  words: { usage: '[PATH …]', min: 0, max: Number.POSITIVE_INFINITY },
  options: [
    {
      name: 'filter',
      value: 'TEXT',
      says: 'Runs only tests with this text in their name, policy, method or path.',
    },
    {
      name: 'coverage',
      says: 'Shows, for each route, the outcomes that some test reaches and those that none does.',
    },
    CONFIG_OPTION,
    POLICIES_OPTION,
    JSON_OPTION,
  ],
  examples: [
    { command: 'scopegate test', says: 'Runs every test.' },
    { command: 'scopegate test --coverage policies/courses.policy.yaml', says: 'Runs those of one file.' },
  ],
  exits: { 0: 'every test holds', 3: 'configuration or policies are not valid', 4: 'a test failed' },
  run: async (given, terminal) => (await import('./test.ts')).test(given, terminal),
}
