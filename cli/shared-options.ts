import type { VerbOption } from './verb.ts'

/** Options that mean the same wherever a verb has them. */
export const CONFIG_OPTION: VerbOption = {
  name: 'config',
  value: 'DIR',
  says: 'The folder of the configuration. Without it: SCOPEGATE_CONFIG_DIR, else ./config, else the one in this package.',
}

/** Instead of the policies that the configuration names. */
export const POLICIES_OPTION: VerbOption = {
  name: 'policies',
  value: 'DIR',
  says: 'The folder of the policies, in place of the one that gateway.yaml names.',
}

/** Every verb that prints something has it; docs/command-line.md says what it prints. */
export const JSON_OPTION: VerbOption = {
  name: 'json',
  says: 'Prints one JSON document in place of text.',
}

/** Policies of a running gateway in place of those of a folder. */
export const LIVE_OPTION: VerbOption = {
  name: 'url',
  value: 'URL',
  says: 'The management port of a running gateway, whose policies are taken in place of those of a folder.',
}
