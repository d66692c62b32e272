import type { Static } from 'typebox'
import { ConfigError } from '../../platform/diagnostics/boot-error.ts'
import { hasErrors } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import { compileValidator } from '../../platform/diagnostics/schema/compile-validator.ts'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import type { TextSource } from '../../platform/diagnostics/yaml/text-source.ts'
import { readYamlFile } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { checkCorsEntry } from '../checks/check-cors.ts'
import { checkHeaderRules } from '../checks/check-header-changes.ts'
import { open } from './common-schemas.ts'
import { DEFAULT_KEYS } from './default-keys.ts'
import {
  checkPlans,
  checkSharedLimitNames,
  SharedLimitEntries,
  type SharedLimits,
  toSharedLimits,
} from './shared-limits.ts'

const PresetEntry = Type.Object(DEFAULT_KEYS, {
  ...open,
  description: 'default values for a policy or a route that extends the preset',
})

export const PresetsFile = Type.Object(
  {
    presets: Type.Optional(
      Type.Record(Type.String({ pattern: '^[a-z][a-z0-9-]{0,62}$' }), PresetEntry, {
        'x-keys': 'a name of 1 to 63 lower-case letters, digits and -, starting with a letter',
        additionalProperties: false,
        description: 'all presets by name',
      }),
    ),
    sharedLimits: Type.Optional(SharedLimitEntries),
  },
  { minProperties: 1, description: 'config/presets.yaml' },
)

const checkPresetsFile = compileValidator(PresetsFile, { letter: 'C' })

/** Settings that policies and routes can extend. */
export type Preset = Static<typeof PresetEntry>

/** Content of `config/presets.yaml`: presets and shared limits, by name. */
export type Presets = { readonly byName: ReadonlyMap<string, Preset>; readonly limits: SharedLimits }

export const NO_PRESETS: Presets = Object.freeze({ byName: new Map(), limits: new Map() })

/**
 * Reads and validates `config/presets.yaml`.
 * @param source content of the file, if the caller has read it already. Default: the function reads the file.
 * @throws {ConfigError} ERR_CONFIG_INVALID. Codes: C001 to C019 for the file and its YAML; C101 to C106 for the schema;
 * P312 and P313 for header changes; P320 for `cors`; P207 and C365 for shared limits.
 */
export function readPresets(file: string, source?: TextSource): Presets {
  const document = readYamlFile(file, { shownAs: displayPath(file), letter: 'C' }, source)
  if (document.value === undefined) throw new ConfigError(document.diagnostics)
  const { presets, sharedLimits } = toRecord(document.value)
  const entries = Object.entries(toRecord(presets))
  const limitNames = new Set(Object.keys(toRecord(sharedLimits)))
  const diagnostics = [
    ...document.diagnostics,
    ...checkPresetsFile(document.value, document.locationOf),
    ...entries.flatMap(([name, preset]) => {
      const { headers, cors, sharedLimits: names } = toRecord(preset)
      return [
        ...checkHeaderRules(headers, ['presets', name, 'headers'], document),
        ...checkCorsEntry(cors, ['presets', name, 'cors'], document),
        ...checkSharedLimitNames(names, ['presets', name, 'sharedLimits'], document, limitNames),
      ]
    }),
    ...checkPlans(sharedLimits, document),
  ]
  if (hasErrors(diagnostics)) throw new ConfigError(diagnostics)
  const valid = document.value as Static<typeof PresetsFile>
  return Object.freeze({
    byName: new Map(Object.entries(valid.presets ?? {})),
    limits: toSharedLimits(valid.sharedLimits),
  })
}
