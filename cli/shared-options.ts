import type { CommandOption } from './command.ts'

export const CONFIG_OPTION: CommandOption = {
  name: 'config',
  value: 'DIR',
  description:
    'The folder of the configuration. Default: SCOPEGATE_CONFIG_DIR, else ./config, else config beside the policies, else the configuration in this package.',
}

/**
 * The option of commands that read no policies, or run a service. They do not search the parent folder, because other
 * users can have write access to this folder.
 */
export const SERVICE_CONFIG_OPTION: CommandOption = {
  ...CONFIG_OPTION,
  description:
    'The folder of the configuration. Default: SCOPEGATE_CONFIG_DIR, else ./config, else the configuration in this package.',
}

export const POLICIES_OPTION: CommandOption = {
  name: 'policies',
  value: 'DIR',
  description: 'The folder of the policies. It replaces the folder in gateway.yaml.',
}

export const SOURCE_OPTION: CommandOption = {
  name: 'source',
  value: 'NAME',
  description: 'Only the policies of this source. gateway.yaml defines the sources in policySources.',
}

export const SERVER_OPTIONS: readonly CommandOption[] = [
  SERVICE_CONFIG_OPTION,
  {
    name: 'data',
    value: 'DIR',
    description: 'The folder of the data. It replaces the folder in the configuration.',
  },
]

/** The JSON formats are described in docs/command-line.md. */
export const JSON_OPTION: CommandOption = {
  name: 'json',
  description: 'Prints one JSON document instead of text.',
}

export const LIVE_OPTION: CommandOption = {
  name: 'url',
  value: 'URL',
  description:
    'The management URL of a running gateway. Its active policies replace the policies of the folder.',
}
