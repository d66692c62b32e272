import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

// Serves the files of the page. Any static web server can do this.
// Usage: node serve.js [URL of the API] [PORT]
const [api = 'http://127.0.0.1:8080', port = '5173'] = process.argv.slice(2)
const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/client.js': ['client.js', 'text/javascript'],
  '/style.css': ['style.css', 'text/css'],
}
// The page may run only its own script, and may connect only to the API.
const POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src ${new URL(api).origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://127.0.0.1')
  if (!Object.hasOwn(FILES, pathname)) return response.writeHead(404).end()
  const [name, type] = FILES[pathname]
  const text = readFileSync(join(import.meta.dirname, name), 'utf8').replace('API_URL', api)
  return response.writeHead(200, { 'content-type': type, 'content-security-policy': POLICY }).end(text)
})
server.listen(Number(port), '127.0.0.1', () =>
  console.log(`browser client: http://127.0.0.1:${server.address().port}/`),
)
