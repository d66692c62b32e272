import t from 'tap'
import { readResponse } from '../../../bench/load/read-response.ts'

const BODY = '{"a":1}'
const HEAD = `HTTP/1.1 200 OK\r\ncontent-length: ${BODY.length}\r\n\r\n`

t.test('readResponse() detects unexpected responses', async (t) => {
  t.equal(
    readResponse(`HTTP/1.1 401 Unauthorized\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`, BODY),
    'wrongStatus',
  )
  t.equal(readResponse(`${HEAD}{"a":2}`, BODY), 'wrongBody')
  t.equal(readResponse('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}', BODY), 'wrongBody')
  t.equal(readResponse(`${HEAD}${BODY}HTTP/1.1 200 OK`, BODY), 'wrongBody')
  t.equal(readResponse('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\n', BODY), 'wrongBody')
})

t.test('readResponse() waits for the rest of a response', async (t) => {
  const whole = HEAD + BODY
  for (let length = 0; length < whole.length; length++)
    t.equal(readResponse(whole.slice(0, length), BODY), 'incomplete', `${length} bytes`)
  t.equal(readResponse(whole, BODY), 'right')
})
