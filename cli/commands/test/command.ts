import type { Command } from '../../command.ts'
import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION } from '../../shared-options.ts'

export const TEST: Command = {
  name: 'test',
  group: 'Policies',
  summary: 'runs the tests of policies with the decision function of the gateway',
  about: [
    'Tests are in `tests:` of a policy, or in *_test.yaml beside it. PATH is a folder of policies, or some of its files. The command reads the whole folder and runs the tests of these files.',
  ],
  positionals: { usage: '[PATH …]', min: 0, max: Number.POSITIVE_INFINITY },
  options: [
    {
      name: 'filter',
      value: 'TEXT',
      description: 'Runs only tests with this text in their name, policy, method or path.',
    },
    {
      name: 'coverage',
      description: 'Shows for each route which outcomes the tests reach.',
    },
    CONFIG_OPTION,
    POLICIES_OPTION,
    JSON_OPTION,
  ],
  examples: [
    { commandLine: 'scopegate test', description: 'Runs every test.' },
    {
      commandLine: 'scopegate test --coverage policies/courses.policy.yaml',
      description: 'Runs the tests of one file.',
    },
  ],
  exits: { 0: 'every test passed', 3: 'configuration or policies are not valid', 4: 'a test failed' },
  run: async (given, terminal) => (await import('./test.ts')).test(given, terminal),
}
