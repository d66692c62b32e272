import type { Verb } from './verb.ts'
import { ACCOUNT_ADD } from './verbs/account-add.ts'
import { CHECK } from './verbs/check.ts'
import { COMPLETION } from './verbs/completion.ts'
import { DEV } from './verbs/dev.ts'
import { DIFF } from './verbs/diff.ts'
import { DOCTOR } from './verbs/doctor.ts'
import { EXPLAIN } from './verbs/explain.ts'
import { EXPORT_OPENAPI } from './verbs/export-openapi.ts'
import { FMT } from './verbs/fmt.ts'
import { IMPORT } from './verbs/import.ts'
import { INIT } from './verbs/init.ts'
import { ROUTES } from './verbs/routes.ts'
import { SCHEMA } from './verbs/schema.ts'
import { AUTHORIZATION_SERVER, GATEWAY } from './verbs/services.ts'
import { TEST } from './verbs/test.ts'
import { TOKEN } from './verbs/token.ts'

/** Every verb there is, in the order of `--help`. A verb's data loads nothing of what runs it. */
export const VERBS: readonly Verb[] = [
  DEV,
  GATEWAY,
  AUTHORIZATION_SERVER,
  DOCTOR,
  CHECK,
  TEST,
  EXPLAIN,
  ROUTES,
  DIFF,
  FMT,
  EXPORT_OPENAPI,
  IMPORT,
  SCHEMA,
  INIT,
  TOKEN,
  ACCOUNT_ADD,
  COMPLETION,
]
