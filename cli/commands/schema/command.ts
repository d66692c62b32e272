import type { Command } from '../../command.ts'

export const SCHEMA: Command = {
  name: 'schema',
  group: 'Policies',
  summary: 'prints the JSON Schema of policy files, for editors and other tools',
  about: [
    'JSON Schema 2020-12. The gateway validates policies with the same schema. An editor with a YAML language server uses the schema if a policy starts with this line: # yaml-language-server: $schema=../policy.v1.json',
  ],
  options: [
    {
      name: 'kind',
      value: 'KIND',
      choices: ['Policy', 'PolicyTest'],
      description:
        'The kind of file: policies (Policy, the default) or separate files with tests (PolicyTest).',
    },
  ],
  examples: [
    { commandLine: 'scopegate schema > policy.v1.json', description: 'Writes the schema to a file.' },
  ],
  exits: { 0: 'the schema is printed' },
  run: async (given, terminal) => {
    const { policySchema } = await import('../../../policy-engine/format/policy-schema.ts')
    const kind = given.text('kind') === 'PolicyTest' ? 'PolicyTest' : 'Policy'
    terminal.out.write(`${JSON.stringify(policySchema(kind), undefined, 2)}\n`)
    return 0
  },
}
