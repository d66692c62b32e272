import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

// JSON escapes only the control characters below U+0020. Terminals also interpret the characters from U+0080 to U+009F.
t.test('the log escapes control characters of a user agent that a terminal would interpret', async (t) => {
  const under = await startGatewayUnderTest(t)
  await under.raw(
    'GET /pub/x HTTP/1.1\r\nHost: a\r\nUser-Agent: a\x9b2Jb\x85"\\c\xfc\r\nConnection: close\r\n\r\n',
  )
  const line = await until('the access line', async () =>
    under.log().find((one) => one['event'] === 'access'),
  )
  t.equal(line['user_agent.original'], 'a\x9b2Jb\x85"\\cü', 'the value is whole')
  t.notMatch(under.logText(), /[\x7f-\x9f]/)
})
