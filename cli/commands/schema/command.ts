import type { Command } from '../../command.ts'

export const SCHEMA: Command = {
  name: 'schema',
  group: 'Policies',
  summary: 'prints the JSON Schema of policies and configuration files, for editors and other tools',
  about: [
    'JSON Schema 2020-12. The services validate their files with the same schemas. An editor with a YAML language server uses the schema that the first line of a file names: # yaml-language-server: $schema=../schemas/policy.v1.json. The folder schemas of the package contains all schemas, and scopegate init writes them into the new folder.',
  ],
  options: [
    {
      name: 'kind',
      value: 'KIND',
      choices: [
        'Policy',
        'PolicyTest',
        'gateway',
        'upstreams',
        'scopes',
        'presets',
        'authorization-server',
        'policySources',
      ],
      description:
        'The kind of file: policies (Policy, the default), separate files with tests (PolicyTest), a configuration file without its ending .yaml, or the list policySources of gateway.yaml.',
    },
  ],
  examples: [
    {
      commandLine: 'scopegate schema > policy.v1.json',
      description: 'Writes the schema of policies to a file.',
    },
    { commandLine: 'scopegate schema --kind gateway', description: 'Prints the schema of gateway.yaml.' },
  ],
  exits: { 0: 'the schema is printed' },
  run: async (given, terminal) => {
    const { SCHEMAS } = await import('./schemas.ts')
    const schema = SCHEMAS.get(given.text('kind') ?? 'Policy')
    terminal.out.write(`${JSON.stringify(schema, undefined, 2)}\n`)
    return 0
  },
}
