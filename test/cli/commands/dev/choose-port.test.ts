import { createServer } from 'node:net'
import t from 'tap'
import { chooseManagementPort } from '../../../../cli/commands/dev/choose-port.ts'
import { quietPort } from '../../../fixtures/quiet-port.ts'

t.test('the management port is the port of the gateway plus 1010', async (t) => {
  const preferred = await quietPort()
  t.same(await chooseManagementPort(preferred - 1010, undefined), {
    port: String(preferred),
    taken: undefined,
  })
})

t.test('a management port that another program uses is replaced and reported', async (t) => {
  const preferred = await quietPort()
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(preferred, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const chosen = await chooseManagementPort(preferred - 1010, undefined)
  t.equal(chosen.taken, preferred)
  t.not(chosen.port, String(preferred))
  t.ok(Number(chosen.port) > 0)
})

t.test('with a gateway port above 64525, the management port is any free port', async (t) => {
  const { port, taken } = await chooseManagementPort(65_000, undefined)
  t.equal(taken, 66_010)
  t.ok(Number(port) >= 20_000 && Number(port) < 32_768, 'another process cannot get this port for port 0')
})

t.test('the configured management port has precedence', async (t) => {
  t.same(await chooseManagementPort(8080, '9999'), { port: '9999', taken: undefined })
})
