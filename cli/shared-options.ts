import type { VerbOption } from './verb.ts'

export const CONFIG_OPTION: VerbOption = {
  name: 'config',
  value: 'DIR',
  says: 'The folder of the configuration. Without it: SCOPEGATE_CONFIG_DIR, else ./config, else the one in this package.',
}

export const POLICIES_OPTION: VerbOption = {
  name: 'policies',
  value: 'DIR',
  says: 'The folder of the policies, in place of the one that gateway.yaml names.',
}

/** The JSON formats are described in docs/command-line.md. */
export const JSON_OPTION: VerbOption = {
  name: 'json',
  says: 'Prints one JSON document in place of text.',
}

export const LIVE_OPTION: VerbOption = {
  name: 'url',
  value: 'URL',
  says: 'The management port of a running gateway. Its active policies replace the policies of a folder.',
}
