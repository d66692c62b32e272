import t from 'tap'
import { startMcpServer } from '../../examples/mcp-server/app.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { followGuide } from '../fixtures/follow-guide.ts'
import { documentedBlocks } from '../fixtures/repository-texts.ts'
import { send } from '../fixtures/send.ts'

// Follows docs/protect-mcp-tools.md with the tools of examples/mcp-server and a local issuer.
t.test('protect-mcp-tools.md gives each tool a scope, and hides the other tools', async (t) => {
  const issuer = await startJwtIssuer({
    algorithms: ['RS256'],
    metadata: 'openid',
    token: {
      path: '/token',
      issue: (form) => ({
        claims: {
          aud: 'https://api.example.com',
          client_id: form.get('client_id'),
          scope: form.get('scope'),
        },
      }),
    },
  })
  const platformUrl = new URL('http://127.0.0.1:9') // the guide lists tools, and calls no allowed tool
  const server = await startMcpServer({ host: '127.0.0.1', port: 0, platformUrl, legacy: 'stateless' })
  t.teardown(() => Promise.all([issuer.close(), server.close()]))
  const { url } = await followGuide(t, documentedBlocks('docs/protect-mcp-tools.md'), {
    replace: {
      'https://login.example.com': issuer.issuer,
      'http://127.0.0.1:8083': server.url,
      '"$SECRET"': 'client-secret-of-the-guide',
    },
  })
  const toolsOf = async (scope: string) => {
    const { text } = await send(`${url}/mcp`, {
      method: 'POST',
      token: issuer.sign({ aud: 'https://api.example.com', scope }),
      headers: { accept: 'application/json, text/event-stream' },
      json: { jsonrpc: '2.0', id: 4, method: 'tools/list' },
    })
    return [...text.matchAll(/"name":"([a-z_]+)"/g)].map(([, name]) => name)
  }
  t.same(await toolsOf('courses:read'), ['list_courses'])
  t.same(await toolsOf('courses:read courses:write'), ['list_courses', 'create_course'])
})
