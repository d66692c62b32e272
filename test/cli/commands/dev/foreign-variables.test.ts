import { join } from 'node:path'
import t from 'tap'
import { findForeignVariables } from '../../../../cli/commands/dev/foreign-variables.ts'

const configDir = join(import.meta.dirname, '..', '..', '..', '..', 'config')

t.test(
  'findForeignVariables() returns variables of the other service, and omits misspelled variables',
  async (t) => {
    const env = {
      SCOPEGATE_TOKEN_CACHE__MAX_TTL: '10s',
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: 'http://127.0.0.1:1',
      SCOPEGATE_LIFETIMES__CODE: '30s',
      SCOPEGATE_LISTEN__PORT: '0',
      SCOPEGATE_LISTN__PORT: '0',
    }
    const foreign = findForeignVariables({ configDir, env })
    t.same([...foreign.gateway], ['SCOPEGATE_LIFETIMES__CODE'])
    t.same([...foreign.authorizationServer].sort(), [
      'SCOPEGATE_TOKEN_CACHE__MAX_TTL',
      'SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL',
    ])
  },
)

t.test('findForeignVariables() returns an empty list when a configuration cannot be read', async (t) => {
  const foreign = findForeignVariables({ configDir: t.testdir(), env: { SCOPEGATE_LIFETIMES__CODE: '30s' } })
  t.equal(foreign.gateway.size + foreign.authorizationServer.size, 0)
})
