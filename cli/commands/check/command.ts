import type { Command } from '../../command.ts'
import { CONFIG_OPTION, JSON_OPTION, POLICIES_OPTION, SOURCE_OPTION } from '../../shared-options.ts'

export const CHECK: Command = {
  name: 'check',
  group: 'Policies',
  summary: 'validates configuration and policies like the gateway and reports every problem',
  about: [
    'The command needs no secrets and no network, so it can run in CI.',
    'If configuration and policies are valid, the command also runs the tests beside the policies.',
    'PATH is the folder of the policies, or files of one folder. The command reads the whole folder and shows the problems of these files.',
  ],
  positionals: { usage: '[PATH …]', min: 0, max: 1000 },
  options: [
    CONFIG_OPTION,
    POLICIES_OPTION,
    SOURCE_OPTION,
    {
      name: 'format',
      value: 'FORMAT',
      description:
        'pretty for a terminal (default), json, github for annotations of a pull request, sarif for code scanning.',
      choices: ['pretty', 'json', 'github', 'sarif'],
    },
    { ...JSON_OPTION, description: 'The same as --format json.' },
    { name: 'notes', description: 'Shows every note. Default: notes of one kind share a line.' },
    { name: 'strict', description: 'Reports every warning as an error (exit code 3). Recommended for CI.' },
    { name: 'no-tests', description: 'Does not run the tests beside the policies.' },
    { name: 'watch', description: 'Checks again after each change of a file, until it is interrupted.' },
    {
      name: 'explain',
      value: 'CODE',
      description: 'Shows the meaning of a code, for example P101. It checks nothing.',
    },
  ],
  examples: [
    {
      commandLine: 'scopegate check --policies ./policies',
      description: 'Checks the policies of this folder.',
    },
    { commandLine: 'scopegate check policies/courses.policy.yaml', description: 'Checks one file.' },
    { commandLine: 'scopegate check --strict', description: 'Fails also on warnings. Recommended for CI.' },
    { commandLine: 'scopegate check --format sarif', description: 'Writes the problems for code scanning.' },
    {
      commandLine: 'scopegate check --explain P101',
      description: 'Shows the meaning of P101 and the correction.',
    },
  ],
  exits: {
    0: 'configuration and policies are valid',
    3: 'configuration or policies are not valid, or --strict is set and there is a warning',
    4: 'configuration and policies are valid, but tests failed',
  },
  run: async (given, terminal) => (await import('./check.ts')).runCheck(given, terminal),
}
