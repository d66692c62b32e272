import type { Verb } from './verb.ts'
import { ACCOUNT_ADD } from './verbs/account-add.ts'
import { CHECK } from './verbs/check.ts'
import { DEV } from './verbs/dev.ts'
import { DOCTOR } from './verbs/doctor.ts'
import { EXPORT_OPENAPI } from './verbs/export-openapi.ts'
import { FMT } from './verbs/fmt.ts'
import { IMPORT } from './verbs/import.ts'
import { SCHEMA } from './verbs/schema.ts'
import { AUTHORIZATION_SERVER, GATEWAY } from './verbs/services.ts'

/** Every verb there is, in the order of `--help`. A verb's data loads nothing of what runs it. */
export const VERBS: readonly Verb[] = [
  DEV,
  GATEWAY,
  AUTHORIZATION_SERVER,
  DOCTOR,
  CHECK,
  FMT,
  EXPORT_OPENAPI,
  IMPORT,
  SCHEMA,
  ACCOUNT_ADD,
]
