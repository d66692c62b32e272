import t from 'tap'
import { checkTarget } from '../../../authorization-server/engine/request-rules.ts'

const ONE = 'https://api.test'
const MCP = 'https://api.test/mcp'

t.test('§2 of RFC 8707: checkTarget() rejects several resources and unknown resources', async (t) => {
  const several = {
    message: 'invalid_target',
    error_description: 'name one resource: a token is for one API',
  }
  t.throws(() => checkTarget([ONE, MCP], ONE, [ONE, MCP]), several)
  t.throws(() => checkTarget([ONE, ONE], ONE, [ONE]), several)
  t.throws(() => checkTarget(MCP, MCP, [ONE]), {
    message: 'invalid_target',
    error_description: 'resource must be https://api.test, the only API this server issues tokens for',
  })
  t.throws(() => checkTarget('https://elsewhere.test', 'https://elsewhere.test', [ONE, MCP]), {
    message: 'invalid_target',
    error_description:
      'this server issues no tokens for that resource; protected_resources in its metadata lists all',
  })
})

t.test('checkTarget() accepts one known resource', async (t) => {
  for (const asked of [undefined, ONE, [ONE]]) checkTarget(asked, ONE, [MCP, ONE])
  t.pass('nothing was thrown')
})
