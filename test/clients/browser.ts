import { openBrowser } from '../fixtures/open-browser.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { until } from '../fixtures/until.ts'

// The browser of the person. Usage: browser.ts URL [--no-redirect]. Signs in, allows access, and prints the redirect
// URL. Without --no-redirect, requests the redirect URL when a client listens there.
const [url = '', option] = process.argv.slice(2)
const redirect = await signIn(openBrowser(url), url)
process.stdout.write(`${redirect.href}\n`)
if (option !== '--no-redirect')
  await until('the client receives the redirect', async () => fetch(redirect).catch(() => undefined))
